/* Reading: values, and the exact words of every refusal. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static JsonDoc *parse(const char *text)
{
    JsonDoc *doc;
    Error err = {0};
    Status status = json_parse("scene.json", str_from(text), &doc, &err);
    if (status != STATUS_OK)
        fail_msg("%s", err.text);
    return doc;
}

static void check_text(const Error *err, const char *expected)
{
    char out[2000];
    assert_string_equal(error_format(err, out, sizeof out), expected);
}

static void check_syntax(const char *text, const char *expected)
{
    JsonDoc *doc;
    Error err = {0};
    assert_int_equal(json_parse("scene.json", str_from(text), &doc, &err), STATUS_FORMAT);
    assert_null(doc);
    check_text(&err, expected);
}

static const char sample[] =
    "{\n"
    "  \"version\": 3, \"scale\": 2, \"name\": \"caf\xc3\xa9\", \"fast\": true, \"none\": null,\n"
    "  \"color\": [0.25, 1, 0.5],\n"
    "  \"materials\": [\n"
    "    {\"kind\": \"glass\", \"parameters\": {\"roughness\": 0.5}},\n"
    "    {\"kind\": \"metal\", \"parameters\": {\"roughness\": 1.5, \"roughnes\": 1}}\n"
    "  ]\n"
    "}\n";

static void test_json_reads_values(void **state)
{
    SORT_UNUSED(state);
    JsonDoc *doc = parse(sample);
    JsonCursor root, array, material, parameters, none;
    Error err = {0};
    assert_int_equal(json_root_object(doc, &root, &err), STATUS_OK);
    uint32_t version = 0;
    int64_t integer = 0;
    float scale = 0, color[3], absent = 7;
    double real = 0;
    const char *name = NULL;
    bool is_fast = false;
    assert_int_equal(json_get_u32(&root, "version", JSON_REQUIRED, 1, 3, &version, &err),
                     STATUS_OK);
    assert_int_equal(json_get_int(&root, "version", JSON_REQUIRED, 0, 9, &integer, &err),
                     STATUS_OK);
    assert_int_equal(json_get_float(&root, "scale", JSON_REQUIRED, 0, 9, &scale, &err), STATUS_OK);
    assert_int_equal(
        json_get_double(&root, "scale", JSON_OPTIONAL, -HUGE_VAL, HUGE_VAL, &real, &err),
        STATUS_OK);
    assert_int_equal(json_get_string(&root, "name", JSON_REQUIRED, &name, &err), STATUS_OK);
    assert_int_equal(json_get_bool(&root, "fast", JSON_REQUIRED, &is_fast, &err), STATUS_OK);
    assert_int_equal(json_get_floats(&root, "color", JSON_REQUIRED, 0, 1, 3, color, &err),
                     STATUS_OK);
    assert_int_equal(json_get_float(&root, "gone", JSON_OPTIONAL, 0, 1, &absent, &err), STATUS_OK);
    assert_int_equal(json_get_any(&root, "none", JSON_REQUIRED, &none, &err), STATUS_OK);
    assert_true(version == 3 && integer == 3 && scale == 2 && real == 2 && is_fast && absent == 7);
    assert_true(color[0] == 0.25f && color[1] == 1 && color[2] == 0.5f);
    assert_string_equal(name, "caf\xc3\xa9");
    assert_int_equal(json_kind(&none), JSON_KIND_NULL);
    assert_int_equal(json_get_array(&root, "materials", JSON_REQUIRED, &array, &err), STATUS_OK);
    assert_int_equal(json_count(&array), 2);
    assert_int_equal(json_finish(&root, &err), STATUS_OK);

    static const char *const kinds[] = {"metal", "glass"};
    uint32_t kind = 9;
    json_at(&array, 0, &material);
    assert_int_equal(json_as_object(&material, &err), STATUS_OK);
    assert_int_equal(json_get_choice(&material, "kind", JSON_REQUIRED, kinds, 2, &kind, &err),
                     STATUS_OK);
    assert_int_equal(kind, 1);
    assert_int_equal(json_get_object(&material, "parameters", JSON_REQUIRED, &parameters, &err),
                     STATUS_OK);
    char path[JSON_PATH_MAX];
    assert_string_equal(json_path(&parameters, path), "materials[0].parameters");
    assert_string_equal(json_path(&root, path), "");
    json_destroy(doc);
}

static void test_json_visits_fields_in_order(void **state)
{
    SORT_UNUSED(state);
    JsonDoc *doc = parse("{\"z\": 1, \"a\": 2, \"m\": \"x\"}");
    JsonCursor root, value;
    JsonIter iter = {0};
    const char *name;
    StrBuf seen = {0};
    json_root(doc, &root);
    while (json_next(&root, &iter, &name, &value))
        strbuf_append_c(&seen, name);
    assert_string_equal(strbuf_text(&seen), "zam");
    strbuf_free(&seen);
    json_destroy(doc);
}

static void test_json_names_syntax_errors(void **state)
{
    SORT_UNUSED(state);
    check_syntax("{\n  \"a\": 1\n  \"b\": 2\n}",
                 "scene.json: line 3, column 5: '}' expected near '\"b\"'");
    check_syntax("", "scene.json: line 1, column 0: unexpected token near end of file");
    check_syntax("{\"a\": 1, \"a\": 2}",
                 "scene.json: line 1, column 12: duplicate object key near '\"a\"'");
    check_syntax("{\"a\": 1} x", "scene.json: line 1, column 10: end of file expected near 'x'");
    check_syntax("[\"\xff\"]",
                 "scene.json: line 1, column 2: unable to decode byte 0xff near '\"'");
    check_syntax("{\"a\": 1e999}",
                 "scene.json: line 1, column 11: real number overflow near '1e999'");
    JsonDoc *doc = parse("\xef\xbb\xbf{}");
    json_destroy(doc);
    char deep[10000];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    Error err = {0};
    assert_int_equal(json_parse("d", str_from(deep), &doc, &err), STATUS_FORMAT);
}

/* What `read` says about this value of field "x" in an object of the given text. */
typedef Status (*Reader)(JsonCursor *object, Error *err);

