#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "sort/bsdf/closure_programs.h"
#include "sort/shade/material_set.h"
#include "ssl/ssl_limits.h"
#include <stdio.h>
#include <string.h>

/* --- programs ------------------------------------------------------------------------------- */

static void program_release(MaterialProgram *p)
{
    ssl_program_release(p->program);
    mem_free(p->params);
    mem_free(p->textures);
    mem_free(p->attributes);
    mem_free(p->site_options);
    mem_free(p->faults);
    *p = (MaterialProgram){0};
}

static Status fill_program(const MaterialSet *set, uint32_t m, MaterialProgram *p, Error *err)
{
    const SslUnitInfo *unit = p->info->unit;
    p->params = mem_alloc_aligned(p->info->params_bytes + 64u, 64);
    p->textures = MEM_ARRAY(uint32_t, unit->texture_count + 1u);
    p->attributes = MEM_ARRAY(const char *, unit->attribute_count + 1u);
    p->site_options = MEM_ARRAY(TexOptions, p->info->texture_site_count + 1u);
    p->faults = mem_alloc(p->info->fault_site_count + 1u, sizeof *p->faults);
    if (!p->params || !p->textures || !p->attributes || !p->site_options || !p->faults)
        return error_set(err, STATUS_NO_MEMORY, "out of memory binding materials");
    for (uint32_t i = 0; i < unit->attribute_count; ++i)
        p->attributes[i] = unit->attributes[i].binds;
    ssl_params_init(p->program, p->params);
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        if (p->info->texture_is_used[i] && unit->texture_ids[i] == SSL_TEXTURE_UNBOUND)
            return material_error(
                set, m, "textures", unit->textures[i], err,
                "the shader samples it with these parameters, so it must be bound");
    return STATUS_OK;
}

/* Specialises the unit of material m, unless that is done. *out_unit is for this build, until drop_specialised. */
static Status get_specialised(MaterialSet *set, uint32_t m, const SslBuildDesc *how,
                              const SslSpecialised **out_unit, Error *err)
{
    MaterialSpecial *s = &set->specials[m];
    mutex_lock(&s->mutex);
    if (!s->diags) {
        s->diags = diag_list_create();
        s->status =
            s->diags ? ssl_unit_specialise(set->links[m].unit, how, s->diags, &s->unit, &s->error)
                     : error_set(&s->error, STATUS_NO_MEMORY, "out of memory compiling shaders");
    }
    *out_unit = s->unit;
    *err = s->error;
    Status status = s->status;
    mutex_unlock(&s->mutex);
    return status;
}

static void drop_specialised(MaterialSet *set, uint32_t m)
{
    MaterialSpecial *s = &set->specials[m];
    mutex_lock(&s->mutex);
    if (--s->builds_left == 0) {
        ssl_specialised_destroy(s->unit);
        s->unit = NULL;
    }
    mutex_unlock(&s->mutex);
}

/* Switches are baked into the code, and numbers that are exactly 0 or 1, since those are mostly weights of
 * closures, which then vanish or stand alone. Other numbers stay data, so that materials share kernels. */
static Status build_program(MaterialSet *set, uint32_t m, SslKernelKind kind, MaterialBuild *build)
{
    const SslBuildDesc how = {.size_bytes = sizeof how, .kind = kind, .bake_switches = true};
    const SslSpecialised *unit;
    MaterialProgram *p = &set->materials[m].programs[kind];
    TRY(get_specialised(set, m, &how, &unit, &build->error));
    TRY(ssl_specialised_build(unit, &how, build->diags, &p->program, &build->error));
    p->info = ssl_program_info(p->program);
    ASSERT(p->info->lobe_count <= SSL_MAX_LOBE_SLOTS);
    if (p->info->lobe_count == 0 && kind != SSL_KERNEL_SHADE) {
        program_release(p);
        return STATUS_OK;
    }
    TRY(fill_program(set, m, p, &build->error));
    p->parts = material_program_parts(p->info);
    p->reads_bounces = material_program_reads_bounces(p->info);
    p->reads_counts = material_program_reads_counts(p->info);
    p->reads_viewer = material_program_reads_viewer(p->info);
    p->kernel = ssl_program_kernel(p->program);
    return STATUS_OK;
}

