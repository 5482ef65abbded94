/* Closures as programs beside the same closures in C: values, densities, directions, weights and albedos at random points
 * with random arguments. `sort_bsdf_programs NAME` compares one closure and prints how far it is off; `--values` prints the
 * rows of tests/sort/bsdf/closure_values.inc. */
#include "sort/bsdf/bsdf.h"
#include "sort/bsdf/bsdf_wide.h"
#include "sort/bsdf/closure_sources.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "sort/shade/ssl_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 400, QUERIES = 4 };

static const char *only; /* the closure that the command line names; NULL: all */
static uint32_t lanes_at_once;
static SslContext *ctx;

static float random_unit(uint64_t *state)
{
    return (float)(hash_mix64((*state)++ + 4242) >> 40) * 0x1p-24f;
}

static float3 random_direction(uint64_t *state)
{
    float x = random_unit(state), y = random_unit(state);
    return warp_sphere(f2(x, y));
}

/* --- random arguments ------------------------------------------------------------------------- */

static float random_float(const char *name, uint64_t *state)
{
    float u = random_unit(state), x = random_unit(state);
    if (strcmp(name, "ior") == 0)
        return u < 0.05f ? 1.0f : u < 0.1f ? 0.0f : 0.3f + 3.9f * x * x;
    if (strstr(name, "roughness") || strcmp(name, "sigma") == 0)
        return u < 0.1f ? 0.0f : u < 0.15f ? 1.2f : x;
    if (strcmp(name, "anisotropy") == 0 || strcmp(name, "offset") == 0)
        return u < 0.2f ? 0.0f : 2.1f * x - 1.05f;
    if (strcmp(name, "tilt") == 0 || strcmp(name, "shift") == 0)
        return 0.3f * (x - 0.5f);
    if (strcmp(name, "multiscatter") == 0)
        return u < 0.3f ? 0.0f : u < 0.6f ? 2.0f : x;
    return u < 0.1f ? 0.0f : u < 0.2f ? 1.0f : 1.2f * x - 0.1f;
}

static void random_arg(const SslClosureArg *arg, float3 Ng, uint64_t *state, float *out)
{
    float3 v;
    float u = random_unit(state);
    switch ((int)arg->type) {
    case SSL_FLOAT:
        out[0] = random_float(arg->name, state);
        return;
    case SSL_NORMAL:
        v = u < 0.1f   ? f3_splat(0.0f)
            : u < 0.4f ? Ng
                       : f3_madd(Ng, 0.7f * random_unit(state), random_direction(state));
        if (u > 0.9f)
            v = f3_scale(v, -3.0f);
        break;
    case SSL_VECTOR:
        v = u < 0.1f ? f3_splat(0.0f) : random_direction(state);
        break;
    default: {
        float scale = strcmp(arg->name, "eta") == 0 || strcmp(arg->name, "k") == 0 ? 4.0f
                      : strcmp(arg->name, "absorption") == 0                       ? 2.0f
                                                                                   : 1.2f;
        v = f3(random_unit(state), random_unit(state), random_unit(state));
        v = u < 0.1f   ? f3_splat(0.0f)
            : u < 0.2f ? f3_splat(1.0f)
                       : f3_sub(f3_scale(v, scale), f3_splat(scale > 1.3f ? 0.0f : 0.1f));
        break;
    }
    }
    out[0] = v.x, out[1] = v.y, out[2] = v.z;
}

/* --- one block of points ---------------------------------------------------------------------- */

typedef struct Points {
    _Alignas(64) float args[CLOSURE_MAX_SCALARS][SSL_BLOCK];
    _Alignas(64) float weight[3][SSL_BLOCK];
    float3 wo[SSL_BLOCK], Ng[SSL_BLOCK], unbent[SSL_BLOCK];
    float blur[SSL_BLOCK];
    uint32_t flags[SSL_BLOCK];
} Points;

