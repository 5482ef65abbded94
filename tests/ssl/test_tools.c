/* sslc and ssl-test as their users meet them: command lines in, text and exit codes out. Above all,
 * that ssl-test fails when it must. Arguments: the paths of ssl-test and of sslc. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/image/exr_read.h"
#include "base/process.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const char *ssl_test_path, *sslc_path;
static char folder[PATH_BYTES];

static int setup(void **state)
{
    (void)state;
    Error err = {0};
    if (file_make_temp_directory("sort-test-tools", folder, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    Error err = {0};
    return file_remove_tree(folder, &err) == STATUS_OK ? 0 : 1;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static void in_folder(const char *name, char path[PATH_BYTES])
{
    Error err = {0};
    assert_int_equal(path_join(folder, name, path, &err), STATUS_OK);
}

static void write_source(const char *name, const char *text)
{
    char path[PATH_BYTES];
    Error err = {0};
    in_folder(name, path);
    assert_int_equal(file_write(path, text, strlen(text), &err), STATUS_OK);
}

typedef struct Run {
    int code;
    StrBuf text; /* output and then errors */
} Run;

/* Up to 8 arguments; NULL ends them. */
static Run run(const char *program, const char *const *args)
{
    const char *argv[10] = {program};
    for (uint32_t i = 0; args[i]; ++i) {
        assert_true(i < 8);
        argv[1 + i] = args[i];
    }
    const ProcessDesc desc = {.size_bytes = sizeof desc,
                              .argv = argv,
                              .standard_output = PROCESS_CAPTURE,
                              .standard_error = PROCESS_CAPTURE};
    ProcessResult result;
    Error err = {0};
    if (process_run(&desc, 120000, &result, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    char how[96];
    if (!result.has_exited)
        fail_msg("%s: %s\n%s", program, process_result_describe(&result, how),
                 strbuf_text(&result.errors));
    Run out = {.code = result.exit_code};
    strbuf_append_c(&out.text, strbuf_text(&result.output));
    strbuf_append_c(&out.text, strbuf_text(&result.errors));
    process_result_free(&result);
    return out;
}

static void expect_text(const Run *r, const char *part)
{
    if (!strstr(strbuf_text(&r->text), part))
        fail_msg("no '%s' in:\n%s", part, strbuf_text(&r->text));
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Runs ssl-test on one source; it must end with `code` and say all of `parts`. */
static void check_source(const char *source, int code, const char *const *parts)
{
    char path[PATH_BYTES];
    in_folder("case.ssl", path);
    write_source("case.ssl", source);
    Run r = run(ssl_test_path, ARGS(path));
    for (uint32_t i = 0; parts[i]; ++i)
        expect_text(&r, parts[i]);
    if (r.code != code)
        fail_msg("exit code %d, not %d:\n%s", r.code, code, strbuf_text(&r.text));
    strbuf_free(&r.text);
}

/* --- ssl-test --------------------------------------------------------------------------------- */

#define TWICE "// global: float x = 2 ddx 1\nshader s(out float o) { o = global_value<x> * 2; }\n"

/* A file that does not end fails, and the others are run, also if there is a thread only. */
static void test_time_limit(void **state)
{
    (void)state;
    char endless[PATH_BYTES], good[PATH_BYTES];
    in_folder("a_endless.ssl", endless);
    in_folder("b_quick.ssl", good);
    write_source(
        "a_endless.ssl",
        "// loop-budget: 2147483647\n// expect: o = 1\n"
        "shader s(float x = 1, out float o) { o = 1;\n"
        "  while (x > 0) { for (int i = 0; i < 1000000; i++) o = sin(o * x); x += o * o; } }\n");
    write_source("b_quick.ssl", "// expect: o = 4\n" TWICE);
    Run r = run(ssl_test_path, ARGS("--jobs=1", "--time-limit=0.5", endless, good));
    expect_text(&r, "a_endless.ssl: error: it was not done after 0.5 s");
    expect_text(&r, "a_endless.ssl: 0 passed, 1 failed\n1 passed, 1 failed\n");
    assert_int_equal(r.code, 1);
    strbuf_free(&r.text);
}

/* A failing expectation is reported at its place, with the value that was found and the difference. */
static void test_diagnostics_are_compared(void **state)
{
    (void)state;
    const char *shader = "shader s(out float o) { o = foo; }\n";
    char source[256];
    (void)snprintf(source, sizeof source, "// expect-error: S0201 @ 2:29-2:33: no variable\n%s",
                   shader);
    check_source(source, 1,
                 ARGS("found instead: 2:29-2:32\n", "case.ssl:2:29: note: this came",
                      "found error: S0201 @ 2:29-2:32: there is no variable 'foo' here"));
    (void)snprintf(source, sizeof source, "// expect-warning: S0202 @ 2:29-2:32: no type\n%s",
                   shader);
    check_source(source, 1, ARGS("found instead: an error, code S0201, another message\n"));
}

static void test_numbers_are_compared(void **state)
{
    (void)state;
    check_source("// expect: o = 4.5 +- 0.25\n" TWICE, 1,
                 ARGS("found 4 (off by -0.5, tolerance 0.25)"));
    check_source("// expect: o = (1 2.5 3)\nshader s(out color o) { o = color(1, 2, 3); }\n", 1,
                 ARGS("found (1 2 3) (component 1 is off by -0.5"));
    check_source("// expect: o = (1 2)\nshader s(out color o) { o = color(1, 2, 3); }\n", 1,
                 ARGS("3 numbers, not 2"));
}

/* One file that passes and one that fails, whose message has all that XML escapes. */
static void test_formats_for_programs(void **state)
{
    (void)state;
    char good[PATH_BYTES], bad[PATH_BYTES];
    in_folder("good.ssl", good);
    in_folder("bad.ssl", bad);
    write_source("good.ssl", "// expect: o = 4\n" TWICE);
    write_source("bad.ssl",
                 "// expect: o = 5\nshader s(out float o) { o = 1 < 2 && true ? 4.0 : 1.0; "
                 "} // \"quoted\"\n// expect-error: S0101 @ 1:1-1:2: a < b & \"c\"\n");
    Run r = run(ssl_test_path, ARGS("--format", "tap", good, bad));
    expect_text(&r, "TAP version 13\n1..2\nok 1 - ");
    expect_text(&r, "good.ssl\n  ---\n  passed: 1\n  failed: 0\n");
    expect_text(&r, "not ok 2 - ");
    expect_text(&r, "  message: |\n    ");
    assert_int_equal(r.code, 1);
    strbuf_free(&r.text);
    r = run(ssl_test_path, ARGS("--format=junit", good, bad));
    expect_text(&r, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"ssl-test\" "
                    "tests=\"2\" failures=\"1\"");
    expect_text(&r, "good.ssl\" assertions=\"1\"");
    expect_text(&r, "<failure message=\"0 passed, ");
    expect_text(&r, "a &lt; b &amp; &quot;c&quot;");
    assert_int_equal(r.code, 1);
    strbuf_free(&r.text);
    r = run(ssl_test_path, ARGS("--exclude", "bad", folder, "-f", "good", "-f", "other"));
    expect_text(&r, "1 passed, 0 failed\n");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
}

static void test_what_holds_passes(void **state)
{
    (void)state;
    check_source("// expect: o = 4\n// expect: ddx(o) = 2\n// expect: ddy(o) = 0\n" TWICE, 0,
                 ARGS("3 passed, 0 failed\n"));
    check_source(TWICE "// case: three\n// global: x = 3 ddx 2\n// expect: o = 6 +- 0\n"
                       "// expect: ddx(o) = 4\n",
                 0, ARGS("2 passed, 0 failed\n"));
}

static void test_wrong_values_fail_with_place_and_value(void **state)
{
    (void)state;
    check_source("// expect: o = 4\n// expect: o = 4.001\n" TWICE, 1,
                 ARGS("case.ssl:2:1: error: the output is not as expected\n",
                      "    2 | // expect: o = 4.001\n", "O0: found 4 (off by ",
                      "1 passed, 1 failed\n"));
    check_source("// expect: ddx(o) = 1\n" TWICE, 1, ARGS("found 2", "0 passed, 1 failed\n"));
    check_source("// expect: o = nan\n" TWICE, 1, ARGS("found 4"));
    check_source("// expect: p = 4\n" TWICE, 1, ARGS("the shader has no such output"));
    check_source("// expect: o.y = 4\n" TWICE, 1, ARGS("the shader has no such output"));
    check_source("// expect-shadowed: 0\n// expect: ddx(o) = 2\n" TWICE, 1,
                 ARGS("the number of shadowed values is not as expected"));
}

static void test_faults_and_closures_fail(void **state)
{
    (void)state;
    check_source(
        "// expect: o = 2\nshader s(int i = 7, out float o) { float a[2] = {1, 2}; o = a[i]; }\n",
        1, ARGS("case.ssl:2:", "array index out of range", "a fault that is not expected"));
    check_source("// expect-fault: loop @ 2:69\n"
                 "shader s(int i = 7, out float o) { float a[2] = {1, 2}; o = a[i]; }\n",
                 1, ARGS("the fault is not as expected", "found index @ 2:"));
    check_source("// expect-fault: loop @ 1:1\n" TWICE, 1, ARGS("there was no fault"));
    static const char *const surface =
        "shader s(out closure C) { C = make_closure<Emission>(color(1, 2, 3)) * 0.5; }\n";
    char source[512];
    static const struct {
        const char *expectation, *part;
    } cases[] = {
        {"Emission weight (0.5 0.5 0.5) args (1 2 4)",
         "the closure's arguments is not as expected"},
        {"Emission weight (1 1 1)", "found (0.5 0.5 0.5)"},
        {"Transparent weight (0.5 0.5 0.5)", "found Emission"},
        {"none", "found Emission"},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        (void)snprintf(source, sizeof source, "// expect-closure: %s\n%s", cases[i].expectation,
                       surface);
        check_source(source, 1, ARGS(cases[i].part));
    }
    (void)snprintf(
        source, sizeof source,
        "// expect-closure: Emission weight 0.5 args (1 2 3)\n// expect-closure: none\n%s",
        surface);
    check_source(source, 0, ARGS("2 passed, 0 failed\n"));
}

static void test_lookups(void **state)
{
    (void)state;
    static const char *const sampler =
        "// global: float x = 0.25 ddx 2 ddy 3\ntexture2d t;\n"
        "shader s(out color c) { c = texture2d_sample<t>(global_value<x>, 0.5); }\n";
    char source[512];
    (void)snprintf(source, sizeof source,
                   "// expect-lookup: t at (0.25 0.5) ddx (2 0) ddy (3 0)\n"
                   "// expect: c = (0.25 0.5 0.75)\n%s",
                   sampler);
    check_source(source, 0, ARGS("2 passed, 0 failed\n"));
    (void)snprintf(source, sizeof source, "// expect-lookup: t at (0.25 0.5) ddx (2 1)\n%s",
                   sampler);
    check_source(source, 1, ARGS("the lookup's ddx is not as expected", "found (2 0)"));
    (void)snprintf(source, sizeof source,
                   "// texture: t = constant 1 2 3\n// expect: c = (1 2 3)\n%s", sampler);
    check_source(source, 0, ARGS("1 passed, 0 failed\n"));
    (void)snprintf(source, sizeof source, "// texture: t = marble\n// expect: c = 1\n%s", sampler);
    check_source(source, 1, ARGS("'marble' is no test texture"));
}

static void test_expected_errors(void **state)
{
    (void)state;
    static const char *const bad = "shader s(out float o) {\n    o = foo;\n}\n";
    char source[512], code[8] = "";
    /* The right code is what the compiler says itself. */
    write_source("bad.ssl", bad);
    char path[PATH_BYTES];
    in_folder("bad.ssl", path);
    Run r = run(sslc_path, ARGS("check", path));
    assert_int_equal(r.code, 1);
    const char *at = strstr(strbuf_text(&r.text), "error[");
    assert_non_null(at);
    memcpy(code, at + 6, 5);
    strbuf_free(&r.text);
    (void)snprintf(source, sizeof source, "// expect-error: %s @ 3:9-3:12: foo\n%s", code, bad);
    check_source(source, 0, ARGS("1 passed, 0 failed\n"));
    static const char *const wrong[] = {"S9999 @ 3:9-3:12: foo", "%s @ 3:9-3:13: foo",
                                        "%s @ 2:9-3:12: foo", "%s @ 3:9-3:12: bar"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(wrong); ++i) {
        StrBuf text = {0};
        const char *percent = strstr(wrong[i], "%s");
        strbuf_append_c(&text, "// expect-error: ");
        strbuf_append_c(&text, percent ? code : "");
        strbuf_append_c(&text, percent ? wrong[i] + 2 : wrong[i]);
        strbuf_append_c(&text, "\n");
        strbuf_append_c(&text, bad);
        check_source(
            strbuf_text(&text), 1,
            ARGS("this did not come", "this came", "found error: ", "0 passed, 1 failed\n"));
        strbuf_free(&text);
    }
    check_source("// expect: o = 1\nshader s(out float o) {\n    o = foo;\n}\n", 1,
                 ARGS("this is not expected", "found error: "));
    check_source("// expect-error: S0001 @ 1:1-1:2: x\n" TWICE, 1, ARGS("this did not come"));
}

static void test_notes_are_compared(void **state)
{
    (void)state;
    static const char with_note[] = "shader s(out float o) { o = lerp(1, 2, 3); }\n"
                                    "// expect-error: S0202 @ 1:29-1:33: no function\n";
    char source[512];
    (void)snprintf(source, sizeof source, "%s// expect-note: it has 'mix'\n", with_note);
    check_source(source, 0, ARGS("1 passed, 0 failed"));
    (void)snprintf(source, sizeof source, "%s// expect-note: it has 'max'\n", with_note);
    check_source(source, 1, ARGS("this note did not come", "found instead: SSL has no 'lerp'"));
    check_source("// expect-note: write x\n" TWICE, 1,
                 ARGS("a note follows the error or warning that it belongs to"));
}

static void test_mistakes_in_directives(void **state)
{
    (void)state;
    check_source("// expct: o = 4\n" TWICE, 1,
                 ARGS("there is no directive 'expct'", "did you mean 'expect'?"));
    check_source("// expect: o 4\n" TWICE, 1, ARGS("case.ssl:1:14: error: '=' is missing here"));
    check_source("// expect: o = 4 5\n" TWICE, 1, ARGS("nothing more is expected on this line"));
    check_source("// expect: o = four\n" TWICE, 1, ARGS("is missing here"));
    check_source("// param: k = 1\n// expect: o = 4\n" TWICE, 1,
                 ARGS("the shader has no such parameter"));
    check_source("// global: y = 1\n// expect: o = 4\n" TWICE, 1, ARGS("there is no such global"));
    check_source("// A comment: prose. Note: nothing.\n" TWICE, 1,
                 ARGS("the file expects nothing"));
}

static void test_folders_filters_and_usage(void **state)
{
    (void)state;
    Error err = {0};
    char sub[PATH_BYTES], path[PATH_BYTES];
    in_folder("tree/deep", sub);
    assert_int_equal(file_make_directories(sub, &err), STATUS_OK);
    write_source("tree/a.ssl", "// expect: o = 4\n" TWICE);
    write_source("tree/deep/b.ssl", "// expect: o = 5\n" TWICE);
    write_source("tree/notes.txt", "// expect: o = 6\n");
    in_folder("tree", path);
    Run r = run(ssl_test_path, ARGS("-j", "2", path));
    assert_int_equal(r.code, 1);
    expect_text(&r, "deep/b.ssl: 0 passed, 1 failed\n1 passed, 1 failed\n");
    strbuf_free(&r.text);
    r = run(ssl_test_path, ARGS("--filter", "a.ssl", "-v", path));
    assert_int_equal(r.code, 0);
    expect_text(&r, "a.ssl: 1 passed, 0 failed\n1 passed, 0 failed\n");
    strbuf_free(&r.text);
    r = run(ssl_test_path, ARGS("--filter", "nothing", path));
    assert_int_equal(r.code, 1); /* a run of nothing is no success */
    strbuf_free(&r.text);
    in_folder("absent", path);
    r = run(ssl_test_path, ARGS(path));
    assert_int_equal(r.code, 1);
    expect_text(&r, "absent");
    strbuf_free(&r.text);
    r = run(ssl_test_path, ARGS("--fliter", "x"));
    assert_int_equal(r.code, 2);
    expect_text(&r, "--filter");
    strbuf_free(&r.text);
}

/* --- sslc ------------------------------------------------------------------------------------- */

#define MATERIAL                                                                                   \
    "texture2d g;\n"                                                                               \
    "shader m(float scale = 2, bool on = true, out float h, out color c, out closure Ci) {\n"      \
    "    h = global_value<uvw>.x * scale;\n"                                                       \
    "    c = on ? texture2d_sample<g>(h, global_value<uvw>.y) : color(0);\n"                       \
    "    Ci = make_closure<Emission>(c) * 0.25;\n"                                                 \
    "}\n"

static Run run_sslc(const char *const *args)
{
    return run(sslc_path, args);
}

static void test_sslc_check(void **state)
{
    (void)state;
    char good[PATH_BYTES], bad[PATH_BYTES];
    in_folder("good.ssl", good);
    in_folder("bad.ssl", bad);
    write_source("good.ssl",
                 "shader a(out float o) { o = 1; }\nshader b(out float o) { o = 2; }\n");
    write_source("bad.ssl",
                 "shader a(out float o) { o = 1; }\nshader b(out float o) { o = \"x\"; }\n");
    Run r = run_sslc(ARGS("check", good));
    assert_int_equal(r.code, 0);
    assert_string_equal(strbuf_text(&r.text), "");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("check", good, bad));
    assert_int_equal(r.code, 1);
    expect_text(&r, "bad.ssl:2:");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("chekc", good));
    assert_int_equal(r.code, 2);
    expect_text(&r, "check");
    strbuf_free(&r.text);
}

/* A source of a scattering function has no shader that a host runs, and is checked like those that have. */
static void test_sslc_check_of_a_bsdf(void **state)
{
    (void)state;
    static const char *const values[] = {"tint", "tnt"};
    for (int i = 0; i < 2; ++i) {
        char path[PATH_BYTES], text[256];
        in_folder("bsdf.ssl", path);
        snprintf(text, sizeof text,
                 "bsdf A(color tint, normal N)\n"
                 "{ lobe diffuse reflection { albedo = tint;\n"
                 "eval { f_cos = %s * 0.3 * wi.z; } } }\n",
                 values[i]);
        write_source("bsdf.ssl", text);
        Run r = run_sslc(ARGS("check", path));
        assert_int_equal(r.code, i);
        if (i == 0)
            assert_string_equal(strbuf_text(&r.text), "");
        else
            expect_text(&r, "bsdf.ssl:3:");
        strbuf_free(&r.text);
    }
}

/* A bsdf of another source is a closure of the shader's, as in a scene that has both: it stands beside the file, among the
 * paths of the command line, or in a folder of -I. */
static void test_sslc_check_finds_bsdfs_of_other_files(void **state)
{
    (void)state;
    char uses[PATH_BYTES], wax[PATH_BYTES], there[PATH_BYTES], group[PATH_BYTES];
    Error err = {0};
    static const char user[] =
        "shader uses(out closure surface)\n{\n"
        "    surface = make_closure<Wax>(color(0.5), global_value<normal>);\n}\n";
    static const char bsdf[] = "bsdf Wax(color tint, normal N)\n"
                               "{ lobe diffuse reflection { albedo = tint;\n"
                               "eval { f_cos = tint * M_1_PI * wi.z; } } }\n";
    in_folder("one", uses);
    assert_int_equal(file_make_directories(uses, &err), STATUS_OK);
    in_folder("two", there);
    assert_int_equal(file_make_directories(there, &err), STATUS_OK);
    in_folder("one/uses.ssl", uses);
    in_folder("two/wax.ssl", wax);
    write_source("one/uses.ssl", user);
    write_source("two/wax.ssl", bsdf);
    Run r = run_sslc(ARGS("check", uses));
    assert_int_equal(r.code, 1);
    expect_text(&r, "Wax");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("check", uses, wax));
    assert_string_equal(strbuf_text(&r.text), "");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    r = run_sslc(ARGS("check", "-I", there, uses));
    assert_string_equal(strbuf_text(&r.text), "");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    in_folder("two/uses.ssl", uses);
    in_folder("two/group.json", group);
    write_source("two/uses.ssl", user);
    write_source("two/group.json",
                 "{\"ssl_group\": 1, \"nodes\": {\"u\": {\"shader\": \"uses.ssl\"}},\n"
                 "\"outputs\": {\"surface\": \"u.surface\"}}");
    r = run_sslc(ARGS("check", uses, group));
    assert_string_equal(strbuf_text(&r.text), "");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    write_source("two/more.ssl", bsdf);
    r = run_sslc(ARGS("check", uses)); /* copies of one text are one */
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    write_source(
        "two/more.ssl",
        "bsdf Wax(normal N)\n{ lobe diffuse reflection { eval { f_cos = color(0.1); } } }\n");
    r = run_sslc(ARGS("check", uses));
    expect_text(&r, "is defined in");
    assert_int_equal(r.code, 1);
    strbuf_free(&r.text);
}

