/* A rectangle as the eye sees it: its solid angle, and points on it evenly over that [Urena2013], or nearly in proportion to
 * the cosine at a surface where the eye is [Hart2020]. In double precision,
 * and with mathematics of its own, so that its bits are the same on every machine. Pure.
 *
 * Two faces of the pyramid over the rectangle that meet in the edge to the corner (x, y) make an angle that differs from
 * a right one by A(x, y) = atan(x y / (depth r)), r the corner's distance [Urena2013 section 3]. So the solid angle is
 * A(x1, y1) - A(x1, y0) - A(x0, y1) + A(x0, y0), without the 2 pi that would cost it its digits; and as angles of complex
 * numbers, which are multiplied, the four cost one arc tangent. */
#ifndef SORT_LIGHT_SPHERICAL_RECTANGLE_H
#define SORT_LIGHT_SPHERICAL_RECTANGLE_H

#include "base/vec.h"
#include "sort/sampling/bilinear.h"
#include "sort/sampling/inverse_root.h"
#include "sort/sampling/turn.h"
#include "sort/wide/wide.h"

/* [x0, x1] x [y0, y1] in its own plane, relative to the foot of the eye, which is `depth` before it. */
typedef struct SphericalRectangle {
    double x0, x1, y0, y1, depth;
    Complex west; /* its angle is A(x0, y1) - A(x0, y0) */
    double solid_angle;
} SphericalRectangle;

static inline Complex spherical_corner(double x, double y, double depth)
{
    return (Complex){depth, x * y * inverse_root(x * x + y * y + depth * depth)};
}

/* Returns a times the conjugate of b, whose angle is the difference of theirs. */
static inline Complex turn_back(Complex a, Complex b)
{
    return (Complex){a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im};
}

/* depth >= 0. The solid angle is right to 1e-9 of itself as long as it is above 1e-7; 0 when it is lost in rounding. */
static inline SphericalRectangle spherical_rectangle(double x0, double x1, double y0, double y1,
                                                     double depth)
{
    SphericalRectangle r = {.x0 = x0, .x1 = x1, .y0 = y0, .y1 = y1, .depth = depth};
    Complex east = turn_back(spherical_corner(x1, y1, depth), spherical_corner(x1, y0, depth));
    r.west = turn_back(spherical_corner(x0, y1, depth), spherical_corner(x0, y0, depth));
    double angle = turn_angle(turn_back(east, r.west));
    /* More than pi only around the foot of the point, where all four terms are positive; elsewhere a negative one
     * is the rounding of nothing. */
    bool is_around = (x0 < 0.0) & (x1 > 0.0) & (y0 < 0.0) & (y1 > 0.0);
    double negative = is_around ? angle + 2.0 * TURN_PI : 0.0;
    r.solid_angle = angle < 0.0 ? negative : angle;
    return r;
}

/* Sets the point for (u, v) in [0, 1)^2. solid_angle: above 1e-7 [Urena2013 section 4]; phi_u there is pi + phi here, and c_u is
 * eliminated. */
static inline void spherical_rectangle_point(const SphericalRectangle *r, double u, double v,
                                             double *out_x, double *out_y)
{
    double z2 = r->depth * r->depth;
    double south = inverse_root(z2 + r->y0 * r->y0), north = inverse_root(z2 + r->y1 * r->y1);
    double west = inverse_root(r->west.re * r->west.re + r->west.im * r->west.im);
    Complex turn = turn_unit(u * r->solid_angle);
    double cosine = (turn.re * r->west.re - turn.im * r->west.im) * west;
    double sine = (turn.re * r->west.im + turn.im * r->west.re) * west;
    double across = r->y1 * north - cosine * (r->y0 * south), part = r->depth * south * sine;
    double reach2 = across * across - part * part;
    double x = copysign(r->depth, across) * sine * inverse_root(reach2 > 1e-300 ? reach2 : 1e-300);
    x = x > r->x1 ? r->x1 : x;
    x = x < r->x0 ? r->x0 : x;
    double d2 = x * x + z2;
    double h0 = r->y0 * inverse_root(d2 + r->y0 * r->y0);
    double h1 = r->y1 * inverse_root(d2 + r->y1 * r->y1);
    double h = h0 + v * (h1 - h0), rest = 1.0 - h * h;
    double y = rest > 0.0 ? h * d2 * inverse_root(d2 * (rest > 0.0 ? rest : 1.0)) : r->y1;
    y = y > r->y1 ? r->y1 : y;
    *out_x = x;
    *out_y = y < r->y0 ? r->y0 : y;
}

