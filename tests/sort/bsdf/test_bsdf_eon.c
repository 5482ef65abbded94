/* EON, a closure that exists as a program alone: a white surface returns all light, directions are drawn with the density
 * that it tells, roughness 0 is Lambert, and light may be turned round. */
#include "base/hash.h"
#include "sort/bsdf/bsdf_wide.h"
#include "sort/bsdf/closure_sources.h"
#include "sort/sampling/warp.h"
#include "sort/shade/ssl_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 1 << 15 };

static SslContext *ctx;
static BsdfBuild *build;
static Arena *arena;
static BsdfBlock *block;

/* albedo, roughness, N */
static _Alignas(64) float args[7][SSL_BLOCK];

static float random_unit(uint64_t *state)
{
    return (float)(hash_mix64((*state)++ + 99) >> 40) * 0x1p-24f;
}

/* Fills the block: lanes differ in roughness, from 0 to 1, and are seen from this direction. */
static void look(float3 wo)
{
    static const BsdfView empty;
    _Alignas(64) static float weight[3][SSL_BLOCK];
    block->view = empty;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        block->view.wo[0][i] = wo.x, block->view.wo[1][i] = wo.y, block->view.wo[2][i] = wo.z;
        block->view.Ng[2][i] = 1.0f;
        block->view.outside[i] = 1;
        for (uint32_t c = 0; c < 3; ++c)
            weight[c][i] = 1.0f;
        args[0][i] = 1.0f, args[1][i] = 0.5f, args[2][i] = 0.1f;
        args[3][i] = (float)i / (float)(SSL_BLOCK - 1);
        args[4][i] = args[5][i] = 0.0f, args[6][i] = 1.0f;
    }
    bsdf_block_begin(block);
    assert_non_null(bsdf_block_add(block, bsdf_build_def(build), args[0], weight[0], 0xffff));
    assert_int_equal(block->lobe_count, 1);
}

static const float *albedo_rows(void)
{
    const BsdfBlockLobe *lobe = &block->lobes[0];
    return lobe->term->state + (size_t)lobe->def->albedo * SSL_BLOCK;
}

typedef struct Mean {
    double sum, squares;
    uint32_t count;
} Mean;

static void add(Mean *m, double x)
{
    m->sum += x;
    m->squares += x * x;
    ++m->count;
}

/* The mean must lie within five of its standard deviations: by chance one test of a million would fail. */
static void assert_mean(const Mean *m, double expected)
{
    double mean = m->sum / m->count;
    double variance = fmax(m->squares / m->count - mean * mean, 0.0) / m->count;
    if (!(fabs(mean - expected) <= 5.0 * sqrt(variance) + 2e-5))
        fail_msg("the mean is %.6f +- %.6f and not %.6f", mean, sqrt(variance), expected);
}

/* By drawn directions and by uniform ones the light that comes back is what the lobe tells as its albedo, and all light from
 * a white surface. */
static void test_eon_returns_its_albedo(void **state)
{
    (void)state;
    uint64_t seed = 1;
    static const float cosines[] = {0.02f, 0.2f, 0.5f, 0.9f, 1.0f};
    for (size_t n = 0; n < SORT_COUNT_OF(cosines); ++n) {
        float sine = sqrtf(1.0f - cosines[n] * cosines[n]);
        static Mean drawn[3][SSL_BLOCK], uniform[3][SSL_BLOCK], density[SSL_BLOCK];
        memset(drawn, 0, sizeof drawn);
        memset(uniform, 0, sizeof uniform);
        memset(density, 0, sizeof density);
        look(f3(0.6f * sine, -0.8f * sine, cosines[n]));
        for (uint32_t k = 0; k < DRAWS; ++k) {
            _Alignas(64) BsdfRow u[3], wi[3], f_cos[3], pdf;
            static BsdfDrawn out;
            float x = random_unit(&seed), y = random_unit(&seed), z = random_unit(&seed);
            float3 w = warp_cone(f2(x, y), 1.0f);
            for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
                u[0][i] = x, u[1][i] = y, u[2][i] = z;
                wi[0][i] = w.x, wi[1][i] = w.y, wi[2][i] = w.z;
            }
            assert_int_equal(bsdf_block_sample(block, u, 0xffff, &out), 0xffff);
            bsdf_block_eval(block, wi, 0xffff, f_cos, pdf);
            for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
                add(&density[i], 2.0 * (double)SORT_PI * (double)pdf[i]);
                for (uint32_t c = 0; c < 3; ++c) {
                    add(&drawn[c][i], (double)out.weight[c][i]);
                    add(&uniform[c][i], 2.0 * (double)SORT_PI * (double)f_cos[c][i]);
                }
            }
        }
        for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
            assert_mean(&density[i], 1.0);
            assert_mean(&drawn[0][i], 1.0);
            for (uint32_t c = 0; c < 3; ++c) {
                double told = (double)albedo_rows()[c * SSL_BLOCK + i];
                assert_mean(&drawn[c][i], told);
                assert_mean(&uniform[c][i], told);
            }
        }
    }
}

/* f from wi to wo, of all lanes and one channel. */
static void value(float3 wo, float3 w, uint32_t c, float out[SSL_BLOCK])
{
    _Alignas(64) BsdfRow wi[3], f_cos[3], pdf;
    look(wo);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        wi[0][i] = w.x, wi[1][i] = w.y, wi[2][i] = w.z;
    bsdf_block_eval(block, wi, 0xffff, f_cos, pdf);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        out[i] = f_cos[c][i] / w.z;
}

static void test_eon_is_reciprocal_and_lambert_when_smooth(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (uint32_t k = 0; k < 300; ++k) {
        float there[SSL_BLOCK], back[SSL_BLOCK];
        float x = random_unit(&seed), y = random_unit(&seed);
        float z = random_unit(&seed), t = random_unit(&seed);
        float3 a = warp_cone(f2(x, y), 0.99f), b = warp_cone(f2(z, t), 0.99f);
        value(a, b, 1, there);
        value(b, a, 1, back);
        assert_float_equal(there[0], 0.5f * SORT_INV_PI, 1e-6f);
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            assert_float_equal(there[i], back[i], 2e-5f);
    }
}

static Status find_and_build(DiagList *diags, Error *err)
{
    for (uint32_t i = 0; closure_sources[i].name; ++i) {
        SslBsdfInfo info;
        uint32_t count;
        SslSource source = {.name = closure_sources[i].name,
                            .text = {closure_sources[i].text, closure_sources[i].size_bytes}};
        TRY(ssl_source_bsdfs(ctx, &source, diags, &info, 1, &count));
        if (strcmp(info.name, "EON") == 0)
            return bsdf_build(ctx, &source, &info, 0, diags, &build, err);
    }
    return STATUS_INVALID;
}

static int set_up(void **state)
{
    (void)state;
    Error err = {0};
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    if (ssl_context_create(&desc, &ctx, &err) != STATUS_OK)
        return -1;
    DiagList *diags = diag_list_create();
    Status status = find_and_build(diags, &err);
    diag_list_destroy(diags);
    arena = arena_create(0, 0);
    const BsdfDef *def = status == STATUS_OK ? bsdf_build_def(build) : NULL;
    block = def && arena ? bsdf_block_create(arena, 1, def->lobe_count, def->state_rows) : NULL;
    return block ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_destroy(arena);
    bsdf_build_destroy(build);
    ssl_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eon_returns_its_albedo),
        cmocka_unit_test(test_eon_is_reciprocal_and_lambert_when_smooth),
    };
    return cmocka_run_group_tests_name("sort.bsdf_eon", tests, set_up, tear_down);
}
