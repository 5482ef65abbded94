/* Closures that the sources of a scene's shaders define: they render as built-in ones do, bit by bit, and what is wrong with
 * them is said with a place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "sort/film/film.h"
#include "tests/sort/render/render_kit.h"

/* A copy of Lambert, of a layer that lets half through, and of a body. */
static const char own[] =
    "bsdf OwnLambert(color albedo, normal N)\n{\n"
    "    const color tint = clamp(albedo, 0, 1);\n"
    "    lobe diffuse reflection\n    {\n        albedo = tint;\n"
    "        eval { f_cos = tint * M_1_PI * wi.z; pdf = bsdf_cosine_pdf(wi.z); }\n"
    "        sample { wi = bsdf_cosine_hemisphere(u.xy); }\n    }\n}\n"
    "bsdf OwnUnsampled(color tint, normal N)\n{\n"
    "    lobe diffuse reflection { eval { f_cos = tint * M_1_PI * wi.z; } }\n}\n"
    "bsdf OwnLayer(float share, normal N, closure base)\n{\n"
    "    base_factor = color(1 - share);\n"
    "    lobe delta reflection\n    {\n        albedo = color(share);\n"
    "        sample { wi = vector(-wo.x, -wo.y, wo.z); weight = color(share); }\n    }\n}\n"
    "bsdf OwnPane(float clear)\n{\n"
    "    lobe delta transmission transparent { albedo = color(clear); sample { weight = "
    "color(clear); } }\n}\n"
    "bsdf OwnBody(color radius, normal N)\n{\n"
    "    lobe subsurface delta transmission\n    {\n        albedo = color(1);\n"
    "        medium.albedo = color(1);\n        medium.extinction = 1 / radius;\n"
    "        sample { const vector w = bsdf_cosine_hemisphere(u.xy); wi = vector(w.x, w.y, -w.z);\n"
    "                 weight = color(1); }\n    }\n}\n";

static void write_sphere(Kit *kit, const char *closure, const char *bsdfs)
{
    StrBuf meshes = {0}, text = {0};
    strbuf_printf(&text,
                  "%sshader s(out closure surface)\n{\n    const normal N = global_value<normal>;\n"
                  "    surface = %s;\n}\n",
                  bsdfs, closure);
    kit_write_text(kit, "shaders/s.ssl", strbuf_text(&text));
    kit_add_sphere(kit, &meshes, "ball", 1.0f, 64);
    KitScene scene = {.width = 16,
                      .height = 16,
                      .samples = 32,
                      .max_depth = 64,
                      .eye = {0, 0, 5},
                      .fov_y_degrees = 8,
                      .meshes = strbuf_text(&meshes),
                      .instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}",
                      .materials = "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\"}",
                      .environment = "{\"color\": [1, 1, 1]}"};
    kit_write_scene(kit, &scene);
    strbuf_free(&meshes);
    strbuf_free(&text);
}

static Hash128 bits_of(const char *closure, const char *bsdfs, uint32_t threads)
{
    Kit kit;
    kit_begin(&kit);
    write_sphere(&kit, closure, bsdfs);
    RenderOptions options = kit_options(&kit);
    options.thread_count = threads;
    Hash128 bits = kit_render_bits(&kit, &options, NULL);
    kit_end(&kit);
    return bits;
}

static void assert_same(Hash128 a, Hash128 b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

static void test_own_closures_are_like_built_in_ones(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"make_closure<Lambert>(color(0.8, 0.5, 0.2), N)",
         "make_closure<OwnLambert>(color(0.8, 0.5, 0.2), N)"},
        {"0.5 * make_closure<Lambert>(color(0.9), N) + 0.3 * make_closure<Transparent>(color(1))",
         "0.5 * make_closure<OwnLambert>(color(0.9), N) + 0.3 * make_closure<OwnPane>(1.0)"},
        {"make_closure<Coat>(color(1), 1.5, 0.3, 1.0, N, make_closure<Lambert>(color(0.7), N))",
         "make_closure<Coat>(color(1), 1.5, 0.3, 1.0, N, make_closure<OwnLambert>(color(0.7), N))"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(pairs); ++i) {
        Hash128 built_in = bits_of(pairs[i][0], "", 2);
        assert_same(bits_of(pairs[i][1], own, 2), built_in);
        assert_same(bits_of(pairs[i][1], own, 1), built_in);
    }
}

