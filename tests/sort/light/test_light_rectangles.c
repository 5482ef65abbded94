/* Rectangles of light (sort/light/rectangle.ssl): what is drawn lies on them, as densely as is said, whatever their size, shape,
 * distance and turn; and bits depend neither on the class of the CPU nor on the other lanes. */
#include "sort/light/rectangle_light.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { GRID = 64 }; /* pairs of numbers a side */

static const Sampler independent = {SAMPLER_INDEPENDENT};

static double number(uint32_t i, uint32_t dimension, double from, double to)
{
    float u = sampler_1d(&independent, sample_key(3, 1, i, 9), dimension);
    return from + (double)u * (to - from);
}

static float3 direction(uint32_t i, uint32_t dimension)
{
    return warp_sphere(sampler_2d(&independent, sample_key(4, 1, i, 9), dimension));
}

/* A rectangle of any turn, and a point that sees it. */
typedef struct Sight {
    LightShape shape;
    LightQuery from;
} Sight;

/* Sizes are 1e-6 to 1e6 metres, sides differ by up to a thousand, and points are between a thousandth and a thousand of a size away;
 * some are down to 1e-10 of it before the middle. */
static Sight any_sight(uint32_t i)
{
    Sight s;
    double size = pow(10.0, number(i, 0, -6.0, 6.0)), share = pow(10.0, number(i, 1, -3.0, 0.0));
    double height = size * pow(10.0, number(i, 2, -3.0, 3.0)),
           beside = size * pow(10.0, number(i, 3, -2.0, 1.0));
    double around = number(i, 4, 0.0, 6.28), place = size * number(i, 5, 0.0, 2.0);
    if (i % 11 == 0)
        height = size * share * pow(10.0, number(i, 2, -7.0, -1.0)), beside *= height / size,
        place = 0.0;
    float3 z = direction(i, 0), x, y;
    f3_frame(z, &x, &y);
    float3 centre = f3_scale(direction(i, 1), (float)place);
    SceneLight light = {.kind = SCENE_LIGHT_RECTANGLE,
                        .is_two_sided = i % 3 == 0,
                        .size_x_m = (float)(i % 2 ? size : size * share),
                        .size_y_m = (float)(i % 2 ? size * share : size)};
    const float columns[4][3] = {
        {x.x, x.y, x.z}, {y.x, y.y, y.z}, {z.x, z.y, z.z}, {centre.x, centre.y, centre.z}};
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 4; ++column)
            light.light_to_world.m[row][column] = columns[column][row];
    light_shape_init(&light, &s.shape);
    float3 away =
        f3_madd(f3_scale(x, (float)(beside * cos(around))), (float)(beside * sin(around)), y);
    away = f3_madd(away, (float)(light.is_two_sided && i % 2 ? height : -height), z);
    s.from = light_query(f3_add(centre, away), direction(i, 2), i / 7 % 4);
    return s;
}

typedef struct Vec {
    double x, y, z;
} Vec;

