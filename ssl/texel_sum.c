#define _GNU_SOURCE /* mkostemp */
#include "base/accum.h"
#include "base/alloc.h"
#include "base/check.h"
#include "ssl/ssl_texel_sum.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TERM_MAX       0x1p24f
#define ADDITIONS_MAX  ((uint64_t)1 << 38) /* so sums stay below 2^62 */
#define PLACES_MAX     ((uint64_t)1 << 40)
#define BUDGET_DEFAULT ((uint64_t)256 << 20)
enum { PAGE_LOG2 = 9, PAGE = 1 << PAGE_LOG2, PAGE_BYTES = PAGE * sizeof(AccumWide) };

/* Where the sums of a page are. */
enum { UNTOUCHED, IN_FILE, IN_FRAME }; /* IN_FRAME + frame */

typedef struct Frame {
    AccumWide *sums; /* [PAGE] owned; NULL until it is used */
    uint32_t page;
    bool was_used; /* since the hand was here */
} Frame;

struct SslTexelSum {
    uint64_t place_count, budget_bytes;
    char *folder;    /* owned; NULL: there is no file */
    int fd;          /* of the file, in which each page has its place; -1: not opened */
    uint32_t *where; /* [page_count] */
    Frame *frames;   /* [frame_max] */
    uint32_t page_count, frame_count, frame_max, hand;
    uint32_t allocated_count; /* frames with memory */
    uint64_t additions, pages, writes, reads;
};

/* --- life --------------------------------------------------------------------------------------- */

static uint64_t count_pages(uint64_t place_count)
{
    return (place_count + PAGE - 1) / PAGE;
}

/* All but frames. */
static uint64_t tables_bytes(uint64_t place_count)
{
    return sizeof(SslTexelSum) + count_pages(place_count) * sizeof(uint32_t) +
           4096; /* the folder */
}

uint64_t ssl_texel_sum_least(uint64_t place_count)
{
    return tables_bytes(place_count) + 2 * (sizeof(Frame) + PAGE_BYTES);
}

uint64_t ssl_texel_sum_most(uint64_t place_count)
{
    uint64_t pages = count_pages(place_count);
    return tables_bytes(place_count) + (pages < 2 ? 2 : pages) * (sizeof(Frame) + PAGE_BYTES);
}

static Status check(const SslTexelSumDesc *desc, uint64_t budget, Error *err)
{
    if (desc->place_count == 0 || desc->place_count > PLACES_MAX)
        return error_set(err, STATUS_INVALID, "sums at %llu places; 1 to 2^40 are possible",
                         (unsigned long long)desc->place_count);
    uint64_t least = ssl_texel_sum_least(desc->place_count);
    if (budget < least)
        return error_set(err, STATUS_LIMIT,
                         "sums at %llu places need a budget of %llu bytes, and may take %llu",
                         (unsigned long long)desc->place_count, (unsigned long long)least,
                         (unsigned long long)budget);
    return STATUS_OK;
}

Status ssl_texel_sum_create(const SslTexelSumDesc *desc, SslTexelSum **out, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc);
    uint64_t budget = desc->budget_bytes ? desc->budget_bytes : BUDGET_DEFAULT;
    *out = NULL;
    TRY(check(desc, budget, err));
    uint64_t pages = count_pages(desc->place_count);
    uint64_t frames = (budget - tables_bytes(desc->place_count)) / (sizeof(Frame) + PAGE_BYTES);
    frames = frames < pages ? frames : pages;
    SslTexelSum *s = MEM_NEW(SslTexelSum);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    *s = (SslTexelSum){.place_count = desc->place_count,
                       .budget_bytes = budget,
                       .folder = desc->folder ? mem_strdup(desc->folder) : NULL,
                       .fd = -1,
                       .where = MEM_ARRAY(uint32_t, pages),
                       .frames = MEM_ARRAY(Frame, frames),
                       .page_count = (uint32_t)pages,
                       .frame_max = (uint32_t)frames};
    if (!s->where || !s->frames || (desc->folder && !s->folder)) {
        ssl_texel_sum_destroy(s);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *out = s;
    return STATUS_OK;
}

void ssl_texel_sum_destroy(SslTexelSum *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->frame_max && s->frames; ++i)
        mem_free(s->frames[i].sums);
    if (s->fd >= 0)
        (void)close(s->fd);
    mem_free(s->folder);
    mem_free(s->where);
    mem_free(s->frames);
    mem_free(s);
}

