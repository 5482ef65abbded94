/* The layer ambient_occlusion against closed forms and a quadrature, in places of any size and anywhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sort/render/layer_kit.h"

static const char surface_ssl[] =
    "shader matte(out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(0.8), global_value<normal>);\n}\n"
    "shader glass(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(1, 0.5, 0.25));\n}\n"
    "shader veil(out closure surface)\n{\n"
    "    surface = 0.25 * make_closure<Transparent>(color(1, 0, 0))"
    " + 0.25 * make_closure<Holdout>(color(1))"
    " + 0.5 * make_closure<Emission>(color(3, 1, 0));\n}\n";

#define EVERYWHERE(z, half)                                                                        \
    {                                                                                              \
        {-(half), -(half), z}, {half, -(half), z}, {half, half, z},                                \
        {                                                                                          \
            -(half), half, z                                                                       \
        }                                                                                          \
    }

static void check_place(const LayerPlace *place, const LayerQuad *quads, size_t count,
                        double distance, const double expected[3], const char *what)
{
    Kit kit;
    char limits[64];
    kit_begin(&kit);
    snprintf(limits, sizeof limits, "\"ao_distance_m\": %.9g", distance * place->scale);
    kit_write_text(&kit, "m.ssl", surface_ssl);
    layer_write_scene(
        &kit, place, quads, count, 0.5f,
        (KitScene){.limits = limits,
                   .materials =
                       "{\"name\": \"matte\", \"shader\": \"m.ssl\", \"entry\": \"matte\"},"
                       "{\"name\": \"glass\", \"shader\": \"m.ssl\", \"entry\": \"glass\"},"
                       "{\"name\": \"veil\", \"shader\": \"m.ssl\", \"entry\": \"veil\"}"});
    layer_check(&kit, place, FILM_AOV_AMBIENT_OCCLUSION, expected, what);
    kit_end(&kit);
}

static void test_occlusion_under_nothing_is_none(void **state)
{
    (void)state;
    const LayerQuad floor = {"floor", "matte", "", EVERYWHERE(0, 4)};
    for (size_t i = 0; i < SORT_COUNT_OF(layer_places); ++i)
        check_place(&layer_places[i], &floor, 1, 1e6, (const double[]){1, 1, 1}, "plane");
}

/* Rays at an angle t from the normal reach the roof at a height h within h / cos t. By the cosine, the part of them that
 * goes further than d is (h / d)^2. The camera is between the two, and sees neither roof nor, without a floor, anything. */
static void test_occlusion_under_a_roof(void **state)
{
    (void)state;
    const LayerQuad quads[] = {{"roof", "matte", "", EVERYWHERE(1, 60)},
                               {"floor", "matte", "", EVERYWHERE(0, 4)}};
    const double distances[] = {0.9, 1.25, 2, 10};
    for (size_t i = 0; i < SORT_COUNT_OF(layer_places); ++i)
        for (size_t k = 0; k < (i ? 2 : SORT_COUNT_OF(distances)); ++k) {
            double d = distances[k], p = d > 1 ? 1 / (d * d) : 1;
            check_place(&layer_places[i], quads, 2, d, (const double[]){p, p, p}, "roof");
        }
    check_place(&layer_places[0], quads, 1, 2, (const double[]){0, 0, 0}, "no floor");
}

/* What a roof lets through counts by its colour; one that shadow rays do not see, not at all. */
static void test_occlusion_under_glass(void **state)
{
    (void)state;
    const LayerQuad glass[] = {{"roof", "glass", "", EVERYWHERE(1, 60)},
                               {"floor", "matte", "", EVERYWHERE(0, 4)}};
    const LayerQuad unseen[] = {
        {"roof", "matte", ", \"invisible_to\": [\"shadow\"]", EVERYWHERE(1, 60)},
        {"floor", "matte", "", EVERYWHERE(0, 4)}};
    check_place(&layer_places[0], glass, 2, 2, (const double[]){1, 0.625, 0.4375}, "glass");
    check_place(&layer_places[0], unseen, 2, 2, (const double[]){1, 1, 1},
                "invisible to shadow rays");
}

/* The camera looks through a veil that is a quarter red glass, a quarter hole, and half something that shines. Above the veil is
 * nothing; the floor's rays go through the veil, which lets a quarter of red through. */
static void test_occlusion_behind_a_veil(void **state)
{
    (void)state;
    const LayerQuad quads[] = {{"veil", "veil", "", EVERYWHERE(0.25, 60)},
                               {"floor", "matte", "", EVERYWHERE(0, 4)}};
    check_place(&layer_places[0], quads, 2, 50, (const double[]){0.5 + 0.25 * 0.25, 0.75, 0.75},
                "veil");
}

/* The part by the cosine of the hemisphere around z, above a point of the plane z = 0, in which the walls x = -a and y = -b, of a
 * height h and a length l from their corner on, are not met within d; by the midpoint rule in sin^2 of the angle and azimuth. */
static double open_part(double a, double b, double h, double l, double d)
{
    enum { STEPS = 1500 };
    uint64_t open = 0;
    for (int i = 0; i < STEPS; ++i)
        for (int k = 0; k < STEPS; ++k) {
            double r = sqrt((i + 0.5) / STEPS), phi = 2 * 3.14159265358979 * (k + 0.5) / STEPS;
            double w[3] = {r * cos(phi), r * sin(phi), sqrt(1 - (i + 0.5) / STEPS)};
            double tx = w[0] < 0 ? -a / w[0] : HUGE_VAL, ty = w[1] < 0 ? -b / w[1] : HUGE_VAL;
            bool meets_x = tx <= d && tx * w[2] <= h && b + tx * w[1] >= 0 && b + tx * w[1] <= l;
            bool meets_y = ty <= d && ty * w[2] <= h && a + ty * w[0] >= 0 && a + ty * w[0] <= l;
            open += !meets_x && !meets_y;
        }
    return (double)open / ((double)STEPS * STEPS);
}

static void test_occlusion_in_a_corner(void **state)
{
    (void)state;
    const double a = 0.3, b = 0.5, h = 2, l = 3;
    const LayerQuad quads[] = {
        {"x", "matte", "", {{-a, -b, 0}, {-a, l - b, 0}, {-a, l - b, h}, {-a, -b, h}}},
        {"y", "matte", "", {{-a, -b, 0}, {l - a, -b, 0}, {l - a, -b, h}, {-a, -b, h}}},
        {"floor", "matte", "", {{-a, -b, 0}, {l - a, -b, 0}, {l - a, l - b, 0}, {-a, l - b, 0}}}};
    const double distances[] = {0.45, 1, 100};
    for (size_t k = 0; k < SORT_COUNT_OF(distances); ++k) {
        double p = open_part(a, b, h, l, distances[k]);
        for (size_t i = 0; i < SORT_COUNT_OF(layer_places); i += k ? 8 : 1)
            check_place(&layer_places[i], quads, 3, distances[k], (const double[]){p, p, p},
                        "corner");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occlusion_under_nothing_is_none),
        cmocka_unit_test(test_occlusion_under_a_roof),
        cmocka_unit_test(test_occlusion_under_glass),
        cmocka_unit_test(test_occlusion_behind_a_veil),
        cmocka_unit_test(test_occlusion_in_a_corner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
