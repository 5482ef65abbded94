/* Strict reading of JSON (UTF-8, no duplicate keys, nothing after the value), for content that
 * people write by hand and mistype. A cursor stands on one value and knows its field path, so every
 * refusal names the place:
 *
 *   scene.json: line 12, column 7: '}' expected near '"shader"'
 *   scene.json: materials[3].parameters.roughness: must lie in [0, 1], is 1.5
 *   scene.json: camera: unknown field 'focal_lenght'; did you mean 'focal_length'?
 *
 * The usual shape:
 *
 *   JsonCursor root, camera;
 *   TRY(json_root_object(doc, &root, err));
 *   TRY(json_get_object(&root, "camera", JSON_REQUIRED, &camera, err));
 *   float fov_deg = 40;                                         // stays when the field is absent
 *   TRY(json_get_float(&camera, "fov_deg", JSON_OPTIONAL, 1, 179, &fov_deg, err));
 *   TRY(json_finish(&camera, err));                             // refuses fields nobody asked for
 *
 * A cursor is a plain value on the caller's stack that points at its parent: the parent must stay
 * where it is while the child is used. Everything a cursor yields is borrowed from the document.
 * Thread rule: a document may be read from several threads, a cursor from one. */
#ifndef SORT_BASE_JSON_H
#define SORT_BASE_JSON_H

#include "base/error.h"
#include "base/str.h"

typedef struct JsonDoc JsonDoc;

/* Fields that one object may be asked for; past it json_finish could not tell known from
 * unknown. */
enum { JSON_FIELDS_MAX = 64, JSON_PATH_MAX = 256 };

typedef struct JsonCursor {
    const JsonDoc *doc;
    const struct JsonCursor *parent; /* NULL at the root */
    const char *field;               /* name in the parent, or NULL: `index` counts */
    uint32_t index;
    void *value; /* NULL: an optional field that is not there */
    /* Names asked for so far (borrowed: string literals), for json_finish. */
    const char *asked[JSON_FIELDS_MAX];
    uint32_t asked_count;
} JsonCursor;

typedef enum JsonKind {
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_INT,
    JSON_KIND_REAL,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT
} JsonKind;

typedef enum JsonNeed { JSON_REQUIRED, JSON_OPTIONAL } JsonNeed;

/* Parses a text. `name`, which is copied, is the path in messages. On success *out_doc is owned by the caller
 * (json_destroy). Errors: STATUS_FORMAT with line, column and offset, STATUS_NO_MEMORY. */
Status json_parse(const char *name, Str text, JsonDoc **out_doc, Error *err) SORT_MUST_CHECK;
/* Parses a text with one long array, a field of the outermost object, on demand: json_at parses an element,
 * which is released, with everything borrowed from it, by the next such call. A tree of millions of elements
 * would take ten times the text's memory. `text` must outlive the document, and only one thread may read it.
 * Errors: as json_parse. */
Status json_parse_long(const char *name, Str text, const char *field, JsonDoc **out_doc,
                       Error *err) SORT_MUST_CHECK;
/* Returns an upper bound, in bytes, of the memory of a text's tree, without parsing it. */
uint64_t json_tree_bytes(Str text);
/* Reads and parses a file of at most max_bytes; a longer file is STATUS_LIMIT. */
Status json_read_file(const char *path, size_t max_bytes, JsonDoc **out_doc,
                      Error *err) SORT_MUST_CHECK;
void json_destroy(JsonDoc *doc); /* NULL is fine */

/* Sets a cursor to the outermost value; the second form refuses anything but an object. */
void json_root(const JsonDoc *doc, JsonCursor *out_cursor);
Status json_root_object(const JsonDoc *doc, JsonCursor *out_cursor, Error *err) SORT_MUST_CHECK;

/* Returns true unless an optional field was absent. */
bool json_exists(const JsonCursor *c);
JsonKind json_kind(const JsonCursor *c);

/* Fields of an object. The common rules: a missing JSON_REQUIRED field is STATUS_FORMAT, and so is
 * a value of the wrong type or out of range; when a JSON_OPTIONAL field is absent the output stays
 * as it was (for cursors: json_exists is false). `null` is not a missing field. Ranges are
 * inclusive; an integer is accepted where a real is asked for, never the other way round. */
Status json_get_object(JsonCursor *object, const char *field, JsonNeed need, JsonCursor *out_object,
                       Error *err) SORT_MUST_CHECK;
