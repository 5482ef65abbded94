/* Light passes: what the picture is made of, pixel by pixel, on every closure and under every light; the same bits
 * whatever renders them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sort/bsdf/closure_table.h"
#include "tests/sort/render/passes_kit.h"

/* A ball each, in rows of COLUMNS. Closures that are not here have one with plain arguments. */
static const char *const closures[] = {
    "make_closure<Lambert>(color(0.8, 0.2, 0), N)",
    "make_closure<OrenNayar>(color(0.7), 0.6, N)",
    "make_closure<Translucent>(color(0.7, 0.8, 0.2), N)",
    "make_closure<Conductor>(color(0.9, 0.6, 0.2), 0.7, N)",
    "make_closure<Conductor>(color(0.9, 0.6, 0), 0, N)",
    "make_closure<Metal>(color(0.2, 0.9, 1.1), color(3.9, 2.4, 2.3), 0.4, 0.7, float3(1, 2, 0), N)",
    "make_closure<BeckmannMetal>(color(0.2, 0.9, 1.1), color(3.9, 2.4, 2.3), 0.4, 0, float3(0), N)",
    "make_closure<Dielectric>(1.5, 0, color(1, 0.5, 0.9), color(0.2, 1, 0.9), N)",
    "make_closure<Dielectric>(1.5, 0.5, color(1), color(0.2, 1, 0), N)",
    "make_closure<Dielectric>(0.6, 0.6, color(1), color(0.9), N)",
    "make_closure<Refraction>(color(0.9), 1.4, 0.4, 0, N)",
    "make_closure<ThinDielectric>(1.5, 0, color(1), color(0.3, 0.8, 0.9), N)",
    "make_closure<ThinDielectric>(1.5, 0.5, color(1), color(0.3, 0.8, 0.9), N)",
    "make_closure<Plastic>(color(0.7, 0.1, 0), color(0.05), 0.3, N)",
    "make_closure<Glossy>(color(0.9, 0.6, 0.3), 0.6, 0, 1, 0.5, float3(1, 0, 0), N)",
    "make_closure<Glossy>(color(0.9, 0.6, 0), 0.4, 1, 0, 0, float3(0), N)",
    "make_closure<Specular>(color(0.3, 0.1, 0), 1.5, 0.5, 1, 0, float3(0), N)",
    "make_closure<Lambert>(color(0.5), N) + 0.25 * make_closure<Clearcoat>(0.2, N)",
    ("make_closure<SpecularLayer>(color(0.04, 0.03, 0.02), 1.5, 0.3, 2.0, 0.0, float3(0), 1.0, N, "
     "make_closure<Lambert>(color(0.8), N))"),
    ("make_closure<Coat>(color(0.9, 0.8, 0.5), 1.5, 0.1, 1.0, N, "
     "make_closure<Lambert>(color(0.8), N))"),
    "make_closure<DisneyDiffuse>(color(0.6), 0.8, N) + make_closure<DisneySheen>(color(1), N)",
    "make_closure<Sheen>(color(0.9, 0.3, 0.2), 0.4, N, make_closure<Lambert>(color(0.3), N))",
    "make_closure<Velvet>(color(0.8, 0.2, 0.9), 0.4, N)",
    "make_closure<ToonDiffuse>(color(0.8, 0.7, 0.1), 0.5, 0.1, N)",
    "make_closure<ToonGlossy>(color(0.8, 0.7, 0.1), 0.3, 0.2, N)",
    "make_closure<Hair>(color(0.2, 0.5, 1), 0.4, 0.5, 0.2, 1.55, 0.05, 0.3, float3(0, 1, 0))",
    "make_closure<HairReflection>(color(0.5, 0.7, 0), 0.2, 0.4, 0.05, float3(0, 1, 0))",
    "make_closure<HairTransmission>(color(0.5, 0.7, 0), 0.3, 0.6, 0.05, float3(0, 1, 0))",
    ("make_closure<DisneyRetro>(color(0.8, 0.3, 0), 0.9, N) + "
     "make_closure<DisneyRetro>(color(0.2), 0.1, N)"),
    "make_closure<Subsurface>(color(0.8, 0.5, 0.3), color(0.3, 0.1, 0.05), 0.2, N)",
    "0.5 * make_closure<Holdout>(color(1)) + 0.5 * make_closure<Lambert>(color(0.8), N)",
    ("0.4 * make_closure<Transparent>(color(1, 0.5, 0.2)) + 0.3 * "
     "make_closure<Lambert>(color(0.9), N)"
     " + 0.2 * make_closure<Conductor>(color(0.9), 0.3, N) + make_closure<Emission>(color(0.1, 0, "
     "0))"),
    "make_closure<Lambert>(color(0.8), N) - 0.2 * make_closure<Conductor>(color(0.9), 0.9, N)",
    "make_closure<Emission>(color(3, 2, 1))",
};
enum { COLUMNS = 8 };

