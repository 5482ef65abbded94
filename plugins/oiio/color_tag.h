/* What an image file itself says of the encoding of its colours, where OpenImageIO does not tell whether a
 * file says so or it only assumes it: the chunks of a PNG file [PNG2025], and ICC profiles [ICC2022]. Any thread. */
#ifndef SORT_OIIO_COLOR_TAG_H
#define SORT_OIIO_COLOR_TAG_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ColorTag {
    COLOR_TAG_NONE,   /* the file does not say */
    COLOR_TAG_LINEAR, /* proportional to light */
    COLOR_TAG_ENCODED, /* by the curve of sRGB, or one near to it: gammas 1.7 to 2.6, the curves of television */
    COLOR_TAG_OTHER /* by something that is neither */
} ColorTag;

/* By exponent: light is the value to the power of `gamma`. */
ColorTag color_tag_of_gamma(double gamma);
/* By the curve of a profile's red or grey channel; what cannot be read is OTHER. */
ColorTag color_tag_of_icc(const void *profile, size_t size_bytes);
/* By the chunks cICP, sRGB and gAMA of a PNG file, the first of them that is there. *out_is_cicp: it was cICP, which
 * wins over an ICC profile; the others do not. NONE for a file that cannot be read or is no PNG file. */
ColorTag color_tag_of_png(const char *path, bool *out_is_cicp);

#endif