static void random_points(ClosureId id, uint64_t *state, Points *p)
{
    const SslClosureRow *row = &closure_table_rows()[id];
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float out[CLOSURE_MAX_SCALARS];
        uint32_t at = 0;
        p->wo[i] = random_direction(state);
        p->Ng[i] = random_unit(state) < 0.5f ? f3(0, 0, 1) : random_direction(state);
        p->blur[i] = random_unit(state) < 0.7f ? 0.0f : 0.5f * random_unit(state);
        p->flags[i] = random_unit(state) < 0.8f ? 0 : (uint32_t)(random_unit(state) * 8.0f);
        for (uint32_t a = 0; a < row->arg_count; ++a) {
            if (row->args[a].type == SSL_CLOSURE)
                continue;
            random_arg(&row->args[a], p->Ng[i], state, out + at);
            at += row->args[a].type == SSL_FLOAT ? 1 : 3;
        }
        for (uint32_t r = 0; r < at; ++r)
            p->args[r][i] = out[r];
        for (uint32_t c = 0; c < 3; ++c)
            p->weight[c][i] = 0.2f + random_unit(state);
        p->unbent[i] = random_unit(state) < 0.7f
                           ? f3_splat(0.0f)
                           : f3_normalize(f3_madd(p->Ng[i], 0.3f, random_direction(state)));
    }
}

static void view_points(const Points *p, BsdfView *v)
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float cos_o = f3_dot(p->wo[i], p->Ng[i]);
        float3 Ng = cos_o < 0.0f ? f3_neg(p->Ng[i]) : p->Ng[i], n = p->unbent[i];
        if (f3_dot(n, Ng) < 0.0f)
            n = f3_neg(n);
        const float3 wo = p->wo[i];
        v->wo[0][i] = wo.x, v->wo[1][i] = wo.y, v->wo[2][i] = wo.z;
        v->Ng[0][i] = Ng.x, v->Ng[1][i] = Ng.y, v->Ng[2][i] = Ng.z;
        v->unbent[0][i] = n.x, v->unbent[1][i] = n.y, v->unbent[2][i] = n.z;
        v->blur[i] = p->blur[i];
        v->outside[i] = cos_o >= 0.0f;
        v->options[i] = (int32_t)p->flags[i];
    }
}

/* Makes the point in C. */
static void make_c(ClosureId id, const Points *p, uint32_t i, Bsdf *out)
{
    float args[CLOSURE_MAX_SCALARS];
    for (uint32_t r = 0; r < closure_table_scalars(id); ++r)
        args[r] = p->args[r][i];
    bsdf_init(out, p->wo[i], p->Ng[i], p->flags[i]);
    bsdf_blur(out, p->blur[i]);
    if (f3_length2(p->unbent[i]) > 0.0f)
        bsdf_shadow_bumps(out, p->unbent[i]);
    bsdf_add_closure(out, id, (Spectrum){{p->weight[0][i], p->weight[1][i], p->weight[2][i]}}, args,
                     1);
}

/* --- comparing -------------------------------------------------------------------------------- */

typedef struct Tally {
    uint64_t compared, off;
    float worst;
    char first[256];
} Tally;

/* Within `relative` of the larger one, or of `floor`. */
static void compare(Tally *t, const char *what, float got, float expected, float relative,
                    float floor)
{
    float scale = fmaxf(fmaxf(fabsf(got), fabsf(expected)), floor);
    float error = scale > 0.0f ? fabsf(got - expected) / scale : 0.0f;
    ++t->compared;
    if (error > t->worst)
        t->worst = error;
    if (!(error <= relative)) {
        if (t->off++ == 0)
            snprintf(t->first, sizeof t->first, "%s: %.9g, in C %.9g", what, (double)got,
                     (double)expected);
    }
}

