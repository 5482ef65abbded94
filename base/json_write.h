/* Writing JSON into a StrBuf: statistics, progress lines, reports. Commas, indentation and escapes
 * are taken care of; nesting mistakes are programmer errors and assert.
 *
 *   JsonWriter w = json_writer(&text, JSON_INDENTED);
 *   json_write_object(&w, NULL);
 *   json_write_u64(&w, "samples", 64);
 *   json_write_end(&w);                       // {"samples": 64}
 *
 * `name` is the field name inside an object, NULL inside an array and for the outermost value.
 * Out of memory: StrBuf.failed says so at the end. */
#ifndef SORT_BASE_JSON_WRITE_H
#define SORT_BASE_JSON_WRITE_H

#include "base/str.h"

enum { JSON_WRITE_DEPTH_MAX = 32 };

typedef enum JsonLayout {
    JSON_INDENTED, /* two spaces, one field a line */
    JSON_ONE_LINE  /* no line breaks: one record a line */
} JsonLayout;

typedef struct JsonWriter {
    StrBuf *out; /* borrowed */
    JsonLayout layout;
    uint32_t depth;
    bool is_array[JSON_WRITE_DEPTH_MAX];
    bool has_items[JSON_WRITE_DEPTH_MAX];
} JsonWriter;

JsonWriter json_writer(StrBuf *out, JsonLayout layout);
void json_write_object(JsonWriter *w, const char *name);
void json_write_array(JsonWriter *w, const char *name);
void json_write_end(JsonWriter *w); /* closes the innermost object or array */
void json_write_string(JsonWriter *w, const char *name, const char *text);
void json_write_bool(JsonWriter *w, const char *name, bool value);
void json_write_i64(JsonWriter *w, const char *name, int64_t value);
void json_write_u64(JsonWriter *w, const char *name, uint64_t value);
/* Writes the shortest digits that read back as the same value; NaN and infinities become null. */
void json_write_double(JsonWriter *w, const char *name, double value);
void json_write_float(JsonWriter *w, const char *name, float value);
/* Writes an array of such numbers. */
void json_write_floats(JsonWriter *w, const char *name, const float *values, uint32_t count);
void json_write_null(JsonWriter *w, const char *name);

#endif
