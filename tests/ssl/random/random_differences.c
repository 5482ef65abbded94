/* Central differences of the interpreter's values against its own derivatives, where the function is smooth
 * enough to say anything: no branch, jump or kink between the points, no pole near. */
#include "tests/ssl/random/random_case.h"
#include <math.h>

enum { STEPS = 2 };

/* In pixels, the second half of the first. No short binary fractions: a point that is moved must not look like
 * an exact float. */
static const double step_size[STEPS] = {0.00195312537, 0.000976562685};

/* The center and what is around it, at -h and +h for each step. */
typedef struct Neighbours {
    SourcePoint center, at[STEPS][2];
} Neighbours;

static bool interpret_around(Check *c, uint32_t point, uint32_t direction, Neighbours *n)
{
    /* The center is moved a little too, so that the program's own rounding, which the interpreter follows
     * where it can, does not put its derivatives at another place than the differences. */
    n->center = (SourcePoint){.mode = EVAL_RECORD};
    random_interpret(c, point, direction, 1e-10, &n->center);
    if (n->center.decisions.is_doubtful)
        return false;
    for (uint32_t s = 0; s < STEPS; ++s)
        for (uint32_t k = 0; k < 2; ++k) {
            SourcePoint *p = &n->at[s][k];
            *p = n->center;
            p->mode = EVAL_REPLAY;
            p->lookups.data = NULL; /* those of the center stay its own */
            p->lookups.count = p->lookups.capacity = 0;
            random_interpret(c, point, direction, k ? step_size[s] : -step_size[s], p);
            if (p->decisions.is_doubtful || p->decisions.hash != n->center.decisions.hash)
                return false;
        }
    return true;
}

static double value_of(const SourcePoint *p, uint32_t output, uint32_t i)
{
    return p->outputs[output][i].f.v.v;
}

/* True if it could be compared. */
static bool compare_scalar(Check *c, const Neighbours *n, uint32_t point, uint32_t direction,
                           uint32_t output, uint32_t i, const char *name)
{
    const Dual *x = &n->center.outputs[output][i].f;
    double v = x->v.v, d = x->d[direction].v, slope[STEPS], bend[STEPS];
    if (!random_says_enough(x->v) || !random_says_enough(x->d[direction]) || fabs(v) > 1e6 ||
        fabs(d) > 1e6)
        return false;
    for (uint32_t s = 0; s < STEPS; ++s) {
        double low = value_of(&n->at[s][0], output, i), high = value_of(&n->at[s][1], output, i);
        slope[s] = (high - low) / (2 * step_size[s]);
        bend[s] = fabs((high - v) - (v - low)) / step_size[s];
    }
    double size = fmax(1, fmax(fabs(v), fabs(d)));
    double error = fabs(slope[0] - slope[1]);
    /* Half the step, half the bend; at a kink it stays. */
    if (!(error <= 1e-3 * size) || !(bend[1] <= 0.75 * bend[0] + 1e-7 * size))
        return false;
    double slack = 2 * error + 1e-6 * size;
    if (!(fabs(slope[1] - d) <= slack))
        random_complain(c, "central differences", point, name, d, (Bounded){slope[1], slack / 2});
    return true;
}

void random_compare_differences(Check *c, uint32_t point, uint32_t direction)
{
    Neighbours *n = ARENA_NEW(c->arena, Neighbours);
    bool is_smooth = interpret_around(c, point, direction, n);
    uint32_t output = 0;
    for (uint32_t p = 0; p < c->shader->params.count; ++p) {
        const VarDecl *param = c->shader->params.items[p];
        if (param->direction != DIRECTION_OUT)
            continue;
        for (uint32_t i = 0; type_lanes(param->type) && i < param->type->scalars; ++i) {
            bool is_compared =
                is_smooth && compare_scalar(c, n, point, direction, output, i, param->name);
            c->tally->differences += is_compared;
            c->tally->differences_skipped += !is_compared;
        }
        ++output;
    }
}
