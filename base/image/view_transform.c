#include "base/image/view_transform.h"
#include "base/srgb.h"
#include "ssl/rt/rt.h"

const char *const view_curve_names[] = {"standard", "filmic", NULL};

/* Rational fit of the ACES reference rendering and output transforms for a 100-nit sRGB display
 * [Narkowicz2016]; the input factor 0.6 is that author's, so that middle grey stays near where the
 * standard curve puts it. */
static float filmic(float x)
{
    x *= 0.6f;
    return x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
}

float view_transform_channel(const ViewTransform *view, float linear)
{
    float x = linear * rt_exp2(view->exposure_stops);
    if (!(x > 0)) /* also true for NaN */
        return 0;
    if (view->curve == VIEW_FILMIC)
        x = x < 1e6f ? filmic(x) : 1; /* beyond that the squares overflow, and the curve is flat */
    return srgb_from_linear(fminf(x, 1));
}

void view_transform_rgb(const ViewTransform *view, const float *linear, size_t in_stride,
                        size_t count, uint8_t *out_rgb)
{
    for (size_t i = 0; i < count; ++i)
        for (size_t c = 0; c < 3; ++c) {
            float encoded = view_transform_channel(view, linear[i * in_stride + c]);
            out_rgb[3 * i + c] = (uint8_t)(encoded * 255.0f + 0.5f);
        }
}
