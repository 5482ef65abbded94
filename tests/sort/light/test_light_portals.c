/* Looking for the sky through portals: densities of draws and of rays that escape agree, and means stay. */
#include "sort/sampling/sampler.h"
#include "tests/sort/light/light_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Returns a portal that lets light in along `direction`. */
static ScenePortal portal_at(float3 place, float3 direction, float width, float height)
{
    return (ScenePortal){.name = "portal",
                         .portal_to_world = fixture_shine(place, direction),
                         .size_x_m = width,
                         .size_y_m = height};
}

static Lights *make_lights(SceneFixture *f, const ScenePortal *portals, uint32_t count)
{
    f->scene.environment.kind = SCENE_ENVIRONMENT_COLOR;
    f->scene.environment.radiance = f3(1, 1, 1);
    f->scene.environment.environment_to_world = mat4_identity();
    f->scene.environment.world_to_environment = mat4_identity();
    f->scene.portals = portals;
    f->scene.portal_count = count;
    return kit_lights(f);
}

/* Returns the density with which light sampling from a surface, or from a fibre, whose normal is 0, gives a direction to the sky. */
static float density(const Lights *lights, float3 position, float3 normal, float3 direction)
{
    EnvironmentRays rays = {.sides = {f3_length2(normal) > 0.0f ? SKY_ABOVE : SKY_ALL_AROUND}};
    WideRow positions[3];
    LightSky skies[SSL_BLOCK];
    LightHit hit;
    wide_set3(rays.direction, 0, direction);
    wide_set3(rays.normal, 0, normal);
    wide_set3(positions, 0, position);
    lights_find_sky(lights, &rays, positions, 1, skies);
    assert_true(
        lights_infinite_hit(lights, lights_infinite_count(lights) - 1, direction, &skies[0], &hit));
    return hit.pdf_solid_angle;
}

/* Directions drawn, with and without a sun and a lamp to choose from, have the densities that rays there have, but for some at the
 * edges. */
static void check_densities_of(const ScenePortal *portals, uint32_t count, float scale,
                               float3 origin, bool has_others)
{
    enum { SAMPLES = 20000 };
    const Sampler independent = {SAMPLER_INDEPENDENT};
    SceneFixture *f = fixture_create();
    if (has_others) {
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_DISTANT,
                                      .light_to_world = mat4_identity(),
                                      .emission = f3(1, 1, 1)});
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_POINT,
                                      .light_to_world =
                                          mat4_translate(f3_madd(origin, scale, f3(0, 0.5f, 1))),
                                      .emission = f3_splat(0.3f * scale * scale)});
    }
    Lights *lights = make_lights(f, portals, count);
    assert_true(lights_have_portals(lights));
    uint32_t found = 0, differ = 0;
    ZTest surfaces = {0}, fibres = {0};
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        LightSample s;
        bool is_fibre = i % 3 == 0;
        float3 normal = i % 3 == 1 ? f3(0, 1, 0) : f3_normalize(f3(1, 0.5f, -0.2f));
        float2 u = sampler_2d(&independent, sample_key(3, has_others, i, 31), 1);
        double value = 0.0;
        if (is_fibre)
            normal = f3(0, 0, 0);
        if (lights_sample(lights, origin, normal, 0.5f, u, &s) && s.is_environment) {
            float same = density(lights, origin, normal, s.wi);
            differ += fabsf(same - s.pdf_solid_angle) > 1e-3f * s.pdf_solid_angle;
            ++found;
            value = (is_fibre ? 1.0 : fmax(0.0, (double)f3_dot(s.wi, normal))) /
                    (double)s.pdf_solid_angle;
        }
        ztest_add(is_fibre ? &fibres : &surfaces, value);
    }
    assert_true(found > SAMPLES / 10);
    if (differ > found / 500)
        fail_msg("scale %g: %u of %u densities differ", (double)scale, differ, found);
    /* The sky's irradiance is pi on every surface, and 4 pi of it reach a fibre, whatever else there is to choose from. */
    if (ztest_p_value(&surfaces, PI, 1e-3) < KIT_SIGNIFICANCE)
        fail_msg("scale %g: irradiance %g +- %g", (double)scale, surfaces.mean,
                 ztest_standard_error(&surfaces));
    if (ztest_p_value(&fibres, 4.0 * PI, 1e-3) < KIT_SIGNIFICANCE)
        fail_msg("scale %g: around a fibre %g +- %g", (double)scale, fibres.mean,
                 ztest_standard_error(&fibres));
    lights_destroy(lights);
    fixture_destroy(f);
}

/* Four portals, of which two overlap and one is seen from behind, at several scales and places. */
static void check_densities(float scale, float3 origin, bool has_others)
{
    const float3 front = f3_madd(origin, scale, f3(1, 1, 0));
    const ScenePortal portals[] = {
        portal_at(front, f3(-1, 0, 0), scale, 0.8f * scale),
        portal_at(front, f3(-1, -0.2f, 0.1f), 0.4f * scale, 0.3f * scale),
        portal_at(f3_madd(origin, scale, f3(0, 2, 0.3f)), f3(0, -1, 0), scale, 0.5f * scale),
        portal_at(f3_madd(origin, scale, f3(0, 1, -2)), f3(0, 0, -1), scale, scale)};
    check_densities_of(portals, SORT_COUNT_OF(portals), scale, origin, has_others);
}

