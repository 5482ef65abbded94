#include "base/accum.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/simd.h"
#include "ssl/ssl_sum.h"
#include <string.h>

#define TERM_MAX 0x1p31f
enum { POINTS_MAX = INT32_MAX }; /* so sums stay below 2^62 */

/* A float of an output that is not always zero. */
typedef struct Number {
    uint32_t offset_bytes; /* in a block of results */
    uint32_t total;        /* among SslSum.totals */
} Number;

/* A float of an attribute that is an adjoint. */
typedef struct Adjoint {
    uint32_t offset_bytes; /* in a block of attributes */
    const char *name;      /* of the attribute */
} Adjoint;

struct SslSum {
    SslProgram *program;
    const SslProgramInfo *info;
    uint32_t *first;            /* [output]: of its numbers */
    Number *numbers;            /* [number_count] */
    Adjoint *adjoints;          /* [adjoint_count] */
    AccumWide *totals, *before; /* [count] now, and before the batch that is being added */
    uint32_t count, number_count, adjoint_count;
    uint64_t points;
};

static void list_numbers(SslSum *sum)
{
    const SslUnitInfo *unit = sum->info->unit;
    for (uint32_t i = 0; i < unit->output_count; ++i) {
        const SslOutputInfo *output = &unit->outputs[i];
        for (uint32_t k = 0; k < ssl_value_scalars(output->type, output->shape); ++k)
            if (!output->is_zero && ssl_value_kind(output->type, output->shape, k) == SSL_FLOAT)
                sum->numbers[sum->number_count++] =
                    (Number){sum->info->outputs[i].offset + k * SSL_BLOCK * 4, sum->first[i] + k};
    }
}

/* No name of a source has a parenthesis. Returns how many numbers of adjoints the kernel reads; out: NULL, or room for them. */
static uint32_t list_adjoints(const SslProgramInfo *info, Adjoint *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->unit->attribute_count; ++i) {
        const SslAttributeInfo *attribute = &info->unit->attributes[i];
        if (strncmp(attribute->name, "adjoint(", 8) != 0 || !info->attributes[i].is_used)
            continue;
        for (uint32_t k = 0; k < ssl_type_scalars(attribute->type); ++k, ++count)
            if (out)
                out[count] = (Adjoint){info->attributes[i].offset_bytes + k * SSL_BLOCK * 4,
                                       attribute->name};
    }
    return count;
}

Status ssl_sum_create(SslProgram *p, SslSum **out_sum, Error *err)
{
    const SslProgramInfo *info = ssl_program_info(p);
    SslSum *sum = MEM_NEW(SslSum);
    uint32_t *first = MEM_ARRAY(uint32_t, info->unit->output_count);
    uint32_t count = 0;
    for (uint32_t i = 0; first && i < info->unit->output_count; ++i) {
        first[i] = count;
        count += ssl_value_scalars(info->unit->outputs[i].type, info->unit->outputs[i].shape);
    }
    AccumWide *totals = MEM_ARRAY(AccumWide, 2 * (size_t)count);
    Number *numbers = MEM_ARRAY(Number, count);
    uint32_t adjoint_count = list_adjoints(info, NULL);
    Adjoint *adjoints = MEM_ARRAY(Adjoint, adjoint_count);
    *out_sum = NULL;
    if (!sum || !first || !totals || !numbers || !adjoints) {
        mem_free(sum);
        mem_free(first);
        mem_free(totals);
        mem_free(numbers);
        mem_free(adjoints);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *sum = (SslSum){.program = ssl_program_retain(p),
                    .info = info,
                    .first = first,
                    .numbers = numbers,
                    .adjoints = adjoints,
                    .totals = totals,
                    .before = totals + count,
                    .count = count,
                    .adjoint_count = list_adjoints(info, adjoints)};
    list_numbers(sum);
    *out_sum = sum;
    return STATUS_OK;
}

void ssl_sum_destroy(SslSum *sum)
{
    if (!sum)
        return;
    ssl_program_release(sum->program);
    mem_free(sum->first);
    mem_free(sum->totals);
    mem_free(sum->numbers);
    mem_free(sum->adjoints);
    mem_free(sum);
}

void ssl_sum_clear(SslSum *sum)
{
    memset(sum->totals, 0, sum->count * sizeof *sum->totals);
    sum->points = 0;
}

/* --- one batch ---------------------------------------------------------------------------------- */

static const char *at(const void *blocks, uint32_t stride_bytes, uint32_t block, uint32_t offset)
{
    return (const char *)blocks + (size_t)block * stride_bytes + offset;
}

SORT_ALWAYS_INLINE bool has_any(i32x4 quad)
{
    return i32x4_sign_bits(quad != 0) != 0;
}

static uint32_t list_bad_lanes(const int32_t bits[SSL_BLOCK], int32_t limit_bits)
{
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane)
        lanes |= (uint32_t)((bits[lane] & INT32_MAX) >= limit_bits) << lane;
    return lanes;
}

