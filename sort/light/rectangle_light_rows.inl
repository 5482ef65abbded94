/* The loops over points that sample rectangles. spherical_rectangle_rows.c, _v3.c and _v4.c compile this for each class of CPUs,
 * under the names RECTANGLE_LIGHT_ROWS and RECTANGLE_IRRADIANCE_ROWS, after SPHERICAL_RECTANGLE_ROWS; the compiler computes as many at
 * once as the CPU has lanes. Bits are the same in every class. */
#include "sort/light/rectangle_light.h"

/* --- shapes ------------------------------------------------------------------------------------- */

/* Sets the whole row, in less time than a part of it. */
static inline void fill(RectangleRow row, double value)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = value;
}

static void set_shape(RectangleShapes *rows, uint32_t k, const LightShape *s)
{
    for (uint32_t c = 0; c < 3; ++c) {
        rows->centre[c][k] = s->centre[c];
        for (uint32_t a = 0; a < 3; ++a)
            rows->axis[a][c][k] = s->axis[a][c];
    }
    rows->half_size[0][k] = s->half_size[0], rows->half_size[1][k] = s->half_size[1];
    rows->cot_spread[k] = s->cot_spread, rows->spread_scale[k] = s->spread_scale;
    rows->plane_error[k] = s->plane_error;
    rows->two_sided[k] = s->is_two_sided ? 1.0 : 0.0;
}

/* Sets one shape for all points, in less time. */
static void set_shapes(RectangleShapes *rows, const LightShape *s)
{
    for (uint32_t c = 0; c < 3; ++c) {
        fill(rows->centre[c], s->centre[c]);
        for (uint32_t a = 0; a < 3; ++a)
            fill(rows->axis[a][c], s->axis[a][c]);
    }
    fill(rows->half_size[0], s->half_size[0]);
    fill(rows->half_size[1], s->half_size[1]);
    fill(rows->cot_spread, s->cot_spread);
    fill(rows->spread_scale, s->spread_scale);
    fill(rows->plane_error, s->plane_error);
    fill(rows->two_sided, s->is_two_sided ? 1.0 : 0.0);
}

/* Loads the shapes. Returns whether one of them has a spread. */
static bool load_shapes(RectangleLights *r, uint32_t count)
{
    uintptr_t others = 0;
    bool has_spread = false;
    for (uint32_t k = 0; k < count; ++k)
        others |= (uintptr_t)r->shape[k] ^ (uintptr_t)r->shape[0];
    if (others == 0) {
        set_shapes(&r->work.shapes, r->shape[0]);
        return r->shape[0]->cot_spread != 0.0;
    }
    for (uint32_t k = 0; k < count; ++k) {
        set_shape(&r->work.shapes, k, r->shape[k]);
        has_spread |= r->shape[k]->cot_spread != 0.0;
    }
    return has_spread;
}

/* --- points ------------------------------------------------------------------------------------- */

/* A vector of a point. */
typedef struct At {
    double x, y, z;
} At;

static inline At row_at(const RectangleRow rows[3], uint32_t k)
{
    return (At){rows[0][k], rows[1][k], rows[2][k]};
}

static inline At float_at(const WideRow rows[3], uint32_t k)
{
    return (At){(double)rows[0][k], (double)rows[1][k], (double)rows[2][k]};
}

