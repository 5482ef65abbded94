/* Shades what was hit: emission, one light sample, one scattered ray a path. */
#include "sort/integrator/wave_state.h"

#include "sort/sampling/mis.h"
#include "sort/shade/footprint_ray.h"
#include <string.h>

static void resolve_hits(Wave *w, uint32_t *members, uint32_t *out_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        w->shadow.state[i] = SHADOW_DEAD;
        if (w->paths[i].flags & PATH_DEAD)
            continue;
        Ray ray = ray_batch_get(&w->rays, i);
        hit_surface(w->shared->scene, w->hits.shape[i], w->hits.triangle[i], w->hits.b1[i],
                    w->hits.b2[i], w->hits.t[i], &ray, &w->paths[i].diff, w->paths[i].depth,
                    &w->surfaces[i]);
        members[count++] = i;
    }
    *out_count = count;
}

/* --- first surface ---------------------------------------------------------------------------- */

static void store3(float *at, float3 v)
{
    at[0] = v.x, at[1] = v.y, at[2] = v.z;
}

static void record_first_surface(const Wave *w, Path *path, const SurfaceHit *hit, const Bsdf *bsdf)
{
    path->flags |= PATH_SEEN;
    store3(path->film.aov + film_aov_info(FILM_AOV_ALBEDO)->offset,
           spectrum_to_rgb(bsdf_albedo(bsdf)));
    float3 n = bsdf_normal(bsdf);
    store3(path->film.aov + film_aov_info(FILM_AOV_NORMAL)->offset,
           f3_length2(n) > 0.0f ? n : hit->N);
    path->film.aov[film_aov_info(FILM_AOV_DEPTH)->offset] =
        f3_length(f3_sub(hit->P, w->shared->view.position));
}

/* --- light sampling --------------------------------------------------------------------------- */

static void aim_shadow_ray(Wave *w, uint32_t i, const SurfaceHit *hit, const LightSample *light)
{
    bool is_same_side = f3_dot(light->wi, hit->Ng) > 0.0f;
    float3 origin = ray_offset_origin(hit->P, is_same_side ? hit->Ng : f3_neg(hit->Ng));
    Ray ray = {.origin = origin,
               .direction = light->wi,
               .t_max = isinf(light->distance_m) ? INFINITY : light->distance_m * RAY_SHADOW_REACH,
               .time = w->rays.time[i]};
    ray_batch_set(&w->shadow.rays, i, &ray);
    w->shadow.state[i] = SHADOW_QUEUED;
    ++w->counters.shadow_rays;
}

/* The point on an emissive mesh that was drawn, to be shaded once this stage's chunks are done. */
static void queue_mesh_light(Wave *w, uint32_t i, const SurfaceHit *hit, const LightSample *light)
{
    Ray ray = {.origin = hit->P, .direction = light->wi, .t_max = INFINITY};
    MeshLightSample *sample = &w->mesh_lights[w->mesh_light_count++];
    sample->path = i;
    hit_surface(w->shared->scene, light->instance, light->triangle, light->b1, light->b2,
                light->distance_m, &ray, &w->light_diff[i], hit->depth + 1, &sample->hit);
}

static void sample_light(Wave *w, uint32_t i, const SurfaceHit *hit, const Bsdf *bsdf)
{
    const WaveShared *s = w->shared;
    Path *path = &w->paths[i];
    if (!bsdf_has_smooth(bsdf))
        return;
    LightSample light;
    float choice =
        sampler_1d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_LIGHT_CHOICE));
    float2 u = sampler_2d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_LIGHT_UV));
    if (!lights_sample(s->lights, hit->P, hit->N, choice, u, &light))
        return;
    float bsdf_pdf_wi;
    Spectrum f = bsdf_eval(bsdf, light.wi, &bsdf_pdf_wi);
    if (spectrum_is_black(f))
        return;
    float mis = light.is_delta ? 1.0f : mis_power(light.pdf_solid_angle, bsdf_pdf_wi);
    Spectrum factor = spectrum_scale(spectrum_mul(path->beta, f), mis / light.pdf_solid_angle);
    footprint_scatter(hit, light.wi, light.pdf_solid_angle, &w->light_diff[i]);
    if (light.value == LIGHT_VALUE_KNOWN) {
        w->light[i] = spectrum_mul(factor, light.radiance);
    } else if (light.value == LIGHT_VALUE_ENVIRONMENT) {
        w->light[i] = spectrum_mul(factor, shade_environment(w->shade, light.wi, NULL));
    } else {
        w->light[i] = factor;
        queue_mesh_light(w, i, hit, &light);
    }
    if (!spectrum_is_black(w->light[i]))
        aim_shadow_ray(w, i, hit, &light);
}

