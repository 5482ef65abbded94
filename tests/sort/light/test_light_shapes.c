/* Irradiance by sampling against closed forms, and each density against what is really sampled. */
#include "sort/light/light.h"
#include "sort/light/light_shape.h"

#include "base/stat/chi2.h"
#include "base/stat/ztest.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/sort/light/light_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* --- irradiance ----------------------------------------------------------------------------- */

/* Irradiance of a rectangle of unit radiance that lies above the horizon: E = (L/2) sum of the angles
 * between successive corners, each times (n . unit normal of that edge's plane). Corners in order. */
static double polygon_irradiance(const float3 corners[4], float3 position, float3 normal)
{
    double sum = 0.0, v[4][3];
    const double n[3] = {(double)normal.x, (double)normal.y, (double)normal.z};
    for (int i = 0; i < 4; ++i) {
        v[i][0] = (double)corners[i].x - (double)position.x;
        v[i][1] = (double)corners[i].y - (double)position.y;
        v[i][2] = (double)corners[i].z - (double)position.z;
        double length = sqrt(v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2]);
        for (int k = 0; k < 3; ++k)
            v[i][k] /= length;
    }
    for (int i = 0; i < 4; ++i) {
        const double *a = v[i], *b = v[(i + 1) % 4];
        double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                       a[0] * b[1] - a[1] * b[0]};
        double sine = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
        double angle = atan2(sine, a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
        sum += angle * (n[0] * c[0] + n[1] * c[1] + n[2] * c[2]) / sine;
    }
    return 0.5 * fabs(sum);
}

static void rectangle_corners(const SceneLight *light, float3 out_corners[4])
{
    const float signs[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int i = 0; i < 4; ++i)
        out_corners[i] =
            mat4_point(&light->light_to_world, f3(0.5f * signs[i][0] * light->size_x_m,
                                                  0.5f * signs[i][1] * light->size_y_m, 0));
}

/* The bench Cornell box's lamp: a square of +-0.25 at y = 1.98 over the floor. */
static SceneLight cornell_lamp(void)
{
    return (SceneLight){.kind = SCENE_LIGHT_RECTANGLE,
                        .light_to_world = fixture_shine(f3(0, 1.98f, 0), f3(0, -1, 0)),
                        .size_x_m = 0.5f,
                        .size_y_m = 0.5f};
}

static void test_light_rectangle_cornell_floor(void **state)
{
    (void)state;
    const struct {
        float3 position;
        double e;
    } cases[] = {{{0, 0, 0}, 0.062443}, {{0, 0, 0.9f}, 0.043423}, {{0.9f, 0, 0.9f}, 0.031867}};
    SceneFixture *f = fixture_create();
    SceneLight lamp = cornell_lamp();
    /* Turned so that its sides are parallel to the floor's. */
    lamp.light_to_world = mat4_identity();
    lamp.light_to_world.m[0][0] = 1, lamp.light_to_world.m[1][1] = 0;
    lamp.light_to_world.m[1][2] = 1, lamp.light_to_world.m[2][1] = -1;
    lamp.light_to_world.m[2][2] = 0, lamp.light_to_world.m[1][3] = 1.98f;
    Lights *lights = kit_one_light(f, lamp);
    float3 corners[4];
    rectangle_corners(&lamp, corners);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        double exact = polygon_irradiance(corners, cases[i].position, f3(0, 1, 0));
        assert_true(fabs(exact - cases[i].e) < 1e-6);
        kit_check_irradiance(lights, cases[i].position, f3(0, 1, 0), 2.0 * exact);
    }
    /* Above it, its dark side. */
    LightSample s;
    assert_false(lights_sample(lights, f3(0, 3, 0), f3(0, -1, 0), 0.5f, f2(0.3f, 0.6f), &s));
    lights_destroy(lights);
    fixture_destroy(f);
}

