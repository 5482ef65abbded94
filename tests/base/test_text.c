/* str, error, log, json_write: what reaches a reader. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_str_compares(void **state)
{
    SORT_UNUSED(state);
    assert_true(str_equal(str_from("abc"), STR_LIT("abc")));
    assert_false(str_equal(str_from("abc"), STR_LIT("abd")));
    assert_true(str_equal_c(str_from(NULL), ""));
    assert_true(str_ends_with(STR_LIT("a.ssl"), STR_LIT(".ssl")));
    assert_false(str_ends_with(STR_LIT("ssl"), STR_LIT(".ssl")));
}

static void test_str_knows_utf8(void **state)
{
    SORT_UNUSED(state);
    assert_true(str_is_utf8(STR_LIT("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x8e\xa8")));
    assert_false(str_is_utf8(STR_LIT("\xc0\x80")));         /* overlong */
    assert_false(str_is_utf8(STR_LIT("\xe0\x80\x80")));     /* overlong */
    assert_false(str_is_utf8(STR_LIT("\xed\xa0\x80")));     /* surrogate */
    assert_false(str_is_utf8(STR_LIT("\xf4\x90\x80\x80"))); /* beyond U+10FFFF */
    assert_false(str_is_utf8(STR_LIT("\xe2\x82")));         /* cut off */
    assert_false(str_is_utf8(STR_LIT("\x80")));
    assert_int_equal(str_utf8_length(STR_LIT("a\xe2\x82\xac"), 1), 3);
}

static void test_str_knows_identifiers(void **state)
{
    SORT_UNUSED(state);
    static const char *const good[] = {"a", "_", "Z9", "gltf_pbr"};
    static const char *const bad[] = {"", "7a", "a b", "a.b", "a-b", "na\xc3\xafve"};
    for (size_t i = 0; i < SORT_COUNT_OF(good); ++i)
        assert_true(str_is_identifier(good[i]));
    for (size_t i = 0; i < SORT_COUNT_OF(bad); ++i)
        assert_false(str_is_identifier(bad[i]));
}

/* Nothing that drives a terminal, turns a line around or begins a new one. */
static void test_str_shows_without_harm(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"na\xc3\xafve \xe2\x82\xac \\", "na\xc3\xafve \xe2\x82\xac \\"},
        {"\x1b[31mred\x1b[0m\a", "\\x1b[31mred\\x1b[0m\\x07"},
        {"one\nerror: two\r\t\x7f", "one\\nerror: two\\x0d\\t\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"}, /* CSI as one character */
        {"\xe2\x80\xae"
         "gnp",
         "\\xe2\\x80\\xaegnp"}, /* right to left from here on */
        {"\xe2\x81\xa6"
         "a",
         "\\xe2\\x81\\xa6"
         "a"},
        {"\xff\xfe"
         "a\xe2\x82",
         "\\xff\\xfe"
         "a\\xe2\\x82"}, /* no UTF-8 */
    };
    char out[128];
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        StrBuf b = {0};
        assert_string_equal(str_printable(str_from(rows[i].text), out, sizeof out), rows[i].shown);
        strbuf_append_printable(&b, str_from(rows[i].text));
        assert_string_equal(strbuf_text(&b), rows[i].shown);
        strbuf_free(&b);
    }
    for (size_t room = 1; room < 12; ++room) { /* never a part of an escape */
        str_printable(STR_LIT("ab\x1b\xe2\x82\xac"), out, room);
        assert_true(strlen(out) < room);
        assert_true(strlen(out) <= 2 || strlen(out) == 6 || strlen(out) == 9);
    }
    Error err = {0};
    error_set_at(&err, STATUS_FORMAT, "a\nb.json", "unknown field '%s'", "\x1b]0;x\a");
    assert_string_equal(error_format(&err, out, sizeof out),
                        "a\\nb.json: unknown field '\\x1b]0;x\\x07'");
}

