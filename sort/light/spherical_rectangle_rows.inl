/* The loop over rectangles. spherical_rectangle_rows.c, _v3.c and _v4.c compile this for each class of CPUs, under the name
 * SPHERICAL_RECTANGLE_ROWS; the compiler computes as many at once as the CPU has lanes. Bits are the same in every class. */
#include "sort/light/spherical_rectangle_rows.h"

void SPHERICAL_RECTANGLE_ROWS(SphericalRectangles *rows, uint32_t count)
{
    for (uint32_t k = 0; k < count; ++k) {
        SphericalRectangle r =
            spherical_rectangle(rows->x0[k], rows->x1[k], rows->y0[k], rows->y1[k], rows->depth[k]);
        const RectangleSurface surface = {rows->normal[0][k], rows->normal[1][k],
                                          rows->normal[2][k], rows->above[k], rows->below[k]};
        Bilinear cosine = spherical_rectangle_cosine(&r, &surface);
        double u = rows->u[k], v = rows->v[k];
        bilinear_warp(&cosine, &u, &v);
        rows->solid_angle[k] = r.solid_angle;
        rows->density[k] = bilinear_density(&cosine, u, v);
        spherical_rectangle_point(&r, u, v, &rows->x[k], &rows->y[k]);
    }
}
