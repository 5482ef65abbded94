/* Gradients over edges of random shaders, which say nothing of where edges are: where globals do not change from pixel to pixel they are
 * those without edges, and else they have the same bits at all widths. */
#include "base/check.h"
#include "tests/ssl/random/random_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MAX = 16, SEEN_LANES = 3 };

/* The gradients of a program at all points. */
typedef struct Gradients {
    ARRAY(float) numbers;
    bool faults[POINTS];
} Gradients;

static bool has_floats(SslType type, const SslShape *shape)
{
    for (uint32_t i = 0; i < ssl_value_scalars(type, shape); ++i)
        if (ssl_value_kind(type, shape, i) == SSL_FLOAT)
            return true;
    return false;
}

/* Returns NULL if there is no derivative: nothing to take one of, or an operation that has none. */
static SslUnit *derive(Check *c, const SslUnit *unit, bool has_edges, RandomVerdict *verdict)
{
    const SslUnitInfo *info = ssl_unit_info(unit);
    SslDerivativeInput inputs[PORTS_MAX];
    const char *outputs[PORTS_MAX];
    SslDerivativeDesc how = {.size_bytes = sizeof how,
                             .is_backward = true,
                             .inputs = inputs,
                             .outputs = outputs,
                             .has_edges = has_edges};
    for (uint32_t i = 0; i < info->param_count && how.input_count < PORTS_MAX; ++i)
        if (has_floats(info->params[i].type, info->params[i].shape))
            inputs[how.input_count++] = (SslDerivativeInput){SSL_INPUT_PARAM, info->params[i].name};
    for (uint32_t i = 0; i < info->output_count && how.output_count < PORTS_MAX; ++i)
        if (!info->outputs[i].shape && info->outputs[i].type >= SSL_FLOAT &&
            info->outputs[i].type <= SSL_NORMAL)
            outputs[how.output_count++] = info->outputs[i].name;
    if (how.input_count == 0 || how.output_count == 0)
        return NULL;
    Error err = {0};
    SslUnit *made = NULL;
    DiagList *diags = diag_list_create();
    Status status = ssl_unit_differentiate(unit, &how, diags, &made, &err);
    for (uint32_t i = 0; i < diag_count(diags) && status != STATUS_OK; ++i) {
        const char *code = diag_get(diags, i)->code; /* lookups, ddx, tapes: without derivative */
        if (strcmp(code, "S0815") == 0 || strcmp(code, "S0819") == 0 || strcmp(code, "S0820") == 0)
            status = STATUS_OK;
    }
    if (status != STATUS_OK)
        *verdict = random_refuse(diags, &err, status, c->report);
    diag_list_destroy(diags);
    return made;
}

static void set_points(Check *c, const SslUnitInfo *info, SslProgram *program, GridHost *grid,
                       bool is_flat)
{
    random_set_inputs(c, program, grid);
    for (uint32_t point = 0; point < POINTS; ++point) {
        for (uint32_t row = 0; row < random_tables.global_count && is_flat; ++row)
            for (uint32_t k = 1; k < 3 && random_tables.globals[row].has_derivs; ++k)
                for (uint32_t i = 0; i < ssl_type_scalars(random_tables.globals[row].type); ++i)
                    *grid_host_global(grid, row, k, i, point) = 0;
        for (uint32_t slot = 0; slot < info->attribute_count; ++slot)
            for (uint32_t i = 0; strncmp(info->attributes[slot].name, "adjoint(", 8) == 0 &&
                                 i < ssl_type_scalars(info->attributes[slot].type);
                 ++i) {
                float *at = grid_host_attribute(grid, slot, 0, i, point);
                if (at)
                    *at = cosf((float)(3 * slot + 5 * i + point));
            }
    }
}

static RandomVerdict run(Check *c, const SslUnit *unit, uint32_t lanes, bool is_flat,
                         Gradients *out)
{
    Error err = {0};
    SslProgram *program;
    GridHost *grid;
    DiagList *diags = diag_list_create();
    const SslBuildDesc how = {.size_bytes = sizeof how, .llvm_level = 1, .lanes = lanes};
    Status status = ssl_program_build(c->ctx, unit, &how, diags, &program, &err);
    RandomVerdict verdict =
        status == STATUS_OK ? RANDOM_GOOD : random_refuse(diags, &err, status, c->report);
    diag_list_destroy(diags);
    if (status != STATUS_OK)
        return verdict;
    CHECK(grid_host_create(program, random_tables.globals, random_tables.global_count, POINTS,
                           &grid, &err) == STATUS_OK);
    const SslUnitInfo *info = ssl_unit_info(unit);
    set_points(c, info, program, grid, is_flat);
    grid_host_run(grid);
    for (uint32_t point = 0; point < POINTS; ++point) {
        out->faults[point] = grid_host_fault(grid, point) != 0;
        for (uint32_t o = 0; o < info->output_count; ++o)
            for (uint32_t k = 0;
                 k < ssl_value_scalars(info->outputs[o].type, info->outputs[o].shape); ++k)
                array_push(c->arena, &out->numbers,
                           grid_host_float(grid, ssl_program_info(program)->outputs[o], k, point));
    }
    grid_host_destroy(grid);
    ssl_program_release(program);
    return RANDOM_GOOD;
}

static bool is_same(float x, float y, bool in_bits)
{
    if (in_bits)
        return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
    bool is_ordinary = fabsf(x) < 1e6f && fabsf(y) < 1e6f; /* sums are added in another order */
    return !is_ordinary || fabsf(x - y) <= 1e-3f * (1 + fabsf(x));
}

static bool compare(Check *c, const char *what, const Gradients *a, const Gradients *b,
                    bool in_bits)
{
    uint32_t per_point = a->numbers.count / POINTS;
    for (uint32_t i = 0; i < a->numbers.count; ++i) {
        if (a->faults[i / per_point] || b->faults[i / per_point] ||
            is_same(a->numbers.data[i], b->numbers.data[i], in_bits))
            continue;
        strbuf_printf(c->report, "point %u: gradient %u over edges is %.9g, %s %.9g\n",
                      i / per_point, i % per_point, (double)a->numbers.data[i], what,
                      (double)b->numbers.data[i]);
        return false;
    }
    ++c->tally->edge_gradients;
    return true;
}

RandomVerdict random_check_edges(Check *c, const SslUnit *unit)
{
    static const uint32_t lanes[SEEN_LANES] = {1, 8, 16};
    RandomVerdict verdict = RANDOM_GOOD;
    Gradients flat = {0}, plain = {0}, edges[SEEN_LANES] = {0};
    SslUnit *without = derive(c, unit, false, &verdict);
    SslUnit *with = without ? derive(c, unit, true, &verdict) : NULL;
    if (with) {
        verdict = run(c, without, 1, true, &plain);
        if (verdict == RANDOM_GOOD)
            verdict = run(c, with, 1, true, &flat);
        for (uint32_t i = 0; i < SEEN_LANES && verdict == RANDOM_GOOD; ++i)
            verdict = run(c, with, lanes[i], false, &edges[i]);
        if (verdict == RANDOM_GOOD && (!compare(c, "without", &flat, &plain, false) ||
                                       !compare(c, "with 8 lanes", &edges[0], &edges[1], true) ||
                                       !compare(c, "with 16 lanes", &edges[0], &edges[2], true)))
            verdict = RANDOM_BAD;
    }
    ssl_unit_release(with);
    ssl_unit_release(without);
    return verdict == RANDOM_REFUSED ? RANDOM_GOOD : verdict;
}
