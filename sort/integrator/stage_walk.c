/* Random walks of paths inside translucent bodies. Each pass of the wave is one flight (walk.ssl), and its ray is as
 * long as the free distance that was drawn for it. If the ray meets nothing, the path scatters at its end. If it meets
 * the body's own surface, the path leaves by a diffuse lobe (stage_surface.c). Other surfaces inside the body are shaded
 * as they would be outside. */
#include "sort/integrator/wave_state.h"

#include "sort/integrator/walk_rows.h"

/* After so many scatters light diffuses, and the medium may be isotropic: as in Cycles. */
enum { ANISOTROPIC_STEPS = 8 };

/* Paths whose walks begin, go on or end, and the rows of their flights. */
typedef struct WalkBlock {
    uint32_t count;
    uint32_t path[SSL_BLOCK];
    const SampleKey *key[SSL_BLOCK];
    WalkRows rows;
} WalkBlock;

static uint16_t all_lanes(const WalkBlock *block)
{
    return (uint16_t)((1u << block->count) - 1u);
}

static void set_channels(WideRow rows[SPECTRUM_CHANNELS], uint32_t k, Spectrum v)
{
    SPECTRUM_EACH(c) rows[c][k] = v.c[c];
}

static Spectrum get_channels(const WideRow rows[SPECTRUM_CHANNELS], uint32_t k)
{
    Spectrum v;
    SPECTRUM_EACH(c) v.c[c] = rows[c][k];
    return v;
}

/* Draws the channels and distances of the next flights, whose paths have so many more events by then. */
static void draw_distances(const Wave *w, WalkBlock *block, uint32_t more)
{
    uint32_t channels[SSL_BLOCK] = {0}, distances[SSL_BLOCK] = {0};
    for (uint32_t k = 0; k < block->count; ++k) {
        uint32_t event = w->paths[block->path[k]].event + more;
        channels[k] = sample_dimension(event, SAMPLE_MEDIUM_CHANNEL);
        distances[k] = sample_dimension(event, SAMPLE_MEDIUM_DISTANCE);
    }
    const Sampler *sampler = &w->shared->sampler;
    uint16_t live = all_lanes(block);
    sampler_1d_points(sampler, block->key, channels, live, block->rows.channel_u);
    sampler_1d_points(sampler, block->key, distances, live, block->rows.distance_u);
}

static void draw_directions(const Wave *w, WalkBlock *block)
{
    uint32_t directions[SSL_BLOCK] = {0};
    WideRow uv[2];
    for (uint32_t k = 0; k < block->count; ++k)
        directions[k] = sample_dimension(w->paths[block->path[k]].event, SAMPLE_MEDIUM_UV);
    sampler_2d_points(&w->shared->sampler, block->key, directions, all_lanes(block), uv);
    memcpy(block->rows.u, uv[0], sizeof uv[0]);
    memcpy(block->rows.v, uv[1], sizeof uv[1]);
}

/* Adds a path, which has its medium. */
static uint32_t add_path(WalkBlock *block, const Wave *w, uint32_t i)
{
    const Path *path = &w->paths[i];
    WalkRows *rows = &block->rows;
    uint32_t k = block->count++;
    block->path[k] = i;
    block->key[k] = &path->key;
    set_channels(rows->albedo, k, path->medium.albedo);
    set_channels(rows->sigma_t, k, path->medium.sigma_t);
    set_channels(rows->beta, k, path->beta);
    rows->g[k] = path->medium.g;
    return k;
}

/* Adds a path whose flight of t metres ends. */
static void add_flight(WalkBlock *block, const Wave *w, uint32_t i, float t)
{
    const Walk *walk = &w->paths[i].walk;
    WalkRows *rows = &block->rows;
    uint32_t k = add_path(block, w, i);
    ASSERT(t >= 0.0f);
    set_channels(rows->reach, k, walk->reach);
    wide_set3(rows->outwards, k, walk->out);
    rows->cosine[k] = walk->cosine;
    rows->phase[k] = walk->phase;
    rows->t[k] = t;
}

