#include "sort/light/light_shape.h"

#include "base/check.h"
#include "sort/light/rectangle_light.h"
#include "sort/sampling/turn.h"
#include "sort/sampling/warp.h"

typedef struct Vec {
    double x, y, z;
} Vec;

static const double pi = 3.14159265358979323846;

static Vec vec_of(float3 a)
{
    return (Vec){(double)a.x, (double)a.y, (double)a.z};
}

static Vec vec_of_array(const double a[3])
{
    return (Vec){a[0], a[1], a[2]};
}

static Vec sub(Vec a, Vec b)
{
    return (Vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static Vec madd(Vec a, double s, Vec b)
{
    return (Vec){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static double dot(Vec a, Vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static float3 to_float3(Vec a)
{
    return f3((float)a.x, (float)a.y, (float)a.z);
}

bool light_shape_exists(const SceneLight *light)
{
    if (light->kind == SCENE_LIGHT_POINT || light->kind == SCENE_LIGHT_SPOT)
        return light->radius_m > 0.0f;
    return light->kind != SCENE_LIGHT_DISTANT;
}

bool light_shape_faces(const LightShape *shape)
{
    return shape->kind == SCENE_LIGHT_POINT || shape->kind == SCENE_LIGHT_SPOT;
}

static bool is_ball(const LightShape *shape)
{
    return shape->kind == SCENE_LIGHT_SPHERE || light_shape_faces(shape);
}

/* A triangle with rounded corners and a ray's distance to it have this error along the normal, as triangle_error of
 * sort/shade/hit.c has it at the corners. */
static double rectangle_error(const LightShape *shape)
{
    const double operations = 4.0, least_share = 0x1p-30;
    double edge[3], corner[3], lever = 0.0, place = 0.0, longest = 0.0;
    for (int k = 0; k < 3; ++k) {
        edge[k] = 2.0 * (fabs(shape->axis[0][k]) * shape->half_size[0] +
                         fabs(shape->axis[1][k]) * shape->half_size[1]);
        corner[k] = fabs(shape->centre[k]) + 0.5 * edge[k];
        place += fabs(shape->axis[2][k]) * (corner[k] + edge[k]);
        longest = fmax(longest, edge[k]);
    }
    for (int k = 0; k < 3; ++k)
        lever += edge[k] * edge[(k + 1) % 3] * edge[(k + 2) % 3];
    double area2 = 4.0 * shape->half_size[0] * shape->half_size[1];
    lever = area2 > 0.0 ? 2.0 * lever / area2 : 0.0;
    return operations * (double)RAY_ROUNDING * (place + lever) + least_share * longest;
}

void light_shape_init(const SceneLight *light, LightShape *out_shape)
{
    CHECK(light_shape_exists(light));
    *out_shape =
        (LightShape){.kind = light->kind,
                     .is_two_sided = light->is_two_sided,
                     .half_size = {0.5 * (double)light->size_x_m, 0.5 * (double)light->size_y_m},
                     .radius = (double)light->radius_m,
                     .spread_scale = 1.0};
    double spread = 0.5 * (double)light->spread_rad;
    if (spread > 0.0 && !is_ball(out_shape)) {
        Complex turn = turn_unit(spread);
        out_shape->cot_spread = turn.re / turn.im;
        /* The difference loses digits as b^2; its series does not. */
        double b2 = spread * spread;
        out_shape->spread_scale = 1.0 / (spread < 0.01 ? b2 * (1.0 / 3.0 + b2 / 45.0)
                                                       : 1.0 - spread * out_shape->cot_spread);
    }
    for (int row = 0; row < 3; ++row) {
        out_shape->centre[row] = (double)light->light_to_world.m[row][3];
        for (int axis = 0; axis < 3; ++axis)
            out_shape->axis[axis][row] = (double)light->light_to_world.m[row][axis];
    }
    if (light->kind == SCENE_LIGHT_RECTANGLE)
        out_shape->plane_error = rectangle_error(out_shape);
}

double light_shape_area(const LightShape *shape)
{
    if (is_ball(shape))
        return (light_shape_faces(shape) ? 1.0 : 4.0) * pi * shape->radius * shape->radius;
    return (shape->kind == SCENE_LIGHT_DISK ? pi : 4.0) * shape->half_size[0] * shape->half_size[1];
}

void light_shape_corners(const LightShape *shape, float3 out_corners[4])
{
    Vec x = vec_of_array(shape->axis[0]), y = vec_of_array(shape->axis[1]);
    Vec z = vec_of_array(shape->axis[2]);
    Vec normal = {x.y * y.z - x.z * y.y, x.z * y.x - x.x * y.z, x.x * y.y - x.y * y.x};
    double hx = shape->half_size[0];
    double hy = dot(normal, z) > 0.0 ? -shape->half_size[1] : shape->half_size[1];
    ASSERT(shape->kind == SCENE_LIGHT_RECTANGLE);
    for (int i = 0; i < 4; ++i) {
        Vec at = madd(vec_of_array(shape->centre), i == 1 || i == 2 ? hx : -hx, x);
        out_corners[i] = to_float3(madd(at, i >= 2 ? hy : -hy, y));
    }
}

void light_shape_bounds(const LightShape *shape, float3 *out_lower, float3 *out_upper)
{
    float lower[3], upper[3];
    for (int k = 0; k < 3; ++k) {
        double reach = shape->radius;
        double x = shape->axis[0][k] * shape->half_size[0];
        double y = shape->axis[1][k] * shape->half_size[1];
        if (shape->kind == SCENE_LIGHT_RECTANGLE)
            reach = fabs(x) + fabs(y);
        else if (shape->kind == SCENE_LIGHT_DISK)
            reach = sqrt(x * x + y * y);
        /* Outward to the next float. */
        lower[k] = nextafterf((float)(shape->centre[k] - reach), -INFINITY);
        upper[k] = nextafterf((float)(shape->centre[k] + reach), INFINITY);
    }
    *out_lower = f3(lower[0], lower[1], lower[2]);
    *out_upper = f3(upper[0], upper[1], upper[2]);
}

/* --- intersection --------------------------------------------------------------------------- */

static bool in_range(double t, float t_min, float t_max, float *out_t)
{
    *out_t = (float)t;
    return *out_t > t_min && *out_t < t_max;
}

/* The plane through the centre, across the ray. */
static bool intersect_facing(const LightShape *shape, Vec o, Vec d, float t_min, float t_max,
                             float *out_t, float3 *out_ng)
{
    ASSERT(light_shape_faces(shape));
    Vec to_centre = sub(vec_of_array(shape->centre), o);
    double d2 = dot(d, d), t = dot(to_centre, d) / d2;
    Vec miss = madd(to_centre, -t, d);
    *out_ng = to_float3(madd((Vec){0, 0, 0}, -1.0 / sqrt(d2), d));
    return dot(miss, miss) <= shape->radius * shape->radius && in_range(t, t_min, t_max, out_t);
}

static bool intersect_sphere(const LightShape *shape, Vec o, Vec d, float t_min, float t_max,
                             float *out_t, float3 *out_ng)
{
    /* The near root alone: from inside, the surface is dark. The discriminant through the point of
     * the ray nearest to the centre keeps its digits far away [Haines2019]. */
    Vec to_centre = sub(vec_of_array(shape->centre), o);
    double d2 = dot(d, d), along = dot(to_centre, d) / d2;
    Vec miss = madd(to_centre, -along, d);
    ASSERT(shape->kind == SCENE_LIGHT_SPHERE);
    double r2 = shape->radius * shape->radius, half_chord2 = (r2 - dot(miss, miss)) / d2;
    if (half_chord2 < 0.0)
        return false;
    double t = along - sqrt(half_chord2);
    if (!in_range(t, t_min, t_max, out_t))
        return false;
    Vec normal =
        madd((Vec){0, 0, 0}, 1.0 / shape->radius, madd(sub(o, vec_of_array(shape->centre)), t, d));
    *out_ng = to_float3(normal);
    return true;
}

/* A point of the plane of a flat light, in its axes. */
static bool is_on_shape(const LightShape *shape, double x, double y)
{
    double a = x / shape->half_size[0], b = y / shape->half_size[1];
    return shape->kind == SCENE_LIGHT_RECTANGLE ? fabs(a) <= 1.0 && fabs(b) <= 1.0
                                                : a * a + b * b <= 1.0;
}

bool light_shape_intersect(const LightShape *shape, float3 origin, float3 direction, float t_min,
                           float t_max, float *out_t, float3 *out_ng)
{
    Vec o = vec_of(origin), d = vec_of(direction);
    if (is_ball(shape))
        return (light_shape_faces(shape) ? intersect_facing : intersect_sphere)(
            shape, o, d, t_min, t_max, out_t, out_ng);

    Vec z = vec_of_array(shape->axis[2]);
    double approach = dot(d, z);
    /* Bright toward -z: a ray that meets it there has height < 0 and comes up. */
    if (approach == 0.0 || (!shape->is_two_sided && approach < 0.0))
        return false;
    Vec from_centre = sub(o, vec_of_array(shape->centre));
    double t = -dot(from_centre, z) / approach;
    if (!in_range(t, t_min, t_max, out_t))
        return false;
    Vec p = madd(from_centre, t, d);
    double x = dot(p, vec_of_array(shape->axis[0])), y = dot(p, vec_of_array(shape->axis[1]));
    *out_ng = to_float3((Vec){-z.x, -z.y, -z.z});
    return is_on_shape(shape, x, y);
}

/* --- spread --------------------------------------------------------------------------------- */

float light_shape_beam(const LightShape *shape, float3 wi)
{
    if (shape->cot_spread == 0.0)
        return 1.0f;
    double cosine = dot(vec_of(wi), vec_of_array(shape->axis[2]));
    double x = dot(vec_of(wi), vec_of_array(shape->axis[0]));
    double y = dot(vec_of(wi), vec_of_array(shape->axis[1]));
    cosine = shape->is_two_sided ? fabs(cosine) : cosine;
    if (!(cosine > 0.0))
        return 0.0f;
    /* Not by 1 - cosine^2: the direction is not a unit one to more than seven digits, which would be 0.02 degrees. */
    double tangent = sqrt(x * x + y * y) / cosine;
    return (float)(fmax(0.0, 1.0 - tangent * shape->cot_spread) * shape->spread_scale);
}

float light_shape_cos_spread(const LightShape *shape)
{
    double c = shape->cot_spread;
    return (float)(c / sqrt(1.0 + c * c));
}

/* The part of a disk that is sampled for a point, in the disk's axes. */
typedef struct Part {
    bool is_circle; /* about x0, y0; else the whole ellipse */
    double x0, y0, radius;
    double area;
} Part;

/* A point sees light from within a circle about its foot on the disk's plane. Of the disk and the circle the smaller one is sampled,
 * and what falls beside the other one is dark. False: all of the disk is. */
static bool part_seen(const LightShape *shape, Vec position, double height, Part *out_part)
{
    ASSERT(shape->kind == SCENE_LIGHT_DISK);
    *out_part = (Part){.area = light_shape_area(shape)};
    if (shape->cot_spread == 0.0)
        return true;
    double reach = height / shape->cot_spread;
    Vec from_centre = sub(position, vec_of_array(shape->centre));
    double x = dot(from_centre, vec_of_array(shape->axis[0]));
    double y = dot(from_centre, vec_of_array(shape->axis[1]));
    if (!(fabs(x) < shape->half_size[0] + reach && fabs(y) < shape->half_size[1] + reach))
        return false;
    if (pi * reach * reach < out_part->area)
        *out_part = (Part){
            .is_circle = true, .x0 = x, .y0 = y, .radius = reach, .area = pi * reach * reach};
    return true;
}

static bool is_in_part(const Part *part, double x, double y)
{
    double dx = x - part->x0, dy = y - part->y0;
    return !part->is_circle || dx * dx + dy * dy <= part->radius * part->radius;
}

/* --- sampling ------------------------------------------------------------------------------- */

/* Height of the position over the plane of a flat light; positive on the bright side, and where
 * nothing is seen (dark side, edge-on) 0. */
static double bright_height(const LightShape *shape, Vec position)
{
    double height = dot(sub(vec_of_array(shape->centre), position), vec_of_array(shape->axis[2]));
    return shape->is_two_sided ? fabs(height) : fmax(0.0, height);
}

/* Density of area sampling in solid angle: r^2 / (cos A). cos is height / r. */
static double area_pdf(const Part *part, double distance, double height)
{
    return distance * distance * distance / (height * part->area);
}

/* 1 - cos of the half angle of the cone that a sphere fills from outside; 0 from inside. */
static double sphere_one_minus_cos(const LightShape *shape, double centre_distance2)
{
    double sin2 = shape->radius * shape->radius / centre_distance2;
    return sin2 < 1.0 ? sin2 / (1.0 + sqrt(1.0 - sin2)) : 0.0;
}

static bool sample_sphere(const LightShape *shape, Vec p, float2 u, float3 *out_wi,
                          float *out_distance_m, float *out_pdf_solid_angle)
{
    Vec to_centre = sub(vec_of_array(shape->centre), p);
    double distance2 = dot(to_centre, to_centre), distance = sqrt(distance2);
    float one_minus_cos = (float)sphere_one_minus_cos(shape, distance2);
    if (!(one_minus_cos > 0.0f))
        return false;
    float3 n = to_float3(madd((Vec){0, 0, 0}, 1.0 / distance, to_centre)), s, t;
    f3_frame(n, &s, &t);
    *out_wi = f3_normalize(warp_to_frame(warp_cone(u, one_minus_cos), s, t, n));
    float3 ng;
    /* A direction that rounding puts beside the sphere touches its rim. */
    if (!light_shape_intersect(shape, to_float3(p), *out_wi, 0.0f, INFINITY, out_distance_m, &ng))
        *out_distance_m = (float)sqrt(distance2 - shape->radius * shape->radius);
    *out_pdf_solid_angle = warp_cone_pdf(one_minus_cos);
    return *out_distance_m > 0.0f;
}

/* Density in solid angle of a direction at an angle from that to the centre, evenly over the facing disk: r^2 / cos
 * over its area; 0 beside it. */
static double facing_pdf(const LightShape *shape, double centre_distance, double cosine)
{
    double r = shape->radius, d = centre_distance, tangent2 = 1.0 / (cosine * cosine) - 1.0;
    if (!(cosine > 0.0) || !(d > 0.0) || tangent2 * d * d > r * r * (1.0 + 1e-6))
        return 0.0;
    return d * d / (cosine * cosine * cosine * pi * r * r);
}

static bool sample_facing(const LightShape *shape, Vec p, float2 u, float3 *out_wi,
                          float *out_distance_m, float *out_pdf_solid_angle)
{
    Vec to_centre = sub(vec_of_array(shape->centre), p);
    double d = sqrt(dot(to_centre, to_centre));
    if (!(d > 0.0))
        return false;
    float3 n = to_float3(madd((Vec){0, 0, 0}, 1.0 / d, to_centre)), s, t;
    f3_frame(n, &s, &t);
    float2 disk = warp_disk(u);
    Vec at = madd(to_centre, shape->radius * (double)disk.x, vec_of(s));
    at = madd(at, shape->radius * (double)disk.y, vec_of(t));
    double distance = sqrt(dot(at, at)), cosine = fmin(1.0, d / distance);
    *out_wi = to_float3(madd((Vec){0, 0, 0}, 1.0 / distance, at));
    /* Where a ray in this direction meets it. */
    *out_distance_m = (float)(d * cosine);
    *out_pdf_solid_angle = (float)facing_pdf(shape, d, cosine);
    return *out_pdf_solid_angle > 0.0f && *out_distance_m > 0.0f;
}

/* Sets the direction to the point (x, y) of a flat light, in its axes. Returns its distance. */
static double aim_at(const LightShape *shape, Vec p, double x, double y, float3 *out_wi,
                     float *out_distance_m)
{
    Vec to_point = sub(vec_of_array(shape->centre), p);
    to_point = madd(to_point, x, vec_of_array(shape->axis[0]));
    to_point = madd(to_point, y, vec_of_array(shape->axis[1]));
    double distance = sqrt(dot(to_point, to_point));
    *out_wi = to_float3(madd((Vec){0, 0, 0}, 1.0 / distance, to_point));
    *out_distance_m = (float)distance;
    return distance;
}

static bool sample_disk(const LightShape *shape, Vec p, float2 u, float3 *out_wi,
                        float *out_distance_m, float *out_pdf_solid_angle)
{
    double height = bright_height(shape, p);
    Part part;
    if (!(height > 0.0) || !part_seen(shape, p, height, &part))
        return false;
    float2 disk = warp_disk(u);
    double x = part.x0 + part.radius * (double)disk.x, y = part.y0 + part.radius * (double)disk.y;
    if (!part.is_circle)
        x = shape->half_size[0] * (double)disk.x, y = shape->half_size[1] * (double)disk.y;
    else if (!is_on_shape(shape, x, y))
        return false;
    double distance = aim_at(shape, p, x, y, out_wi, out_distance_m);
    *out_pdf_solid_angle = (float)area_pdf(&part, distance, height);
    return true;
}

/* Samples one rectangle. */
static bool sample_rectangle(const LightShape *shape, const LightQuery *from, float2 u,
                             float3 *out_wi, float *out_distance_m, float *out_pdf_solid_angle)
{
    RectangleRows one;
    rectangle_set_shape(shape, 0, &one);
    rectangle_set_point(from, 0, &one);
    one.r[0] = u.x, one.s[0] = u.y;
    rectangle_sample_run(&one, 1);
    *out_wi = wide_get3(one.wi, 0);
    *out_distance_m = one.distance_m[0];
    *out_pdf_solid_angle = one.pdf[0];
    return one.is_seen[0] != 0;
}

bool light_shape_sample(const LightShape *shape, const LightQuery *from, float2 u, float3 *out_wi,
                        float *out_distance_m, float *out_pdf_solid_angle)
{
    Vec p = vec_of(from->position);
    if (light_shape_faces(shape))
        return sample_facing(shape, p, u, out_wi, out_distance_m, out_pdf_solid_angle);
    if (shape->kind == SCENE_LIGHT_SPHERE)
        return sample_sphere(shape, p, u, out_wi, out_distance_m, out_pdf_solid_angle);
    if (shape->kind == SCENE_LIGHT_DISK)
        return sample_disk(shape, p, u, out_wi, out_distance_m, out_pdf_solid_angle);
    return sample_rectangle(shape, from, u, out_wi, out_distance_m, out_pdf_solid_angle);
}

SurfacePoint light_shape_point(const LightShape *shape, float3 position, float3 direction,
                               float distance_m)
{
    float3 P = f3_madd(position, distance_m, direction), n;
    if (shape->kind == SCENE_LIGHT_SPHERE)
        n = to_float3(
            madd((Vec){0, 0, 0}, 1.0 / shape->radius, sub(vec_of(P), vec_of_array(shape->centre))));
    else
        n = light_shape_faces(shape) ? direction : to_float3(vec_of_array(shape->axis[2]));
    float error = (float)shape->plane_error;
    float place = fabsf(n.x * position.x) + fabsf(n.y * position.y) + fabsf(n.z * position.z);
    return (SurfacePoint){
        .P = P, .n = n, .error_m = LIGHT_SHAPE_ROUNDING * (place + distance_m) + error};
}

static float rectangle_pdf(const LightShape *shape, const LightQuery *from, float3 direction,
                           float distance_m)
{
    RectangleRows one;
    rectangle_set_shape(shape, 0, &one);
    rectangle_set_point(from, 0, &one);
    wide_set3(one.wi, 0, direction);
    one.distance_m[0] = distance_m;
    rectangle_density_run(&one, 1);
    return one.pdf[0];
}

float light_shape_pdf(const LightShape *shape, const LightQuery *from, float3 direction,
                      float distance_m)
{
    Vec p = vec_of(from->position);
    if (shape->kind == SCENE_LIGHT_SPHERE) {
        Vec to_centre = sub(vec_of_array(shape->centre), p);
        float one_minus_cos = (float)sphere_one_minus_cos(shape, dot(to_centre, to_centre));
        return one_minus_cos > 0.0f ? warp_cone_pdf(one_minus_cos) : 0.0f;
    }
    if (light_shape_faces(shape)) {
        Vec to_centre = sub(vec_of_array(shape->centre), p);
        double d = sqrt(dot(to_centre, to_centre));
        return (float)facing_pdf(shape, d, fmin(1.0, dot(to_centre, vec_of(direction)) / d));
    }
    if (shape->kind == SCENE_LIGHT_RECTANGLE)
        return rectangle_pdf(shape, from, direction, distance_m);
    double height = bright_height(shape, p);
    Part part;
    if (!(height > 0.0) || !part_seen(shape, p, height, &part))
        return 0.0f;
    Vec met = sub(madd(p, (double)distance_m, vec_of(direction)), vec_of_array(shape->centre));
    if (!is_in_part(&part, dot(met, vec_of_array(shape->axis[0])),
                    dot(met, vec_of_array(shape->axis[1]))))
        return 0.0f;
    return (float)area_pdf(&part, (double)distance_m, height);
}
