#include "sort/bsdf/proof.h"

#include "base/cast.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/stat/chi2.h"
#include "base/stat/ztest.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

#define PI 3.14159265358979323846

enum { CLOSURE_SCALARS_MAX = 48, DIRECTIONS = 6 };

/* A z-value that is reached by chance once in 3e5 tests. */
#define FAR 4.5

/* What a point is: the view, and the arguments as the closure reads them. */
typedef struct Point {
    float args[CLOSURE_SCALARS_MAX];
    float3 wo, Ng, unbent;
    float blur;
    int32_t options;
    bool is_inside;
} Point;

/* A block with the rows that its closure borrows. */
typedef struct Stage {
    alignas(64) BsdfRow args[CLOSURE_SCALARS_MAX];
    BsdfRow weight[3];
    BsdfBlock *block;
    const BsdfTerm *term;
} Stage;

typedef struct Prover {
    const ProofSubject *subject;
    uint32_t seed;
    uint32_t point_count; /* of arguments, each seen from all directions */
    uint32_t density_samples, energy_samples, random_blocks;
    Stage *here, *there;
    ProofFinding *findings;
} Prover;

/* --- random points ---------------------------------------------------------------------------- */

typedef struct Random {
    uint64_t state;
} Random;

static Random random_of(const Prover *p, uint32_t stream, uint64_t index)
{
    return (Random){hash_mix64(((uint64_t)p->seed << 32) + stream) + (index << 20)};
}

static float unit(Random *r)
{
    return (float)(hash_mix64(r->state++) >> 40) * 0x1p-24f;
}

static float3 direction(Random *r)
{
    float z = 2.0f * unit(r) - 1.0f, turn = 2.0f * (float)PI * unit(r);
    float across = sqrtf(fmaxf(1.0f - z * z, 0.0f));
    return f3(across * cosf(turn), across * sinf(turn), z);
}

static bool is_direction(const ProofArg *arg)
{
    return arg->type == SSL_NORMAL || (arg->type == SSL_VECTOR && strcmp(arg->name, "T") == 0);
}

/* A number of the argument's range; its ends are as likely as all between. */
static float in_range(const ProofArg *arg, Random *r)
{
    float x = unit(r);
    x = x < 0.2f ? 0.0f : x < 0.4f ? 1.0f : unit(r);
    return arg->min + (arg->max - arg->min) * x;
}

/* Arguments from their ranges. is_white: colours at the end of their range where most light comes back; tilt: how far the
 * normal leans. */
static void draw_args(const ProofSubject *s, Random *r, bool is_white, float tilt, Point *out)
{
    float *at = out->args;
    ASSERT(s->def->arg_rows <= CLOSURE_SCALARS_MAX && s->arg_count <= PROOF_ARGS_MAX);
    for (uint32_t i = 0; i < s->arg_count; ++i) {
        const ProofArg *arg = &s->args[i];
        uint32_t scalars = ssl_type_scalars(arg->type);
        bool is_normal = strcmp(arg->name, "N") == 0;
        float3 w = direction(r);
        if (is_normal)
            w = tilt > 0.0f ? f3_normalize(f3(tilt * w.x, tilt * w.y, 1.0f)) : f3(0, 0, 1);
        for (uint32_t c = 0; c < scalars; ++c)
            at[c] = is_white && arg->type == SSL_COLOR ? arg->max : in_range(arg, r);
        if (is_normal || is_direction(arg))
            at[0] = w.x, at[1] = w.y, at[2] = w.z;
        at += scalars;
    }
}

