/* The layer shadow against closed forms, in places of any size and anywhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sort/render/layer_kit.h"

static const char surface_ssl[] =
    "shader matte(color albedo, out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n"
    "shader mirror(out closure surface)\n{\n"
    "    surface = make_closure<Conductor>(color(0.9), 0, global_value<normal>);\n}\n"
    "shader glow(out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(5));\n}\n"
    "shader glass(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(1, 0.5, 0.25));\n}\n"
    "shader veil(out closure surface)\n{\n"
    "    surface = 0.25 * make_closure<Transparent>(color(1, 0, 0))"
    " + 0.25 * make_closure<Holdout>(color(1))"
    " + 0.5 * make_closure<Lambert>(color(0.5), global_value<normal>);\n}\n";

#define MATERIAL(name, more)                                                                       \
    "{\"name\": \"" name "\", \"shader\": \"m.ssl\", \"entry\": \"" more "}"
#define MATERIALS                                                                                  \
    MATERIAL("matte", "matte\", \"parameters\": {\"albedo\": [0.5, 0, 0.25]}")                     \
    "," MATERIAL("black", "matte\", \"parameters\": {\"albedo\": [0, 0, 0]}") "," MATERIAL(        \
        "mirror",                                                                                  \
        "mirror\"") "," MATERIAL("glow", "glow\"") "," MATERIAL("glass",                           \
                                                                "glass\"") "," MATERIAL("veil",    \
                                                                                        "veil\"")

typedef struct Light {
    const char *fields;
    double turn, size,
        z; /* turn: 1 shines downwards, -1 upwards; size: of an area_rectangle, or 0 */
} Light;

#define ACROSS(x0, x1, y, z)                                                                       \
    {                                                                                              \
        {x0, -(y), z}, {x1, -(y), z}, {x1, y, z},                                                  \
        {                                                                                          \
            x0, y, z                                                                               \
        }                                                                                          \
    }
#define UNSEEN          ", \"invisible_to\": [\"camera\"]"
#define FLOOR(material) {"floor", material, "", ACROSS(-4, 4, 4, 0)}
#define SUN             "\"type\": \"distant\", \"irradiance\": [3, 1, 0.5]"
#define LAMP            "\"type\": \"area_rectangle\", \"is_solid\": false, \"radiance\": [3, 1, 0.5]"

static void write_lights(StrBuf *out, const LayerPlace *place, const Light *lights, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const Light *l = &lights[i];
        strbuf_printf(out,
                      "%s{\"name\": \"%zu\", %s, \"transform\": [1,0,0,%.9g, 0,%g,0,%.9g, "
                      "0,0,%g,%.9g, 0,0,0,1]",
                      i ? ", " : "", i, l->fields, place->move[0], l->turn, place->move[1], l->turn,
                      place->move[2] + l->z * place->scale);
        if (l->size > 0)
            strbuf_printf(out, ", \"size\": [%.9g, %.9g]", l->size * place->scale,
                          l->size * place->scale);
        strbuf_printf(out, "}");
    }
}

static void check_at(const LayerPlace *place, const LayerQuad *quads, size_t quad_count,
                     const Light *lights, size_t light_count, const double expected[3],
                     const char *what)
{
    Kit kit;
    StrBuf lamps = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "m.ssl", surface_ssl);
    write_lights(&lamps, place, lights, light_count);
    layer_write_scene(
        &kit, place, quads, quad_count, 0.25f,
        (KitScene){.materials = MATERIALS, .lights = light_count ? strbuf_text(&lamps) : NULL});
    layer_check(&kit, place, FILM_AOV_SHADOW, expected, what);
    strbuf_free(&lamps);
    kit_end(&kit);
}

/* Checks a scene in the first places. quads, lights: arrays. */
#define CHECK_IN(place_count, quads, lights, what, ...)                                            \
    for (size_t p_ = 0; p_ < (place_count); ++p_)                                                  \
    check_at(&layer_places[p_], quads, SORT_COUNT_OF(quads), lights, SORT_COUNT_OF(lights),        \
             (const double[])__VA_ARGS__, what)

