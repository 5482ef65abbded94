/* Gradients over edges of random shaders, which say nothing of where edges are: where globals do not change from pixel to pixel they are
 * those without edges, and else they have the same bits at all widths, and as a group. */
#include "base/check.h"
#include "tests/ssl/random/random_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MAX = 16, SEEN_LANES = 3 };

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

RandomVerdict random_check_edges(Check *c, const SslUnit *unit)
{
    static const uint32_t lanes[SEEN_LANES] = {1, 8, 16};
    RandomVerdict verdict = RANDOM_GOOD;
    RandomNumbers flat = {0}, plain = {0}, grouped = {0}, edges[SEEN_LANES] = {0};
    SslUnit *group = NULL, *of_group = NULL;
    SslUnit *without = derive(c, unit, false, &verdict);
    SslUnit *with = without ? derive(c, unit, true, &verdict) : NULL;
    if (with)
        verdict = random_group_of(c->ctx, unit, c->report, &group);
    if (group)
        of_group = derive(c, group, true, &verdict);
    if (of_group) {
        verdict = random_run_numbers(c, without, 1, true, &plain);
        if (verdict == RANDOM_GOOD)
            verdict = random_run_numbers(c, with, 1, true, &flat);
        if (verdict == RANDOM_GOOD)
            verdict = random_run_numbers(c, of_group, 8, false, &grouped);
        for (uint32_t i = 0; i < SEEN_LANES && verdict == RANDOM_GOOD; ++i)
            verdict = random_run_numbers(c, with, lanes[i], false, &edges[i]);
        if (verdict == RANDOM_GOOD &&
            (!random_same_numbers(c, "without edges", &flat, &plain, RANDOM_NEAR) ||
             !random_same_numbers(c, "over edges with 8 lanes", &edges[0], &edges[1],
                                  RANDOM_BITS) ||
             !random_same_numbers(c, "over edges with 16 lanes", &edges[0], &edges[2],
                                  RANDOM_BITS) ||
             !random_same_numbers(c, "over edges as a group", &edges[0], &grouped, RANDOM_BITS)))
            verdict = RANDOM_BAD;
        c->tally->edge_gradients += verdict == RANDOM_GOOD ? SEEN_LANES : 0;
    }
    ssl_unit_release(of_group);
    ssl_unit_release(group);
    ssl_unit_release(with);
    ssl_unit_release(without);
    return verdict == RANDOM_REFUSED ? RANDOM_GOOD : verdict;
}
