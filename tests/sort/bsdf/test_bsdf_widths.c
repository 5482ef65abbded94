/* Closures as programs compute the same bits whether one point is run at a time, or eight, or sixteen, by the code of every
 * class of CPUs that this machine runs, and whatever other points are in the block. */
#include "base/hash.h"
#include "sort/bsdf/bsdf_wide.h"
#include "sort/bsdf/closure_programs.h"
#include "sort/bsdf/closure_sources.h"
#include "sort/sampling/warp.h"
#include "sort/shade/ssl_tables.h"
#include "sort/wide/wide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 50, ARG_ROWS_MAX = 32 };

static const uint32_t widths[] = {1, 8, 16};

typedef struct Result {
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

/* A way to run a closure: as it was compiled here for so many lanes, or as it was for a class of CPUs. */
typedef struct Way {
    const BsdfDef *def;
    const BsdfBlockCode *code;
    const char *name;
} Way;

/* Runs the points of `live`; what others would return is left zero. */
static void run(BsdfBlock *block, const Way *way, const Input *in, uint16_t live, Result *out)
{
    _Alignas(64) BsdfRow wi[3], u[3];
    memset(out, 0, sizeof *out);
    memcpy(wi, in->wi, sizeof wi);
    memcpy(u, in->u, sizeof u);
    block->view = in->view;
    block->code = way->code;
    bsdf_block_begin(block);
    assert_non_null(bsdf_block_add(block, way->def, in->args[0], in->weight[0], live));
    bsdf_block_eval(block, wi, live, out->f_cos, out->pdf);
    out->live = bsdf_block_sample(block, u, live, &out->drawn);
}

static bool is_same_row(const BsdfRow a, const BsdfRow b, uint32_t lane)
{
    return memcmp(&a[lane], &b[lane], sizeof(float)) == 0;
}

static bool is_same_lane(const Result *a, const Result *b, uint32_t i)
{
    const BsdfDrawn *d = &a->drawn, *e = &b->drawn;
    bool is_same = is_same_row(a->pdf, b->pdf, i) && (a->live >> i & 1) == (b->live >> i & 1);
    for (uint32_t c = 0; c < 3; ++c)
        is_same = is_same && is_same_row(a->f_cos[c], b->f_cos[c], i);
    if (!is_same || !(a->live >> i & 1))
        return is_same;
    for (uint32_t c = 0; c < 3; ++c)
        is_same = is_same && is_same_row(d->wi[c], e->wi[c], i) &&
                  is_same_row(d->weight[c], e->weight[c], i) && is_same_row(d->n[c], e->n[c], i);
    return is_same && is_same_row(d->pdf, e->pdf, i) && is_same_row(d->eta, e->eta, i) &&
           d->flags[i] == e->flags[i];
}

static void compare(const char *name, const char *what, const Result *a, const Result *b,
                    uint16_t lanes)
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        if (lanes >> i & 1 && !is_same_lane(a, b, i))
            fail_msg("%s: %s has other bits than one point at a time, in lane %u", name, what, i);
}

enum { WAYS_MAX = 8 };

static uint32_t find_ways(SslContext *ctx, const SslSource *source, BsdfBuild *builds[],
                          Way ways[WAYS_MAX])
{
    static const char *const width_names[] = {"width 1", "width 8", "width 16"};
    Error err = {0};
    SslBsdfInfo info;
    uint32_t count, way_count = 0;
    DiagList *diags = diag_list_create();
    assert_int_equal(ssl_source_bsdfs(ctx, source, diags, &info, 1, &count), STATUS_OK);
    for (size_t k = 0; k < SORT_COUNT_OF(widths); ++k) {
        assert_int_equal(bsdf_build(ctx, source, &info, widths[k], diags, &builds[k], &err),
                         STATUS_OK);
        ways[way_count++] = (Way){bsdf_build_def(builds[k]), bsdf_block_codes[0], width_names[k]};
    }
    for (uint32_t c = 0; c < WIDE_CLASSES && closure_programs[c].cpu; ++c) {
        const ClosurePrograms *class = &closure_programs[c];
        assert_string_equal(class->cpu, wide_classes[c]);
        if (!closure_programs_fit(class))
            continue;
        if (closure_find(info.name) == closure_count)
            continue; /* a user's: it is compiled for this machine alone */
        const BsdfDef *def = class->defs[closure_find(info.name)];
        assert_non_null(def);
        ways[way_count++] = (Way){def, bsdf_block_codes[c], class->cpu};
    }
    diag_list_destroy(diags);
    return way_count;
}

