#include "base/json_write.h"
#include "base/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

JsonWriter json_writer(StrBuf *out, JsonLayout layout)
{
    return (JsonWriter){.out = out, .layout = layout};
}

static void write_quoted(StrBuf *out, const char *text)
{
    Str s = str_from(text);
    strbuf_append_char(out, '"');
    for (size_t i = 0; i < s.size_bytes;) {
        uint32_t length = str_utf8_length(s, i);
        unsigned char c = (unsigned char)s.data[i];
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if (c == '\n')
            strbuf_append_c(out, "\\n");
        else if (c == '\t')
            strbuf_append_c(out, "\\t");
        else if (c < 0x20)
            strbuf_printf(out, "\\u%04x", (unsigned)c);
        else if (length == 0) /* invalid UTF-8 becomes the replacement character */
            strbuf_append_c(out, "\\ufffd");
        else
            strbuf_append(out, (Str){s.data + i, length});
        i += length ? length : 1;
    }
    strbuf_append_char(out, '"');
}

static void new_line(JsonWriter *w)
{
    if (w->layout == JSON_ONE_LINE)
        return;
    strbuf_append_char(w->out, '\n');
    for (uint32_t i = 0; i < w->depth; ++i)
        strbuf_append_c(w->out, "  ");
}

/* Writes comma, line break and name before a value. */
static void begin_value(JsonWriter *w, const char *name)
{
    if (w->depth == 0) {
        ASSERT(!name);
        return;
    }
    uint32_t level = w->depth - 1;
    ASSERT(w->is_array[level] == !name);
    if (w->has_items[level])
        strbuf_append_c(w->out, w->layout == JSON_ONE_LINE ? ", " : ",");
    w->has_items[level] = true;
    new_line(w);
    if (name) {
        write_quoted(w->out, name);
        strbuf_append_c(w->out, ": ");
    }
}

static void open_level(JsonWriter *w, const char *name, bool is_array)
{
    CHECK(w->depth < JSON_WRITE_DEPTH_MAX);
    begin_value(w, name);
    strbuf_append_char(w->out, is_array ? '[' : '{');
    w->is_array[w->depth] = is_array;
    w->has_items[w->depth] = false;
    ++w->depth;
}

void json_write_object(JsonWriter *w, const char *name)
{
    open_level(w, name, false);
}

void json_write_array(JsonWriter *w, const char *name)
{
    open_level(w, name, true);
}

void json_write_end(JsonWriter *w)
{
    CHECK(w->depth > 0);
    --w->depth;
    if (w->has_items[w->depth])
        new_line(w);
    strbuf_append_char(w->out, w->is_array[w->depth] ? ']' : '}');
    if (w->depth == 0 && w->layout == JSON_INDENTED)
        strbuf_append_char(w->out, '\n');
}

void json_write_string(JsonWriter *w, const char *name, const char *text)
{
    begin_value(w, name);
    write_quoted(w->out, text);
}

void json_write_bool(JsonWriter *w, const char *name, bool value)
{
    begin_value(w, name);
    strbuf_append_c(w->out, value ? "true" : "false");
}

void json_write_i64(JsonWriter *w, const char *name, int64_t value)
{
    begin_value(w, name);
    strbuf_printf(w->out, "%" PRId64, value);
}

void json_write_u64(JsonWriter *w, const char *name, uint64_t value)
{
    begin_value(w, name);
    strbuf_printf(w->out, "%" PRIu64, value);
}

void json_write_null(JsonWriter *w, const char *name)
{
    begin_value(w, name);
    strbuf_append_c(w->out, "null");
}

/* Writes the fewest digits, from `least` up, that read back as the same value. */
static void write_number(JsonWriter *w, const char *name, double value, int least, bool is_float)
{
    if (!isfinite(value)) {
        json_write_null(w, name);
        return;
    }
    begin_value(w, name);
    char text[40];
    for (int digits = least;; ++digits) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        bool is_same = is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
        if (is_same || digits >= 17)
            break;
    }
    strbuf_append_c(w->out, text);
}

void json_write_double(JsonWriter *w, const char *name, double value)
{
    write_number(w, name, value, 15, false);
}

void json_write_float(JsonWriter *w, const char *name, float value)
{
    write_number(w, name, (double)value, 6, true);
}

void json_write_floats(JsonWriter *w, const char *name, const float *values, uint32_t count)
{
    json_write_array(w, name);
    for (uint32_t i = 0; i < count; ++i)
        json_write_float(w, NULL, values[i]);
    json_write_end(w);
}
