/* All numbers that a program gives at all points, to be compared with those of another way. */
#include "base/check.h"
#include "tests/ssl/random/random_case.h"

#include <math.h>
#include <string.h>

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

RandomVerdict random_run_numbers(Check *c, const SslUnit *unit, uint32_t lanes, bool is_flat,
                                 RandomNumbers *out)
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

static bool is_same(float x, float y, RandomSameness how)
{
    if (memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)))
        return true;
    if (how != RANDOM_NEAR)
        return how == RANDOM_EQUAL && x == y;
    bool is_ordinary = fabsf(x) < 1e6f && fabsf(y) < 1e6f; /* sums are added in another order */
    return !is_ordinary || fabsf(x - y) <= 1e-3f * (1 + fabsf(x));
}

bool random_same_numbers(Check *c, const char *what, const RandomNumbers *a, const RandomNumbers *b,
                         RandomSameness how)
{
    uint32_t per_point = a->numbers.count / POINTS;
    for (uint32_t i = 0; i < a->numbers.count; ++i) {
        if (a->faults[i / per_point] || b->faults[i / per_point] ||
            is_same(a->numbers.data[i], b->numbers.data[i], how))
            continue;
        strbuf_printf(c->report, "point %u: number %u is %.9g, %s %.9g\n", i / per_point,
                      i % per_point, (double)a->numbers.data[i], what, (double)b->numbers.data[i]);
        return false;
    }
    return true;
}