static void compare_eval(const BsdfBlock *b, const Bsdf *c, BsdfRow wi[3], Tally *t)
{
    _Alignas(64) BsdfRow f_cos[3], pdf;
    bsdf_block_eval(b, wi, 0xffff, f_cos, pdf);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float expected_pdf;
        Spectrum f = bsdf_eval(&c[i], f3(wi[0][i], wi[1][i], wi[2][i]), &expected_pdf);
        for (uint32_t k = 0; k < 3; ++k)
            compare(&t[0], "f cos", f_cos[k][i], f.c[k], 5e-3f, 1e-3f);
        compare(&t[1], "pdf", pdf[i], expected_pdf, 5e-3f, 1e-3f);
    }
}

/* Directions all around, half of them about the mirror direction. */
static void random_queries(const Bsdf *c, uint64_t *state, BsdfRow out_wi[3])
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float3 w = random_direction(state);
        float3 mirror = f3_sub(f3_scale(c[i].Ng, 2.0f * c[i].cos_o), c[i].wo);
        if (random_unit(state) < 0.5f)
            w = f3_normalize(f3_madd(mirror, 0.3f, w));
        out_wi[0][i] = w.x, out_wi[1][i] = w.y, out_wi[2][i] = w.z;
    }
}

/* wi: replaced by the directions that C draws, which narrow lobes are found by. */
static void compare_sample(const BsdfBlock *b, const Bsdf *c, uint64_t *state, BsdfRow wi[3],
                           Tally *t)
{
    _Alignas(64) BsdfRow u[3];
    BsdfDrawn drawn;
    memset(&drawn, 0, sizeof drawn);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        for (uint32_t k = 0; k < 3; ++k)
            u[k][i] = random_unit(state);
    uint16_t live = bsdf_block_sample(b, u, 0xffff, &drawn);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        BsdfSample s;
        bool is_drawn = bsdf_sample(&c[i], u[2][i], f2(u[0][i], u[1][i]), &s);
        if (is_drawn)
            wi[0][i] = s.wi.x, wi[1][i] = s.wi.y, wi[2][i] = s.wi.z;
        compare(&t[2], "is drawn", live >> i & 1, is_drawn, 0.5f, 1.0f);
        if (!is_drawn || !(live >> i & 1))
            continue;
        compare(&t[3], "wi.x", drawn.wi[0][i], s.wi.x, 2e-3f, 1.0f);
        compare(&t[3], "wi.y", drawn.wi[1][i], s.wi.y, 2e-3f, 1.0f);
        compare(&t[3], "wi.z", drawn.wi[2][i], s.wi.z, 2e-3f, 1.0f);
        compare(&t[3], "eta", drawn.eta[i], s.eta, 1e-3f, 1.0f);
        compare(&t[3], "flags", (float)(drawn.flags[i] & 127u), (float)s.flags, 1e-6f, 1.0f);
        compare(&t[3], "n.x", drawn.n[0][i], s.n.x, 1e-3f, 1.0f);
        for (uint32_t k = 0; k < 3; ++k)
            compare(&t[4], "weight", drawn.weight[k][i], s.weight.c[k], 1e-2f, 1e-3f);
        compare(&t[4], "pdf", drawn.pdf[i], s.pdf, 2e-2f, 1e-3f);
    }
}

static const float *state_row(const BsdfBlockLobe *lobe, uint32_t row)
{
    return lobe->term->state + (size_t)row * SSL_BLOCK;
}

/* Adds weight times three rows of the state of a lobe. */
static void add_weighted(const BsdfBlockLobe *lobe, uint32_t row, uint32_t i, Spectrum *sum)
{
    for (uint32_t k = 0; k < 3; ++k)
        sum->c[k] += lobe->weight[k][i] * state_row(lobe, row + k)[i];
}