static const char principled[] = "{\"name\": \"m%u\", \"shader\": \"unit:principled_bsdf\", "
                                 "\"parameters\": {\"base_color\": [0.8, "
                                 "0.3, 0.1], \"roughness\": 0.4, \"specular\": 0.5, %s}}";

static const char veil_ssl[] =
    "shader veil(out closure surface)\n{\n    surface = 0.6 * make_closure<Transparent>(color(1)) "
    "+ 0.2 * "
    "make_closure<Lambert>(color(0.5, 0.9, 0.5), global_value<normal>);\n}\n"
    "shader panel(out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(4, 6, 3) * global_value<uvw>.x);\n}\n"
    "shader wall(out closure surface)\n{\n"
    "    surface = 0.7 * make_closure<Lambert>(color(0.8, 0.7, 0.6), global_value<normal>) + 0.3 * "
    "make_closure<Conductor>(color(0.9), 0.2, global_value<normal>);\n}\n";

/* Fields that a variant of the scene adds, each with a comma in front, or "". */
typedef struct Variant {
    const char *lamp, *environment, *limits;
    bool has_transparent_film;
    const char *wall; /* or NULL */
} Variant;

static void add_closure(const char *surface, uint32_t i, StrBuf *materials, StrBuf *ssl)
{
    strbuf_printf(ssl,
                  "shader c%u(out closure surface)\n{\n    const float3 N = global_value<normal>;\n"
                  "    surface = %s;\n}\n",
                  i, surface);
    strbuf_printf(materials, "{\"name\": \"m%u\", \"shader\": \"m.ssl\", \"entry\": \"c%u\"},", i,
                  i);
}

/* Returns whether there is a ball of the closure, or what makes no light yet. */
static bool is_tried(const char *name)
{
    char call[64];
    snprintf(call, sizeof call, "<%s>", name);
    for (uint32_t i = 0; i < SORT_COUNT_OF(closures); ++i)
        if (strstr(closures[i], call))
            return true;
    return strcmp(name, "Volume") == 0 || strcmp(name, "Aov") == 0;
}

static void add_plain_closure(const SslClosureRow *row, uint32_t i, StrBuf *materials, StrBuf *ssl)
{
    StrBuf call = {0};
    strbuf_printf(&call, "make_closure<%s>(", row->name);
    for (uint32_t a = 0; a < row->arg_count; ++a)
        strbuf_printf(&call, "%s%s", a > 0 ? ", " : "",
                      row->args[a].type == SSL_CLOSURE  ? "make_closure<Lambert>(color(0.8), N)"
                      : row->args[a].type == SSL_FLOAT  ? "0.4"
                      : row->args[a].type == SSL_COLOR  ? "color(0.8, 0.5, 0.2)"
                      : row->args[a].type == SSL_NORMAL ? "N"
                                                        : "float3(1, 0, 0)");
    strbuf_append_c(&call, ")");
    add_closure(strbuf_text(&call), i, materials, ssl);
    strbuf_free(&call);
}

/* Returns the number of balls. */
static uint32_t add_materials(StrBuf *materials, StrBuf *ssl)
{
    uint32_t count = 0;
    for (; count < SORT_COUNT_OF(closures); ++count)
        add_closure(closures[count], count, materials, ssl);
    for (uint32_t i = 0; i < closure_count; ++i)
        if (!is_tried(closure_rows[i].name))
            add_plain_closure(&closure_rows[i], count++, materials, ssl);
    strbuf_printf(materials, principled, count++,
                  "\"clearcoat\": 0.7, \"sheen\": 0.8, \"metallic\": 0.3, \"subsurface\": 0.4");
    strbuf_printf(materials, ",");
    strbuf_printf(materials, principled, count++,
                  "\"transmission\": 0.8, \"alpha\": 0.8, \"emission_strength\": 0.1");
    strbuf_printf(materials, ",{\"name\": \"veil\", \"shader\": \"m.ssl\", \"entry\": \"veil\"},"
                             "{\"name\": \"panel\", \"shader\": \"m.ssl\", \"entry\": \"panel\"},"
                             "{\"name\": \"wall\", \"shader\": \"m.ssl\", \"entry\": \"wall\"}");
    strbuf_printf(ssl, "%s", veil_ssl);
    return count;
}

/* The balls in front of a wall, the left half behind a veil, between a panel that shines, a sun, a sphere and a point
 * that do, under a sky. */
