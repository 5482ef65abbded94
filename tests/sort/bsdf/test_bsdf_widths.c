/* Closures as programs compute the same bits whether one point is run at a time, or eight, or sixteen. */
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

enum { BLOCKS = 50, ARG_ROWS_MAX = 32 };

static const uint32_t widths[] = {1, 8, 16};

typedef struct Result {
    BsdfBlock block;
    BsdfDrawn drawn;
    _Alignas(64) BsdfRow f_cos[3], pdf;
    uint16_t live;
} Result;

typedef struct Input {
    _Alignas(64) BsdfRow args[ARG_ROWS_MAX], weight[3], wi[3], u[3];
    BsdfView view;
} Input;

static float random_unit(uint64_t *state)
{
    return (float)(hash_mix64((*state)++) >> 40) * 0x1p-24f;
}

static void random_directions(uint64_t *state, BsdfRow out[3])
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float x = random_unit(state), y = random_unit(state);
        float3 w = warp_sphere(f2(x, y));
        out[0][i] = w.x, out[1][i] = w.y, out[2][i] = w.z;
    }
}

/* Arguments of all types are numbers of [-0.1, 1.1]: normals and vectors lie on any side then too. */
static void random_input(uint64_t *state, Input *in)
{
    random_directions(state, in->view.wo);
    random_directions(state, in->view.Ng);
    random_directions(state, in->wi);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float side = 0.0f;
        for (uint32_t c = 0; c < 3; ++c) {
            side += in->view.wo[c][i] * in->view.Ng[c][i];
            in->weight[c][i] = 0.2f + random_unit(state);
            in->u[c][i] = random_unit(state);
            in->view.unbent[c][i] = 0.0f;
        }
        for (uint32_t c = 0; c < 3 && side < 0.0f; ++c)
            in->view.Ng[c][i] = -in->view.Ng[c][i];
        in->view.blur[i] = random_unit(state) < 0.7f ? 0.0f : 0.3f;
        in->view.outside[i] = random_unit(state) < 0.5f;
        in->view.options[i] = (int32_t)(random_unit(state) * 8.0f);
        for (uint32_t r = 0; r < ARG_ROWS_MAX; ++r)
            in->args[r][i] = 1.2f * random_unit(state) - 0.1f;
    }
}

static void run(const BsdfDef *def, const Input *in, Result *out)
{
    _Alignas(64) BsdfRow wi[3], u[3];
    memset(out, 0, sizeof *out);
    memcpy(wi, in->wi, sizeof wi);
    memcpy(u, in->u, sizeof u);
    out->block.view = in->view;
    bsdf_block_begin(&out->block);
    assert_non_null(bsdf_block_add(&out->block, def, in->args[0], in->weight[0], 0xffff));
    bsdf_block_eval(&out->block, wi, 0xffff, out->f_cos, out->pdf);
    out->live = bsdf_block_sample(&out->block, u, 0xffff, &out->drawn);
}

static void compare(const char *name, uint32_t width, const Result *a, const Result *b)
{
    bool is_same = a->live == b->live && memcmp(a->f_cos, b->f_cos, sizeof a->f_cos) == 0 &&
                   memcmp(a->pdf, b->pdf, sizeof a->pdf) == 0 &&
                   memcmp(&a->drawn, &b->drawn, sizeof a->drawn) == 0 &&
                   memcmp(a->block.state, b->block.state, sizeof a->block.state) == 0;
    if (!is_same)
        fail_msg("%s at width %u has other bits than at width %u", name, width, widths[0]);
}

static void compare_widths(SslContext *ctx, const SslSource *source)
{
    Error err = {0};
    BsdfBuild *builds[SORT_COUNT_OF(widths)];
    Result *results[SORT_COUNT_OF(widths)];
    SslBsdfInfo info;
    uint32_t count;
    uint64_t state = 1;
    static Input in;
    DiagList *diags = diag_list_create();
    assert_int_equal(ssl_source_bsdfs(ctx, source, diags, &info, 1, &count), STATUS_OK);
    for (size_t k = 0; k < SORT_COUNT_OF(widths); ++k) {
        assert_int_equal(bsdf_build(ctx, source, &info, widths[k], diags, &builds[k], &err),
                         STATUS_OK);
        results[k] = aligned_alloc(64, sizeof *results[k]);
        assert_non_null(results[k]);
    }
    assert_true(bsdf_build_def(builds[0])->arg_rows <= ARG_ROWS_MAX);
    for (uint32_t n = 0; n < BLOCKS; ++n) {
        random_input(&state, &in);
        for (size_t k = 0; k < SORT_COUNT_OF(widths); ++k) {
            run(bsdf_build_def(builds[k]), &in, results[k]);
            compare(info.name, widths[k], results[0], results[k]);
        }
    }
    for (size_t k = 0; k < SORT_COUNT_OF(widths); ++k) {
        bsdf_build_destroy(builds[k]);
        free(results[k]);
    }
    diag_list_destroy(diags);
}

static void test_bsdf_programs_have_the_same_bits_at_all_widths(void **state)
{
    (void)state;
    Error err = {0};
    SslContext *ctx;
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    assert_int_equal(ssl_context_create(&desc, &ctx, &err), STATUS_OK);
    for (uint32_t i = 0; closure_sources[i].name; ++i) {
        SslSource source = {.name = closure_sources[i].name,
                            .text = {closure_sources[i].text, closure_sources[i].size_bytes}};
        compare_widths(ctx, &source);
    }
    ssl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsdf_programs_have_the_same_bits_at_all_widths)};
    return cmocka_run_group_tests_name("sort.bsdf_widths", tests, NULL, NULL);
}