static void compare_medium(const BsdfBlockLobe *lobe, const Bsdf *c, uint32_t i, Tally *t)
{
    const BsdfMedium *m = bsdf_medium(c, &(BsdfSample){.lobe = 0});
    for (uint32_t k = 0; k < 3; ++k) {
        uint32_t row = lobe->def->medium + k;
        compare(t, "extinction", state_row(lobe, row)[i], m->sigma_t.c[k], 1e-5f, 0.0f);
        compare(t, "single albedo", state_row(lobe, row + 3)[i], m->albedo.c[k], 1e-5f, 0.0f);
    }
    compare(t, "mean cosine", state_row(lobe, lobe->def->medium + 6u)[i], m->g, 1e-6f, 1.0f);
}

/* What the lobes tell of themselves at one point. */
static void compare_lobes(const BsdfBlock *b, const Bsdf *c, uint32_t i, Tally *t)
{
    Spectrum albedo = spectrum_splat(0.0f), reflected = albedo, kinds[BSDF_KINDS];
    Spectrum expected = bsdf_albedo(c);
    bool has_sides = false;
    bsdf_albedo_kinds(c, kinds);
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        if (!(lobe->live >> i & 1) || (lobe->def->flags & SSL_LOBE_TRANSPARENT))
            continue;
        add_weighted(lobe, lobe->def->albedo, i, &albedo);
        if (lobe->def->reflected != BSDF_NO_ROW) {
            bool is_glossy = lobe->def->flags & SSL_LOBE_SEEN_AS_GLOSSY;
            if (!(lobe->def->flags & SSL_LOBE_SEEN_AS_TRANSMISSION))
                add_weighted(lobe, is_glossy ? lobe->def->albedo : lobe->def->reflected, i,
                             &reflected);
            has_sides = true;
        }
        if (lobe->def->medium != BSDF_NO_ROW)
            compare_medium(lobe, c, i, &t[8]);
    }
    for (uint32_t k = 0; k < 3; ++k) {
        compare(&t[5], "albedo", albedo.c[k], expected.c[k], 2e-3f, 1e-2f);
        if (has_sides)
            compare(&t[7], "reflected", reflected.c[k], kinds[BSDF_KIND_GLOSSY].c[k], 2e-3f, 1e-2f);
    }
    compare(&t[5], "lobes", (float)b->counts[i], (float)c->lobe_count, 1e-6f, 1.0f);
    compare(&t[5], "flags", (float)(b->flags[i] & 127u), (float)c->flags, 1e-6f, 1.0f);
}

static void compare_prepared(const BsdfBlock *b, const Bsdf *c, ClosureId id, const Points *p,
                             const BsdfTerm *term, Tally *t)
{
    const float *factor = bsdf_term_base_factor(term);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        compare_lobes(b, &c[i], i, t);
        float args[CLOSURE_MAX_SCALARS];
        for (uint32_t r = 0; r < closure_table_scalars(id); ++r)
            args[r] = p->args[r][i];
        Spectrum layer = bsdf_layer_factor(&c[i], id, args, 1);
        for (uint32_t k = 0; k < 3 && factor && (term->live >> i & 1); ++k)
            compare(&t[6], "base factor", factor[(size_t)k * SSL_BLOCK + i], layer.c[k], 2e-3f,
                    1e-2f);
    }
}

