/* Checkpoints. A file is a header, the numbers of the fit, and a check sum of all before it; the byte order is the machine's,
 * and the header tells.
 *
 *   Header | doubles: x, value, best, best_value, memory, history | u32 firsts | u32 crc */
#include "base/alloc.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "fit/fit_method.h"
#include <stdio.h>
#include <string.h>

enum { ORDER_MARK = 0x01020304, HAS_BEGUN = 1, HAS_ENDED = 2 };
static const char magic[8] = "SORTFIT1";

typedef struct Header {
    char magic[8];
    uint8_t digest[16];
    uint32_t order, number_count, starts, iterations, start, iteration, flags, history_count;
    uint64_t evaluations, draws, memory_count;
} Header;
_Static_assert(sizeof(Header) == 80, "the header has no padding");

/* Returns a digest of all that the steps depend on; the number of iterations matters to Adam alone, and is checked apart. */
static Hash128 digest_of(const Fit *fit)
{
    HashState s;
    hash128_begin(&s);
    hash128_update_u64(&s, (uint64_t)fit->desc.method);
    hash128_update_u64(&s, fit->desc.seed);
    hash128_update(&s, &fit->desc.step, sizeof fit->desc.step);
    hash128_update_u64(&s, fit->desc.hops);
    hash128_update(&s, fit->desc.problem.bytes, sizeof fit->desc.problem.bytes);
    for (uint32_t i = 0; i < fit->desc.param_count; ++i) {
        const FitParam *p = &fit->desc.params[i];
        const double numbers[3] = {p->low, p->high, p->start};
        hash128_update_text(&s, p->name);
        hash128_update(&s, numbers, sizeof numbers);
        hash128_update_u64(&s, p->is_whole);
        hash128_update_u64(&s, p->group);
    }
    for (uint32_t i = 0; i < fit->desc.field_count; ++i) {
        const FitField *f = &fit->fields[i];
        hash128_update_text(&s, f->name);
        hash128_update(&s, f->low, sizeof f->low);
        hash128_update(&s, f->high, sizeof f->high);
        hash128_update(&s, f->start, f->count * sizeof *f->start);
    }
    return hash128_end(&s);
}

static Header header_of(const Fit *fit)
{
    Header h = {.order = ORDER_MARK,
                .number_count = fit->count,
                .starts = fit->desc.starts,
                .iterations = fit->desc.iterations,
                .start = fit->start,
                .iteration = fit->iteration,
                .flags = (fit->has_begun ? HAS_BEGUN : 0u) | (fit->has_ended ? HAS_ENDED : 0u),
                .history_count = fit->history_count,
                .evaluations = fit->evaluations,
                .draws = fit->draws,
                .memory_count = fit->memory_count};
    Hash128 digest = digest_of(fit);
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.digest, digest.bytes, sizeof h.digest);
    return h;
}

/* The parts of a file behind its header, in order. */
typedef struct Part {
    void *data;
    size_t size_bytes;
} Part;
enum { PARTS = 7 };

static void list_parts(Fit *fit, uint32_t starts, Part parts[PARTS])
{
    size_t n = fit->count;
    const Part list[PARTS] = {{fit->x, n * sizeof(double)},
                              {&fit->value, sizeof(double)},
                              {fit->best, n * sizeof(double)},
                              {&fit->best_value, sizeof(double)},
                              {fit->memory, fit->memory_count * sizeof(double)},
                              {fit->history, fit->history_count * sizeof(double)},
                              {fit->firsts, starts * sizeof(uint32_t)}};
    memcpy(parts, list, sizeof list);
}

static size_t size_of(const Fit *fit, uint32_t starts, uint32_t history_count)
{
    size_t numbers = 2 * (size_t)fit->count + 2 + fit->memory_count + history_count;
    return sizeof(Header) + numbers * sizeof(double) + starts * sizeof(uint32_t) + sizeof(uint32_t);
}