/* Any place: close, far, oblique, tiny, two-sided. */
static void test_light_rectangle_polygon_formula(void **state)
{
    (void)state;
    const struct {
        float3 position, direction;
        float size_x, size_y, turn_distance;
    } cases[] = {
        {{0, 1, 0}, {0, -1, 0}, 4.0f, 3.0f, 0},
        {{0.5f, 2, 1}, {-0.2f, -1, -0.5f}, 1.0f, 2.0f, 0},
        {{0, 0.05f, 0}, {0, -1, 0}, 0.01f, 0.01f, 0},
        {{30, 40, 10}, {-3, -4, -1}, 1.0f, 1.0f, 0},
        {{3, 400, 10}, {0, -1, 0}, 0.1f, 0.1f, 0}, /* below the least solid angle: by area */
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        for (int two_sided = 0; two_sided < 2; ++two_sided) {
            SceneFixture *f = fixture_create();
            float3 shine = two_sided ? f3_neg(cases[i].direction) : cases[i].direction;
            SceneLight light = {.kind = SCENE_LIGHT_RECTANGLE,
                                .light_to_world = fixture_shine(cases[i].position, shine),
                                .size_x_m = cases[i].size_x,
                                .size_y_m = cases[i].size_y,
                                .is_two_sided = two_sided};
            float3 corners[4];
            rectangle_corners(&light, corners);
            Lights *lights = kit_one_light(f, light);
            kit_check_irradiance(lights, f3(0, 0, 0), f3(0, 1, 0),
                                 2.0 * polygon_irradiance(corners, f3(0, 0, 0), f3(0, 1, 0)));
            lights_destroy(lights);
            fixture_destroy(f);
        }
    }
}

/* Form factors between unit squares: what the second receives of a first of radiance 2, as a part of all that
 * the first sends out. One point of the receiver and one of the lamp a sample. */
