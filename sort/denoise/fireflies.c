#include "sort/denoise/fireflies.h"

#include "base/check.h"
#include "base/vec.h"

enum { RADIUS = 3 };
#define TIMES_AS_BRIGHT 10.0f /* as what is allowed */

/* Returns 0 for a pixel that tells nothing. */
static float brightness(const FireflyPicture *p, uint32_t half, uint32_t x, uint32_t y)
{
    const float *rgb = p->half[half] + 4 * ((size_t)y * p->width + x);
    float sum = fabsf(rgb[0]) + fabsf(rgb[1]) + fabsf(rgb[2]);
    return rgb[3] > 0.0f && isfinite(sum) ? sum : 0.0f;
}

/* Returns the second brightest of the other pixels around one: a second firefly there does not excuse the first, but two do, since
 * three are the light that there is. */
static float second_around(const FireflyPicture *p, uint32_t half, uint32_t x, uint32_t y)
{
    float first = 0.0f, second = 0.0f;
    uint32_t left = x > RADIUS ? x - RADIUS : 0, top = y > RADIUS ? y - RADIUS : 0;
    for (uint32_t row = top; row <= y + RADIUS && row < p->height; ++row)
        for (uint32_t column = left; column <= x + RADIUS && column < p->width; ++column)
            for (uint32_t h = 0; h < 2; ++h) {
                if (column == x && row == y && h == half)
                    continue;
                float b = brightness(p, h, column, row);
                second = maxf(second, minf(first, b));
                first = maxf(first, b);
            }
    return second;
}

float firefly_scale(const FireflyPicture *picture, uint32_t half, uint32_t x, uint32_t y)
{
    ASSERT(half < 2 && x < picture->width && y < picture->height);
    float own = brightness(picture, half, x, y), other = brightness(picture, !half, x, y);
    if (own <= TIMES_AS_BRIGHT * other)
        return 1.0f;
    float most = TIMES_AS_BRIGHT * maxf(other, second_around(picture, half, x, y));
    return own > most ? most / own : 1.0f;
}
