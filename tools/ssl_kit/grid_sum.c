#include "tools/ssl_kit/grid_sum.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include <string.h>

enum { ROOM_BYTES = 1 << 15 };

struct GridSum {
    SslProgram *program; /* held */
    SslSum *total;
    void *room; /* [block_count] blocks of results */
    SslTexelSum *const *texels;
    uint32_t block_count;
};

Status grid_sum_create(SslProgram *p, uint32_t blocks_max, GridSum **out_sum, Error *err)
{
    uint32_t stride_bytes = ssl_program_info(p)->result_stride_bytes;
    uint32_t blocks = stride_bytes < ROOM_BYTES ? ROOM_BYTES / stride_bytes : 1;
    blocks = blocks < blocks_max ? blocks : blocks_max;
    ASSERT(blocks_max > 0);
    *out_sum = NULL;
    GridSum *s = MEM_NEW(GridSum);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    *s = (GridSum){.program = ssl_program_retain(p),
                   .room = mem_alloc_aligned((size_t)blocks * stride_bytes, SORT_CACHE_LINE),
                   .block_count = blocks};
    if (s->room)
        memset(s->room, 0, (size_t)blocks * stride_bytes);
    Status status = s->room ? ssl_sum_create(p, &s->total, err)
                            : error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        *out_sum = s;
    else
        grid_sum_destroy(s);
    return status;
}

void grid_sum_destroy(GridSum *s)
{
    if (!s)
        return;
    ssl_sum_destroy(s->total);
    ssl_program_release(s->program);
    mem_free(s->room);
    mem_free(s);
}

void grid_sum_set_texels(GridSum *s, SslTexelSum *const *texels)
{
    s->texels = texels;
}

Status grid_sum_run(GridSum *s, const GridHost *host, uint32_t first, uint32_t count, Error *err)
{
    thread_flush_denormals();
    for (uint32_t end = first + count; first < end; first += s->block_count) {
        uint32_t left = end - first;
        SslBatch part = grid_host_part(host, first, left < s->block_count ? left : s->block_count);
        void *given = part.host;
        GridCaller caller = *(const GridCaller *)given;
        caller.texels = s->texels;
        void *own = &caller;
        part.host = own;
        part.result = s->room;
        ssl_program_kernel(s->program)(&part);
        if (caller.err.code != STATUS_OK) {
            *err = caller.err;
            return err->code;
        }
        TRY(ssl_sum_add(s->total, &part, err));
    }
    return STATUS_OK;
}

SslSum *grid_sum_total(const GridSum *s)
{
    return s->total;
}
