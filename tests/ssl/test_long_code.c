/* Kernels of thousands of statements, for which LLVM generates code with fewer passes: they give the bits of those that are compiled with
 * all of LLVM's, at every width, in values and in the derivatives that lookups get. */
#include "base/str.h"
#include "tools/ssl_kit/grid_host.h"
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

/* More instructions of LLVM than this are long code. */
enum { GROUPS = 300, LONG_CODE = 10000, POINTS = 32, COORD_FLOATS = 7 };

static const SslGlobalRow globals[] = {
    {.name = "uvw", .type = SSL_POINT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "position", .type = SSL_POINT, .has_derivs = true, .space = "", .doc = ""}};

typedef struct Results {
    float output[POINTS], coord[POINTS][COORD_FLOATS];
} Results;

/* Sums to which every group of statements adds, so that none is forgotten in values or derivatives; their sines and branches
 * differ from point to point. */
static void write_shader(StrBuf *out)
{
    strbuf_append_c(out, "texture2d t;\nshader main(out float o) {\n    float s = 0, q = 0;\n"
                         "    const float x = global_value<uvw>.x, y = global_value<uvw>.y;\n"
                         "    const float z = global_value<position>.x;\n");
    for (uint32_t i = 1; i <= GROUPS; ++i)
        strbuf_printf(out,
                      "    s += sin(x * %u.25 + 0.01 * q) * sqrt(abs(y * z) + %u.5);\n"
                      "    if (y + 0.001 * s > %u.0 / %d) q = 0.999 * q + max(z * %u.0, s) / 64;\n",
                      i % 9 + 1, i % 7, i, GROUPS, i % 5 + 1);
    strbuf_append_c(out, "    o = texture2d_sample<t>(s / 64, q).x + q;\n}\n");
}

static void fill(GridHost *host)
{
    for (uint32_t row = 0; row < 2; ++row)
        for (uint32_t shadow = 0; shadow < 3; ++shadow)
            for (uint32_t k = 0; k < 3; ++k)
                for (uint32_t i = 0; i < POINTS; ++i)
                    *grid_host_global(host, row, shadow, k, i) =
                        (float)((i * 7 + row * 5 + shadow * 3 + k) % 31) / 31.0f - 0.25f;
}

static void run(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how, Results *out)
{
    SslProgram *program = NULL;
    GridHost *host = NULL;
    Error err = {0};
    memset(out, 0, sizeof *out);
    if (ssl_program_build(ctx, unit, how, NULL, &program, &err) != STATUS_OK ||
        grid_host_create(program, globals, 2, POINTS, &host, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    fill(host);
    grid_host_run(host);
    SslOutputSlot slot = ssl_program_info(program)->outputs[0];
    uint32_t kept;
    uint64_t count;
    const GridLookup *lookups = grid_host_lookups(host, &kept, &count);
    assert_int_equal(kept, POINTS);
    for (uint32_t i = 0; i < POINTS; ++i) {
        out->output[i] = grid_host_float(host, slot, 0, i);
        assert_true(lookups[i].point < POINTS);
        memcpy(out->coord[lookups[i].point], lookups[i].coord, sizeof out->coord[0]);
    }
    grid_host_destroy(host);
    ssl_program_release(program);
}

static void check_is_long(const SslUnit *unit)
{
    const SslBuildDesc how = {.size_bytes = sizeof how};
    StrBuf text = {0};
    Error err = {0};
    uint32_t lines = 0;
    assert_int_equal(ssl_unit_dump(unit, &how, SSL_DUMP_LLVM_OPTIMISED, NULL, &text, &err),
                     STATUS_OK);
    for (const char *at = strbuf_text(&text); (at = strchr(at, '\n')); ++at)
        ++lines;
    strbuf_free(&text);
    assert_true(lines > LONG_CODE);
}

static void test_long_code_has_the_same_bits(void **state)
{
    (void)state;
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = 2};
    SslContext *ctx = NULL;
    SslUnit *unit = NULL;
    Error err = {0};
    Results all_passes, fewer;
    StrBuf text = {0};
    write_shader(&text);
    const SslSource source = {"long.ssl", str_from(strbuf_text(&text)), NULL};
    DiagList *diags = diag_list_create();
    if (ssl_context_create(&tables, &ctx, &err) != STATUS_OK ||
        ssl_unit_compile(ctx, &source, diags, &unit) != STATUS_OK)
        fail_msg("%s", err.text);
    diag_list_destroy(diags);
    check_is_long(unit);
    run(ctx, unit, &(SslBuildDesc){.size_bytes = sizeof(SslBuildDesc), .llvm_level = 3, .lanes = 8},
        &all_passes);
    assert_true(all_passes.output[0] != all_passes.output[1] && all_passes.coord[0][2] != 0);
    static const uint32_t widths[] = {1, 8, 16};
    for (size_t i = 0; i < SORT_COUNT_OF(widths); ++i) {
        const SslBuildDesc how = {.size_bytes = sizeof how, .lanes = widths[i]};
        run(ctx, unit, &how, &fewer);
        assert_memory_equal(&fewer, &all_passes, sizeof fewer);
    }
    ssl_unit_release(unit);
    ssl_context_destroy(ctx);
    strbuf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long_code_has_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