/* A claim without a reason, an empty range, an argument that is not there; and a picture that is written. */
static void test_sslc_check_options_of_a_bsdf(void **state)
{
    (void)state;
    static const char *const heads[][2] = {
        {"(float a) [[ float energy = 2 ]]", "metadata 'energy' needs a string 'energy_reason'"},
        {"(float a [[ float min = 2, float max = 1 ]])", "the range of argument 'a' is empty"},
        {"(float a)", NULL},
    };
    char path[PATH_BYTES], text[256], picture[PATH_BYTES];
    in_folder("claims.ssl", path);
    in_folder("lobe.png", picture);
    for (size_t i = 0; i < SORT_COUNT_OF(heads); ++i) {
        snprintf(text, sizeof text,
                 "bsdf A%s { lobe diffuse reflection { eval { f_cos = color(0.1); } } }\n",
                 heads[i][0]);
        write_source("claims.ssl", text);
        Run r = run_sslc(ARGS("check", path));
        assert_int_equal(r.code, heads[i][1] ? 1 : 0);
        if (heads[i][1])
            expect_text(&r, heads[i][1]);
        strbuf_free(&r.text);
    }
    Run r = run_sslc(ARGS("check", "--report", "--picture", picture, "--value", "a=0.5", path));
    assert_int_equal(r.code, 0);
    expect_text(&r, "bsdf 'A': energy: at most 0.6");
    assert_true(file_exists(picture));
    strbuf_free(&r.text);
    r = run_sslc(ARGS("doc", path));
    assert_string_equal(strchr(strbuf_text(&r.text), ' '),
                        " bsdf A\n  argument float a\n  lobe     reflection diffuse\n\n");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("doc", "--json", "--shader", "A", path));
    expect_text(&r, "\"bsdf\": \"A\"");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("check", "--proofs", "none", "--picture", picture, "--value", "b=0.5", path));
    assert_int_equal(r.code, 1);
    expect_text(&r, "'b=0.5' sets no argument of bsdf 'A'");
    strbuf_free(&r.text);
}