static void test_light_form_factors(void **state)
{
    (void)state;
    enum { SAMPLES = 400000 };
    const struct {
        float3 corner, along, across, normal; /* of the receiver; the lamp is centred at 0,1,0 */
        double factor;
    } rows[] = {
        {{-0.5f, 0, -0.5f}, {1, 0, 0}, {0, 0, 1}, {0, 1, 0}, 0.1998249},
        {{-0.5f, 0, -0.5f}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, 0.2000438},
    };
    for (uint32_t row = 0; row < SORT_COUNT_OF(rows); ++row) {
        SceneFixture *f = fixture_create();
        Lights *lights = kit_one_light(
            f, (SceneLight){
                   .kind = SCENE_LIGHT_RECTANGLE,
                   .light_to_world = {{{1, 0, 0, 0}, {0, 0, 1, 1}, {0, -1, 0, 0}, {0, 0, 0, 1}}},
                   .size_x_m = 1,
                   .size_y_m = 1});
        const Sampler independent = {SAMPLER_INDEPENDENT};
        ZTest z = {0};
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            SampleKey key = sample_key(4, 5, i, row);
            float2 u = sampler_2d(&independent, key, 2);
            float3 P = f3_add(rows[row].corner, f3_add(f3_scale(rows[row].along, u.x),
                                                       f3_scale(rows[row].across, u.y)));
            LightSample s;
            double value = 0.0;
            if (lights_sample(lights, P, rows[row].normal, 0.5f, sampler_2d(&independent, key, 1),
                              &s))
                value = (double)s.radiance.c[0] *
                        fmax(0.0, (double)f3_dot(s.wi, rows[row].normal)) /
                        (double)s.pdf_solid_angle;
            ztest_add(&z, value / (2.0 * PI));
        }
        double p = ztest_p_value(&z, rows[row].factor, 2e-5 * rows[row].factor);
        if (p < KIT_SIGNIFICANCE)
            fail_msg("form factor %u: %.7g +- %.3g, expected %.7g", row, z.mean,
                     ztest_standard_error(&z), rows[row].factor);
        assert_true(ztest_standard_error(&z) < 0.005 * rows[row].factor);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

static void test_light_disk_on_axis(void **state)
{
    (void)state;
    const float heights[] = {0.2f, 1.0f, 5.0f, 100.0f};
    for (uint32_t i = 0; i < SORT_COUNT_OF(heights); ++i) {
        SceneFixture *f = fixture_create();
        Lights *lights = kit_one_light(
            f, (SceneLight){.kind = SCENE_LIGHT_DISK,
                            .light_to_world = fixture_shine(f3(1, heights[i], -2), f3(0, -1, 0)),
                            .size_x_m = 1.4f,
                            .size_y_m = 1.4f});
        double r2 = 0.49, h2 = (double)heights[i] * (double)heights[i];
        kit_check_irradiance(lights, f3(1, 0, -2), f3(0, 1, 0), 2.0 * PI * r2 / (r2 + h2));
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

static void test_light_sphere_above_horizon(void **state)
{
    (void)state;
    const float distances[] = {0.51f, 1.0f, 10.0f, 10000.0f};
    for (uint32_t i = 0; i < SORT_COUNT_OF(distances); ++i) {
        for (int tilt = 0; tilt < 2; ++tilt) {
            if (tilt && i == 0)
                continue; /* it would dip below the horizon */
            SceneFixture *f = fixture_create();
            float d = distances[i], angle = tilt ? 0.9f : 0.0f;
            Lights *lights =
                kit_one_light(f, (SceneLight){.kind = SCENE_LIGHT_SPHERE,
                                              .light_to_world = mat4_translate(
                                                  f3(d * sinf(angle), d * cosf(angle), 0)),
                                              .radius_m = 0.5f});
            double ratio = 0.5 / (double)d;
            kit_check_irradiance(lights, f3(0, 0, 0), f3(0, 1, 0),
                                 2.0 * PI * ratio * ratio * cos((double)angle));
            lights_destroy(lights);
            fixture_destroy(f);
        }
    }
    SceneFixture *f = fixture_create();
    Lights *lights = kit_one_light(f, (SceneLight){.kind = SCENE_LIGHT_SPHERE,
                                                   .light_to_world = mat4_identity(),
                                                   .radius_m = 0.5f});
    LightSample s;
    assert_false(lights_sample(lights, f3(0, 0.3f, 0), f3(0, 1, 0), 0.5f, f2(0.3f, 0.6f), &s));
    lights_destroy(lights);
    fixture_destroy(f);
}

static void test_light_distant(void **state)
{
    (void)state;
    const float angles_rad[] = {0.0f, 0.00925f, 0.5f, 2.5f};
    for (uint32_t i = 0; i < SORT_COUNT_OF(angles_rad); ++i) {
        SceneFixture *f = fixture_create();
        float3 sun = f3_normalize(f3(0.3f, 0.9f, -0.2f));
        Lights *lights =
            kit_one_light(f, (SceneLight){.kind = SCENE_LIGHT_DISTANT,
                                          .light_to_world = fixture_shine(f3(5, 5, 5), f3_neg(sun)),
                                          .angle_rad = angles_rad[i]});
        kit_check_irradiance(lights, f3(7, 8, 9), sun, 2.0);
        /* Tilted, as long as the whole disk is above the horizon. */
        if (angles_rad[i] < 1.0f)
            kit_check_irradiance(lights, f3(7, 8, 9), f3(0, 1, 0), 2.0 * (double)sun.y);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

static void test_light_point_and_spot(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    Lights *lights = kit_one_light(
        f, (SceneLight){.kind = SCENE_LIGHT_POINT, .light_to_world = mat4_translate(f3(0, 2, 0))});
    LightSample s;
    assert_true(lights_sample(lights, f3(1.5f, 0, 0), f3(0, 1, 0), 0.5f, f2(0.1f, 0.7f), &s));
    assert_true(s.is_delta && s.pdf_solid_angle == 1.0f && s.value == LIGHT_VALUE_KNOWN);
    assert_true(fabsf(s.distance_m - 2.5f) < 1e-6f);
    assert_true(fabsf(s.radiance.c[0] - 2.0f / 6.25f) < 1e-6f);
    assert_true(fabsf(s.radiance.c[2] - 0.5f / 6.25f) < 1e-6f);
    assert_true(f3_length(f3_sub(s.wi, f3(-0.6f, 0.8f, 0))) < 1e-6f);
    lights_destroy(lights);
    fixture_destroy(f);

    /* The flux of a spot, from what reaches a sphere of radius 3 around it:
     * 2 pi I [(1 - cos inner) + (cos inner - cos outer) / 3]. */
    const float inner[] = {0.0f, 0.3f, 0.6f}, outer = 0.7f;
    for (uint32_t i = 0; i < SORT_COUNT_OF(inner); ++i) {
        f = fixture_create();
        mat4 m = fixture_shine(f3(1, 2, 3), f3(0.5f, -1, 0.2f));
        lights = kit_one_light(f, (SceneLight){.kind = SCENE_LIGHT_SPOT,
                                               .light_to_world = m,
                                               .inner_angle_rad = inner[i],
                                               .outer_angle_rad = outer});
        const Sampler independent = {SAMPLER_INDEPENDENT};
        ZTest z = {0};
        for (uint32_t k = 0; k < 400000; ++k) {
            float3 direction =
                warp_sphere(sampler_2d(&independent, sample_key(0, 0, k, 5), SAMPLE_PIXEL));
            float3 at = f3_madd(f3(1, 2, 3), 3.0f, direction);
            bool contributes =
                lights_sample(lights, at, f3_neg(direction), 0.5f, f2(0.5f, 0.5f), &s);
            double e = contributes ? (double)s.radiance.c[0] : 0.0;
            ztest_add(&z, e * 4.0 * PI * 9.0);
            /* Nothing outside the cone, full intensity inside the inner one. */
            float3 axis = f3_normalize(f3(0.5f, -1, 0.2f));
            float angle = acosf(clampf(f3_dot(direction, axis), -1, 1));
            if (angle > outer + 1e-3f)
                assert_false(contributes);
            if (angle < inner[i] - 1e-3f)
                assert_true(fabs(e * 9.0 - 2.0) < 1e-4);
        }
        double ci = cos((double)inner[i]), co = cos((double)outer);
        double flux = 2.0 * 2.0 * PI * ((1.0 - ci) + (ci - co) / 3.0);
        assert_true(ztest_p_value(&z, flux, 1e-5 * flux) > KIT_SIGNIFICANCE);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* --- densities ------------------------------------------------------------------------------ */

/* The points of a flat light: cell coordinates (a, b) in [0,1]^2 to a point, with the area that the
 * unit square is stretched to. */
typedef struct Surface {
    const SceneLight *light;
    LightShape shape;
    LightQuery from;
} Surface;

static float3 surface_point(const Surface *s, double a, double b, double *out_area)
{
    double x, y;
    if (s->light->kind == SCENE_LIGHT_RECTANGLE) {
        x = (a - 0.5) * (double)s->light->size_x_m;
        y = (b - 0.5) * (double)s->light->size_y_m;
        *out_area = (double)s->light->size_x_m * (double)s->light->size_y_m;
    } else { /* a = r^2: equal areas */
        double rx = 0.5 * (double)s->light->size_x_m, ry = 0.5 * (double)s->light->size_y_m;
        x = sqrt(a) * rx * cos(2.0 * PI * b);
        y = sqrt(a) * ry * sin(2.0 * PI * b);
        *out_area = PI * rx * ry;
    }
    return mat4_point(&s->light->light_to_world, f3((float)x, (float)y, 0));
}

/* Density of samples in (a, b), from light_shape_pdf: p dw = p cos / r^2 dA. */
static double cell_density(double a, double b, void *data)
{
    const Surface *s = data;
    double area;
    float3 to_point = f3_sub(surface_point(s, a, b, &area), s->from.position);
    double r2 = (double)f3_length2(to_point);
    float3 axis =
        f3((float)s->shape.axis[2][0], (float)s->shape.axis[2][1], (float)s->shape.axis[2][2]);
    double cosine = fabs((double)f3_dot(to_point, axis)) / sqrt(r2);
    double pdf =
        (double)light_shape_pdf(&s->shape, &s->from, f3_normalize(to_point), (float)sqrt(r2));
    return pdf * cosine / r2 * area;
}

static void check_flat_density(SceneLight light, LightQuery from)
{
    enum { CELLS = 12, SAMPLES = 200000 };
    Surface surface = {.light = &light, .from = from};
    light_shape_init(&light, &surface.shape);
    uint64_t observed[CELLS * CELLS + 1] = {0};
    double expected[CELLS * CELLS + 1], sum = 0.0;
    for (size_t b = 0; b < CELLS; ++b) {
        for (size_t a = 0; a < CELLS; ++a) {
            const double side = 1.0 / (double)CELLS, x = side * (double)a, y = side * (double)b;
            double e = chi2_integrate(cell_density, &surface, x, x + side, y, y + side, 1e-8);
            expected[b * CELLS + a] = e * (double)SAMPLES;
            sum += e;
        }
    }
    expected[SORT_COUNT_OF(expected) - 1] = 0.0;
    assert_true(fabs(sum - 1.0) < 1e-4);
    const Sampler independent = {SAMPLER_INDEPENDENT};
    mat4 world_to_light;
    assert_true(mat4_inverse(light.light_to_world, &world_to_light));
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        float3 wi;
        float distance, pdf;
        float2 u = sampler_2d(&independent, sample_key(0, 0, i, 9), SAMPLE_PIXEL);
        assert_true(light_shape_sample(&surface.shape, &from, u, &wi, &distance, &pdf));
        float same = light_shape_pdf(&surface.shape, &from, wi, distance);
        assert_true(fabsf(same - pdf) <= 1e-4f * pdf);
        float3 p = mat4_point(&world_to_light, f3_madd(from.position, distance, wi));
        assert_true(fabsf(p.z) < 2e-6f * (1.0f + distance));
        double a, b;
        if (light.kind == SCENE_LIGHT_RECTANGLE) {
            a = (double)(p.x / light.size_x_m) + 0.5;
            b = (double)(p.y / light.size_y_m) + 0.5;
        } else {
            float ex = 2.0f * p.x / light.size_x_m, ey = 2.0f * p.y / light.size_y_m;
            a = (double)(ex * ex + ey * ey);
            b = atan2((double)ey, (double)ex) / (2.0 * PI);
            b = b < 0.0 ? b + 1.0 : b;
        }
        assert_true(a > -1e-4 && a < 1.0001 && b > -1e-4 && b < 1.0001);
        int x = (int)fmin(fmax(a, 0.0) * (double)CELLS, (double)CELLS - 1);
        int y = (int)fmin(fmax(b, 0.0) * (double)CELLS, (double)CELLS - 1);
        ++observed[y * CELLS + x];
    }
    Chi2Result r = chi2_test(observed, expected, CELLS * CELLS + 1);
    if (r.p_value < KIT_SIGNIFICANCE)
        fail_msg("chi-square %g at %u degrees: p = %g", r.statistic, r.dof, r.p_value);
}

static void test_light_flat_densities(void **state)
{
    (void)state;
    SceneLight rectangle = {.kind = SCENE_LIGHT_RECTANGLE,
                            .light_to_world = fixture_shine(f3(0, 2, 0), f3(0.1f, -1, 0.3f)),
                            .size_x_m = 3.0f,
                            .size_y_m = 1.0f};
    SceneLight disk = rectangle;
    disk.kind = SCENE_LIGHT_DISK;
    disk.size_x_m = 2.4f, disk.size_y_m = 1.0f;
    const float3 positions[] = {{0, 0, 0}, {2, 0.5f, 1}, {0.3f, 1.7f, 0.1f}, {-30, 0, 20}};
    /* Toward the lamp, across it, and away from it. */
    const float3 normals[] = {{0, 1, 0}, {0.8f, 0, 0.6f}, {0, -0.8f, 0.6f}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(positions); ++i) {
        check_flat_density(disk, (LightQuery){.position = positions[i]});
        check_flat_density(rectangle, (LightQuery){.position = positions[i]});
        for (uint32_t sides = SKY_ABOVE; sides <= (SKY_ABOVE | SKY_BELOW); ++sides)
            check_flat_density(rectangle,
                               light_query(positions[i], normals[(i + sides) % 3], sides));
    }
}

/* Uniform in solid angle: in (cos, azimuth) around the axis, even. */
static void test_light_sphere_density(void **state)
{
    (void)state;
    enum { CELLS = 12, SAMPLES = 200000 };
    const float distances[] = {1.01f, 2.0f, 50.0f};
    for (uint32_t k = 0; k < SORT_COUNT_OF(distances); ++k) {
        SceneLight light = {.kind = SCENE_LIGHT_SPHERE,
                            .light_to_world = mat4_translate(f3(0, 0, distances[k])),
                            .radius_m = 1.0f};
        LightShape shape;
        const LightQuery from = {.position = f3(0, 0, 0)};
        light_shape_init(&light, &shape);
        uint64_t observed[CELLS * CELLS] = {0};
        double expected[CELLS * CELLS];
        double sin2 = 1.0 / ((double)distances[k] * (double)distances[k]);
        double most = sin2 / (1.0 + sqrt(1.0 - sin2)); /* 1 - cos of the rim */
        for (int i = 0; i < CELLS * CELLS; ++i)
            expected[i] = (double)SAMPLES / (CELLS * CELLS);
        const Sampler independent = {SAMPLER_INDEPENDENT};
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            float3 wi, ng;
            float distance, pdf, t;
            float2 u = sampler_2d(&independent, sample_key(0, 0, i, 11), SAMPLE_PIXEL);
            assert_true(light_shape_sample(&shape, &from, u, &wi, &distance, &pdf));
            assert_true(fabs((double)pdf * 2.0 * PI * most - 1.0) < 1e-5);
            assert_true(light_shape_pdf(&shape, &from, wi, distance) == pdf);
            /* The distance is that of the intersection, but at the rim, where there may be none. */
            if (light_shape_intersect(&shape, f3(0, 0, 0), wi, 0, INFINITY, &t, &ng)) {
                assert_true(t == distance);
                assert_true(fabsf(f3_length(ng) - 1.0f) < 1e-5f && f3_dot(ng, wi) <= 0.0f);
            }
            double x = (double)wi.x, y = (double)wi.y;
            double s2 = x * x + y * y, a = s2 / (1.0 + sqrt(1.0 - s2)) / most;
            double b = atan2(y, x) / (2.0 * PI) + 0.5;
            int cx = (int)fmin(a * (double)CELLS, (double)CELLS - 1);
            int cy = (int)fmin(b * (double)CELLS, (double)CELLS - 1);
            ++observed[cy * CELLS + cx];
        }
        Chi2Result r = chi2_test(observed, expected, CELLS * CELLS);
        assert_true(r.p_value > KIT_SIGNIFICANCE);
    }
}

/* Cosine-distributed directions that happen to meet the light tell the same irradiance, and the
 * density they report for light sampling integrates to 1. */
static void test_light_strategies_agree(void **state)
{
    (void)state;
    const SceneLight shapes[] = {
        {.kind = SCENE_LIGHT_RECTANGLE,
         .light_to_world = fixture_shine(f3(0.2f, 1, 0.1f), f3(0, -1, 0.2f)),
         .size_x_m = 1.5f,
         .size_y_m = 1.0f},
        {.kind = SCENE_LIGHT_DISK,
         .light_to_world = fixture_shine(f3(0.2f, 1, 0.1f), f3(0, 1, 0.2f)),
         .size_x_m = 1.6f,
         .size_y_m = 1.1f,
         .is_two_sided = true},
        {.kind = SCENE_LIGHT_SPHERE,
         .light_to_world = mat4_translate(f3(0.2f, 1.2f, 0.1f)),
         .radius_m = 0.5f},
    };
    const float3 normal = {0, 1, 0}, origin = {0, 0, 0};
    const LightQuery from = light_query(origin, normal, SKY_ABOVE);
    for (uint32_t k = 0; k < SORT_COUNT_OF(shapes); ++k) {
        SceneFixture *f = fixture_create();
        /* A second light halves the chance of the first: densities must say so. */
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_POINT,
                                      .light_to_world = mat4_translate(f3(0, 5, 0)),
                                      .emission = f3(0, 0.1f, 0)});
        Lights *lights = kit_one_light(f, shapes[k]);
        assert_int_equal(lights_count(lights), 2);
        LightShape shape;
        light_shape_init(&shapes[k], &shape);
        const Sampler independent = {SAMPLER_INDEPENDENT};
        ZTest by_light = kit_irradiance(lights, origin, normal, 400000), by_cosine = {0},
              density = {0};
        for (uint32_t i = 0; i < 400000; ++i) {
            float2 u = sampler_2d(&independent, sample_key(0, 0, i, 13), SAMPLE_PIXEL);
            float3 d = warp_hemisphere_cosine(u), ng;
            d = f3(d.x, d.z, d.y);
            float t;
            double e = 0.0, p = 0.0;
            if (light_shape_intersect(&shape, origin, d, 0, INFINITY, &t, &ng)) {
                LightHit hit = lights_shape_hit(lights, &from, 1, d, t);
                e = (double)hit.radiance.c[0] * PI;
                p = (double)hit.pdf_solid_angle * PI / (double)d.y;
            }
            ztest_add(&by_cosine, e);
            ztest_add(&density, p);
        }
        assert_true(ztest_p_value_two(&by_light, &by_cosine) > KIT_SIGNIFICANCE);
        double chance = (double)lights_choice_probability(lights, 1, origin, normal);
        assert_true(chance > 0.1 && chance < 0.999);
        assert_true(ztest_p_value(&density, chance, 1e-5) > KIT_SIGNIFICANCE);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_rectangle_cornell_floor),
        cmocka_unit_test(test_light_rectangle_polygon_formula),
        cmocka_unit_test(test_light_form_factors),
        cmocka_unit_test(test_light_disk_on_axis),
        cmocka_unit_test(test_light_sphere_above_horizon),
        cmocka_unit_test(test_light_distant),
        cmocka_unit_test(test_light_point_and_spot),
        cmocka_unit_test(test_light_flat_densities),
        cmocka_unit_test(test_light_sphere_density),
        cmocka_unit_test(test_light_strategies_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