/* Returns the live lanes whose numbers are not below the limit, such as NaN. Numbers without sign compare like their bits. */
SORT_ALWAYS_INLINE uint32_t bad_lanes(const void *line, float limit, uint32_t live)
{
    int32_t bits[SSL_BLOCK], limit_bits;
    i32x4 large = {0};
    memcpy(bits, line, sizeof bits);
    memcpy(&limit_bits, &limit, sizeof limit_bits);
    for (uint32_t lane = 0; lane < SSL_BLOCK; lane += 4)
        large |= (i32x4_load(&bits[lane]) & INT32_MAX) >= limit_bits;
    return has_any(large) ? list_bad_lanes(bits, limit_bits) & live : 0;
}

static Status refuse(uint32_t block, uint32_t lanes, const char *what, const float *line,
                     Error *err)
{
    uint32_t lane = 0;
    while (!(lanes >> lane & 1))
        ++lane;
    double x = (double)line[lane];
    return error_set(
        err, STATUS_INVALID, "%s at point %u is %g, which %s", what, block * SSL_BLOCK + lane, x,
        isfinite(x) ? "is too large for an exact sum: scale the adjoints" : "cannot be summed");
}

static Status check_faults(const SslSum *sum, const SslBatch *batch, uint32_t block, Error *err)
{
    const char *words =
        at(batch->result, sum->info->result_stride_bytes, block, sum->info->fault_offset);
    i32x4 any = {0};
    for (uint32_t i = 0; i < SSL_BLOCK; i += 4)
        any |= i32x4_load(words + 4 * (size_t)i);
    for (uint32_t lane = 0; lane < SSL_BLOCK && has_any(any); ++lane) {
        uint32_t word;
        memcpy(&word, words + 4 * (size_t)lane, sizeof word);
        if (!(batch->live[block] >> lane & 1) || word == 0)
            continue;
        SslFaultInfo fault;
        ssl_fault_describe(sum->program, word - 1, &fault);
        return error_set(err, STATUS_INVALID, "point %u has a fault: %s:%u:%u: %s",
                         block * SSL_BLOCK + lane, fault.source_name, fault.line, fault.column,
                         fault.text);
    }
    return STATUS_OK;
}

/* Adjoints that are not finite may be lost in products with zeros that were chosen, so they are looked at themselves. */
static Status check_adjoints(const SslSum *sum, const SslBatch *batch, uint32_t block, Error *err)
{
    for (uint32_t i = 0; i < sum->adjoint_count; ++i) {
        const void *line = at(batch->attributes, sum->info->attributes_stride_bytes, block,
                              sum->adjoints[i].offset_bytes);
        uint32_t bad = bad_lanes(line, INFINITY, batch->live[block]);
        if (bad)
            return refuse(block, bad, sum->adjoints[i].name, line, err);
    }
    return STATUS_OK;
}

/* Returns the error of the first number that cannot be summed, of which there is one. */
static Status refuse_number(const SslSum *sum, const SslBatch *batch, Error *err)
{
    const SslUnitInfo *unit = sum->info->unit;
    for (uint32_t block = 0; block < batch->block_count; ++block)
        for (uint32_t i = 0; i < sum->number_count; ++i) {
            const void *line = at(batch->result, sum->info->result_stride_bytes, block,
                                  sum->numbers[i].offset_bytes);
            uint32_t bad = bad_lanes(line, TERM_MAX, batch->live[block]), output = 0;
            while (output + 1 < unit->output_count &&
                   sum->first[output + 1] <= sum->numbers[i].total)
                ++output;
            if (bad)
                return refuse(block, bad, unit->outputs[output].name, line, err);
        }
    UNREACHABLE();
}

/* Lines of one number, without lines of zeros: most of a gradient are zeros where parameters belong to things that are small in a
 * picture. */
typedef struct Lines {
    const float *line[ACCUM_LINES_MAX];
    float masked[ACCUM_LINES_MAX][SSL_BLOCK]; /* those with lanes that are not live */
    uint32_t count;
} Lines;

/* One line at a time, as a number is not below ACCUM_LINE_MAX. Returns false where one is not below TERM_MAX; the total is
 * then no sum any more. */