static void compare_ways(SslContext *ctx, const SslSource *source)
{
    BsdfBuild *builds[SORT_COUNT_OF(widths)];
    Way ways[WAYS_MAX];
    uint64_t state = 1;
    static Input in;
    static Result expected, got;
    uint32_t way_count = find_ways(ctx, source, builds, ways);
    Arena *arena = arena_create(0, 0);
    assert_non_null(arena);
    BsdfBlock *block =
        bsdf_block_create(arena, 1, ways[0].def->lobe_count, ways[0].def->state_rows);
    assert_non_null(block);
    assert_true(ways[0].def->arg_rows <= ARG_ROWS_MAX);
    for (uint32_t n = 0; n < BLOCKS; ++n) {
        uint16_t some = (uint16_t)hash_mix64(n + 5);
        random_input(&state, &in);
        run(block, &ways[0], &in, 0xffff, &expected);
        for (uint32_t k = 0; k < way_count; ++k) {
            run(block, &ways[k], &in, 0xffff, &got);
            compare(source->name, ways[k].name, &expected, &got, 0xffff);
            run(block, &ways[k], &in, some, &got);
            compare(source->name, ways[k].name, &expected, &got, some);
        }
    }
    for (size_t k = 0; k < SORT_COUNT_OF(widths); ++k)
        bsdf_build_destroy(builds[k]);
    arena_destroy(arena);
}

/* Closures of users: with loops that end at other rounds in each lane, tables, arrays, early returns and recursion, with and
 * without albedo and sample. */
static const char *const own_sources[] = {
    "bsdf OwnLoop(float x, float y, normal N)\n{\n    float n = 0;\n"
    "    for (int i = 0; i < int(20 * y); ++i) { if (n > 3 * x) break; n += 0.7; }\n"
    "    lobe glossy reflection transmission\n    {\n        reflected = color(n);\n"
    "        eval { for (int i = 0; i < int(n); ++i) f_cos += color(x, y, wi.z * wi.z) * 0.1; }\n"
    "    }\n}\n",
    "const float TABLE[40] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, "
    "20,\n"
    "    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40};\n"
    "float power(float x, int n) { return n <= 0 ? 1 : x * power(x, n - 1); }\n"
    "bsdf OwnTable(float x, color tint, normal N, vector T)\n{\n    float q[3];\n"
    "    for (int i = 0; i < 3; ++i) q[i] = TABLE[clamp(int(39 * x) + i, 0, 39)];\n"
    "    lobe diffuse reflection\n    {\n        albedo = tint;\n"
    "        eval { pdf = 0.2; if (wi.x > 0.3) return;\n"
    "               f_cos = tint * power(wi.z, int(q[clamp(int(3 * abs(wi.y)), 0, 2)]) & 7); }\n"
    "        sample { wi = bsdf_uniform_hemisphere(u.xy); }\n    }\n"
    "    lobe delta transmission\n    {\n        albedo = color(x);\n"
    "        sample { wi = vector(0, 0, -1); weight = color(q[1]); probability = 0.5; eta = 1.2; "
    "}\n"
    "    }\n}\n",
    "bsdf OwnFibre(float x, vector T)\n{\n    lobe glossy fibre reflection transmission "
    "seen_as_transmission\n"
    "    {\n        eval { f_cos = color(pow(abs(wi.x), 4 * abs(x))); }\n    }\n}\n",
};

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
        compare_ways(ctx, &source);
    }
    for (size_t i = 0; i < SORT_COUNT_OF(own_sources); ++i) {
        SslSource source = {.name = "own.ssl", .text = str_from(own_sources[i])};
        compare_ways(ctx, &source);
    }
    ssl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsdf_programs_have_the_same_bits_at_all_widths)};
    return cmocka_run_group_tests_name("sort.bsdf_widths", tests, NULL, NULL);
}
