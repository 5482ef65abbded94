/* The lobe set: reciprocity, shading normals, deltas, what is refused, and that nothing ever is not finite. */
#include "sort/bsdf/closure_programs.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/sort/bsdf/bsdf_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static float random_unit(uint32_t *state)
{
    return (float)(hash_mix64((*state)++ + 77777) >> 40) * 0x1p-24f;
}

static float3 random_direction(uint32_t *state)
{
    float x = random_unit(state), y = random_unit(state);
    return warp_sphere(f2(x, y));
}

static bool is_near(float a, float b, float relative)
{
    return fabsf(a - b) <= relative * fmaxf(fabsf(a), fabsf(b)) + 1e-7f;
}

/* --- the table --------------------------------------------------------------------------------- */

static void test_bsdf_closure_table(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < closure_count; ++i) {
        const SslClosureRow *row = &closure_rows[i];
        const BsdfDef *def = closure_programs_here()->defs[i];
        uint32_t scalars = 0;
        for (uint32_t a = 0; a < row->arg_count; ++a)
            scalars += row->args[a].type == SSL_CLOSURE ? 0
                       : row->args[a].type == SSL_FLOAT ? 1
                                                        : 3;
        assert_int_equal(scalars, closure_scalars(row));
        assert_int_equal(closure_find(row->name), i);
        assert_true(strlen(row->doc) > 20);
        assert_true(closure_is_layer(row) == one_is_layer(row->name));
        assert_int_equal(row->flags, strcmp(row->name, "Emission") == 0 ? SSL_CLOSURE_EMISSION
                                     : strcmp(row->name, "Transparent") == 0
                                         ? SSL_CLOSURE_TRANSPARENT
                                         : 0);
        assert_true((def == NULL) == (i < CLOSURE_SUMS));
        if (def) {
            assert_string_equal(def->name, row->name);
            assert_int_equal(def->arg_rows, scalars);
        }
    }
    const SslClosureRow *lambert = &closure_rows[closure_find("Lambert")];
    assert_int_equal(lambert->arg_count, 2);
    assert_string_equal(lambert->args[0].name, "albedo");
    assert_int_equal(lambert->args[0].type, SSL_COLOR);
    assert_int_equal(lambert->args[1].type, SSL_NORMAL);
    assert_string_equal(lambert->doc, "Ideal diffuse reflection. albedo in [0, 1].");
    assert_string_equal(lambert->citation, "Lambert1760");
    assert_int_equal(closure_find("lambert"), closure_count);
}

/* --- gloss ------------------------------------------------------------------------------------- */

/* What is told of a blurred reflection is what its closure draws: seen along the normal, the density at the mirror direction is
 * 1 / (4 pi alpha^2), times the chance of the lobe. */
