/* What WAVE_VIEW_LIGHT needs, and what it cannot show: paths that begin at lamps know neither which rays the camera will send to
 * where they are, nor how many bounces lie before. */
#include "sort/render/caster_materials.h"
#include "sort/render/render_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/caustic_light.h"
#include "sort/light/light_shape.h"
#include "sort/shade/ssl_tables.h"
#include <stdarg.h>
#include <stdio.h>

enum { PIXELS_TO_TRY = 1 << 14 };

SORT_PRINTF(2, 3) static Status refuse(Error *err, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char text[512];
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return error_set(err, STATUS_INVALID, "integrator 'light': %s", text);
}

/* --- options and settings --------------------------------------------------------------------------- */

static Status check_options(const Render *r, Error *err)
{
    const RenderOptions *o = &r->options;
    if (!camera_is_linkable(&r->shared.camera))
        return refuse(err, "the camera is no perspective one: only these have a lens or a pinhole "
                           "that light can be sent to");
    if (o->crop.width != 0)
        return refuse(err, "a crop is not supported: light lands anywhere in the picture");
    if (o->aovs != 0 || o->ids != 0)
        return refuse(err, "only the picture is made: layers, denoising and Cryptomatte need "
                           "paths from the camera");
    if (o->adaptive_error > 0.0f)
        return refuse(err,
                      "adaptive sampling is not supported: a path of light belongs to no pixel");
    for (uint32_t d = 1; d < SHADE_BIAS_DEPTHS; ++d)
        if (o->depth_bias[d] != o->depth_bias[0])
            return refuse(err, "mip levels by depth are not supported: they depend on the bounces "
                               "between a surface and the camera (--mip-bias is for all)");
    return STATUS_OK;
}

static Status check_settings(const Render *r, Error *err)
{
    const SceneSettings *s = &r->settings;
    if (s->guiding != SCENE_GUIDING_OFF)
        return refuse(err, "path guiding is not supported (--guiding off)");
    if (s->clamp_direct > 0.0f || s->clamp_indirect > 0.0f)
        return refuse(err, "clamping is not supported: a path of light belongs to no sample "
                           "(--clamp-direct 0 --clamp-indirect 0)");
    if (s->filter_glossy > 0.0f)
        return refuse(err, "Filter Glossy is not supported: it depends on the bounces between a "
                           "surface and the camera (--filter-glossy 0)");
    if (s->max_diffuse < s->max_depth || s->max_glossy < s->max_depth ||
        s->max_transmission < s->max_depth)
        return refuse(err,
                      "limits of bounces by kind are not supported: they must be at least "
                      "max_depth, %u (--max-diffuse, --max-glossy, --max-transmission)",
                      s->max_depth);
    return STATUS_OK;
}

/* --- the scene -------------------------------------------------------------------------------------- */

/* Returns what of a light's visibility cannot be followed, or NULL. */
static const char *unknown_part(const SceneLightVisibility *v)
{
    if (v->invisible_to & SCENE_RAYS_BOUNCED)
        return "is hidden from some kinds of bounces";
    if (v->bounce_limit != 0)
        return "has a limit of bounces";
    if (v->is_shadowless)
        return "casts no shadow";
    return v->unlit_sets || v->open_sets ? "is linked to some objects only" : NULL;
}

static Status check_lights(const Scene *scene, Error *err)
{
    const char *part = unknown_part(&scene->environment.visibility);
    if (scene->environment.kind != SCENE_ENVIRONMENT_NONE && part)
        return refuse(err, "the environment %s, which is not supported", part);
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const SceneLight *light = &scene->lights[i];
        const SceneLightVisibility *v = &light->visibility;
        part = unknown_part(v);
        if (!part && light_shape_exists(light) && v->invisible_to & SCENE_RAYS_CAMERA &&
            !v->is_permeable && !v->is_sampled_only)
            part = "is hidden from the camera, but stops other rays";
        if (part)
            return refuse(err, "light '%s' %s, which is not supported", light->name, part);
    }
    return STATUS_OK;
}

static Status check_instances(const Scene *scene, Error *err)
{
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        const char *part = instance->invisible_to        ? "is hidden from some rays"
                           : instance->is_holdout        ? "is a holdout"
                           : instance->is_shadow_catcher ? "is a shadow catcher"
                                                         : NULL;
        if (!part)
            part = unknown_part(&instance->light_visibility);
        if (!part && scene->meshes[instance->mesh].curves)
            part = "has curves";
        if (part)
            return refuse(err, "object '%s' %s, which is not supported", instance->name, part);
    }
    return STATUS_OK;
}

