/* Derivatives by the texels of textures: every texel against differences of the shader itself and forward against backward, in the
 * interpreter's double arithmetic; the same of random programs; kernels at every width, to the bit with one another.
 * test_ssl_texels COUNT [SEED] runs so many random programs. */
#include "base/check.h"
#include "base/hash.h"
#include "ssl/context.h"
#include "ssl/ssl_sum.h"
#include "tests/ssl/oracle/ir_eval.h"
#include "tests/ssl/random/writer_diff.h"
#include "tools/ssl_kit/grid_host.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "uv", .type = SSL_FLOAT2, .has_derivs = true, .space = "", .doc = ""},
    {.name = "x", .type = SSL_FLOAT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "n", .type = SSL_INT, .space = "", .doc = ""},
};
enum { UV, X, N };

/* The textures of the interpreter: grids of texels, blended bilinearly, periodic, whatever the options are. */
enum { WIDTH = 4, HEIGHT = 3, TEXELS = WIDTH * HEIGHT, SLOTS = 4 };
typedef struct Grid {
    double texels[SLOTS][TEXELS][4], gradients[SLOTS][TEXELS][4];
} Grid;

static int setup(void **state)
{
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = SORT_COUNT_OF(globals)};
    Error err = {0};
    SslContext *ctx;
    if (ssl_context_create(&tables, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    *state = ctx;
    return 0;
}

static int teardown(void **state)
{
    ssl_context_destroy(*state);
    return 0;
}

/* --- helpers ------------------------------------------------------------------------------------ */

static SslUnit *compile(SslContext *ctx, const char *text)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    const SslSource src = {.name = "test.ssl", .text = str_from(text)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK) {
        StrBuf out = {0};
        diag_print(diags, &out);
        fail_msg("%s\n%s", text, strbuf_text(&out));
    }
    diag_list_destroy(diags);
    return unit;
}

typedef struct Asked {
    bool marks_edges;
    SslDerivativeInput inputs[4];
    const char *outputs[4];
    uint32_t input_count, output_count;
    bool has_edges;
} Asked;

static Status differentiate(const SslUnit *unit, const Asked *a, bool is_backward, SslUnit **out,
                            DiagList *diags, Error *err)
{
    const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                   .is_backward = is_backward,
                                   .inputs = a->inputs,
                                   .outputs = a->outputs,
                                   .input_count = a->input_count,
                                   .output_count = a->output_count,
                                   .has_edges = a->has_edges,
                                   .marks_edges = a->marks_edges};
    return ssl_unit_differentiate(unit, &how, diags, out, err);
}

static SslUnit *derive(const SslUnit *unit, const Asked *a, bool is_backward)
{
    Error err = {0};
    DiagList *diags = diag_list_create();
    SslUnit *made;
    if (differentiate(unit, a, is_backward, &made, diags, &err) != STATUS_OK) {
        StrBuf out = {0};
        diag_print(diags, &out);
        fail_msg("%s%s", err.text, strbuf_text(&out));
    }
    diag_list_destroy(diags);
    return made;
}

static uint32_t attribute_of(const SslUnitInfo *info, const char *name)
{
    uint32_t i = 0;
    while (i < info->attribute_count && strcmp(info->attributes[i].name, name) != 0)
        ++i;
    if (i == info->attribute_count)
        fail_msg("no attribute %s", name);
    return i;
}

static double random_number(uint64_t key)
{
    return (double)(hash_mix64(key) >> 11) * 0x1p-53;
}

/* --- the interpreter ------------------------------------------------------------------------------ */

typedef struct Blend {
    uint32_t at[4];
    double weights[4], slopes_s[4], slopes_t[4];
} Blend;

static uint32_t wrapped(double base, int step, uint32_t count)
{
    double i = fmod(base + step, (double)count);
    return (uint32_t)(i < 0 ? i + count : i);
}

static Blend blend_of(double s, double t)
{
    Blend b;
    double x = s * WIDTH - 0.5, y = (1 - t) * HEIGHT - 0.5, fx = x - floor(x), fy = y - floor(y);
    for (uint32_t k = 0; k < 4; ++k) {
        int right = k & 1, down = k >> 1;
        double wx = right ? fx : 1 - fx, wy = down ? fy : 1 - fy;
        b.at[k] = wrapped(floor(y), down, HEIGHT) * WIDTH + wrapped(floor(x), right, WIDTH);
        b.weights[k] = wx * wy;
        b.slopes_s[k] = (right ? WIDTH : -WIDTH) * wy;
        b.slopes_t[k] = (down ? -HEIGHT : HEIGHT) * wx;
    }
    return b;
}