static void test_strbuf_grows(void **state)
{
    SORT_UNUSED(state);
    StrBuf b = {0};
    assert_string_equal(strbuf_text(&b), "");
    for (int i = 0; i < 1000; ++i)
        strbuf_printf(&b, "%d,", i);
    assert_false(b.failed);
    assert_int_equal(b.size_bytes, 10 * 2 + 90 * 3 + 900 * 4);
    assert_memory_equal(b.data + b.size_bytes - 8, "998,999,", 9);
    strbuf_clear(&b);
    strbuf_append(&b, (Str){"xyz", 2});
    strbuf_append_char(&b, '!');
    assert_string_equal(strbuf_text(&b), "xy!");
    strbuf_free(&b);

    mem_fail_nth(1);
    strbuf_append_c(&b, "lost");
    mem_fail_nth(0);
    strbuf_append_c(&b, "also lost");
    assert_true(b.failed);
    assert_string_equal(strbuf_text(&b), "");
    strbuf_free(&b);
}

static void test_suggest_finds_misspellings(void **state)
{
    SORT_UNUSED(state);
    static const char *const names[] = {"roughness", "metallic", "base_color", "ior", "coat"};
    enum { COUNT = SORT_COUNT_OF(names) };
    assert_string_equal(suggest_nearest("roughnes", names, COUNT), "roughness");
    assert_string_equal(suggest_nearest("ruoghness", names, COUNT), "roughness"); /* swapped */
    assert_string_equal(suggest_nearest("basecolor", names, COUNT), "base_color");
    assert_string_equal(suggest_nearest("oir", names, COUNT), "ior");
    assert_string_equal(suggest_nearest("coat", names, COUNT), "coat");
    assert_null(suggest_nearest("emission", names, COUNT));
    assert_null(suggest_nearest("x", names, COUNT));
    assert_null(suggest_nearest("", names, COUNT));
    assert_null(suggest_nearest("roughness", names, 0));
    char huge[4000];
    memset(huge, 'a', sizeof huge);
    huge[sizeof huge - 1] = '\0';
    assert_null(suggest_nearest(huge, names, COUNT));
}

static void test_error_formats(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    char out[2000];
    assert_int_equal(error_set_offset(&err, STATUS_FORMAT, "a.stex", 123, "bad %s", "tile"),
                     STATUS_FORMAT);
    assert_string_equal(error_format(&err, out, sizeof out), "a.stex (byte 123): bad tile");
    assert_int_equal(error_prefix(&err, "texture '%s'", "wood"), STATUS_FORMAT);
    assert_string_equal(error_format(&err, out, sizeof out),
                        "a.stex (byte 123): texture 'wood': bad tile");
    assert_int_equal(error_set_at(&err, STATUS_IO, "b", "no"), STATUS_IO);
    assert_string_equal(error_format(&err, out, sizeof out), "b: no");
    assert_int_equal(error_set_place(&err, STATUS_FORMAT, "s", "cameras[0]", "no %d", 3),
                     STATUS_FORMAT);
    assert_string_equal(error_format(&err, out, sizeof out), "s: cameras[0]: no 3");
    assert_string_equal(err.text + err.place_bytes, "no 3");
    assert_int_equal(error_prefix(&err, "scene"), STATUS_FORMAT);
    assert_int_equal(err.place_bytes, 0);
    assert_int_equal(error_set_place(&err, STATUS_FORMAT, "s", "", "no"), STATUS_FORMAT);
    assert_string_equal(error_format(&err, out, sizeof out), "s: no");
    assert_int_equal(error_set(&err, STATUS_LIMIT, "%d is too many", 9), STATUS_LIMIT);
    assert_string_equal(error_format(&err, out, sizeof out), "9 is too many");
    assert_string_equal(error_format(&err, out, 4), "9 i");
    assert_int_equal(error_set(NULL, STATUS_IO, "nobody listens"), STATUS_IO);
    for (Status code = STATUS_OK; code <= STATUS_INTERNAL; ++code)
        assert_string_not_equal(status_name(code), "unknown");
}

static void test_error_within_keeps_the_other_file(void **state)
{
    (void)state;
    Error err;
    (void)error_set(&err, STATUS_LIMIT, "too large");
    assert_int_equal(error_within(&err, "scene.json"), STATUS_LIMIT);
    assert_string_equal(err.path, "scene.json");
    assert_int_equal(error_within(&err, "scene.json"), STATUS_LIMIT);
    assert_string_equal(err.text, "too large");
    (void)error_set_at(&err, STATUS_IO, "/tmp", "no space");
    assert_int_equal(error_within(&err, "scene.json"), STATUS_IO);
    assert_string_equal(err.path, "scene.json");
    assert_string_equal(err.text, "/tmp: no space");
    assert_int_equal(error_within(NULL, "scene.json"), STATUS_INTERNAL);
}

