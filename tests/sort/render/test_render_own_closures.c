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
#include "sort/bsdf/closure_sources.h"
#include "sort/bsdf/closure_table.h"
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

/* --- layers ------------------------------------------------------------------------------------ */

#define ALL_LAYERS                                                                                 \
    (FILM_LIGHT_PASSES | FILM_LIGHT_GROUPS | FILM_AOV_BIT(FILM_AOV_EMISSION) |                     \
     FILM_AOV_BIT(FILM_AOV_ENVIRONMENT) | FILM_AOV_BIT(FILM_AOV_ALBEDO) |                          \
     FILM_AOV_BIT(FILM_AOV_NORMAL))

/* Under the sky and a lamp of a light group. */
static void write_lit(Kit *kit, const char *closure, const char *bsdfs)
{
    StrBuf meshes = {0}, text = {0};
    strbuf_printf(&text,
                  "%sshader s(out closure surface)\n{\n    const normal N = global_value<normal>;\n"
                  "    const vector T = global_value<tangent>;\n    surface = %s;\n}\n",
                  bsdfs, closure);
    kit_write_text(kit, "s.ssl", strbuf_text(&text));
    kit_add_sphere(kit, &meshes, "ball", 1.0f, 24);
    KitScene scene = {.width = 12,
                      .height = 12,
                      .samples = 16,
                      .max_depth = 6,
                      .eye = {0, 0, 5},
                      .fov_y_degrees = 24,
                      .meshes = strbuf_text(&meshes),
                      .instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}",
                      .materials = "{\"name\": \"m\", \"shader\": \"s.ssl\"}",
                      .lights = "{\"name\": \"k\", \"type\": \"sphere\", \"radiance\": [9, 5, 3], "
                                "\"radius_m\": 0.4, \"light_group\": \"key\", "
                                "\"transform\": [1,0,0,2, 0,1,0,3, 0,0,1,1, 0,0,0,1]}",
                      .environment = "{\"color\": [0.5, 0.6, 0.7]}"};
    kit_write_scene(kit, &scene);
    strbuf_free(&meshes);
    strbuf_free(&text);
}

/* Returns the hash of the picture and of all its layers. */
static Hash128 layers_of(const char *closure, const char *bsdfs, double *out_light)
{
    Kit kit;
    HashState hash;
    hash128_begin(&hash);
    kit_begin(&kit);
    write_lit(&kit, closure, bsdfs);
    RenderOptions options = kit_options(&kit);
    options.aovs = ALL_LAYERS;
    Render *render = kit_render(&kit, &options);
    const FilmDesc *film = film_desc(render_film(render));
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    hash128_update(&hash, rgba, (size_t)count * 4 * sizeof *rgba);
    mem_free(rgba);
    *out_light = 0;
    for (uint32_t a = 0; a < FILM_AOV_COUNT; ++a) {
        if (!film_aovs_have(film->aovs, (FilmAov)a))
            continue;
        uint32_t numbers = count * film_aov_info((FilmAov)a)->channel_count;
        float *values = kit_aov(render, (FilmAov)a);
        for (uint32_t i = 0; i < numbers && film_aovs_have(FILM_LIGHT_PASSES, (FilmAov)a); ++i)
            *out_light += (double)values[i];
        hash128_update(&hash, values, numbers * sizeof *values);
        mem_free(values);
    }
    render_destroy(render);
    kit_end(&kit);
    return hash128_end(&hash);
}

static void own_source(const char *name, StrBuf *out)
{
    char form[64];
    (void)snprintf(form, sizeof form, "bsdf %s(", name);
    for (const EmbeddedText *text = closure_sources; text->name; ++text) {
        const char *at = strstr(text->text, form);
        if (!at)
            continue;
        strbuf_append(out, (Str){text->text, (size_t)(at - text->text)});
        strbuf_append_c(out, "bsdf Own");
        strbuf_append_c(out, at + 5);
        return;
    }
    fail_msg("no source of %s", name);
}

/* A built-in closure under another name, in the scene's own source, has the bits of the built-in one in the picture and all its
 * layers: lobes of all kinds are counted by their words there, too. */