static void write_balls(const Kit *kit, const Variant *v)
{
    StrBuf meshes = {0}, instances = {0}, materials = {0}, lights = {0}, ssl = {0}, sky = {0};
    kit_add_sphere(kit, &meshes, "ball", 0.42f, 8);
    kit_add_quad(
        kit, &meshes, "wall",
        (const float[4][3]){{-4, -3, -1.5f}, {4, -3, -1.5f}, {4, 3, -1.5f}, {-4, 3, -1.5f}});
    kit_add_quad(kit, &meshes, "panel",
                 (const float[4][3]){{-5, -2, 0}, {-5, -2, 4}, {-5, 2, 4}, {-5, 2, 0}});
    kit_add_quad(kit, &meshes, "veil",
                 (const float[4][3]){{-5, -4, 2}, {0, -4, 2}, {0, 4, 2}, {-5, 4, 2}});
    uint32_t count = add_materials(&materials, &ssl);
    kit_write_text(kit, "m.ssl", strbuf_text(&ssl));
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(
            &instances,
            "{\"name\": \"b%u\", \"mesh\": \"ball\", \"materials\": [\"m%u\"], \"transform\": "
            "[1,0,0,%g, 0,1,0,%g, 0,0,1,0, 0,0,0,1]},",
            i, i, (double)(i % COLUMNS) - 0.5 * (COLUMNS - 1), 1.5 - (double)(i / COLUMNS));
    strbuf_printf(&instances, "{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": [\"wall\"]%s},",
                  v->wall ? v->wall : "");
    strbuf_printf(&instances, "{\"name\": \"v\", \"mesh\": \"veil\", \"materials\": [\"veil\"]},"
                              "{\"name\": \"p\", \"mesh\": \"panel\", \"materials\": [\"panel\"]}");
    strbuf_printf(
        &lights,
        "{\"name\": \"k\", \"type\": \"point\", \"intensity\": [9, 6, 8]%s, \"transform\": "
        "[1,0,0,2, 0,1,0,3, 0,0,1,3, 0,0,0,1]},"
        "{\"name\": \"d\", \"type\": \"sphere\", \"radiance\": [20, 20, 30], \"radius_m\": "
        "0.4%s, \"transform\": [1,0,0,4, 0,1,0,0, 0,0,1,1, 0,0,0,1]}",
        v->lamp, v->lamp);
    strbuf_printf(&sky, "{\"color\": [0.2, 0.3, 0.4]%s}", v->environment);
    kit_write_scene(kit, &(KitScene){.width = 64,
                                     .height = 36,
                                     .samples = 16,
                                     .max_depth = 5,
                                     .has_transparent_film = v->has_transparent_film,
                                     .limits = v->limits[0] ? v->limits : NULL,
                                     .eye = {0, 0, 9},
                                     .fov_y_degrees = 30,
                                     .meshes = strbuf_text(&meshes),
                                     .instances = strbuf_text(&instances),
                                     .materials = strbuf_text(&materials),
                                     .lights = strbuf_text(&lights),
                                     .environment = strbuf_text(&sky)});
    StrBuf *const all[] = {&meshes, &instances, &materials, &lights, &ssl, &sky};
    for (uint32_t i = 0; i < SORT_COUNT_OF(all); ++i)
        strbuf_free(all[i]);
}

static void test_light_passes_make_the_picture(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        Variant variant;
        float clamp_direct, clamp_indirect;
        WaveStrategy strategy;
        uint32_t max_depth;
    } cases[] = {
        {"plain", {"", "", "", false, NULL}, 0, 0, WAVE_STRATEGY_MIS, 0},
        {"scattering alone", {"", "", "", false, NULL}, 0, 0, WAVE_STRATEGY_BSDFS, 0},
        {"light sampling alone", {"", "", "", false, NULL}, 0, 0, WAVE_STRATEGY_LIGHTS, 0},
        {"clamps", {"", "", "", false, NULL}, 0.8f, 0.1f, WAVE_STRATEGY_MIS, 0},
        {"transparent film", {"", "", "", true, NULL}, 0, 0, WAVE_STRATEGY_MIS, 0},
        {"catcher",
         {"", "", "", true, ", \"is_shadow_catcher\": true"},
         0,
         0,
         WAVE_STRATEGY_MIS,
         0},
        {"one bounce", {"", "", "", false, NULL}, 0, 0, WAVE_STRATEGY_MIS, 1},
        {"lights for some bounces",
         {", \"invisible_to\": [\"glossy\"]", ", \"invisible_to\": [\"diffuse\", \"camera\"]", "",
          false, NULL},
         0,
         0,
         WAVE_STRATEGY_MIS,
         0},
        {"limits",
         {"", "", "\"max_transparent\": 1, \"max_glossy\": 1, \"max_transmission\": 2", false,
          NULL},
         0,
         0,
         WAVE_STRATEGY_MIS,
         0},
    };
    Kit kit;
    kit_begin(&kit);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        write_balls(&kit, &cases[i].variant);
        RenderOptions options = kit_options(&kit);
        options.strategy = cases[i].strategy;
        if (cases[i].max_depth)
            SETTING_SET(options.settings, max_depth, cases[i].max_depth);
        SETTING_SET(options.settings, clamp_direct, cases[i].clamp_direct);
        SETTING_SET(options.settings, clamp_indirect, cases[i].clamp_indirect);
        options.aovs = FILM_LIGHT_GROUPS | FILM_AOV_BIT(FILM_AOV_ALBEDO);
        Passes p = passes_render(&kit, options);
        passes_assert_sum(&p, cases[i].what);
        for (uint32_t k = 0; k < 9; ++k) {
            bool is_empty = cases[i].max_depth == 1 && k % 3 == 2;
            if (is_empty ? passes_mean(&p, k) != 0.0 : !(passes_mean(&p, k) > 1e-4))
                fail_msg("%s: pass %s is %g in the mean", cases[i].what,
                         film_aov_info(passes_aov(k))->name, passes_mean(&p, k));
        }
        passes_free(&p);
    }
    kit_end(&kit);
}

