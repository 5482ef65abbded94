/* The reader of groups from JSON. It checks the structure of the description, and the first mistake ends it. The linker
 * checks the content. */
#include "base/check.h"
#include "ssl/ssl_group.h"
#include <float.h>
#include <string.h>

static const char *copy_text(Arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

static const char *place_of(Arena *arena, const JsonCursor *c)
{
    char path[JSON_PATH_MAX];
    return copy_text(arena, json_path(c, path));
}

static uint32_t field_count(const JsonCursor *object)
{
    JsonIter iter = {0};
    JsonCursor value;
    const char *name;
    uint32_t count = 0;
    while (json_exists(object) && json_next(object, &iter, &name, &value))
        ++count;
    return count;
}

/* --- values ----------------------------------------------------------------------------------- */

static Status read_list(Arena *arena, const JsonCursor *c, SslValue *out, Error *err)
{
    uint32_t count = json_count(c);
    double *list = ARENA_ARRAY(arena, double, count);
    JsonCursor element;
    for (uint32_t i = 0; i < count; ++i) {
        bool is_on;
        json_at(c, i, &element);
        if (json_kind(&element) == JSON_KIND_BOOL) {
            TRY(json_as_bool(&element, &is_on, err));
            list[i] = is_on;
        } else {
            TRY(json_as_double(&element, -(double)FLT_MAX, (double)FLT_MAX, &list[i], err));
        }
    }
    SslType type = count == 2    ? SSL_FLOAT2
                   : count == 3  ? SSL_FLOAT3
                   : count == 4  ? SSL_FLOAT4
                   : count == 16 ? SSL_MATRIX
                                 : SSL_ARRAY;
    *out = (SslValue){.type = type};
    for (uint32_t i = 0; i < count && type != SSL_ARRAY; ++i)
        out->f[i] = (float)list[i];
    if (type == SSL_ARRAY) {
        out->list = list;
        out->count = count;
    }
    return STATUS_OK;
}

static Status read_value(Arena *arena, const JsonCursor *c, SslValue *out, Error *err)
{
    int64_t integer;
    const char *text;
    *out = (SslValue){.type = SSL_VOID};
    switch (json_kind(c)) {
    case JSON_KIND_BOOL:
        out->type = SSL_BOOL;
        return json_as_bool(c, &out->b, err);
    case JSON_KIND_INT:
        out->type = SSL_INT;
        TRY(json_as_int(c, INT32_MIN, INT32_MAX, &integer, err));
        out->i = (int32_t)integer;
        return STATUS_OK;
    case JSON_KIND_REAL:
        out->type = SSL_FLOAT;
        return json_as_float(c, -(double)FLT_MAX, (double)FLT_MAX, &out->f[0], err);
    case JSON_KIND_ARRAY:
        return read_list(arena, c, out, err);
    case JSON_KIND_STRING:
        TRY(json_as_string(c, &text, err));
        out->type = SSL_STRING;
        out->s = copy_text(arena, text);
        return STATUS_OK;
    case JSON_KIND_OBJECT:
    case JSON_KIND_NULL:
        break;
    }
    return json_fail(c, err, "must be true, false, a number, a string or an array of numbers");
}

static Status read_values(const SslGroupReader *reader, JsonCursor *c, SslGroupNode *node,
                          Error *err)
{
    JsonCursor object, value;
    JsonIter iter = {0};
    const char *name;
    TRY(json_get_object(c, "parameters", JSON_OPTIONAL, &object, err));
    if (!json_exists(&object))
        return STATUS_OK;
    SslGroupValue *values = ARENA_ARRAY(reader->arena, SslGroupValue, field_count(&object));
    node->values = values;
    while (json_next(&object, &iter, &name, &value)) {
        SslGroupValue *v = &values[node->value_count++];
        v->param = copy_text(reader->arena, name);
        v->place = place_of(reader->arena, &value);
        TRY(read_value(reader->arena, &value, &v->value, err));
    }
    return STATUS_OK;
}

static Status read_textures(const SslGroupReader *reader, JsonCursor *c, SslGroupNode *node,
                            Error *err)
{
    JsonCursor object, value;
    JsonIter iter = {0};
    const char *name;
    TRY(json_get_object(c, "textures", JSON_OPTIONAL, &object, err));
    if (!json_exists(&object))
        return STATUS_OK;
    SslGroupTexture *textures = ARENA_ARRAY(reader->arena, SslGroupTexture, field_count(&object));
    node->textures = textures;
    while (json_next(&object, &iter, &name, &value)) {
        SslGroupTexture *t = &textures[node->texture_count++];
        *t = (SslGroupTexture){.texture = copy_text(reader->arena, name),
                               .id = SSL_TEXTURE_UNBOUND,
                               .place = place_of(reader->arena, &value)};
        if (reader->read_texture)
            TRY(reader->read_texture(reader->data, &value, &t->id, err));
    }
    return STATUS_OK;
}

static Status read_attributes(const SslGroupReader *reader, JsonCursor *c, SslGroupNode *node,
                              Error *err)
{
    JsonCursor object, value;
    JsonIter iter = {0};
    const char *name, *binds;
    TRY(json_get_object(c, "attributes", JSON_OPTIONAL, &object, err));
    if (!json_exists(&object))
        return STATUS_OK;
    SslGroupAttribute *attributes =
        ARENA_ARRAY(reader->arena, SslGroupAttribute, field_count(&object));
    node->attributes = attributes;
    while (json_next(&object, &iter, &name, &value)) {
        TRY(json_as_string(&value, &binds, err));
        attributes[node->attribute_count++] =
            (SslGroupAttribute){.attribute = copy_text(reader->arena, name),
                                .binds = copy_text(reader->arena, binds),
                                .place = place_of(reader->arena, &value)};
    }
    return STATUS_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Finds the definition that a JSON string names. */
static Status read_group_name(const SslGroupReader *reader, const JsonCursor *value,
                              const SslGroupDesc **out_desc, Error *err)
{
    const char *name;
    TRY(json_as_string(value, &name, err));
    const char **names = ARENA_ARRAY(reader->arena, const char *, reader->definition_count);
    for (uint32_t i = 0; i < reader->definition_count; ++i) {
        *out_desc = &reader->definitions[i];
        if (strcmp(reader->definitions[i].name, name) == 0)
            return STATUS_OK;
        names[i] = reader->definitions[i].name;
    }
    const char *nearest = suggest_nearest(name, names, reader->definition_count);
    return nearest ? json_fail(value, err, "there is no group '%.80s'; did you mean '%.80s'?", name,
                               nearest)
                   : json_fail(value, err, "there is no group '%.80s'", name);
}

static Status read_shader(const SslGroupReader *reader, JsonCursor *shader, JsonCursor *entry,
                          SslGroupNode *node, Error *err)
{
    const char *text;
    if (json_exists(entry)) {
        TRY(json_as_string(entry, &text, err));
        if (!str_is_identifier(text))
            return json_fail(entry, err, "'%.80s' cannot be the name of a shader", text);
        node->entry = copy_text(reader->arena, text);
    }
    if (!json_exists(shader))
        return STATUS_OK;
    TRY(json_as_string(shader, &text, err));
    node->shader = copy_text(reader->arena, text);
    return reader->read_shader ? reader->read_shader(reader->data, shader, &node->shader_id, err)
                               : STATUS_OK;
}

/* Reads the unit of a node when its other fields have been read: where the unit is missing, a field with an
 * unknown name is the likelier mistake. A node whose group has no `group_name` can only name one. */
static Status read_unit(const SslGroupReader *reader, JsonCursor *c, const char *group_name,
                        SslGroupNode *node, Error *err)
{
    JsonCursor group, shader, entry;
    TRY(json_get_any(c, "group", JSON_OPTIONAL, &group, err));
    TRY(json_get_any(c, "shader", JSON_OPTIONAL, &shader, err));
    TRY(json_get_any(c, "entry", JSON_OPTIONAL, &entry, err));
    TRY(json_finish(c, err));
    bool has_shader = json_exists(&shader) || json_exists(&entry);
    if (json_exists(&group)) {
        if (has_shader)
            return json_fail(c, err, "has a 'group', so it cannot have a 'shader' or 'entry'");
        if (!group_name || json_kind(&group) == JSON_KIND_STRING)
            return read_group_name(reader, &group, &node->group, err);
        SslGroupDesc *own = ARENA_NEW(reader->arena, SslGroupDesc);
        node->group = own;
        return ssl_group_read(reader, &group, group_name, own, err);
    }
    if (!json_exists(&shader) && reader->read_shader)
        return json_fail(c, err, "needs a 'shader' or a 'group'");
    if (!has_shader)
        return json_fail(c, err, "needs a 'shader', an 'entry' or a 'group'");
    return read_shader(reader, &shader, &entry, node, err);
}

static Status read_node(const SslGroupReader *reader, JsonCursor *c, const char *group_name,
                        SslGroupNode *node, Error *err)
{
    node->place = place_of(reader->arena, c);
    TRY(json_as_object(c, err));
    TRY(read_values(reader, c, node, err));
    TRY(read_textures(reader, c, node, err));
    TRY(read_attributes(reader, c, node, err));
    return read_unit(reader, c, group_name, node, err);
}

Status ssl_group_read_node(const SslGroupReader *reader, JsonCursor *object, const char *group_name,
                           SslGroupNode *out_node, Error *err)
{
    CHECK(reader->size_bytes == sizeof *reader);
    *out_node = (SslGroupNode){.name = ""};
    return read_node(reader, object, group_name, out_node, err);
}

static Status read_nodes(const SslGroupReader *reader, JsonCursor *group, SslGroupDesc *desc,
                         Error *err)
{
    JsonCursor object, value;
    JsonIter iter = {0};
    const char *name;
    TRY(json_get_object(group, "nodes", JSON_OPTIONAL, &object, err));
    SslGroupNode *nodes = ARENA_ARRAY(reader->arena, SslGroupNode, field_count(&object));
    desc->nodes = nodes;
    while (json_exists(&object) && json_next(&object, &iter, &name, &value)) {
        SslGroupNode *node = &nodes[desc->node_count++];
        node->name = copy_text(reader->arena, name);
        TRY(read_node(reader, &value, NULL, node, err));
    }
    return STATUS_OK;
}

/* --- wires, outputs, parameters ----------------------------------------------------------------- */

/* Splits "node.port". Without '.', *out_node is NULL. Names of nodes have no '.', but names of ports may. */
static void split_port(Arena *arena, const char *text, const char **out_node, const char **out_port)
{
    const char *dot = strchr(text, '.');
    *out_node = dot ? arena_strndup(arena, text, (size_t)(dot - text)) : NULL;
    *out_port = copy_text(arena, dot ? dot + 1 : text);
}

static Status read_wires(const SslGroupReader *reader, JsonCursor *group, SslGroupDesc *desc,
                         Error *err)
{
    JsonCursor array, pair, end;
    const char *text;
    TRY(json_get_array(group, "wires", JSON_OPTIONAL, &array, err));
    uint32_t count = json_exists(&array) ? json_count(&array) : 0;
    SslGroupWire *wires = ARENA_ARRAY(reader->arena, SslGroupWire, count);
    desc->wires = wires;
    desc->wire_count = count;
    for (uint32_t i = 0; i < count; ++i) {
        SslGroupWire *wire = &wires[i];
        json_at(&array, i, &pair);
        TRY(json_as_array(&pair, err));
        if (json_count(&pair) != 2)
            return json_fail(&pair, err, "must be [\"node.output\", \"node.input\"]");
        wire->place = place_of(reader->arena, &pair);
        json_at(&pair, 0, &end);
        TRY(json_as_string(&end, &text, err));
        split_port(reader->arena, text, &wire->from_node, &wire->from);
        json_at(&pair, 1, &end);
        TRY(json_as_string(&end, &text, err));
        split_port(reader->arena, text, &wire->to_node, &wire->to);
        if (!wire->to_node)
            return json_fail(&end, err, "must be \"node.input\"");
    }
    return STATUS_OK;
}

static Status read_outputs(const SslGroupReader *reader, JsonCursor *group, SslGroupDesc *desc,
                           Error *err)
{
    JsonCursor object, value;
    JsonIter iter = {0};
    const char *name, *text;
    TRY(json_get_object(group, "outputs", JSON_REQUIRED, &object, err));
    SslGroupOutput *outputs = ARENA_ARRAY(reader->arena, SslGroupOutput, field_count(&object));
    desc->outputs = outputs;
    while (json_next(&object, &iter, &name, &value)) {
        SslGroupOutput *output = &outputs[desc->output_count++];
        output->name = copy_text(reader->arena, name);
        output->place = place_of(reader->arena, &value);
        TRY(json_as_string(&value, &text, err));
        split_port(reader->arena, text, &output->node, &output->output);
    }
    return STATUS_OK;
}

static Status read_type(const JsonCursor *c, SslType *out_type, Error *err)
{
    const char *text, *names[SSL_CLOSURE + 1];
    uint32_t count = 0;
    TRY(json_as_string(c, &text, err));
    for (int type = SSL_BOOL; type <= SSL_CLOSURE; ++type) {
        *out_type = (SslType)type;
        names[count++] = ssl_type_name((SslType)type);
        if (strcmp(text, ssl_type_name((SslType)type)) == 0)
            return STATUS_OK;
    }
    const char *nearest = suggest_nearest(text, names, count);
    return json_fail(c, err, "'%.80s' is no type%s%s%s", text, nearest ? "; did you mean '" : "",
                     nearest ? nearest : "", nearest ? "'?" : "");
}

static Status read_metadata(const SslGroupReader *reader, JsonCursor *c, SslGroupParam *param,
                            Error *err)
{
    JsonCursor object, value;
    JsonIter iter = {0};
    const char *name;
    TRY(json_get_object(c, "metadata", JSON_OPTIONAL, &object, err));
    SslMetadata *metadata = ARENA_ARRAY(reader->arena, SslMetadata, field_count(&object));
    param->metadata = metadata;
    while (json_exists(&object) && json_next(&object, &iter, &name, &value)) {
        SslMetadata *m = &metadata[param->metadata_count++];
        m->name = copy_text(reader->arena, name);
        TRY(read_value(reader->arena, &value, &m->value, err));
        if (m->value.type == SSL_ARRAY)
            return json_fail(&value, err, "metadata has 1, 2, 3, 4 or 16 numbers");
    }
    return STATUS_OK;
}

static Status read_params(const SslGroupReader *reader, JsonCursor *group, SslGroupDesc *desc,
                          Error *err)
{
    JsonCursor object, value, field;
    JsonIter iter = {0};
    const char *name;
    TRY(json_get_object(group, "parameters", JSON_OPTIONAL, &object, err));
    SslGroupParam *params = ARENA_ARRAY(reader->arena, SslGroupParam, field_count(&object));
    desc->params = params;
    while (json_exists(&object) && json_next(&object, &iter, &name, &value)) {
        SslGroupParam *param = &params[desc->param_count++];
        param->name = copy_text(reader->arena, name);
        param->place = place_of(reader->arena, &value);
        TRY(json_as_object(&value, err));
        TRY(json_get_any(&value, "type", JSON_OPTIONAL, &field, err));
        if (json_exists(&field))
            TRY(read_type(&field, &param->type, err));
        TRY(json_get_any(&value, "default", JSON_OPTIONAL, &field, err));
        param->has_default = json_exists(&field);
        if (param->has_default)
            TRY(read_value(reader->arena, &field, &param->default_value, err));
        TRY(read_metadata(reader, &value, param, err));
        TRY(json_finish(&value, err));
    }
    return STATUS_OK;
}

Status ssl_group_read(const SslGroupReader *reader, JsonCursor *object, const char *name,
                      SslGroupDesc *out_desc, Error *err)
{
    CHECK(reader->size_bytes == sizeof *reader);
    *out_desc = (SslGroupDesc){.size_bytes = sizeof *out_desc, .name = name};
    out_desc->place = place_of(reader->arena, object);
    TRY(json_as_object(object, err));
    TRY(read_params(reader, object, out_desc, err));
    TRY(read_nodes(reader, object, out_desc, err));
    TRY(read_wires(reader, object, out_desc, err));
    TRY(read_outputs(reader, object, out_desc, err));
    return json_finish(object, err);
}

Status ssl_group_read_definitions(SslGroupReader *reader, JsonCursor *object, Error *err)
{
    JsonCursor value;
    JsonIter iter = {0};
    const char *name;
    uint32_t count = field_count(object), i = 0;
    reader->definitions = ARENA_ARRAY(reader->arena, SslGroupDesc, count);
    while (json_next(object, &iter, &name, &value))
        reader->definitions[reader->definition_count++].name = copy_text(reader->arena, name);
    for (iter = (JsonIter){0}; json_next(object, &iter, &name, &value); ++i)
        TRY(ssl_group_read(reader, &value, reader->definitions[i].name, &reader->definitions[i],
                           err));
    return STATUS_OK;
}