/* A view by number, from straight to grazing; every third time from inside. */
static void look(uint32_t index, Point *out)
{
    static const float cosines[DIRECTIONS] = {1.0f, 0.8f, 0.5f, 0.2f, 0.08f, 0.02f};
    float z = cosines[index % DIRECTIONS], across = sqrtf(1.0f - z * z);
    float turn = 2.4f * (float)index;
    out->wo = f3(across * cosf(turn), across * sinf(turn), z);
    out->Ng = f3(0, 0, 1);
    out->is_inside = index % 3 == 2;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void set_lane(const ProofSubject *s, Stage *stage, uint32_t i, const Point *p)
{
    BsdfView *v = &stage->block->view;
    for (uint32_t r = 0; r < s->def->arg_rows; ++r)
        stage->args[r][i] = p->args[r];
    v->wo[0][i] = p->wo.x, v->wo[1][i] = p->wo.y, v->wo[2][i] = p->wo.z;
    v->Ng[0][i] = p->Ng.x, v->Ng[1][i] = p->Ng.y, v->Ng[2][i] = p->Ng.z;
    v->unbent[0][i] = p->unbent.x, v->unbent[1][i] = p->unbent.y, v->unbent[2][i] = p->unbent.z;
    v->blur[i] = p->blur;
    v->options[i] = p->options;
    v->outside[i] = !p->is_inside;
    for (uint32_t c = 0; c < 3; ++c)
        stage->weight[c][i] = 1.0f;
}

static void begin(const ProofSubject *s, Stage *stage)
{
    bsdf_block_begin(stage->block);
    stage->term =
        bsdf_block_add(stage->block, s->def, stage->args[0], stage->weight[0], (uint16_t)0xffff);
    ASSERT(stage->term);
}

static void begin_all(const ProofSubject *s, Stage *stage, const Point *p)
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        set_lane(s, stage, i, p);
    begin(s, stage);
}

static void random_rows(Random *r, BsdfRow rows[3])
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        for (uint32_t k = 0; k < 3; ++k)
            rows[k][i] = unit(r);
}

/* --- findings --------------------------------------------------------------------------------- */

static size_t put(char *text, size_t at, const char *format, ...) SORT_PRINTF(3, 4);
static size_t put(char *text, size_t at, const char *format, ...)
{
    va_list args;
    if (at >= PROOF_TEXT_BYTES)
        return at;
    va_start(args, format);
    int length = vsnprintf(text + at, PROOF_TEXT_BYTES - at, format, args);
    va_end(args);
    return length < 0 ? at : at + (size_t)length;
}

static void tell_where(const ProofSubject *s, const Point *p, char out[PROOF_TEXT_BYTES])
{
    size_t at = 0;
    const float *x = p->args;
    out[0] = '\0';
    for (uint32_t i = 0; i < s->arg_count; ++i) {
        const ProofArg *arg = &s->args[i];
        uint32_t scalars = ssl_type_scalars(arg->type);
        if (scalars == 1)
            at = put(out, at, "%s = %g, ", arg->name, (double)x[0]);
        else
            at = put(out, at, "%s = %s(%g, %g, %g), ", arg->name, ssl_type_name(arg->type),
                     (double)x[0], (double)x[1], (double)x[2]);
        x += scalars;
    }
    at = put(out, at, "wo = vector(%g, %g, %g)", (double)p->wo.x, (double)p->wo.y, (double)p->wo.z);
    if (p->is_inside)
        at = put(out, at, ", from inside");
    if (p->blur > 0.0f)
        at = put(out, at, ", blur = %g", (double)p->blur);
    if (p->options != 0)
        (void)put(out, at, ", options = %d", (int)p->options);
}

/* Notes the first failure of a property. */
static ProofFinding *fail_at(Prover *p, ProofProperty property, const Point *where)
{
    ProofFinding *f = &p->findings[property];
    if (f->is_wrong)
        return NULL;
    f->is_wrong = true;
    tell_where(p->subject, where, f->where);
    return f;
}

/* --- finite ----------------------------------------------------------------------------------- */