static bool add_large_lines(const Lines *lines, AccumWide *total)
{
    for (uint32_t i = 0; i < lines->count; ++i) {
        const float *line = lines->line[i];
        if (bad_lanes(line, TERM_MAX, UINT16_MAX))
            return false;
        if (accum_lines_add(&lines->line[i], 1, total))
            continue;
        for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane)
            accum_wide_add(total, accum_wide_from_float(line[lane]));
    }
    return true;
}

typedef bool AddLines(const float *const *lines, uint32_t count, AccumWide *out);

/* All have the same bits. */
static AddLines *fastest_add(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return accum_lines_add_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return accum_lines_add_avx2;
#endif
    return accum_lines_add;
}

/* Adds the lines, which are none afterwards. Returns what add_large_lines does. */
static bool flush_lines(Lines *lines, AddLines *add, AccumWide *total)
{
    _Static_assert((int)SSL_BLOCK == (int)ACCUM_LINE, "a line is a line of accum.h");
    bool is_added = add(lines->line, lines->count, total) || add_large_lines(lines, total);
    lines->count = 0;
    return is_added;
}

/* Appends a line, unless it has zeros only, with zeros where lanes are not live. */
SORT_ALWAYS_INLINE void push_line(Lines *lines, const float *from, uint32_t live)
{
    i32x4 quads[SSL_BLOCK / 4], any = {0};
    for (uint32_t i = 0; i < SSL_BLOCK / 4; ++i)
        any |= quads[i] = i32x4_load(from + 4 * (size_t)i);
    if (!has_any(any & INT32_MAX))
        return;
    lines->line[lines->count] = from;
    if (live != UINT16_MAX) {
        for (uint32_t i = 0; i < SSL_BLOCK / 4; ++i)
            quads[i] &= ((int32_t)(live >> 4 * i) & (i32x4){1, 2, 4, 8}) != 0;
        memcpy(lines->masked[lines->count], quads, sizeof quads);
        lines->line[lines->count] = lines->masked[lines->count];
    }
    ++lines->count;
}

/* Adds one number of all blocks. Returns what add_large_lines does. */
static bool add_column(const SslSum *sum, const Number *number, const SslBatch *batch,
                       AddLines *add)
{
    AccumWide *total = &sum->totals[number->total];
    Lines lines;
    lines.count = 0;
    for (uint32_t block = 0; block < batch->block_count; ++block) {
        const void *line =
            at(batch->result, sum->info->result_stride_bytes, block, number->offset_bytes);
        push_line(&lines, line, batch->live[block]);
        if (lines.count == ACCUM_LINES_MAX && !flush_lines(&lines, add, total))
            return false;
    }
    return lines.count == 0 || flush_lines(&lines, add, total);
}

static Status count_points(SslSum *sum, uint64_t points, Error *err)
{
    if (sum->points + points > POINTS_MAX)
        return error_set(err, STATUS_LIMIT, "a sum of more than %d points", POINTS_MAX);
    sum->points += points;
    return STATUS_OK;
}

Status ssl_sum_add(SslSum *sum, const SslBatch *batch, Error *err)
{
    AddLines *add = fastest_add();
    uint64_t points = 0;
    for (uint32_t block = 0; block < batch->block_count; ++block) {
        TRY(check_adjoints(sum, batch, block, err));
        TRY(check_faults(sum, batch, block, err));
        points += (uint32_t)__builtin_popcount(batch->live[block]);
    }
    TRY(count_points(sum, points, err));
    memcpy(sum->before, sum->totals, sum->count * sizeof *sum->totals);
    for (uint32_t i = 0; i < sum->number_count; ++i) {
        if (add_column(sum, &sum->numbers[i], batch, add))
            continue;
        memcpy(sum->totals, sum->before, sum->count * sizeof *sum->totals);
        sum->points -= points;
        return refuse_number(sum, batch, err);
    }
    return STATUS_OK;
}

Status ssl_sum_merge(SslSum *sum, const SslSum *other, Error *err)
{
    CHECK(sum->count == other->count);
    TRY(count_points(sum, other->points, err));
    for (uint32_t i = 0; i < sum->count; ++i)
        accum_wide_add(&sum->totals[i], other->totals[i]);
    return STATUS_OK;
}

double ssl_sum_value(const SslSum *sum, uint32_t output, uint32_t number)
{
    ASSERT(output < sum->info->unit->output_count);
    return accum_wide_to_double(sum->totals[sum->first[output] + number]);
}

uint64_t ssl_sum_points(const SslSum *sum)
{
    return sum->points;
}
