#include "sort/light/spherical_rectangle.h"

#include "base/check.h"
#include "sort/light/spherical_rectangle_rows.h"

/* CPUs that have no classes run the first one. */
static void (*const codes[WIDE_CLASSES])(SphericalRectangles *rows, uint32_t count) = {
#if defined(__x86_64__)
    spherical_rectangle_rows, spherical_rectangle_rows_v3, spherical_rectangle_rows_v4
#else
    spherical_rectangle_rows, spherical_rectangle_rows, spherical_rectangle_rows
#endif
};

void spherical_rectangles_run(SphericalRectangles *rows, uint32_t count)
{
    ASSERT(count <= SSL_BLOCK);
    codes[wide_class_here()](rows, count);
}