static Point random_point(const Prover *p, Random *r)
{
    static const Point none;
    Point point = none;
    float choice = unit(r), grazing = unit(r);
    draw_args(p->subject, r, false, choice < 0.5f ? 0.0f : 4.0f * unit(r), &point);
    point.Ng = f3(0, 0, 1);
    point.wo = direction(r);
    if (grazing < 0.3f) /* down to edge-on */
        point.wo =
            f3_normalize(f3(point.wo.x, point.wo.y, point.wo.z * powf(10.0f, -20.0f * grazing)));
    if (grazing > 0.98f)
        point.wo = f3(0, 0, 1);
    point.wo.z = fabsf(point.wo.z);
    point.is_inside = unit(r) < 0.3f;
    point.options = (int32_t)(unit(r) * 32.0f);
    point.blur = unit(r) < 0.2f ? unit(r) : 0.0f;
    return point;
}

static const char *wrong_rows(const BsdfRow *rows, uint32_t count, uint32_t lane,
                              bool may_be_negative)
{
    for (uint32_t r = 0; r < count; ++r) {
        if (!isfinite(rows[r][lane]))
            return "is not finite";
        if (!may_be_negative && rows[r][lane] < 0.0f)
            return "is negative";
    }
    return NULL;
}

static void check_rows(Prover *p, const char *name, const BsdfRow *rows, uint32_t count,
                       uint32_t lane, const Point *where, const float3 *wi)
{
    const char *wrong = wrong_rows(rows, count, lane, false);
    ProofFinding *f = wrong ? fail_at(p, PROOF_FINITE, where) : NULL;
    if (!f)
        return;
    size_t at = put(f->what, 0, "%s %s: %g", name, wrong, (double)rows[0][lane]);
    for (uint32_t r = 1; r < count; ++r)
        at = put(f->what, at, ", %g", (double)rows[r][lane]);
    if (wi)
        (void)put(f->what, at, ", for wi = vector(%g, %g, %g)", (double)wi->x, (double)wi->y,
                  (double)wi->z);
}

static const BsdfRow *rows_at(const void *floats)
{
    return floats;
}

/* The state that the renderer reads: albedo, its reflected part, the medium, the factor of a layer. */
static void check_state(Prover *p, uint32_t lane, const Point *where)
{
    const BsdfDef *def = p->subject->def;
    const BsdfRow *state = rows_at(p->here->term->state);
    for (uint32_t k = 0; k < def->lobe_count; ++k) {
        check_rows(p, "albedo", state + def->lobes[k].albedo, 3, lane, where, NULL);
        if (def->lobes[k].reflected != BSDF_NO_ROW)
            check_rows(p, "reflected", state + def->lobes[k].reflected, 3, lane, where, NULL);
        if (def->lobes[k].medium != BSDF_NO_ROW)
            check_rows(p, "medium.extinction and medium.albedo", state + def->lobes[k].medium, 6,
                       lane, where, NULL);
    }
    if (def->base_factor != BSDF_NO_ROW)
        check_rows(p, "base_factor", state + def->base_factor, 3, lane, where, NULL);
}

static void check_sample(Prover *p, const BsdfDrawn *d, uint32_t lane, const Point *where)
{
    float3 wi = f3(d->wi[0][lane], d->wi[1][lane], d->wi[2][lane]);
    check_rows(p, "the weight of a sample", d->weight, 3, lane, where, &wi);
    check_rows(p, "the density of a sample", &d->pdf, 1, lane, where, &wi);
    bool is_unit = fabsf(f3_dot(wi, wi) - 1.0f) < 2e-3f, has_eta = d->eta[lane] > 0.0f;
    if (is_unit && has_eta && isfinite(d->eta[lane]))
        return;
    ProofFinding *f = fail_at(p, PROOF_FINITE, where);
    if (f && !is_unit)
        (void)put(f->what, 0, "sample sets a wi that is no direction: vector(%g, %g, %g)",
                  (double)wi.x, (double)wi.y, (double)wi.z);
    else if (f)
        (void)put(f->what, 0, "sample sets eta to %g", (double)d->eta[lane]);
}