static void look_up(void *data, const SslTextureSite *site, const double coord[7], double out[12])
{
    const Grid *g = data;
    Blend b = blend_of(coord[0], coord[1]);
    const double *weights[3] = {b.weights, b.slopes_s, b.slopes_t};
    for (uint32_t row = 0; row < 12; ++row) {
        out[row] = 0;
        for (uint32_t k = 0; k < 4; ++k)
            out[row] += weights[row / 4][k] * g->texels[site->texture][b.at[k]][row % 4];
    }
}

static void spread(void *data, const SslTextureSite *site, const double coord[7],
                   const double *adjoints, uint32_t count)
{
    Grid *g = data;
    Blend b = blend_of(coord[0], coord[1]);
    const double *weights[3] = {b.weights, b.slopes_s, b.slopes_t};
    for (uint32_t row = 0; row < count; ++row)
        for (uint32_t k = 0; k < 4; ++k)
            g->gradients[site->texture][b.at[k]][row % 4] += weights[row / 4][k] * adjoints[row];
}

static void fill_grid(Grid *g, uint64_t seed)
{
    memset(g, 0, sizeof *g);
    for (uint32_t slot = 0; slot < SLOTS; ++slot)
        for (uint32_t i = 0; i < TEXELS * 4; ++i)
            g->texels[slot][i / 4][i % 4] =
                random_number(seed * 1000 + slot * TEXELS * 4 + i) * 1.5 - 0.25;
}

/* Fills the result with what a unit gives at a point, whose number chooses its globals. weights: the adjoints, if it takes any. */
static EvalResult evaluate(const SslUnit *unit, Grid *g, uint32_t index, double k, double tangent_k,
                           const double *weights, const Asked *asked, Arena *arena)
{
    EvalPoint *point = ARENA_NEW(arena, EvalPoint);
    const SslUnitInfo *info = ssl_unit_info(unit);
    *point = (EvalPoint){
        .mode = EVAL_DUAL, .folds = true, .texture = look_up, .texels = spread, .texture_data = g};
    point->globals[UV][0][0] = fmod(0.37 * index, 1);
    point->globals[UV][0][1] = fmod(0.111 * index + 0.05, 1);
    point->globals[UV][1][0] = 0.01;
    point->globals[UV][2][1] = -0.02;
    point->globals[X][0][0] = fmod(0.371 * index, 2) - 1;
    point->globals[X][1][0] = 0.01;
    point->globals[N][0][0] = index % 6;
    for (uint32_t i = 0; i < info->param_count; ++i)
        point->params[i][0].v = strcmp(info->params[i].name, "k") == 0 ? k : tangent_k;
    uint32_t at = 0;
    for (uint32_t i = 0; i < asked->output_count && weights; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "adjoint(%s)", asked->outputs[i]);
        uint32_t slot = attribute_of(info, name);
        for (uint32_t c = 0; c < ssl_type_scalars(info->attributes[slot].type); ++c)
            point->attributes[slot][0][c] = weights[at++];
    }
    return ir_eval(unit->module, point, arena);
}

/* --- cases ---------------------------------------------------------------------------------------- */

#define FUNCTIONS                                                                                  \
    "texture2d wood; texture2d stone;"                                                             \
    "float4 both(float2 p) {"                                                                      \
    "  return texture2d_sample_rgba<wood>(p.x, p.y) * texture2d_sample_rgba<stone>(p.y, p.x); }"   \
    "float deep(float2 p, float k) {"                                                              \
    "  if (p.x > 0.7) return k * both(p).x;"                                                       \
    "  return both(p + float2(0.3)).y + texture2d_sample<wood>(p.y, 2 * p.x).b; }"                 \
    "float falling(float a, int n) { return n <= 0 ? a * a : 0.5 * a + falling(sin(a), n - 1); }"  \
    "shader s(float k = 0.75, out float y, out float z) {"                                         \
    "  const float2 p = global_value<uv>; const int n = global_value<n>; y = z = 0;"

