/* Light sources: the sections `lights` and `environment`, and the names of light groups. */
#include "sort/package/scene_parse.h"
#include <float.h>
#include <string.h>

enum { LAYER_NAME_MAX = 63, LIGHT_BOUNCES_MAX = 1024 };

Status parse_layer_name(SceneParser *p, JsonCursor *field, const char *what, const char **out_name,
                        Error *err)
{
    const char *name;
    TRY(json_as_string(field, &name, err));
    TRY(parse_check_name(field, name, err));
    if (strlen(name) > LAYER_NAME_MAX || strchr(name, '.'))
        return json_fail(field, err, "the name of a %s has at most %d bytes and no dot", what,
                         LAYER_NAME_MAX);
    *out_name = arena_strndup(p->arena, name, strlen(name));
    return STATUS_OK;
}

Status parse_light_group(SceneParser *p, JsonCursor *c, uint32_t *out_group, Error *err)
{
    JsonCursor field;
    const char *name;
    uint32_t index;
    bool is_new;
    TRY(json_get_any(c, "light_group", JSON_OPTIONAL, &field, err));
    if (!json_exists(&field))
        return STATUS_OK;
    TRY(parse_layer_name(p, &field, "light group", &name, err));
    index = name_index_find(&p->light_group_names, name);
    if (index == NAME_INDEX_ABSENT) {
        TRY(name_index_add(&p->light_group_names, name, &index, &is_new, err));
        if (index >= SCENE_LIGHT_GROUPS_MAX)
            return parse_refuse(&field, STATUS_LIMIT, err, "there are more than %d light groups",
                                SCENE_LIGHT_GROUPS_MAX);
    }
    *out_group = index + 1;
    return STATUS_OK;
}

void parse_light_groups_end(SceneParser *p)
{
    uint32_t count = p->light_group_names.count;
    const char **names = ARENA_ARRAY(p->arena, const char *, count);
    for (uint32_t i = 0; i < count; ++i)
        names[i] = p->light_group_names.names[i];
    p->scene->light_groups = names;
    p->scene->light_group_count = count;
}

/* --- lights --------------------------------------------------------------------------------- */

typedef struct LightType {
    const char *name;
    SceneLightKind kind;
    const char *emission; /* the field that says how bright */
} LightType;

static const LightType types[] = {
    {"point", SCENE_LIGHT_POINT, "intensity"},
    {"spot", SCENE_LIGHT_SPOT, "intensity"},
    {"distant", SCENE_LIGHT_DISTANT, "irradiance"},
    {"area_rectangle", SCENE_LIGHT_RECTANGLE, "radiance"},
    {"area_disk", SCENE_LIGHT_DISK, "radiance"},
    {"area_ellipse", SCENE_LIGHT_DISK, "radiance"},
    {"sphere", SCENE_LIGHT_SPHERE, "radiance"},
};
enum { TYPE_DISK = 4 };

/* Below 0 it takes light away. */
static Status parse_emission(JsonCursor *c, const char *field, float3 *out_emission, Error *err)
{
    float rgb[3];
    TRY(json_get_floats(c, field, JSON_REQUIRED, -(double)FLT_MAX, (double)FLT_MAX, 3, rgb, err));
    *out_emission = f3(rgb[0], rgb[1], rgb[2]);
    return STATUS_OK;
}

/* Parses a list of link sets. */
static Status parse_sets(JsonCursor *c, const char *field, uint64_t *out_sets, Error *err)
{
    JsonCursor array, element;
    TRY(json_get_array(c, field, JSON_OPTIONAL, &array, err));
    for (uint32_t i = 0; json_exists(&array) && i < json_count(&array); ++i) {
        int64_t set;
        json_at(&array, i, &element);
        TRY(json_as_int(&element, 0, SCENE_LINK_SETS_MAX - 1, &set, err));
        *out_sets |= 1ull << set;
    }
    return STATUS_OK;
}

/* Parses the fields that all light sources have: `invisible_to`, `unlit_sets` and `max_bounces`. */
static Status parse_light_visibility(JsonCursor *c, SceneLightVisibility *visibility, Error *err)
{
    JsonCursor field;
    TRY(parse_visibility(c, false, &visibility->invisible_to, err));
    TRY(parse_sets(c, "unlit_sets", &visibility->unlit_sets, err));
    TRY(json_get_any(c, "max_bounces", JSON_OPTIONAL, &field, err));
    if (!json_exists(&field))
        return STATUS_OK;
    TRY(json_get_u32(c, "max_bounces", JSON_REQUIRED, 0, LIGHT_BOUNCES_MAX,
                     &visibility->bounce_limit, err));
    ++visibility->bounce_limit;
    return STATUS_OK;
}

