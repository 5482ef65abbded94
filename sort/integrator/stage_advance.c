/* Ends dead paths, and by Russian roulette those that carry little; moves the others together. */
#include "sort/integrator/guiding.h"

/* Returns the probability with which the path survives Russian roulette; 1: it takes no part in it. */
static float survival(const WaveShared *s, const Path *path)
{
    bool is_inside = path->flags & PATH_INSIDE;
    if (path->depth < s->settings->roulette_depth && !is_inside)
        return 1.0f;
    /* Closure subtraction makes throughput negative; its absolute value counts. */
    float worth = spectrum_max_abs(path->beta) * path->eta_scale;
    /* Inside bodies walks are long, and most of them end without light. On surfaces the root keeps dim paths, which may still
     * meet a bright light, such as the sun in a mirror, and would add it divided by a small probability; paths that carry a
     * third of what they began with all survive, since ending them makes more noise than it saves rays. */
    return minf(is_inside ? worth : maxf(sqrtf(worth), 3.0f * worth), 1.0f);
}

/* Paths that play together, and the probabilities with which they survive. */
typedef struct RouletteBlock {
    uint32_t count;
    Path *path[SSL_BLOCK];
    float survival[SSL_BLOCK];
} RouletteBlock;

/* Ends some paths of the block; the throughput of those that survive is divided by their probability. */
static void play(const WaveShared *s, RouletteBlock *block)
{
    const SampleKey *keys[SSL_BLOCK];
    uint32_t dimensions[SSL_BLOCK];
    alignas(64) WideRow u;
    for (uint32_t k = 0; k < block->count; ++k) {
        keys[k] = &block->path[k]->key;
        dimensions[k] = sample_dimension(block->path[k]->event, SAMPLE_ROULETTE);
    }
    sampler_1d_points(&s->sampler, keys, dimensions, (uint16_t)((1u << block->count) - 1u), u);
    for (uint32_t k = 0; k < block->count; ++k) {
        Path *path = block->path[k];
        if (!(u[k] < block->survival[k]))
            path->flags |= PATH_DEAD;
        else
            path->beta = spectrum_scale(path->beta, 1.0f / block->survival[k]);
    }
    block->count = 0;
}

static void roulette(Wave *w)
{
    RouletteBlock block;
    block.count = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        Path *path = &w->paths[i];
        if (spectrum_is_black(path->beta))
            path->flags |= PATH_DEAD;
        float q = path->flags & PATH_DEAD ? 1.0f : survival(w->shared, path);
        if (q == 1.0f)
            continue;
        block.path[block.count] = path;
        block.survival[block.count++] = q;
        if (block.count == SSL_BLOCK)
            play(w->shared, &block);
    }
    play(w->shared, &block);
}

/* Moves paths to the places of dead ones, in their order, which decides the sums of samples that have several paths. */
static void close_gaps_in_order(Wave *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count + w->spawned_count; ++i) {
        if (i < w->count && w->paths[i].flags & PATH_DEAD)
            continue;
        if (kept != i)
            wave_copy_path(w, kept, i);
        ++kept;
    }
    w->count = kept;
}

/* Moves the last paths to the places of dead ones: fewer moves. Where samples have one path, nothing depends on their order. Which
 * paths are dead is as good as random, so nothing branches by it. */
static void close_gaps(Wave *w)
{
    uint32_t *gaps = w->members, *last = w->order, gap_count = 0, last_count = 0;
    ASSERT(w->spawned_count == 0);
    for (uint32_t i = 0; i < w->count; ++i) {
        gaps[gap_count] = i;
        gap_count += w->paths[i].flags & PATH_DEAD;
    }
    uint32_t kept = w->count - gap_count;
    for (uint32_t i = w->count; i-- > kept;) {
        last[last_count] = i;
        last_count += ~w->paths[i].flags & PATH_DEAD;
    }
    for (uint32_t k = 0; k < last_count; ++k)
        wave_copy_path(w, gaps[k], last[k]);
    w->count = kept;
}

_Static_assert(PATH_DEAD == 1, "the flag counts a path");

void stage_advance(Wave *w)
{
    roulette(w);
    if (w->reads.catchers)
        close_gaps_in_order(w);
    else
        close_gaps(w);
    ASSERT(w->count <= w->capacity);
    w->spawned_count = 0;
    if (w->lessons)
        lessons_advance(w);
}