Status fit_save(const Fit *fit, const char *path, Error *err)
{
    Fit copy = *fit;
    Part parts[PARTS];
    list_parts(&copy, fit->desc.starts, parts);
    Header header = header_of(fit);
    size_t size = size_of(fit, fit->desc.starts, fit->history_count);
    char *data = mem_alloc(size, 1);
    if (!data)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    char *at = data;
    memcpy(at, &header, sizeof header);
    at += sizeof header;
    for (uint32_t i = 0; i < PARTS; ++i) {
        if (parts[i].size_bytes)
            memcpy(at, parts[i].data, parts[i].size_bytes);
        at += parts[i].size_bytes;
    }
    ASSERT((size_t)(at - data) + sizeof(uint32_t) == size);
    uint32_t crc = crc32c(0, data, (size_t)(at - data));
    memcpy(at, &crc, sizeof crc);
    Status status = file_write(path, data, size, err);
    mem_free(data);
    return status;
}

static Status check_header(const Fit *fit, const Header *h, const char *path, Error *err)
{
    Header own = header_of(fit);
    if (memcmp(h->digest, own.digest, sizeof own.digest) != 0 ||
        h->number_count != own.number_count || h->memory_count != own.memory_count)
        return error_set_at(err, STATUS_INVALID, path,
                            "the checkpoint is one of another fit: of another shader, target, "
                            "parameter, bound, start, method, step, hops or seed");
    if (h->starts > own.starts || h->iterations > own.iterations ||
        (h->iterations != own.iterations && fit->desc.method == FIT_ADAM))
        return error_set_at(err, STATUS_INVALID, path,
                            "the checkpoint is one of a fit of %u iterations from %u start%s",
                            h->iterations, h->starts, h->starts == 1 ? "" : "s");
    return STATUS_OK;
}

static Status check_whole(const char *path, const char *data, size_t size, Header *out, Error *err)
{
    uint32_t crc;
    if (size < sizeof *out + sizeof crc || memcmp(data, magic, sizeof magic) != 0)
        return error_set_at(err, STATUS_FORMAT, path, "this is no checkpoint of a fit");
    memcpy(out, data, sizeof *out);
    memcpy(&crc, data + size - sizeof crc, sizeof crc);
    if (out->order != ORDER_MARK)
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "the checkpoint was written on a machine with another byte order");
    if (crc != crc32c(0, data, size - sizeof crc))
        return error_set_at(err, STATUS_FORMAT, path, "the checkpoint is damaged");
    return STATUS_OK;
}

static Status take(Fit *fit, const char *path, const char *data, size_t size, Error *err)
{
    Header h;
    TRY(check_whole(path, data, size, &h, err));
    TRY(check_header(fit, &h, path, err));
    size_t total = size_of(fit, h.starts, h.history_count);
    if (total != size)
        return error_set_at(err, STATUS_FORMAT, path, "the checkpoint has %zu bytes, not %zu", size,
                            total);
    double *history = MEM_ARRAY(double, h.history_count);
    if (!history)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    mem_free(fit->history);
    fit->history = history;
    fit->history_count = fit->history_room = h.history_count;
    Part parts[PARTS];
    list_parts(fit, h.starts, parts);
    const char *at = data + sizeof h;
    for (uint32_t i = 0; i < PARTS; ++i) {
        if (parts[i].size_bytes)
            memcpy(parts[i].data, at, parts[i].size_bytes);
        at += parts[i].size_bytes;
    }
    fit->start = h.start;
    fit->iteration = h.iteration;
    fit->has_begun = h.flags & HAS_BEGUN;
    fit->has_ended = h.flags & HAS_ENDED;
    fit->evaluations = h.evaluations;
    fit->draws = h.draws;
    return STATUS_OK;
}

Status fit_load(Fit *fit, const char *path, Error *err)
{
    char *data;
    size_t size;
    TRY(file_read(path, (size_t)1 << 36, &data, &size, err));
    Status status = take(fit, path, data, size, err);
    mem_free(data);
    return status;
}