/* Multiplies in the emission of the mesh lights that were drawn, a material at a time. */
static void shade_mesh_lights(Wave *w)
{
    const SurfaceHit *hits[SHADE_CHUNK];
    uint32_t members[SHADE_CHUNK];
    for (uint32_t begin = 0; begin < w->mesh_light_count;) {
        uint32_t material = w->mesh_lights[begin].hit.material, count = 0, end = begin;
        /* Runs of one material: lists are short, and a render has few emissive materials. */
        while (end < w->mesh_light_count && count < SHADE_CHUNK &&
               w->mesh_lights[end].hit.material == material) {
            members[count] = w->mesh_lights[end].path;
            hits[count++] = &w->mesh_lights[end++].hit;
        }
        bool emits = shade_run(w->shade, material, SSL_KERNEL_EMISSION, hits, count);
        for (uint32_t k = 0; k < count; ++k) {
            Spectrum radiance = emits ? shade_emission(w->shade, k) : spectrum_splat(0.0f);
            w->light[members[k]] = spectrum_mul(w->light[members[k]], radiance);
        }
        begin = end;
    }
    w->mesh_light_count = 0;
}

/* --- scattering ------------------------------------------------------------------------------- */

static void next_footprint(const SurfaceHit *hit, const BsdfSample *sample, RayDiff *out_diff)
{
    if (sample->flags & BSDF_TRANSPARENT)
        footprint_pass(hit, out_diff);
    else if ((sample->flags & BSDF_DELTA) && (sample->flags & BSDF_TRANSMISSION))
        footprint_refract(hit, sample->n, sample->wi, sample->eta, out_diff);
    else if (sample->flags & BSDF_DELTA)
        footprint_reflect(hit, sample->n, out_diff);
    else
        footprint_scatter(hit, sample->wi, sample->pdf, out_diff);
}

static void scatter(Wave *w, uint32_t i, const SurfaceHit *hit, const Bsdf *bsdf)
{
    const WaveShared *s = w->shared;
    Path *path = &w->paths[i];
    BsdfSample sample;
    float lobe =
        sampler_1d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_BSDF_LOBE));
    float2 u = sampler_2d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_BSDF_UV));
    if (!bsdf_sample(bsdf, lobe, u, &sample)) {
        path->flags |= PATH_DEAD;
        return;
    }
    bool is_transparent = (sample.flags & BSDF_TRANSPARENT) != 0;
    if (path->flags & PATH_LAST && !is_transparent) {
        path->flags |= PATH_DEAD;
        return;
    }
    if (!(path->flags & PATH_SEEN) && !is_transparent)
        record_first_surface(w, path, hit, bsdf);
    path->beta = spectrum_mul(path->beta, sample.weight);
    ++path->event;
    if (is_transparent) {
        if (path->event > path->depth + WAVE_TRANSPARENT_MAX)
            path->flags |= PATH_DEAD;
    } else {
        ++path->depth;
        path->eta_scale *= sample.eta * sample.eta;
        path->pdf = sample.pdf;
        path->from = hit->P;
        path->from_n = hit->N;
        path->flags &= ~(uint32_t)PATH_SPECULAR;
        if (sample.flags & BSDF_DELTA)
            path->flags |= PATH_SPECULAR;
        if (path->depth >= s->max_depth)
            path->flags |= PATH_LAST;
    }
    next_footprint(hit, &sample, &path->diff);
    bool is_same_side = f3_dot(sample.wi, hit->Ng) > 0.0f;
    Ray ray = {.origin = ray_offset_origin(hit->P, is_same_side ? hit->Ng : f3_neg(hit->Ng)),
               .direction = sample.wi,
               .t_max = INFINITY,
               .time = w->rays.time[i]};
    ray_batch_set(&w->rays, i, &ray);
}

/* --- the stage -------------------------------------------------------------------------------- */

static void add_emission(const Wave *w, Path *path, const SurfaceHit *hit, const Bsdf *bsdf,
                         float t)
{
    Spectrum emission = bsdf_emission(bsdf);
    if (spectrum_is_black(emission))
        return;
    float share = 1.0f;
    if (!(path->flags & PATH_SPECULAR))
        share =
            mis_power(path->pdf, lights_mesh_pdf(w->shared->lights, path->from, path->from_n,
                                                 hit->instance, hit->triangle, hit->I, t, hit->Ng));
    path_add(path, spectrum_scale(emission, share));
}

static void shade_point(Wave *w, uint32_t i, uint32_t lane)
{
    Path *path = &w->paths[i];
    const SurfaceHit *hit = &w->surfaces[i];
    Bsdf bsdf;
    shade_bsdf(w->shade, lane, &bsdf);
    w->counters.bsdf_faults += bsdf.faults != 0;
    /* Measured from the last scatter, since transparent surfaces may lie between. */
    add_emission(w, path, hit, &bsdf, f3_length(f3_sub(hit->P, path->from)));
    if (path->flags & PATH_LAST && spectrum_is_black(bsdf_transparency(&bsdf))) {
        path->flags |= PATH_DEAD;
        return;
    }
    if (!(path->flags & PATH_LAST))
        sample_light(w, i, hit, &bsdf);
    scatter(w, i, hit, &bsdf);
}

void stage_surface(Wave *w)
{
    const SurfaceHit *hits[SHADE_CHUNK];
    uint32_t *members = w->order + w->capacity;
    uint32_t count, n;
    resolve_hits(w, members, &count);
    wave_group(w, members, count);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count, hits)) > 0; begin += n) {
        shade_run(w->shade, hits[0]->material, SSL_KERNEL_SHADE, hits, n);
        for (uint32_t k = 0; k < n; ++k)
            shade_point(w, w->order[begin + k], k);
    }
    shade_mesh_lights(w);
}
