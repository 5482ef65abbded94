#include "sort/integrator/caustic_paths.h"

#include "sort/sampling/mis.h"
#include "sort/shade/ssl_tables.h"

/* Something is left to scattering, since alpha surfaces between a lamp and a caster, which a shadow ray has not met yet when it is
 * weighted, give it all back. */
#define WEIGHT_MAX (1.0f - 0x1p-10f)
/* Normals that are nearer to each other than this, as 1 - cos, are the same. */
#define BEND_MIN 1e-6f

uint32_t caustic_paths_room(const Wave *w, uint32_t depth)
{
    const SceneSettings *settings = w->shared->settings;
    uint32_t most =
        minu(settings->max_depth, minu(settings->max_glossy, settings->max_transmission));
    if (depth > 0 || caustic_emission_has_glossy(w->shared->caustic_emission))
        most = minu(most, settings->max_diffuse);
    return settings->max_diffuse > 1 && most > depth ? most - depth - 1 : 0;
}

Status caustic_paths_create(Wave *w, Arena *arena, Error *err)
{
    uint32_t materials = w->shared->scene->material_count;
    LightPaths *p = w->light_paths;
    p->is_trial = w->shared->caustic_stride == 0;
    p->stride = p->is_trial ? 1 : w->shared->caustic_stride;
    p->per_sample = 1.0f / (p->per_pixel * (float)(p->is_trial ? CAUSTIC_STRIDE_TRIED : p->stride));
    p->is_known = ARENA_ARRAY(arena, bool, materials + 1);
    if (!p->is_known)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    for (uint32_t m = 0; m < materials; ++m) {
        const MaterialProgram *program =
            &material_set_get(w->shared->materials, m)->programs[SSL_KERNEL_SHADE];
        uint64_t reads =
            program->info ? program->info->globals_value | program->info->globals_derivs : 0;
        p->is_known[m] = !program->reads_bounces && !program->reads_counts &&
                         !(reads >> GLOBAL_ray_length & 1) && !(reads >> GLOBAL_path_depth & 1);
    }
    return STATUS_OK;
}

bool caustic_paths_cast(const Wave *w, uint32_t instance)
{
    return caustic_emission_casts(w->shared->caustic_emission, instance);
}

bool caustic_paths_blur(const Wave *w, uint32_t instance, uint32_t material)
{
    return caustic_emission_is_glossy(w->shared->caustic_emission, instance, material);
}

bool caustic_paths_light(const Wave *w, uint32_t instance)
{
    return caustic_emission_lights(w->shared->caustic_emission, instance);
}

bool caustic_paths_know(const Wave *w, uint32_t material)
{
    return w->light_paths->is_known[material];
}

bool caustic_paths_pass(const Wave *w, uint32_t instance, uint32_t material)
{
    return caustic_paths_know(w, material) &&
           (caustic_paths_cast(w, instance) || caustic_paths_light(w, instance));
}

/* Returns whether a material bends the normal of a lobe with some of these SSL_LOBE_*. */
static bool bends(const BsdfBlock *b, SurfaceLane surface, uint32_t flags)
{
    const uint32_t k = surface.lane;
    float3 n = surface_vector(surface, surface.block->N);
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        if (!(lobe->live >> k & 1) || !(lobe->def->flags & flags) ||
            lobe->def->flags & SSL_LOBE_TRANSPARENT)
            continue;
        const float *own = lobe->term->state + ((size_t)lobe->term->def->frame + 6) * SSL_BLOCK;
        float3 bent = f3(own[k], own[SSL_BLOCK + k], own[2 * SSL_BLOCK + k]);
        if (1.0f - fabsf(f3_dot(n, bent)) > BEND_MIN)
            return true;
    }
    return false;
}

bool caustic_paths_return(const Wave *w, const BsdfBlock *block, SurfaceLane surface, float3 wi,
                          uint32_t flags)
{
    const SurfaceBlock *b = surface.block;
    float3 n = surface_vector(surface, b->Ng);
    ASSERT(f3_is_unit(wi) && f3_is_unit(n));
    bool crosses = f3_dot(surface_vector(surface, b->I), n) * f3_dot(wi, n) > 0.0f;
    if (!(flags & SSL_LOBE_DELTA))
        return !crosses || !bends(block, surface, SSL_LOBE_TRANSMISSION);
    if (crosses != (bool)(flags & SSL_LOBE_TRANSMISSION))
        return false;
    bool reads_viewer = material_set_get(w->shared->materials, b->material)
                            ->programs[SSL_KERNEL_SHADE]
                            .reads_viewer;
    return !(crosses || reads_viewer) || !bends(block, surface, SSL_LOBE_DELTA);
}

/* Sets the densities of both strategies, as the header says. */
static void find_densities(const Wave *w, const CausticJoint *joint, float *out_light,
                           float *out_camera)
{
    CameraLink link;
    /* Whatever place of the lens is: both ends have to take the same. */
    bool is_seen = camera_link(&w->shared->camera, joint->P, f2(0.5f, 0.5f), joint->time, &link);
    *out_light = joint->arrival * w->light_paths->per_sample;
    *out_camera = is_seen ? link.px_per_sr * fabsf(f3_dot(link.direction, joint->Ng)) /
                                (link.distance_m * link.distance_m) * joint->pdf
                          : 0.0f;
}

float caustic_paths_weight(const Wave *w, const CausticJoint *joint)
{
    WaveStrategy strategy = w->shared->strategy;
    float by_light, by_camera;
    if (isinf(joint->arrival) || strategy == WAVE_STRATEGY_LIGHTS)
        return 1.0f;
    if (strategy == WAVE_STRATEGY_BSDFS)
        return 0.0f;
    find_densities(w, joint, &by_light, &by_camera);
    return minf(mis_power(by_light, by_camera), WEIGHT_MAX);
}

CausticNoise caustic_paths_noise(const Wave *w, const CausticJoint *joint, float light)
{
    float by_light, by_camera;
    find_densities(w, joint, &by_light, &by_camera);
    float weight = caustic_paths_weight(w, joint), rest = 1.0f - weight;
    float ratio = by_camera > 0.0f && !isinf(joint->arrival) ? by_light / by_camera : 0.0f;
    float square = light * light;
    return (CausticNoise){.alone = square * ratio,
                          .shared = square * ratio * rest * rest,
                          .light = square * weight * weight};
}
