/* Shadow catchers, as the camera sees them. The picture does not have the light that they reflect. It has the backdrop
 * behind them, darkened by the fraction of their light that other objects take away (FilmCatch). A path that meets a
 * catcher ends there, or goes on through it where it is transparent. It spawns two paths at the same ray, which look for
 * the light that the catcher reflects:
 *
 *                      sees              its light goes to
 *   PATH_CAUGHT        all               FilmCatch.lit
 *   with PATH_ALONE    catchers, lights  FilmCatch.alone
 *
 * Both have the path's sample key, so that they return the same bits where no object makes a difference. They meet all
 * further surfaces, other catchers included, as ordinary ones, and so does every path after its first bounce. */
#include "sort/integrator/wave_state.h"

static void send_path(Wave *w, uint32_t i, uint32_t flags)
{
    uint32_t to = w->count + w->spawned_count++;
    ASSERT(to < w->capacity);
    wave_copy_path(w, to, i);
    if (w->caught)
        hit_batch_copy(w->caught, to, &w->hits, i);
    w->paths[to].flags |= flags | PATH_SEEN | PATH_CAUGHT | PATH_AT_CATCHER;
}

/* Adds the backdrop to the sample of a path that ends at a catcher. It is weighted by the inverse of the probability
 * that the path ended here instead of going through. */
static void add_backdrop(Wave *w, uint32_t i, BsdfPoint bsdf)
{
    const Scene *scene = w->shared->scene;
    const Path *path = &w->paths[i];
    FilmSample *sample = wave_sample(w, path->sample);
    Spectrum not_here = spectrum_add(bsdf_point_transparency(bsdf), bsdf_point_holdout(bsdf));
    Spectrum hole = spectrum_mul(path->beta, spectrum_sub(spectrum_splat(1.0f), not_here));
    hole = spectrum_scale(hole, 1.0f / maxf(1.0f - bsdf_point_pass_chance(bsdf), FLT_EPSILON));
    float cover = spectrum_average(hole);
    sample->alpha -= cover;
    sample->caught.cover += cover;
    if (scene->environment.kind != SCENE_ENVIRONMENT_NONE && !w->shared->settings->transparent_film)
        sample->caught.backdrop[3] += cover;
    wave_meet_infinity(w, i, hole, true);
}

void wave_catch(Wave *w, uint32_t i, BsdfPoint bsdf, bool is_through)
{
    if (!is_through)
        add_backdrop(w, i, bsdf);
    send_path(w, i, 0);
    send_path(w, i, PATH_ALONE);
}
