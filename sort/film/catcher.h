/* Shadow catchers in a pixel; private to sort/film/.
 *
 * The pixel holds sums of FilmCatch. The fraction of its light that a catcher keeps beside other objects is a ratio of two
 * sums over the pixel, k = lit / alone, by channel; 1 where it reflects none. Its mean over the channels, in [0, 1], is the part of
 * the background that the picture keeps there:
 *
 *   colour = rgb + k backdrop      alpha = a + k backdrop_a + (1 - k) cover
 *
 * So a shadow over a transparent film is black with alpha, and over an environment it darkens it, by the same part:
 * laying the former over the environment gives the latter.
 *
 * Both paths of a sample take the same random numbers, so that k is 1 to the bit where nothing comes between. */
#ifndef SORT_FILM_CATCHER_H
#define SORT_FILM_CATCHER_H

#include "base/accum.h"
#include "sort/film/film.h"

enum { CATCHER_SUMS = 14, CATCHER_BACKDROP = 6 /* where its colour is among them */ };

typedef struct CatcherShadow {
    double backdrop[4], cover; /* means over the samples */
    double
        kept[3]; /* k by channel; not bounded above, because other objects may light the catcher */
    double part; /* the mean of k over the channels, in [0, 1] */
} CatcherShadow;

bool catcher_is_acceptable(const FilmCatch *caught);
void catcher_add(AccumWide sums[CATCHER_SUMS], const FilmCatch *caught);
CatcherShadow catcher_shadow(const AccumWide sums[CATCHER_SUMS], uint32_t sample_count);
/* Returns the sum of `cover` over the samples. */
double catcher_cover(const AccumWide sums[CATCHER_SUMS]);
/* Estimated variance of `part` in terms of luminance, by the samples' squares: of a ratio of two means, to first
 * order, (s_lit^2 - 2 k s_lit,alone + k^2 s_alone^2) / alone^2 [Cochran1977 ch. 6]. 0 below two samples. */
double catcher_part_variance(const AccumWide sums[CATCHER_SUMS], uint32_t sample_count);

/* Adds the backdrop and the shadow to rgba, the means of everything but catchers. */
void catcher_shade(const CatcherShadow *shadow, float rgba[4]);
/* Returns the factor that a background is multiplied by before a picture of this alpha, without shadows, is laid over it. */
void catcher_pass(const CatcherShadow *shadow, double alpha, float out_rgb[3]);

#endif
