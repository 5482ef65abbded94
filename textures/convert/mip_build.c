/* A Step averages level n into level n + 1. Along an axis the unit is chosen such that a source texel
 * has the integer length `source` and a result texel the integer length `result`. Texel edges of
 * both levels then lie on whole numbers, and weights are integer overlaps. */
#include "textures/convert/mip_build.h"
#include "base/alloc.h"
#include "base/check.h"
#include <string.h>

enum { MIP_STEPS_MAX = 32, SUMS_MAX = 8 };

typedef struct Axis {
    uint32_t source_count, result_count;
    /* lengths of a texel; source_count * source == result_count * result */
    uint64_t source, result;
} Axis;

typedef struct Step {
    Axis x, y;
    uint64_t rows_in;
    double *sums;   /* owned; [x.result_count][sum_count], sums of the current result row */
    double *across; /* owned; [x.result_count][sum_count], sums of one source row */
    float *row;     /* owned; [x.result_count][channel_count] */
} Step;

struct MipBuilder {
    MipDesc desc;
    /* a plain sum for each channel; with alpha also alpha x colour for each colour channel, and alpha */
    uint32_t sum_count;
    uint32_t step_count;
    Step steps[MIP_STEPS_MAX];
};

static Axis axis_between(uint32_t source_count, uint32_t result_count)
{
    ASSERT(result_count > 0 && source_count >= result_count);
    uint32_t a = source_count, b = result_count;
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return (Axis){source_count, result_count, result_count / a, source_count / a};
}

Status mip_builder_create(const MipDesc *desc, MipBuilder **out_builder, Error *err)
{
    ASSERT(desc->width > 0 && desc->height > 0 && desc->channel_count <= 4);
    *out_builder = NULL;
    MipBuilder *b = MEM_NEW(MipBuilder);
    bool ok = b != NULL;
    if (ok) {
        b->desc = *desc;
        uint32_t channels = desc->channel_count;
        b->sum_count = channels + (desc->is_alpha_weighted ? channels : 0);
        uint32_t width = desc->width, height = desc->height;
        while (ok && (width > 1 || height > 1)) {
            ASSERT(b->step_count < MIP_STEPS_MAX);
            uint32_t half_width = width > 1 ? width / 2 : 1,
                     half_height = height > 1 ? height / 2 : 1;
            Step *s = &b->steps[b->step_count++];
            s->x = axis_between(width, half_width);
            s->y = axis_between(height, half_height);
            s->sums = mem_alloc(half_width, b->sum_count * sizeof(double));
            s->across = mem_alloc(half_width, b->sum_count * sizeof(double));
            s->row = mem_alloc(half_width, channels * sizeof(float));
            ok = s->sums && s->across && s->row;
            width = half_width;
            height = half_height;
        }
    }
    if (!ok) {
        mip_builder_destroy(b);
        return error_set(err, STATUS_NO_MEMORY, "out of memory for the mip levels");
    }
    *out_builder = b;
    return STATUS_OK;
}

void mip_builder_destroy(MipBuilder *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->step_count; ++i) {
        mem_free(b->steps[i].sums);
        mem_free(b->steps[i].across);
        mem_free(b->steps[i].row);
    }
    mem_free(b);
}

/* Adds weight x texel to the sums of one result texel. */
static void add_texel(const MipBuilder *b, double weight, const float *texel, double *sums)
{
    uint32_t channels = b->desc.channel_count;
    for (uint32_t c = 0; c < channels; ++c)
        sums[c] += weight * (double)texel[c];
    if (b->desc.is_alpha_weighted) {
        double alpha = texel[channels - 1] > 0.0f ? (double)texel[channels - 1] : 0.0;
        for (uint32_t c = 0; c + 1 < channels; ++c)
            sums[channels + c] += weight * alpha * (double)texel[c];
        sums[2 * channels - 1] += weight * alpha;
    }
}