static void prove_finite_block(Prover *p, uint32_t index)
{
    Point points[SSL_BLOCK];
    alignas(64) BsdfRow wi[3], u[3], f_cos[3], pdf;
    static BsdfDrawn drawn;
    Random r = random_of(p, 1, index);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        points[i] = random_point(p, &r);
        set_lane(p->subject, p->here, i, &points[i]);
        float3 w = direction(&r);
        if (i % 4 == 0) /* near the mirror direction */
            w = f3_normalize(
                f3(1e-3f * w.x - points[i].wo.x, 1e-3f * w.y - points[i].wo.y, points[i].wo.z));
        else if (i % 4 == 1)
            w = f3_normalize(f3(w.x, w.y, 1e-5f * w.z));
        wi[0][i] = w.x, wi[1][i] = w.y, wi[2][i] = w.z;
    }
    begin(p->subject, p->here);
    bsdf_block_eval(p->here->block, wi, p->here->term->live, f_cos, pdf);
    random_rows(&r, u);
    uint16_t lanes = bsdf_block_sample(p->here->block, u, p->here->term->live, &drawn);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        if (!(p->here->term->live >> i & 1))
            continue;
        float3 w = f3(wi[0][i], wi[1][i], wi[2][i]);
        check_state(p, i, &points[i]);
        check_rows(p, "f_cos", f_cos, 3, i, &points[i], &w);
        check_rows(p, "pdf", &pdf, 1, i, &points[i], &w);
        if (lanes >> i & 1)
            check_sample(p, &drawn, i, &points[i]);
    }
}

/* Runs a program for a lobe, counted from 1, or of the state (0), on the points that the stage holds, and reports the first
 * that it does not get to the end of. */
static void run_to_the_end(Prover *p, BsdfProgram program, const char *name, uint32_t lobe,
                           const Point points[SSL_BLOCK])
{
    static BsdfDrawn drawn;
    static const BsdfValue none;
    alignas(64) BsdfRow wi[3], share[BSDF_SHARE_SELECT + SSL_MAX_BSDF_LOBES] = {{0}};
    alignas(64) uint32_t words[SSL_BLOCK] = {0};
    BsdfDraw draw = {.u = {{0}}};
    BsdfValue value;
    Stage *stage = p->here;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        wi[0][i] = 0.28f, wi[1][i] = 0.0f, wi[2][i] = i & 1 ? -0.96f : 0.96f;
        draw.chosen[i] = (int32_t)lobe - 1;
        if (lobe > 0)
            share[BSDF_SHARE_SELECT + lobe - 1][i] = 1.0f;
    }
    const BsdfRows rows = {{[BSDF_LIST_VIEW] = &stage->block->view,
                            [BSDF_LIST_ARGS] = stage->args,
                            [BSDF_LIST_SHARE] = share,
                            [BSDF_LIST_STATE] = stage->term->state,
                            [BSDF_LIST_WI] = wi,
                            [BSDF_LIST_SUM] = cast_away_const(&none),
                            [BSDF_LIST_VALUE] = &value,
                            [BSDF_LIST_DRAW] = &draw,
                            [BSDF_LIST_DRAWN] = &drawn,
                            [BSDF_LIST_FAULT] = words}};
    bsdf_program_run(p->subject->def, program, &rows, stage->term->live);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        bool is_stopped = (stage->term->live >> i & 1) && words[i] != 0;
        ProofFinding *f = is_stopped ? fail_at(p, PROOF_FINITE, &points[i]) : NULL;
        if (!f)
            continue;
        size_t at = put(f->what, 0, "%s", name);
        if (lobe > 0)
            at = put(f->what, at, " of lobe %u", (unsigned)lobe);
        (void)put(
            f->what, at,
            " is stopped: a loop of more than 65536 rounds, a recursion too deep, or an index out "
            "of range");
    }
}