/* `casts_shadows`, `open_sets` and `is_sampled_only`. */
static Status parse_flags(JsonCursor *c, SceneLightVisibility *visibility, Error *err)
{
    bool casts_shadows = true;
    TRY(json_get_bool(c, "casts_shadows", JSON_OPTIONAL, &casts_shadows, err));
    visibility->is_shadowless = !casts_shadows;
    TRY(parse_sets(c, "open_sets", &visibility->open_sets, err));
    return json_get_bool(c, "is_sampled_only", JSON_OPTIONAL, &visibility->is_sampled_only, err);
}

static Status parse_solid(JsonCursor *c, SceneLightVisibility *visibility, Error *err)
{
    bool is_solid = true;
    TRY(json_get_bool(c, "is_solid", JSON_OPTIONAL, &is_solid, err));
    /* A shape that some bounced rays do not see cannot stop the others: light sampling would count light behind it for all
     * of them. */
    visibility->is_permeable = !is_solid || (visibility->invisible_to & SCENE_RAYS_BOUNCED);
    return STATUS_OK;
}

Status parse_emitted_paths(JsonCursor *c, SceneInstance *instance, Error *err)
{
    JsonCursor light;
    TRY(json_get_object(c, "light", JSON_OPTIONAL, &light, err));
    instance->is_lamp = json_exists(&light);
    if (!instance->is_lamp)
        return STATUS_OK;
    TRY(parse_light_visibility(&light, &instance->light_visibility, err));
    TRY(parse_flags(&light, &instance->light_visibility, err));
    return json_finish(&light, err);
}

static Status parse_facing_radius(JsonCursor *c, SceneLight *light, Error *err)
{
    return json_get_float(c, "radius_m", JSON_OPTIONAL, 0.0, (double)FLT_MAX, &light->radius_m,
                          err);
}

static Status parse_spot(JsonCursor *c, SceneLight *light, Error *err)
{
    static const char *const falloffs[] = {"square", "smooth", "smooth_cosine"};
    JsonCursor field;
    uint32_t falloff = 0;
    TRY(json_get_choice(c, "falloff", JSON_OPTIONAL, falloffs, SORT_COUNT_OF(falloffs), &falloff,
                        err));
    light->falloff = (SceneFalloff)falloff;
    TRY(parse_degrees(c, "outer_angle_degrees", JSON_REQUIRED, 1e-4, 90.0, &light->outer_angle_rad,
                      err));
    TRY(parse_degrees(c, "inner_angle_degrees", JSON_OPTIONAL, 0.0, 90.0, &light->inner_angle_rad,
                      err));
    TRY(json_get_any(c, "inner_angle_degrees", JSON_OPTIONAL, &field, err));
    if (light->inner_angle_rad >= light->outer_angle_rad)
        return json_fail(&field, err, "must be below outer_angle_degrees");
    return STATUS_OK;
}

/* The flat ones. */
static Status parse_area(JsonCursor *c, bool is_disk, SceneLight *light, Error *err)
{
    JsonCursor field;
    if (is_disk) {
        float radius = 0.0f;
        TRY(parse_positive(c, "radius_m", JSON_REQUIRED, &radius, err));
        light->size_x_m = light->size_y_m = 2.0f * radius;
    } else {
        float size[2];
        TRY(json_get_any(c, "size", JSON_REQUIRED, &field, err));
        TRY(json_as_floats(&field, 0.0, (double)FLT_MAX, 2, size, err));
        if (!(size[0] > 0.0f && size[1] > 0.0f))
            return json_fail(&field, err, "must be above 0");
        light->size_x_m = size[0], light->size_y_m = size[1];
    }
    TRY(parse_degrees(c, "spread_degrees", JSON_OPTIONAL, 0.01, 180.0, &light->spread_rad, err));
    if (light->spread_rad > 3.14159f)
        light->spread_rad = 0.0f; /* all of the half space */
    return json_get_bool(c, "is_two_sided", JSON_OPTIONAL, &light->is_two_sided, err);
}

static Status parse_light_material(SceneParser *p, JsonCursor *c, SceneLight *light, Error *err)
{
    JsonCursor field;
    TRY(json_get_any(c, "material", JSON_OPTIONAL, &field, err));
    if (!json_exists(&field))
        return STATUS_OK;
    TRY(parse_reference(&field, &p->material_names, "material", &light->material, err));
    ++light->material;
    return STATUS_OK;
}