static void test_own_closures_are_in_all_layers(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"OrenNayar", "(color(0.8, 0.5, 0.2), 0.6, N)"},
        {"Conductor", "(color(0.9, 0.6, 0.3), 0.4, N)"},
        {"Translucent", "(color(0.8, 0.7, 0.9), N)"},
        {"Refraction", "(color(0.9), 1.4, 0.2, 0.0, N)"},
        {"Dielectric", "(1.5, 0.3, color(1), color(0.8, 1, 0.9), N)"},
        {"Velvet", "(color(0.8), 0.4, N)"},
        {"HairReflection", "(color(0.9), 0.3, 0.4, 0.1, T)"},
        {"Coat", "(color(1), 1.5, 0.3, 1.0, N, make_closure<Lambert>(color(0.7), N))"},
        {"Subsurface", "(color(0.8), color(0.3), 0.2, N)"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        StrBuf source = {0}, built_in = {0}, own_closure = {0};
        double light, own_light;
        own_source(cases[i][0], &source);
        strbuf_printf(&built_in, "make_closure<%s>%s", cases[i][0], cases[i][1]);
        strbuf_printf(&own_closure, "make_closure<Own%s>%s", cases[i][0], cases[i][1]);
        Hash128 expected = layers_of(strbuf_text(&built_in), "", &light);
        Hash128 found = layers_of(strbuf_text(&own_closure), strbuf_text(&source), &own_light);
        if (!(light > 0) || memcmp(&expected, &found, sizeof found) != 0)
            fail_msg("%s: other layers than the built-in one; their light is %g and %g",
                     cases[i][0], light, own_light);
        strbuf_free(&source);
        strbuf_free(&built_in);
        strbuf_free(&own_closure);
    }
}

/* --- parts ------------------------------------------------------------------------------------- */

#define DIMMED(factor)                                                                             \
    "bsdf Dimmed(color tint, normal N) { lobe diffuse reflection { eval { f_cos = " factor         \
    " * tint * wi.z; } } }\n"