static void test_bsdf_gloss_is_what_is_drawn(void **state)
{
    (void)state;
    static const struct GlossCase {
        const char *closure;
        float args[CLOSURE_MAX_SCALARS];
        float alpha; /* 0: there is no gloss */
        bool is_alone;
    } cases[] = {
        {"Conductor", {0.9f, 0.8f, 0.7f, 0.3f, 0, 0, 1}, 0.09f, true},
        {"Glossy", {1, 1, 1, 0.4f, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 0.16f, true},
        {"Plastic", {0.5f, 0.5f, 0.5f, 0.04f, 0.04f, 0.04f, 0.5f, 0, 0, 1}, 0.25f, false},
        {"Conductor", {0.9f, 0.8f, 0.7f, 0.0f, 0, 0, 1}, 0.0f, false},
        {"Lambert", {0.5f, 0.5f, 0.5f, 0, 0, 1}, 0.0f, false},
        {"OrenNayar", {0.5f, 0.5f, 0.5f, 0.5f, 0, 0, 1}, 0.0f, false},
        {"Dielectric", {1.5f, 0.3f, 1, 1, 1, 1, 1, 1, 0, 0, 1}, 0.0f, false},
    };
    const float pi = 3.14159265f;
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        const struct GlossCase *c = &cases[i];
        OnePoint p;
        BsdfGloss gloss;
        float3 up = f3(0, 0, 1);
        one_init(&p, up, up, 0);
        one_add_closure(&p, c->closure, spectrum_splat(0.8f), c->args, 1);
        BsdfPoint point = one_point(&p);
        bool is_found = bsdf_block_gloss(point.block, &gloss) >> point.lane & 1;
        assert_true(is_found == (c->alpha > 0.0f));
        if (!is_found)
            continue;
        float share = gloss.share[point.lane], alpha = gloss.alpha[point.lane];
        if (!is_near(alpha, c->alpha, 1e-5f) || !(share > 0.0f && share <= 1.0f))
            fail_msg("%s: alpha %g, share %g", c->closure, (double)alpha, (double)share);
        assert_true((share == 1.0f) == c->is_alone);
        assert_true(f3_length(f3_sub(wide_get3(gloss.mirror, point.lane), up)) < 1e-5f);
        float expected = share / (4.0f * pi * alpha * alpha) + (1.0f - share) / pi;
        assert_true(is_near(one_pdf(&p, up), expected, 0.01f));
        /* From aside, it is where a mirror shows the viewer. */
        float3 aside = f3_normalize(f3(0.3f, -0.5f, 0.6f));
        one_init(&p, aside, up, 0);
        one_add_closure(&p, c->closure, spectrum_splat(0.8f), c->args, 1);
        point = one_point(&p);
        assert_true(bsdf_block_gloss(point.block, &gloss) >> point.lane & 1);
        float3 mirror = f3(-aside.x, -aside.y, aside.z);
        assert_true(f3_length(f3_sub(wide_get3(gloss.mirror, point.lane), mirror)) < 1e-5f);
        one_blur(&p, 0.5f);
        point = one_point(&p);
        assert_true(bsdf_block_gloss(point.block, &gloss) >> point.lane & 1);
        assert_true(gloss.alpha[point.lane] == 0.5f);
    }
}

/* --- physics ----------------------------------------------------------------------------------- */

/* f(wo, wi) without the cosine of the first lobe. */
static Spectrum f_of(const BsdfCase *c, float3 wo, float3 wi, uint32_t flags)
{
    OnePoint b;
    bsdf_case_make(c, wo, f3(0, 0, 1), flags, &b);
    return spectrum_scale(one_eval(&b, wi, NULL), 1.0f / fabsf(wi.z));
}

/* Cartoons are not physics; layers dim what they cover by where one looks from; hair knows where the view ray hit
 * the fibre; fits of a lobe are made for each direction of the viewer; from inside a film is thinner. */
static bool is_one_way(const BsdfCase *c)
{
    static const char *const one_way[] = {"ToonDiffuse",    "ToonGlossy",       "Hair",
                                          "HairReflection", "HairTransmission", "MicrofacetHair",
                                          "Microfiber"};
    const char *first = c->closures[0].name;
    for (size_t i = 0; i < SORT_COUNT_OF(one_way); ++i)
        if (strcmp(first, one_way[i]) == 0)
            return true;
    if (strcmp(first, "FilmDielectric") == 0 && c->closures[0].args[13] > 0.0f)
        return true;
    return one_is_layer(first) && c->closure_count > 1;
}

/* Exchanging light and eye changes nothing; across an interface, but for the square of the index: f / n_o^2
 * [Veach1997 eq. 5.14]. */
