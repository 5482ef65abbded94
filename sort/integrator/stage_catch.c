/* Shadow catchers, as the camera sees them. What they reflect is not in the picture, but what is behind them and how
 * much of their light other objects take (FilmCatch). A path that meets one ends there, or goes on through it where it
 * is transparent. Two paths that begin at the same ray look for the light that it reflects:
 *
 *                      sees              its light goes to
 *   PATH_CAUGHT        all               FilmCatch.lit
 *   with PATH_ALONE    catchers, lights  FilmCatch.alone
 *
 * They have the same key: what nothing disturbs comes to the same bits. What they meet from there on they meet as any
 * surface, and so do other paths that meet a catcher later than from the camera. */
#include "sort/integrator/wave_state.h"

static void send_path(Wave *w, uint32_t i, uint32_t flags)
{
    uint32_t to = w->count + w->spawned_count++;
    Ray ray = ray_batch_get(&w->rays, i);
    ray_batch_set(&w->rays, to, &ray);
    w->paths[to] = w->paths[i];
    w->paths[to].flags |= flags | PATH_SEEN | PATH_CAUGHT | PATH_AT_CATCHER;
}

/* For a path that ends here; its weight makes up for those that went through. */
static void add_backdrop(Wave *w, uint32_t i, const Bsdf *bsdf)
{
    const Scene *scene = w->shared->scene;
    const Path *path = &w->paths[i];
    FilmSample *sample = &w->samples[path->sample];
    Spectrum not_here = spectrum_add(bsdf_transparency(bsdf), bsdf_holdout(bsdf));
    Spectrum hole = spectrum_mul(path->beta, spectrum_sub(spectrum_splat(1.0f), not_here));
    hole = spectrum_scale(hole, 1.0f / maxf(1.0f - bsdf_pass_chance(bsdf), FLT_EPSILON));
    float cover = spectrum_average(hole);
    sample->alpha -= cover;
    sample->caught.cover += cover;
    if (scene->environment.kind != SCENE_ENVIRONMENT_NONE && !w->shared->settings->transparent_film)
        sample->caught.backdrop[3] += cover;
    wave_meet_infinity(w, i, hole, true);
}

void wave_catch(Wave *w, uint32_t i, const Bsdf *bsdf, bool is_through)
{
    if (!is_through)
        add_backdrop(w, i, bsdf);
    send_path(w, i, 0);
    send_path(w, i, PATH_ALONE);
}