static const char *const cases[] = {
    "y = texture2d_sample<wood>(p.x, p.y).r;",
    "y = texture2d_sample_alpha<wood>(p.x, p.y) * k; z = y * y;",
    /* Nonlinear, several of one texture, of both. */
    "const float4 c = both(p); y = c.x * c.y + sin(c.z) * k; z = c.w / (1 + c.x * c.x);",
    "y = deep(p, k); z = deep(p.yx, y);",
    /* Loops: summed, multiplied, with a tape, ended by what was looked up, and nested. */
    "for (int i = 0; i < 5; ++i) y += texture2d_sample<wood>(p.x * float(i), p.y).g * k;",
    "float r = 1; for (int i = 0; i < n; ++i) r *= 0.5 + both(p + float2(0.1 * float(i))).x; y = "
    "r;",
    "float r = 0.2; int i = 0; [MaxIters(9)] while (r < 1.5) r += 0.25 + "
    "abs(texture2d_sample<wood>(p.x + 0.2 * float(++i), p.y).r) * r; y = r * k;",
    "for (int i = 0; i < 3; ++i) for (int j = 0; j <= i; ++j) { if (j == 2) continue; "
    "y += both(p * float(i)).y * y + k * texture2d_sample<stone>(p.x, float(j) * 0.3).r; "
    "if (i == 2 && p.y > 0.5) break; }",
    /* Branches and choices. */
    "if (p.x > 0.5) y = both(p).x; else if (p.y > 0.4) { y = k; z = texture2d_sample<stone>(0.2, "
    "p.x).g; } else y = 2;",
    "y = p.x > p.y ? texture2d_sample<wood>(p.x, p.y).r * k : texture2d_sample<wood>(p.y, p.x).g;"
    "z = max(both(p).x, both(p).y);",
    /* Arrays, and functions that call themselves. */
    "float r[4] = {0, 0, 0, 0}; for (int i = 0; i < 6; ++i) r[i % 4] += both(p + 0.2 * float(i)).z "
    "* (1 + r[n % 4]); y = r[n % 4]; z = r[1];",
    "y = falling(both(p).x + k, n);",
    /* With footprints; at coordinates that another texture gives. */
    "y = texture2d_sample<wood>(p.x, p.y, 0.1, 0, 0, 0.2, wrap = \"clamp\").r; "
    "z = texture2d_sample<wood>(p.x, p.y, blur = 0.1).g;",
    /* At coordinates that parameters and texels decide. */
    "y = texture2d_sample<stone>(k * p.x, p.y + k).r; z = both(float2(k, 0.3)).x * k;",
    "y = texture2d_sample<stone>(texture2d_sample<wood>(p.x, k * p.y).r, p.x * k).g; z = both(k * "
    "both(p).xy).z;",
    "float2 q = p; for (int i = 0; i < n; ++i) q = k * both(q).xy + 0.1 * q; y = q.x; z = q.y;",
    "y = texture2d_sample<wood>(k * p.x, p.y, k, 0, 0, 0.2, blur = k).r; if (p.x > 0.4) z = both(p "
    "* y).w;",
    /* Footprints have no derivative, also those of turns that follow where ddx of something else makes them numbers. */
    "float2 q = p; for (int i = 0; i < n; ++i) q = k * both(q).xy + 0.1 * q; y = q.x; z = q.y * "
    "ddx(p.x);",
    "float r = 0.2; [MaxIters(9)] while (r < 1.5) { if (p.y > 0.5) r += "
    "texture2d_sample<wood>(p.x, 0.3).g; "
    "r += 0.25 + abs(texture2d_sample<wood>(p.x + 0.2 * r, r).r) * r; } y = r * k; z = "
    "fwidth(p.y);",
    /* What ddx of a lookup depends on. */
    "y = ddx(texture2d_sample<wood>(p.x, p.y).r) * k; z = ddy(both(p).x * k + p.y);",
    "const float4 c = both(p); y = ddx(c.x) * c.y + ddy(texture2d_sample<stone>(p.x + p.y, "
    "p.x).g);",
};

static const Asked all = {
    .inputs = {{SSL_INPUT_TEXTURE, "wood"}, {SSL_INPUT_PARAM, "k"}, {SSL_INPUT_TEXTURE, "stone"}},
    .outputs = {"y", "z"},
    .input_count = 3,
    .output_count = 2};

static void make_source(uint32_t index, StrBuf *out)
{
    strbuf_printf(out, "%s%s}", FUNCTIONS, cases[index]);
}

static double weighted(const SslUnit *unit, Grid *g, uint32_t index, double k,
                       const double weights[2], Arena *arena)
{
    EvalResult r = evaluate(unit, g, index, k, 0, NULL, &all, arena);
    return weights[0] * r.values[0].elements->v + weights[1] * r.values[1].elements->v;
}