static void check_refusal(const char *text, Reader read, const char *expected)
{
    JsonDoc *doc = parse(text);
    JsonCursor root;
    Error err = {0};
    json_root(doc, &root);
    assert_int_equal(read(&root, &err), STATUS_FORMAT);
    check_text(&err, expected);
    json_destroy(doc);
}

static Status read_unit(JsonCursor *o, Error *err)
{
    float value;
    return json_get_float(o, "x", JSON_REQUIRED, 0, 1, &value, err);
}

static Status read_positive(JsonCursor *o, Error *err)
{
    float value;
    return json_get_float(o, "x", JSON_REQUIRED, 0, HUGE_VAL, &value, err);
}

static Status read_small(JsonCursor *o, Error *err)
{
    double value;
    return json_get_double(o, "x", JSON_REQUIRED, -HUGE_VAL, 8, &value, err);
}

static Status read_count(JsonCursor *o, Error *err)
{
    uint32_t value;
    return json_get_u32(o, "x", JSON_REQUIRED, 1, 64, &value, err);
}

static Status read_point(JsonCursor *o, Error *err)
{
    float value[3];
    return json_get_floats(o, "x", JSON_OPTIONAL, -HUGE_VAL, HUGE_VAL, 3, value, err);
}

static Status read_choice(JsonCursor *o, Error *err)
{
    static const char *const names[] = {"perspective", "orthographic"};
    uint32_t value;
    return json_get_choice(o, "x", JSON_REQUIRED, names, 2, &value, err);
}

static Status read_string(JsonCursor *o, Error *err)
{
    const char *value;
    return json_get_string(o, "x", JSON_OPTIONAL, &value, err);
}

static Status read_bool(JsonCursor *o, Error *err)
{
    bool value;
    return json_get_bool(o, "x", JSON_REQUIRED, &value, err);
}

static Status read_object(JsonCursor *o, Error *err)
{
    JsonCursor value;
    return json_get_object(o, "x", JSON_REQUIRED, &value, err);
}

static void test_json_names_content_errors(void **state)
{
    SORT_UNUSED(state);
    check_refusal("{\"x\": 1.5}", read_unit, "scene.json: x: must lie in [0, 1], is 1.5");
    check_refusal("{\"x\": -1}", read_positive, "scene.json: x: must be at least 0, is -1");
    check_refusal("{\"x\": 9}", read_small, "scene.json: x: must be at most 8, is 9");
    check_refusal("{\"x\": 1e300}", read_positive,
                  "scene.json: x: 1e+300 is beyond single precision");
    check_refusal("{\"x\": \"1\"}", read_unit, "scene.json: x: must be a number, is a string");
    check_refusal("{\"x\": null}", read_unit, "scene.json: x: must be a number, is null");
    check_refusal("{\"x\": 1.0}", read_count,
                  "scene.json: x: must be an integer, is a real number");
    check_refusal("{\"x\": 65}", read_count, "scene.json: x: must lie in [1, 64], is 65");
    check_refusal("{\"x\": [1, 2]}", read_point, "scene.json: x: must have 3 numbers, has 2");
    check_refusal("{\"x\": [1, 2, true]}", read_point,
                  "scene.json: x[2]: must be a number, is true or false");
    check_refusal("{\"x\": 3}", read_point,
                  "scene.json: x: must be an array of numbers, is an "
                  "integer");
    check_refusal("{\"x\": \"perspectiv\"}", read_choice,
                  "scene.json: x: unknown value 'perspectiv'; did you mean 'perspective'?");
    check_refusal("{\"x\": \"fisheye\"}", read_choice,
                  "scene.json: x: unknown value 'fisheye'; it must be one of 'perspective', "
                  "'orthographic'");
    check_refusal("{\"x\": []}", read_string, "scene.json: x: must be a string, is an array");
    check_refusal("{\"x\": 0}", read_bool, "scene.json: x: must be true or false, is an integer");
    check_refusal("{\"x\": {}}", read_bool, "scene.json: x: must be true or false, is an object");
    check_refusal("{\"x\": 1}", read_object, "scene.json: x: must be an object, is an integer");
    check_refusal("{}", read_unit, "scene.json: field 'x' is missing");
}