/* A few points, before all that would wait for loops without end. */
static void prove_ends(Prover *p)
{
    const BsdfDef *def = p->subject->def;
    Point points[SSL_BLOCK];
    Random r = random_of(p, 6, 0);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        points[i] = random_point(p, &r);
        set_lane(p->subject, p->here, i, &points[i]);
    }
    begin(p->subject, p->here);
    run_to_the_end(p, BSDF_PREPARE, "the state", 0, points);
    for (uint32_t k = 0; k < def->lobe_count; ++k) {
        if (!(def->lobes[k].flags & SSL_LOBE_DELTA))
            run_to_the_end(p, BSDF_EVAL, "eval", k + 1, points);
        run_to_the_end(p, BSDF_SAMPLE, "sample", k + 1, points);
    }
}

static void prove_finite(Prover *p)
{
    ProofFinding *f = &p->findings[PROOF_FINITE];
    prove_ends(p);
    for (uint32_t k = 0; k < p->random_blocks && !f->is_wrong; ++k) {
        prove_finite_block(p, k);
        f->tests += SSL_BLOCK;
    }
    if (!f->is_wrong)
        (void)put(f->what, 0, "%llu random points", (unsigned long long)f->tests);
}

/* --- density ---------------------------------------------------------------------------------- */

static bool is_smooth(const BsdfBlock *b)
{
    for (uint32_t l = 0; l < b->lobe_count; ++l)
        if (!(b->lobes[l].def->flags & SSL_LOBE_DELTA))
            return true;
    return false;
}

static void judge_density(Prover *p, const ProofDensity *d, double significance, const Point *where)
{
    ProofFinding *f;
    if (d->integral > 1.002 && (f = fail_at(p, PROOF_INTEGRAL, where)) != NULL)
        (void)put(f->what, 0, "pdf integrates to %.4f, and may to 1", d->integral);
    if (d->p_value < significance && (f = fail_at(p, PROOF_DENSITY, where)) != NULL) {
        size_t at =
            put(f->what, 0, "sample does not follow pdf: chi-square finds p = %.2g, below %.2g; ",
                d->p_value, significance);
        if (f3_dot(d->worst, d->worst) > 0.0f)
            (void)put(f->what, at,
                      "around wi = vector(%.3f, %.3f, %.3f) pdf expects %.0f, drawn were %.0f",
                      (double)d->worst.x, (double)d->worst.y, (double)d->worst.z, d->expected,
                      d->observed);
        else
            (void)put(f->what, at, "pdf leaves %.0f samples that are lost, %.0f were", d->expected,
                      d->observed);
    }
}

static void prove_density(Prover *p)
{
    static const Point none;
    uint32_t tests = p->point_count * DIRECTIONS;
    double significance = chi2_sidak(PROOF_SIGNIFICANCE, tests), least_p = 1.0, most = 0.0;
    ProofFinding *f = &p->findings[PROOF_DENSITY], *g = &p->findings[PROOF_INTEGRAL];
    for (uint32_t t = 0; t < tests && !(f->is_wrong && g->is_wrong); ++t) {
        Random r = random_of(p, 2, t);
        Point point = none;
        ProofDensity d;
        draw_args(p->subject, &r, false, t % 5 == 4 ? 0.7f : 0.0f, &point);
        /* Not from edge-on, and not narrow: where lobes become slits, the quadrature has its limits. */
        look(t % DIRECTIONS == DIRECTIONS - 1 ? t - 3 : t, &point);
        point.blur = 0.03f;
        begin_all(p->subject, p->here, &point);
        if (!is_smooth(p->here->block))
            continue;
        proof_density(p->here->block, p->density_samples, p->seed + t, &d);
        judge_density(p, &d, significance, &point);
        least_p = fmin(least_p, d.p_value);
        most = fmax(most, d.integral);
        ++f->tests;
        ++g->tests;
    }
    if (!f->is_wrong)
        (void)put(f->what, 0, "least p of chi-square %.2g, of %u tests", least_p,
                  (unsigned)f->tests);
    if (!g->is_wrong)
        (void)put(g->what, 0, "at most %.4f", most);
}