/* Every texel of both textures, and the sums over them that the unit itself gives. */
static void check_texels(const char *name, const SslUnit *unit, const SslUnit *back, uint32_t index,
                         Arena *arena)
{
    const double weights[2] = {0.7, -1.3}, k = 0.75, h = 1e-6;
    Grid g;
    fill_grid(&g, index);
    EvalResult r = evaluate(back, &g, index, k, 0, weights, &all, arena);
    for (uint32_t slot = 0; slot < 2; ++slot)
        for (uint32_t c = 0; c < 4; ++c) {
            double sum = 0;
            for (uint32_t i = 0; i < TEXELS; ++i) {
                double *texel = &g.texels[slot][i][c], was = *texel, values[2];
                double gradient = g.gradients[slot][i][c];
                for (uint32_t side = 0; side < 2; ++side) {
                    *texel = was + (side ? h : -h);
                    values[side] = weighted(unit, &g, index, k, weights, arena);
                }
                *texel = was;
                double difference = (values[1] - values[0]) / (2 * h);
                if (!(fabs(difference - gradient) <= 1e-6 * (1 + fabs(gradient))))
                    fail_msg("%s, point %u, texture %u, texel %u, channel %u: %.9g and not %.9g",
                             name, index, slot, i, c, gradient, difference);
                sum += gradient;
            }
            double given = r.values[slot ? 5 + c : c].elements->v;
            if (!(fabs(given - sum) <= 1e-9 * (1 + fabs(sum))))
                fail_msg("point %u, texture %u: the sum is %.9g and not %.9g", index, slot, given,
                         sum);
        }
}

static void check_k(const char *name, const SslUnit *unit, const SslUnit *back, uint32_t index,
                    Arena *arena)
{
    const double weights[2] = {0.7, -1.3}, k = 0.75, h = 1e-7;
    Grid g;
    fill_grid(&g, index);
    double gradient = evaluate(back, &g, index, k, 0, weights, &all, arena).values[4].elements->v;
    double difference = (weighted(unit, &g, index, k + h, weights, arena) -
                         weighted(unit, &g, index, k - h, weights, arena)) /
                        (2 * h);
    if (!(fabs(difference - gradient) <= 2e-6 * (1 + fabs(gradient))))
        fail_msg("%s, point %u: by k %.9g and not %.9g", name, index, gradient, difference);
}

static void test_texels(void **state)
{
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        StrBuf text = {0};
        Arena *arena = arena_create(0, 0);
        make_source(i, &text);
        SslUnit *unit = compile(*state, strbuf_text(&text));
        SslUnit *back = derive(unit, &all, true);
        assert_string_equal(ssl_unit_info(back)->outputs[0].name, "gradient(texture2d<wood>)");
        for (uint32_t index = 1; index < 14; ++index) {
            check_texels(cases[i], unit, back, index, arena);
            check_k(cases[i], unit, back, index, arena);
            arena_reset(arena);
        }
        ssl_unit_release(back);
        ssl_unit_release(unit);
        arena_destroy(arena);
        strbuf_free(&text);
    }
}

/* --- forward against backward --------------------------------------------------------------------- */

typedef struct Both {
    double jw, tv, size; /* <J t, w>, <t, J' w>, and how large what they sum is */
    uint32_t fault;
    bool has_texels;
} Both;

static Both both_ways(const SslUnit *back, const SslUnit *forth, uint32_t index, Arena *arena)
{
    const double weights[2] = {0.7, -1.3}, k = 0.75, tangent_k = 0.3;
    Both b = {0};
    Grid g;
    fill_grid(&g, index + 77);
    EvalResult r = evaluate(back, &g, index, k, 0, weights, &all, arena);
    EvalResult f = evaluate(forth, &g, index, k, tangent_k, NULL, &all, arena);
    b.jw = weights[0] * f.values[2].elements->v + weights[1] * f.values[3].elements->v;
    b.size = 1 + fabs(f.values[2].elements->v) + fabs(f.values[3].elements->v);
    b.tv = tangent_k * r.values[4].elements->v;
    b.size += fabs(r.values[4].elements->v);
    for (uint32_t slot = 0; slot < 2; ++slot)
        for (uint32_t i = 0; i < TEXELS * 4; ++i) {
            double gradient = g.gradients[slot][i / 4][i % 4];
            b.tv += g.texels[2 + slot][i / 4][i % 4] * gradient;
            b.size += fabs(gradient);
            b.has_texels = b.has_texels || gradient != 0;
        }
    b.fault = r.fault | f.fault;
    return b;
}

