#include "sort/shade/material.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/thread.h"
#include "sort/shade/unit_library.h"
#include <stdio.h>
#include <string.h>

enum { KERNEL_KINDS = 3 };

/* A shader of a source, compiled once for all materials and nodes that use it. */
typedef struct Unit {
    uint32_t shader;
    const char *entry;
    const char *place; /* where it is used first, for messages */
    SslUnit *unit;
    DiagList *diags;
    Status status;
    Error error;
} Unit;

/* A material as a unit: its shader or group with the material's values. */
typedef struct Link {
    SslUnit *unit;
    DiagList *diags;
    Status status;
    Error error;
} Link;

typedef struct Build {
    DiagList *diags;
    Status status;
    Error error;
} Build;

struct MaterialSet {
    MaterialSetDesc desc;
    Material *materials; /* [material_count] */
    Unit *units;
    uint32_t unit_count, unit_capacity;
    Link *links;   /* [material_count] */
    Build *builds; /* [material_count * KERNEL_KINDS]; only while compiling */
    double compile_ms;
};

/* --- units -------------------------------------------------------------------------------- */

static Status refuse_entry(const char *file, const char *entry, StrBuf *names, Error *err)
{
    enum { NAMES_MAX = 64 };
    const char *list[NAMES_MAX];
    uint32_t count = 0;
    for (char *line = names->data; line && *line && count < NAMES_MAX;) {
        char *end = line + strcspn(line, "\n");
        list[count++] = line;
        line = *end ? end + 1 : end;
        *end = '\0';
    }
    const char *nearest = suggest_nearest(entry, list, count);
    return nearest ? error_set(err, STATUS_NOT_FOUND, "'%s' has no shader '%s'; did you mean '%s'?",
                               file, entry, nearest)
                   : error_set(err, STATUS_NOT_FOUND, "'%s' has no shader '%s'", file, entry);
}

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
        status = unit->entry ? refuse_entry(source->name, unit->entry, &names, &unit->error)
                             : error_set(&unit->error, STATUS_NOT_FOUND, "'%s' has no shader",
                                         source->name);
    else if (status == STATUS_OK && count > 1 && !unit->entry &&
             !str_equal((Str){chosen, chosen_bytes}, stem))
        status =
            error_set(&unit->error, STATUS_INVALID,
                      "'%s' has %u shaders and none is called like the file; name one as 'entry'",
                      source->name, count);
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

static const Unit *find_unit(const MaterialSet *set, uint32_t shader, const char *entry)
{
    for (uint32_t u = 0; u < set->unit_count; ++u)
        if (set->units[u].shader == shader && same_text(set->units[u].entry, entry))
            return &set->units[u];
    return NULL;
}

static Status collect_unit(MaterialSet *set, uint32_t shader, const char *entry, const char *place)
{
    if (find_unit(set, shader, entry))
        return STATUS_OK;
    if (set->unit_count == set->unit_capacity) {
        uint32_t capacity = set->unit_capacity ? 2 * set->unit_capacity : 64;
        Unit *units = mem_realloc(set->units, capacity, sizeof *units);
        if (!units)
            return STATUS_NO_MEMORY;
        set->units = units;
        set->unit_capacity = capacity;
    }
    set->units[set->unit_count++] = (Unit){.shader = shader, .entry = entry, .place = place};
    return STATUS_OK;
}

static Status collect_group(MaterialSet *set, const SslGroupDesc *group)
{
    for (uint32_t i = 0; i < group->node_count; ++i)
        if (!group->nodes[i].group)
            TRY(collect_unit(set, group->nodes[i].shader_id, group->nodes[i].entry,
                             group->nodes[i].place));
    return STATUS_OK;
}

static Status collect_units(MaterialSet *set)
{
    const Scene *scene = set->desc.scene;
    for (uint32_t g = 0; g < scene->group_count; ++g)
        TRY(collect_group(set, &scene->groups[g]));
    for (uint32_t m = 0; m < scene->material_count; ++m) {
        const SceneMaterial *material = &scene->materials[m];
        TRY(material->group
                ? collect_group(set, material->group)
                : collect_unit(set, material->shader, material->entry, material->place));
    }
    return STATUS_OK;
}

/* --- links ---------------------------------------------------------------------------------- */

static const char *surface_name(const MaterialSet *set, uint32_t m)
{
    const SceneMaterial *material = &set->desc.scene->materials[m];
    return material->group ? material->group->name
                           : set->desc.scene->shaders[material->shader].name;
}

