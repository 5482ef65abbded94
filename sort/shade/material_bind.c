/* Binds textures to programs: finds those that are sampled, and the options of each call site. Options named at a call
 * site win over the material's, and these over the render's. */
#include "base/check.h"
#include "sort/shade/material_set.h"
#include "sort/shade/site_options.h"

void material_set_textures(const MaterialSet *set, bool *is_wanted)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        for (int kind = 0; kind < MATERIAL_KERNEL_KINDS; ++kind) {
            const MaterialProgram *p = &set->materials[m].programs[kind];
            for (uint32_t i = 0; p->kernel && i < p->info->unit->texture_count; ++i)
                if (p->info->texture_is_used[i])
                    is_wanted[p->info->unit->texture_ids[i]] = true;
        }
    }
}

static bool program_samples(const MaterialProgram *p, uint32_t scene_texture)
{
    for (uint32_t i = 0; p->kernel && i < p->info->unit->texture_count; ++i)
        if (p->info->texture_is_used[i] && p->info->unit->texture_ids[i] == scene_texture)
            return true;
    return false;
}

const char *material_set_user(const MaterialSet *set, uint32_t scene_texture)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m)
        for (int kind = 0; kind < MATERIAL_KERNEL_KINDS; ++kind)
            if (program_samples(&set->materials[m].programs[kind], scene_texture))
                return set->materials[m].name;
    return NULL;
}

static TexWrap wrap_from_scene(SceneWrap wrap)
{
    return (TexWrap)(TEX_WRAP_FILE + (int)(wrap - SCENE_WRAP_FILE));
}

TexOptions material_set_sky_options(const MaterialSet *set)
{
    return (TexOptions){.wrap_s = TEX_WRAP_PERIODIC,
                        .wrap_t = TEX_WRAP_CLAMP,
                        .filter = set->desc.filter,
                        .mip = set->desc.mip,
                        .mip_bias = set->desc.mip_bias};
}

static void bind_program(const MaterialSet *set, MaterialProgram *p)
{
    const SslUnitInfo *unit = p->info->unit;
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        if (p->info->texture_is_used[i])
            p->textures[i] = unit->texture_ids[i] + 1;
    for (uint32_t i = 0; i < p->info->texture_site_count; ++i) {
        const SslTextureSite *site = &p->info->texture_sites[i];
        ASSERT(site->texture < unit->texture_count);
        uint32_t id = unit->texture_ids[site->texture];
        TexOptions *options = &p->site_options[i];
        if (id == SSL_TEXTURE_UNBOUND)
            continue;
        ASSERT(id < set->desc.scene->texture_count);
        const SceneTexture *texture = &set->desc.scene->textures[id];
        *options = (TexOptions){.wrap_s = wrap_from_scene(texture->wrap_u),
                                .wrap_t = wrap_from_scene(texture->wrap_v),
                                .filter = set->desc.filter,
                                .mip = set->desc.mip,
                                .mip_bias = set->desc.mip_bias};
        site_options_apply(site, options);
        p->is_stochastic = p->is_stochastic || options->filter == TEX_FILTER_STOCHASTIC;
    }
}

void material_set_bind(MaterialSet *set)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m)
        for (int kind = 0; kind < MATERIAL_KERNEL_KINDS; ++kind)
            if (set->materials[m].programs[kind].kernel)
                bind_program(set, &set->materials[m].programs[kind]);
}