static void test_portals_have_one_density(void **state)
{
    (void)state;
    const float scales[] = {1e-3f, 1.0f, 1e3f};
    for (uint32_t k = 0; k < SORT_COUNT_OF(scales); ++k)
        for (int has_others = 0; has_others < 2; ++has_others)
            check_densities(scales[k], f3(0, 0, 0), has_others);
    check_densities(1.0f, f3(1e4f, 10.0f, -1e4f), false);
}

enum { MANY = 600, ACROSS = 20 };

/* Places portals around a point: in a front of windows, in a roof, at its own place with all sizes, and anywhere, facing anywhere. */
static void place_many(ScenePortal out[MANY], float scale, float3 origin)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    for (uint32_t i = 0; i < MANY; ++i) {
        const SampleKey key = sample_key(7, 0, i, 33);
        float2 a = sampler_2d(&independent, key, 1), b = sampler_2d(&independent, key, 3),
               c = sampler_2d(&independent, key, 5);
        float row = (float)(i / ACROSS % ACROSS), column = (float)(i % ACROSS);
        float3 place = f3(1.0f, 0.3f * row - 1.0f, 0.3f * (column - 0.5f * ACROSS));
        float3 direction = f3(-1, 0, 0);
        float size = 0.2f * scale;
        if (i >= 200 && i < 300) {
            place = f3(row - 12.0f, 2.0f, 0.5f * (column - 0.5f * ACROSS));
            direction = f3(0, -1, 0);
        } else if (i >= 300 && i < 320) {
            place = f3(-0.7f, 0.4f, 0.5f);
            direction = f3(1, 0.1f * a.x, 0.1f * a.y);
            size = scale * 0.01f * (float)(i - 299);
        } else if (i >= 320) {
            place = f3(8.0f * a.x - 4.0f, 8.0f * a.y - 4.0f, 8.0f * b.x - 4.0f);
            direction = f3(c.x - 0.5f, c.y - 0.5f, b.y - 0.5f);
            size = i % 7 == 0 ? scale : size;
        }
        out[i] = portal_at(f3_madd(origin, scale, place), direction, size, 0.7f * size);
    }
}

/* So do hundreds, of which most are weighed together: in a front, in a roof, many that overlap, and some that face anywhere; and some
 * more than are weighed one by one. */
static void test_many_portals_have_one_density(void **state)
{
    (void)state;
    static ScenePortal portals[MANY];
    const float scales[] = {1e-3f, 1.0f, 1e3f};
    for (uint32_t k = 0; k < SORT_COUNT_OF(scales); ++k) {
        place_many(portals, scales[k], f3(0, 0, 0));
        check_densities_of(portals, MANY, scales[k], f3(0, 0, 0), k != 1);
        check_densities_of(portals, 200, scales[k], f3(0, 0, 0), k == 1);
        check_densities_of(portals + 320, 20, scales[k], f3(0, 0, 0), false);
    }
    place_many(portals, 1.0f, f3(1e4f, 10.0f, -1e4f));
    check_densities_of(portals, MANY, 1.0f, f3(1e4f, 10.0f, -1e4f), false);
}

/* Each of hundreds in a front is drawn at least about as often as what an even sky brings through it, from anywhere before it: rarer
 * ones would be bright dots. */