static Status material_error(const MaterialSet *set, uint32_t m, const char *section,
                             const char *name, Error *err, const char *text)
{
    const SceneMaterial *material = &set->desc.scene->materials[m];
    return error_set_at(err, STATUS_FORMAT, "scene.json", "%s%s%s%s%s: %s (material '%s', %s '%s')",
                        material->place, *section ? "." : "", section, *name ? "." : "", name, text,
                        material->name, material->group ? "group" : "shader", surface_name(set, m));
}

static Status find_node_unit(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    const Unit *unit = find_unit(data, node->shader_id, node->entry);
    *out_unit = unit ? unit->unit : NULL;
    return *out_unit ? STATUS_OK : STATUS_NOT_FOUND;
}

/* Which output is the surface: of a shader its only closure, of a group its only output or the one
 * called 'surface'. */
static const char *find_surface(const SceneMaterial *material, const SslUnit *unit)
{
    const char *found = NULL;
    if (material->group) {
        const SslGroupDesc *group = material->group;
        for (uint32_t i = 0; i < group->output_count; ++i)
            if (group->output_count == 1 || strcmp(group->outputs[i].name, "surface") == 0)
                found = group->outputs[i].name;
        return found;
    }
    const SslUnitInfo *info = ssl_unit_info(unit);
    for (uint32_t i = 0; i < info->output_count; ++i) {
        if (info->outputs[i].type == SSL_CLOSURE && found)
            return NULL;
        if (info->outputs[i].type == SSL_CLOSURE)
            found = info->outputs[i].name;
    }
    return found;
}

/* A material is a group of one node, so that values, textures and their mistakes go one way. The node has
 * no name: parameters keep theirs. */
static Status link_material(MaterialSet *set, uint32_t m, Link *link)
{
    const SceneMaterial *material = &set->desc.scene->materials[m];
    const SslUnit *unit =
        material->group ? NULL : find_unit(set, material->shader, material->entry)->unit;
    const char *surface = find_surface(material, unit);
    if (!surface)
        return material_error(set, m, material->group ? "group" : "shader", "", &link->error,
                              material->group ? "it needs an output 'surface', or only one output"
                                              : "it needs exactly one 'out closure'");
    const SslGroupNode node = {.name = "",
                               .unit = unit,
                               .group = material->group,
                               .values = material->parameters,
                               .value_count = material->parameter_count,
                               .textures = material->textures,
                               .texture_count = material->texture_count,
                               .place = material->place};
    const SslGroupOutput output = {
        .name = "surface", .node = "", .output = surface, .place = material->place};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = material->name,
                               .nodes = &node,
                               .outputs = &output,
                               .node_count = 1,
                               .output_count = 1,
                               .place = material->place};
    const SslGroupHost host = {.size_bytes = sizeof host, .find_unit = find_node_unit, .data = set};
    Status status = ssl_group_link(set->desc.context, &desc, &host, link->diags, &link->unit);
    if (status == STATUS_SOURCE)
        return material_error(set, m, "", "", &link->error, "it has errors");
    if (status != STATUS_OK)
        return error_set(&link->error, status, "out of memory compiling shaders");
    if (ssl_unit_info(link->unit)->outputs[0].type != SSL_CLOSURE)
        return material_error(set, m, "group", "outputs.surface", &link->error,
                              "it must be a closure");
    return STATUS_OK;
}

static void link_one(void *data, uint32_t index)
{
    MaterialSet *set = data;
    Link *link = &set->links[index];
    link->diags = diag_list_create();
    link->status =
        link->diags ? link_material(set, index, link)
                    : error_set(&link->error, STATUS_NO_MEMORY, "out of memory compiling shaders");
}

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

/* --- attributes ------------------------------------------------------------------------------ */

static const char *bound_attribute(const SceneMaterial *material, const SslAttributeInfo *attribute)
{
    for (uint32_t i = 0; i < material->attribute_count; ++i)
        if (strcmp(material->attributes[i].name, attribute->name) == 0)
            return material->attributes[i].source;
    return attribute->binds;
}