static void test_bsdf_is_reciprocal(void **state)
{
    (void)state;
    uint32_t random = 0, compared = 0;
    for (uint32_t i = 0; i < bsdf_case_count; ++i) {
        const BsdfCase *c = &bsdf_cases[i];
        uint32_t flags = c->is_reciprocal ? 0 : BSDF_SINGLE_SCATTER;
        if (strcmp(c->name, "tilted") == 0 || is_one_way(c))
            continue; /* shading normals are not reciprocal */
        for (uint32_t k = 0; k < 300; ++k) {
            float3 wo = random_direction(&random), wi = random_direction(&random);
            if (k < 50) { /* where narrow lobes are */
                OnePoint b;
                BsdfSample s;
                bsdf_case_make(c, wo, f3(0, 0, 1), flags, &b);
                float u = random_unit(&random), v = random_unit(&random);
                if (!one_sample(&b, random_unit(&random), f2(u, v), &s) ||
                    (s.flags & SSL_LOBE_DELTA))
                    continue;
                wi = s.wi;
            }
            if (fabsf(wo.z) < 0.01f || fabsf(wi.z) < 0.01f)
                continue;
            float scale = 1.0f;
            if (wo.z * wi.z < 0.0f && c->ior != 0.0f)
                scale = wo.z > 0.0f ? c->ior * c->ior : 1.0f / (c->ior * c->ior);
            if (strcmp(c->name, "everything") == 0 && wo.z * wi.z < 0.0f)
                continue; /* Translucent knows of no index */
            Spectrum there = f_of(c, wo, wi, flags), back = f_of(c, wi, wo, flags);
            SPECTRUM_EACH(n)
            {
                if (!is_near(there.c[n] * scale, back.c[n], 2e-2f))
                    print_message("%s: %g %g\n", c->name, (double)(there.c[n] * scale),
                                  (double)back.c[n]);
                assert_true(is_near(there.c[n] * scale, back.c[n], 2e-2f));
            }
            compared += there.c[0] > 0.0f;
        }
    }
    assert_true(compared > 2000);
}

/* Light tracing sees the adjoint: f*(o, i) = f(i, o). */
static void test_bsdf_importance_is_the_adjoint(void **state)
{
    (void)state;
    uint32_t random = 0, compared = 0;
    for (uint32_t i = 0; i < bsdf_case_count; ++i) {
        const BsdfCase *c = &bsdf_cases[i];
        if (c->closure_count > 1 || is_one_way(c))
            continue;
        for (uint32_t k = 0; k < 200; ++k) {
            float3 wo = random_direction(&random), wi = random_direction(&random);
            if (fabsf(wo.z) < 0.05f || fabsf(wi.z) < 0.05f)
                continue;
            Spectrum adjoint = f_of(c, wo, wi, BSDF_SINGLE_SCATTER | BSDF_IMPORTANCE);
            Spectrum swapped = f_of(c, wi, wo, BSDF_SINGLE_SCATTER);
            SPECTRUM_EACH(n)
            {
                if (!is_near(adjoint.c[n], swapped.c[n], 2e-2f))
                    print_message("%s: %g %g\n", c->name, (double)adjoint.c[n],
                                  (double)swapped.c[n]);
                assert_true(is_near(adjoint.c[n], swapped.c[n], 2e-2f));
            }
            compared += adjoint.c[0] > 0.0f;
        }
    }
    assert_true(compared > 1000);
}

static void test_bsdf_lambert_is_albedo_over_pi(void **state)
{
    (void)state;
    float args[] = {0.8f, 0.5f, 0.25f, 0, 0, 2.5f};
    OnePoint b;
    one_init(&b, f3(0.6f, 0, 0.8f), f3(0, 0, 1), 0);
    one_add_closure(&b, "Lambert", spectrum_splat(0.5f), args, 1);
    float pdf;
    Spectrum f = one_eval(&b, f3(0, 0.6f, 0.8f), &pdf);
    assert_true(is_near(f.c[0], 0.4f * 0.8f / SORT_PI, 1e-6f));
    assert_true(is_near(f.c[2], 0.125f * 0.8f / SORT_PI, 1e-6f));
    assert_true(is_near(pdf, 0.8f / SORT_PI, 1e-6f));
    assert_true(is_near(bsdf_point_albedo(one_point(&b)).c[1], 0.25f, 1e-6f));
    assert_true(bsdf_point_normal(one_point(&b)).z == 1.0f);
    assert_int_equal(one_flags(&b), SSL_LOBE_REFLECTION | SSL_LOBE_DIFFUSE);
    assert_int_equal(bsdf_block_smooth(one_point(&b).block) & 1, 1);
}

