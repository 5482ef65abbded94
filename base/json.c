/* The only user of jansson, which parses and keeps the tree; all messages are made here.
 *
 * A cursor's `value` is a json_t borrowed from the document. Numbers, types and names are checked
 * where they are read, so that an error always has a cursor, and therefore a path. */
#include "base/json.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json_span.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The long array of json_parse_long. */
typedef struct LongArray {
    json_t *value;   /* the array's value in the tree, where it is empty; NULL if there is none */
    Str *elements;   /* owned: the text of each element */
    json_t *current; /* owned: the element that json_at parsed last */
    uint32_t count;
} LongArray;

struct JsonDoc {
    char *name;
    json_t *root;
    LongArray *rest; /* owned; NULL if everything is in the tree */
};

/* Field names from the file as they appear in messages: cut, so that the rest stays readable. */
#define NAME_FORMAT "%.80s"

Status json_parse(const char *name, Str text, JsonDoc **out_doc, Error *err)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    const Str given = text;
    *out_doc = NULL;
    if (text.size_bytes >= 3 && memcmp(text.data, byte_order_mark, 3) == 0)
        text = (Str){text.data + 3, text.size_bytes - 3};
    JsonDoc *doc = MEM_NEW(JsonDoc);
    if (!doc || !(doc->name = mem_strdup(name))) {
        json_destroy(doc);
        return error_set_at(err, STATUS_NO_MEMORY, name, "out of memory");
    }
    json_error_t where;
    doc->root =
        json_loadb(text.data, text.size_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!doc->root) {
        json_destroy(doc);
        if (json_error_code(&where) == json_error_out_of_memory)
            return error_set_at(err, STATUS_NO_MEMORY, name, "out of memory");
        char place[64];
        (void)snprintf(place, sizeof place, "line %d, column %d", where.line, where.column);
        Status status = error_set_place(err, STATUS_FORMAT, name, place, "%s", where.text);
        if (err) {
            err->has_offset = true;
            err->offset = (size_t)(text.data - given.data) + (size_t)where.position;
        }
        return status;
    }
    *out_doc = doc;
    return STATUS_OK;
}

uint64_t json_tree_bytes(Str text)
{
    /* Estimated sizes of jansson's values, including the allocator's overhead: an object, an array, a field or
     * element. */
    enum { OBJECT_BYTES = 320, ARRAY_BYTES = 160, ITEM_BYTES = 96 };
    uint64_t bytes = text.size_bytes; /* bytes of strings */
    bool is_in_string = false;
    for (size_t i = 0; i < text.size_bytes; ++i) {
        char c = text.data[i];
        if (c == '"')
            is_in_string = !is_in_string;
        else if (is_in_string)
            i += c == '\\';
        else if (c == '{')
            bytes += OBJECT_BYTES;
        else if (c == '[')
            bytes += ARRAY_BYTES;
        else if (c == ',' || c == ':')
            bytes += ITEM_BYTES;
    }
    return bytes;
}

/* Reads the text while skipping the range between two positions. */
typedef struct Gap {
    Str text;
    size_t begin, end, at;
} Gap;

static size_t read_around(void *buffer, size_t room, void *data)
{
    Gap *gap = data;
    if (gap->at == gap->begin)
        gap->at = gap->end;
    size_t until = gap->at < gap->begin ? gap->begin : gap->text.size_bytes;
    size_t bytes = until - gap->at < room ? until - gap->at : room;
    memcpy(buffer, gap->text.data + gap->at, bytes);
    gap->at += bytes;
    return bytes;
}

