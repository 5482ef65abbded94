/* From scene-linear Rec.709 radiance to 8-bit display values: exposure, tone curve, sRGB encoding.
 * Only previews and PNG files pass through here; EXR output stays linear. */
#ifndef SORT_BASE_IMAGE_VIEW_TRANSFORM_H
#define SORT_BASE_IMAGE_VIEW_TRANSFORM_H

#include "base/compiler.h"

typedef enum ViewCurve {
    VIEW_STANDARD, /* clip to [0, 1]: what is displayed is proportional to what was computed */
    VIEW_FILMIC    /* soft shoulder and toe: rational fit of the ACES curve [Narkowicz2016] */
} ViewCurve;

typedef struct ViewTransform {
    ViewCurve curve;
    float exposure_stops; /* radiance is multiplied by 2^exposure first */
} ViewTransform;

/* Names for options and messages, NULL-terminated, indexed by ViewCurve. */
extern const char *const view_curve_names[];

/* count pixels of in_stride floats each (>= 3; the first three are R, G, B) to out[3 * count].
 * Negative values become 0, infinities white, NaN black. */
void view_transform_rgb(const ViewTransform *view, const float *linear, size_t in_stride,
                        size_t count, uint8_t *out_rgb);
/* Returns one encoded channel, in [0, 1]. */
float view_transform_channel(const ViewTransform *view, float linear);

#endif
