/* The pictures of the samples of even and of odd number. The film sums those of odd number; the others are all that are left
 * of the whole sums, exactly. */
#include "base/check.h"
#include "sort/film/film_record.h"

/* The mean of one half of a pixel's samples, and their number. */
static void resolve_half_pixel(const Film *film, uint8_t *record, bool is_odd, float out[4])
{
    const AovSlot *odd = film_slot(film, FILM_AOV_DENOISING_ODD);
    const AovSlot *light = film_slot(film, FILM_AOV_DENOISING_LIGHT);
    ASSERT(odd && odd->sum_count == 4 && light);
    const AccumWide *all = record_wide(record, PIXEL_RGBA_OFFSET);
    const AccumWide *seen = record_wide(record, light->record_offset);
    const AccumWide *part = record_wide(record, odd->record_offset);
    double count = accum_wide_to_double(part[3]);
    if (!is_odd)
        count = (double)record_head(record)->sample_count - count;
    for (uint32_t c = 0; c < 3; ++c) {
        AccumWide sum = part[c];
        if (!is_odd) {
            accum_wide_add(&sum, seen[c]);
            sum = accum_wide_negated(sum);
            accum_wide_add(&sum, all[c]);
        }
        out[c] = count > 0.0 ? (float)(accum_wide_to_double(sum) / count) : 0.0f;
    }
    out[3] = (float)count;
}

/* Adds the mean of the splats of one half. paths: of that half, for each pixel. */
static void add_half_of_splats(const Film *film, uint8_t *record, bool is_odd, double paths,
                               float rgb[3])
{
    const AccumWide *sums = film_splats(film, record);
    for (uint32_t c = 0; sums && paths > 0.0 && c < 3; ++c) {
        AccumWide sum = sums[3 + c];
        if (!is_odd) {
            sum = accum_wide_negated(sum);
            accum_wide_add(&sum, sums[c]);
        }
        rgb[c] = (float)((double)rgb[c] + accum_wide_to_double(sum) / paths);
    }
}

void film_resolve_half(const Film *film, bool is_odd, float *out_values)
{
    bool has_shadows =
        film->catcher_offset && !film_aovs_have(film->desc.aovs, FILM_AOV_SHADOW_CATCHER);
    double paths = film_paths_a_pixel(film, &film->odd_light_path_count);
    if (!is_odd)
        paths = film_paths_a_pixel(film, &film->light_path_count) - paths;
    for (size_t i = 0; i < film_pixel_count(film); ++i) {
        uint8_t *record = film_record(film, i);
        float *out = out_values + 4 * i, shadowed[4] = {0};
        resolve_half_pixel(film, record, is_odd, out);
        add_half_of_splats(film, record, is_odd, paths, out);
        if (!has_shadows)
            continue;
        CatcherShadow shadow =
            catcher_shadow(film_catcher(film, record), record_head(record)->sample_count);
        catcher_shade(&shadow, shadowed);
        for (int c = 0; c < 3; ++c)
            out[c] += shadowed[c];
    }
}