static void test_bsdf_mirror_and_window(void **state)
{
    (void)state;
    float mirror[] = {0.9f, 0.8f, 0.7f, 0.02f, 0, 0, 1};
    float3 wo = f3(0.48f, 0.36f, 0.8f);
    OnePoint b;
    BsdfSample s;
    one_init(&b, wo, f3(0, 0, 1), 0);
    one_add_closure(&b, "Conductor", spectrum_splat(1.0f), mirror, 1);
    assert_int_equal(bsdf_block_smooth(one_point(&b).block) & 1, 0);
    assert_true(one_sample(&b, 0.3f, f2(0.1f, 0.9f), &s));
    assert_int_equal(s.flags, SSL_LOBE_REFLECTION | SSL_LOBE_DELTA);
    assert_true(f3_length(f3_sub(s.wi, f3(-0.48f, -0.36f, 0.8f))) < 1e-6f && s.pdf == 1.0f);
    assert_true(is_near(s.weight.c[2], 0.7f + 0.3f * powf(0.2f, 5.0f), 1e-5f));
    assert_true(one_pdf(&b, s.wi) == 0.0f && spectrum_is_black(one_eval(&b, s.wi, NULL)));

    float window[] = {1.5f, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1};
    for (int side = 0; side < 2; ++side) {
        float3 from = side ? f3(wo.x, wo.y, -wo.z) : wo;
        one_init(&b, from, f3(0, 0, 1), 0);
        one_add_closure(&b, "Dielectric", spectrum_splat(1.0f), window, 1);
        uint32_t reflected = 0;
        float chance = 0.0f;
        for (uint32_t i = 0; i < 1000; ++i) {
            assert_true(one_sample(&b, ((float)i + 0.5f) / 1000.0f, f2(0, 0), &s));
            if (s.flags & SSL_LOBE_REFLECTION) {
                ++reflected;
                chance = s.pdf;
                assert_true(s.eta == 1.0f && is_near(s.weight.c[0], 1.0f, 1e-6f));
                continue;
            }
            /* Snell, and radiance that shrinks by eta^2 on the way out. */
            float eta = side ? 1.0f / 1.5f : 1.5f;
            assert_true(s.eta == eta && s.wi.z * from.z < 0.0f);
            assert_true(is_near(s.wi.x * eta, -from.x, 1e-5f) &&
                        is_near(s.wi.y * eta, -from.y, 1e-5f));
            assert_true(is_near(s.weight.c[0], 1.0f / (eta * eta), 1e-5f));
        }
        assert_true(fabsf((float)reflected / 1000.0f - chance) < 2e-3f);
    }
    /* Total reflection from inside. */
    one_init(&b, f3(0.8f, 0, -0.6f), f3(0, 0, 1), 0);
    one_add_closure(&b, "Dielectric", spectrum_splat(1.0f), window, 1);
    assert_true(one_sample(&b, 0.999f, f2(0, 0), &s) && (s.flags & SSL_LOBE_REFLECTION) &&
                s.pdf == 1.0f);
}