static void build_one(void *data, uint32_t index)
{
    MaterialSet *set = data;
    uint32_t m = index / MATERIAL_KERNEL_KINDS;
    MaterialBuild *build = &set->builds[index];
    build->diags = diag_list_create();
    build->status =
        build->diags
            ? build_program(set, m, (SslKernelKind)(index % MATERIAL_KERNEL_KINDS), build)
            : error_set(&build->error, STATUS_NO_MEMORY, "out of memory compiling shaders");
    drop_specialised(set, m);
}

/* --- the set --------------------------------------------------------------------------------- */

static Status gather_builds(const MaterialSet *set, uint32_t count, StrBuf *diagnostics, Error *err)
{
    Status first = STATUS_OK;
    for (uint32_t i = 0; i < count; ++i) {
        const MaterialBuild *build = &set->builds[i];
        const MaterialSpecial *special = &set->specials[i / MATERIAL_KERNEL_KINDS];
        bool is_first_error = build->status != STATUS_OK && first == STATUS_OK;
        if (special->diags && i % MATERIAL_KERNEL_KINDS == 0)
            diag_print(special->diags, diagnostics);
        /* All kinds of a material are warned of the same things. */
        if (build->diags && (i % MATERIAL_KERNEL_KINDS == 0 || is_first_error))
            diag_print(build->diags, diagnostics);
        if (is_first_error) {
            first = build->status;
            *err = build->error;
            if (first == STATUS_SOURCE)
                error_set(err, STATUS_SOURCE, "the shader of material '%s' has errors",
                          set->desc.scene->materials[i / MATERIAL_KERNEL_KINDS].name);
        }
    }
    return first;
}

static Status compile_all(MaterialSet *set, StrBuf *diagnostics, Error *err)
{
    uint32_t materials = set->desc.scene->material_count,
             builds = materials * MATERIAL_KERNEL_KINDS;
    if (material_units_collect(set) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "out of memory compiling shaders");
    parallel_for(set->desc.thread_count, set->unit_count, material_unit_compile, set);
    TRY(material_units_gather(set, diagnostics, err));
    parallel_for(set->desc.thread_count, materials, material_link, set);
    TRY(material_links_gather(set, diagnostics, err));
    parallel_for(set->desc.thread_count, builds, build_one, set);
    return gather_builds(set, builds, diagnostics, err);
}

/* Frees what only compiling needs. */
static void end_builds(MaterialSet *set, uint32_t materials)
{
    for (uint32_t m = 0; set->specials && m < materials; ++m) {
        diag_list_destroy(set->specials[m].diags);
        ssl_specialised_destroy(set->specials[m].unit);
        mutex_destroy(&set->specials[m].mutex);
    }
    for (uint32_t i = 0; set->builds && i < materials * MATERIAL_KERNEL_KINDS; ++i)
        diag_list_destroy(set->builds[i].diags);
    mem_free(set->specials);
    mem_free(set->builds);
    set->specials = NULL;
    set->builds = NULL;
}

