/* Shadow rays: adds the light of those that are clear, attenuated by alpha surfaces on their way. */
#include "sort/integrator/wave_state.h"

/* Computes the alpha surfaces that `count` <= SSL_BLOCK shadow rays met. */
static void find_alpha(const Wave *w, const uint32_t *met, uint32_t count, uint32_t crossing,
                       SurfaceBlock *out)
{
    HitRays rays;
    uint32_t material = w->materials[met[0]];
    wave_load_hits(&w->shadow.rays, &w->shadow.hits, met, count, out);
    wave_load_rays(&w->shadow.rays, met, count, &rays);
    out->material = material;
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t i = met[k];
        ASSERT(w->shadow.state[i] == SHADOW_ALPHA && w->materials[i] == material);
        rays.diff[k] = &w->lights[i].diff;
        out->depth[k] = (int32_t)w->lights[i].depth;
        const Path *path = &w->paths[w->lights[i].path];
        out->draw[k] = wave_draw(path, crossing);
        out->history[k] = path->history;
        out->history[k].kind = RAY_SHADOW;
        out->history[k].is_cone = w->lights[i].is_cone;
    }
    hit_surfaces(
        w->shared->scene, &rays,
        material_set_get(w->shared->materials, material)->programs[SSL_KERNEL_OPACITY].parts, out);
}

static void pass_through(Wave *w, uint32_t i, Spectrum transparency)
{
    w->lights[i].light = spectrum_mul(w->lights[i].light, transparency);
    if (spectrum_is_black(w->lights[i].light))
        w->shadow.state[i] = SHADOW_BLOCKED;
    else
        shadow_batch_continue(&w->shadow, i);
}

/* Runs the opacity kernels of the surfaces that rays w->members[0, count) met. Returns how many rays go on. crossing:
 * the number, from 1, of this surface among those that each ray has met. */
static uint32_t shade_alpha(Wave *w, uint32_t count, uint32_t crossing)
{
    uint32_t going_on = 0, n;
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t i = w->members[k];
        w->materials[i] =
            hit_material(w->shared->scene, w->shadow.hits.shape[i], w->shadow.hits.triangle[i]);
    }
    wave_group(w, count);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count)) > 0; begin += n) {
        for (uint32_t k = 0; k < n; k += SSL_BLOCK)
            find_alpha(w, w->order + begin + k, n - k < SSL_BLOCK ? n - k : SSL_BLOCK, crossing,
                       &w->surfaces[k / SSL_BLOCK]);
        bool has_alpha =
            shade_run(w->shade, w->materials[w->order[begin]], SSL_KERNEL_OPACITY, w->surfaces, n);
        for (uint32_t k = 0; k < n; ++k) {
            uint32_t i = w->order[begin + k];
            pass_through(w, i, has_alpha ? shade_transparency(w->shade, k) : spectrum_splat(0.0f));
            going_on += w->shadow.state[i] == SHADOW_RESUMED;
        }
    }
    return going_on;
}

/* Lists the rays that stand at an alpha surface in w->members, and returns their number. */
static uint32_t collect_alpha(Wave *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->shadow_count; ++i)
        if (w->shadow.state[i] == SHADOW_ALPHA)
            w->members[count++] = i;
    return count;
}

/* Adds the light of clear rays to the radiance of samples, to which all light goes. */
static void add_alone(Wave *w)
{
    const ShadowLight *light = w->lights;
    for (uint32_t i = 0; i < w->shadow_count; ++i, ++light)
        if (w->shadow.state[i] == SHADOW_CLEAR)
            wave_add_alone(w, &w->paths[light->path], light->light);
}

static void add_clamped(Wave *w)
{
    for (uint32_t i = 0; i < w->shadow_count; ++i) {
        const ShadowLight *light = &w->lights[i];
        if (w->shadow.state[i] == SHADOW_CLEAR)
            wave_add_clamped(w, &w->paths[light->path], light->light,
                             (LightArrival){.group = light->light_group,
                                            .bounces = light->depth,
                                            .kinds = w->light_kinds ? &w->light_kinds[i] : NULL});
    }
}

void stage_shadow(Wave *w)
{
    uint32_t passes = 0, queued = 0;
    for (uint32_t i = 0; i < w->shadow_count; ++i)
        queued += w->shadow.state[i] == SHADOW_QUEUED;
    w->counters.shadow_rays += queued;
    bool may_stop = accel_occluded(w->shared->accel, &w->shadow, w->shadow_count);
    for (uint32_t n; may_stop && (n = collect_alpha(w)) > 0;) {
        /* A ray that has passed this many surfaces counts as blocked. */
        if (++passes > w->shared->settings->max_transparent || shade_alpha(w, n, passes) == 0)
            break;
        (void)accel_occluded(w->shared->accel, &w->shadow, w->shadow_count);
    }
    if (SORT_LIKELY(w->adds_alone))
        add_alone(w);
    else
        add_clamped(w);
}