static void test_bsdf_emission_and_transparency_add_up(void **state)
{
    (void)state;
    float red[] = {3, 0, 0}, half[] = {0.5f, 0.25f, 0};
    float white[] = {1, 1, 1, 0, 0, 1};
    float3 wo = f3(0.6f, 0, -0.8f);
    OnePoint b;
    BsdfSample s;
    one_init(&b, wo, f3(0, 0, 1), 0);
    one_add_closure(&b, "Emission", spectrum_splat(2.0f), red, 1);
    one_add_closure(&b, "Emission", spectrum_splat(1.0f), red, 1);
    assert_true(bsdf_point_emission(one_point(&b)).c[0] == 9.0f && one_lobe_count(&b) == 0);
    assert_false(one_sample(&b, 0.5f, f2(0.5f, 0.5f), &s));
    one_add_closure(&b, "Transparent", spectrum_splat(0.5f), half, 1);
    one_add_closure(&b, "Transparent", spectrum_splat(0.25f), half, 1);
    assert_true(bsdf_point_transparency(one_point(&b)).c[0] == 0.375f &&
                bsdf_point_transparency(one_point(&b)).c[2] == 0.0f);
    one_add_closure(&b, "Lambert", spectrum_splat(0.5f), white, 1);
    Spectrum straight = spectrum_splat(0.0f);
    for (uint32_t i = 0; i < 4096; ++i)
        if (one_sample(&b, 0.2f, f2(((float)i + 0.5f) / 4096.0f, 0.7f), &s) &&
            (s.flags & SSL_LOBE_TRANSPARENT)) {
            assert_true(s.wi.x == -wo.x && s.wi.y == -wo.y && s.wi.z == -wo.z && s.eta == 1.0f);
            assert_int_equal(s.flags,
                             SSL_LOBE_TRANSPARENT | SSL_LOBE_TRANSMISSION | SSL_LOBE_DELTA);
            straight = spectrum_madd(straight, 1.0f / 4096.0f, s.weight);
        }
    assert_true(is_near(straight.c[0], 0.375f, 2e-3f) && is_near(straight.c[1], 0.1875f, 2e-3f));
    assert_true(is_near(bsdf_point_albedo(one_point(&b)).c[1], 0.5f, 1e-6f));
}

/* A closure subtracted from itself is gone. */
static void test_bsdf_weights_may_be_negative(void **state)
{
    (void)state;
    float white[] = {1, 1, 1, 0, 0, 1};
    OnePoint b;
    one_init(&b, f3(0, 0, 1), f3(0, 0, 1), 0);
    one_add_closure(&b, "Lambert", spectrum_splat(1.0f), white, 1);
    one_add_closure(&b, "Lambert", spectrum_splat(-1.0f), white, 1);
    float pdf;
    Spectrum f = one_eval(&b, f3(0.6f, 0, 0.8f), &pdf);
    assert_true(spectrum_is_black(f) && is_near(pdf, 0.8f / SORT_PI, 1e-5f));
}

/* --- shading normals ----------------------------------------------------------------------------- */

static void test_bsdf_normals_face_the_viewer(void **state)
{
    (void)state;
    float args[] = {0.7f, 0.7f, 0.7f, 0.3f, 0, 0, 1};
    float3 wo = f3_normalize(f3(0.3f, 0.2f, 0.9f)), wi = f3_normalize(f3(-0.5f, 0.1f, 0.7f));
    float expected = 0.0f;
    for (int flip = 0; flip < 4; ++flip) {
        args[6] =
            flip & 1 ? -1.0f : 1.0f; /* a normal the other way round, and the back of the face */
        OnePoint b;
        one_init(&b, wo, f3(0, 0, flip & 2 ? -1.0f : 1.0f), 0);
        one_add_closure(&b, "Conductor", spectrum_splat(1.0f), args, 1);
        float f = one_eval(&b, wi, NULL).c[0];
        expected = flip == 0 ? f : expected;
        assert_true(f > 0.0f && f == expected);
        assert_true(bsdf_point_normal(one_point(&b)).z > 0.99f);
    }
    args[6] = 0.0f; /* no normal: the geometric one */
    OnePoint b;
    one_init(&b, wo, f3(0, 0, 1), 0);
    one_add_closure(&b, "Conductor", spectrum_splat(1.0f), args, 1);
    assert_true(one_eval(&b, wi, NULL).c[0] == expected);
}

/* Whatever the normals: reflection stays on its side of the geometric surface, transmission goes to the other,
 * eval and sample agree, and a mirror always has somewhere to send its light. */
