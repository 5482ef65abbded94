/* Two faces of the pyramid over the rectangle that meet in the edge to the corner (x, y) make an angle that differs from
 * a right one by A(x, y) = atan(x y / (depth r)), r the corner's distance [Urena2013 section 3]. So the solid angle is
 * A(x1, y1) - A(x1, y0) - A(x0, y1) + A(x0, y0), without the 2 pi that would cost it its digits; and as angles of complex
 * numbers, which are multiplied, the four cost one arc tangent. */
#include "sort/light/spherical_rectangle.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

typedef struct Complex {
    double re, im;
} Complex;

static Complex times(Complex a, Complex b)
{
    return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static Complex conjugate(Complex a)
{
    return (Complex){a.re, -a.im};
}

/* The angle of a in (-pi, pi], to 12 digits; the series of the arc tangent, up to tan(pi/8). Like the next one, so
 * that it is short and has the same bits on every machine. */
static double angle_of(Complex a)
{
    double x = fabs(a.re), y = fabs(a.im);
    double low = x < y ? x : y, high = x < y ? y : x;
    bool is_middle = low > 0.41421356237309503 * high;
    double t = is_middle ? (low - high) / (low + high) : low / high, t2 = t * t, sum = 0.0;
    if (!(high > 0.0))
        return 0.0;
    for (int n = 27; n > 0; n -= 2)
        sum = (n & 2 ? -1.0 : 1.0) / n + sum * t2;
    double angle = (is_middle ? 0.25 * pi : 0.0) + sum * t;
    angle = x < y ? 0.5 * pi - angle : angle;
    angle = a.re < 0.0 ? pi - angle : angle;
    return copysign(angle, a.im);
}

/* exp(i x), x in [0, 2 pi], to 12 digits: the series within an eighth of a turn. */
static Complex unit_complex(double x)
{
    int quarter = (int)(x * (2.0 / pi) + 0.5);
    double r = x - quarter * (0.5 * pi), r2 = r * r, c = 0.0, s = 0.0;
    for (int n = 14; n > 0; n -= 2) {
        c = 1.0 - c * r2 * (1.0 / (n * (n - 1)));
        s = 1.0 - s * r2 * (1.0 / (n * (n + 1)));
    }
    s *= r;
    double re = quarter & 1 ? -s : c, im = quarter & 1 ? c : s;
    return quarter & 2 ? (Complex){-re, -im} : (Complex){re, im};
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
    r.solid_angle = angle_of(times(east, conjugate(west)));
    /* More than pi only around the foot of the point, where all four terms are positive; elsewhere a negative one
     * is the rounding of nothing. */
    if (r.solid_angle < 0.0)
        r.solid_angle =
            r.x0 < 0.0 && r.x1 > 0.0 && r.y0 < 0.0 && r.y1 > 0.0 ? r.solid_angle + 2.0 * pi : 0.0;
    return r;
}

/* [Urena2013 section 4]; phi_u there is pi + phi here, and c_u is eliminated. */
void spherical_rectangle_point(const SphericalRectangle *r, float2 u, double *out_x, double *out_y)
{
    double z2 = r->depth * r->depth;
    double south2 = z2 + r->y0 * r->y0, north2 = z2 + r->y1 * r->y1;
    Complex west = {r->west_re, r->west_im};
    double length = sqrt(west.re * west.re + west.im * west.im);
    Complex phi = times(unit_complex((double)u.x * r->solid_angle), west);
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