/* Returns whether some lobe of a program's closures has one of these SSL_LOBE_*. */
static bool has_lobe(const Render *r, const SslProgramInfo *info, uint32_t flags)
{
    const BsdfDef *const *closures = material_set_closures(r->materials);
    for (uint32_t s = 0; s < info->lobe_count; ++s) {
        const BsdfDef *def = closures[info->lobes[s].closure];
        for (uint32_t l = 0; def && l < def->lobe_count; ++l)
            if (def->lobes[l].flags & flags)
                return true;
    }
    return false;
}

/* Returns whether a program asks for what came before on the path. */
static bool reads_path(const SslProgramInfo *info)
{
    static const GlobalRow rows[] = {GLOBAL_path_depth,        GLOBAL_ray_kind,
                                     GLOBAL_ray_length,        GLOBAL_diffuse_depth,
                                     GLOBAL_glossy_depth,      GLOBAL_transmission_depth,
                                     GLOBAL_transparent_depth, GLOBAL_portal_depth};
    for (size_t k = 0; k < SORT_COUNT_OF(rows); ++k)
        if ((info->globals_value | info->globals_derivs) >> rows[k] & 1)
            return true;
    return false;
}

/* Returns what of a program cannot be followed, or NULL. */
static const char *unknown_code(const Render *r, const MaterialProgram *program)
{
    const SslProgramInfo *info = program->info;
    if (reads_path(info))
        return "reads the kind, the length or the bounces of the ray";
    if (has_lobe(r, info, SSL_LOBE_PORTAL))
        return "is a portal";
    return has_lobe(r, info, SSL_LOBE_SUBSURFACE) ? "has subsurface scattering" : NULL;
}

static Status check_material(const Render *r, uint32_t m, Error *err)
{
    const uint32_t most_transparent = scene_settings_default().max_transparent;
    const Material *material = material_set_get(r->materials, m);
    for (uint32_t kind = 0; kind < SORT_COUNT_OF(material->programs); ++kind) {
        const MaterialProgram *program = &material->programs[kind];
        const char *part = program->kernel ? unknown_code(r, program) : NULL;
        if (part)
            return refuse(err, "material '%s' %s, which is not supported", material->name, part);
    }
    if (material->programs[SSL_KERNEL_OPACITY].kernel &&
        r->settings.max_transparent < most_transparent)
        return refuse(err,
                      "material '%s' is transparent, and a limit of transparent surfaces is not "
                      "supported (--max-transparent %u)",
                      material->name, most_transparent);
    return STATUS_OK;
}

/* Materials that nothing shows are no matter. */
static Status check_materials(const Render *r, Error *err)
{
    const Scene *scene = r->scene;
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        for (uint32_t k = 0; k < scene->instances[i].material_count; ++k)
            TRY(check_material(r, scene->instances[i].materials[k], err));
    return scene->environment.kind == SCENE_ENVIRONMENT_MATERIAL
               ? check_material(r, scene->environment.material, err)
               : STATUS_OK;
}

/* --- making it -------------------------------------------------------------------------------------- */

/* Returns whether paths of light may look for caustics: they know no kinds of rays, and bring light to the picture alone. */
static bool may_look_for_caustics(const Render *r)
{
    const FilmAovSet directly_seen = FILM_AOV_BIT(FILM_AOV_EMISSION) |
                                     FILM_AOV_BIT(FILM_AOV_ENVIRONMENT) |
                                     FILM_AOV_BIT(FILM_AOV_DENOISING_LIGHT);
    const RenderOptions *o = &r->options;
    const Scene *scene = r->scene;
    if (r->shared.view != WAVE_VIEW_NONE || o->bake.instance ||
        o->aovs & FILM_LIGHT & ~directly_seen || !camera_is_linkable(&r->shared.camera))
        return false;
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        if (scene->instances[i].invisible_to || scene->instances[i].is_holdout ||
            scene->instances[i].is_shadow_catcher)
            return false;
    return true;
}

static bool has_flagged_casters(const Scene *scene)
{
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        if (scene->instances[i].is_caustics_caster)
            return true;
    return false;
}

/* Returns whether a trial would take longer than what it is worth. */
static bool is_too_small_to_try(const Render *r)
{
    const RenderOptions *o = &r->options;
    uint64_t width = o->width_px ? o->width_px : r->scene->settings.width_px,
             height = o->height_px ? o->height_px : r->scene->settings.height_px;
    return r->settings.caustics == SCENE_CAUSTICS_AUTO && width * height < PIXELS_TO_TRY;
}

