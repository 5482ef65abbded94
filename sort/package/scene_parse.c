#include "sort/package/scene_parse.h"

#include "sort/film/film.h"
#include <float.h>
#include <string.h>

/* Names of layers, each once. */
static Status parse_shader_aovs(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "shader_aovs", JSON_OPTIONAL, SCENE_SHADER_AOVS_MAX, &array, &count,
                      err));
    const char **names = ARENA_ARRAY(p->arena, const char *, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_layer_name(p, &c, "shader AOV", &names[i], err));
        for (uint32_t k = 0; k < i; ++k)
            if (strcmp(names[k], names[i]) == 0)
                return json_fail(&c, err, "there are two shader AOVs '%s'", names[i]);
    }
    p->scene->shader_aovs = names;
    p->scene->shader_aov_count = count;
    return STATUS_OK;
}

static Status parse_settings(SceneParser *p, JsonCursor *root, Error *err)
{
    SceneSettings *s = &p->scene->settings;
    JsonCursor settings, c;
    *s = scene_settings_default();
    TRY(json_get_object(root, "settings", JSON_OPTIONAL, &settings, err));
    if (!json_exists(&settings))
        return STATUS_OK;
    TRY(scene_settings_parse(&settings, s, err));
    TRY(json_get_any(&settings, "camera", JSON_OPTIONAL, &c, err));
    if (json_exists(&c))
        TRY(parse_reference(&c, &p->camera_names, "camera", &s->camera, err));
    return json_finish(&settings, err);
}

static Status parse_credits(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "credits", JSON_OPTIONAL, SCENE_SECTION_MAX, &array, &count, err));
    const char **credits = ARENA_ARRAY(p->arena, const char *, count);
    for (uint32_t i = 0; i < count; ++i) {
        const char *text;
        json_at(&array, i, &c);
        TRY(json_as_string(&c, &text, err));
        credits[i] = arena_strndup(p->arena, text, strlen(text));
    }
    p->scene->credits = credits;
    p->scene->credit_count = count;
    return STATUS_OK;
}

static Status parse_root(SceneParser *p, Error *err)
{
    JsonCursor root, extras;
    int64_t version;
    const char *name = "";
    TRY(json_root_object(p->doc, &root, err));
    TRY(json_get_int(&root, "sort_package", JSON_REQUIRED, 1, INT64_MAX, &version, err));
    if (version != 1)
        return error_set_at(err, STATUS_UNSUPPORTED, json_doc_name(p->doc),
                            "sort_package: version %lld; this renderer reads version 1",
                            (long long)version);
    TRY(json_get_string(&root, "name", JSON_OPTIONAL, &name, err));
    p->scene->name = arena_strndup(p->arena, name, strlen(name));
    TRY(parse_credits(p, &root, err));
    TRY(parse_shader_aovs(p, &root, err));
    TRY(parse_cameras(p, &root, err));
    TRY(parse_settings(p, &root, err));
    TRY(parse_materials(p, &root, err));
    TRY(parse_meshes(p, &root, err));
    TRY(parse_instances(p, &root, err));
    TRY(parse_lights(p, &root, err));
    TRY(parse_environment(p, &root, err));
    TRY(parse_portals(p, &root, err));
    parse_light_groups_end(p);
    TRY(json_get_any(&root, "extras", JSON_OPTIONAL, &extras, err));
    return json_finish(&root, err);
}

Status scene_parse(SceneParser *parser, const char *name, Str text, Error *err)
{
    TRY(json_parse_long(name, text, "instances", &parser->doc, err));
    if (setjmp(parser->no_memory)) {
        arena_on_no_memory(parser->arena, NULL);
        return error_set_at(err, STATUS_NO_MEMORY, name, "no memory for the scene's description");
    }
    arena_on_no_memory(parser->arena, &parser->no_memory);
    Status status = parse_root(parser, err);
    arena_on_no_memory(parser->arena, NULL);
    return status;
}

void scene_parser_free(SceneParser *parser)
{
    NameIndex *names[] = {
        &parser->camera_names,      &parser->mesh_names,     &parser->curve_names,
        &parser->light_group_names, &parser->instance_names, &parser->material_names,
        &parser->light_names,       &parser->portal_names,   &parser->shader_names,
        &parser->texture_keys,      &parser->texture_files};
    for (size_t i = 0; i < SORT_COUNT_OF(names); ++i)
        name_index_free(names[i]);
    json_destroy(parser->doc);
    parser->doc = NULL;
}