/* --- energy and albedo ------------------------------------------------------------------------ */

/* The flux that comes back of 1 from all sides: radiance counts eta^2 times on the other side of an interface. */
static void measure(Prover *p, uint32_t index, ZTest out[3])
{
    static BsdfDrawn drawn;
    alignas(64) BsdfRow u[3];
    Random r = random_of(p, 4, index);
    for (uint32_t k = 0; k < p->energy_samples / SSL_BLOCK; ++k) {
        random_rows(&r, u);
        uint16_t lanes = bsdf_block_sample(p->here->block, u, 0xffff, &drawn);
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            for (uint32_t c = 0; c < 3; ++c) {
                double eta = (double)drawn.eta[i], weight = (double)drawn.weight[c][i];
                ztest_add(&out[c], lanes >> i & 1 ? weight * eta * eta : 0.0);
            }
    }
}

static double told_albedo(const Prover *p, uint32_t c)
{
    const BsdfDef *def = p->subject->def;
    double sum = 0.0;
    for (uint32_t k = 0; k < def->lobe_count; ++k)
        sum += (double)p->here->term->state[((size_t)def->lobes[k].albedo + c) * SSL_BLOCK];
    return sum;
}

/* What comes back out of a body is the walk's, not the lobe's. */
static bool has_albedo(const ProofSubject *s)
{
    for (uint32_t k = 0; k < s->def->lobe_count; ++k)
        if (s->def->lobes[k].flags & SSL_LOBE_SUBSURFACE)
            return false;
    return true;
}

static double base_factor(const Prover *p, uint32_t c)
{
    const float *factor = bsdf_term_base_factor(p->here->term);
    return factor ? (double)factor[(size_t)c * SSL_BLOCK] : 0.0;
}

static void judge_energy(Prover *p, const ZTest light[3], const Point *where)
{
    const ProofSubject *s = p->subject;
    ProofFinding *f;
    for (uint32_t c = 0; c < 3; ++c) {
        double error = ztest_standard_error(&light[c]), base = base_factor(p, c);
        double back = light[c].mean + base, told = told_albedo(p, c);
        if (back > (double)s->most_light + 3e-3 + FAR * error &&
            (f = fail_at(p, PROOF_ENERGY, where)) != NULL)
            (void)put(f->what, 0,
                      "%.4f +- %.4f of the light comes back%s, and may at most %g times", back,
                      error, base > 0.0 ? ", with what a layer lets through to a white base," : "",
                      (double)s->most_light);
        if (has_albedo(s) && fabs(told - light[c].mean) > (double)s->albedo_error + FAR * error &&
            (f = fail_at(p, PROOF_ALBEDO, where)) != NULL)
            (void)put(f->what, 0,
                      "the lobes tell an albedo of %.4f, and %.4f +- %.4f of the light comes back",
                      told, light[c].mean, error);
    }
}

static void prove_energy(Prover *p)
{
    static const Point none;
    double most = 0.0, farthest = 0.0;
    ProofFinding *f = &p->findings[PROOF_ENERGY], *g = &p->findings[PROOF_ALBEDO];
    for (uint32_t t = 0; t < p->point_count * DIRECTIONS && !(f->is_wrong && g->is_wrong); ++t) {
        Random r = random_of(p, 3, t / DIRECTIONS);
        Point point = none;
        ZTest light[3] = {{0}};
        draw_args(p->subject, &r, t / DIRECTIONS % 2 == 0, 0.0f, &point);
        look(t, &point);
        begin_all(p->subject, p->here, &point);
        measure(p, t, light);
        judge_energy(p, light, &point);
        for (uint32_t c = 0; c < 3; ++c) {
            most = fmax(most, light[c].mean + base_factor(p, c));
            farthest = fmax(farthest, fabs(told_albedo(p, c) - light[c].mean));
        }
        ++f->tests;
        g->tests += has_albedo(p->subject);
    }
    if (!f->is_wrong)
        (void)put(f->what, 0, "at most %.4f of the light comes back", most);
    if (!g->is_wrong)
        (void)put(g->what, 0, "told within %.4f", farthest);
}

