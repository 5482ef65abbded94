/* What sampling, scattering and the film cost a call, on one core: nanoseconds, best of several runs. Views and
 * numbers vary from call to call, as in a render. */
#include "base/clock.h"
#include "sort/bsdf/bsdf.h"
#include "sort/film/film.h"
#include "sort/sampling/dist2d.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/bench/bench_options.h"

#include <stdio.h>
#include <stdlib.h>

#define VIEWS 256u

/* Set by main, once. */
static uint32_t call_count = 1u << 18, round_count = 5;

/* Keeps the compiler from dropping what nobody reads. */
static volatile float sink;

typedef struct Material {
    const char *name;
    ClosureId id;
    float args[CLOSURE_MAX_SCALARS];
} Material;

static const Material materials[] = {
    {"Lambert", CLOSURE_LAMBERT, {0.8f, 0.7f, 0.6f, 0, 0, 1}},
    {"OrenNayar", CLOSURE_OREN_NAYAR, {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Conductor 0.3", CLOSURE_CONDUCTOR, {0.9f, 0.7f, 0.4f, 0.3f, 0, 0, 1}},
    {"Conductor 0", CLOSURE_CONDUCTOR, {0.9f, 0.7f, 0.4f, 0, 0, 0, 1}},
    {"Metal 0.3",
     CLOSURE_METAL,
     {0.2f, 0.9f, 1.1f, 3.9f, 2.4f, 2.3f, 0.3f, 0.5f, 1, 0, 0, 0, 0, 1}},
    {"Dielectric 0.3", CLOSURE_DIELECTRIC, {1.5f, 0.3f, 1, 1, 1, 1, 1, 1, 0, 0, 1}},
    {"Dielectric 0", CLOSURE_DIELECTRIC, {1.5f, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1}},
    {"Glossy 0.3", CLOSURE_GLOSSY, {0.9f, 0.7f, 0.4f, 0.3f, 0, 1, 0, 0, 0, 0, 0, 0, 1}},
    {"Beckmann 0.3", CLOSURE_GLOSSY, {0.9f, 0.7f, 0.4f, 0.3f, 1, 0, 0, 0, 0, 0, 0, 0, 1}},
    {"Specular 0.3", CLOSURE_SPECULAR, {0.04f, 0.04f, 0.04f, 1.5f, 0.3f, 0, 0, 0, 0, 0, 0, 0, 1}},
    {"Refraction 0.3", CLOSURE_REFRACTION, {1, 1, 1, 1.5f, 0.3f, 0, 0, 0, 1}},
    {"ThinDielectric", CLOSURE_THIN_DIELECTRIC, {1.5f, 0.3f, 1, 1, 1, 1, 1, 1, 0, 0, 1}},
    {"Clearcoat 0.3", CLOSURE_CLEARCOAT, {0.3f, 0, 0, 1}},
    {"DisneyDiffuse", CLOSURE_DISNEY_DIFFUSE, {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Sheen 0.5", CLOSURE_SHEEN, {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Velvet 0.5", CLOSURE_VELVET, {0.8f, 0.7f, 0.6f, 0.5f, 0, 0, 1}},
    {"Hair 0.3", CLOSURE_HAIR, {0.3f, 0.6f, 1.2f, 0.3f, 0.3f, 0, 1.55f, 0.035f, 0.3f, 1, 0, 0}},
    {"Plastic 0.3", CLOSURE_PLASTIC, {0.8f, 0.7f, 0.6f, 0.04f, 0.04f, 0.04f, 0.3f, 0, 0, 1}},
};

static float3 view(uint32_t i)
{
    const Sampler sobol = {SAMPLER_SOBOL};
    return warp_hemisphere_cosine(sampler_2d(&sobol, sample_key(1, 1, i, 0), 0));
}

static void make(const Material *m, float3 wo, Bsdf *b)
{
    bsdf_init(b, wo, f3(0, 0, 1), 0);
    bsdf_add_closure(b, m->id, spectrum_splat(1.0f), m->args, 1);
}

typedef struct BsdfBench {
    const Material *material;
    float3 wo[VIEWS];
    Bsdf bsdfs[VIEWS];
    float2 u[VIEWS];
    float3 wi[VIEWS];
} BsdfBench;

static void run_make(void *data)
{
    BsdfBench *b = data;
    Bsdf bsdf;
    float sum = 0.0f;
    for (uint32_t i = 0; i < call_count; ++i) {
        make(b->material, b->wo[i % VIEWS], &bsdf);
        sum += bsdf.select_sum;
    }
    sink = sum;
}

static void run_eval(void *data)
{
    BsdfBench *b = data;
    float sum = 0.0f, pdf;
    for (uint32_t i = 0; i < call_count; ++i)
        sum += bsdf_eval(&b->bsdfs[i % VIEWS], b->wi[i % VIEWS], &pdf).c[0] + pdf;
    sink = sum;
}

static void run_sample(void *data)
{
    BsdfBench *b = data;
    float sum = 0.0f;
    BsdfSample s;
    for (uint32_t i = 0; i < call_count; ++i)
        if (bsdf_sample(&b->bsdfs[i % VIEWS], b->u[(i + 7) % VIEWS].x, b->u[i % VIEWS], &s))
            sum += s.pdf;
    sink = sum;
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

static void run_dist2d(void *data)
{
    const Sampler sobol = {SAMPLER_SOBOL};
    float sum = 0.0f, pdf;
    for (uint32_t i = 0; i < call_count; ++i)
        sum +=
            dist2d_sample(data, sampler_2d(&sobol, sample_key(i & 63, 5, i >> 6, 1), 0), &pdf).x +
            pdf;
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

static void bench_materials(void)
{
    static BsdfBench b;
    for (uint32_t i = 0; i < VIEWS; ++i) {
        const Sampler independent = {SAMPLER_INDEPENDENT};
        b.wo[i] = view(i);
        b.u[i] = sampler_2d(&independent, sample_key(1, 2, i, 0), 1);
        b.wi[i] = view(i * 31 + 7);
    }
    printf("%-16s %8s %8s %8s   ns a call\n", "closure", "make", "eval", "sample");
    for (uint32_t m = 0; m < SORT_COUNT_OF(materials); ++m) {
        b.material = &materials[m];
        for (uint32_t i = 0; i < VIEWS; ++i)
            make(b.material, b.wo[i], &b.bsdfs[i]);
        printf("%-16s %8.1f %8.1f %8.1f\n", materials[m].name, best_ns(run_make, &b),
               best_ns(run_eval, &b), best_ns(run_sample, &b));
    }
}

static int fail(const Error *err)
{
    fprintf(stderr, "bench_bsdf: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    Error err = {0};
    if (bench_is_quick(argc, argv)) {
        call_count = 4 * VIEWS;
        round_count = 1;
    }
    bench_materials();
    printf("\n%-16s %8.1f ns\n%-16s %8.1f ns\n", "sobol 2d", best_ns(run_sobol_2d, NULL),
           "sobol 1d", best_ns(run_sobol_1d, NULL));

    enum { W = 1024, H = 512 };
    float *weights = malloc(sizeof(float) * W * H);
    Dist2d *dist = NULL;
    if (!weights)
        return 1;
    for (uint32_t i = 0; i < W * H; ++i)
        weights[i] = (float)(hash_mix64(i) >> 40);
    if (dist2d_create(weights, W, H, &dist, &err) != STATUS_OK)
        return fail(&err);
    printf("%-16s %8.1f ns   (sobol 2d and a 1024 x 512 map)\n", "dist2d sample",
           best_ns(run_dist2d, dist));
    dist2d_destroy(dist);
    free(weights);

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
