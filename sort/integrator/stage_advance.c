/* Ends paths, by chance where they carry little, hands finished ones to the film and closes the gaps. */
#include "sort/integrator/wave_state.h"

/* Russian roulette: survives with probability q, and then counts 1/q. */
static void roulette(const WaveShared *s, Path *path)
{
    if (path->depth < WAVE_ROULETTE_DEPTH)
        return;
    float q = fminf(spectrum_max(path->beta) * path->eta_scale, 0.95f);
    uint32_t dimension = sample_dimension(path->event, SAMPLE_ROULETTE);
    if (!(sampler_1d(&s->sampler, path->key, dimension) < q))
        path->flags |= PATH_DEAD;
    else
        path->beta = spectrum_scale(path->beta, 1.0f / q);
}

static void move_path(Wave *w, uint32_t to, uint32_t from)
{
    Ray ray = ray_batch_get(&w->rays, from);
    ray_batch_set(&w->rays, to, &ray);
    w->paths[to] = w->paths[from];
}

void stage_advance(Wave *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        Path *path = &w->paths[i];
        if (!(path->flags & PATH_DEAD))
            roulette(w->shared, path);
        if (spectrum_is_black(path->beta))
            path->flags |= PATH_DEAD;
        if (path->flags & PATH_DEAD) {
            film_commit(w->shared->film, path->key.x, path->key.y, &path->film);
        } else {
            if (kept != i)
                move_path(w, kept, i);
            ++kept;
        }
    }
    w->count = kept;
}
