/* The denoised picture of a film. */
#ifndef SORT_RENDER_RENDER_DENOISE_H
#define SORT_RENDER_RENDER_DENOISE_H

#include "sort/film/film.h"

/* What a denoiser reads of a picture, as it is written to files: light is multiplied by the exposure. Arrays are
 * [height][width][channels], borrowed. */
typedef struct RenderNoisy {
    uint32_t width, height;
    bool is_half;      /* rgba was rounded to halves */
    const float *rgba; /* its alpha is kept, and its colour where a pixel cannot be denoised */
    /* By FilmAov from FILM_AOV_DENOISING_ALBEDO on. Open Image Denoise does without those that are NULL. */
    const float *aovs[FILM_AOV_DENOISING_ODD_DEPTH + 1 - FILM_AOV_DENOISING_ALBEDO];
} RenderNoisy;

typedef struct RenderDenoiser {
    uint32_t thread_count; /* 0: one a CPU */
    /* Open Image Denoise (oidn_client.h) instead of our own: its library, NULL where it usually is. Borrowed, as the folders. */
    bool is_oidn;
    const char *oidn_path;
    const char *const *plugin_folders;
    uint32_t plugin_folder_count;
    uint32_t timeout_ms; /* of Open Image Denoise; 0: by the size of the picture */
} RenderDenoiser;

/* Returns the AOVs that a film must hold for the denoiser. */
FilmAovSet render_denoiser_aovs(const RenderDenoiser *denoiser);
/* Denoises a small picture, so that a library that is missing or broken is told before a render and not after it. Errors: those of
 * oidn_denoise. */
Status render_denoiser_check(const RenderDenoiser *denoiser, Error *err) SORT_MUST_CHECK;
/* *out_rgba, [height][width][4], is the caller's: mem_free. Errors: STATUS_INVALID, STATUS_NO_MEMORY. */
Status render_denoise(const RenderDenoiser *denoiser, const RenderNoisy *noisy, float **out_rgba,
                      Error *err) SORT_MUST_CHECK;
/* Denoises a film's picture in the same way. STATUS_INVALID if it does not hold what the denoiser reads. */
Status render_denoise_film(const RenderDenoiser *denoiser, const Film *film, float **out_rgba,
                           Error *err) SORT_MUST_CHECK;

#endif