Status material_set_compile(const MaterialSetDesc *desc, MaterialSet **out_set, StrBuf *diagnostics,
                            Error *err)
{
    *out_set = NULL;
    uint64_t start = clock_now_ns();
    uint32_t count = desc->scene->material_count;
    MaterialSet *set = MEM_NEW(MaterialSet);
    if (!set)
        return error_set(err, STATUS_NO_MEMORY, "out of memory compiling shaders");
    set->desc = *desc;
    set->materials = MEM_ARRAY(Material, count + 1);
    set->links = MEM_ARRAY(MaterialLink, count + 1);
    set->specials = MEM_ARRAY(MaterialSpecial, count + 1);
    set->builds = MEM_ARRAY(MaterialBuild, (size_t)count * MATERIAL_KERNEL_KINDS + 1);
    Status status = STATUS_NO_MEMORY;
    for (uint32_t m = 0; set->specials && m < count; ++m) {
        set->specials[m].builds_left = MATERIAL_KERNEL_KINDS;
        mutex_init(&set->specials[m].mutex);
    }
    if (set->materials && set->links && set->specials && set->builds) {
        for (uint32_t m = 0; m < count; ++m)
            set->materials[m].name = desc->scene->materials[m].name;
        status = compile_all(set, diagnostics, err);
    } else {
        error_set(err, STATUS_NO_MEMORY, "out of memory compiling shaders");
    }
    end_builds(set, count);
    if (status != STATUS_OK) {
        material_set_destroy(set);
        return status;
    }
    set->compile_ms = (double)(clock_now_ns() - start) * 1e-6;
    *out_set = set;
    return STATUS_OK;
}

void material_set_destroy(MaterialSet *set)
{
    if (!set)
        return;
    for (uint32_t m = 0; set->materials && m < set->desc.scene->material_count; ++m)
        for (int kind = 0; kind < MATERIAL_KERNEL_KINDS; ++kind)
            program_release(&set->materials[m].programs[kind]);
    for (uint32_t m = 0; set->links && m < set->desc.scene->material_count; ++m) {
        ssl_unit_release(set->links[m].unit);
        diag_list_destroy(set->links[m].diags);
    }
    for (uint32_t u = 0; u < set->unit_count; ++u) {
        ssl_unit_release(set->units[u].unit);
        diag_list_destroy(set->units[u].diags);
    }
    mem_free(set->materials);
    mem_free(set->links);
    mem_free(set->units);
    mem_free(set);
}

const BsdfDef *const *material_set_closures(const MaterialSet *set)
{
    return set->desc.closures ? set->desc.closures : closure_programs_here()->defs;
}

const Material *material_set_get(const MaterialSet *set, uint32_t material)
{
    ASSERT(material < set->desc.scene->material_count);
    return &set->materials[material];
}

MaterialSetStats material_set_stats(const MaterialSet *set)
{
    MaterialSetStats stats = {.compile_ms = set->compile_ms};
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        for (int kind = 0; kind < MATERIAL_KERNEL_KINDS; ++kind) {
            const MaterialProgram *p = &set->materials[m].programs[kind];
            if (!p->kernel)
                continue;
            ++stats.programs;
            stats.from_cache += p->info->times.from_cache;
            stats.ir_instructions += p->info->ir_instructions;
            stats.values += p->info->values;
            stats.values_shadowed += p->info->values_shadowed;
        }
    }
    return stats;
}

void material_set_clear_faults(MaterialSet *set)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m)
        for (int kind = 0; kind < MATERIAL_KERNEL_KINDS; ++kind) {
            MaterialProgram *p = &set->materials[m].programs[kind];
            for (uint32_t site = 0; p->kernel && site < p->info->fault_site_count; ++site)
                atomic_store(&p->faults[site], 0);
        }
}

void material_set_faults(const MaterialSet *set, StrBuf *out)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        for (int kind = 0; kind < MATERIAL_KERNEL_KINDS; ++kind) {
            const MaterialProgram *p = &set->materials[m].programs[kind];
            for (uint32_t site = 0; p->kernel && site < p->info->fault_site_count; ++site) {
                uint64_t points = atomic_load(&p->faults[site]);
                SslFaultInfo fault;
                if (points == 0)
                    continue;
                ssl_fault_describe(p->program, site, &fault);
                strbuf_append_printable(out, str_from(fault.source_name));
                strbuf_printf(out, ":%u:%u: %s (material '", fault.line, fault.column, fault.text);
                strbuf_append_printable(out, str_from(set->materials[m].name));
                strbuf_printf(out, "', %llu points)\n", (unsigned long long)points);
            }
        }
    }
}
