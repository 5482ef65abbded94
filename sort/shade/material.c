#include "sort/shade/material.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/thread.h"
#include "sort/shade/unit_library.h"
#include <stdio.h>
#include <string.h>

enum { KERNEL_KINDS = 3 };

/* A shader of a source, compiled once for all materials that use it. */
typedef struct Unit {
    uint32_t shader;
    const char *entry;
    SslUnit *unit;
    DiagList *diags;
    Status status;
    Error error;
} Unit;

typedef struct Build {
    DiagList *diags;
    Status status;
    Error error;
} Build;

struct MaterialSet {
    MaterialSetDesc desc;
    Material *materials; /* [material_count] */
    Unit *units;
    uint32_t *unit_of; /* [material_count] */
    uint32_t unit_count;
    Build *builds; /* [material_count * KERNEL_KINDS]; only while compiling */
    double compile_ms;
};

/* --- units -------------------------------------------------------------------------------- */

/* Which shader of the file: `entry`, else the only one, else the one called like the file. */
static Status choose_entry(SslContext *context, const SslSource *source, Unit *unit, char *out_name,
                           size_t name_bytes)
{
    StrBuf names = {0};
    Status status = ssl_source_shaders(context, source, unit->diags, &names);
    const char *chosen = NULL;
    Str stem = path_stem(source->name);
    size_t chosen_bytes = 0;
    uint32_t count = 0;
    for (const char *line = strbuf_text(&names); status == STATUS_OK && *line; ++count) {
        size_t bytes = strcspn(line, "\n");
        bool is_wanted = unit->entry ? str_equal_c((Str){line, bytes}, unit->entry)
                                     : str_equal((Str){line, bytes}, stem) || count == 0;
        if (is_wanted) {
            chosen = line;
            chosen_bytes = bytes;
        }
        line += bytes + (line[bytes] == '\n');
    }
    if (status == STATUS_OK && !chosen)
        status = error_set_at(&unit->error, STATUS_NOT_FOUND, source->name,
                              "there is no shader '%s' in it", unit->entry ? unit->entry : "");
    else if (status == STATUS_OK && count > 1 && !unit->entry &&
             !str_equal((Str){chosen, chosen_bytes}, stem))
        status = error_set_at(
            &unit->error, STATUS_INVALID, source->name,
            "it has %u shaders and none is called like the file; name one as 'entry'", count);
    else if (status == STATUS_OK)
        snprintf(out_name, name_bytes, "%.*s", (int)chosen_bytes, chosen);
    strbuf_free(&names);
    return status;
}

static Status find_source(const Scene *scene, uint32_t shader, SslSource *out_source, Error *err)
{
    const SceneShader *s = &scene->shaders[shader];
    *out_source = (SslSource){.name = s->name, .text = s->text};
    if (!s->is_unit)
        return STATUS_OK;
    const EmbeddedText *text = unit_library_find(s->name);
    char nearest[256];
    if (!text && unit_library_suggest(s->name, nearest))
        return error_set(err, STATUS_NOT_FOUND, "there is no unit '%s'; did you mean '%s'?",
                         s->name, nearest);
    if (!text)
        return error_set(err, STATUS_NOT_FOUND, "there is no unit '%s'", s->name);
    out_source->name = text->name;
    out_source->text = (Str){text->text, text->size_bytes};
    return STATUS_OK;
}

