/* Adaptive sampling's judgement of pixels; see film_judge. */
#include "base/check.h"
#include "sort/film/film_record.h"

/* Pixels within one of (x, y), in the crop. */
typedef struct Square {
    uint32_t x0, y0, x1, y1; /* inclusive */
} Square;

static Square around(const Film *film, uint32_t x, uint32_t y)
{
    uint32_t width = film->desc.crop_width, height = film->desc.crop_height;
    return (Square){x > 0 ? x - 1 : 0, y > 0 ? y - 1 : 0, x + 1 < width ? x + 1 : x,
                    y + 1 < height ? y + 1 : y};
}

static uint8_t *record_at(const Film *film, uint32_t x, uint32_t y)
{
    return film_record(film, (size_t)y * film->desc.crop_width + x);
}

/* Mean luminance of what catchers show, white where they show nothing, and the variance that their shadow has. */
static double catcher_luminance(const Film *film, uint8_t *record, double *out_variance)
{
    const AccumWide *sums = film_catcher(film, record);
    uint32_t n = record_head(record)->sample_count;
    *out_variance = 0.0;
    if (!sums)
        return 0.0;
    CatcherShadow shadow = catcher_shadow(sums, n);
    const double *b = shadow.backdrop;
    double background = film_luminance(b[0], b[1], b[2]) + fmax(shadow.cover - b[3], 0.0);
    *out_variance = background * background * catcher_part_variance(sums, n);
    return shadow.part * background;
}

static double pixel_variance(const Film *film, uint8_t *record, const AovSlot *variance)
{
    double shadow_variance;
    (void)catcher_luminance(film, record, &shadow_variance);
    return record_variance(film, record, variance) + shadow_variance;
}

/* Standard error of sqrt(luminance), to first order, of the samples: more of them would not make splats less noisy. paths:
 * film_paths_a_pixel(). */
static bool is_noisy(const Film *film, const AovSlot *variance, double paths, uint32_t x,
                     uint32_t y, double error_max)
{
    uint8_t *record = record_at(film, x, y);
    double n = fmax((double)record_head(record)->sample_count, 1.0), shadow_variance;
    float splats[3] = {0};
    film_add_splats(film, record, paths, splats);
    double mean = record_luminance(record_wide(record, PIXEL_RGBA_OFFSET)) / n +
                  catcher_luminance(film, record, &shadow_variance) +
                  film_luminance((double)splats[0], (double)splats[1], (double)splats[2]);
    Square s = around(film, x, y);
    double sum = 0.0, count = 0.0;
    for (uint32_t v = s.y0; v <= s.y1; ++v)
        for (uint32_t u = s.x0; u <= s.x1; ++u, ++count)
            sum += pixel_variance(film, record_at(film, u, v), variance);
    return sqrt(sum / count) > error_max * 2.0 * sqrt(fabs(mean) + 0x1p-10);
}

uint64_t film_judge(Film *film, float error_max)
{
    const AovSlot *variance = film_slot(film, FILM_AOV_VARIANCE);
    CHECK(variance);
    size_t count = film_pixel_count(film);
    double paths = film_paths_a_pixel(film, &film->light_path_count);
    for (size_t i = 0; i < count; ++i)
        record_head(film_record(film, i))->is_done = 1;
    for (uint32_t y = 0; y < film->desc.crop_height; ++y) {
        for (uint32_t x = 0; x < film->desc.crop_width; ++x) {
            if (!is_noisy(film, variance, paths, x, y, (double)error_max))
                continue;
            Square s = around(film, x, y);
            for (uint32_t v = s.y0; v <= s.y1; ++v)
                for (uint32_t u = s.x0; u <= s.x1; ++u)
                    record_head(record_at(film, u, v))->is_done = 0;
        }
    }
    uint64_t open = 0;
    for (size_t i = 0; i < count; ++i)
        open += !record_head(film_record(film, i))->is_done;
    return open;
}

void film_copy_judgement(Film *film, const Film *judged)
{
    CHECK(film_pixel_count(film) == film_pixel_count(judged));
    for (size_t i = 0; i < film_pixel_count(film); ++i)
        record_head(film_record(film, i))->is_done = record_head(film_record(judged, i))->is_done;
}

bool film_is_done(const Film *film, uint32_t x, uint32_t y)
{
    const FilmDesc *d = &film->desc;
    CHECK(x - d->x < d->crop_width && y - d->y < d->crop_height);
    return record_head(record_at(film, x - d->x, y - d->y))->is_done != 0;
}