static Status check_attributes(const MaterialSet *set, uint32_t m, const SslUnitInfo *info,
                               Error *err)
{
    enum { NAMES_MAX = 64 };
    const SceneMaterial *material = &set->desc.scene->materials[m];
    for (uint32_t k = 0; k < material->attribute_count; ++k) {
        const char *names[NAMES_MAX], *name = material->attributes[k].name;
        uint32_t count = 0;
        bool is_known = false;
        for (uint32_t i = 0; i < info->attribute_count; ++i) {
            if (!info->attributes[i].is_declared)
                continue;
            is_known |= strcmp(info->attributes[i].name, name) == 0;
            if (count < NAMES_MAX)
                names[count++] = info->attributes[i].name;
        }
        char text[384];
        const char *nearest = suggest_nearest(name, names, count);
        snprintf(text, sizeof text,
                 nearest ? "the shader has no such attribute; did you mean '%s'?"
                         : "the shader has no such attribute",
                 nearest);
        if (!is_known)
            return material_error(set, m, "attributes", name, err, text);
    }
    return STATUS_OK;
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
        p->attributes[i] = bound_attribute(&set->desc.scene->materials[m], &unit->attributes[i]);
    ssl_params_init(p->program, p->params);
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        if (p->info->texture_is_used[i] && unit->texture_ids[i] == SSL_TEXTURE_UNBOUND)
            return material_error(
                set, m, "textures", unit->textures[i], err,
                "the shader samples it with these parameters, so it must be bound");
    return STATUS_OK;
}

/* Switches are baked into the code, and numbers that are exactly 0 or 1, since those are mostly weights of
 * closures, which then vanish or stand alone. Other numbers stay data, so that materials share kernels. */
static Status build_program(MaterialSet *set, uint32_t m, SslKernelKind kind, Build *build)
{
    const SslBuildDesc how = {.size_bytes = sizeof how, .kind = kind, .bake_switches = true};
    MaterialProgram *p = &set->materials[m].programs[kind];
    TRY(check_attributes(set, m, ssl_unit_info(set->links[m].unit), &build->error));
    TRY(ssl_program_build(set->desc.context, set->links[m].unit, &how, build->diags, &p->program,
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
        const char *shader = set->desc.scene->shaders[unit->shader].name;
        if (unit->error.code != STATUS_OK)
            error_set_at(err, first, "scene.json", "%s: %s",
                         unit->place ? unit->place : "materials", unit->error.text);
        else
            error_set_at(err, first, "scene.json",
                         first == STATUS_SOURCE ? "%s: shader '%s' has errors"
                                                : "%s: out of memory compiling shader '%s'",
                         unit->place ? unit->place : "materials", shader);
    }
    return first;
}

static Status gather_links(const MaterialSet *set, StrBuf *diagnostics, Error *err)
{
    Status first = STATUS_OK;
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        const Link *link = &set->links[m];
        if (link->diags)
            diag_print(link->diags, diagnostics);
        if (link->status == STATUS_OK || first != STATUS_OK)
            continue;
        first = link->status;
        *err = link->error;
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
    uint32_t materials = set->desc.scene->material_count, builds = materials * KERNEL_KINDS;
    if (collect_units(set) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "out of memory compiling shaders");
    parallel_for(set->desc.thread_count, set->unit_count, compile_unit, set);
    TRY(gather_units(set, diagnostics, err));
    parallel_for(set->desc.thread_count, materials, link_one, set);
    TRY(gather_links(set, diagnostics, err));
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
    set->links = MEM_ARRAY(Link, count + 1);
    set->builds = MEM_ARRAY(Build, (size_t)count * KERNEL_KINDS + 1);
    Status status = STATUS_NO_MEMORY;
    if (set->materials && set->links && set->builds) {
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
    mem_free(set->builds);
    mem_free(set);
}

const Material *material_set_get(const MaterialSet *set, uint32_t material)
{
    return &set->materials[material];
}

void material_set_textures(const MaterialSet *set, bool *is_wanted)
{
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        for (int kind = 0; kind < KERNEL_KINDS; ++kind) {
            const MaterialProgram *p = &set->materials[m].programs[kind];
            for (uint32_t i = 0; p->kernel && i < p->info->unit->texture_count; ++i)
                if (p->info->texture_is_used[i])
                    is_wanted[p->info->unit->texture_ids[i]] = true;
        }
    }
}

static TexWrap wrap_from_scene(SceneWrap wrap)
{
    return (TexWrap)(TEX_WRAP_FILE + (int)(wrap - SCENE_WRAP_FILE));
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

static void bind_program(const MaterialSet *set, const TextureStore *store, MaterialProgram *p)
{
    const SslUnitInfo *unit = p->info->unit;
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        if (p->info->texture_is_used[i])
            p->textures[i] = texture_store_id(store, unit->texture_ids[i]).id;
    for (uint32_t i = 0; i < p->info->texture_site_count; ++i) {
        const SslTextureSite *site = &p->info->texture_sites[i];
        uint32_t id = unit->texture_ids[site->texture];
        TexOptions *options = &p->site_options[i];
        if (id == SSL_TEXTURE_UNBOUND)
            continue;
        const SceneTexture *texture = &set->desc.scene->textures[id];
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
                bind_program(set, store, &set->materials[m].programs[kind]);
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