static void test_json_finds_misspelt_fields(void **state)
{
    SORT_UNUSED(state);
    JsonDoc *doc = parse(sample);
    JsonCursor root, array, material, parameters, other;
    Error err = {0};
    float value = 0;
    json_root(doc, &root);
    assert_int_equal(json_get_array(&root, "materials", JSON_REQUIRED, &array, &err), STATUS_OK);
    json_at(&array, 1, &material);
    assert_int_equal(json_get_object(&material, "parameters", JSON_REQUIRED, &parameters, &err),
                     STATUS_OK);
    assert_int_equal(json_get_float(&parameters, "roughness", JSON_OPTIONAL, 0, 1, &value, &err),
                     STATUS_FORMAT);
    check_text(&err, "scene.json: materials[1].parameters.roughness: must lie in [0, 1], is 1.5");
    assert_int_equal(json_finish(&parameters, &err), STATUS_FORMAT);
    check_text(&err, "scene.json: materials[1].parameters: unknown field 'roughnes'; did you mean "
                     "'roughness'?");
    assert_int_equal(json_finish(&root, &err), STATUS_FORMAT);
    check_text(&err, "scene.json: unknown field 'version'");
    assert_int_equal(json_get_any(&root, "versoin", JSON_REQUIRED, &other, &err), STATUS_FORMAT);
    check_text(&err, "scene.json: field 'versoin' is missing; is 'version' meant?");
    assert_int_equal(json_fail(&parameters, &err, "no unit '%s'", "x"), STATUS_FORMAT);
    check_text(&err, "scene.json: materials[1].parameters: no unit 'x'");
    json_destroy(doc);
}

static void test_json_cuts_long_paths(void **state)
{
    SORT_UNUSED(state);
    StrBuf text = {0};
    enum { DEPTH = 30 };
    for (int i = 0; i < DEPTH; ++i)
        strbuf_append_c(&text, "{\"a_rather_long_name\": ");
    strbuf_append_char(&text, '1');
    for (int i = 0; i < DEPTH; ++i)
        strbuf_append_char(&text, '}');
    JsonDoc *doc = parse(text.data);
    strbuf_free(&text);
    static JsonCursor chain[DEPTH + 1];
    Error err = {0};
    json_root(doc, &chain[0]);
    for (int i = 0; i < DEPTH; ++i)
        assert_int_equal(
            json_get_any(&chain[i], "a_rather_long_name", JSON_REQUIRED, &chain[i + 1], &err),
            STATUS_OK);
    char path[JSON_PATH_MAX];
    json_path(&chain[DEPTH], path);
    assert_true(strlen(path) < JSON_PATH_MAX);
    assert_memory_equal(path, "....a_rather_long_name.a_rather", 20);
    json_destroy(doc);
}