static void test_bsdf_light_does_not_leak(void **state)
{
    (void)state;
    uint32_t random = 5, drawn = 0;
    for (uint32_t i = 0; i < 20000; ++i) {
        float3 wo = random_direction(&random), N = random_direction(&random);
        float roughness = random_unit(&random);
        float lambert[] = {1, 1, 1, N.x, N.y, N.z};
        float metal[] = {1, 1, 1, i % 3 == 0 ? 0.0f : roughness, N.x, N.y, N.z};
        float glass[] = {1.5f, roughness, 1, 1, 1, 1, 1, 1, N.x, N.y, N.z};
        OnePoint b;
        one_init(&b, wo, f3(0, 0, 1), 0);
        if (i % 4 == 1)
            one_add_closure(&b, "Lambert", spectrum_splat(1.0f), lambert, 1);
        else if (i % 4 == 2)
            one_add_closure(&b, "Dielectric", spectrum_splat(1.0f), glass, 1);
        else
            one_add_closure(&b, "Conductor", spectrum_splat(1.0f), metal, 1);
        float3 wi = random_direction(&random);
        Spectrum f = one_eval(&b, wi, NULL);
        assert_true(spectrum_is_finite(f) && f.c[0] >= 0.0f);
        if (i % 4 != 2 && wi.z * wo.z < 0.0f)
            assert_true(spectrum_is_black(f) && one_pdf(&b, wi) == 0.0f);
        BsdfSample s;
        float x = random_unit(&random), y = random_unit(&random);
        bool is_mirror = one_lobe_count(&b) == 1 &&
                         one_lobe_flags(&b, 0) == (SSL_LOBE_REFLECTION | SSL_LOBE_DELTA);
        if (!one_sample(&b, random_unit(&random), f2(x, y), &s)) {
            assert_false(is_mirror);
            continue;
        }
        ++drawn;
        assert_true(!(s.flags & SSL_LOBE_REFLECTION) != !(s.flags & SSL_LOBE_TRANSMISSION));
        assert_true((s.wi.z * wo.z > 0.0f) == ((s.flags & SSL_LOBE_REFLECTION) != 0));
        assert_true(fabsf(f3_length(s.wi) - 1.0f) < 1e-4f);
        assert_true(f3_dot(s.n, wo) > 0.0f || i % 4 == 1);
    }
    assert_true(drawn > 10000);
}

/* --- robustness ---------------------------------------------------------------------------------- */

static void test_bsdf_notes_what_it_leaves_out(void **state)
{
    (void)state;
    float white[] = {1, 1, 1, 0, 0, 1}, bad[] = {1, NAN, 1, 0, 0, 1};
    OnePoint b;
    one_init(&b, f3(0, 0, 1), f3(0, 0, 1), 0);
    one_add_closure(&b, "Lambert", spectrum_splat(1.0f), bad, 1);
    assert_int_equal(one_faults(&b), BSDF_FAULT_NOT_FINITE);
    one_add_closure(&b, "Lambert", spectrum_splat(INFINITY), white, 1);
    assert_int_equal(one_lobe_count(&b), 0);
    one_init(&b, f3(0, 0, 1), f3(0, 0, 1), 0);
    one_add_closure(&b, "Lambert", spectrum_splat(0.0f), white, 1);
    assert_true(one_lobe_count(&b) == 0 && one_faults(&b) == 0);
}

