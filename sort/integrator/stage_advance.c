/* Ends dead paths, and by Russian roulette those that carry little; moves the others together. */
#include "sort/integrator/wave_state.h"

/* Russian roulette: the path survives with probability q, and its throughput is divided by q. */
static void roulette(const WaveShared *s, Path *path)
{
    bool is_inside = path->flags & PATH_INSIDE;
    if (path->depth < WAVE_ROULETTE_DEPTH && !is_inside)
        return;
    /* Closure subtraction makes throughput negative; its absolute value counts. */
    float worth = spectrum_max_abs(path->beta) * path->eta_scale;
    /* On surfaces q is the square root: a dim path may still meet a bright light, such as the sun in a mirror, and would
     * add it divided by a small q. Inside white bodies walks are long and lose no throughput, so q may be 1. */
    float q = is_inside ? minf(worth, 1.0f) : minf(sqrtf(worth), 0.95f);
    uint32_t dimension = sample_dimension(path->event, SAMPLE_ROULETTE);
    if (!(sampler_1d(&s->sampler, path->key, dimension) < q))
        path->flags |= PATH_DEAD;
    else
        path->beta = spectrum_scale(path->beta, 1.0f / q);
}

static void move_path(Wave *w, uint32_t to, uint32_t from)
{
    ASSERT(to < from);
    Ray ray = ray_batch_get(&w->rays, from);
    ray_batch_set(&w->rays, to, &ray);
    w->paths[to] = w->paths[from];
}

void stage_advance(Wave *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        Path *path = &w->paths[i];
        if (path->flags & PATH_DEAD || spectrum_is_black(path->beta))
            continue;
        roulette(w->shared, path);
        if (path->flags & PATH_DEAD)
            continue;
        if (kept != i)
            move_path(w, kept, i);
        ++kept;
    }
    for (uint32_t i = w->count; i < w->count + w->spawned_count; ++i, ++kept)
        if (kept != i)
            move_path(w, kept, i);
    ASSERT(kept <= w->capacity);
    w->count = kept;
    w->spawned_count = 0;
}