/* --- bits ------------------------------------------------------------------------------------- */

static void assert_same(Hash128 a, Hash128 b, const char *what)
{
    if (!hash128_equal(a, b))
        fail_msg("other bits: %s", what);
}

static void test_light_passes_have_the_same_bits(void **state)
{
    (void)state;
    Kit kit;
    Error err = {0};
    kit_begin(&kit);
    write_balls(&kit, &(Variant){"", "", "", false, NULL});
    RenderOptions options = kit_options(&kit);
    Hash128 picture = kit_render_bits(&kit, &options, NULL);
    options.aovs =
        PASSES_WANTED | FILM_AOV_BIT(FILM_AOV_AMBIENT_OCCLUSION) | FILM_AOV_BIT(FILM_AOV_VECTOR);
    options.thread_count = 1;
    Render *whole = kit_render(&kit, &options);
    Hash128 expected = passes_bits(render_film(whole));
    assert_same(kit_bits(whole), picture, "of the picture, for having passes");
    options.thread_count = 3;
    options.wave_capacity = 32;
    Render *other = kit_render(&kit, &options);
    assert_same(passes_bits(render_film(other)), expected, "three threads, small waves");
    render_destroy(other);
    options.sample_begin = 5;
    options.sample_end = 16;
    Render *rest = kit_render(&kit, &options);
    options.sample_begin = 0;
    options.sample_end = 5;
    Render *first = kit_render(&kit, &options);
    assert_int_equal(film_merge(render_film(rest), render_film(first), &err), STATUS_OK);
    assert_same(passes_bits(render_film(rest)), expected, "two parts, merged");
    render_destroy(first);
    render_destroy(rest);
    render_destroy(whole);
    kit_end(&kit);
}

/* All of them, or one with the colour that it is divided by. */
static void test_light_passes_have_names_in_files(void **state)
{
    (void)state;
    static const char *const all[] = {"diffuse_color.R",         "glossy_direct.G",
                                      "transmission_indirect.B", "emission.R",
                                      "environment.B",           NULL};
    static const char *const one[] = {"glossy_indirect.R", "glossy_color.B", NULL};
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_balls(&kit, &(Variant){"", "", "", false, NULL});
    kit_run(&kit, (const char *[]){"--spp", "1", "--aov", "light_passes", NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    kit_assert_channels(&kit, all);
    kit_run(&kit, (const char *[]){"--spp", "1", "--aov", "glossy_indirect", NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    kit_assert_channels(&kit, one);
    kit_run_program("sort-render", (const char *const[]){"--list", "aovs", NULL}, &said);
    assert_non_null(strstr(said.output, "\ntransmission_direct "));
    assert_non_null(strstr(said.output, "\nlight_passes "));
    kit_end(&kit);
}

/* Direct light does not depend on what comes after. */
static void test_light_passes_direct_light_is_of_one_bounce(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    write_balls(&kit, &(Variant){"", "", "", false, NULL});
    RenderOptions options = kit_options(&kit);
    Passes all = passes_render(&kit, options);
    SETTING_SET(options.settings, max_depth, 1);
    Passes one = passes_render(&kit, options);
    for (uint32_t k = 0; k < PASSES; ++k)
        if (k >= 9 || k % 3 != 2)
            assert_memory_equal(one.aov[k], all.aov[k], 12 * (size_t)all.count);
    passes_free(&one);
    passes_free(&all);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_passes_make_the_picture),
        cmocka_unit_test(test_light_passes_have_the_same_bits),
        cmocka_unit_test(test_light_passes_have_names_in_files),
        cmocka_unit_test(test_light_passes_direct_light_is_of_one_bounce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