static inline double product(At a, At b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline At to_centre(const RectangleLights *r, uint32_t k)
{
    At c = row_at(r->work.shapes.centre, k), p = float_at(r->position, k);
    return (At){c.x - p.x, c.y - p.y, c.z - p.z};
}

/* Sets the part of each rectangle that its point sees: a point sees light from within a circle about its foot on the light's plane,
 * and the rectangle is cut to the square around that. */
static void see(RectangleLights *r, uint32_t count)
{
    RectangleWork *w = &r->work;
    const RectangleShapes *s = &w->shapes;
    for (uint32_t k = 0; k < count; ++k) {
        At way = to_centre(r, k), n = float_at(r->normal, k);
        At ax = row_at(s->axis[0], k), ay = row_at(s->axis[1], k), az = row_at(s->axis[2], k);
        double x = product(way, ax), y = product(way, ay), height = product(way, az);
        double hx = s->half_size[0][k], hy = s->half_size[1][k];
        double above = height > 0.0 ? height : 0.0, any = fabs(height);
        double bright = s->two_sided[k] != 0.0 ? any : above, cot = s->cot_spread[k];
        double reach = bright / cot;
        reach = cot == 0.0 ? 1e300 : reach;
        double west = -x - reach, east = -x + reach, south = -y - reach, north = -y + reach;
        double x0 = west > -hx ? west : -hx, x1 = east < hx ? east : hx;
        double y0 = south > -hy ? south : -hy, y1 = north < hy ? north : hy;
        double area = (x1 - x0) * (y1 - y0);
        double inside = fabs(x) < hx + reach ? bright : 0.0;
        inside = fabs(y) < hy + reach ? inside : 0.0;
        inside = area > 0.0 ? inside : 0.0;
        w->height[k] = cot == 0.0 ? bright : inside;
        w->x0[k] = x0, w->x1[k] = x1, w->y0[k] = y0, w->y1[k] = y1, w->area[k] = area;
        w->seen.x0[k] = x + x0, w->seen.x1[k] = x + x1;
        w->seen.y0[k] = y + y0, w->seen.y1[k] = y + y1;
        w->seen.depth[k] = any;
        double z = product(n, az);
        w->seen.normal[0][k] = product(n, ax), w->seen.normal[1][k] = product(n, ay);
        w->seen.normal[2][k] = height < 0.0 ? -z : z;
    }
    for (uint32_t k = 0; k < count; ++k) {
        w->seen.u[k] = (double)r->u[0][k], w->seen.v[k] = (double)r->u[1][k];
        w->seen.above[k] = r->sides[k] & SKY_ABOVE ? 1.0 : 0.0;
        w->seen.below[k] = r->sides[k] & SKY_BELOW ? 1.0 : 0.0;
        r->is_seen[k] = -(w->height[k] > 0.0);
    }
}

/* Aims at the places that were drawn. */
static void aim(RectangleLights *r, uint32_t count)
{
    const RectangleWork *w = &r->work;
    const RectangleShapes *s = &w->shapes;
    for (uint32_t k = 0; k < count; ++k) {
        At way = to_centre(r, k);
        At ax = row_at(s->axis[0], k), ay = row_at(s->axis[1], k);
        bool is_wide = w->seen.solid_angle[k] > RECTANGLE_SOLID_ANGLE_MIN_SR;
        double x = w->x0[k] + (w->x1[k] - w->x0[k]) * w->seen.u[k];
        double y = w->y0[k] + (w->y1[k] - w->y0[k]) * w->seen.v[k];
        x = is_wide ? w->seen.x[k] + (w->x0[k] - w->seen.x0[k]) : x;
        y = is_wide ? w->seen.y[k] + (w->y0[k] - w->seen.y0[k]) : y;
        At to = {way.x + x * ax.x + y * ay.x, way.y + x * ax.y + y * ay.y,
                 way.z + x * ax.z + y * ay.z};
        double distance = sqrt(product(to, to)), inverse = 1.0 / distance;
        r->wi[0][k] = (float)(inverse * to.x + 0.0);
        r->wi[1][k] = (float)(inverse * to.y + 0.0);
        r->wi[2][k] = (float)(inverse * to.z + 0.0);
        r->distance_m[k] = (float)distance;
        double by_angle = w->seen.density[k] / w->seen.solid_angle[k];
        double by_area = distance * distance * distance / (w->height[k] * w->area[k]);
        r->pdf[k] = (float)(is_wide ? by_angle : by_area);
    }
}

/* Sets the ends of rays along the directions. */
static void end(RectangleLights *r, uint32_t count)
{
    const RectangleShapes *s = &r->work.shapes;
    for (uint32_t k = 0; k < count; ++k) {
        float x = r->position[0][k], y = r->position[1][k], z = r->position[2][k];
        float nx = (float)s->axis[2][0][k], ny = (float)s->axis[2][1][k],
              nz = (float)s->axis[2][2][k];
        float place = fabsf(nx * x) + fabsf(ny * y) + fabsf(nz * z);
        r->end[0][k] = x + r->distance_m[k] * r->wi[0][k];
        r->end[1][k] = y + r->distance_m[k] * r->wi[1][k];
        r->end[2][k] = z + r->distance_m[k] * r->wi[2][k];
        r->end_n[0][k] = nx, r->end_n[1][k] = ny, r->end_n[2][k] = nz;
        r->end_error_m[k] =
            LIGHT_SHAPE_ROUNDING * (place + r->distance_m[k]) + (float)s->plane_error[k];
    }
}

/* Sets the part of the radiance that goes along the directions. */
static void shine(RectangleLights *r, uint32_t count)
{
    const RectangleShapes *s = &r->work.shapes;
    for (uint32_t k = 0; k < count; ++k) {
        double cosine = product(float_at(r->wi, k), row_at(s->axis[2], k));
        cosine = s->two_sided[k] != 0.0 ? fabs(cosine) : cosine;
        double sine2 = 1.0 - cosine * cosine;
        double tangent = sqrt(sine2 > 0.0 ? sine2 : 0.0) / cosine;
        double part = 1.0 - tangent * s->cot_spread[k];
        float beam = (float)((part > 0.0 ? part : 0.0) * s->spread_scale[k]);
        beam = cosine > 0.0 ? beam : 0.0f;
        r->beam[k] = s->cot_spread[k] == 0.0 ? 1.0f : beam;
    }
}

void RECTANGLE_LIGHT_ROWS(RectangleLights *lights, uint32_t count)
{
    bool has_spread = load_shapes(lights, count);
    see(lights, count);
    SPHERICAL_RECTANGLE_ROWS(&lights->work.seen, count);
    aim(lights, count);
    end(lights, count);
    if (has_spread)
        shine(lights, count);
    for (uint32_t k = 0; k < count && !has_spread; ++k)
        lights->beam[k] = 1.0f;
}

void RECTANGLE_IRRADIANCE_ROWS(RectangleLights *lights, uint32_t count)
{
    const RectangleWork *w = &lights->work;
    (void)load_shapes(lights, count);
    see(lights, count);
    for (uint32_t k = 0; k < count; ++k) {
        const SphericalRectangles *rows = &w->seen;
        SphericalRectangle r =
            spherical_rectangle(rows->x0[k], rows->x1[k], rows->y0[k], rows->y1[k], rows->depth[k]);
        const RectangleSurface surface = {rows->normal[0][k], rows->normal[1][k],
                                          rows->normal[2][k], rows->above[k], rows->below[k]};
        At way = to_centre(lights, k);
        double distance = sqrt(product(way, way));
        double by_area = w->height[k] * w->area[k] / (distance * distance * distance);
        bool is_wide = r.solid_angle > RECTANGLE_SOLID_ANGLE_MIN_SR;
        double all = spherical_rectangle_mean_cosine(&r, &surface) *
                     (is_wide ? r.solid_angle : by_area);
        lights->irradiance[k] = (float)(w->height[k] > 0.0 ? all : 0.0);
    }
}
