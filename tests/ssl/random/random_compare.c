/* Compiled against interpreted. */
#include "tests/ssl/random/random_case.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A number whose bound is wider than this part of it (or of 1) says too little to be compared. */
#define BOUND_MAX 1e-3

/* --- comparing ---------------------------------------------------------------------------------- */

bool random_says_enough(Bounded b)
{
    return bounded_is_known(b) && b.e <= BOUND_MAX * fmax(1, fabs(b.v));
}

void random_complain(Check *c, const char *level, uint32_t point, const char *what, double found,
                     Bounded expected)
{
    c->is_bad = true;
    strbuf_printf(c->report, "%s, point %u: %s is %.9g, expected %.9g +- %.3g\n", level, point,
                  what, found, expected.v, 2 * expected.e);
}

bool random_compare_number(Check *c, const char *level, uint32_t point, const char *what,
                           double found, Bounded expected)
{
    if (!random_says_enough(expected))
        return false;
    if (!(fabs(found - expected.v) <= 2 * expected.e))
        random_complain(c, level, point, what, found, expected);
    return true;
}

static void compare_scalar(Shot *shot, uint32_t point, uint32_t output, uint32_t i,
                           const Cell *cell)
{
    Check *c = shot->check;
    const SslOutputInfo *o = &shot->info->unit->outputs[output];
    SslOutputSlot slot = shot->info->outputs[output];
    char what[64];
    (void)snprintf(what, sizeof what, "%s[%u]", o->name, i);
    if (o->type == SSL_INT || o->type == SSL_BOOL) {
        double expected = o->type == SSL_INT ? cell->i : cell->b;
        double found = (double)(int32_t)grid_host_word(shot->grid, slot, i, point);
        c->tally->values +=
            random_compare_number(c, shot->level, point, what, found, exactly(expected));
        return;
    }
    double found = (double)grid_host_float(shot->grid, slot, i, point);
    bool is_compared = random_compare_number(c, shot->level, point, what, found, cell->f.v);
    c->tally->values += is_compared;
    c->tally->values_skipped += !is_compared;
    for (uint32_t k = 0; k < 2 && shot->info->outputs_ddx; ++k) {
        slot = (k ? shot->info->outputs_ddy : shot->info->outputs_ddx)[output];
        (void)snprintf(what, sizeof what, "dd%c(%s[%u])", "xy"[k], o -> name, i);
        found = (double)grid_host_float(shot->grid, slot, i, point);
        is_compared = random_compare_number(c, shot->level, point, what, found, cell->f.d[k]);
        c->tally->derivatives += is_compared;
        c->tally->derivatives_skipped += !is_compared;
        c->tally->derivatives_nonzero += is_compared && cell->f.d[k].v != 0;
    }
}

/* --- closures: a linear functional of the terms, so that neither their order nor how they are shared
 * matters ------------------------------------------------------------------------------------- */

static double argument_factor(uint32_t index)
{
    return 0.5 + 0.25 * index;
}

/* size: the sum of the absolute values of all terms, of which each may be rounded as often as its weight is
 * a product: sums that cancel cancel only that well. */
typedef struct Functional {
    Bounded of[3];
    double size[3];
} Functional;

static Functional functional(const Check *c, const ClosureTree *tree);

static Functional functional_of_term(const Check *c, const ClosureTree *tree)
{
    const SslClosureRow *row = &c->closures[tree->row];
    Bounded sum = exactly(1);
    double size = 1;
    uint32_t at = 0; /* cell; argument_factor counts floats, with which closures share a number */
    for (uint32_t a = 0, scalar = 0; a < row->arg_count; ++a) {
        uint32_t scalars = ssl_type_scalars(row->args[a].type);
        for (uint32_t k = 0; k < (scalars ? scalars : 1); ++k, ++at) {
            Bounded arg = tree->args[at].f.v;
            double arg_size = fabs(arg.v);
            if (!scalars) {
                Functional inner = functional(c, tree->args[at].closure);
                arg = bounded_add(bounded_add(inner.of[0], inner.of[1]), inner.of[2]);
                arg = bounded_mul(arg, exactly(0.25));
                arg_size = inner.size[0] + inner.size[1] + inner.size[2];
            }
            double factor = argument_factor(scalar);
            sum = bounded_add(sum, bounded_mul(exactly(factor), arg));
            size += factor * arg_size;
            scalar += scalars > 0;
        }
    }
    Functional f;
    for (uint32_t k = 0; k < 3; ++k) {
        f.of[k] = bounded_mul(sum, exactly(tree->row + 1));
        f.size[k] = size * (tree->row + 1);
    }
    return f;
}

static Functional functional(const Check *c, const ClosureTree *tree)
{
    Functional f;
    memset(&f, 0, sizeof f);
    if (!tree)
        return f;
    if (!tree->a)
        return functional_of_term(c, tree);
    f = functional(c, tree->a);
    Functional other = tree->b ? functional(c, tree->b) : f;
    for (uint32_t k = 0; k < 3; ++k) {
        double weight = fabs(tree->weight[k].v.v) + tree->weight[k].v.e;
        f.of[k] =
            tree->b ? bounded_add(f.of[k], other.of[k]) : bounded_mul(f.of[k], tree->weight[k].v);
        f.size[k] = tree->b ? f.size[k] + other.size[k] : f.size[k] * weight;
    }
    return f;
}

