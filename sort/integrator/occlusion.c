/* Ambient occlusion: shadow rays from surfaces into the hemisphere, which are dark if they meet a surface within a distance. */
#include "sort/integrator/wave_state.h"

#include "sort/sampling/sample_key.h"
#include "sort/sampling/warp.h"
#include "sort/shade/footprint_ray.h"

void occlusion_send(Wave *w, ShadowQueue *queue, uint32_t i, const SurfaceHit *hit, float3 normal,
                    Spectrum light)
{
    const WaveShared *s = w->shared;
    const Path *path = &w->paths[i];
    float2 u = sampler_2d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_AO_UV));
    float3 x, y, d = warp_hemisphere_cosine(u);
    f3_frame(normal, &x, &y);
    float3 wi = f3_normalize(warp_to_frame(d, x, y, normal));
    SurfacePoint surface = hit_point(hit);
    Ray ray = {.origin = ray_leave(&surface, wi),
               .direction = wi,
               .t_max = s->ao_distance_m,
               .time = w->rays.time[i]};
    uint32_t shadow = shadow_queue_add(w, queue, i, hit->depth + 1);
    ray_batch_set(&queue->batch.rays, shadow, &ray);
    shadow_queue_set_light(queue, shadow, light, 0);
    footprint_cone(wi, footprint_width(hit), 0.5f * SORT_INV_PI, &queue->diffs[shadow]);
    /* A normal that leans away from its surface has directions that go into it. */
    if (f3_dot(wi, hit->Ng) <= 0.0f)
        queue->batch.state[shadow] = SHADOW_DEAD;
}

void occlusion_record_surface(Wave *w, uint32_t i, SurfaceLane surface, BsdfPoint bsdf)
{
    SurfaceHit hit = surface_get(surface);
    float3 normal = bsdf_point_normal(bsdf);
    Spectrum gone = spectrum_add(bsdf_point_transparency(bsdf), bsdf_point_holdout(bsdf));
    Spectrum seen = spectrum_mul(w->paths[i].beta, spectrum_sub(spectrum_splat(1.0f), gone));
    if (!spectrum_is_black(seen))
        occlusion_send(w, w->occlusion, i, &hit, f3_length2(normal) > 0.0f ? normal : hit.N, seen);
}
