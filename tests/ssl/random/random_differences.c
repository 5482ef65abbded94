/* Central differences. */
#include "tests/ssl/random/random_case.h"
#include <math.h>

/* (f(+h) - f(-h)) / 2h of one output scalar; false: another branch was taken on the way. */
static bool central_difference(const SourcePoint at[2], const SourcePoint *center, uint32_t output,
                               uint32_t i, double h, double *out)
{
    for (uint32_t k = 0; k < 2; k++)
        if (at[k].decisions.is_doubtful || at[k].decisions.hash != center->decisions.hash)
            return false;
    *out = (at[1].outputs[output][i].f.v.v - at[0].outputs[output][i].f.v.v) / (2 * h);
    return true;
}

void random_compare_differences(Check *c, uint32_t point, uint32_t direction)
{
    /* No short binary fractions: a point that is moved must not look like an exact float. */
    static const double steps[] = {0.00195312537, 0.000976562685};
    SourcePoint own = {.mode = EVAL_RECORD};
    const SourcePoint *center = &own;
    SourcePoint at[2][2] = {{{0}}};
    /* Moved a little too, so that the program's own rounding, which the interpreter follows where it can,
     * does not put its derivatives at another place than the differences. */
    random_interpret(c, point, direction, 1e-10, &own);
    if (own.decisions.is_doubtful)
        return;
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t k = 0; k < 2; k++) {
            at[s][k] = *center;
            at[s][k].mode = EVAL_REPLAY;
            at[s][k].lookups.data = NULL; /* those of the center stay its own */
            at[s][k].lookups.count = at[s][k].lookups.capacity = 0;
            random_interpret(c, point, direction, k ? steps[s] : -steps[s], &at[s][k]);
        }
    uint32_t output = 0;
    for (uint32_t p = 0; p < c->shader->params.count; p++) {
        const VarDecl *param = c->shader->params.items[p];
        if (param->direction != DIRECTION_OUT)
            continue;
        for (uint32_t i = 0; type_lanes(param->type) && i < param->type->scalars; i++) {
            const Dual *x = &center->outputs[output][i].f;
            double wide = 0, narrow = 0,
                   size = fmax(1, fmax(fabs(x->v.v), fabs(x->d[direction].v)));
            bool is_near_pole = !(fabs(x->v.v) < 1e6 && fabs(x->d[direction].v) < 1e6);
            bool is_smooth = !is_near_pole && random_says_enough(x->v) &&
                             random_says_enough(x->d[direction]) &&
                             central_difference(at[0], center, output, i, steps[0], &wide) &&
                             central_difference(at[1], center, output, i, steps[1], &narrow) &&
                             fabs(wide - narrow) <= 1e-3 * size;
            c->tally->differences += is_smooth;
            c->tally->differences_skipped += !is_smooth;
            double slack = 2 * fabs(wide - narrow) + 1e-6 * size;
            if (is_smooth && !(fabs(narrow - x->d[direction].v) <= slack))
                random_complain(c, "central differences", point, param->name, x->d[direction].v,
                                (Bounded){narrow, slack / 2});
        }
        output++;
    }
}