static void test_transposes(void **state)
{
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        StrBuf text = {0};
        Arena *arena = arena_create(0, 0);
        make_source(i, &text);
        SslUnit *unit = compile(*state, strbuf_text(&text));
        SslUnit *back = derive(unit, &all, true), *forth = derive(unit, &all, false);
        const SslUnitInfo *info = ssl_unit_info(forth);
        assert_int_equal(info->texture_count, 4);
        assert_string_equal(info->textures[2], "tangent(texture2d<wood>)");
        for (uint32_t index = 1; index < 14; ++index) {
            Both b = both_ways(back, forth, index, arena);
            if (!(fabs(b.jw - b.tv) <= 1e-12 * b.size))
                fail_msg("case %u, point %u: %.17g and %.17g", i, index, b.jw, b.tv);
            arena_reset(arena);
        }
        ssl_unit_release(back);
        ssl_unit_release(forth);
        ssl_unit_release(unit);
        arena_destroy(arena);
        strbuf_free(&text);
    }
}

/* --- random programs ------------------------------------------------------------------------------ */

typedef struct Tally {
    uint32_t programs, compared, touched; /* touched: points at which texels have gradients */
    double worst;
} Tally;

static bool check_random(SslContext *ctx, uint64_t seed, Tally *tally)
{
    StrBuf text = {0};
    Arena *arena = arena_create(0, 0);
    write_texel_program(seed, &text);
    SslUnit *unit = compile(ctx, strbuf_text(&text));
    SslUnit *back = derive(unit, &all, true), *forth = derive(unit, &all, false);
    bool is_good = true;
    for (uint32_t index = 1; index < 7 && is_good; ++index) {
        Both b = both_ways(back, forth, index, arena);
        bool is_ordinary = b.fault == 0 && b.size < 1e12;
        double difference = fabs(b.jw - b.tv) / b.size;
        tally->compared += is_ordinary;
        tally->touched += is_ordinary && b.has_texels;
        tally->worst = is_ordinary ? fmax(tally->worst, difference) : tally->worst;
        is_good = !is_ordinary || difference <= 1e-12;
        if (!is_good)
            print_error("program %llu, point %u: %.17g and %.17g\n%s\n", (unsigned long long)seed,
                        index, b.jw, b.tv, strbuf_text(&text));
        arena_reset(arena);
    }
    ++tally->programs;
    ssl_unit_release(back);
    ssl_unit_release(forth);
    ssl_unit_release(unit);
    arena_destroy(arena);
    strbuf_free(&text);
    return is_good;
}

static uint32_t random_count = 150;
static uint64_t random_seed = 1;

static void test_random(void **state)
{
    Tally tally = {0};
    for (uint32_t i = 0; i < random_count; ++i)
        if (!check_random(*state, random_seed + i, &tally))
            fail();
    print_message("%u programs, %u points, %u with gradients of texels, differences up to %.3g\n",
                  tally.programs, tally.compared, tally.touched, tally.worst);
    assert_true(tally.touched > 2 * tally.programs);
}

/* --- kernels -------------------------------------------------------------------------------------- */

enum { POINTS = 300, SIZE = 37 };

static TexPicture *new_picture(uint64_t seed)
{
    const TexPictureDesc desc = {.size_bytes = sizeof desc, .width = SIZE, .height = 21};
    TexPicture *picture;
    Error err = {0};
    assert_int_equal(tex_picture_create(&desc, &picture, &err), STATUS_OK);
    for (uint32_t i = 0; i < 4 * SIZE * 21; ++i)
        tex_picture_texels(picture)[i] = (float)random_number(seed * 100000 + i);
    assert_int_equal(tex_picture_build(picture, &err), STATUS_OK);
    return picture;
}

/* A program on its points, with sums of texels of the first two textures. */
typedef struct Kernel {
    SslProgram *program;
    GridHost *grid;
    SslTexelSum *sums[SLOTS];
} Kernel;