static void lobe_functional(const Shot *shot, int32_t parent, uint32_t point, double out[3])
{
    for (uint32_t k = 0; k < 3; ++k)
        out[k] = 0;
    for (uint32_t i = 0; i < shot->info->lobe_count; ++i) {
        const SslLobeSlot *lobe = &shot->info->lobes[i];
        if (lobe->parent != parent || !grid_host_has_lobe(shot->grid, i, point))
            continue;
        const SslClosureRow *row = &shot->check->closures[lobe->closure];
        double sum = 1, inner[3];
        uint32_t scalar = 0;
        for (uint32_t a = 0; a < row->arg_count; ++a) {
            for (uint32_t s = 0; s < ssl_type_scalars(row->args[a].type); ++s, ++scalar)
                sum += argument_factor(scalar) *
                       (double)grid_host_lobe_arg(shot->grid, i, scalar, point);
            if (row->args[a].type == SSL_CLOSURE) {
                lobe_functional(shot, (int32_t)i, point, inner);
                sum += argument_factor(scalar) * (inner[0] + inner[1] + inner[2]) * 0.25;
            }
        }
        for (uint32_t k = 0; k < 3; ++k)
            out[k] +=
                sum * (lobe->closure + 1) * (double)grid_host_lobe_weight(shot->grid, i, k, point);
    }
}

static void compare_closure(Shot *shot, uint32_t point, const Cell *cell)
{
    Functional expected = functional(shot->check, cell->closure);
    double found[3];
    lobe_functional(shot, -1, point, found);
    for (uint32_t k = 0; k < 3; ++k) {
        Bounded of = {expected.of[k].v, expected.of[k].e + 16 * 0x1p-24 * expected.size[k]};
        bool is_compared = random_compare_number(shot->check, shot->level, point,
                                                 "the closure's functional", found[k], of);
        shot->check->tally->closures += is_compared;
    }
}

/* --- lookups ------------------------------------------------------------------------------------ */

static bool is_lookup(const GridLookup *found, const EvalLookup *expected, bool *out_is_doubtful)
{
    if (found->texture != expected->texture)
        return false;
    for (uint32_t i = 0; i < 7; ++i) {
        if (!random_says_enough(expected->coord[i]))
            *out_is_doubtful = true;
        else if (!(fabs((double)found->coord[i] - expected->coord[i].v) <=
                   2 * expected->coord[i].e))
            return false;
    }
    return true;
}

/* Each lookup that was made must be one of the interpreter's: equal ones are shared, unused ones dropped. */
static void compare_lookups(Shot *shot, uint32_t point)
{
    Check *c = shot->check;
    uint32_t kept;
    uint64_t count;
    const GridLookup *lookups = grid_host_lookups(shot->grid, &kept, &count);
    for (uint32_t i = 0; i < kept; ++i) {
        const SourcePoint *p = &c->result[point];
        bool is_found = false, is_doubtful = false;
        for (uint32_t k = 0; k < p->lookups.count && !is_found; ++k)
            is_found = is_lookup(&lookups[i], &p->lookups.data[k], &is_doubtful);
        c->tally->lookups += is_found;
        if (is_found || is_doubtful)
            continue;
        c->is_bad = true;
        strbuf_printf(c->report, "%s, point %u: no lookup of texture %u at", shot->level, point,
                      lookups[i].texture);
        for (uint32_t k = 0; k < 7; ++k)
            strbuf_printf(c->report, " %.9g", (double)lookups[i].coord[k]);
        strbuf_append_c(c->report, " in the source\n");
    }
}

/* --- points and levels -------------------------------------------------------------------------- */

void random_compare_point(Shot *shot, uint32_t point)
{
    Check *c = shot->check;
    const SourcePoint *p = &c->result[point];
    if (p->decisions.is_doubtful)
        return;
    const SslUnitInfo *unit = shot->info->unit;
    for (uint32_t o = 0; o < unit->output_count; ++o) {
        if (unit->outputs[o].type == SSL_CLOSURE)
            compare_closure(shot, point, p->outputs[o]);
        for (uint32_t i = 0; i < ssl_type_scalars(unit->outputs[o].type); ++i)
            compare_scalar(shot, point, o, i, &p->outputs[o][i]);
    }
    /* Which the other way round need not hold: what nobody uses is not computed. */
    if (grid_host_fault(shot->grid, point) && !p->has_fault) {
        c->is_bad = true;
        strbuf_printf(c->report, "%s, point %u: a fault that the source does not have\n",
                      shot->level, point);
    }
    if (point == 0)
        compare_lookups(shot, point);
}

static bool is_unknown(const Check *c, uint32_t output, uint32_t i, uint32_t point)
{
    const SourcePoint *p = &c->result[point];
    return p->decisions.is_doubtful || !bounded_is_known(p->outputs[output][i].f.v);
}

/* Builds that differ in the level alone must give the same bits, whatever the values. Others take
 * different ways where a derivative is zero: there, -0 may be 0, and what is not finite something else. */
void random_compare_levels(Check *c, const Shot *a, const Shot *b, bool is_strict)
{
    const SslUnitInfo *unit = a->info->unit;
    for (uint32_t o = 0; o < unit->output_count; ++o)
        for (uint32_t i = 0; i < ssl_type_scalars(unit->outputs[o].type); ++i)
            for (uint32_t point = 0; point < POINTS; ++point) {
                uint32_t x = grid_host_word(a->grid, a->info->outputs[o], i, point);
                uint32_t y = grid_host_word(b->grid, b->info->outputs[o], i, point);
                float f = grid_host_float(a->grid, a->info->outputs[o], i, point);
                float h = grid_host_float(b->grid, b->info->outputs[o], i, point);
                if (x == y || (isnan(f) && isnan(h)))
                    continue;
                if (!is_strict && (f == h || is_unknown(c, o, i, point)))
                    continue;
                c->is_bad = true;
                strbuf_printf(c->report,
                              "point %u: %s[%u] is %.9g (%08x) at O0, %.9g (%08x) at O2\n", point,
                              unit->outputs[o].name, i, (double)f, x, (double)h, y);
                return;
            }
}
