/* Shaders of sources, each compiled once for all materials and nodes that use it. */
#include "base/alloc.h"
#include "base/path.h"
#include "sort/shade/material_set.h"
#include "sort/shade/unit_library.h"
#include <stdio.h>
#include <string.h>

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
static Status choose_entry(SslContext *context, const SslSource *source, MaterialUnit *unit,
                           char *out_name, size_t name_bytes)
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

void material_unit_compile(void *data, uint32_t index)
{
    MaterialSet *set = data;
    MaterialUnit *unit = &set->units[index];
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

const MaterialUnit *material_unit_find(const MaterialSet *set, uint32_t shader, const char *entry)
{
    for (uint32_t u = 0; u < set->unit_count; ++u)
        if (set->units[u].shader == shader && same_text(set->units[u].entry, entry))
            return &set->units[u];
    return NULL;
}

static Status collect_unit(MaterialSet *set, const SslGroupNode *node)
{
    if (material_unit_find(set, node->shader_id, node->entry))
        return STATUS_OK;
    if (set->unit_count == set->unit_capacity) {
        uint32_t capacity = set->unit_capacity ? 2 * set->unit_capacity : 64;
        MaterialUnit *units = mem_realloc(set->units, capacity, sizeof *units);
        if (!units)
            return STATUS_NO_MEMORY;
        set->units = units;
        set->unit_capacity = capacity;
    }
    set->units[set->unit_count++] =
        (MaterialUnit){.shader = node->shader_id, .entry = node->entry, .place = node->place};
    return STATUS_OK;
}

static Status collect_group(MaterialSet *set, const SslGroupDesc *group)
{
    for (uint32_t i = 0; i < group->node_count; ++i)
        if (!group->nodes[i].group)
            TRY(collect_unit(set, &group->nodes[i]));
    return STATUS_OK;
}

Status material_units_collect(MaterialSet *set)
{
    const Scene *scene = set->desc.scene;
    for (uint32_t g = 0; g < scene->group_count; ++g)
        TRY(collect_group(set, &scene->groups[g]));
    for (uint32_t m = 0; m < scene->material_count; ++m) {
        const SslGroupNode *node = &scene->materials[m].node;
        TRY(node->group ? collect_group(set, node->group) : collect_unit(set, node));
    }
    return STATUS_OK;
}

/* Appends what the compiler says of unit `u`, unless it has said the same of another entry of the shader: each entry has what is
 * wrong with the whole file. */
static void append_news(const MaterialSet *set, uint32_t u, StrBuf *diagnostics)
{
    StrBuf text = {0}, other = {0};
    bool is_new = true;
    diag_print(set->units[u].diags, &text);
    for (uint32_t before = 0; before < u && is_new; ++before) {
        const MaterialUnit *unit = &set->units[before];
        if (unit->shader != set->units[u].shader || !unit->diags)
            continue;
        strbuf_clear(&other);
        diag_print(unit->diags, &other);
        is_new = strcmp(strbuf_text(&text), strbuf_text(&other)) != 0;
    }
    if (is_new)
        strbuf_append_c(diagnostics, strbuf_text(&text));
    strbuf_free(&text);
    strbuf_free(&other);
}

Status material_units_gather(const MaterialSet *set, StrBuf *diagnostics, Error *err)
{
    Status first = STATUS_OK;
    for (uint32_t u = 0; u < set->unit_count; ++u) {
        const MaterialUnit *unit = &set->units[u];
        if (unit->diags)
            append_news(set, u, diagnostics);
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
