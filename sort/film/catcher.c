#include "sort/film/catcher.h"

#include "base/vec.h"
#include "sort/film/film_record.h"

enum { LIT = 0, ALONE = 3, COVER = CATCHER_BACKDROP + 4, LIT_LIT, LIT_ALONE, ALONE_ALONE, SUMS };
_Static_assert((int)SUMS == (int)CATCHER_SUMS, "all sums have a place");

static double luminance(const float rgb[3])
{
    return film_luminance((double)rgb[0], (double)rgb[1], (double)rgb[2]);
}

bool catcher_is_acceptable(const FilmCatch *caught)
{
    /* Comparisons with NaN are false. */
    bool ok =
        fabsf(caught->cover) <= FILM_VALUE_MAX && fabsf(caught->backdrop[3]) <= FILM_VALUE_MAX;
    for (int c = 0; c < 3; ++c)
        ok = ok && fabsf(caught->lit[c]) <= FILM_VALUE_MAX &&
             fabsf(caught->alone[c]) <= FILM_VALUE_MAX &&
             fabsf(caught->backdrop[c]) <= FILM_VALUE_MAX;
    return ok;
}

static void add(AccumWide *sum, double value)
{
    const double most = (double)FILM_VALUE_MAX;
    accum_wide_add(sum, accum_wide_from_double(fmax(fmin(value, most), -most)));
}

void catcher_add(AccumWide sums[CATCHER_SUMS], const FilmCatch *caught)
{
    if (caught->cover == 0.0f)
        return;
    double lit = luminance(caught->lit), alone = luminance(caught->alone);
    for (int c = 0; c < 3; ++c) {
        add(&sums[LIT + c], (double)caught->lit[c]);
        add(&sums[ALONE + c], (double)caught->alone[c]);
    }
    for (int c = 0; c < 4; ++c)
        add(&sums[CATCHER_BACKDROP + c], (double)caught->backdrop[c]);
    add(&sums[COVER], (double)caught->cover);
    add(&sums[LIT_LIT], lit * lit);
    add(&sums[LIT_ALONE], lit * alone);
    add(&sums[ALONE_ALONE], alone * alone);
}

CatcherShadow catcher_shadow(const AccumWide sums[CATCHER_SUMS], uint32_t sample_count)
{
    CatcherShadow shadow;
    double count = fmax((double)sample_count, 1.0), mean = 0.0;
    for (int c = 0; c < 3; ++c) {
        double alone = accum_wide_to_double(sums[ALONE + c]);
        shadow.kept[c] = alone != 0.0 ? accum_wide_to_double(sums[LIT + c]) / alone : 1.0;
        mean += shadow.kept[c] / 3.0;
    }
    for (int c = 0; c < 4; ++c)
        shadow.backdrop[c] = accum_wide_to_double(sums[CATCHER_BACKDROP + c]) / count;
    shadow.cover = accum_wide_to_double(sums[COVER]) / count;
    shadow.part = fmin(fmax(mean, 0.0), 1.0);
    return shadow;
}

double catcher_cover(const AccumWide sums[CATCHER_SUMS])
{
    return accum_wide_to_double(sums[COVER]);
}

double catcher_part_variance(const AccumWide sums[CATCHER_SUMS], uint32_t sample_count)
{
    double n = (double)sample_count, lit = record_luminance(sums + LIT),
           alone = record_luminance(sums + ALONE);
    if (n < 2.0 || !(alone > 0.0))
        return 0.0;
    double k = lit / alone;
    /* The residuals lit - k alone sum to 0. */
    double squares = accum_wide_to_double(sums[LIT_LIT]) -
                     2.0 * k * accum_wide_to_double(sums[LIT_ALONE]) +
                     k * k * accum_wide_to_double(sums[ALONE_ALONE]);
    return fmax(squares, 0.0) * n / ((n - 1.0) * alone * alone);
}

void catcher_shade(const CatcherShadow *shadow, float rgba[4])
{
    for (int c = 0; c < 4; ++c)
        rgba[c] = (float)((double)rgba[c] + shadow->part * shadow->backdrop[c]);
    rgba[3] = (float)((double)rgba[3] + (1.0 - shadow->part) * shadow->cover);
}

void catcher_pass(const CatcherShadow *shadow, double alpha, float out_rgb[3])
{
    /* The catcher covers a fraction of the part that the picture lets through: all of it, or less at the catcher's edge. */
    double open = fmax(1.0 - alpha, shadow->cover);
    for (int c = 0; c < 3; ++c)
        out_rgb[c] = shadow->cover > 0.0
                         ? (float)(1.0 + (shadow->kept[c] - 1.0) * shadow->cover / open)
                         : 1.0f;
}