/* Returns the numbers in [0, 1] for which spherical_rectangle_point gives (x, y). */
static inline void spherical_rectangle_find(const SphericalRectangle *r, double x, double y,
                                            double *out_u, double *out_v)
{
    Complex at =
        turn_back(spherical_corner(x, r->y1, r->depth), spherical_corner(x, r->y0, r->depth));
    double angle = turn_angle(turn_back(at, r->west));
    bool is_around = (r->x0 < 0.0) & (x > 0.0) & (r->y0 < 0.0) & (r->y1 > 0.0);
    double u = (angle < 0.0 && is_around ? angle + 2.0 * TURN_PI : angle) / r->solid_angle;
    double d2 = x * x + r->depth * r->depth;
    double h0 = r->y0 * inverse_root(d2 + r->y0 * r->y0);
    double h1 = r->y1 * inverse_root(d2 + r->y1 * r->y1);
    double v = (y * inverse_root(d2 + y * y) - h0) / (h1 - h0);
    *out_u = u > 0.0 ? (u < 1.0 ? u : 1.0) : 0.0;
    *out_v = v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
}

/* A surface where the eye is: its unit normal in the rectangle's axes, z toward the rectangle's plane, and the sides from which
 * light counts, 1 or 0. Both 0: light counts without a cosine. */
typedef struct RectangleSurface {
    double x, y, z, above, below;
} RectangleSurface;

/* The least cosine that counts, since lobes may have other normals, and the cosine between corners is not bilinear. */
static const double rectangle_cosine_min = 0.02;

static inline double surface_side_cosine(const RectangleSurface *s, double x, double y,
                                         double depth)
{
    double cosine =
        (s->x * x + s->y * y + s->z * depth) * inverse_root(x * x + y * y + depth * depth);
    double above = s->above * cosine, below = -s->below * cosine;
    return above > below ? above : below;
}

static inline double surface_cosine(const RectangleSurface *s, double x, double y, double depth)
{
    double most = surface_side_cosine(s, x, y, depth);
    return most > rectangle_cosine_min ? most : rectangle_cosine_min;
}

/* Returns the cosine at the surface over the numbers of spherical_rectangle_point, as far as its corners tell. */
static inline Bilinear spherical_rectangle_cosine(const SphericalRectangle *r,
                                                  const RectangleSurface *s)
{
    double a = surface_cosine(s, r->x0, r->y0, r->depth);
    double b = surface_cosine(s, r->x1, r->y0, r->depth);
    double c = surface_cosine(s, r->x0, r->y1, r->depth);
    double d = surface_cosine(s, r->x1, r->y1, r->depth);
    double scale = 4.0 / (a + b + c + d);
    return (Bilinear){a * scale, b * scale, c * scale, d * scale};
}

/* Returns the mean of that cosine; 0 where the rectangle lies below the horizon, and 1 where light counts without a cosine. */
static inline double spherical_rectangle_mean_cosine(const SphericalRectangle *r,
                                                     const RectangleSurface *s)
{
    double a = surface_side_cosine(s, r->x0, r->y0, r->depth);
    double b = surface_side_cosine(s, r->x1, r->y0, r->depth);
    double c = surface_side_cosine(s, r->x0, r->y1, r->depth);
    double d = surface_side_cosine(s, r->x1, r->y1, r->depth);
    double south = a > b ? a : b, north = c > d ? c : d, least = rectangle_cosine_min;
    double sum = (a > least ? a : least) + (b > least ? b : least) + (c > least ? c : least) +
                 (d > least ? d : least);
    double mean = (south > north ? south : north) > 0.0 ? 0.25 * sum : 0.0;
    return s->above + s->below > 0.0 ? mean : 1.0;
}

/* Below this the sum of four angles has lost too much of the solid angle; sampled by area instead, which is as good for what looks
 * like a point. */
#define RECTANGLE_SOLID_ANGLE_MIN_SR 1e-7

/* Rectangles of many points, and a point on each: the fields are those of the functions above. */
typedef struct SphericalRectangles {
    alignas(64) double x0[SSL_BLOCK];
    double x1[SSL_BLOCK], y0[SSL_BLOCK], y1[SSL_BLOCK], depth[SSL_BLOCK];
    double u[SSL_BLOCK], v[SSL_BLOCK];
    double normal[3][SSL_BLOCK], above[SSL_BLOCK], below[SSL_BLOCK]; /* of RectangleSurface */
    double solid_angle[SSL_BLOCK];
    double density[SSL_BLOCK];         /* of the point, per solid angle / solid_angle */
    double x[SSL_BLOCK], y[SSL_BLOCK]; /* where the solid angle is above 1e-7 */
} SphericalRectangles;

#endif