void ssl_texel_sum_clear(SslTexelSum *s)
{
    memset(s->where, 0, s->page_count * sizeof *s->where);
    s->frame_count = s->hand = 0;
    s->additions = s->pages = s->writes = s->reads = 0;
}

/* --- pages -------------------------------------------------------------------------------------- */

static Status open_file(SslTexelSum *s, Error *err)
{
    char path[4096];
    if (s->fd >= 0)
        return STATUS_OK;
    int length = snprintf(path, sizeof path, "%s/sort-texels.XXXXXX", s->folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set_at(err, STATUS_INVALID, s->folder, "the folder's name is too long");
    s->fd = mkostemp(path, O_CLOEXEC);
    if (s->fd < 0)
        return error_set_at(err, STATUS_IO, path, "no file for sums: %s", strerror(errno));
    (void)unlink(path);
    return STATUS_OK;
}

static Status fail_io(const SslTexelSum *s, const char *what, ssize_t moved, Error *err)
{
    return error_set_at(err, STATUS_IO, s->folder, "a page of sums cannot be %s: %s", what,
                        moved < 0 ? strerror(errno) : "the file ends early");
}

static Status write_page(SslTexelSum *s, uint32_t page, const AccumWide *sums, Error *err)
{
    const char *data = (const char *)sums;
    TRY(open_file(s, err));
    for (size_t done = 0; done < PAGE_BYTES;) {
        ssize_t moved = pwrite(s->fd, data + done, PAGE_BYTES - done,
                               (off_t)((uint64_t)page * PAGE_BYTES + done));
        if (moved <= 0 && errno != EINTR)
            return fail_io(s, "written", moved, err);
        done += moved > 0 ? (size_t)moved : 0;
    }
    ++s->writes;
    return STATUS_OK;
}

static Status read_page(SslTexelSum *s, uint32_t page, AccumWide *sums, Error *err)
{
    char *data = (char *)sums;
    for (size_t done = 0; done < PAGE_BYTES;) {
        ssize_t moved = pread(s->fd, data + done, PAGE_BYTES - done,
                              (off_t)((uint64_t)page * PAGE_BYTES + done));
        if (moved == 0 || (moved < 0 && errno != EINTR))
            return fail_io(s, "read", moved, err);
        done += moved > 0 ? (size_t)moved : 0;
    }
    ++s->reads;
    return STATUS_OK;
}

/* Frees a frame whose page was not used since the hand was there last. */
static Status evict(SslTexelSum *s, uint32_t *out_frame, Error *err)
{
    if (!s->folder)
        return error_set(err, STATUS_LIMIT,
                         "sums at texels exceed their budget of %llu bytes, with %u pages of %d in "
                         "memory: give more, or a folder for what does not fit",
                         (unsigned long long)s->budget_bytes, s->frame_count, (int)PAGE_BYTES);
    while (s->frames[s->hand].was_used) {
        s->frames[s->hand].was_used = false;
        s->hand = (s->hand + 1) % s->frame_count;
    }
    *out_frame = s->hand;
    s->hand = (s->hand + 1) % s->frame_count;
    const Frame *frame = &s->frames[*out_frame];
    if (s->where[frame->page] != IN_FRAME + *out_frame)
        return STATUS_OK; /* it could not be read */
    TRY(write_page(s, frame->page, frame->sums, err));
    s->where[frame->page] = IN_FILE;
    return STATUS_OK;
}

static Status new_frame(SslTexelSum *s, uint32_t *out_frame, Error *err)
{
    if (s->frame_count == s->frame_max)
        return evict(s, out_frame, err);
    Frame *frame = &s->frames[s->frame_count];
    if (!frame->sums) {
        frame->sums = MEM_ARRAY(AccumWide, PAGE);
        if (!frame->sums)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        ++s->allocated_count;
    }
    *out_frame = s->frame_count++;
    return STATUS_OK;
}

/* Brings a page into a frame. */
static Status find_frame(SslTexelSum *s, uint32_t page, Frame **out, Error *err)
{
    uint32_t where = s->where[page], frame = where - IN_FRAME;
    if (where < IN_FRAME) {
        TRY(new_frame(s, &frame, err));
        *out = &s->frames[frame];
        (*out)->page = page;
        if (where == IN_FILE)
            TRY(read_page(s, page, (*out)->sums, err));
        else
            memset((*out)->sums, 0, PAGE_BYTES);
        s->pages += where == UNTOUCHED;
        s->where[page] = IN_FRAME + frame;
    }
    *out = &s->frames[frame];
    (*out)->was_used = true;
    return STATUS_OK;
}

/* --- sums --------------------------------------------------------------------------------------- */

static Status check_numbers(SslTexelSum *s, uint64_t first, const float *numbers, uint32_t count,
                            Error *err)
{
    bool are_good = true;
    for (uint32_t i = 0; i < count; ++i)
        are_good &= fabsf(numbers[i]) < TERM_MAX;
    for (uint32_t i = 0; i < count && !are_good; ++i)
        if (!(fabsf(numbers[i]) < TERM_MAX))
            return error_set(
                err, STATUS_INVALID, "a part of the gradient at place %llu is %g, which %s",
                (unsigned long long)(first + i), (double)numbers[i],
                isfinite(numbers[i]) ? "is too large for an exact sum: scale the adjoints"
                                     : "cannot be summed");
    if (s->additions + count > ADDITIONS_MAX)
        return error_set(err, STATUS_LIMIT, "sums of more than 2^38 numbers");
    return STATUS_OK;
}

Status ssl_texel_sum_add(SslTexelSum *s, uint64_t first, const float *numbers, uint32_t count,
                         Error *err)
{
    CHECK(first <= s->place_count && count <= s->place_count - first);
    TRY(check_numbers(s, first, numbers, count, err));
    for (uint32_t i = 0; i < count;) {
        uint32_t at = (uint32_t)((first + i) % PAGE), left = PAGE - at;
        uint32_t end = count - i < left ? count : i + left;
        Frame *frame;
        TRY(find_frame(s, (uint32_t)((first + i) / PAGE), &frame, err));
        for (; i < end; ++i, ++at)
            if (numbers[i] != 0.0f)
                accum_wide_add(&frame->sums[at], accum_wide_from_float(numbers[i]));
    }
    s->additions += count;
    return STATUS_OK;
}

Status ssl_texel_sum_merge(SslTexelSum *s, SslTexelSum *other, Error *err)
{
    CHECK(s->place_count == other->place_count && s != other);
    if (s->additions + other->additions > ADDITIONS_MAX)
        return error_set(err, STATUS_LIMIT, "sums of more than 2^38 numbers");
    for (uint32_t page = 0; page < s->page_count; ++page) {
        Frame *to, *from;
        if (other->where[page] == UNTOUCHED)
            continue;
        TRY(find_frame(other, page, &from, err));
        TRY(find_frame(s, page, &to, err));
        for (uint32_t i = 0; i < PAGE; ++i)
            accum_wide_add(&to->sums[i], from->sums[i]);
    }
    s->additions += other->additions;
    return STATUS_OK;
}

Status ssl_texel_sum_read(SslTexelSum *s, uint64_t first, uint64_t count, double *out_sums,
                          Error *err)
{
    CHECK(first <= s->place_count && count <= s->place_count - first);
    for (uint64_t place = first; place < first + count;) {
        uint32_t page = (uint32_t)(place / PAGE);
        uint64_t end = ((uint64_t)page + 1) * PAGE;
        end = end < first + count ? end : first + count;
        Frame *frame = NULL;
        if (s->where[page] != UNTOUCHED)
            TRY(find_frame(s, page, &frame, err));
        for (; place < end; ++place)
            *out_sums++ = frame ? accum_wide_to_double(frame->sums[place % PAGE]) : 0;
    }
    return STATUS_OK;
}

SslTexelSumStats ssl_texel_sum_stats(const SslTexelSum *s)
{
    return (SslTexelSumStats){.bytes = sizeof *s + s->page_count * sizeof *s->where +
                                       s->frame_max * sizeof *s->frames +
                                       (uint64_t)s->allocated_count * PAGE_BYTES +
                                       (s->folder ? strlen(s->folder) + 1 : 0),
                              .budget_bytes = s->budget_bytes,
                              .pages = s->pages,
                              .writes = s->writes,
                              .reads = s->reads};
}