static Kernel new_kernel(SslContext *ctx, const SslUnit *unit, uint32_t lanes,
                         TexPicture *const pictures[SLOTS], uint64_t budget, const char *folder)
{
    Kernel k = {0};
    Error err = {0};
    const SslBuildDesc how = {.size_bytes = sizeof how, .lanes = lanes};
    if (ssl_program_build(ctx, unit, &how, NULL, &k.program, &err) != STATUS_OK ||
        grid_host_create(k.program, globals, SORT_COUNT_OF(globals), POINTS, &k.grid, &err) !=
            STATUS_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < POINTS; ++i) {
        int32_t n = (int32_t)(i % 6);
        *grid_host_global(k.grid, UV, 0, 0, i) = (float)random_number(i);
        *grid_host_global(k.grid, UV, 0, 1, i) = (float)random_number(i + POINTS);
        *grid_host_global(k.grid, UV, 1, 0, i) = 0.2f * (float)random_number(i + 2 * POINTS);
        *grid_host_global(k.grid, UV, 2, 1, i) = 0.1f;
        *grid_host_global(k.grid, X, 0, 0, i) = (float)random_number(i + 3 * POINTS);
        memcpy(grid_host_global(k.grid, N, 0, 0, i), &n, sizeof n);
    }
    const SslTexelSumDesc desc = {.size_bytes = sizeof desc,
                                  .place_count = tex_picture_places(pictures[0]),
                                  .budget_bytes = budget,
                                  .folder = folder};
    for (uint32_t i = 0; i < ssl_unit_info(unit)->texture_count; ++i) {
        grid_host_set_picture(k.grid, i, pictures[i]);
        if (i < 2 && ssl_texel_sum_create(&desc, &k.sums[i], &err) != STATUS_OK)
            fail_msg("%s", err.text);
    }
    return k;
}

static void free_kernel(Kernel *k)
{
    grid_host_destroy(k->grid);
    ssl_program_release(k->program);
    for (uint32_t i = 0; i < SLOTS; ++i)
        ssl_texel_sum_destroy(k->sums[i]);
}

static void set_adjoint(const Kernel *k, const char *name, uint32_t point, float x)
{
    const SslUnitInfo *info = ssl_program_info(k->program)->unit;
    float *at = grid_host_attribute(k->grid, attribute_of(info, name), 0, 0, point);
    if (at)
        *at = x;
}

static float adjoint_at(uint32_t point, uint32_t output)
{
    return (float)random_number(point * 2 + output + 999) - 0.5f;
}

/* Runs the blocks from the last to the first, a few at a time, or all at once. */
static void run_backward(Kernel *k, bool in_pieces)
{
    for (uint32_t i = 0; i < POINTS; ++i) {
        set_adjoint(k, "adjoint(y)", i, adjoint_at(i, 0));
        set_adjoint(k, "adjoint(z)", i, adjoint_at(i, 1));
    }
    grid_host_caller(k->grid)->texels = k->sums;
    uint32_t blocks = grid_host_batch(k->grid)->block_count;
    for (uint32_t end = blocks; end > 0;) {
        uint32_t count = in_pieces && end > 3 ? 3 : in_pieces ? end : blocks;
        end -= count;
        grid_host_run_blocks(k->grid, end, count);
    }
    const Error *err = &grid_host_caller(k->grid)->err;
    if (err->code != STATUS_OK)
        fail_msg("%s", err->text);
}

