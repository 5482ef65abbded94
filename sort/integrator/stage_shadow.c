/* Shadow rays: adds the light of those that are clear, attenuated by alpha surfaces on their way. */
#include "sort/integrator/light_paths.h"

/* Computes the alpha surfaces that `count` <= SSL_BLOCK shadow rays met. */
static void find_alpha(const Wave *w, const ShadowQueue *q, const uint32_t *met, uint32_t count,
                       uint32_t crossing, SurfaceBlock *out)
{
    HitRays rays;
    uint32_t material = w->materials[met[0]];
    wave_load_hits(&q->batch.rays, &q->batch.hits, met, count, out);
    wave_load_rays(&q->batch.rays, met, count, &rays);
    out->material = material;
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t i = met[k];
        ASSERT(q->batch.state[i] == SHADOW_ALPHA && w->materials[i] == material);
        rays.diff[k] = &q->diffs[i];
        out->depth[k] = (int32_t)q->lights[i].depth;
        const Path *path = &w->paths[q->lights[i].path];
        out->draw[k] = wave_draw(path, crossing);
        out->history[k] = q->histories ? q->histories[i] : path->history;
        out->history[k].kind = RAY_SHADOW;
        out->history[k].transparent =
            (uint16_t)minf((float)out->history[k].transparent + (float)(crossing - 1), UINT16_MAX);
        out->history[k].is_cone = q->lights[i].is_cone;
    }
    hit_surfaces(
        w->shared->scene, &rays,
        material_set_get(w->shared->materials, material)->programs[SSL_KERNEL_OPACITY].parts, out);
}

static void pass_through(ShadowQueue *q, uint32_t i, Spectrum transparency)
{
    q->lights[i].light = spectrum_mul(q->lights[i].light, transparency);
    if (spectrum_is_black(q->lights[i].light))
        q->batch.state[i] = SHADOW_BLOCKED;
    else
        shadow_batch_continue(&q->batch, i);
}

/* Runs the opacity kernels of the surfaces that rays w->members[0, count) met. Returns how many rays go on. crossing:
 * the number, from 1, of this surface among those that each ray has met. */
static uint32_t shade_alpha(Wave *w, ShadowQueue *q, uint32_t count, uint32_t crossing)
{
    uint32_t going_on = 0, n;
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t i = w->members[k];
        w->materials[i] =
            hit_material(w->shared->scene, q->batch.hits.shape[i], q->batch.hits.triangle[i]);
    }
    wave_group(w, count);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count)) > 0; begin += n) {
        for (uint32_t k = 0; k < n; k += SSL_BLOCK)
            find_alpha(w, q, w->order + begin + k, n - k < SSL_BLOCK ? n - k : SSL_BLOCK, crossing,
                       &w->surfaces[k / SSL_BLOCK]);
        bool has_alpha =
            shade_run(w->shade, w->materials[w->order[begin]], SSL_KERNEL_OPACITY, w->surfaces, n);
        for (uint32_t k = 0; k < n; ++k) {
            uint32_t i = w->order[begin + k];
            if (q->parts && crossing == 1 && q->parts[i] > 0.0f)
                q->lights[i].light = spectrum_scale(q->lights[i].light, 1.0f / q->parts[i]);
            pass_through(q, i, has_alpha ? shade_transparency(w->shade, k) : spectrum_splat(0.0f));
            going_on += q->batch.state[i] == SHADOW_RESUMED;
        }
    }
    return going_on;
}

/* Lists the rays that stand at an alpha surface in w->members, and returns their number. */
static uint32_t collect_alpha(Wave *w, const ShadowQueue *q)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < q->count; ++i)
        if (q->batch.state[i] == SHADOW_ALPHA)
            w->members[count++] = i;
    return count;
}

/* Rays whose light is below their threshold, which play together. */
typedef struct DimRays {
    uint32_t count;
    uint32_t ray[SSL_BLOCK];
    float survival[SSL_BLOCK];
} DimRays;

/* Returns the threshold of a ray: what survives is as bright as it, and no clamp may darken that. */
static float threshold_of(const WaveShared *s, const ShadowLight *light)
{
    return minf(s->settings->light_threshold,
                light->depth > 1 ? s->clamp_indirect : s->clamp_direct);
}

/* Returns the probability with which a ray is traced, a multiple of the step of random numbers; 1: it takes no part. */
static float survival(const WaveShared *s, const ShadowLight *light)
{
    const float step = 0x1p-24f;
    float threshold = threshold_of(s, light), worth = spectrum_max_abs(light->light);
    if (!(worth < threshold) || !spectrum_is_finite(light->light))
        return 1.0f;
    return ceilf(worth / threshold / step) * step;
}