static void compare_closure(ClosureId id, const BsdfDef *def)
{
    static const char *const names[] = {"value",           "density",   "drawn or lost",
                                        "direction",       "weights",   "albedo",
                                        "base of a layer", "reflected", "medium"};
    Tally tallies[SORT_COUNT_OF(names)] = {0};
    uint64_t state = (uint64_t)id << 32;
    Arena *arena = arena_create(0, 0);
    assert_non_null(arena);
    BsdfBlock *b = bsdf_block_create(arena, 1, def->lobe_count, def->state_rows);
    assert_non_null(b);
    static Points p;
    static Bsdf c[SSL_BLOCK];
    assert_int_equal(def->arg_rows, closure_table_scalars(id));
    for (uint32_t n = 0; n < BLOCKS; ++n) {
        random_points(id, &state, &p);
        view_points(&p, &b->view);
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            make_c(id, &p, i, &c[i]);
        bsdf_block_begin(b);
        const BsdfTerm *term = bsdf_block_add(b, def, p.args[0], p.weight[0], 0xffff);
        compare_prepared(b, c, id, &p, term, tallies);
        for (uint32_t q = 0; q < QUERIES; ++q) {
            _Alignas(64) BsdfRow wi[3];
            random_queries(c, &state, wi);
            compare_eval(b, c, wi, tallies);
            compare_sample(b, c, &state, wi, tallies);
            compare_eval(b, c, wi, tallies);
        }
    }
    arena_destroy(arena);
    bool is_good = true;
    for (size_t k = 0; k < SORT_COUNT_OF(names); ++k) {
        /* Rounding decides at edges: of a cone, of the horizon, of a choice. */
        bool is_far = (double)tallies[k].off > 1e-3 * (double)tallies[k].compared;
        is_good = is_good && !is_far;
        if (only || is_far)
            print_message("%s, %s: %llu of %llu off, by %.2g at most; first %s\n", def->name,
                          names[k], (unsigned long long)tallies[k].off,
                          (unsigned long long)tallies[k].compared, (double)tallies[k].worst,
                          tallies[k].first);
    }
    assert_true(is_good);
}

/* --- building --------------------------------------------------------------------------------- */

static void assert_built(Status status, const DiagList *diags, const char *what)
{
    StrBuf out = {0};
    diag_print(diags, &out);
    if (status != STATUS_OK)
        print_message("%s%s\n", strbuf_text(&out), what);
    strbuf_free(&out);
    assert_int_equal(status, STATUS_OK);
}

static BsdfBuild *build_closure(const SslSource *source, const SslBsdfInfo *info, uint32_t lanes)
{
    Error err = {0};
    BsdfBuild *build;
    DiagList *diags = diag_list_create();
    assert_built(bsdf_build(ctx, source, info, lanes, diags, &build, &err), diags, err.text);
    diag_list_destroy(diags);
    return build;
}

/* --- all closures ----------------------------------------------------------------------------- */

/* Returns whether the source's closure was compared. */
static bool compare_source(const EmbeddedText *text)
{
    SslBsdfInfo info;
    uint32_t count;
    DiagList *diags = diag_list_create();
    SslSource source = {.name = text->name, .text = {text->text, text->size_bytes}};
    assert_built(ssl_source_bsdfs(ctx, &source, diags, &info, 1, &count), diags, "");
    diag_list_destroy(diags);
    assert_int_equal(count, 1);
    ClosureId id = closure_table_find(info.name);
    if (id == CLOSURE_COUNT || id == CLOSURE_EON || (only && strcmp(only, info.name) != 0))
        return false;
    BsdfBuild *build = build_closure(&source, &info, lanes_at_once);
    compare_closure(id, bsdf_build_def(build));
    bsdf_build_destroy(build);
    return true;
}

/* --- values to keep --------------------------------------------------------------------------- */

enum { VALUES = 12 };

/* Rounds a number to the digits that are printed of it, so that the row's results are those of the row's numbers. */
static float rounded(float x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", (double)x);
    return strtof(text, NULL);
}

static float3 rounded3(float3 v)
{
    return f3(rounded(v.x), rounded(v.y), rounded(v.z));
}

static void print_number(float x, const char *end)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", (double)x);
    printf("%s%s%s", text, strpbrk(text, ".e") ? "f" : "", end);
}

static void print_numbers(const float *v, uint32_t count)
{
    printf("{");
    for (uint32_t i = 0; i < count; ++i)
        print_number(v[i], i + 1 < count ? ", " : "}, ");
}

static void print3(float3 v)
{
    print_numbers((float[]){v.x, v.y, v.z}, 3);
}

