/* Fields that all sections have in common: names, references, angles, colours, refusals. */
#include "sort/package/scene_parse.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

Status parse_at_field(const JsonCursor *c, Status status, Error *err)
{
    if (status == STATUS_OK || !err)
        return status;
    Error copy = *err;
    char field[JSON_PATH_MAX];
    return error_set_place(err, status, json_doc_name(c->doc), json_path(c, field), "%s",
                           copy.text);
}

Status(parse_refuse)(const JsonCursor *c, Status status, Error *err, const char *format, ...)
{
    char text[ERROR_TEXT_MAX], field[JSON_PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set_place(err, status, json_doc_name(c->doc), json_path(c, field), "%s", text);
}

Status parse_check_name(const JsonCursor *c, const char *name, Error *err)
{
    size_t bytes = strlen(name);
    if (bytes == 0 || bytes > SCENE_NAME_BYTES_MAX)
        return json_fail(c, err, "a name has 1 to %d bytes, this one %zu", SCENE_NAME_BYTES_MAX,
                         bytes);
    for (const char *s = name; *s; ++s) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return json_fail(c, err, "a name has no control characters");
    }
    return STATUS_OK;
}

Status scene_parse_name(SceneParser *p, JsonCursor *object, NameIndex *names, const char **out_name,
                        Error *err)
{
    JsonCursor c;
    const char *name;
    TRY(json_get_any(object, "name", JSON_REQUIRED, &c, err));
    TRY(json_as_string(&c, &name, err));
    TRY(parse_check_name(&c, name, err));
    *out_name = arena_strndup(p->arena, name, strlen(name));
    uint32_t index;
    bool is_new;
    TRY(name_index_add(names, *out_name, &index, &is_new, err));
    return is_new ? STATUS_OK
                  : json_fail(&c, err, "'%s' is the name of entry %u already", name, index);
}

Status parse_reference(const JsonCursor *c, const NameIndex *names, const char *what,
                       uint32_t *out_index, Error *err)
{
    const char *name;
    TRY(json_as_string(c, &name, err));
    *out_index = name_index_find(names, name);
    if (*out_index != NAME_INDEX_ABSENT)
        return STATUS_OK;
    const char *near = suggest_nearest(name, names->names, names->count);
    return near ? json_fail(c, err, "there is no %s '%s'; did you mean '%s'?", what, name, near)
                : json_fail(c, err, "there is no %s '%s'", what, name);
}

Status parse_section(JsonCursor *root, const char *name, JsonNeed need, uint32_t most,
                     JsonCursor *out_array, uint32_t *out_count, Error *err)
{
    *out_count = 0;
    TRY(json_get_array(root, name, need, out_array, err));
    if (!json_exists(out_array))
        return STATUS_OK;
    *out_count = json_count(out_array);
    if (*out_count > most)
        return parse_refuse(out_array, STATUS_LIMIT, err, "has %u entries; at most %u are read",
                            *out_count, most);
    return STATUS_OK;
}

Status parse_degrees(JsonCursor *object, const char *field, JsonNeed need, double above,
                     double below, float *out_rad, Error *err)
{
    JsonCursor c;
    TRY(json_get_any(object, field, need, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    double degrees;
    TRY(json_as_double(&c, above, below, &degrees, err));
    *out_rad = (float)(degrees * (3.14159265358979323846 / 180.0));
    return STATUS_OK;
}

Status parse_positive(JsonCursor *object, const char *field, JsonNeed need, float *out_value,
                      Error *err)
{
    JsonCursor c;
    TRY(json_get_any(object, field, need, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    TRY(json_as_float(&c, 0.0, (double)FLT_MAX, out_value, err));
    return *out_value > 0.0f ? STATUS_OK : json_fail(&c, err, "must be above 0");
}

Status parse_color(JsonCursor *object, const char *field, JsonNeed need, float3 *out_color,
                   Error *err)
{
    float c[3] = {out_color->x, out_color->y, out_color->z};
    TRY(json_get_floats(object, field, need, 0.0, (double)FLT_MAX, 3, c, err));
    *out_color = f3(c[0], c[1], c[2]);
    return STATUS_OK;
}

Status parse_visibility(JsonCursor *c, bool has_shadow, uint32_t *out_rays, Error *err)
{
    static const char *const names[] = {"camera", "diffuse", "glossy", "transmission", "shadow"};
    const uint32_t count = SORT_COUNT_OF(names) - (has_shadow ? 0 : 1);
    JsonCursor array, element;
    TRY(json_get_array(c, "invisible_to", JSON_OPTIONAL, &array, err));
    for (uint32_t i = 0; json_exists(&array) && i < json_count(&array); ++i) {
        const char *name;
        uint32_t k = 0;
        json_at(&array, i, &element);
        TRY(json_as_string(&element, &name, err));
        while (k < count && strcmp(name, names[k]) != 0)
            ++k;
        if (k == count)
            return json_fail(&element, err,
                             has_shadow ? "must be camera, diffuse, glossy, transmission or shadow"
                                        : "must be camera, diffuse, glossy or transmission");
        *out_rays |= 1u << k;
    }
    return STATUS_OK;
}