static Status parse_light(SceneParser *p, JsonCursor *c, SceneLight *light, Error *err)
{
    const char *names[SORT_COUNT_OF(types)];
    uint32_t type;
    JsonCursor field;
    for (size_t i = 0; i < SORT_COUNT_OF(types); ++i)
        names[i] = types[i].name;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->light_names, &light->name, err));
    TRY(json_get_choice(c, "type", JSON_REQUIRED, names, SORT_COUNT_OF(names), &type, err));
    light->kind = types[type].kind;
    TRY(parse_transform(c, JSON_REQUIRED, &field, &light->light_to_world, err));
    TRY(parse_rigid(&field, false, &light->light_to_world, err));
    TRY(parse_light_group(p, c, &light->light_group, err));
    TRY(parse_light_visibility(c, &light->visibility, err));
    TRY(parse_flags(c, &light->visibility, err));
    TRY(parse_solid(c, &light->visibility, err));
    TRY(json_get_bool(c, "is_caustics_light", JSON_OPTIONAL, &light->is_caustics_light, err));
    TRY(parse_emission(c, types[type].emission, &light->emission, err));
    TRY(parse_light_material(p, c, light, err));
    switch (light->kind) {
    case SCENE_LIGHT_POINT:
        TRY(parse_facing_radius(c, light, err));
        break;
    case SCENE_LIGHT_SPOT:
        TRY(parse_facing_radius(c, light, err));
        TRY(parse_spot(c, light, err));
        break;
    case SCENE_LIGHT_DISTANT:
        TRY(parse_degrees(c, "angle_degrees", JSON_OPTIONAL, 0.0, 179.999, &light->angle_rad, err));
        break;
    case SCENE_LIGHT_RECTANGLE:
    case SCENE_LIGHT_DISK:
        TRY(parse_area(c, type == TYPE_DISK, light, err));
        break;
    case SCENE_LIGHT_SPHERE:
        TRY(parse_positive(c, "radius_m", JSON_REQUIRED, &light->radius_m, err));
        break;
    }
    return json_finish(c, err);
}

Status parse_lights(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "lights", JSON_OPTIONAL, SCENE_SECTION_MAX, &array, &count, err));
    SceneLight *lights = ARENA_ARRAY(p->arena, SceneLight, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_light(p, &c, &lights[i], err));
    }
    p->scene->lights = lights;
    p->scene->light_count = count;
    return STATUS_OK;
}

Status parse_environment(SceneParser *p, JsonCursor *root, Error *err)
{
    SceneEnvironment *e = &p->scene->environment;
    e->environment_to_world = mat4_identity();
    e->world_to_environment = mat4_identity();
    JsonCursor c, image, color, material, field;
    TRY(json_get_object(root, "environment", JSON_OPTIONAL, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    e->strength = 1.0f;
    TRY(parse_light_group(p, &c, &e->light_group, err));
    TRY(parse_light_visibility(&c, &e->visibility, err));
    TRY(json_get_any(&c, "image", JSON_OPTIONAL, &image, err));
    TRY(json_get_any(&c, "color", JSON_OPTIONAL, &color, err));
    TRY(json_get_any(&c, "material", JSON_OPTIONAL, &material, err));
    if (json_exists(&image) + json_exists(&color) + json_exists(&material) != 1)
        return json_fail(&c, err, "must have one of image, color and material");
    TRY(json_get_float(&c, "strength", JSON_OPTIONAL, 0.0, (double)FLT_MAX, &e->strength, err));
    if (json_exists(&color)) {
        float3 radiance = f3(0, 0, 0);
        TRY(parse_emission(&c, "color", &radiance, err));
        e->kind = SCENE_ENVIRONMENT_COLOR;
        e->radiance = f3_scale(radiance, e->strength);
        if (!f3_is_finite(e->radiance))
            return json_fail(&color, err, "times strength is beyond any number");
    } else if (json_exists(&material)) {
        e->kind = SCENE_ENVIRONMENT_MATERIAL;
        if (e->strength != 1.0f)
            return json_fail(&c, err, "strength belongs to image and color");
        TRY(parse_reference(&material, &p->material_names, "material", &e->material, err));
    } else {
        e->kind = SCENE_ENVIRONMENT_IMAGE;
        TRY(parse_texture(p, &image, false, &e->texture, err));
        if (p->textures.data[e->texture].is_missing) {
            e->kind = SCENE_ENVIRONMENT_COLOR;
            e->radiance = f3_scale(f3(1, 0, 1), e->strength);
        }
    }
    TRY(json_get_bool(&c, "is_caustics_light", JSON_OPTIONAL, &e->is_caustics_light, err));
    TRY(parse_transform(&c, JSON_OPTIONAL, &field, &e->environment_to_world, err));
    if (json_exists(&field)) {
        if (f3_length2(mat4_point(&e->environment_to_world, f3(0, 0, 0))) != 0.0f)
            return json_fail(&field, err, "must be a rotation: the environment is infinitely far");
        TRY(parse_rigid(&field, false, &e->environment_to_world, err));
        e->world_to_environment = mat4_transpose(e->environment_to_world);
    }
    return json_finish(&c, err);
}