static void test_sslc_dump(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"tokens", "scale"},         {"ast", "scale"},    {"ir", "tex.auto"},
        {"passes", "; after "},      {"ir-final", "tex"}, {"llvm", "define void @kernel"},
        {"llvm-opt", "define void"}, {"asm", "kernel"},
    };
    char path[PATH_BYTES];
    in_folder("m.ssl", path);
    write_source("m.ssl", MATERIAL);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        Run r = run_sslc(ARGS("dump", "--stage", cases[i][0], path));
        assert_int_equal(r.code, 0);
        expect_text(&r, cases[i][1]);
        strbuf_free(&r.text);
    }
    Run r = run_sslc(ARGS("dump", "--constant", "on=false", path));
    assert_int_equal(r.code, 0);
    assert_null(strstr(strbuf_text(&r.text), "tex "));
    strbuf_free(&r.text);
    r = run_sslc(ARGS("dump", "--constant", "onn=false", path));
    assert_int_equal(r.code, 2);
    expect_text(&r, "did you mean 'on'?");
    strbuf_free(&r.text);
    in_folder("empty.json", path);
    write_source("empty.json",
                 "{\"parameters\": {\"a\": {\"type\": \"float\", \"default\": 1}}, \"nodes\": {},"
                 " \"outputs\": {\"y\": \"a\"}}");
    r = run_sslc(ARGS("dump", "--stage", "filter", path));
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
}