/* Blocks some of the rays; the light of the others is divided by their probability. */
static void play(const Wave *w, ShadowQueue *q, DimRays *dim)
{
    const SampleKey *keys[SSL_BLOCK];
    uint32_t dimensions[SSL_BLOCK];
    alignas(64) WideRow u;
    for (uint32_t k = 0; k < dim->count; ++k) {
        const ShadowLight *light = &q->lights[dim->ray[k]];
        keys[k] = &w->paths[light->path].key;
        dimensions[k] = sample_dimension(light->event, SAMPLE_SHADOW_ROULETTE);
    }
    sampler_1d_points(&w->shared->sampler, keys, dimensions, (uint16_t)((1u << dim->count) - 1u),
                      u);
    for (uint32_t k = 0; k < dim->count; ++k) {
        uint32_t i = dim->ray[k];
        Spectrum *light = &q->lights[i].light;
        if (u[k] < dim->survival[k])
            *light = spectrum_scale(*light, 1.0f / dim->survival[k]);
        else
            q->batch.state[i] = SHADOW_BLOCKED;
    }
    dim->count = 0;
}

/* Russian roulette of shadow rays by what each would bring to its sample. */
static void roulette(const Wave *w, ShadowQueue *q)
{
    DimRays dim = {.count = 0};
    for (uint32_t i = 0; i < q->count; ++i) {
        if (q->batch.state[i] != SHADOW_QUEUED)
            continue;
        float chance = survival(w->shared, &q->lights[i]);
        if (chance == 1.0f)
            continue;
        dim.ray[dim.count] = i;
        dim.survival[dim.count++] = chance;
        if (dim.count == SSL_BLOCK)
            play(w, q, &dim);
    }
    play(w, q, &dim);
}

/* Traces the rays of a queue to their ends. */
static void trace_queue(Wave *w, ShadowQueue *q)
{
    uint32_t passes = 0, queued = 0;
    for (uint32_t i = 0; i < q->count; ++i)
        queued += q->batch.state[i] == SHADOW_QUEUED;
    w->counters.shadow_rays += queued;
    bool may_stop = accel_occluded(w->shared->accel, &q->batch, q->count);
    for (uint32_t n; may_stop && (n = collect_alpha(w, q)) > 0;) {
        /* A ray that has passed this many surfaces counts as blocked. */
        if (++passes > w->shared->settings->max_transparent || shade_alpha(w, q, n, passes) == 0)
            break;
        (void)accel_occluded(w->shared->accel, &q->batch, q->count);
    }
}

/* Adds the light of clear rays to the radiance of samples, to which all light goes. */
static void add_alone(Wave *w)
{
    const ShadowLight *light = w->shadow.lights;
    for (uint32_t i = 0; i < w->shadow.count; ++i, ++light)
        if (w->shadow.batch.state[i] == SHADOW_CLEAR)
            wave_add_alone(w, &w->paths[light->path], light->light);
}

static void add_clamped(Wave *w)
{
    for (uint32_t i = 0; i < w->shadow.count; ++i) {
        const ShadowLight *light = &w->shadow.lights[i];
        if (w->shadow.batch.state[i] == SHADOW_CLEAR)
            wave_add_clamped(w, &w->paths[light->path], light->light,
                             (LightArrival){.group = light->light_group,
                                            .bounces = light->depth,
                                            .kinds = w->light_kinds ? &w->light_kinds[i] : NULL});
    }
}

/* Traces the rays of a layer of three channels at `at`, and adds what clear ones carry to it. */
static void trace_layer(Wave *w, ShadowQueue *q, uint32_t at)
{
    trace_queue(w, q);
    for (uint32_t i = 0; i < q->count; ++i) {
        float *sum = wave_sample(w, w->paths[q->lights[i].path].sample)->aov + at;
        float3 rgb = spectrum_to_rgb(q->lights[i].light);
        if (q->batch.state[i] == SHADOW_CLEAR)
            sum[0] += rgb.x, sum[1] += rgb.y, sum[2] += rgb.z;
    }
}

/* Tells which lights the rays have come to. Rays without light, and those of empty segments, count too, but for dead ones. */
static void tell_sight(const Wave *w)
{
    const ShadowQueue *q = &w->shadow;
    for (uint32_t i = 0; i < q->count; ++i)
        if (q->batch.state[i] != SHADOW_DEAD)
            light_sight_add(w->shared->sight, q->sight[i], q->batch.state[i] == SHADOW_CLEAR);
}

void stage_shadow(Wave *w)
{
    bool is_of_lights = w->light_paths && w->light_paths->is_under_way;
    if (w->shared->settings->light_threshold > 0.0f && !w->shadow.sight && !is_of_lights)
        roulette(w, &w->shadow);
    trace_queue(w, &w->shadow);
    if (w->shadow.sight)
        tell_sight(w);
    if (is_of_lights) {
        light_paths_splat(w);
        return;
    }
    if (SORT_LIKELY(w->adds_alone))
        add_alone(w);
    else
        add_clamped(w);
    if (w->occlusion)
        trace_layer(w, w->occlusion, FILM_AT_AMBIENT_OCCLUSION);
    if (w->lamp_shadows)
        trace_layer(w, w->lamp_shadows, FILM_AT_SHADOW);
}
