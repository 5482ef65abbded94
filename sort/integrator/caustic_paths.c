#include "sort/integrator/caustic_paths.h"

#include "sort/sampling/mis.h"
#include "sort/shade/ssl_tables.h"

static uint32_t one_less(uint32_t limit)
{
    return limit > 0 ? limit - 1 : 0;
}

uint32_t caustic_paths_room(const SceneSettings *settings)
{
    if (settings->max_diffuse < 2)
        return 0;
    return minu(one_less(settings->max_depth),
                minu(one_less(settings->max_glossy), one_less(settings->max_transmission)));
}

Status caustic_paths_create(Wave *w, Arena *arena, Error *err)
{
    uint32_t materials = w->shared->scene->material_count;
    LightPaths *p = w->light_paths;
    p->stride = CAUSTIC_PATH_STRIDE;
    p->room = caustic_paths_room(w->shared->settings);
    p->passes = ARENA_ARRAY(arena, bool, materials + 1);
    if (!p->passes)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    for (uint32_t m = 0; m < materials; ++m) {
        const MaterialProgram *program =
            &material_set_get(w->shared->materials, m)->programs[SSL_KERNEL_SHADE];
        uint64_t reads =
            program->info ? program->info->globals_value | program->info->globals_derivs : 0;
        p->passes[m] = !program->reads_bounces && !program->reads_counts &&
                       !(reads >> GLOBAL_ray_length & 1) && !(reads >> GLOBAL_path_depth & 1);
    }
    return STATUS_OK;
}

bool caustic_paths_pass(const Wave *w, uint32_t instance, uint32_t material)
{
    return w->shared->scene->instances[instance].is_caustics_caster &&
           w->light_paths->passes[material];
}

bool caustic_paths_reach(const Wave *w, uint32_t instance)
{
    return w->shared->scene->instances[instance].is_caustics_receiver;
}

float caustic_paths_weight(const Wave *w, const CausticJoint *joint)
{
    const LightPaths *p = w->light_paths;
    WaveStrategy strategy = w->shared->strategy;
    CameraLink link;
    if (isinf(joint->density) || strategy == WAVE_STRATEGY_LIGHTS)
        return 1.0f;
    if (strategy == WAVE_STRATEGY_BSDFS)
        return 0.0f;
    /* Whatever place of the lens is: both ends have to take the same. */
    bool is_seen = camera_link(&w->shared->camera, joint->P, f2(0.5f, 0.5f), joint->time, &link);
    float paths = 1.0f / (p->per_pixel * (float)p->stride);
    float by_light = joint->density * fabsf(f3_dot(joint->wl, joint->Ng)) * paths;
    float by_camera = is_seen ? link.px_per_sr * fabsf(f3_dot(link.direction, joint->Ng)) /
                                    (link.distance_m * link.distance_m) * joint->pdf
                              : 0.0f;
    return mis_power(by_light, by_camera);
}