/* Sums a source row along x into s->across. */
static void sum_across(const MipBuilder *b, Step *s, const float *row)
{
    const Axis *x = &s->x;
    uint32_t channels = b->desc.channel_count;
    memset(s->across, 0, (size_t)x->result_count * b->sum_count * sizeof(double));
    double *sums = s->across;
    uint64_t room = x->result; /* length of the result texel that is not covered yet */
    for (uint32_t i = 0; i < x->source_count; ++i, row += channels) {
        uint64_t length = x->source;
        while (length > 0) {
            uint64_t overlap = length < room ? length : room;
            add_texel(b, (double)overlap, row, sums);
            length -= overlap;
            room -= overlap;
            if (room == 0) {
                sums += b->sum_count;
                room = x->result;
            }
        }
    }
    ASSERT(sums == s->across + (size_t)x->result_count * b->sum_count);
}

/* Turns the sums into averages, as floats. */
static void finish_row(const MipBuilder *b, Step *s)
{
    uint32_t channels = b->desc.channel_count;
    double area = (double)s->x.result * (double)s->y.result;
    for (uint32_t i = 0; i < s->x.result_count; ++i) {
        const double *sums = s->sums + (size_t)i * b->sum_count;
        float *out = s->row + (size_t)i * channels;
        for (uint32_t c = 0; c < channels; ++c)
            out[c] = (float)(sums[c] / area);
        if (b->desc.is_alpha_weighted && sums[2 * channels - 1] > 0.0) {
            for (uint32_t c = 0; c + 1 < channels; ++c)
                out[c] = (float)(sums[channels + c] / sums[2 * channels - 1]);
        }
    }
}

static Status push_into(MipBuilder *b, uint32_t step, const float *row, Error *err)
{
    if (step == b->step_count)
        return STATUS_OK;
    Step *s = &b->steps[step];
    ASSERT(s->rows_in < s->y.source_count);
    sum_across(b, s, row);
    size_t value_count = (size_t)s->x.result_count * b->sum_count;
    uint64_t begin = s->rows_in++ * s->y.source, end = begin + s->y.source;
    while (begin < end) {
        uint64_t result_end = (begin / s->y.result + 1) * s->y.result;
        uint64_t overlap_end = end < result_end ? end : result_end;
        double weight = (double)(overlap_end - begin);
        for (size_t i = 0; i < value_count; ++i)
            s->sums[i] += weight * s->across[i];
        if (overlap_end == result_end) {
            finish_row(b, s);
            memset(s->sums, 0, value_count * sizeof(double));
            TRY(b->desc.emit(b->desc.data, step + 1, s->row, err));
            TRY(push_into(b, step + 1, s->row, err));
        }
        begin = overlap_end;
    }
    return STATUS_OK;
}

Status mip_builder_push(MipBuilder *b, const float *row, Error *err)
{
    return push_into(b, 0, row, err);
}

/* --- the transpose ------------------------------------------------------------------------------ */

/* The texels of the smaller level that one of the larger is part of, which are two at most, and the parts. */
typedef struct Parents {
    uint32_t first, count;
    double weights[2];
} Parents;

static Parents parents_of(const Axis *axis, uint32_t texel)
{
    uint64_t begin = texel * axis->source, end = begin + axis->source;
    Parents p = {.first = (uint32_t)(begin / axis->result)};
    while (begin < end) {
        uint64_t edge = (p.first + p.count + 1) * axis->result;
        uint64_t next = edge < end ? edge : end;
        ASSERT(p.count < 2);
        p.weights[p.count++] = (double)(next - begin) / (double)axis->result;
        begin = next;
    }
    return p;
}

void mip_pull(uint32_t width, uint32_t height, uint32_t channel_count, const double *coarse,
              double *fine)
{
    Axis x = axis_between(width, width > 1 ? width / 2 : 1);
    Axis y = axis_between(height, height > 1 ? height / 2 : 1);
    for (uint32_t row = 0; row < height; ++row) {
        Parents above = parents_of(&y, row);
        for (uint32_t column = 0; column < width; ++column, fine += channel_count) {
            Parents beside = parents_of(&x, column);
            for (uint32_t i = 0; i < above.count * beside.count; ++i) {
                uint32_t j = i / beside.count, k = i % beside.count;
                const double *from =
                    coarse +
                    ((size_t)(above.first + j) * x.result_count + beside.first + k) * channel_count;
                for (uint32_t c = 0; c < channel_count; ++c)
                    fine[c] += above.weights[j] * beside.weights[k] * from[c];
            }
        }
    }
}