static json_t *parse_element(Str text)
{
    return json_loadb(text.data, text.size_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

/* Finds the elements and checks that each can be parsed. *out_end is the position of the ']'. */
static bool list_elements(LongArray *rest, Str text, size_t begin, size_t *out_end)
{
    uint32_t capacity = 0;
    Str element;
    *out_end = begin;
    while (json_next_element(text, out_end, &element)) {
        json_t *value = parse_element(element);
        json_decref(value);
        if (rest->count == capacity) {
            capacity = capacity ? capacity + capacity / 2 : 4096;
            Str *grown = mem_realloc(rest->elements, capacity, sizeof *grown);
            if (!grown)
                return false;
            rest->elements = grown;
        }
        if (!value)
            return false;
        rest->elements[rest->count++] = element;
    }
    return *out_end != SIZE_MAX;
}

/* Tries to parse the long array separately. Returns false if the text has to be parsed as a whole, whatever the
 * reason. */
static bool parse_long(JsonDoc *doc, Str text, const char *field)
{
    uint32_t begin, array_end;
    size_t end;
    if (text.size_bytes >= UINT32_MAX || !json_find_span(text, field, &begin, &array_end) ||
        text.data[begin] != '[' || !(doc->rest = MEM_NEW(LongArray)) ||
        !list_elements(doc->rest, text, begin, &end))
        return false;
    Gap gap = {.text = text, .begin = begin + 1, .end = end};
    doc->root = json_load_callback(read_around, &gap, JSON_REJECT_DUPLICATES, NULL);
    doc->rest->value = json_object_get(doc->root, field);
    return doc->rest->value != NULL;
}

Status json_parse_long(const char *name, Str text, const char *field, JsonDoc **out_doc, Error *err)
{
    JsonDoc *doc = MEM_NEW(JsonDoc);
    *out_doc = NULL;
    if (doc && (doc->name = mem_strdup(name)) != NULL && parse_long(doc, text, field)) {
        *out_doc = doc;
        return STATUS_OK;
    }
    json_destroy(doc);
    return json_parse(name, text, out_doc, err);
}

Status json_read_file(const char *path, size_t max_bytes, JsonDoc **out_doc, Error *err)
{
    char *data;
    size_t size_bytes;
    *out_doc = NULL;
    TRY(file_read(path, max_bytes, &data, &size_bytes, err));
    Status status = json_parse(path, (Str){data, size_bytes}, out_doc, err);
    mem_free(data);
    return status;
}

void json_destroy(JsonDoc *doc)
{
    if (!doc)
        return;
    json_decref(doc->root);
    if (doc->rest) {
        json_decref(doc->rest->current);
        mem_free(doc->rest->elements);
    }
    mem_free(doc->rest);
    mem_free(doc->name);
    mem_free(doc);
}

const char *json_doc_name(const JsonDoc *doc)
{
    return doc->name;
}

/* --- cursors and their paths --- */

static void set_cursor(JsonCursor *c, const JsonDoc *doc, const JsonCursor *parent,
                       const char *field, uint32_t index, json_t *value)
{
    c->doc = doc;
    c->parent = parent;
    c->field = field;
    c->index = index;
    c->value = value;
    c->asked_count = 0;
}

void json_root(const JsonDoc *doc, JsonCursor *out_cursor)
{
    set_cursor(out_cursor, doc, NULL, NULL, 0, doc->root);
}

Status json_root_object(const JsonDoc *doc, JsonCursor *out_cursor, Error *err)
{
    json_root(doc, out_cursor);
    return json_as_object(out_cursor, err);
}

const char *json_path(const JsonCursor *c, char out[JSON_PATH_MAX])
{
    /* From the leaf to the root, so it is written from the back of the buffer. */
    static const char ellipsis[] = "...";
    size_t at = JSON_PATH_MAX - 1;
    out[at] = '\0';
    for (; c->parent; c = c->parent) {
        char part[100];
        bool is_first = !c->parent->parent;
        if (c->field)
            (void)snprintf(part, sizeof part, "%s" NAME_FORMAT, is_first ? "" : ".", c->field);
        else
            (void)snprintf(part, sizeof part, "[%" PRIu32 "]", c->index);
        size_t length = strlen(part);
        if (length + (is_first ? 0 : sizeof ellipsis - 1) > at) {
            at -= sizeof ellipsis - 1;
            memcpy(out + at, ellipsis, sizeof ellipsis - 1);
            break;
        }
        at -= length;
        memcpy(out + at, part, length);
    }
    memmove(out, out + at, JSON_PATH_MAX - at);
    return out;
}

Status(json_fail)(const JsonCursor *c, Error *err, const char *format, ...)
{
    char path[JSON_PATH_MAX], text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set_place(err, STATUS_FORMAT, c->doc->name, json_path(c, path), "%s", text);
}

bool json_exists(const JsonCursor *c)
{
    return c->value != NULL;
}

JsonKind json_kind(const JsonCursor *c)
{
    CHECK(c->value);
    switch (json_typeof((const json_t *)c->value)) {
    case JSON_NULL:
        return JSON_KIND_NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return JSON_KIND_BOOL;
    case JSON_INTEGER:
        return JSON_KIND_INT;
    case JSON_REAL:
        return JSON_KIND_REAL;
    case JSON_STRING:
        return JSON_KIND_STRING;
    case JSON_ARRAY:
        return JSON_KIND_ARRAY;
    case JSON_OBJECT:
        return JSON_KIND_OBJECT;
    }
    UNREACHABLE();
}

static Status fail_kind(const JsonCursor *c, const char *wanted, Error *err)
{
    static const char *const kinds[] = {"null",     "true or false", "an integer", "a real number",
                                        "a string", "an array",      "an object"};
    return json_fail(c, err, "must be %s, is %s", wanted, kinds[json_kind(c)]);
}

/* --- the value under a cursor --- */

Status json_as_object(const JsonCursor *c, Error *err)
{
    return json_kind(c) == JSON_KIND_OBJECT ? STATUS_OK : fail_kind(c, "an object", err);
}

Status json_as_array(const JsonCursor *c, Error *err)
{
    return json_kind(c) == JSON_KIND_ARRAY ? STATUS_OK : fail_kind(c, "an array", err);
}

Status json_as_bool(const JsonCursor *c, bool *out_value, Error *err)
{
    if (json_kind(c) != JSON_KIND_BOOL)
        return fail_kind(c, "true or false", err);
    *out_value = json_is_true((const json_t *)c->value);
    return STATUS_OK;
}

Status json_as_int(const JsonCursor *c, int64_t min, int64_t max, int64_t *out_value, Error *err)
{
    if (json_kind(c) != JSON_KIND_INT)
        return fail_kind(c, "an integer", err);
    int64_t value = json_integer_value(c->value);
    if (value < min || value > max)
        return json_fail(c, err, "must lie in [%" PRId64 ", %" PRId64 "], is %" PRId64, min, max,
                         value);
    *out_value = value;
    return STATUS_OK;
}

Status json_as_double(const JsonCursor *c, double min, double max, double *out_value, Error *err)
{
    JsonKind kind = json_kind(c);
    if (kind != JSON_KIND_INT && kind != JSON_KIND_REAL)
        return fail_kind(c, "a number", err);
    double value = json_number_value(c->value); /* JSON knows neither NaN nor infinity */
    if (value < min || value > max) {
        if (isfinite(min) && isfinite(max))
            return json_fail(c, err, "must lie in [%.9g, %.9g], is %.9g", min, max, value);
        if (isfinite(min))
            return json_fail(c, err, "must be at least %.9g, is %.9g", min, value);
        return json_fail(c, err, "must be at most %.9g, is %.9g", max, value);
    }
    *out_value = value;
    return STATUS_OK;
}

Status json_as_float(const JsonCursor *c, double min, double max, float *out_value, Error *err)
{
    double value = 0;
    TRY(json_as_double(c, min, max, &value, err));
    if (fabs(value) > (double)FLT_MAX)
        return json_fail(c, err, "%.9g is beyond single precision", value);
    *out_value = (float)value;
    return STATUS_OK;
}

Status json_as_floats(const JsonCursor *c, double min, double max, uint32_t count,
                      float *out_values, Error *err)
{
    if (json_kind(c) != JSON_KIND_ARRAY)
        return fail_kind(c, "an array of numbers", err);
    if (json_count(c) != count)
        return json_fail(c, err, "must have %" PRIu32 " numbers, has %" PRIu32, count,
                         json_count(c));
    for (uint32_t i = 0; i < count; ++i) {
        JsonCursor element;
        json_at(c, i, &element);
        TRY(json_as_float(&element, min, max, &out_values[i], err));
    }
    return STATUS_OK;
}

Status json_as_string(const JsonCursor *c, const char **out_text, Error *err)
{
    if (json_kind(c) != JSON_KIND_STRING)
        return fail_kind(c, "a string", err);
    *out_text = json_string_value(c->value);
    return STATUS_OK;
}

/* --- fields --- */

static void remember(JsonCursor *object, const char *field)
{
    for (uint32_t i = 0; i < object->asked_count; ++i)
        if (strcmp(object->asked[i], field) == 0)
            return;
    CHECK(object->asked_count < JSON_FIELDS_MAX);
    object->asked[object->asked_count++] = field;
}

/* Returns the name in the object that is most similar to `field`, which is absent. */
static const char *misspelling_of(json_t *object, const char *field)
{
    for (void *iter = json_object_iter(object); iter; iter = json_object_iter_next(object, iter)) {
        const char *name = json_object_iter_key(iter);
        if (suggest_nearest(name, &field, 1))
            return name;
    }
    return NULL;
}

Status json_get_any(JsonCursor *object, const char *field, JsonNeed need, JsonCursor *out_value,
                    Error *err)
{
    CHECK(json_kind(object) == JSON_KIND_OBJECT);
    remember(object, field);
    json_t *value = json_object_get(object->value, field);
    set_cursor(out_value, object->doc, object, field, 0, value);
    if (value || need == JSON_OPTIONAL)
        return STATUS_OK;
    const char *name = misspelling_of(object->value, field);
    if (name)
        return json_fail(object, err, "field '%s' is missing; is '" NAME_FORMAT "' meant?", field,
                         name);
    return json_fail(object, err, "field '%s' is missing", field);
}

/* Looks up the field, and reads it with the given call if it exists. */
#define GET(object, field, need, cursor, read)                                                     \
    do {                                                                                           \
        TRY(json_get_any((object), (field), (need), (cursor), err));                               \
        return json_exists(cursor) ? (read) : STATUS_OK;                                           \
    } while (0)

Status json_get_object(JsonCursor *object, const char *field, JsonNeed need, JsonCursor *out_object,
                       Error *err)
{
    GET(object, field, need, out_object, json_as_object(out_object, err));
}

Status json_get_array(JsonCursor *object, const char *field, JsonNeed need, JsonCursor *out_array,
                      Error *err)
{
    GET(object, field, need, out_array, json_as_array(out_array, err));
}

Status json_get_bool(JsonCursor *object, const char *field, JsonNeed need, bool *out_value,
                     Error *err)
{
    JsonCursor c;
    GET(object, field, need, &c, json_as_bool(&c, out_value, err));
}

Status json_get_int(JsonCursor *object, const char *field, JsonNeed need, int64_t min, int64_t max,
                    int64_t *out_value, Error *err)
{
    JsonCursor c;
    GET(object, field, need, &c, json_as_int(&c, min, max, out_value, err));
}

Status json_get_u32(JsonCursor *object, const char *field, JsonNeed need, uint32_t min,
                    uint32_t max, uint32_t *out_value, Error *err)
{
    JsonCursor c;
    int64_t value = 0;
    TRY(json_get_any(object, field, need, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    TRY(json_as_int(&c, min, max, &value, err));
    *out_value = (uint32_t)value;
    return STATUS_OK;
}

Status json_get_float(JsonCursor *object, const char *field, JsonNeed need, double min, double max,
                      float *out_value, Error *err)
{
    JsonCursor c;
    GET(object, field, need, &c, json_as_float(&c, min, max, out_value, err));
}

Status json_get_double(JsonCursor *object, const char *field, JsonNeed need, double min, double max,
                       double *out_value, Error *err)
{
    JsonCursor c;
    GET(object, field, need, &c, json_as_double(&c, min, max, out_value, err));
}

Status json_get_floats(JsonCursor *object, const char *field, JsonNeed need, double min, double max,
                       uint32_t count, float *out_values, Error *err)
{
    JsonCursor c;
    GET(object, field, need, &c, json_as_floats(&c, min, max, count, out_values, err));
}

Status json_get_string(JsonCursor *object, const char *field, JsonNeed need, const char **out_text,
                       Error *err)
{
    JsonCursor c;
    GET(object, field, need, &c, json_as_string(&c, out_text, err));
}

Status json_get_choice(JsonCursor *object, const char *field, JsonNeed need,
                       const char *const *names, uint32_t name_count, uint32_t *out_index,
                       Error *err)
{
    JsonCursor c;
    const char *text = "";
    TRY(json_get_any(object, field, need, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    TRY(json_as_string(&c, &text, err));
    for (uint32_t i = 0; i < name_count; ++i)
        if (strcmp(text, names[i]) == 0) {
            *out_index = i;
            return STATUS_OK;
        }
    const char *nearest = suggest_nearest(text, names, name_count);
    if (nearest)
        return json_fail(&c, err, "unknown value '" NAME_FORMAT "'; did you mean '%s'?", text,
                         nearest);
    StrBuf list = {0};
    for (uint32_t i = 0; i < name_count; ++i)
        strbuf_printf(&list, "%s'%s'", i ? ", " : "", names[i]);
    Status status = json_fail(&c, err, "unknown value '" NAME_FORMAT "'; it must be one of %s",
                              text, strbuf_text(&list));
    strbuf_free(&list);
    return status;
}

Status json_finish(const JsonCursor *object, Error *err)
{
    json_t *value = object->value;
    CHECK(json_kind(object) == JSON_KIND_OBJECT);
    for (void *iter = json_object_iter(value); iter; iter = json_object_iter_next(value, iter)) {
        const char *name = json_object_iter_key(iter);
        bool is_known = false;
        for (uint32_t i = 0; i < object->asked_count && !is_known; ++i)
            is_known = strcmp(object->asked[i], name) == 0;
        if (is_known)
            continue;
        const char *nearest = suggest_nearest(name, object->asked, object->asked_count);
        if (nearest)
            return json_fail(object, err, "unknown field '" NAME_FORMAT "'; did you mean '%s'?",
                             name, nearest);
        return json_fail(object, err, "unknown field '" NAME_FORMAT "'", name);
    }
    return STATUS_OK;
}

/* --- arrays, objects as maps --- */

uint32_t json_count(const JsonCursor *array)
{
    CHECK(json_kind(array) == JSON_KIND_ARRAY);
    const LongArray *rest = array->doc->rest;
    size_t count =
        rest && array->value == rest->value ? rest->count : json_array_size(array->value);
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

void json_at(const JsonCursor *array, uint32_t index, JsonCursor *out_element)
{
    CHECK(index < json_count(array));
    LongArray *rest = array->doc->rest;
    json_t *value;
    if (rest && array->value == rest->value) {
        json_decref(rest->current);
        rest->current = parse_element(rest->elements[index]);
        /* parsing can fail only for lack of memory */
        value = rest->current ? rest->current : json_null();
    } else {
        value = json_array_get(array->value, index);
    }
    set_cursor(out_element, array->doc, array, NULL, index, value);
}

bool json_next(const JsonCursor *object, JsonIter *iter, const char **out_name,
               JsonCursor *out_value)
{
    CHECK(json_kind(object) == JSON_KIND_OBJECT);
    iter->position = iter->has_begun ? json_object_iter_next(object->value, iter->position)
                                     : json_object_iter(object->value);
    iter->has_begun = true;
    if (!iter->position)
        return false;
    *out_name = json_object_iter_key(iter->position);
    set_cursor(out_value, object->doc, object, *out_name, 0,
               json_object_iter_value(iter->position));
    return true;
}