static void compile_unit(void *data, uint32_t index)
{
    MaterialSet *set = data;
    Unit *unit = &set->units[index];
    SslSource source;
    char entry[256];
    unit->diags = diag_list_create();
    if (!unit->diags) {
        unit->status = error_set(&unit->error, STATUS_NO_MEMORY, "out of memory compiling shaders");
        return;
    }
    unit->status = find_source(set->desc.scene, unit->shader, &source, &unit->error);
    if (unit->status == STATUS_OK)
        unit->status = choose_entry(set->desc.context, &source, unit, entry, sizeof entry);
    if (unit->status != STATUS_OK)
        return;
    source.shader = entry;
    unit->status = ssl_unit_compile(set->desc.context, &source, unit->diags, &unit->unit);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void collect_units(MaterialSet *set)
{
    const Scene *scene = set->desc.scene;
    for (uint32_t m = 0; m < scene->material_count; ++m) {
        const SceneMaterial *material = &scene->materials[m];
        uint32_t u = 0;
        while (u < set->unit_count && (set->units[u].shader != material->shader ||
                                       !same_text(set->units[u].entry, material->entry)))
            ++u;
        if (u == set->unit_count)
            set->units[set->unit_count++] =
                (Unit){.shader = material->shader, .entry = material->entry};
        set->unit_of[m] = u;
    }
}

/* --- programs ------------------------------------------------------------------------------ */

static Status material_error(const MaterialSet *set, uint32_t m, const char *section,
                             const char *name, Error *err, const char *text)
{
    return error_set_at(err, STATUS_FORMAT, "scene.json",
                        "materials[%u].%s.%s: %s (material '%s', shader '%s')", m, section, name,
                        text, set->desc.scene->materials[m].name,
                        set->desc.scene->shaders[set->desc.scene->materials[m].shader].name);
}

static Status unknown_name(const MaterialSet *set, uint32_t m, const char *section,
                           const char *name, const char *const *known, uint32_t known_count,
                           Error *err)
{
    char text[256];
    const char *nearest = suggest_nearest(name, known, known_count);
    snprintf(text, sizeof text,
             nearest ? "the shader has no such %s; did you mean '%s'?"
                     : "the shader has no such %s",
             strcmp(section, "textures") == 0 ? "texture" : "parameter", nearest);
    return material_error(set, m, section, name, err, text);
}

/* The package's value as the shader's type; int becomes float where a float is asked for. */
static Status convert_value(const SceneParameter *from, SslType type, SslValue *out)
{
    uint32_t scalars = ssl_type_scalars(type);
    *out = (SslValue){.type = type};
    if (type == SSL_BOOL && from->kind == SCENE_VALUE_BOOL)
        out->b = from->b;
    else if (type == SSL_INT && from->kind == SCENE_VALUE_INT)
        out->i = from->i;
    else if (type >= SSL_FLOAT && type <= SSL_MATRIX && from->kind != SCENE_VALUE_BOOL &&
             from->count == scalars)
        memcpy(out->f, from->f, scalars * sizeof(float));
    else
        return STATUS_FORMAT;
    return STATUS_OK;
}

static const SceneParameter *find_parameter(const SceneMaterial *material, const char *name)
{
    for (uint32_t i = 0; i < material->parameter_count; ++i)
        if (strcmp(material->parameters[i].name, name) == 0)
            return &material->parameters[i];
    return NULL;
}

/* Every name that the package sets must be one of the shader's; every parameter needs a value. */
static Status check_names(const MaterialSet *set, uint32_t m, const SslUnitInfo *info, Error *err)
{
    enum { NAMES_MAX = 256 };
    const SceneMaterial *material = &set->desc.scene->materials[m];
    const char *params[NAMES_MAX], *textures[NAMES_MAX];
    uint32_t param_count = info->param_count < NAMES_MAX ? info->param_count : NAMES_MAX;
    uint32_t texture_count = info->texture_count < NAMES_MAX ? info->texture_count : NAMES_MAX;
    for (uint32_t i = 0; i < param_count; ++i)
        params[i] = info->params[i].name;
    for (uint32_t i = 0; i < texture_count; ++i)
        textures[i] = info->textures[i];

    for (uint32_t k = 0; k < material->parameter_count; ++k) {
        const char *name = material->parameters[k].name;
        uint32_t i = 0;
        while (i < info->param_count && strcmp(info->params[i].name, name) != 0)
            ++i;
        if (i == info->param_count)
            return unknown_name(set, m, "parameters", name, params, param_count, err);
    }
    for (uint32_t k = 0; k < material->texture_count; ++k) {
        const char *name = material->textures[k].handle;
        uint32_t i = 0;
        while (i < info->texture_count && strcmp(info->textures[i], name) != 0)
            ++i;
        if (i == info->texture_count)
            return unknown_name(set, m, "textures", name, textures, texture_count, err);
    }
    for (uint32_t i = 0; i < info->param_count; ++i)
        if (!info->params[i].has_default && !find_parameter(material, info->params[i].name))
            return material_error(set, m, "parameters", info->params[i].name, err,
                                  "the shader gives it no default, so the material must set it");
    uint32_t surfaces = 0;
    for (uint32_t i = 0; i < info->output_count; ++i)
        surfaces += info->outputs[i].type == SSL_CLOSURE;
    if (surfaces != 1)
        return material_error(set, m, "shader", info->name, err,
                              "it needs exactly one 'out closure'");
    return STATUS_OK;
}

/* The value a parameter has in this material: the package's, else the shader's default. */
static Status parameter_value(const MaterialSet *set, uint32_t m, const SslParamInfo *param,
                              SslValue *out, Error *err)
{
    const SceneParameter *given = find_parameter(&set->desc.scene->materials[m], param->name);
    if (!given) {
        *out = param->default_value;
        return STATUS_OK;
    }
    char text[96];
    snprintf(text, sizeof text, "the shader's parameter is of type %s", ssl_type_name(param->type));
    return convert_value(given, param->type, out) == STATUS_OK
               ? STATUS_OK
               : material_error(set, m, "parameters", param->name, err, text);
}

static void program_release(MaterialProgram *p)
{
    ssl_program_release(p->program);
    mem_free(p->params);
    mem_free(p->textures);
    mem_free(p->site_options);
    mem_free(p->faults);
    *p = (MaterialProgram){0};
}

static const SceneTextureBinding *find_binding(const SceneMaterial *material, const char *handle)
{
    for (uint32_t i = 0; i < material->texture_count; ++i)
        if (strcmp(material->textures[i].handle, handle) == 0)
            return &material->textures[i];
    return NULL;
}

static Status fill_program(const MaterialSet *set, uint32_t m, MaterialProgram *p, Error *err)
{
    const SslUnitInfo *unit = p->info->unit;
    p->params = mem_alloc_aligned(p->info->params_bytes + 64u, 64);
    p->textures = MEM_ARRAY(uint32_t, unit->texture_count + 1u);
    p->site_options = MEM_ARRAY(TexOptions, p->info->texture_site_count + 1u);
    p->faults = mem_alloc(p->info->fault_site_count + 1u, sizeof *p->faults);
    if (!p->params || !p->textures || !p->site_options || !p->faults)
        return error_set(err, STATUS_NO_MEMORY, "out of memory binding materials");
    ssl_params_init(p->program, p->params);
    for (uint32_t i = 0; i < unit->param_count; ++i) {
        SslValue value;
        if (!p->info->params[i].is_used)
            continue;
        TRY(parameter_value(set, m, &unit->params[i], &value, err));
        TRY(ssl_params_set(p->program, p->params, i, &value, err));
    }
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        if (p->info->texture_is_used[i] &&
            !find_binding(&set->desc.scene->materials[m], unit->textures[i]))
            return material_error(
                set, m, "textures", unit->textures[i], err,
                "the shader samples it with these parameters, so it must be bound");
    return STATUS_OK;
}

enum { CONSTANTS_MAX = 256 };

/* Baked into the code: switches, and numbers that are exactly 0 or 1, since those are mostly weights of
 * closures, which then vanish or stand alone. Other numbers stay data, so that materials share kernels. */
static bool is_structural(const SslValue *value)
{
    return value->type == SSL_BOOL || value->type == SSL_INT ||
           (value->type == SSL_FLOAT && (value->f[0] == 0.0f || value->f[0] == 1.0f));
}

static Status build_program(MaterialSet *set, uint32_t m, SslKernelKind kind, Build *build)
{
    Unit *unit = &set->units[set->unit_of[m]];
    const SslUnitInfo *info = ssl_unit_info(unit->unit);
    SslConstant constants[CONSTANTS_MAX];
    uint32_t constant_count = 0;
    TRY(check_names(set, m, info, &build->error));
    for (uint32_t i = 0; i < info->param_count; ++i) {
        SslValue value;
        TRY(parameter_value(set, m, &info->params[i], &value, &build->error));
        if (is_structural(&value) && constant_count < CONSTANTS_MAX)
            constants[constant_count++] = (SslConstant){info->params[i].name, value};
    }
    SslBuildDesc how = {.size_bytes = sizeof how,
                        .kind = kind,
                        .constants = constants,
                        .constant_count = constant_count};
    MaterialProgram *p = &set->materials[m].programs[kind];
    TRY(ssl_program_build(set->desc.context, unit->unit, &how, build->diags, &p->program,
                          &build->error));
    p->info = ssl_program_info(p->program);
    if (p->info->lobe_count == 0 && kind != SSL_KERNEL_SHADE) {
        program_release(p);
        return STATUS_OK;
    }
    TRY(fill_program(set, m, p, &build->error));
    p->kernel = ssl_program_kernel(p->program);
    return STATUS_OK;
}

static void build_one(void *data, uint32_t index)
{
    MaterialSet *set = data;
    Build *build = &set->builds[index];
    build->diags = diag_list_create();
    build->status =
        build->diags
            ? build_program(set, index / KERNEL_KINDS, (SslKernelKind)(index % KERNEL_KINDS), build)
            : error_set(&build->error, STATUS_NO_MEMORY, "out of memory compiling shaders");
}

/* --- the set --------------------------------------------------------------------------------- */

static Status gather_units(const MaterialSet *set, StrBuf *diagnostics, Error *err)
{
    Status first = STATUS_OK;
    for (uint32_t u = 0; u < set->unit_count; ++u) {
        const Unit *unit = &set->units[u];
        if (unit->diags)
            diag_print(unit->diags, diagnostics);
        if (unit->status == STATUS_OK || first != STATUS_OK)
            continue;
        first = unit->status;
        if (unit->error.code != STATUS_OK)
            *err = unit->error;
        else
            error_set(err, first,
                      first == STATUS_SOURCE ? "shader '%s' has errors"
                                             : "out of memory compiling shader '%s'",
                      set->desc.scene->shaders[unit->shader].name);
    }
    return first;
}

static Status gather_builds(const MaterialSet *set, uint32_t count, StrBuf *diagnostics, Error *err)
{
    Status first = STATUS_OK;
    for (uint32_t i = 0; i < count; ++i) {
        const Build *build = &set->builds[i];
        bool is_first_error = build->status != STATUS_OK && first == STATUS_OK;
        /* All kinds of a material are warned of the same things. */
        if (build->diags && (i % KERNEL_KINDS == 0 || is_first_error))
            diag_print(build->diags, diagnostics);
        if (is_first_error) {
            first = build->status;
            *err = build->error;
            if (first == STATUS_SOURCE)
                error_set(err, STATUS_SOURCE, "the shader of material '%s' has errors",
                          set->desc.scene->materials[i / KERNEL_KINDS].name);
        }
    }
    return first;
}

static Status compile_all(MaterialSet *set, StrBuf *diagnostics, Error *err)
{
    uint32_t builds = set->desc.scene->material_count * KERNEL_KINDS;
    collect_units(set);
    parallel_for(set->desc.thread_count, set->unit_count, compile_unit, set);
    TRY(gather_units(set, diagnostics, err));
    parallel_for(set->desc.thread_count, builds, build_one, set);
    return gather_builds(set, builds, diagnostics, err);
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
    set->units = MEM_ARRAY(Unit, count + 1);
    set->unit_of = MEM_ARRAY(uint32_t, count + 1);
    set->builds = MEM_ARRAY(Build, (size_t)count * KERNEL_KINDS + 1);
    Status status = STATUS_NO_MEMORY;
    if (set->materials && set->units && set->unit_of && set->builds) {
        for (uint32_t m = 0; m < count; ++m)
            set->materials[m].name = desc->scene->materials[m].name;
        status = compile_all(set, diagnostics, err);
    } else {
        error_set(err, STATUS_NO_MEMORY, "out of memory compiling shaders");
    }
    if (set->builds)
        for (uint32_t i = 0; i < count * KERNEL_KINDS; ++i)
            diag_list_destroy(set->builds[i].diags);
    mem_free(set->builds);
    set->builds = NULL;
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
        for (int kind = 0; kind < KERNEL_KINDS; ++kind)
            program_release(&set->materials[m].programs[kind]);
    for (uint32_t u = 0; u < set->unit_count; ++u) {
        ssl_unit_release(set->units[u].unit);
        diag_list_destroy(set->units[u].diags);
    }
    mem_free(set->materials);
    mem_free(set->units);
    mem_free(set->unit_of);
    mem_free(set->builds);
    mem_free(set);
}

const Material *material_set_get(const MaterialSet *set, uint32_t material)
{
    return &set->materials[material];
}

void material_set_textures(const MaterialSet *set, bool *is_wanted)
{
    const Scene *scene = set->desc.scene;
    for (uint32_t m = 0; m < scene->material_count; ++m) {
        for (int kind = 0; kind < KERNEL_KINDS; ++kind) {
            const MaterialProgram *p = &set->materials[m].programs[kind];
            for (uint32_t i = 0; p->kernel && i < p->info->unit->texture_count; ++i)
                if (p->info->texture_is_used[i])
                    is_wanted[find_binding(&scene->materials[m], p->info->unit->textures[i])
                                  ->texture] = true;
        }
    }
}

static TexWrap wrap_from_scene(SceneWrap wrap)
{
    return (TexWrap)(TEX_WRAP_PERIODIC + (int)(wrap - SCENE_WRAP_PERIODIC));
}

/* A wrap or filter named at the call site wins over the material's and the render's. */
static TexWrap wrap_from_site(const char *word, TexWrap otherwise)
{
    static const char *const words[] = {"periodic", "clamp", "mirror", "black"};
    for (int i = 0; word && i < 4; ++i)
        if (strcmp(word, words[i]) == 0)
            return (TexWrap)(TEX_WRAP_PERIODIC + i);
    return otherwise;
}

static TexFilter filter_from_site(const char *word, TexFilter otherwise)
{
    static const char *const words[] = {"closest",    "bilinear",    "trilinear", "aniso",
                                        "stochastic", "catmull-rom", "bspline"};
    for (int i = 0; word && i < (int)SORT_COUNT_OF(words); ++i)
        if (strcmp(word, words[i]) == 0)
            return (TexFilter)(TEX_FILTER_CLOSEST + i);
    return otherwise;
}

static void bind_program(const MaterialSet *set, const SceneMaterial *material,
                         const TextureStore *store, MaterialProgram *p)
{
    const SslUnitInfo *unit = p->info->unit;
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        if (p->info->texture_is_used[i])
            p->textures[i] =
                texture_store_id(store, find_binding(material, unit->textures[i])->texture).id;
    for (uint32_t i = 0; i < p->info->texture_site_count; ++i) {
        const SslTextureSite *site = &p->info->texture_sites[i];
        const SceneTextureBinding *binding = find_binding(material, unit->textures[site->texture]);
        TexOptions *options = &p->site_options[i];
        if (!binding)
            continue;
        const SceneTexture *texture = &set->desc.scene->textures[binding->texture];
        *options =
            (TexOptions){.wrap_s = wrap_from_site(site->wrap_s, wrap_from_scene(texture->wrap_u)),
                         .wrap_t = wrap_from_site(site->wrap_t, wrap_from_scene(texture->wrap_v)),
                         .filter = filter_from_site(site->filter, set->desc.filter),
                         .mip = set->desc.mip,
                         .mip_bias = set->desc.mip_bias,
                         .has_missing_color = site->has_missing_color};
        memcpy(options->missing_color, site->missing_color, sizeof options->missing_color);
        p->is_stochastic = p->is_stochastic || options->filter == TEX_FILTER_STOCHASTIC;
    }
}

void material_set_bind(MaterialSet *set, const TextureStore *store)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m)
        for (int kind = 0; kind < KERNEL_KINDS; ++kind)
            if (set->materials[m].programs[kind].kernel)
                bind_program(set, &set->desc.scene->materials[m], store,
                             &set->materials[m].programs[kind]);
}

MaterialSetStats material_set_stats(const MaterialSet *set)
{
    MaterialSetStats stats = {.compile_ms = set->compile_ms};
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        for (int kind = 0; kind < KERNEL_KINDS; ++kind) {
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

void material_set_faults(const MaterialSet *set, StrBuf *out)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        for (int kind = 0; kind < KERNEL_KINDS; ++kind) {
            const MaterialProgram *p = &set->materials[m].programs[kind];
            for (uint32_t site = 0; p->kernel && site < p->info->fault_site_count; ++site) {
                uint64_t points = atomic_load(&p->faults[site]);
                SslFaultInfo fault;
                if (points == 0)
                    continue;
                ssl_fault_describe(p->program, site, &fault);
                strbuf_printf(out, "%s:%u:%u: %s (material '%s', %llu points)\n", fault.source_name,
                              fault.line, fault.column, fault.text, set->materials[m].name,
                              (unsigned long long)points);
            }
        }
    }
}
