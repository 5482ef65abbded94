#include "sort/render/render_denoise.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/denoise/nfor.h"
#include "sort/denoise/oidn_client.h"
#include "sort/render/render_output.h"
#include <math.h>
#include <string.h>

static const float *aov_of(const RenderNoisy *noisy, FilmAov aov)
{
    ASSERT(aov >= FILM_AOV_DENOISING_ALBEDO && aov <= FILM_AOV_DENOISING_ODD_DEPTH);
    return noisy->aovs[aov - FILM_AOV_DENOISING_ALBEDO];
}

FilmAovSet render_denoiser_aovs(const RenderDenoiser *denoiser)
{
    const FilmAovSet shown = FILM_AOV_BIT(FILM_AOV_DENOISING_ALBEDO) |
                             FILM_AOV_BIT(FILM_AOV_DENOISING_NORMAL) |
                             FILM_AOV_BIT(FILM_AOV_DENOISING_LIGHT);
    return denoiser->is_oidn ? shown : FILM_DENOISING;
}

/* Sets the colour of a pixel to what is not seen directly. Returns false if nothing tells it to the precision of a float. */
static bool take_out_light(const RenderNoisy *noisy, size_t i, float *rgba)
{
    const float *even = aov_of(noisy, FILM_AOV_DENOISING_EVEN),
                *odd = aov_of(noisy, FILM_AOV_DENOISING_ODD),
                *light = aov_of(noisy, FILM_AOV_DENOISING_LIGHT);
    bool has_halves = even && odd;
    float count = has_halves ? even[4 * i + 3] + odd[4 * i + 3] : 0.0f;
    if (!light || (noisy->is_half && !has_halves))
        return false;
    for (size_t c = 0; c < 3; ++c) {
        if (has_halves && count > 0.0f)
            rgba[c] = (even[4 * i + c] * even[4 * i + 3] + odd[4 * i + c] * odd[4 * i + 3]) / count;
        else
            rgba[c] -= light[3 * i + c];
    }
    return true;
}

/* Lights and sky that the camera sees are no noise, and the brightest of all: a network would blur them, and what is around
 * them. */
static Status run_oidn_beside_light(const OidnInput *input, const RenderNoisy *noisy, float *rgba,
                                    Error *err)
{
    const float *light = aov_of(noisy, FILM_AOV_DENOISING_LIGHT);
    size_t count = (size_t)noisy->width * noisy->height;
    bool is_apart = true;
    for (size_t i = 0; i < count && is_apart; ++i)
        is_apart = take_out_light(noisy, i, rgba + 4 * i);
    TRY(oidn_denoise(input, rgba, err));
    for (size_t i = 0; i < count && is_apart; ++i)
        for (size_t c = 0; c < 3; ++c) {
            bool is_hole = !isfinite(noisy->rgba[4 * i + c]);
            rgba[4 * i + c] = is_hole ? noisy->rgba[4 * i + c] : rgba[4 * i + c] + light[3 * i + c];
        }
    return STATUS_OK;
}

static Status run_oidn(const RenderDenoiser *denoiser, const RenderNoisy *noisy, float *rgba,
                       Error *err)
{
    const OidnInput input = {.size_bytes = sizeof input,
                             .width = noisy->width,
                             .height = noisy->height,
                             .albedo = aov_of(noisy, FILM_AOV_DENOISING_ALBEDO),
                             .normal = aov_of(noisy, FILM_AOV_DENOISING_NORMAL),
                             .oidn_path = denoiser->oidn_path,
                             .plugin_folders = denoiser->plugin_folders,
                             .plugin_folder_count = denoiser->plugin_folder_count,
                             .thread_count = denoiser->thread_count,
                             .timeout_ms = denoiser->timeout_ms};
    return run_oidn_beside_light(&input, noisy, rgba, err);
}