/* Gives a path the throughput after its flight. */
static void weigh(Path *path, const WalkBlock *block, uint32_t k)
{
    path->beta = get_channels(block->rows.weighed, k);
    if (spectrum_is_black(path->beta))
        path->flags |= PATH_DEAD;
}

void wave_walk_begin(Wave *w, const uint32_t *paths, uint32_t count)
{
    WalkBlock block;
    block.count = 0;
    for (uint32_t k = 0; k < count; ++k)
        add_path(&block, w, paths[k]);
    draw_distances(w, &block, 0);
    walk_begin_run(&block.rows, all_lanes(&block));
    for (uint32_t k = 0; k < count; ++k) {
        w->paths[paths[k]].walk.reach = get_channels(block.rows.reach, k);
        w->rays.t_max[paths[k]] = block.rows.t_max[k];
    }
}

/* Scatters all paths of a block at the ends of their flights, sends them on, and empties it. */
static void scatter_block(Wave *w, WalkBlock *block)
{
    WalkRows *rows = &block->rows;
    if (block->count == 0)
        return;
    for (uint32_t k = 0; k < block->count; ++k) {
        const Path *path = &w->paths[block->path[k]];
        rows->diffuses[k] = path->walk_steps >= ANISOTROPIC_STEPS && path->medium.g > 0.0f;
        for (uint32_t c = 0; c < 3; ++c)
            rows->wo[c][k] = w->rays.direction[c][block->path[k]];
    }
    draw_directions(w, block);
    draw_distances(w, block, 1);
    walk_scatter_run(rows, all_lanes(block));
    for (uint32_t k = 0; k < block->count; ++k) {
        uint32_t i = block->path[k];
        Path *path = &w->paths[i];
        Ray ray = ray_batch_get(&w->rays, i);
        weigh(path, block, k);
        ++path->event;
        if (++path->walk_steps >= WAVE_WALK_MAX)
            path->flags |= PATH_DEAD;
        if (rows->diffuses[k]) {
            path->medium.albedo = get_channels(rows->next_albedo, k);
            path->medium.sigma_t = get_channels(rows->next_sigma_t, k);
            path->medium.g = rows->next_g[k];
        }
        path->walk.cosine = rows->next_cosine[k];
        path->walk.phase = rows->next_phase[k];
        ray_batch_start(&w->rays, i, f3_madd(ray.origin, ray.t_max, ray.direction),
                        wide_get3(rows->wi, k), rows->t_max[k], ray.time);
    }
    block->count = 0;
}

/* Ends the walks of all paths of a block at surfaces, and empties it. */
static void leave_block(Wave *w, WalkBlock *block)
{
    if (block->count == 0)
        return;
    walk_leave_run(&block->rows, all_lanes(block));
    for (uint32_t k = 0; k < block->count; ++k) {
        uint32_t i = block->path[k];
        Path *path = &w->paths[i];
        weigh(path, block, k);
        path->flags &= ~(uint32_t)PATH_INSIDE;
        ++path->event;
        if (w->hits.shape[i] == path->body)
            path->flags |= PATH_LEAVING;
        else
            path->flags |= PATH_SPECULAR; /* no light was sampled on the way */
    }
    block->count = 0;
}

void stage_walk(Wave *w)
{
    uint32_t count = w->has_walks ? w->count : 0;
    WalkBlock scattering, leaving;
    scattering.count = leaving.count = 0;
    w->has_walks = false;
    for (uint32_t i = 0; i < count; ++i) {
        if (!(w->paths[i].flags & PATH_INSIDE))
            continue;
        w->has_walks = true;
        if (w->hits.shape[i] != HIT_NONE)
            add_flight(&leaving, w, i, w->hits.t[i]);
        else
            add_flight(&scattering, w, i, w->rays.t_max[i]);
        if (leaving.count == SSL_BLOCK)
            leave_block(w, &leaving);
        if (scattering.count == SSL_BLOCK)
            scatter_block(w, &scattering);
    }
    leave_block(w, &leaving);
    scatter_block(w, &scattering);
}
