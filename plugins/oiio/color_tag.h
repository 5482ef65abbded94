/* Reads the encoding of colours from an image file itself, where OpenImageIO does not distinguish a statement of
 * the file from an assumption: the chunks of a PNG file [PNG2025], and ICC profiles [ICC2022]. Any thread. */
#ifndef SORT_OIIO_COLOR_TAG_H
#define SORT_OIIO_COLOR_TAG_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ColorTag {
    COLOR_TAG_NONE,   /* the file does not say */
    COLOR_TAG_LINEAR, /* proportional to light */
    /* encoded by the curve of sRGB or a similar one: gammas 1.7 to 2.6, the curves of television */
    COLOR_TAG_ENCODED,
    COLOR_TAG_OTHER /* encoded otherwise */
} ColorTag;

/* Classifies an exponent: light is the value to the power of `gamma`. */
ColorTag color_tag_of_gamma(double gamma);
/* Classifies the curve of a profile's red or grey channel; an unreadable one is OTHER. */
ColorTag color_tag_of_icc(const void *profile, size_t size_bytes);
/* Classifies a PNG file by the first of its chunks cICP, sRGB and gAMA. *out_is_cicp: it was cICP, which takes
 * precedence over an ICC profile; the others do not. NONE for a file that cannot be read or is no PNG file. */
ColorTag color_tag_of_png(const char *path, bool *out_is_cicp);

#endif