/* A checkpoint and a partial result of a scene are of its closures' texts. */
static void test_own_closures_that_changed(void **state)
{
    (void)state;
    static const char closure[] = "make_closure<Dimmed>(color(1), N)";
    Kit kit;
    KitSaid said;
    char checkpoint[PATH_BYTES], parts[2][PATH_BYTES], picture[PATH_BYTES];
    kit_begin(&kit);
    kit_path(&kit, "c", checkpoint);
    kit_path(&kit, "first", parts[0]);
    kit_path(&kit, "second", parts[1]);
    kit_path(&kit, "m.exr", picture);
    write_sphere(&kit, closure, DIMMED("0.2"));
    kit_run(&kit, (const char *const[]){"--checkpoint", checkpoint, "--keep-checkpoint", NULL},
            &said);
    assert_int_equal(said.exit_code, 0);
    kit_run(&kit, (const char *const[]){"--samples", "0:16", "--partial", parts[0], NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    kit_run(
        &kit,
        (const char *const[]){"--checkpoint", checkpoint, "--keep-checkpoint", "--resume", NULL},
        &said);
    assert_int_equal(said.exit_code, 0);
    write_sphere(&kit, closure, DIMMED("0.3"));
    kit_run(&kit, (const char *const[]){"--checkpoint", checkpoint, "--resume", NULL}, &said);
    if (said.exit_code == 0 || !strstr(said.errors, "scene"))
        fail_msg("resumed with another bsdf: %d, %s", said.exit_code, said.errors);
    kit_run(&kit, (const char *const[]){"--samples", "16:32", "--partial", parts[1], NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    kit_run_program("sort-render",
                    (const char *const[]){"merge", parts[0], parts[1], "-o", picture, NULL}, &said);
    if (said.exit_code == 0 || !strstr(said.errors, "scene"))
        fail_msg("merged with another bsdf: %d, %s", said.exit_code, said.errors);
    kit_end(&kit);
}

/* --- many -------------------------------------------------------------------------------------- */

static void write_many(StrBuf *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(
            out,
            "bsdf Many%u(normal N) { lobe diffuse reflection { albedo = color(%u.0 / 64); "
            "eval { f_cos = color(%u.0 / 64) * M_1_PI * wi.z; } } }\n",
            i, i % 65, i % 65);
}

/* A kernel has at most 64 closures, and a scene has as many as its materials make. */
static void test_own_closures_in_great_number(void **state)
{
    (void)state;
    StrBuf many = {0};
    Kit kit;
    char text[2048];
    write_many(&many, 70);
    assert_same(
        bits_of("0.5 * (make_closure<Many64>(N) + make_closure<Many65>(N))", strbuf_text(&many), 2),
        bits_of("0.5 * (make_closure<Lambert>(color(1), N) + "
                "make_closure<Lambert>(color(0), N))",
                "", 2));
    strbuf_clear(&many);
    write_many(&many, SSL_MAX_CLOSURES - closure_count + 1);
    kit_begin(&kit);
    write_sphere(&kit, "make_closure<Many0>(N)", strbuf_text(&many));
    RenderOptions options = kit_options(&kit);
    const char *said = kit_render_error(&options, text);
    if (!said || !strstr(said, "is one too many: a scene has at most"))
        fail_msg("too many closures: %s", said ? said : "nothing is said");
    kit_end(&kit);
    strbuf_free(&many);
}

/* --- faults ------------------------------------------------------------------------------------ */

/* Code that does not end, and an index out of range, are told with closure, place and number; the picture is there. */
static void test_own_closures_with_faults(void **state)
{
    (void)state;
    static const char faulty[] =
        "float forever(float x)\n{\n    float y = x;\n    while (y < 1)\n        y *= 0.5;\n"
        "    return y;\n}\n"
        "bsdf Stuck(float x, normal N)\n{\n    lobe diffuse reflection\n    {\n"
        "        albedo = color(0.5);\n"
        "        eval { f_cos = color(forever(x)) * wi.z; }\n    }\n}\n"
        "bsdf Outside(float x, normal N)\n{\n    float q[2] = {0.1, 0.2};\n"
        "    lobe diffuse reflection\n    {\n"
        "        eval { f_cos = color(q[int(x)]) * wi.z; }\n    }\n}\n"
        "bsdf Deep(float x, normal N)\n{\n    lobe diffuse reflection\n    {\n"
        "        eval { f_cos = color(1 / (x + 3)) * wi.z; }\n    }\n}\n";
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_sphere(
        &kit,
        "make_closure<Stuck>(0.5, N) + make_closure<Outside>(7, N) + make_closure<Deep>(1, "
        "N)",
        faulty);
    kit_run(&kit, (const char *const[]){"--spp", "1", NULL}, &said);
    assert_int_equal(said.exit_code, 3);
    if (!strstr(said.errors, "closure faults") ||
        !strstr(said.errors, "shaders/s.ssl:4:5: loop stopped: it ran past the host's limit "
                             "(closure 'Stuck', ") ||
        !strstr(said.errors,
                "shaders/s.ssl:21:32: array index out of range (closure 'Outside', ") ||
        strstr(said.errors, "closure 'Deep'"))
        fail_msg("%s", said.errors);
    write_sphere(&kit, "make_closure<Stuck>(2, N) + make_closure<Outside>(1, N)", faulty);
    kit_run(&kit, (const char *const[]){"--spp", "1", NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    assert_null(strstr(said.errors, "closure faults"));
    kit_end(&kit);
}

/* --list closures with a scene shows its own, too. */
static void test_own_closures_are_listed(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_sphere(&kit, "make_closure<Waxy>(color(1), 0.5, N)",
                 "bsdf Waxy(color tint, float depth, normal N) [[ string doc = \"Wax.\" ]]\n"
                 "{ lobe diffuse reflection { eval { f_cos = depth * tint * wi.z; } } }\n");
    kit_run_program("sort-render", (const char *const[]){"--list", "closures", kit.package, NULL},
                    &said);
    assert_int_equal(said.exit_code, 0);
    if (!strstr(said.output,
                "Waxy(color tint, float depth, normal N)\n    Wax. (shaders/s.ssl)\n") ||
        !strstr(said.output, "Lambert(color albedo, normal N)\n"))
        fail_msg("%s", said.output);
    kit_run_program("sort-render", (const char *const[]){"--list", "aovs", kit.package, NULL},
                    &said);
    assert_int_equal(said.exit_code, 2);
    kit_end(&kit);
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
        cmocka_unit_test(test_own_closures_are_in_all_layers),
        cmocka_unit_test(test_own_closures_that_changed),
        cmocka_unit_test(test_own_closures_in_great_number),
        cmocka_unit_test(test_own_closures_with_faults),
        cmocka_unit_test(test_own_closures_are_listed),
        cmocka_unit_test(test_own_closures_that_are_wrong),
    };
    return cmocka_run_group_tests_name("sort.render_own_closures", tests, NULL, NULL);
}