/* A block without room for another term says so, and keeps what it has. */
static void test_bsdf_blocks_have_room(void **state)
{
    (void)state;
    const BsdfDef *lambert = closure_programs_here()->defs[closure_find("Lambert")];
    alignas(64) BsdfRow args[6], weight[3];
    Arena *arena = arena_create(0, 0);
    assert_non_null(arena);
    BsdfBlock *b = bsdf_block_create(arena, 2, 2, 2 * lambert->state_rows);
    assert_non_null(b);
    memset(&b->view, 0, sizeof b->view);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        b->view.wo[2][i] = b->view.Ng[2][i] = 1.0f;
        for (uint32_t r = 0; r < 6; ++r)
            args[r][i] = r == 3 || r == 4 ? 0.0f : 1.0f;
        weight[0][i] = weight[1][i] = weight[2][i] = i == 5 ? 0.0f : 0.4f;
    }
    bsdf_block_begin(b);
    for (uint32_t n = 0; n < 2; ++n)
        assert_non_null(bsdf_block_add(b, lambert, args[0], weight[0], 0x7fff));
    assert_null(bsdf_block_add(b, lambert, args[0], weight[0], 0x7fff));
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        bool is_there = i != 5 && i != 15; /* black, and not among the points */
        assert_int_equal(b->counts[i], is_there ? 2 : 0);
        assert_int_equal(b->faults[i], is_there ? BSDF_FAULT_FULL : 0);
    }
    arena_destroy(arena);
}

/* The part of T across the normal is small beside T, and the frame is orthonormal all the same. */
static void test_bsdf_tangents_near_the_normal(void **state)
{
    (void)state;
    uint32_t random = 4;
    for (uint32_t i = 0; i < 1000; ++i) {
        float3 N = random_direction(&random), T = f3_madd(random_direction(&random), 3e5f, N);
        float3 wo = f3_normalize(f3_madd(random_direction(&random), 1.5f, N));
        const float args[] = {1, 1, 1, 0.6f, 0, 0, 0.9f, T.x, T.y, T.z, N.x, N.y, N.z};
        OnePoint b;
        BsdfSample s;
        one_init(&b, wo, N, 0);
        one_add_closure(&b, "Glossy", spectrum_splat(1.0f), args, 1);
        float u = random_unit(&random), v = random_unit(&random);
        if (one_sample(&b, 0.5f, f2(u, v), &s))
            assert_true(fabsf(f3_length(s.wi) - 1.0f) < 1e-5f);
    }
}

/* Arguments that no one should write, and directions that graze. */
static void test_bsdf_stays_finite(void **state)
{
    (void)state;
    static const float odd[] = {0,    1,     -1,    0.5f, 1e-6f, 1e-3f,  0.0316f, 0.0317f,
                                1e6f, -1e6f, 1e30f, 2,    1.5f,  1.001f, 0.999f,  -1e-30f};
    uint32_t random = 9;
    for (uint32_t i = 0; i < 60000; ++i) {
        float3 wo = random_direction(&random), wi = random_direction(&random);
        if (i % 3 == 0)
            wo = f3_normalize(f3(wo.x, wo.y, wo.z * 1e-4f));
        if (i % 5 == 0)
            wi = f3_normalize(f3(-wo.x, -wo.y, wi.z * 1e-5f));
        const char *first = closure_rows[i % closure_count].name;
        const char *second = closure_rows[(i / 7) % closure_count].name;
        float args[CLOSURE_MAX_SCALARS];
        for (uint32_t k = 0; k < CLOSURE_MAX_SCALARS; ++k) {
            uint32_t choice = (uint32_t)(random_unit(&random) * 32.0f);
            args[k] = choice < 16 ? odd[choice] : random_unit(&random);
        }
        OnePoint b;
        one_init(&b, wo, i & 1 ? f3(0, 0, 1) : random_direction(&random), i >> 1 & 3);
        one_add_closure(&b, first, spectrum_splat(1.0f), args, 1);
        one_add_closure(&b, second, spectrum_splat(0.5f), args, 1);
        assert_int_equal(one_faults(&b), 0);
        float pdf;
        Spectrum f = one_eval(&b, wi, &pdf);
        bool is_good = spectrum_is_finite(f) && isfinite(pdf) && pdf >= 0.0f && f.c[0] >= 0.0f;
        if (!is_good)
            print_message("%s or %s: f %g, pdf %g\n", first, second, (double)f.c[0], (double)pdf);
        assert_true(is_good);
        BsdfSample s;
        float x = random_unit(&random), y = random_unit(&random);
        if (!one_sample(&b, random_unit(&random), f2(x, i % 11 ? y : 0.0f), &s))
            continue;
        assert_true(spectrum_is_finite(s.weight) && isfinite(s.pdf) && s.pdf > 0.0f);
        assert_true(f3_is_finite(s.wi) && fabsf(f3_length(s.wi) - 1.0f) < 1e-3f);
        if (!(s.flags & SSL_LOBE_DELTA))
            assert_true(s.pdf == one_pdf(&b, s.wi));
        Spectrum albedo = bsdf_point_albedo(one_point(&b));
        if (!(spectrum_max(albedo) < 1.6f))
            print_message("%s and %s: albedo %g\n", first, second, (double)spectrum_max(albedo));
        assert_true(spectrum_is_finite(albedo) && spectrum_max(albedo) < 1.6f);
    }
}