static void test_sslc_run_prints_a_pixel(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    in_folder("m.ssl", path);
    write_source("m.ssl", MATERIAL);
    /* u = 1.5 / 4, v = 1 - 0.5 / 4; a pixel is 0.25 wide. */
    Run r = run_sslc(ARGS("run", "--size", "4x4", "--at", "1,0", "-p", "scale=3", path));
    assert_int_equal(r.code, 0);
    expect_text(&r, "h = 1.125\nddx(h) = 0.75\nddy(h) = 0\n");
    expect_text(&r, "c = (1.125 0.875 2)\nddx(c) = (0.75 0 0.75)\nddy(c) = (0 -0.25 -0.25)\n");
    expect_text(&r, "Ci: Emission weight (0.25 0.25 0.25), radiance (1.125 0.875 2)\n");
    expect_text(&r, "lookup: g at (1.125 0.875) ddx (0.75 0) ddy (0 -0.25)\n");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("run", "--size", "4x4", "--at", "4,0", path));
    assert_int_equal(r.code, 2);
    expect_text(&r, "pixel 4,0 is outside of 4x4");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("run", "--size", "4x-4", path));
    assert_int_equal(r.code, 2);
    expect_text(&r, "'4x-4' is not a size like 256x256");
    strbuf_free(&r.text);
    r = run_sslc(ARGS("run", "-p", "skale=3", path));
    assert_int_equal(r.code, 2);
    expect_text(&r, "did you mean 'scale'?");
    strbuf_free(&r.text);
}

