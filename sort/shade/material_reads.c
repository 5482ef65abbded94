/* What the kernels of materials read of a surface point, so that no more of it is computed. */
#include "sort/shade/hit.h"
#include "sort/shade/material_set.h"
#include "sort/shade/ssl_tables.h"

static bool reads(uint64_t rows, GlobalRow row)
{
    return rows >> row & 1;
}

static bool attributes_have_derivatives(const SslProgramInfo *info)
{
    for (uint32_t i = 0; i < info->unit->attribute_count; ++i)
        if (info->attributes[i].wants_derivs)
            return true;
    return false;
}

uint32_t material_program_parts(const SslProgramInfo *info)
{
    uint64_t rows = info->globals_value | info->globals_derivs;
    uint32_t parts = 0;
    if (reads(rows, GLOBAL_normal))
        parts |= HIT_NORMAL;
    if (reads(rows, GLOBAL_uvw))
        parts |= HIT_UV;
    if (reads(rows, GLOBAL_tangent) || reads(rows, GLOBAL_tangent_sign))
        parts |= HIT_NORMAL | HIT_TANGENT;
    if (info->globals_derivs != 0 || attributes_have_derivatives(info))
        parts |= HIT_FOOTPRINT;
    return parts;
}

bool material_program_reads_bounces(const SslProgramInfo *info)
{
    uint64_t rows = info->globals_value | info->globals_derivs;
    return reads(rows, GLOBAL_ray_kind) || reads(rows, GLOBAL_diffuse_depth) ||
           reads(rows, GLOBAL_glossy_depth) || reads(rows, GLOBAL_transmission_depth);
}

bool material_program_reads_counts(const SslProgramInfo *info)
{
    uint64_t rows = info->globals_value | info->globals_derivs;
    return reads(rows, GLOBAL_diffuse_depth) || reads(rows, GLOBAL_glossy_depth) ||
           reads(rows, GLOBAL_transmission_depth) || reads(rows, GLOBAL_transparent_depth) ||
           reads(rows, GLOBAL_portal_depth);
}

bool material_program_reads_viewer(const SslProgramInfo *info)
{
    uint64_t rows = info->globals_value | info->globals_derivs;
    return reads(rows, GLOBAL_I) || reads(rows, GLOBAL_backfacing);
}

uint32_t material_set_parts(const MaterialSet *set, SslKernelKind kind)
{
    uint32_t parts = 0;
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m)
        parts |= set->materials[m].programs[kind].parts;
    return parts;
}