/* Sets which instances have only materials that throw caustics. */
static void find_casters(const Render *r, const bool *materials, bool *out_casters)
{
    const Scene *scene = r->scene;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        bool casts = instance->material_count > 0 && !scene->meshes[instance->mesh].curves;
        for (uint32_t k = 0; k < instance->material_count; ++k)
            casts = casts && materials[instance->materials[k]];
        out_casters[i] = casts;
    }
}

/* Finds out what throws caustics in a scene without flags, and makes the rays. desc: what else is known. */
static Status aim_without_flags(Render *r, const CausticEmissionDesc *desc, Error *err)
{
    const Scene *scene = r->scene;
    bool *casters = MEM_ARRAY(bool, scene->instance_count + 1);
    bool *materials = MEM_ARRAY(bool, scene->material_count + 1);
    bool *glossy = MEM_ARRAY(bool, scene->material_count + 1);
    Status status = STATUS_OK;
    if (!casters || !materials || !glossy)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory preparing lights");
    if (status == STATUS_OK)
        status = caster_materials_find(scene, r->materials, r->textures, r->store, materials,
                                       glossy, err);
    if (status == STATUS_OK) {
        CausticEmissionDesc own = *desc;
        find_casters(r, materials, casters);
        own.casters = casters;
        own.glossy_materials = glossy;
        status = caustic_emission_create(&own, &r->caustic_emission, err);
    }
    mem_free(casters);
    mem_free(materials);
    mem_free(glossy);
    return status;
}

/* Flags tell what throws caustics; without any of them all that has little blur, unless the settings cut or blur caustics
 * that scattering finds. desc: what is known of materials. */
static Status aim_at_casters(Render *r, const CausticEmissionDesc *desc, Error *err)
{
    const SceneSettings *s = &r->settings;
    r->has_flagged_casters = has_flagged_casters(r->scene);
    if (r->has_flagged_casters)
        return caustic_emission_create(desc, &r->caustic_emission, err);
    if (s->caustics == SCENE_CAUSTICS_FLAGS || is_too_small_to_try(r) || s->filter_glossy > 0.0f ||
        s->clamp_direct > 0.0f || s->clamp_indirect > 0.0f)
        return STATUS_OK;
    return aim_without_flags(r, desc, err);
}

/* Makes the rays that look for caustics, if there are any. Paths of light begin with no path behind them: what a material emits by
 * what came before is unknown to them. */
static Status aim_rays(Render *r, Error *err)
{
    const Scene *scene = r->scene;
    bool *fickle = MEM_ARRAY(bool, scene->material_count + 1);
    if (!fickle)
        return error_set(err, STATUS_NO_MEMORY, "out of memory preparing lights");
    for (uint32_t m = 0; m < scene->material_count; ++m) {
        const MaterialProgram *p =
            &material_set_get(r->materials, m)->programs[SSL_KERNEL_EMISSION];
        fickle[m] = p->kernel && reads_path(p->info);
    }
    const CausticEmissionDesc desc = {
        .size_bytes = sizeof desc, .lights = r->lights.lights, .fickle_materials = fickle};
    Status status = aim_at_casters(r, &desc, err);
    mem_free(fickle);
    return status;
}

Status render_prepare_light(Render *r, Error *err)
{
    light_emission_destroy(r->emission);
    caustic_emission_destroy(r->caustic_emission);
    r->emission = NULL;
    r->caustic_emission = NULL;
    if (may_look_for_caustics(r))
        return aim_rays(r, err);
    if (r->shared.view != WAVE_VIEW_LIGHT)
        return STATUS_OK;
    TRY(check_options(r, err));
    TRY(check_settings(r, err));
    TRY(check_lights(r->scene, err));
    TRY(check_instances(r->scene, err));
    TRY(check_materials(r, err));
    uint8_t *sides = MEM_ARRAY(uint8_t, r->scene->material_count + 1);
    if (!sides)
        return error_set(err, STATUS_NO_MEMORY, "out of memory preparing lights");
    for (uint32_t m = 0; m < r->scene->material_count; ++m)
        sides[m] = light_setup_known_sides(&r->lights.glows[m]);
    LightEmissionDesc desc = {
        .size_bytes = sizeof desc, .lights = r->lights.lights, .material_sides = sides};
    Status status = light_emission_create(&desc, &r->emission, err);
    mem_free(sides);
    return status;
}