/* How much a surface reflects does not matter, nor in which colour; only whether it does. */
static void test_shadows_of_suns(void **state)
{
    (void)state;
    const LayerQuad open[] = {FLOOR("matte")}, black[] = {FLOOR("black")},
                    mirror[] = {FLOOR("mirror")},
                    roofed[] = {FLOOR("matte"), {"roof", "matte", UNSEEN, ACROSS(-9, 9, 9, 1)}},
                    glazed[] = {FLOOR("matte"), {"roof", "glass", UNSEEN, ACROSS(-9, 9, 9, 1)}},
                    lucent[] = {FLOOR("matte"),
                                {"roof", "matte", ", \"invisible_to\": [\"camera\", \"shadow\"]",
                                 ACROSS(-9, 9, 9, 1)}};
    const Light down[] = {{SUN, 1, 0, 0}}, up[] = {{SUN, -1, 0, 0}},
                both[] = {{SUN, 1, 0, 0}, {SUN, -1, 0, 0}},
                shadowless[] = {{SUN ", \"casts_shadows\": false", 1, 0, 0}},
                mixed[] = {{SUN, 1, 0, 0}, {SUN ", \"casts_shadows\": false", 1, 0, 0}},
                dark[] = {{SUN, 1, 0, 0},
                          {"\"type\": \"distant\", \"irradiance\": [0, 0, 0]", 1, 0, 0}};
    CHECK_IN(SORT_COUNT_OF(layer_places), open, down, "sun", {1, 1, 1});
    CHECK_IN(SORT_COUNT_OF(layer_places), roofed, down, "roof", {0, 0, 0});
    CHECK_IN(1, black, down, "black floor", {0, 0, 0});
    CHECK_IN(1, mirror, down, "mirror", {0, 0, 0});
    CHECK_IN(1, glazed, down, "glass", {1, 0.5, 0.25});
    CHECK_IN(1, lucent, down, "roof that casts no shadow", {1, 1, 1});
    CHECK_IN(1, open, up, "sun from below", {0, 0, 0});
    CHECK_IN(1, open, both, "suns from above and below", {0.5, 0.5, 0.5});
    CHECK_IN(1, roofed, shadowless, "sun without shadows", {1, 1, 1});
    CHECK_IN(1, roofed, mixed, "suns with and without shadows", {0.5, 0.5, 0.5});
    CHECK_IN(1, open, dark, "sun that does not shine", {1, 1, 1});
}

/* A lamp of the half side 1 at the height 1, and a screen at half of it, which hides the part of the lamp where x < 2 edge. */
#define SCREEN(edge) {"screen", "black", UNSEEN, ACROSS(-9, edge, 9, 0.5)}

/* The solid angle of the part of this lamp with 0 < x < end. */
static double solid_angle(double end)
{
    return 2 * atan(end / sqrt(end * end + 2));
}

static void test_shadows_of_area_lamps(void **state)
{
    (void)state;
    const Light lamp[] = {{LAMP, 1, 2, 1}},
                pair[] = {{LAMP, 1, 2, 1}, {SUN, 1, 0, 0}, {SUN, -1, 0, 0}};
    const double edges[] = {-0.3, 0, 0.25, 0.4};
    for (size_t i = 0; i < SORT_COUNT_OF(edges); ++i) {
        const LayerQuad quads[] = {FLOOR("matte"), SCREEN(edges[i])};
        double p = 0.5 - solid_angle(2 * edges[i]) / (2 * solid_angle(1));
        CHECK_IN(i == 2 ? SORT_COUNT_OF(layer_places) : 1, quads, lamp, "screen", {p, p, p});
        p = (p + (edges[i] < 0)) / 3;
        if (edges[i] != 0)
            CHECK_IN(1, quads, pair, "screen, under suns too", {p, p, p});
    }
}

/* An object that shines counts only as a lamp; then by its area. The sky never does. */
static void test_shadows_of_objects_that_shine(void **state)
{
    (void)state;
    const Light none[] = {{SUN ", \"unlit_sets\": [0]", 1, 0, 0}}, sun[] = {{SUN, 1, 0, 0}};
    const LayerQuad glow[] = {FLOOR("matte"), {"glow", "glow", UNSEEN, ACROSS(-1, 1, 1, 1)}},
                    lamp[] = {FLOOR("matte"),
                              {"glow", "glow", UNSEEN ", \"light\": {}", ACROSS(-1, 1, 1, 1)},
                              SCREEN(0)};
    check_at(&layer_places[0], glow, 2, NULL, 0, (const double[]){0, 0, 0}, "only what shines");
    check_at(&layer_places[0], lamp, 3, NULL, 0, (const double[]){0.5, 0.5, 0.5},
             "an object as a lamp");
    CHECK_IN(1, glow, none, "a sun for others", {0, 0, 0});
    CHECK_IN(1, lamp, sun, "an object as a lamp, and a sun on the edge's other side",
             {0.25, 0.25, 0.25});
}

/* The camera looks through a veil that is a quarter red glass and a quarter hole; the rest of it lies in the sun, and what is behind
 * gets a quarter of red. */
static void test_shadows_behind_a_veil(void **state)
{
    (void)state;
    const LayerQuad quads[] = {FLOOR("matte"), {"veil", "veil", "", ACROSS(-9, 9, 9, 0.125)}};
    const Light sun[] = {{SUN, 1, 0, 0}};
    CHECK_IN(1, quads, sun, "veil", {0.5 + 0.25 * 0.25, 0.75, 0.75});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shadows_of_suns),
        cmocka_unit_test(test_shadows_of_area_lamps),
        cmocka_unit_test(test_shadows_of_objects_that_shine),
        cmocka_unit_test(test_shadows_behind_a_veil),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