static double dot(Vec a, Vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static Vec cross(Vec a, Vec b)
{
    return (Vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static double length(Vec a)
{
    return sqrt(dot(a, a));
}

/* The way to the place (x, y) of a rectangle, in its axes. */
static Vec way_to(const Sight *s, double x, double y)
{
    const LightShape *r = &s->shape;
    const double p[3] = {(double)s->from.position.x, (double)s->from.position.y,
                         (double)s->from.position.z};
    double out[3];
    for (int c = 0; c < 3; ++c)
        out[c] = r->centre[c] - p[c] + x * r->axis[0][c] + y * r->axis[1][c];
    return (Vec){out[0], out[1], out[2]};
}

static void corners_of(const Sight *s, Vec out[4])
{
    for (int i = 0; i < 4; ++i)
        out[i] = way_to(s, i == 1 || i == 2 ? s->shape.half_size[0] : -s->shape.half_size[0],
                        i >= 2 ? s->shape.half_size[1] : -s->shape.half_size[1]);
}

/* [VanOosterom1983] with the volume from the plane's axis. */
static double triangle_angle(const Sight *s, Vec a, Vec b, Vec c)
{
    const Vec z = {s->shape.axis[2][0], s->shape.axis[2][1], s->shape.axis[2][2]};
    double la = length(a), lb = length(b), lc = length(c);
    double volume = fabs(dot(a, z)) * 2.0 * s->shape.half_size[0] * 2.0 * s->shape.half_size[1];
    double base = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
    return 2.0 * atan2(volume, base);
}

/* The integral of directions over the rectangle: half of each edge's angle times the normal of its plane [Lambert1760]. */
static Vec vector_irradiance(const Vec corners[4])
{
    Vec sum = {0.0, 0.0, 0.0};
    for (int i = 0; i < 4; ++i) {
        Vec a = corners[i], b = corners[(i + 1) % 4], n = cross(a, b);
        double sine = length(n), part = 0.5 * atan2(sine, dot(a, b)) / sine;
        sum = (Vec){sum.x + part * n.x, sum.y + part * n.y, sum.z + part * n.z};
    }
    return sum;
}

/* What a grid of pairs of numbers draws. */
typedef struct Drawn {
    double solid_angle, square;
    Vec directions;
    double worst_plane;   /* distance of ends from the plane, by what is said of it */
    double worst_beside;  /* of ends beside the rectangle, by its distance */
    double worst_density; /* relative difference of both programs */
    uint32_t count;
} Drawn;

static void look_at(const Sight *s, const RectangleRows *rows, uint32_t k, Drawn *d)
{
    const LightShape *r = &s->shape;
    double pdf = (double)rows->pdf[k], out[3], x = 0.0, y = 0.0, z = 0.0;
    Vec wi = {(double)rows->wi[0][k], (double)rows->wi[1][k], (double)rows->wi[2][k]};
    for (int c = 0; c < 3; ++c) {
        out[c] = (double)rows->end[c][k] - r->centre[c];
        x += out[c] * r->axis[0][c], y += out[c] * r->axis[1][c], z += out[c] * r->axis[2][c];
    }
    double beside = fmax(fabs(x) - r->half_size[0], fabs(y) - r->half_size[1]);
    double again =
        (double)light_shape_pdf(r, &s->from, wide_get3(rows->wi, k), rows->distance_m[k]);
    d->worst_plane = fmax(d->worst_plane, fabs(z) / (double)rows->end_error_m[k]);
    d->worst_beside = fmax(d->worst_beside, beside / (double)rows->distance_m[k]);
    d->worst_density = fmax(d->worst_density, fabs(again / pdf - 1.0));
    d->solid_angle += 1.0 / pdf / (GRID * GRID);
    d->square += 1.0 / (pdf * pdf) / (GRID * GRID);
    d->directions.x += wi.x / pdf / (GRID * GRID);
    d->directions.y += wi.y / pdf / (GRID * GRID);
    d->directions.z += wi.z / pdf / (GRID * GRID);
    ++d->count;
}

static Drawn draw_grid(const Sight *s)
{
    Drawn d = {.count = 0};
    for (uint32_t first = 0; first < GRID * GRID; first += SSL_BLOCK) {
        RectangleRows rows;
        rectangle_set_shapes(&s->shape, &rows);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            rectangle_set_point(&s->from, k, &rows);
            rows.r[k] = (0.5f + (float)((first + k) % GRID)) / GRID;
            rows.s[k] = (0.5f + (float)((first + k) / GRID)) / GRID;
        }
        rectangle_sample_run(&rows, 0xffff);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            if (rows.is_seen[k])
                look_at(s, &rows, k, &d);
    }
    return d;
}

static void test_light_rectangles_are_drawn_as_densely_as_is_said(void **state)
{
    (void)state;
    double worst_angle[2] = {0.0}, worst_direction[2] = {0.0}, variance = 0.0;
    Drawn worst = {.count = 0};
    for (uint32_t i = 0; i < 2000; ++i) {
        Sight s = any_sight(i);
        bool has_cosine = s.from.sides != 0;
        Vec corners[4];
        corners_of(&s, corners);
        double expected = triangle_angle(&s, corners[0], corners[1], corners[2]) +
                          triangle_angle(&s, corners[0], corners[2], corners[3]);
        Vec directions = vector_irradiance(corners);
        Drawn d = draw_grid(&s);
        assert_int_equal(d.count, GRID * GRID);
        double side = dot(directions, corners[0]) < 0.0 ? -1.0 : 1.0;
        Vec off = {d.directions.x - side * directions.x, d.directions.y - side * directions.y,
                   d.directions.z - side * directions.z};
        worst_angle[has_cosine] =
            fmax(worst_angle[has_cosine], fabs(d.solid_angle / expected - 1.0));
        worst_direction[has_cosine] = fmax(worst_direction[has_cosine], length(off) / expected);
        worst.worst_plane = fmax(worst.worst_plane, d.worst_plane);
        worst.worst_beside = fmax(worst.worst_beside, d.worst_beside);
        worst.worst_density = fmax(worst.worst_density, d.worst_density);
        if (!has_cosine)
            variance = fmax(variance, d.square / (expected * expected) - 1.0);
    }
    print_message("solid angles to %.2g and %.2g, directions to %.2g and %.2g, densities to %.2g\n",
                  worst_angle[0], worst_angle[1], worst_direction[0], worst_direction[1],
                  worst.worst_density);
    print_message("ends at %.2g of their error, beside by %.2g; variance %.2g of the square\n",
                  worst.worst_plane, worst.worst_beside, variance);
    /* A grid sums the inverse of a cosine that falls to a fiftieth to 2 %. */
    assert_true(worst_angle[0] < 4e-3 && worst_angle[1] < 0.025);
    assert_true(worst_direction[0] < 4e-3 && worst_direction[1] < 0.025);
    assert_true(worst.worst_density < 1e-3);
    assert_true(worst.worst_plane <= 1.0 && worst.worst_beside < 1e-6);
    assert_true(variance < 0.5);
}

/* --- bits --------------------------------------------------------------------------------------------- */

static bool is_same(const RectangleRows *a, const RectangleRows *b, uint32_t of_a, uint32_t of_b)
{
    const WideRow *const rows[2][4] = {{a->wi, &a->distance_m, &a->pdf, &a->beam},
                                       {b->wi, &b->distance_m, &b->pdf, &b->beam}};
    bool same = a->is_seen[of_a] == b->is_seen[of_b];
    for (uint32_t r = 0; r < 4 && a->is_seen[of_a]; ++r)
        for (uint32_t c = 0; c < (r == 0 ? 3u : 1u); ++c)
            same &= !memcmp(&rows[0][r][c][of_a], &rows[1][r][c][of_b], sizeof(float));
    return same;
}

static void set_lane(const Sight *s, uint32_t i, uint32_t lane, RectangleRows *rows)
{
    rectangle_set_shape(&s->shape, lane, rows);
    rectangle_set_point(&s->from, lane, rows);
    rows->r[lane] = (float)number(i, 6, 0.0, 1.0), rows->s[lane] = (float)number(i, 7, 0.0, 1.0);
}

/* Each class of CPUs that this machine runs, in any company, has the bits of one lane alone; and beams and ends are those of the
 * shape's functions. */
static void test_light_rectangles_have_the_bits_of_one(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 200; ++i) {
        Sight sights[SSL_BLOCK];
        RectangleRows many, alone;
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            sights[k] = any_sight(SSL_BLOCK * i + k);
            if (i % 2) {
                sights[k].shape.cot_spread = number(SSL_BLOCK * i + k, 8, 0.0, 2.0);
                sights[k].shape.spread_scale = 3.0;
            }
            set_lane(&sights[k], SSL_BLOCK * i + k, k, &many);
        }
        for (uint32_t c = 0; c <= wide_class_here(); ++c) {
            wide_run_as(&rectangle_sample_program, c, &many, 0xffff);
            for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
                const LightShape *shape = &sights[k].shape;
                uint32_t lane = (k + i) % SSL_BLOCK;
                memset(&alone, 0xff, sizeof alone); /* other lanes have numbers that are none */
                set_lane(&sights[k], SSL_BLOCK * i + k, lane, &alone);
                rectangle_sample_run(&alone, (uint16_t)(1u << lane));
                assert_true(is_same(&many, &alone, k, lane));
                if (!many.is_seen[k])
                    continue;
                ++seen;
                float3 wi = wide_get3(many.wi, k);
                double beam = (double)light_shape_beam(shape, wi);
                assert_true(fabs((double)many.beam[k] - beam) <= 1e-3 * shape->spread_scale);
                SurfacePoint end =
                    light_shape_point(shape, sights[k].from.position, wi, many.distance_m[k]);
                assert_true(fabsf(end.error_m / many.end_error_m[k] - 1.0f) < 1e-5f);
                assert_true(f3_length(f3_sub(end.P, wide_get3(many.end, k))) <= end.error_m);
            }
        }
    }
    assert_true(seen > 1000);
}