static void test_many_portals_have_their_parts(void **state)
{
    (void)state;
    enum { COUNT = 900 };
    static ScenePortal front[COUNT];
    const float size = 0.3f;
    const float3 points[] = {{0, 0, 0.4f}, {-1, 2, 0.1f}, {0, 4.5f, 2}, {3, -3, 5}, {0, 0, 30}};
    const float3 normals[] = {{0, 1, 0}, {0, 0, 1}, {-0.6f, 0, 0.8f}};
    for (uint32_t i = 0; i < COUNT; ++i)
        front[i] = portal_at(f3((float)(i % 30) - 14.5f, (float)(i / 30) - 14.5f, 0), /* */
                             f3(0, 0, 1), size, size);
    SceneFixture *f = fixture_create();
    Lights *lights = make_lights(f, front, COUNT);
    double least = 1e30;
    for (uint32_t k = 0; k < SORT_COUNT_OF(points) * SORT_COUNT_OF(normals); ++k) {
        const float3 from = points[k % SORT_COUNT_OF(points)];
        const float3 normal = f3_neg(normals[k / SORT_COUNT_OF(points)]);
        double cosines[COUNT], all = 0.0;
        float3 ways[COUNT];
        for (uint32_t i = 0; i < COUNT; ++i) {
            const mat4 *m = &front[i].portal_to_world;
            float3 way = f3_sub(f3(m->m[0][3], m->m[1][3], m->m[2][3]), from);
            double distance = (double)f3_length(way);
            ways[i] = f3_normalize(way);
            cosines[i] = fmax((double)f3_dot(ways[i], normal), 0.0);
            all += cosines[i] * (double)(size * size) * (double)from.z / pow(distance, 3.0);
        }
        for (uint32_t i = 0; i < COUNT; ++i)
            if (cosines[i] > 0.1)
                least =
                    fmin(least, (double)density(lights, from, normal, ways[i]) * all / cosines[i]);
    }
    print_message("at least %.3g of its part\n", least);
    assert_true(least > 0.25);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* Counts samples of the sky from a surface below (0, 1, 0) that go through a square there, with an edge of 0.5, by its quarters. Returns
 * their number. */
static uint32_t count_through(const Lights *lights, const ScenePortal *square, float3 position,
                              float3 normal, uint32_t count, uint32_t quarters[4])
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    const mat4 *m = &square->portal_to_world;
    uint32_t through = 0;
    for (uint32_t i = 0; i < count; ++i) {
        LightSample s;
        float2 u = sampler_2d(&independent, sample_key(4, 0, i, 32), 1);
        if (!lights_sample(lights, position, normal, 0.5f, u, &s))
            continue;
        float t = (1.0f - position.y) / s.wi.y;
        float3 from_centre = f3_sub(f3_madd(position, t, s.wi), f3(0, 1, 0));
        float x = f3_dot(from_centre, f3(m->m[0][0], m->m[1][0], m->m[2][0]));
        float y = f3_dot(from_centre, f3(m->m[0][1], m->m[1][1], m->m[2][1]));
        if (t > 0.0f && fabsf(x) <= 0.2501f && fabsf(y) <= 0.2501f)
            ++through, ++quarters[2 * (x > 0.0f) + (y > 0.0f)];
    }
    return through;
}

/* Each of several portals gets directions to all its parts: the numbers that choose a portal draw on it, too. From below its centre a
 * square's quarters bring equally much. */
static void test_portals_are_drawn_evenly(void **state)
{
    (void)state;
    enum { SAMPLES = 20000 };
    SceneFixture *f = fixture_create();
    const ScenePortal portals[] = {portal_at(f3(1.5f, 1, 0), f3(-1, -1, 0), 0.4f, 0.8f),
                                   portal_at(f3(0, 1, 0), f3(0, -1, 0), 0.5f, 0.5f),
                                   portal_at(f3(-1, 1, 1), f3(1, -1, -1), 0.4f, 0.3f)};
    Lights *lights = make_lights(f, portals, SORT_COUNT_OF(portals));
    uint32_t quarters[4] = {0};
    double through =
        count_through(lights, &portals[1], f3(0, 0, 0), f3(0, 1, 0), SAMPLES, quarters);
    double chi2 = 0.0;
    for (uint32_t k = 0; k < 4; ++k)
        chi2 += pow(quarters[k] - through / 4, 2.0) / (through / 4);
    assert_true(through > SAMPLES / 4.0);
    if (chi2 > 30.0) /* of 3 degrees of freedom: one in a million */
        fail_msg("quarters have %u, %u, %u, %u", quarters[0], quarters[1], quarters[2],
                 quarters[3]);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* From before a portal the share of its samples is fifteen of sixteen, of an even sky, before anything is seen; from behind it, and
 * from surfaces below whose horizon it lies, there is none. The table sends few through it. */
static void test_portals_are_seen_from_their_front(void **state)
{
    (void)state;
    enum { SAMPLES = 4000 };
    SceneFixture *f = fixture_create();
    const ScenePortal portal = portal_at(f3(0, 1, 0), f3(0, -1, 0), 0.5f, 0.5f);
    const float3 up = f3(0, 1, 0), down = f3(0, -1, 0);
    Lights *lights = make_lights(f, &portal, 1);
    uint32_t quarters[4] = {0};
    uint32_t before = count_through(lights, &portal, f3(0, 0, 0), up, SAMPLES, quarters);
    assert_in_range(before, 15 * SAMPLES / 16, 63 * SAMPLES / 64);
    assert_true(count_through(lights, &portal, f3(0, 2, 0), down, SAMPLES, quarters) <
                SAMPLES / 10);
    assert_true(count_through(lights, &portal, f3(0, 0, 0), down, SAMPLES, quarters) <
                SAMPLES / 10);
    lights_destroy(lights);
    f->scene.environment.kind = SCENE_ENVIRONMENT_NONE; /* nothing shines through it */
    lights = kit_lights(f);
    assert_false(lights_have_portals(lights));
    lights_destroy(lights);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_portals_have_one_density),
        cmocka_unit_test(test_many_portals_have_one_density),
        cmocka_unit_test(test_many_portals_have_their_parts),
        cmocka_unit_test(test_portals_are_drawn_evenly),
        cmocka_unit_test(test_portals_are_seen_from_their_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