/* --- reciprocity ------------------------------------------------------------------------------ */

/* f of lobe k in a lane, without the cosine to the lobe's own normal. */
static double value_of(const Prover *p, const Stage *stage, const BsdfRow f_cos[3],
                       const BsdfRow wi[3], uint32_t lane, uint32_t c)
{
    const float *n = stage->term->state + ((size_t)p->subject->def->frame + 6) * SSL_BLOCK + lane;
    double cosine = (double)(n[0] * wi[0][lane] + n[SSL_BLOCK] * wi[1][lane] +
                             n[(size_t)2 * SSL_BLOCK] * wi[2][lane]);
    return (double)f_cos[c][lane] / fmax(fabs(cosine), 1e-6);
}

static const BsdfBlockLobe *lobe_of(const Stage *stage, const BsdfLobeDef *def)
{
    for (uint32_t l = 0; l < stage->block->lobe_count; ++l)
        if (stage->block->lobes[l].def == def)
            return &stage->block->lobes[l];
    return NULL;
}

/* The pairs of directions of a block: half of them where sample draws. */
static uint16_t draw_pairs(Prover *p, Random *r, Point points[SSL_BLOCK], BsdfRow wo[3],
                           BsdfRow wi[3])
{
    static BsdfDrawn drawn;
    static const Point none;
    alignas(64) BsdfRow u[3];
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        points[i] = none;
        draw_args(p->subject, r, false, 0.0f, &points[i]);
        float3 w = direction(r), v = direction(r);
        points[i].wo = f3(w.x, w.y, fabsf(w.z));
        points[i].Ng = f3(0, 0, 1);
        set_lane(p->subject, p->here, i, &points[i]);
        wo[0][i] = w.x, wo[1][i] = w.y, wo[2][i] = fabsf(w.z);
        wi[0][i] = v.x, wi[1][i] = v.y, wi[2][i] = v.z;
    }
    begin(p->subject, p->here);
    random_rows(r, u);
    uint16_t lanes = bsdf_block_sample(p->here->block, u, p->here->term->live, &drawn), good = 0;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        for (uint32_t c = 0; i % 2 == 0 && (lanes >> i & 1) && c < 3; ++c)
            wi[c][i] = drawn.wi[c][i];
        if (wo[2][i] > 0.02f && fabsf(wi[2][i]) > 0.02f)
            good |= (uint16_t)(1u << i);
    }
    return good;
}

/* Arguments as before, seen from where light came from; from the other side the normal faces there. */
static void turn_round(Prover *p, Point points[SSL_BLOCK], BsdfRow wi[3])
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        Point there = points[i];
        there.wo = f3(wi[0][i], wi[1][i], wi[2][i]);
        there.Ng.z = there.wo.z < 0.0f ? -1.0f : 1.0f;
        there.is_inside = there.wo.z < 0.0f;
        set_lane(p->subject, p->there, i, &there);
    }
    begin(p->subject, p->there);
}

static void compare_lobe(Prover *p, const BsdfLobeDef *def, uint16_t lanes,
                         const Point points[SSL_BLOCK], BsdfRow wo[3], BsdfRow wi[3])
{
    alignas(64) BsdfRow forth[3], back[3], pdf;
    const BsdfBlockLobe *a = lobe_of(p->here, def), *b = lobe_of(p->there, def);
    if (!a || !b)
        return;
    lanes &= a->live & b->live;
    bsdf_block_eval_lobe(p->here->block, a, wi, lanes, forth, pdf);
    bsdf_block_eval_lobe(p->there->block, b, wo, lanes, back, pdf);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        for (uint32_t c = 0; (lanes >> i & 1) && c < 3; ++c) {
            double x = value_of(p, p->here, forth, wi, i, c),
                   y = value_of(p, p->there, back, wo, i, c);
            bool is_near = fabs(x - y) <= 0.02 * fmax(fabs(x), fabs(y)) + 1e-5;
            ProofFinding *f = is_near ? NULL : fail_at(p, PROOF_RECIPROCAL, &points[i]);
            if (f)
                (void)put(f->what, 0,
                          "the value is %g for light from wi = vector(%g, %g, %g), and %g when "
                          "light and viewer are exchanged",
                          x, (double)wi[0][i], (double)wi[1][i], (double)wi[2][i], y);
        }
}