/* Sides that are seen from behind, from within the plane and from the rim of a spread have nothing. */
static void test_light_rectangles_are_dark_where_nothing_is_seen(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; ++i) {
        RectangleRows rows;
        LightShape shape = {.kind = SCENE_LIGHT_RECTANGLE,
                            .axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                            .half_size = {1, 2},
                            .cot_spread = i == 2 ? 1.0 : 0.0,
                            .spread_scale = 1.0};
        const float3 places[] = {{0.5f, 0.5f, 1.0f}, {3.0f, 0.5f, 0.0f}, {3.5f, 0.0f, -1.0f}};
        const LightQuery from = light_query(places[i], f3(0, 0, 1), SKY_ABOVE | SKY_BELOW);
        rectangle_set_shapes(&shape, &rows);
        rectangle_set_point(&from, 5, &rows);
        rows.r[5] = rows.s[5] = 0.25f;
        wide_set3(rows.wi, 5, f3(0, 0, -1));
        rows.distance_m[5] = 1.0f;
        rectangle_sample_run(&rows, 1 << 5);
        rectangle_irradiance_run(&rows, 1 << 5);
        assert_int_equal(rows.is_seen[5], 0);
        assert_true(rows.irradiance[5] == 0.0f);
        rectangle_density_run(&rows, 1 << 5);
        assert_true(rows.pdf[5] == 0.0f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_rectangles_are_drawn_as_densely_as_is_said),
        cmocka_unit_test(test_light_rectangles_have_the_bits_of_one),
        cmocka_unit_test(test_light_rectangles_are_dark_where_nothing_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