/* The fraction of light at the cosine `light` from the unbent normal that gets past a bump at the cosine `bent` from it: of the
 * cubic of the angles, and of Smith's masking by GGX of alpha^2 = tan^2 / 8. */
static double past_by_angles(double light, double bent, double closure)
{
    double g = light / (bent * closure);
    return g >= 1.0 ? 1.0 : g * (1.0 + g - g * g);
}

static double past_by_masking(double light, double bent)
{
    double alpha2 = fmin((1.0 - bent * bent) / (8.0 * bent * bent), 1.0);
    return 2.0 / (1.0 + sqrt(1.0 + alpha2 * (1.0 - light * light) / (light * light)));
}

static void test_bsdf_bumps_shadow_diffuse_light(void **state)
{
    (void)state;
    const float3 flat = f3(0, 0, 1);
    uint32_t random = 5, past = 0;
    for (uint32_t i = 0; i < 2000; ++i) {
        float3 wi = random_direction(&random), N = random_direction(&random);
        wi.z = fabsf(wi.z), N.z = fabsf(N.z) + 0.02f;
        N = f3_normalize(N);
        const double light = (double)wi.z, bent = (double)N.z, closure = (double)f3_dot(N, wi);
        const float args[6] = {1, 1, 1, N.x, N.y, N.z};
        for (uint32_t soft = 0; soft < 2 && closure > 0.01 && light > 0.01; ++soft) {
            OnePoint p;
            one_init(&p, f3(0, 0, 1), flat, soft ? BSDF_SOFT_BUMPS : 0);
            one_shadow_bumps(&p, flat);
            one_add_closure(&p, "Lambert", spectrum_splat(1.0f), args, 1);
            double want =
                closure / (double)SORT_PI *
                (soft ? past_by_masking(light, bent) : past_by_angles(light, bent, closure));
            assert_true(is_near(one_eval(&p, wi, NULL).c[0], (float)want, 1e-4f));
            ++past;
        }
    }
    assert_true(past > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsdf_closure_table),
        cmocka_unit_test(test_bsdf_gloss_is_what_is_drawn),
        cmocka_unit_test(test_bsdf_is_reciprocal),
        cmocka_unit_test(test_bsdf_importance_is_the_adjoint),
        cmocka_unit_test(test_bsdf_lambert_is_albedo_over_pi),
        cmocka_unit_test(test_bsdf_mirror_and_window),
        cmocka_unit_test(test_bsdf_emission_and_transparency_add_up),
        cmocka_unit_test(test_bsdf_weights_may_be_negative),
        cmocka_unit_test(test_bsdf_normals_face_the_viewer),
        cmocka_unit_test(test_bsdf_light_does_not_leak),
        cmocka_unit_test(test_bsdf_bumps_shadow_diffuse_light),
        cmocka_unit_test(test_bsdf_notes_what_it_leaves_out),
        cmocka_unit_test(test_bsdf_blocks_have_room),
        cmocka_unit_test(test_bsdf_tangents_near_the_normal),
        cmocka_unit_test(test_bsdf_stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