/* Under a uniform sky nothing is lost that nothing absorbs, whoever samples it. */
static void test_own_closures_in_a_furnace(void **state)
{
    (void)state;
    static const struct {
        const char *closure;
        double expected;
    } cases[] = {
        {"make_closure<OwnUnsampled>(color(0.7), N)", 0.7},
        {"make_closure<OwnLayer>(0.4, N, make_closure<OwnLambert>(color(1), N))", 1.0},
        {"make_closure<OwnLayer>(0.4, N, make_closure<OwnLambert>(color(0.5), N))", 0.7},
        {"make_closure<OwnBody>(color(0.8), N)", 1.0},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        Kit kit;
        uint32_t count;
        double mean, error;
        kit_begin(&kit);
        write_sphere(&kit, cases[i].closure, own);
        RenderOptions options = kit_options(&kit);
        Render *render = kit_render(&kit, &options);
        float *rgba = kit_pixels(render, &count);
        kit_mean(rgba, count, 1, &mean, &error);
        if (fabs(mean - cases[i].expected) > 0.005 + 4.0 * error)
            fail_msg("%s: %g +- %g, expected %g", cases[i].closure, mean, error, cases[i].expected);
        mem_free(rgba);
        render_destroy(render);
        kit_end(&kit);
    }
}

/* A film is of its closures: another bsdf makes another film. */
static void test_own_closures_are_in_the_identity(void **state)
{
    (void)state;
    FilmIdentity identities[2];
    for (int i = 0; i < 2; ++i) {
        Kit kit;
        kit_begin(&kit);
        write_sphere(&kit, "make_closure<A>(color(1), N)",
                     i ? "bsdf A(color tint, normal N) { lobe diffuse reflection { eval { f_cos = "
                         "0.2 * tint * wi.z; } } }\n"
                       : "bsdf A(color tint, normal N) { lobe diffuse reflection { eval { f_cos = "
                         "0.3 * tint * wi.z; } } }\n");
        RenderOptions options = kit_options(&kit);
        Render *render = kit_render(&kit, &options);
        identities[i] = film_desc(render_film(render))->identity;
        render_destroy(render);
        kit_end(&kit);
    }
    assert_memory_not_equal(&identities[0].scene, &identities[1].scene, sizeof identities[0].scene);
}

static void test_own_closures_that_are_wrong(void **state)
{
    (void)state;
#define GOOD "{ lobe diffuse reflection { eval { f_cos = color(0.1); } } }\n"
    static const char *const cases[][2] = {
        {"bsdf Lambert(color a) " GOOD,
         "shaders/s.ssl: bsdf 'Lambert' has the name of a built-in closure: take another"},
        {"bsdf A(color a) { lobe diffuse reflection { eval { f_cos = b; } } }\n", "A' has errors"},
        {"bsdf A(string a) " GOOD, "shader 'shaders/s.ssl' has errors"},
        {"bsdf A(color a) { float q[2000]; q[0] = blur; lobe diffuse reflection { eval { f_cos = "
         "color(q[int(wi.x)]); } } }\n",
         "eval and sample of bsdf 'A' read more than 1024 numbers of its state"},
        {"bsdf A(color a, color b, color c, color d, color e, color f, color g, color h, color i, "
         "color j, color k) " GOOD,
         "the arguments of bsdf 'A' are 33 numbers; there may be 32"},
    };
#undef GOOD
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        Kit kit;
        char text[2048];
        kit_begin(&kit);
        write_sphere(&kit, "make_closure<Emission>(color(1))", cases[i][0]);
        RenderOptions options = kit_options(&kit);
        const char *said = kit_render_error(&options, text);
        if (!said || !strstr(said, cases[i][1]))
            fail_msg("%s\nsays %s", cases[i][0], said ? said : "nothing");
        kit_end(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_closures_are_like_built_in_ones),
        cmocka_unit_test(test_own_closures_in_a_furnace),
        cmocka_unit_test(test_own_closures_are_in_the_identity),
        cmocka_unit_test(test_own_closures_that_are_wrong),
    };
    return cmocka_run_group_tests_name("sort.render_own_closures", tests, NULL, NULL);
}