static void test_sslc_run_writes_pictures(void **state)
{
    (void)state;
    char path[PATH_BYTES], picture[PATH_BYTES];
    in_folder("m.ssl", path);
    in_folder("slope.exr", picture);
    write_source("m.ssl", MATERIAL);
    Run r = run_sslc(ARGS("run", "--size", "8x4", "--output", "ddx(c)", "-o", picture, path));
    if (r.code != 0)
        fail_msg("%s", strbuf_text(&r.text));
    strbuf_free(&r.text);
    ExrImage *image;
    Error err = {0};
    if (exr_read(picture, &image, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(image->width, 8);
    assert_int_equal(image->height, 4);
    assert_int_equal(image->channel_count, 3);
    const ExrImageChannel *red = exr_image_channel(image, "R");
    assert_non_null(red);
    assert_float_equal(red->data[11], 0.25f, 1e-6f); /* scale 2, a pixel is 1/8 */
    exr_image_destroy(image);
    in_folder("c.png", picture);
    r = run_sslc(ARGS("run", "--size", "8x4", "--output", "Ci", "-o", picture, path));
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    assert_true(file_exists(picture));
    in_folder("c.tiff", picture);
    r = run_sslc(ARGS("run", "--size", "8x4", "-o", picture, path));
    assert_int_equal(r.code, 2);
    expect_text(&r, "ends in .exr or .png");
    strbuf_free(&r.text);
}

static void test_sslc_run_reports_faults(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    in_folder("endless.ssl", path);
    write_source(
        "endless.ssl",
        "shader s(float k = 1, out float o) {\n    o = 0;\n    while (k > 0) o += k;\n}\n");
    Run r = run_sslc(ARGS("run", "--size", "4x4", "--loop-budget", "100", path));
    assert_int_equal(r.code, 1);
    expect_text(&r, "endless.ssl:3:5: loop stopped: it ran past the host's limit (16 points)\n");
    strbuf_free(&r.text);
}

static void test_sslc_bench(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    in_folder("m.ssl", path);
    write_source("m.ssl", MATERIAL);
    Run r = run_sslc(ARGS("bench", "--rounds", "1", "--seconds", "0.01", path));
    assert_int_equal(r.code, 0);
    expect_text(&r, "compile, all");
    expect_text(&r, "ns a point");
    strbuf_free(&r.text);

    write_source("m.ssl",
                 "shader s(out float o) { float unread = 1; o = ddx(ddx(global_value<uvw>.x)); }");
    r = run_sslc(ARGS("bench", "--rounds", "3", "--seconds", "0.01", path));
    assert_int_equal(r.code, 0);
    const char *first = strstr(strbuf_text(&r.text), "warning[");
    assert_non_null(first); /* S0309 and S0601, once each */
    const char *second = strstr(first + 1, "warning[");
    assert_non_null(second);
    assert_null(strstr(second + 1, "warning["));
    strbuf_free(&r.text);
}

static const char documented[] =
    "texture2d paint;\n"
    "shader cloth [[ string label = \"Cloth\" ]] (\n"
    "    color tint = color(0.8, 0.1, 0) [[ float max = 1 ]], int n, out closure surface)\n"
    "{ surface = make_closure<Lambert>(tint * texture2d_sample<paint>(global_value<uvw>.x, n),\n"
    "                                  global_value<normal>); }\n"
    "shader two(out float o) { o = 1; }\n";

static void test_sslc_doc(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    in_folder("documented.ssl", path);
    write_source("documented.ssl", documented);
    Run r = run(sslc_path, ARGS("doc", path));
    expect_text(&r, "documented.ssl: shader cloth\n  label = \"Cloth\"\n"
                    "  parameter color tint = (0.8, 0.1, 0)  [max = 1]\n"
                    "            int n (must be set)\n"
                    "  texture   paint\n"
                    "  output    closure surface\n"
                    "  reads     uvw with derivatives, normal\n"
                    "  closures  Lambert\n");
    expect_text(&r, "documented.ssl: shader two\n");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    r = run(sslc_path, ARGS("doc", "--json", "--shader", "cloth", path));
    expect_text(&r, "\"shader\": \"cloth\"");
    expect_text(&r, "\"label\": \"Cloth\"");
    expect_text(&r, "\"name\": \"tint\"");
    expect_text(&r, "\"max\": 1");
    assert_null(strstr(strbuf_text(&r.text), "two"));
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    r = run(sslc_path, ARGS("doc", "--shader", "none", path));
    expect_text(&r, "there is no shader or bsdf 'none'");
    assert_int_equal(r.code, 2);
    strbuf_free(&r.text);
}

static void test_sslc_knows_the_units(void **state)
{
    (void)state;
    Run r = run(sslc_path, ARGS("doc", "unit:principled_bsdf"));
    expect_text(&r, "unit:principled_bsdf: shader principled_bsdf\n");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    r = run(sslc_path, ARGS("doc", "unit:principled_bdsf"));
    expect_text(&r, "did you mean 'unit:principled_bsdf'?");
    assert_int_equal(r.code, 1);
    strbuf_free(&r.text);
    r = run(sslc_path, ARGS("doc", "--json", "unit:"));
    expect_text(&r, "\"shader\": \"gltf_pbr\"");
    expect_text(&r, "\"shader\": \"tex_voronoi\"");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
}

static void test_sslc_checks_folders(void **state)
{
    (void)state;
    char path[PATH_BYTES], wrong[PATH_BYTES];
    Error err = {0};
    in_folder("sources", path);
    assert_int_equal(file_make_directories(path, &err), STATUS_OK);
    Run r = run(sslc_path, ARGS("check", path));
    expect_text(&r, "there are no .ssl files");
    assert_int_equal(r.code, 1);
    strbuf_free(&r.text);
    write_source("sources/plain.ssl", "shader s(out float o) { o = 1; }");
    write_source("sources/other.txt", "no shader at all");
    r = run(sslc_path, ARGS("check", path));
    assert_string_equal(strbuf_text(&r.text), "");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
    in_folder("sources/inner", wrong);
    assert_int_equal(file_make_directories(wrong, &err), STATUS_OK);
    write_source("sources/inner/wrong.ssl", "shader s(out float o) { o = x; }");
    r = run(sslc_path, ARGS("check", path));
    expect_text(&r, "wrong.ssl:1:29: error[S0201]");
    assert_int_equal(r.code, 1);
    strbuf_free(&r.text);
}

static void test_sslc_limits(void **state)
{
    (void)state;
    Run r = run(sslc_path, ARGS("limits"));
    expect_text(&r, "SSL_MAX_NESTING");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
}

/* The test that the tutorial ends with, as its reader saves it. */
static void test_tutorial_test_runs(void **state)
{
    (void)state;
    char *page;
    size_t size;
    Error err = {0};
    if (file_read("docs/manual/ssl-tutorial.md", 1 << 20, &page, &size, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    char *begin = strstr(page, "Save as `late_wood_test.ssl`");
    begin = begin ? strstr(begin, "```\n") : NULL;
    char *end = begin ? strstr(begin + 4, "```") : NULL;
    assert_non_null(end);
    *end = '\0';
    write_source("late_wood_test.ssl", begin + 4);
    mem_free(page);
    char path[PATH_BYTES];
    in_folder("late_wood_test.ssl", path);
    Run r = run(ssl_test_path, ARGS(path));
    expect_text(&r, "2 passed, 0 failed");
    assert_int_equal(r.code, 0);
    strbuf_free(&r.text);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    ssl_test_path = argv[1];
    sslc_path = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sslc_doc),
        cmocka_unit_test(test_sslc_knows_the_units),
        cmocka_unit_test(test_sslc_check_of_a_bsdf),
        cmocka_unit_test(test_sslc_check_finds_bsdfs_of_other_files),
        cmocka_unit_test(test_sslc_check_options_of_a_bsdf),
        cmocka_unit_test(test_sslc_checks_folders),
        cmocka_unit_test(test_sslc_limits),
        cmocka_unit_test(test_tutorial_test_runs),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_diagnostics_are_compared),
        cmocka_unit_test(test_numbers_are_compared),
        cmocka_unit_test(test_formats_for_programs),
        cmocka_unit_test(test_what_holds_passes),
        cmocka_unit_test(test_wrong_values_fail_with_place_and_value),
        cmocka_unit_test(test_faults_and_closures_fail),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_expected_errors),
        cmocka_unit_test(test_notes_are_compared),
        cmocka_unit_test(test_mistakes_in_directives),
        cmocka_unit_test(test_folders_filters_and_usage),
        cmocka_unit_test(test_sslc_check),
        cmocka_unit_test(test_sslc_dump),
        cmocka_unit_test(test_sslc_run_prints_a_pixel),
        cmocka_unit_test(test_sslc_run_writes_pictures),
        cmocka_unit_test(test_sslc_run_reports_faults),
        cmocka_unit_test(test_sslc_bench),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