static void test_json_reads_files(void **state)
{
    SORT_UNUSED(state);
    char folder[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    JsonDoc *doc;
    assert_int_equal(file_make_temp_directory("test_json", folder, &err), STATUS_OK);
    assert_int_equal(path_join(folder, "a.json", path, &err), STATUS_OK);
    assert_int_equal(json_read_file(path, 100, &doc, &err), STATUS_NOT_FOUND);
    assert_int_equal(file_write(path, "[1, 2]", 6, &err), STATUS_OK);
    assert_int_equal(json_read_file(path, 5, &doc, &err), STATUS_LIMIT);
    assert_int_equal(json_read_file(path, 6, &doc, &err), STATUS_OK);
    assert_string_equal(json_doc_name(doc), path);
    json_destroy(doc);
    mem_fail_nth(1);
    assert_int_equal(json_parse("a", STR_LIT("[]"), &doc, &err), STATUS_NO_MEMORY);
    mem_fail_nth(2);
    assert_int_equal(json_parse("a", STR_LIT("[]"), &doc, &err), STATUS_NO_MEMORY);
    mem_fail_nth(0);
    assert_int_equal(file_remove_tree(folder, &err), STATUS_OK);
}

/* A long array is read an element at a time, and refused in the same words. */
static void test_json_reads_long_arrays(void **state)
{
    static const char *const texts[] = {
        "{\"a\": 1, \"list\": [1, 2, 3], \"b\": 2}",
        "{\"list\":[]}",
        "{\"list\":[ ] , \"b\":[3]}",
        (" {\"b\": {\"list\": [7]},\n\"list\": [{\"x\": \"]}\\\"[\"}, [[], {}], \"a,b\" , null\n, "
         "-1e3]}\n"),
        "{\"list\": {\"x\": 1}}",
        "{\"list\": 3}",
        "[1, 2]",
        "{}",
        "{\"list\": [1, 2,], \"b\": 1}",
        "{\"list\": [,]}",
        "{\"list\": [1 2]}",
        "{\"list\": [1,, 2]}",
        "{\"list\": [1,\n 2",
        "{\"list\": [1, 2}",
        "{\"list\": [1, [2}]}",
        "{\"list\": [1, \"a]}",
        "{\"list\": [1, {\"x\": 1, \"x\": 2}]}",
        "{\"list\": [1], \"list\": [2]}",
        "{\"list\": [1, nul]}",
        "{\"list\": [1, \"\\x\"]}",
        "{\"list\": [1, \"\xff\"]}",
        "{\"list\": [1, 2]} 3",
        "{\"list\": [1, 2], \"b\": }",
        "{\"list\": [1]]}",
    };
    (void)state;
    for (size_t i = 0; i < SORT_COUNT_OF(texts); ++i) {
        Error plain_err = {0}, long_err = {0};
        JsonDoc *plain, *rest;
        Str text = str_from(texts[i]);
        Status status = json_parse("scene.json", text, &plain, &plain_err);
        assert_int_equal(json_parse_long("scene.json", text, "list", &rest, &long_err), status);
        assert_string_equal(long_err.text, plain_err.text);
        if (status != STATUS_OK)
            continue;
        JsonCursor a, b, list_a, list_b;
        json_root(plain, &a);
        json_root(rest, &b);
        if (json_kind(&a) == JSON_KIND_OBJECT) {
            assert_int_equal(json_get_any(&a, "list", JSON_OPTIONAL, &list_a, NULL), STATUS_OK);
            assert_int_equal(json_get_any(&b, "list", JSON_OPTIONAL, &list_b, NULL), STATUS_OK);
            assert_int_equal(json_exists(&list_a), json_exists(&list_b));
            bool is_array = json_exists(&list_a) && json_kind(&list_a) == JSON_KIND_ARRAY;
            uint32_t count = is_array ? json_count(&list_a) : 0;
            assert_int_equal(is_array ? json_count(&list_b) : 0, count);
            for (uint32_t k = 0; k < 2 * count; ++k) { /* back and forth */
                JsonCursor x, y;
                char path[JSON_PATH_MAX];
                json_at(&list_a, k < count ? k : 2 * count - 1 - k, &x);
                json_at(&list_b, k < count ? k : 2 * count - 1 - k, &y);
                assert_int_equal(json_kind(&x), json_kind(&y));
                assert_int_equal(json_fail(&x, &plain_err, "no"), STATUS_FORMAT);
                assert_int_equal(json_fail(&y, &long_err, "no"), STATUS_FORMAT);
                assert_string_equal(plain_err.text, long_err.text);
                assert_non_null(strstr(json_path(&y, path), "list["));
            }
        }
        json_destroy(plain);
        json_destroy(rest);
    }
}

static void test_json_tree_bytes(void **state)
{
    (void)state;
    uint64_t empty = json_tree_bytes(STR_LIT("[]"));
    assert_true(json_tree_bytes(STR_LIT("[[],[]]")) > 3 * empty);
    assert_true(json_tree_bytes(STR_LIT("{\"a\": 1, \"b\": 2}")) >
                json_tree_bytes(STR_LIT("{\"a\": 1}")));
    /* What stands in a string is text, also behind an escaped quote. */
    assert_int_equal(json_tree_bytes(STR_LIT("[\"[{,:\\\"[\"]")), empty + 9);
    /* Not sound, and not closed. */
    assert_int_equal(json_tree_bytes(STR_LIT("[\"[[[[\\")), empty + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_tree_bytes),
        cmocka_unit_test(test_json_reads_values),
        cmocka_unit_test(test_json_visits_fields_in_order),
        cmocka_unit_test(test_json_names_syntax_errors),
        cmocka_unit_test(test_json_names_content_errors),
        cmocka_unit_test(test_json_finds_misspelt_fields),
        cmocka_unit_test(test_json_cuts_long_paths),
        cmocka_unit_test(test_json_reads_files),
        cmocka_unit_test(test_json_reads_long_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