static void read_sums(Kernel *k, uint32_t slot, double *out, uint64_t count)
{
    Error err = {0};
    if (ssl_texel_sum_read(k->sums[slot], 0, count, out, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void check_kernel(SslContext *ctx, uint32_t index, TexPicture *const pictures[SLOTS])
{
    static const uint32_t widths[] = {16, 8, 1, 4};
    StrBuf text = {0};
    make_source(index, &text);
    SslUnit *unit = compile(ctx, strbuf_text(&text));
    SslUnit *back = derive(unit, &all, true), *forth = derive(unit, &all, false);
    uint64_t count = tex_picture_places(pictures[0]);
    double *first = calloc(2 * count, sizeof *first), *again = calloc(2 * count, sizeof *again);
    assert_true(first && again);
    for (uint32_t w = 0; w < SORT_COUNT_OF(widths); ++w) {
        /* The last width with a budget that pages go out by. */
        Kernel k = new_kernel(ctx, back, widths[w], pictures, w == 3 ? 40000 : 0, "/tmp");
        run_backward(&k, w > 0);
        for (uint32_t slot = 0; slot < 2; ++slot)
            read_sums(&k, slot, (w ? again : first) + slot * count, count);
        SslTexelSumStats stats = ssl_texel_sum_stats(k.sums[0]);
        assert_true(stats.bytes <= stats.budget_bytes);
        if (w > 0)
            assert_memory_equal(first, again, 2 * count * sizeof *first);
        free_kernel(&k);
    }
    Kernel k = new_kernel(ctx, forth, 0, pictures, 0, NULL);
    grid_host_run(k.grid);
    const SslOutputSlot *outputs = ssl_program_info(k.program)->outputs;
    double jw = 0, tv = 0, size = 0;
    for (uint32_t i = 0; i < POINTS; ++i)
        for (uint32_t o = 0; o < 2; ++o) {
            double term =
                (double)adjoint_at(i, o) * (double)grid_host_float(k.grid, outputs[2 + o], 0, i);
            jw += term;
            size += fabs(term);
        }
    for (uint64_t i = 0; i < 2 * count; ++i) {
        TexPicture *tangent = pictures[2 + i / count];
        tv += first[i] * (double)tex_picture_texels(tangent)[i % count];
    }
    if (!(fabs(jw - tv) <= 1e-5 * size))
        fail_msg("case %u: %.9g forward, %.9g backward, of %.3g", index, jw, tv, size);
    free_kernel(&k);
    free(first);
    free(again);
    ssl_unit_release(back);
    ssl_unit_release(forth);
    ssl_unit_release(unit);
    strbuf_free(&text);
}

/* The tangents of the pictures' coarser levels are those of level 0 built like these, so that levels have their part. */
static void test_kernels(void **state)
{
    TexPicture *pictures[SLOTS];
    for (uint32_t i = 0; i < SLOTS; ++i)
        pictures[i] = new_picture(i);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        check_kernel(*state, i, pictures);
    for (uint32_t i = 0; i < SLOTS; ++i)
        tex_picture_destroy(pictures[i]);
}

/* --- what is refused, and what is told ------------------------------------------------------------- */

static void test_refused(void **state)
{
    static const struct {
        const char *text, *code;
    } rows[] = {
        /* the second derivative by coordinates */
        {"y = ddx(texture2d_sample<stone>(k * global_value<uv>.x, 0).g); z = 0; }", "S0819"},
        /* in a function that calls itself */
        {"y = again(k, 3); z = 0; }", "S0825"},
        /* in one with a derivative of its own */
        {"y = own(k); z = 0; }", "S0825"},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        StrBuf text = {0};
        strbuf_printf(
            &text,
            "texture2d wood; texture2d stone;"
            "float again(float a, int n) { return n <= 0 ? a : texture2d_sample<wood>(0.1, "
            "0.1).r + again(a, n - 1); }"
            "void own_bwd(inout diff_pair<float> a, float g) { a.d = g; }"
            "[BackwardDerivative(own_bwd)] float own(float a) { return a + "
            "texture2d_sample<wood>(0, 0).r; }"
            "shader s(float k = 0.75, out float y, out float z) { %s",
            rows[i].text);
        SslUnit *unit = compile(*state, strbuf_text(&text)), *made;
        DiagList *diags = diag_list_create();
        Error err = {0};
        assert_int_equal(differentiate(unit, &all, true, &made, diags, &err), STATUS_SOURCE);
        assert_string_equal(diag_get(diags, 0)->code, rows[i].code);
        assert_true(diag_get(diags, 0)->span.end > 0);
        assert_int_equal(diag_get(diags, 1)->severity, DIAG_NOTE);
        diag_list_destroy(diags);
        ssl_unit_release(unit);
        strbuf_free(&text);
    }
}

/* Who leaves the derivative out, as the note says, may look up where else that is refused. Over edges, a comparison does not leave it out. */
static void test_detached(void **state)
{
    static const struct {
        const char *text;
        bool has_edges, is_refused;
    } rows[] = {
        {"y = k * detach(again(k, 3)); z = again(k, 2) > 1 ? k : 0;", false, false},
        {"y = k * detach(again(k, 3)); z = 0;", true, false},
        {"y = 0; z = again(k, 2) > 1 ? k : 0;", true, true},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        char text[1024];
        Error err = {0};
        Asked asked = all;
        SslUnit *made;
        DiagList *diags = diag_list_create();
        (void)snprintf(text, sizeof text,
                       "texture2d wood; texture2d stone;"
                       "float again(float a, int n) { return n <= 0 ? a : texture2d_sample<wood>"
                       "(0.1, 0.1).r + again(a, n - 1); }"
                       "shader s(float k = 0.75, out float y, out float z) { %s }",
                       rows[i].text);
        SslUnit *unit = compile(*state, text);
        asked.has_edges = rows[i].has_edges;
        assert_int_equal(differentiate(unit, &asked, true, &made, diags, &err),
                         rows[i].is_refused ? STATUS_SOURCE : STATUS_OK);
        ssl_unit_release(made);
        ssl_unit_release(unit);
        diag_list_destroy(diags);
    }
}

/* What only comparisons read has the gradient zero, and the kernel calls for no adjoint. */
static void test_zero_is_told(void **state)
{
    SslUnit *unit = compile(
        *state, "texture2d wood; texture2d stone; shader s(float k = 1, out float y, out float z) {"
                " y = texture2d_sample<wood>(0, 0).r > 0.5 ? k : 0;"
                " z = texture2d_sample<stone>(0, 0).r; }");
    SslUnit *back = derive(unit, &all, true);
    assert_true(ssl_unit_info(back)->outputs[0].is_zero);
    assert_false(ssl_unit_info(back)->outputs[2].is_zero);
    SslProgram *program;
    Error err = {0};
    const SslBuildDesc how = {.size_bytes = sizeof how, .without_code = true};
    assert_int_equal(ssl_program_build(*state, back, &how, NULL, &program, &err), STATUS_OK);
    assert_false(ssl_program_info(program)->texels_have_adjoints[0]);
    assert_true(ssl_program_info(program)->texels_have_adjoints[1]);
    ssl_program_release(program);
    ssl_unit_release(back);
    ssl_unit_release(unit);
}

/* Over edges: the threshold of a texture is where it is, and its texels move it. */
static void test_edges(void **state)
{
    SslUnit *unit = compile(
        *state,
        "texture2d wood; texture2d stone; shader s(float k = 0.5, out float y, out float z) {"
        " const float2 p = global_value<uv>;"
        " y = texture2d_sample<wood>(p.x, p.y).r > k ? 1 : 0; z = 0; }");
    Asked asked = all;
    asked.has_edges = true;
    SslUnit *back = derive(unit, &asked, true);
    assert_false(ssl_unit_info(back)->outputs[0].is_zero);
    TexPicture *pictures[SLOTS] = {new_picture(1), new_picture(2)};
    uint64_t count = tex_picture_places(pictures[0]);
    double *sums = calloc(count, sizeof *sums), total = 0;
    Kernel k = new_kernel(*state, back, 0, pictures, 0, NULL);
    for (uint32_t i = 0; i < POINTS; ++i) { /* a row of pixels */
        *grid_host_global(k.grid, UV, 0, 0, i) = ((float)i + 0.5f) / POINTS;
        *grid_host_global(k.grid, UV, 0, 1, i) = 0.37f;
        *grid_host_global(k.grid, UV, 1, 0, i) = 1.0f / POINTS;
        *grid_host_global(k.grid, UV, 2, 1, i) = 0;
    }
    run_backward(&k, false);
    for (uint32_t i = 0; i < POINTS; ++i)
        set_adjoint(&k, "adjoint(y)", i, 1);
    Error err = {0};
    ssl_texel_sum_clear(k.sums[0]);
    grid_host_run(k.grid);
    assert_int_equal(ssl_texel_sum_read(k.sums[0], 0, count, sums, &err), STATUS_OK);
    for (uint64_t i = 0; i < count; ++i)
        total += sums[i];
    /* Adding to all texels does what taking from the threshold does. */
    SslSum *sum;
    assert_int_equal(ssl_sum_create(k.program, &sum, &err), STATUS_OK);
    assert_int_equal(ssl_sum_add(sum, grid_host_batch(k.grid), &err), STATUS_OK);
    double by_threshold = ssl_sum_value(sum, 1, 0);
    assert_true(by_threshold < -1);
    assert_true(fabs(total + by_threshold) < 1e-3 * fabs(by_threshold));
    assert_true(fabs(ssl_sum_value(sum, 0, 0) + by_threshold) < 1e-3 * fabs(by_threshold));
    ssl_sum_destroy(sum);
    free(sums);
    free_kernel(&k);
    /* The marks are another number on the other side of the threshold. */
    asked.has_edges = false;
    asked.marks_edges = true;
    SslUnit *marks = derive(unit, &asked, false);
    k = new_kernel(*state, marks, 0, pictures, 0, NULL);
    grid_host_run(k.grid);
    const SslOutputSlot *outputs = ssl_program_info(k.program)->outputs;
    uint32_t first[2] = {0};
    for (uint32_t i = 0; i < POINTS; ++i) {
        uint32_t *of_side = &first[grid_host_float(k.grid, outputs[0], 0, i) > 0.5f];
        uint32_t mark = grid_host_word(k.grid, outputs[2], 0, i);
        *of_side = *of_side ? *of_side : mark;
        assert_int_equal(mark, *of_side);
    }
    assert_int_not_equal(first[0], first[1]);
    free_kernel(&k);
    ssl_unit_release(marks);
    tex_picture_destroy(pictures[0]);
    tex_picture_destroy(pictures[1]);
    ssl_unit_release(back);
    ssl_unit_release(unit);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texels),  cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_zero_is_told),
        cmocka_unit_test(test_edges),   cmocka_unit_test(test_detached),
    };
    if (argc > 1)
        random_count = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        random_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, setup, teardown);
}