static void prove_reciprocal(Prover *p)
{
    const BsdfDef *def = p->subject->def;
    ProofFinding *f = &p->findings[PROOF_RECIPROCAL];
    Point points[SSL_BLOCK];
    alignas(64) BsdfRow wo[3], wi[3];
    bool is_claimed = false;
    for (uint32_t k = 0; k < def->lobe_count; ++k)
        is_claimed = is_claimed || (def->lobes[k].flags & SSL_LOBE_RECIPROCAL);
    for (uint32_t n = 0; is_claimed && n < p->random_blocks / 16 && !f->is_wrong; ++n) {
        Random r = random_of(p, 5, n);
        uint16_t lanes = draw_pairs(p, &r, points, wo, wi);
        turn_round(p, points, wi);
        for (uint32_t k = 0; k < def->lobe_count; ++k)
            if ((def->lobes[k].flags & SSL_LOBE_RECIPROCAL) &&
                !(def->lobes[k].flags & SSL_LOBE_DELTA))
                compare_lobe(p, &def->lobes[k], lanes, points, wo, wi);
        f->tests += SSL_BLOCK;
    }
    if (is_claimed && !f->is_wrong)
        (void)put(f->what, 0, "%llu pairs of directions", (unsigned long long)f->tests);
}

/* --- all -------------------------------------------------------------------------------------- */

const char *proof_name(ProofProperty property)
{
    static const char *const names[PROOF_PROPERTIES] = {"finite", "density", "integral",
                                                        "energy", "albedo",  "reciprocal"};
    ASSERT(property < PROOF_PROPERTIES);
    return names[property];
}

static Stage *make_stage(Arena *arena, const BsdfDef *def)
{
    Stage *stage = arena_alloc(arena, sizeof *stage, 64);
    if (!stage)
        return NULL;
    memset(stage, 0, sizeof *stage);
    stage->block = bsdf_block_create(arena, 1, def->lobe_count, def->state_rows);
    return stage->block ? stage : NULL;
}

Status proof_run(const ProofSubject *subject, ProofEffort effort, uint32_t seed,
                 ProofFinding out[PROOF_PROPERTIES], Error *err)
{
    bool is_full = effort == PROOF_FULL;
    Prover p = {.subject = subject,
                .seed = seed,
                .point_count = is_full ? 24 : 4,
                .density_samples = is_full ? 1 << 18 : 1 << 15,
                .energy_samples = is_full ? 1 << 16 : 1 << 14,
                .random_blocks = (is_full ? 1000000 : 100000) / SSL_BLOCK,
                .findings = out};
    if (subject->def->arg_rows > CLOSURE_SCALARS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d numbers are arguments",
                         CLOSURE_SCALARS_MAX);
    memset(out, 0, PROOF_PROPERTIES * sizeof *out);
    Arena *arena = arena_create(0, 0);
    p.here = arena ? make_stage(arena, subject->def) : NULL;
    p.there = arena ? make_stage(arena, subject->def) : NULL;
    Status status =
        p.here && p.there ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        prove_finite(&p);
        if (!out[PROOF_FINITE].is_wrong) { /* sums of what is not finite mean nothing */
            prove_density(&p);
            prove_energy(&p);
            prove_reciprocal(&p);
        }
    }
    arena_destroy(arena);
    return status;
}
