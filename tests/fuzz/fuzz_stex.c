/* Fuzzes the tables of .stex files. The input is written over a valid file's header page, index and
 * tail; then check sums are made right again, so that the fuzzer reaches what lies behind them, unless
 * the first byte asks to leave them alone. Whatever comes of it: no crash, no hang, no leak. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "textures/format/stex_write.h"
#include "textures/texcache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char path[64];
static char *valid;
static size_t valid_bytes;

static void clean_up(void)
{
    mem_free(valid);
    (void)unlink(path);
}

/* A small file of noise, compressed so that inflating is reached too. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    SORT_UNUSED(argc);
    SORT_UNUSED(argv);
    snprintf(path, sizeof path, "/tmp/fuzz-stex-%ld.stex", (long)getpid());
    StexHeader format = {.width = 150,
                         .height = 70,
                         .channel_count = 3,
                         .texel_type = SORT_TEXEL_U8,
                         .color_space = SORT_COLOR_SRGB,
                         .wrap_s = TEX_WRAP_PERIODIC,
                         .wrap_t = TEX_WRAP_CLAMP,
                         .flags = STEX_COMPRESSED};
    StexWriter *w;
    CHECK(stex_writer_begin(path, &format, 1, &w, NULL) == STATUS_OK);
    const StexHeader *h = stex_writer_header(w);
    uint8_t row[150 * 3];
    for (uint32_t level = 0; level < h->level_count; ++level) {
        for (uint32_t y = 0; y < h->levels[level].height; ++y) {
            for (size_t i = 0; i < sizeof row; ++i)
                row[i] = (uint8_t)(i / 7 * y);
            CHECK(stex_writer_row(w, level, row, NULL) == STATUS_OK);
        }
    }
    const float average[4] = {0};
    const uint8_t digest[16] = {0};
    uint64_t constant_tiles, file_bytes;
    CHECK(stex_writer_finish(w, average, digest, "", &constant_tiles, &file_bytes, NULL) ==
          STATUS_OK);
    CHECK(file_read(path, 1 << 24, &valid, &valid_bytes, NULL) == STATUS_OK);
    return atexit(clean_up);
}

/* Makes the check sums of header, tail and index fit their content, as far as the header allows. */
static void mend_checksums(char *bytes, size_t size)
{
    StexHeader h;
    if (size < STEX_PAGE_BYTES)
        return;
    memcpy(&h, bytes, sizeof h);
    memcpy(h.magic, STEX_MAGIC, sizeof h.magic);
    if (h.version < STEX_VERSION_OLDEST || h.version > STEX_VERSION)
        h.version = STEX_VERSION;
    if (h.tail_offset <= size && h.tail_bytes <= size - h.tail_offset)
        h.tail_crc = crc32c(0, bytes + h.tail_offset, (size_t)h.tail_bytes);
    for (uint64_t i = 0; i < h.tile_count; ++i) {
        uint64_t at = STEX_PAGE_BYTES + i * sizeof(StexTile);
        StexTile t;
        if (at + sizeof t > size)
            break;
        memcpy(&t, bytes + at, sizeof t);
        if (t.offset <= size && t.stored_bytes <= size - t.offset)
            t.payload_crc = crc32c(0, bytes + t.offset, t.stored_bytes);
        t.record_crc = stex_record_crc(&t, i);
        memcpy(bytes + at, &t, sizeof t);
    }
    h.header_crc = stex_header_crc(&h);
    memset(bytes, 0, STEX_PAGE_BYTES);
    memcpy(bytes, &h, sizeof h);
}

/* At once, so that neighbours are read together. */
static void ask_for_all_tiles(TexCaller *caller, TexId id)
{
    float coord[7 * TEX_MAX_LANES] = {0};
    for (uint32_t i = 0; i < TEX_MAX_LANES; ++i) {
        coord[i] = ((float)(i % 8) + 0.5f) / 8.0f;
        coord[TEX_MAX_LANES + i] = ((float)(i / 8) + 0.5f) / 4.0f;
    }
    TexRequest r = {
        .texture = id, .lane_count = TEX_MAX_LANES, .lane_mask = UINT32_MAX, .coord = coord};
    texcache_touch(caller, &r);
}

static void look_everywhere(const char *file)
{
    TexCacheDesc desc = {.size_bytes = sizeof desc, .budget_bytes = 8 << 20, .io_thread_count = 1};
    TexOpenDesc what = {.size_bytes = sizeof what, .path = file};
    TexCache *cache;
    TexThread *thread;
    Waiter *waiter;
    TexId id;
    CHECK(texcache_create(&desc, &cache, NULL) == STATUS_OK);
    if (texcache_open(cache, &what, &id, NULL) == STATUS_OK) {
        CHECK(texcache_thread_create(cache, &thread, NULL) == STATUS_OK);
        CHECK(waiter_create_for_thread(&waiter, NULL) == STATUS_OK);
        TexCaller caller;
        texcache_caller_init(&caller, thread, waiter);
        ask_for_all_tiles(&caller, id);
        for (uint32_t i = 0; i < 64; ++i) {
            float width = i % 4 ? 0.0f : 0.02f * (float)i;
            float coord[7] = {(float)(i % 8) / 8.0f, (float)i / 64.0f, width, 0, 0, width, 0},
                  out[12];
            TexRequest r = {.texture = id,
                            .lane_count = 1,
                            .lane_mask = 1,
                            .with_derivs = true,
                            .coord = coord};
            texcache_lookup(&caller, &r, out);
        }
        waiter_destroy_for_thread(waiter);
        texcache_thread_destroy(thread);
    }
    texcache_destroy(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    /* flags, place (2 bytes), then what is written there. */
    size_t room = valid_bytes;
    size_t at = ((size_t)data[1] | (size_t)data[2] << 8) % room;
    size_t count = size - 3 < room - at ? size - 3 : room - at;
    size_t kept = data[0] & 2 ? at + count : room; /* or cut behind it */
    char *bytes = mem_alloc(1, room);
    memcpy(bytes, valid, room);
    memcpy(bytes + at, data + 3, count);
    if (!(data[0] & 1))
        mend_checksums(bytes, kept);
    CHECK(file_write(path, bytes, kept, NULL) == STATUS_OK);
    mem_free(bytes);
    TexInfo info;
    Status status = texcache_file_info(path, &info, NULL);
    SORT_UNUSED(status);
    look_everywhere(path);
    return 0;
}