static void round_point(Points *p, uint32_t i, uint32_t scalars)
{
    p->wo[i] = rounded3(p->wo[i]);
    p->Ng[i] = rounded3(p->Ng[i]);
    p->unbent[i] = rounded3(p->unbent[i]);
    p->blur[i] = rounded(p->blur[i]);
    for (uint32_t r = 0; r < scalars; ++r)
        p->args[r][i] = rounded(p->args[r][i]);
    for (uint32_t c = 0; c < 3; ++c)
        p->weight[c][i] = 1.0f;
}

static void print_value(ClosureId id, const Points *p, uint32_t i, uint64_t *state)
{
    Bsdf b;
    BsdfSample s = {0};
    float args[CLOSURE_MAX_SCALARS], pdf;
    uint32_t count = closure_table_scalars(id);
    for (uint32_t r = 0; r < count; ++r)
        args[r] = p->args[r][i];
    make_c(id, p, i, &b);
    float3 u =
        f3(rounded(random_unit(state)), rounded(random_unit(state)), rounded(random_unit(state)));
    bool is_drawn = bsdf_sample(&b, u.z, f2(u.x, u.y), &s);
    float3 near = f3_sub(f3_scale(b.Ng, 2.0f * b.cos_o), b.wo);
    near = f3_normalize(f3_madd(near, 0.3f + 2.0f * random_unit(state), random_direction(state)));
    bool is_near_drawn = is_drawn && !(s.flags & BSDF_DELTA) && random_unit(state) < 0.7f;
    float3 wi = rounded3(is_near_drawn ? s.wi : near);
    Spectrum f = bsdf_eval(&b, wi, &pdf);
    printf("{\"%s\", %u, ", closure_table_rows()[id].name, p->flags[i]);
    print_number(p->blur[i], ", ");
    print3(p->unbent[i]);
    print3(p->wo[i]);
    print3(p->Ng[i]);
    print_numbers(args, count);
    printf("\n ");
    print3(u);
    print3(is_drawn ? s.wi : f3_splat(0.0f));
    print_numbers(is_drawn ? s.weight.c : (float[3]){0}, 3);
    print_number(is_drawn ? s.pdf : 0.0f, ", ");
    print3(wi);
    print_numbers(f.c, 3);
    print_number(pdf, ", ");
    Spectrum albedo = bsdf_albedo(&b), base = bsdf_layer_factor(&b, id, args, 1);
    print_numbers(albedo.c, 3);
    print_numbers(base.c, 3);
    printf("},\n");
}

/* Prints what C makes of some random points of each closure. */
static void print_values(void)
{
    static Points p;
    printf("/* Values of closures by an independent implementation of them in C "
           "(docs/decisions/0091). */\n");
    for (uint32_t id = 0; id < CLOSURE_COUNT; ++id) {
        uint64_t state = ((uint64_t)id << 32) + 7;
        if (id == CLOSURE_EMISSION || id == CLOSURE_HOLDOUT || id == CLOSURE_VOLUME ||
            id == CLOSURE_AOV || id == CLOSURE_EON)
            continue;
        random_points((ClosureId)id, &state, &p);
        for (uint32_t i = 0; i < VALUES; ++i) {
            round_point(&p, i, closure_table_scalars((ClosureId)id));
            print_value((ClosureId)id, &p, i, &state);
        }
    }
}

static void test_bsdf_programs_agree_with_c(void **state)
{
    (void)state;
    uint32_t count = 0;
    for (uint32_t i = 0; closure_sources[i].name; ++i)
        count += compare_source(&closure_sources[i]);
    assert_true(count > 0);
}

static int create_context(void **state)
{
    (void)state;
    Error err = {0};
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    return ssl_context_create(&desc, &ctx, &err) == STATUS_OK ? 0 : -1;
}

static int destroy_context(void **state)
{
    (void)state;
    ssl_context_destroy(ctx);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--values") == 0) {
        print_values();
        return 0;
    }
    only = argc > 1 ? argv[1] : NULL;
    lanes_at_once = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bsdf_programs_agree_with_c)};
    return cmocka_run_group_tests_name("sort.bsdf_programs", tests, create_context,
                                       destroy_context);
}
