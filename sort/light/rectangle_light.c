#include "sort/light/rectangle_light.h"

#include "base/check.h"
#include <string.h>

/* CPUs that have no classes run the first one. */
static void (*const codes[WIDE_CLASSES])(RectangleLights *lights, uint32_t count) = {
#if defined(__x86_64__)
    rectangle_light_rows, rectangle_light_rows_v3, rectangle_light_rows_v4
#else
    rectangle_light_rows, rectangle_light_rows, rectangle_light_rows
#endif
};

static void (*const irradiance_codes[WIDE_CLASSES])(RectangleLights *lights, uint32_t count) = {
#if defined(__x86_64__)
    rectangle_irradiance_rows, rectangle_irradiance_rows_v3, rectangle_irradiance_rows_v4
#else
    rectangle_irradiance_rows, rectangle_irradiance_rows, rectangle_irradiance_rows
#endif
};

void rectangle_lights_copy(RectangleLights *lights, uint32_t to, uint32_t from)
{
    lights->shape[to] = lights->shape[from];
    lights->sides[to] = lights->sides[from];
    lights->u[0][to] = lights->u[0][from], lights->u[1][to] = lights->u[1][from];
    for (uint32_t c = 0; c < 3; ++c) {
        lights->position[c][to] = lights->position[c][from];
        lights->normal[c][to] = lights->normal[c][from];
    }
}

/* Fills up the last vector with copies, and returns the count with them: loops of vectors have no rest then. */
static uint32_t pad(RectangleLights *lights, uint32_t count)
{
    uint32_t padded = (count + 3) & ~3u;
    ASSERT(count > 0 && count <= SSL_BLOCK);
    for (uint32_t k = count; k < padded; ++k)
        rectangle_lights_copy(lights, k, 0);
    return padded;
}

void rectangle_lights_sample(RectangleLights *lights, uint32_t count)
{
    codes[wide_class_here()](lights, pad(lights, count));
}

void rectangle_lights_irradiance(RectangleLights *lights, uint32_t count)
{
    memset(lights->u, 0, sizeof lights->u);
    irradiance_codes[wide_class_here()](lights, pad(lights, count));
}