static Status run(const RenderDenoiser *denoiser, const RenderNoisy *noisy, float *rgba, Error *err)
{
    if (denoiser->is_oidn)
        return run_oidn(denoiser, noisy, rgba, err);
    const NforInput input = {.size_bytes = sizeof input,
                             .width = noisy->width,
                             .height = noisy->height,
                             .even = aov_of(noisy, FILM_AOV_DENOISING_EVEN),
                             .odd = aov_of(noisy, FILM_AOV_DENOISING_ODD),
                             .variance = aov_of(noisy, FILM_AOV_DENOISING_VARIANCE),
                             .light = aov_of(noisy, FILM_AOV_DENOISING_LIGHT),
                             .albedo = aov_of(noisy, FILM_AOV_DENOISING_ALBEDO),
                             .normal = aov_of(noisy, FILM_AOV_DENOISING_NORMAL),
                             .depth = aov_of(noisy, FILM_AOV_DENOISING_DEPTH),
                             .odd_albedo = aov_of(noisy, FILM_AOV_DENOISING_ODD_ALBEDO),
                             .odd_normal = aov_of(noisy, FILM_AOV_DENOISING_ODD_NORMAL),
                             .odd_depth = aov_of(noisy, FILM_AOV_DENOISING_ODD_DEPTH),
                             .thread_count = denoiser->thread_count};
    return nfor_denoise(&input, rgba, 4, err);
}

Status render_denoiser_check(const RenderDenoiser *denoiser, Error *err)
{
    enum { SIDE = 8 };
    float rgba[SIDE * SIDE][4] = {{0}}, guide[SIDE * SIDE][3] = {{0}};
    RenderNoisy noisy = {.width = SIDE, .height = SIDE, .rgba = rgba[0]};
    noisy.aovs[FILM_AOV_DENOISING_NORMAL - FILM_AOV_DENOISING_ALBEDO] = guide[0];
    noisy.aovs[0] = guide[0];
    return denoiser->is_oidn ? run_oidn(denoiser, &noisy, rgba[0], err) : STATUS_OK;
}

Status render_denoise(const RenderDenoiser *denoiser, const RenderNoisy *noisy, float **out_rgba,
                      Error *err)
{
    size_t count = (size_t)noisy->width * noisy->height;
    float *rgba = mem_alloc(count, 4 * sizeof *rgba);
    *out_rgba = NULL;
    if (!rgba)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the denoised picture");
    memcpy(rgba, noisy->rgba, count * 4 * sizeof *rgba);
    Status status = run(denoiser, noisy, rgba, err);
    if (status == STATUS_OK)
        *out_rgba = rgba;
    else
        mem_free(rgba);
    return status;
}

Status render_denoise_film(const RenderDenoiser *denoiser, const Film *film, float **out_rgba,
                           Error *err)
{
    const FilmDesc *desc = film_desc(film);
    FilmAovSet aovs = render_denoiser_aovs(denoiser);
    size_t count = (size_t)desc->crop_width * desc->crop_height, floats = 4;
    RenderNoisy noisy = {.width = desc->crop_width, .height = desc->crop_height};
    *out_rgba = NULL;
    if (aovs & ~desc->aovs)
        return error_set(
            err, STATUS_INVALID,
            "the film has no data for the denoiser: it was rendered without --denoise");
    for (int a = FILM_AOV_DENOISING_ALBEDO; a <= FILM_AOV_DENOISING_ODD_DEPTH; ++a)
        floats += film_aovs_have(aovs, (FilmAov)a) ? film_aov_info((FilmAov)a)->channel_count : 0;
    float *all = mem_alloc(count, floats * sizeof *all), *at = all;
    if (!all)
        return error_set(err, STATUS_NO_MEMORY, "no memory to denoise the picture");
    render_output_resolve(film, at);
    noisy.rgba = at;
    at += 4 * count;
    for (int a = FILM_AOV_DENOISING_ALBEDO; a <= FILM_AOV_DENOISING_ODD_DEPTH; ++a) {
        if (!film_aovs_have(aovs, (FilmAov)a))
            continue;
        noisy.aovs[a - FILM_AOV_DENOISING_ALBEDO] = at;
        render_output_resolve_aov(film, (FilmAov)a, at);
        at += count * film_aov_info((FilmAov)a)->channel_count;
    }
    Status status = render_denoise(denoiser, &noisy, out_rgba, err);
    mem_free(all);
    return status;
}
