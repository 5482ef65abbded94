/* Ends paths, by chance where they carry little, and closes the gaps. */
#include "sort/integrator/wave_state.h"

/* Russian roulette: survives with probability q, and then counts 1/q. */
static void roulette(const WaveShared *s, Path *path)
{
    bool is_inside = path->flags & PATH_INSIDE;
    if (path->depth < WAVE_ROULETTE_DEPTH && !is_inside)
        return;
    /* Closure subtraction makes negative throughput, which is worth as much. Inside white bodies walks are long
     * without becoming worth less. */
    float worth = spectrum_max_abs(path->beta) * path->eta_scale;
    /* On surfaces the root: what a dim path may still meet, a sun in a mirror, is not dim, and counts 1/q. */
    float q = is_inside ? minf(worth, 1.0f) : minf(sqrtf(worth), 0.95f);
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
    w->count = kept;
    w->spawned_count = 0;
}