Status json_get_array(JsonCursor *object, const char *field, JsonNeed need, JsonCursor *out_array,
                      Error *err) SORT_MUST_CHECK;
/* Gets a value of any kind. */
Status json_get_any(JsonCursor *object, const char *field, JsonNeed need, JsonCursor *out_value,
                    Error *err) SORT_MUST_CHECK;
Status json_get_bool(JsonCursor *object, const char *field, JsonNeed need, bool *out_value,
                     Error *err) SORT_MUST_CHECK;
Status json_get_int(JsonCursor *object, const char *field, JsonNeed need, int64_t min, int64_t max,
                    int64_t *out_value, Error *err) SORT_MUST_CHECK;
Status json_get_u32(JsonCursor *object, const char *field, JsonNeed need, uint32_t min,
                    uint32_t max, uint32_t *out_value, Error *err) SORT_MUST_CHECK;
/* min and max may be infinite (-HUGE_VAL, HUGE_VAL); the value is always finite, and representable as a float. */
Status json_get_float(JsonCursor *object, const char *field, JsonNeed need, double min, double max,
                      float *out_value, Error *err) SORT_MUST_CHECK;
Status json_get_double(JsonCursor *object, const char *field, JsonNeed need, double min, double max,
                       double *out_value, Error *err) SORT_MUST_CHECK;
/* Gets an array of exactly `count` numbers, each in [min, max]: colours, points, matrices. */
Status json_get_floats(JsonCursor *object, const char *field, JsonNeed need, double min, double max,
                       uint32_t count, float *out_values, Error *err) SORT_MUST_CHECK;
/* Gets a NUL-terminated string without inner NULs, borrowed from the document. */
Status json_get_string(JsonCursor *object, const char *field, JsonNeed need, const char **out_text,
                       Error *err) SORT_MUST_CHECK;
/* Gets a string that must be one of `names`, as its index. */
Status json_get_choice(JsonCursor *object, const char *field, JsonNeed need,
                       const char *const *names, uint32_t name_count, uint32_t *out_index,
                       Error *err) SORT_MUST_CHECK;
/* Refuses fields that were never asked for, with a suggestion from those that were. */
Status json_finish(const JsonCursor *object, Error *err) SORT_MUST_CHECK;

/* Array elements. json_at: index < json_count, else a programmer error. */
uint32_t json_count(const JsonCursor *array);
void json_at(const JsonCursor *array, uint32_t index, JsonCursor *out_element);
/* Objects whose field names are data: visits all fields in file order; false at the end. Start with
 * a zeroed JsonIter. Do not call json_finish on such an object. */
typedef struct JsonIter {
    void *position;
    bool has_begun;
} JsonIter;
bool json_next(const JsonCursor *object, JsonIter *iter, const char **out_name,
               JsonCursor *out_value);

/* The value under the cursor itself: for array elements, and for values from json_get_any. */
Status json_as_object(const JsonCursor *c, Error *err) SORT_MUST_CHECK;
Status json_as_array(const JsonCursor *c, Error *err) SORT_MUST_CHECK;
Status json_as_bool(const JsonCursor *c, bool *out_value, Error *err) SORT_MUST_CHECK;
Status json_as_int(const JsonCursor *c, int64_t min, int64_t max, int64_t *out_value,
                   Error *err) SORT_MUST_CHECK;
Status json_as_float(const JsonCursor *c, double min, double max, float *out_value,
                     Error *err) SORT_MUST_CHECK;
Status json_as_double(const JsonCursor *c, double min, double max, double *out_value,
                      Error *err) SORT_MUST_CHECK;
Status json_as_floats(const JsonCursor *c, double min, double max, uint32_t count,
                      float *out_values, Error *err) SORT_MUST_CHECK;
Status json_as_string(const JsonCursor *c, const char **out_text, Error *err) SORT_MUST_CHECK;

/* Reports an error of the caller's, prefixed by file and field path. Returns STATUS_FORMAT, so that `return
 * json_fail(&c, err, "...")` works. */
Status json_fail(const JsonCursor *c, Error *err, const char *format, ...) SORT_PRINTF(3, 4);
#define json_fail(...) error_failed(json_fail(__VA_ARGS__)) /* as error_set */
/* Writes the cursor's path: "materials[3].parameters.roughness"; "" at the root; cut at the front ("...") if it
 * is too long. Returns `out`. */
const char *json_path(const JsonCursor *c, char out[JSON_PATH_MAX]);
const char *json_doc_name(const JsonDoc *doc);

#endif
