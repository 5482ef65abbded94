/* Two faces of the pyramid over the rectangle that meet in the edge to the corner (x, y) make an angle that differs from
 * a right one by A(x, y) = atan(x y / (depth r)), r the corner's distance [Urena2013 section 3]. So the solid angle is
 * A(x1, y1) - A(x1, y0) - A(x0, y1) + A(x0, y0), without the 2 pi that would cost it its digits; and as angles of complex
 * numbers, which are multiplied, the four cost one arc tangent. */
#include "sort/light/spherical_rectangle.h"

#include "sort/sampling/turn.h"

static Complex times(Complex a, Complex b)
{
    return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static Complex conjugate(Complex a)
{
    return (Complex){a.re, -a.im};
}

static Complex corner_of(double x, double y, double depth)
{
    return (Complex){depth * sqrt(x * x + y * y + depth * depth), x * y};
}

SphericalRectangle spherical_rectangle(double x0, double x1, double y0, double y1, double depth)
{
    SphericalRectangle r = {.x0 = x0, .x1 = x1, .y0 = y0, .y1 = y1, .depth = depth};
    Complex north_east = corner_of(r.x1, r.y1, r.depth),
            south_east = corner_of(r.x1, r.y0, r.depth);
    Complex north_west = corner_of(r.x0, r.y1, r.depth),
            south_west = corner_of(r.x0, r.y0, r.depth);
    Complex east = times(north_east, conjugate(south_east));
    Complex west = times(north_west, conjugate(south_west));
    r.west_re = west.re, r.west_im = west.im;
    r.solid_angle = turn_angle(times(east, conjugate(west)));
    /* More than pi only around the foot of the point, where all four terms are positive; elsewhere a negative one
     * is the rounding of nothing. */
    if (r.solid_angle < 0.0)
        r.solid_angle = r.x0 < 0.0 && r.x1 > 0.0 && r.y0 < 0.0 && r.y1 > 0.0
                            ? r.solid_angle + 2.0 * TURN_PI
                            : 0.0;
    return r;
}

/* [Urena2013 section 4]; phi_u there is pi + phi here, and c_u is eliminated. */
void spherical_rectangle_point(const SphericalRectangle *r, float2 u, double *out_x, double *out_y)
{
    double z2 = r->depth * r->depth;
    double south2 = z2 + r->y0 * r->y0, north2 = z2 + r->y1 * r->y1;
    Complex west = {r->west_re, r->west_im};
    double length = sqrt(west.re * west.re + west.im * west.im);
    Complex phi = times(turn_unit((double)u.x * r->solid_angle), west);
    double sine = phi.im / length;
    double across = r->y1 / sqrt(north2) - phi.re / length * (r->y0 / sqrt(south2));
    double reach2 = across * across - sine * sine * (z2 / south2);
    double x = copysign(r->depth, across) * sine / sqrt(fmax(1e-300, reach2));
    x = x > r->x1 ? r->x1 : x < r->x0 ? r->x0 : x;
    double d2 = x * x + z2;
    double h0 = r->y0 / sqrt(d2 + r->y0 * r->y0), h1 = r->y1 / sqrt(d2 + r->y1 * r->y1);
    double h = h0 + (double)u.y * (h1 - h0), rest = 1.0 - h * h;
    double y = rest > 0.0 ? h * sqrt(d2 / rest) : r->y1;
    *out_x = x;
    *out_y = y > r->y1 ? r->y1 : y < r->y0 ? r->y0 : y;
}
