#include "sort/scene/scene_parse.h"

#include "sort/film/film.h"
#include <float.h>
#include <string.h>

static Status parse_mist(JsonCursor *settings, SceneMist *mist, Error *err)
{
    static const char *const falloffs[] = {"linear", "quadratic", "inverse_quadratic"};
    JsonCursor c;
    uint32_t falloff = SCENE_MIST_QUADRATIC;
    *mist = (SceneMist){.start_m = 5.0f, .depth_m = 25.0f};
    TRY(json_get_object(settings, "mist", JSON_OPTIONAL, &c, err));
    if (json_exists(&c)) {
        TRY(json_get_float(&c, "start_m", JSON_OPTIONAL, 0.0, (double)FLT_MAX, &mist->start_m,
                           err));
        TRY(json_get_float(&c, "depth_m", JSON_OPTIONAL, 0.0, (double)FLT_MAX, &mist->depth_m,
                           err));
        TRY(json_get_choice(&c, "falloff", JSON_OPTIONAL, falloffs, SORT_COUNT_OF(falloffs),
                            &falloff, err));
        TRY(json_finish(&c, err));
    }
    mist->falloff = (SceneMistFalloff)falloff;
    return STATUS_OK;
}

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

/* What the picture says of its moment; no pixel depends on it. */
static Status parse_moment(JsonCursor *settings, SceneSettings *s, Error *err)
{
    JsonCursor c;
    int64_t frame = 0;
    TRY(json_get_any(settings, "frame", JSON_OPTIONAL, &c, err));
    s->has_frame = json_exists(&c);
    if (s->has_frame)
        TRY(json_as_int(&c, INT32_MIN, INT32_MAX, &frame, err));
    s->frame = (int32_t)frame;
    return json_get_float(settings, "frames_per_second", JSON_OPTIONAL, 0.001, 100000.0, &s->fps,
                          err);
}

static Status parse_settings(SceneParser *p, JsonCursor *root, Error *err)
{
    SceneSettings *s = &p->scene->settings;
    *s = (SceneSettings){.width_px = 1280,
                         .height_px = 720,
                         .samples = 64,
                         .max_depth = 8,
                         .max_diffuse = 1024,
                         .max_glossy = 1024,
                         .max_transmission = 1024,
                         .max_transparent = 128};
    JsonCursor settings, c;
    TRY(json_get_object(root, "settings", JSON_OPTIONAL, &settings, err));
    if (!json_exists(&settings))
        return STATUS_OK;
    TRY(json_get_array(&settings, "resolution", JSON_OPTIONAL, &c, err));
    if (json_exists(&c)) {
        if (json_count(&c) != 2)
            return json_fail(&c, err, "must be [width, height]");
        for (uint32_t k = 0; k < 2; ++k) {
            JsonCursor element;
            int64_t value;
            json_at(&c, k, &element);
            TRY(json_as_int(&element, 1, FILM_MAX_SIDE_PX, &value, err));
            *(k == 0 ? &s->width_px : &s->height_px) = (uint32_t)value;
        }
    }
    TRY(json_get_u32(&settings, "samples", JSON_OPTIONAL, 1, 1u << 24, &s->samples, err));
    TRY(json_get_u32(&settings, "max_depth", JSON_OPTIONAL, 1, 1024, &s->max_depth, err));
    TRY(json_get_u32(&settings, "max_diffuse", JSON_OPTIONAL, 1, 1024, &s->max_diffuse, err));
    TRY(json_get_u32(&settings, "max_glossy", JSON_OPTIONAL, 1, 1024, &s->max_glossy, err));
    TRY(json_get_u32(&settings, "max_transmission", JSON_OPTIONAL, 1, 1024, &s->max_transmission,
                     err));
    TRY(json_get_u32(&settings, "max_transparent", JSON_OPTIONAL, 0, 128, &s->max_transparent,
                     err));
    TRY(json_get_float(&settings, "clamp_direct", JSON_OPTIONAL, 0.0, (double)FLT_MAX,
                       &s->clamp_direct, err));
    TRY(json_get_float(&settings, "clamp_indirect", JSON_OPTIONAL, 0.0, (double)FLT_MAX,
                       &s->clamp_indirect, err));
    TRY(json_get_float(&settings, "filter_glossy", JSON_OPTIONAL, 0.0, (double)FLT_MAX,
                       &s->filter_glossy, err));
    TRY(json_get_u32(&settings, "seed", JSON_OPTIONAL, 0, UINT32_MAX, &s->seed, err));
    TRY(json_get_bool(&settings, "transparent_film", JSON_OPTIONAL, &s->has_transparent_film, err));
    TRY(parse_mist(&settings, &s->mist, err));
    TRY(parse_moment(&settings, s, err));
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
    NameIndex *names[] = {&parser->camera_names,   &parser->mesh_names,
                          &parser->curve_names,    &parser->light_group_names,
                          &parser->instance_names, &parser->material_names,
                          &parser->light_names,    &parser->shader_names,
                          &parser->texture_keys,   &parser->texture_files};
    for (size_t i = 0; i < SORT_COUNT_OF(names); ++i)
        name_index_free(names[i]);
    json_destroy(parser->doc);
    parser->doc = NULL;
}