static void test_error_cuts_between_characters(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    char text[ERROR_TEXT_MAX + 100];
    for (size_t lead = 0; lead < 3; ++lead) {
        memset(text, 'x', lead);
        for (size_t i = lead; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4); /* 3 bytes each */
        (void)error_set(&err, STATUS_FORMAT, "%s", text);
        assert_true(str_is_utf8(str_from(err.text)));
        assert_in_range(strlen(err.text), ERROR_TEXT_MAX - 4, ERROR_TEXT_MAX - 1);
    }
}

static void collect(void *data, LogLevel level, const char *text)
{
    strbuf_printf(data, "%s|%s;", log_level_name(level), text);
}

static void test_log_drops_below_its_level(void **state)
{
    SORT_UNUSED(state);
    StrBuf text = {0};
    Log log = {.level = LOG_LEVEL_INFO, .write = collect, .data = &text};
    log_error(&log, "e%d", 1);
    log_warning(&log, "w");
    log_info(&log, "i");
    log_debug(&log, "d");
    log_message(&log, LOG_LEVEL_INFO, "%s", "m");
    log_error(NULL, "silent");
    assert_string_equal(strbuf_text(&text), "error|e1;warning|w;info|i;info|m;");
    assert_true(log_wants(&log, LOG_LEVEL_INFO));
    assert_false(log_wants(&log, LOG_LEVEL_DEBUG));
    strbuf_free(&text);

    FILE *stream = tmpfile();
    log_to_stream(stream, LOG_LEVEL_WARNING, "hot");
    log_to_stream(stream, LOG_LEVEL_INFO, "plain");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_SET), 0);
    char line[100] = {0};
    (void)!fread(line, 1, sizeof line - 1, stream);
    (void)fclose(stream);
    assert_string_equal(line, "warning: hot\nplain\n");
}

static void test_json_write_layouts(void **state)
{
    SORT_UNUSED(state);
    StrBuf text = {0};
    JsonWriter w = json_writer(&text, JSON_INDENTED);
    json_write_object(&w, NULL);
    json_write_string(&w, "name", "a \"b\"\n\x01 \xe2\x82\xac \xff");
    json_write_array(&w, "sizes");
    json_write_u64(&w, NULL, UINT64_MAX);
    json_write_i64(&w, NULL, INT64_MIN);
    json_write_end(&w);
    json_write_array(&w, "empty");
    json_write_end(&w);
    json_write_bool(&w, "fine", true);
    json_write_null(&w, "nothing");
    json_write_end(&w);
    assert_string_equal(strbuf_text(&text), "{\n"
                                            "  \"name\": \"a \\\"b\\\"\\n\\u0001 \xe2\x82\xac "
                                            "\\ufffd\",\n"
                                            "  \"sizes\": [\n"
                                            "    18446744073709551615,\n"
                                            "    -9223372036854775808\n"
                                            "  ],\n"
                                            "  \"empty\": [],\n"
                                            "  \"fine\": true,\n"
                                            "  \"nothing\": null\n"
                                            "}\n");
    strbuf_clear(&text);
    w = json_writer(&text, JSON_ONE_LINE);
    json_write_object(&w, NULL);
    json_write_double(&w, "a", 0.1);
    json_write_float(&w, "b", 0.1f);
    json_write_double(&w, "c", (double)NAN);
    json_write_double(&w, "d", 1.0 / 3.0);
    json_write_float(&w, "e", FLT_MAX);
    json_write_end(&w);
    assert_string_equal(strbuf_text(&text), "{\"a\": 0.1, \"b\": 0.1, \"c\": null, "
                                            "\"d\": 0.3333333333333333, \"e\": 3.4028235e+38}");
    strbuf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str_compares),
        cmocka_unit_test(test_str_knows_utf8),
        cmocka_unit_test(test_str_knows_identifiers),
        cmocka_unit_test(test_str_shows_without_harm),
        cmocka_unit_test(test_strbuf_grows),
        cmocka_unit_test(test_suggest_finds_misspellings),
        cmocka_unit_test(test_error_formats),
        cmocka_unit_test(test_error_within_keeps_the_other_file),
        cmocka_unit_test(test_error_cuts_between_characters),
        cmocka_unit_test(test_log_drops_below_its_level),
        cmocka_unit_test(test_json_write_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
