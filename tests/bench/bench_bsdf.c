/* What sampling, scattering and the film cost a call, on one core: nanoseconds, best of several runs. Views and
 * numbers vary from call to call, as in a render. Closures: a point of a full block of 16, and of one with four live points.
 *
 *   bench_bsdf [--quick | NAME]    NAME: only closures whose name begins so */
#include "base/clock.h"
#include "sort/bsdf/bsdf_wide.h"
#include "sort/bsdf/closure_programs.h"
#include "sort/film/film.h"
#include "sort/light/environment_table.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/bench/bench_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIEWS 256u

/* Set by main, once. */
static uint32_t call_count = 1u << 18, round_count = 5;

/* Keeps the compiler from dropping what nobody reads. */
static volatile float sink;

typedef struct Material {
    const char *name;
    const char *closure;
    float args[CLOSURE_MAX_SCALARS];
} Material;

static const Material materials[] = {
    {"Lambert", "Lambert", {0.8f, 0.7f, 0.6f, 0, 0, 1}},
    {"OrenNayar", "OrenNayar", {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Conductor 0.3", "Conductor", {0.9f, 0.7f, 0.4f, 0.3f, 0, 0, 1}},
    {"Conductor 0", "Conductor", {0.9f, 0.7f, 0.4f, 0, 0, 0, 1}},
    {"Metal 0.3", "Metal", {0.2f, 0.9f, 1.1f, 3.9f, 2.4f, 2.3f, 0.3f, 0.5f, 1, 0, 0, 0, 0, 1}},
    {"Dielectric 0.3", "Dielectric", {1.5f, 0.3f, 1, 1, 1, 1, 1, 1, 0, 0, 1}},
    {"Dielectric 0", "Dielectric", {1.5f, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1}},
    {"Glossy 0.3", "Glossy", {0.9f, 0.7f, 0.4f, 0.3f, 0, 1, 0, 0, 0, 0, 0, 0, 1}},
    {"Beckmann 0.3", "Glossy", {0.9f, 0.7f, 0.4f, 0.3f, 1, 0, 0, 0, 0, 0, 0, 0, 1}},
    {"Specular 0.3", "Specular", {0.04f, 0.04f, 0.04f, 1.5f, 0.3f, 0, 0, 0, 0, 0, 0, 0, 1}},
    {"Refraction 0.3", "Refraction", {1, 1, 1, 1.5f, 0.3f, 0, 0, 0, 1}},
    {"ThinDielectric", "ThinDielectric", {1.5f, 0.3f, 1, 1, 1, 1, 1, 1, 0, 0, 1}},
    {"Clearcoat 0.3", "Clearcoat", {0.3f, 0, 0, 1}},
    {"DisneyDiffuse", "DisneyDiffuse", {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Sheen 0.5", "Sheen", {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Velvet 0.5", "Velvet", {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Hair 0.3", "Hair", {0.3f, 0.6f, 1.2f, 0.3f, 0.3f, 0, 1.55f, 0.035f, 0.3f, 1, 0, 0}},
    {"Plastic 0.3", "Plastic", {0.8f, 0.7f, 0.6f, 0.04f, 0.04f, 0.04f, 0.3f, 0, 0, 1}},
};

static float3 view(uint32_t i)
{
    const Sampler sobol = {SAMPLER_SOBOL};
    return warp_hemisphere_cosine(sampler_2d(&sobol, sample_key(1, 1, i, 0), 0));
}

static void run_sobol_2d(void *data)
{
    (void)data;
    const Sampler sobol = {SAMPLER_SOBOL};
    float sum = 0.0f;
    for (uint32_t i = 0; i < call_count; ++i)
        sum += sampler_2d(&sobol, sample_key(i & 63, 5, i >> 6, 1), i & 15).x;
    sink = sum;
}

static void run_sobol_1d(void *data)
{
    (void)data;
    const Sampler sobol = {SAMPLER_SOBOL};
    float sum = 0.0f;
    for (uint32_t i = 0; i < call_count; ++i)
        sum += sampler_1d(&sobol, sample_key(i & 63, 5, i >> 6, 1), i & 15);
    sink = sum;
}

/* A sky, and surfaces that look at it. */
typedef struct SkyBench {
    EnvironmentTable *table;
    SkyFacings facings;
} SkyBench;

enum { ALL_LANES = (1u << SSL_BLOCK) - 1u };

static Status random_row(void *data, uint32_t width, float v_low, float v_high,
                         float3 *out_radiance, Error *err)
{
    uint32_t *state = data;
    (void)v_low, (void)v_high, (void)err;
    for (uint32_t x = 0; x < width; ++x)
        out_radiance[x] = f3_splat((float)(hash_mix64((*state)++) >> 40));
    return STATUS_OK;
}

static void draw_pair(uint32_t i, WideRow out_u[2])
{
    const Sampler sobol = {SAMPLER_SOBOL};
    float2 u = sampler_2d(&sobol, sample_key(i & 63, 5, i >> 6, 1), 0);
    out_u[0][i % SSL_BLOCK] = u.x, out_u[1][i % SSL_BLOCK] = u.y;
}

static void run_sky(void *data)
{
    const SkyBench *sky = data;
    float sum = 0.0f;
    WideRow u[2];
    EnvironmentPlace places[SSL_BLOCK] = {{.cell = 0}};
    for (uint32_t i = 0; i < call_count; ++i) {
        draw_pair(i, u);
        if (i % SSL_BLOCK == SSL_BLOCK - 1)
            environment_table_draw(sky->table, &sky->facings, u, ALL_LANES, places);
        sum += places[i % SSL_BLOCK].uv.x + places[i % SSL_BLOCK].pdf;
    }
    sink = sum;
}

static void run_sky_pdf(void *data)
{
    const SkyBench *sky = data;
    float sum = 0.0f;
    WideRow uv[2];
    EnvironmentPlace places[SSL_BLOCK] = {{.cell = 0}};
    for (uint32_t i = 0; i < call_count; ++i) {
        uint32_t k = i % SSL_BLOCK;
        draw_pair(i, uv);
        places[k].uv = f2(uv[0][k], uv[1][k]);
        if (k == SSL_BLOCK - 1)
            environment_table_find(sky->table, &sky->facings, ALL_LANES, places);
        sum += places[k].pdf;
    }
    sink = sum;
}

static void run_film(void *data)
{
    FilmSample sample = {.rgb = {0.3f, 0.2f, 0.1f}, .alpha = 1.0f};
    for (uint32_t i = 0; i < call_count; ++i) {
        sample.rgb[i % 3] += 0.001f;
        film_commit(data, i & 511, i >> 9, &sample);
    }
}

/* --- closures --------------------------------------------------------------------------------- */

typedef struct ClosureBench {
    const BsdfDef *def;
    uint16_t live;
    BsdfBlock *block;
    _Alignas(64) float args[CLOSURE_MAX_SCALARS][SSL_BLOCK];
    _Alignas(64) float weight[3][SSL_BLOCK];
    _Alignas(64) BsdfRow wi[VIEWS / SSL_BLOCK][3], u[VIEWS / SSL_BLOCK][3],
        wo[VIEWS / SSL_BLOCK][3];
} ClosureBench;

static void make_block(const ClosureBench *w, uint32_t n)
{
    memcpy(w->block->view.wo, w->wo[n % (VIEWS / SSL_BLOCK)], sizeof w->wo[0]);
    bsdf_block_begin(w->block);
    (void)bsdf_block_add(w->block, w->def, w->args[0], w->weight[0], w->live);
}

static void run_make(void *data)
{
    const ClosureBench *w = data;
    for (uint32_t i = 0; i < call_count; i += SSL_BLOCK)
        make_block(w, i / SSL_BLOCK);
    sink = w->block->select_sum[0];
}

static void run_eval(void *data)
{
    ClosureBench *w = data;
    _Alignas(64) BsdfRow f_cos[3], pdf;
    for (uint32_t i = 0; i < call_count; i += SSL_BLOCK)
        bsdf_block_eval(w->block, w->wi[i / SSL_BLOCK % (VIEWS / SSL_BLOCK)], w->live, f_cos, pdf);
    sink = pdf[0];
}

static void run_sample(void *data)
{
    ClosureBench *w = data;
    static BsdfDrawn drawn;
    for (uint32_t i = 0; i < call_count; i += SSL_BLOCK)
        (void)bsdf_block_sample(w->block, w->u[i / SSL_BLOCK % (VIEWS / SSL_BLOCK)], w->live,
                                &drawn);
    sink = drawn.pdf[0];
}

static void fill(const Material *m, ClosureBench *w)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    BsdfView *v = &w->block->view;
    memset(v, 0, sizeof *v);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        v->Ng[2][i] = 1.0f;
        v->outside[i] = 1;
        for (uint32_t r = 0; r < CLOSURE_MAX_SCALARS; ++r)
            w->args[r][i] = m->args[r];
        for (uint32_t c = 0; c < 3; ++c)
            w->weight[c][i] = 1.0f;
    }
    for (uint32_t k = 0; k < VIEWS; ++k) {
        uint32_t n = k / SSL_BLOCK, i = k % SSL_BLOCK;
        float3 wo = view(k), wi = view(k * 31 + 7);
        float2 u = sampler_2d(&independent, sample_key(1, 2, k, 0), 1);
        w->wo[n][0][i] = wo.x, w->wo[n][1][i] = wo.y, w->wo[n][2][i] = wo.z;
        w->wi[n][0][i] = wi.x, w->wi[n][1][i] = wi.y, w->wi[n][2][i] = wi.z;
        w->u[n][0][i] = sampler_1d(&independent, sample_key(1, 2, k, 0), 3);
        w->u[n][1][i] = u.x, w->u[n][2][i] = u.y;
    }
}

static double best_ns(void (*run)(void *data), void *data)
{
    double best = 1e30;
    for (uint32_t i = 0; i < round_count; ++i) {
        uint64_t begin = clock_now_ns();
        run(data);
        double ns = (double)(clock_now_ns() - begin) / call_count;
        best = ns < best ? ns : best;
    }
    return best;
}

/* Prints make, eval and sample of a point in a full block, and their sum where four of sixteen points are live. */
static void bench_closure(const Material *m, const BsdfDef *def)
{
    ClosureBench *w = aligned_alloc(64, sizeof *w);
    Arena *arena = arena_create(0, 0);
    BsdfBlock *block = arena ? bsdf_block_create(arena, 1, def->lobe_count, def->state_rows) : NULL;
    if (w && block) {
        *w = (ClosureBench){.def = def, .live = 0xffff, .block = block};
        fill(m, w);
        double make_ns = best_ns(run_make, w), eval_ns = best_ns(run_eval, w);
        double sample_ns = best_ns(run_sample, w), all_ns = make_ns + eval_ns + sample_ns;
        w->live = 0x8421;
        double few_ns =
            4.0 * (best_ns(run_make, w) + best_ns(run_eval, w) + best_ns(run_sample, w));
        printf("%-16s %8.1f %8.1f %8.1f %8.1f %8.1f\n", m->name, make_ns, eval_ns, sample_ns,
               all_ns, few_ns);
    }
    arena_destroy(arena);
    free(w);
}

static void bench_materials(const char *prefix)
{
    const ClosurePrograms *programs = closure_programs_here();
    printf("%-16s %8s %8s %8s %8s %8s\n", "closure, ns", "make", "eval", "sample", "sum",
           "4 of 16");
    for (uint32_t m = 0; m < SORT_COUNT_OF(materials); ++m)
        if (strncmp(materials[m].name, prefix, strlen(prefix)) == 0)
            bench_closure(&materials[m], programs->defs[closure_find(materials[m].closure)]);
}

static int fail(const Error *err)
{
    fprintf(stderr, "bench_bsdf: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    Error err = {0};
    bool is_one = argc == 2 && argv[1][0] != '-';
    if (!is_one && bench_is_quick(argc, argv)) {
        call_count = 4 * VIEWS;
        round_count = 1;
    }
    bench_materials(is_one ? argv[1] : "");
    if (is_one)
        return 0;
    printf("\n%-16s %8.1f ns\n%-16s %8.1f ns\n", "sobol 2d", best_ns(run_sobol_2d, NULL),
           "sobol 1d", best_ns(run_sobol_1d, NULL));

    uint32_t random = 0;
    const EnvironmentTableDesc map = {
        .width = 2048, .height = 1024, .row = random_row, .data = &random};
    SkyBench sky;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        wide_set3(sky.facings.normal, k, f3(0.6f, 0.48f, 0.64f));
        sky.facings.sides[k] = SKY_ABOVE;
    }
    if (environment_table_create(&map, &sky.table, &err) != STATUS_OK)
        return fail(&err);
    printf("%-16s %8.1f ns   (sobol 2d and a 2048 x 1024 map)\n", "sky sample",
           best_ns(run_sky, &sky));
    printf("%-16s %8.1f ns\n", "sky density", best_ns(run_sky_pdf, &sky));
    environment_table_destroy(sky.table);

    for (uint32_t aovs = 0; aovs < 2; ++aovs) {
        FilmDesc desc = {.size_bytes = sizeof desc,
                         .width = 512,
                         .height = 512,
                         .aovs = aovs ? FILM_AOVS_ALL : 0};
        Film *film = NULL;
        if (film_create(&desc, &film, &err) != STATUS_OK)
            return fail(&err);
        printf("%-16s %8.1f ns   (%s)\n", "film commit", best_ns(run_film, film),
               aovs ? "all AOVs" : "RGBA alone");
        film_destroy(film);
    }
    return 0;
}
