/* Shadow rays: adds the light of those that are clear, attenuated by alpha surfaces on their way. */
#include "sort/integrator/wave_state.h"

/* Computes the geometry of the alpha surface that the shadow ray met. */
static void resolve_alpha(Wave *w, uint32_t i, uint32_t crossing)
{
    ASSERT(w->shadow.state[i] == SHADOW_ALPHA);
    Ray ray = ray_batch_get(&w->shadow.rays, i);
    HitQuery query = wave_hit_query(&w->shadow.hits, i, w->lights[i].depth);
    uint32_t material = hit_material(w->shared->scene, query.instance, query.triangle);
    query.parts =
        material_set_get(w->shared->materials, material)->programs[SSL_KERNEL_OPACITY].parts;
    hit_surface(w->shared->scene, &query, &ray, &w->lights[i].diff, &w->surfaces[i]);
    w->surfaces[i].draw = wave_draw(&w->paths[i], crossing);
    w->surfaces[i].history = w->paths[i].history;
    w->surfaces[i].history.kind = RAY_SHADOW;
    w->surfaces[i].history.is_cone = w->lights[i].is_cone;
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
    const SurfaceHit *hits[SHADE_CHUNK];
    uint32_t going_on = 0, n;
    for (uint32_t k = 0; k < count; ++k)
        resolve_alpha(w, w->members[k], crossing);
    wave_group(w, count);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count, hits)) > 0; begin += n) {
        bool has_alpha = shade_run(w->shade, hits[0]->material, SSL_KERNEL_OPACITY, hits, n);
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
    for (uint32_t i = 0; i < w->count; ++i)
        if (w->shadow.state[i] == SHADOW_ALPHA)
            w->members[count++] = i;
    return count;
}

void stage_shadow(Wave *w)
{
    uint32_t passes = 0;
    for (uint32_t i = 0; i < w->count; ++i)
        w->counters.shadow_rays += w->shadow.state[i] == SHADOW_QUEUED;
    accel_occluded(w->shared->accel, &w->shadow, w->count);
    for (uint32_t n = collect_alpha(w); n > 0; n = collect_alpha(w)) {
        /* A ray that has passed this many surfaces counts as blocked. */
        if (++passes > w->shared->settings->max_transparent || shade_alpha(w, n, passes) == 0)
            break;
        accel_occluded(w->shared->accel, &w->shadow, w->count);
    }
    for (uint32_t i = 0; i < w->count; ++i)
        if (w->shadow.state[i] == SHADOW_CLEAR)
            wave_add_light(
                w, &w->paths[i], w->lights[i].light,
                (LightArrival){.group = w->lights[i].light_group, .bounces = w->lights[i].depth});
}
