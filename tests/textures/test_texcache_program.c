/* The program `texcache`: what it prints, what it leaves behind, how it exits. Its path is the first
 * argument of this test. */
#include "base/file.h"
#include "base/image/png_write.h"
#include "base/json.h"
#include "base/process.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include <string.h>

static const char *program;

/* Runs texcache with up to 7 arguments; the result is to be freed. */
static ProcessResult run(const char *const *arguments)
{
    const char *argv[9] = {program};
    for (uint32_t i = 0; i < 7 && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .standard_output = PROCESS_CAPTURE,
                        .standard_error = PROCESS_CAPTURE};
    ProcessResult result;
    Error err = {0};
    if (process_run(&desc, 60000, &result, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(result.has_exited);
    return result;
}

static void expect(const char *const *arguments, int exit_code, const char *output,
                   const char *errors)
{
    ProcessResult result = run(arguments);
    if (result.exit_code != exit_code || !strstr(strbuf_text(&result.output), output) ||
        !strstr(strbuf_text(&result.errors), errors)) {
        fail_msg("exit code %d, output '%s', errors '%s'", result.exit_code,
                 strbuf_text(&result.output), strbuf_text(&result.errors));
    }
    process_result_free(&result);
}

#define EXPECT(exit_code, output, errors, ...)                                                     \
    expect((const char *const[]){__VA_ARGS__, NULL, NULL, NULL, NULL, NULL, NULL, NULL},           \
           exit_code, output, errors)

static const char *write_png(const char *name)
{
    const char *path = fixture_path(name);
    static uint8_t pixels[150 * 100 * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i / 99);
    Error err = {0};
    if (png_write(path, 150, 100, 3, pixels, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return path;
}

static void test_texcache_program_makes_and_inspects(void **state)
{
    SORT_UNUSED(state);
    const char *png = write_png("a.png"), *stex = fixture_path("a.stex"),
               *other = fixture_path("b.stex");
    EXPECT(0, "150 x 100, 8 levels", "", "make", png);
    assert_true(file_exists(stex));
    EXPECT(0, "150 x 100, 3 channels of u8, srgb", "", "info", stex);
    EXPECT(0, "", "", "make", png, "-o", other, "--color-space", "raw", "--quiet");
    EXPECT(0, "3 channels of u8, raw", "", "info", other);
    EXPECT(0, "", "", "make", png, "-q", "-o", other, "--wrap=mirror", "--compression=zlib");
    EXPECT(0, "mirror, mirror", "", "info", other);
    EXPECT(0, "compressed (zlib)", "", "info", other);

    ProcessResult result = run((const char *const[]){"info", "--json", stex, NULL});
    assert_int_equal(result.exit_code, 0);
    JsonDoc *doc;
    JsonCursor root;
    Error err = {0};
    Str text = {result.output.data, result.output.size_bytes};
    uint32_t width = 0;
    if (json_parse("info", text, &doc, &err) != STATUS_OK ||
        json_root_object(doc, &root, &err) != STATUS_OK ||
        json_get_u32(&root, "width", JSON_REQUIRED, 0, 1000, &width, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(width, 150);
    json_destroy(doc);
    process_result_free(&result);
}

static void test_texcache_program_refuses_clearly(void **state)
{
    SORT_UNUSED(state);
    const char *png = write_png("c.png"), *stex = fixture_path("c.stex");
    EXPECT(2, "", "unknown command 'mke'; did you mean 'make'?", "mke");
    EXPECT(2, "", "IMAGE is missing", "make");
    EXPECT(2, "", "did you mean '--color-space'?", "make", png, "--colour-space", "raw");
    EXPECT(2, "", "none of periodic", "make", png, "--wrap", "round");
    EXPECT(1, "", "cannot be opened", "make", fixture_path("absent.png"));
    EXPECT(1, "", "suffix", "make", "/etc/hostname");
    EXPECT(1, "", "cannot be opened", "info", stex);
    EXPECT(1, "", "not a paged texture", "info", png);
    Error err = {0};
    assert_int_equal(file_write(png, "no picture", 10, &err), STATUS_OK);
    EXPECT(1, "", "c.png", "make", png);
    assert_false(file_exists(stex));
    EXPECT(1, "", "folder", "make", write_png("d.png"), "-o", fixture_path("no/folder/d.stex"));
    EXPECT(0, "Commands:", "", "--help");
    EXPECT(0, "--compression", "", "make", "--help");
}

static int setup(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    return 0;
}

static int teardown(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    program = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texcache_program_makes_and_inspects),
        cmocka_unit_test(test_texcache_program_refuses_clearly),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
