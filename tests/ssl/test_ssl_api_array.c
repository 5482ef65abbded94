/* Whole arrays of inputs and outputs through sort_ssl.h: they are what the lines of blocks are, and refusals change nothing. */
#include "ssl/api/sort_ssl.h"
#include <math.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

enum { P, N, IS_BACK, POINTS = 21 }; /* the second block is not full */

static const SortSslGlobal globals[] = {
    {"p", SORT_SSL_POINT, true}, {"n", SORT_SSL_INT, false}, {"is_back", SORT_SSL_BOOL, false}};
static const char text[] =
    "attribute float2 st = float2(0.5, 0.25);\n"
    "struct Two { int i; float f; };\n"
    "shader s(out float a, out point b, out int c, out bool d, out Two e, out float f, out float "
    "g) {\n"
    "  float w[3] = {1, 2, 3};\n"
    "  const point p = global_value<p>; a = p.x * p.y; b = p * 2; c = global_value<n> + 1;\n"
    "  d = !global_value<is_back>; e.i = c; e.f = p.z; f = w[global_value<n> % 5];\n"
    "  g = attribute<st>.y + (attribute_exists<st> ? 100 : 0); }";

typedef struct Host {
    SortSslContext *ctx;
    SortSslUnit *unit;
    SortSslProgram *program;
    SortSslBatch *batch;
} Host;

static int set_up(void **state)
{
    static Host host;
    const SortSslContextDesc desc = {
        .size_bytes = sizeof desc, .globals = globals, .global_count = 3};
    const SortSslSource source = {sizeof source, "array.ssl", text, strlen(text), NULL};
    const SortSslBuildDesc how = {.size_bytes = sizeof how, .output_derivs = true};
    SortSslError err = {0};
    *state = &host;
    if (sort_ssl_context_create(&desc, &host.ctx, &err) ||
        sort_ssl_unit_compile(host.ctx, &source, NULL, &host.unit, &err) ||
        sort_ssl_program_build(host.unit, &how, NULL, &host.program, &err) ||
        sort_ssl_batch_create(host.program, POINTS, &host.batch, &err))
        fail_msg("%s", err.text);
    return 0;
}

static int tear_down(void **state)
{
    Host *host = *state;
    sort_ssl_batch_destroy(host->batch);
    sort_ssl_program_destroy(host->program);
    sort_ssl_unit_destroy(host->unit);
    sort_ssl_context_destroy(host->ctx);
    return 0;
}

#define REFUSED(words, call)                                                                       \
    do {                                                                                           \
        SortSslError err = {0};                                                                    \
        assert_int_equal(call, SORT_SSL_INVALID);                                                  \
        if (!strstr(err.text, words))                                                              \
            fail_msg("'%s' is not in '%s'", words, err.text);                                      \
    } while (0)

static void read_all(const Host *host, const char *output, SortSslShadow shadow, double *numbers,
                     uint32_t each)
{
    SortSslError err = {0};
    if (sort_ssl_batch_read_output(host->batch, sort_ssl_unit_find_output(host->unit, output),
                                   shadow, numbers, (size_t)POINTS * each, &err))
        fail_msg("%s", err.text);
}

static void write_inputs(const Host *host)
{
    double p[POINTS * 3], slope[POINTS * 3], n[POINTS], is_back[POINTS];
    for (int i = 0; i < POINTS; ++i) {
        for (int k = 0; k < 3; ++k) {
            p[i * 3 + k] = i + 0.25 * k;
            slope[i * 3 + k] = k + 1;
        }
        n[i] = i % 7; /* 3 and 4 are out of range: faults */
        is_back[i] = i & 1;
    }
    assert_int_equal(
        sort_ssl_batch_write_global(host->batch, P, SORT_SSL_VALUE, p, POINTS * 3, NULL), 0);
    assert_int_equal(
        sort_ssl_batch_write_global(host->batch, P, SORT_SSL_DDX, slope, POINTS * 3, NULL), 0);
    assert_int_equal(sort_ssl_batch_write_global(host->batch, N, SORT_SSL_VALUE, n, POINTS, NULL),
                     0);
    assert_int_equal(
        sort_ssl_batch_write_global(host->batch, IS_BACK, SORT_SSL_VALUE, is_back, POINTS, NULL),
        0);
}

static void test_ssl_api_array_values(void **state)
{
    const Host *host = *state;
    write_inputs(host);
    double g[POINTS], st[POINTS * 2], a[POINTS], b[POINTS * 3], c[POINTS], d[POINTS], e[POINTS * 2];
    assert_int_equal(sort_ssl_batch_run(host->batch, NULL, NULL), 0);
    read_all(host, "g", SORT_SSL_VALUE, g, 1);
    assert_true(g[0] == 0.25 && g[20] == 0.25); /* no point has the attribute */
    for (int i = 0; i < POINTS * 2; ++i)
        st[i] = i;
    uint32_t attribute = sort_ssl_unit_find_attribute(host->unit, "st");
    assert_int_equal(sort_ssl_batch_write_attribute(host->batch, attribute, SORT_SSL_VALUE, st,
                                                    POINTS * 2, NULL),
                     0);
    assert_int_equal(sort_ssl_batch_run(host->batch, NULL, NULL), 0);
    read_all(host, "g", SORT_SSL_VALUE, g, 1);
    read_all(host, "a", SORT_SSL_VALUE, a, 1);
    read_all(host, "b", SORT_SSL_VALUE, b, 3);
    read_all(host, "c", SORT_SSL_VALUE, c, 1);
    read_all(host, "d", SORT_SSL_VALUE, d, 1);
    read_all(host, "e", SORT_SSL_VALUE, e, 2);
    for (int i = 0; i < POINTS; ++i) {
        assert_true(g[i] == 100 + 2 * i + 1 && a[i] == i * (i + 0.25));
        assert_true(b[i * 3] == 2 * i && b[i * 3 + 2] == 2 * i + 1);
        assert_true(c[i] == i % 7 + 1 && d[i] == !(i & 1));
        assert_true(e[i * 2] == c[i] && e[i * 2 + 1] == i + 0.5);
    }
    read_all(host, "a", SORT_SSL_DDX, a, 1);
    for (int i = 0; i < POINTS; ++i)
        assert_true(a[i] == 2 * i + (i + 0.25));
}

/* Arrays are flushed when they are written, so runs do so no more; a host that has a pointer may write anything at any time. */
static void test_ssl_api_array_subnormal(void **state)
{
    const Host *host = *state;
    double b[POINTS * 3], p[POINTS * 3];
    for (int i = 0; i < POINTS * 3; ++i)
        p[i] = i % 2 ? 1e-40 : -1e-40;
    write_inputs(host);
    for (int has_pointer = 0; has_pointer < 2; ++has_pointer) {
        assert_int_equal(
            sort_ssl_batch_write_global(host->batch, P, SORT_SSL_VALUE, p, POINTS * 3, NULL), 0);
        float *line =
            has_pointer ? sort_ssl_batch_global(host->batch, 0, P, SORT_SSL_VALUE, 0) : NULL;
        if (line)
            line[0] = 1e-40f;
        assert_int_equal(sort_ssl_batch_run(host->batch, NULL, NULL), 0);
        read_all(host, "b", SORT_SSL_VALUE, b, 3);
        for (int i = 0; i < POINTS * 3; ++i)
            assert_true(b[i] == 0.0);
        assert_true(!line || line[0] == 0.0f);
    }
}

static void test_ssl_api_array_infinite_derivative(void **state)
{
    const Host *host = *state;
    double slope[POINTS * 3] = {0};
    write_inputs(host);
    assert_int_equal(sort_ssl_batch_run(host->batch, NULL, NULL), 0);
    slope[7] = (double)INFINITY;
    assert_int_equal(
        sort_ssl_batch_write_global(host->batch, P, SORT_SSL_DDX, slope, POINTS * 3, NULL), 0);
    REFUSED("a derivative of 'p' at point 2 is not finite",
            sort_ssl_batch_run(host->batch, NULL, &err));
    write_inputs(host);
    assert_int_equal(sort_ssl_batch_run(host->batch, NULL, NULL), 0);
}

static void test_ssl_api_array_faults(void **state)
{
    const Host *host = *state;
    write_inputs(host);
    assert_int_equal(sort_ssl_batch_run(host->batch, NULL, NULL), 0);
    assert_int_equal(sort_ssl_batch_next_fault(host->batch, 0), 3);
    assert_int_equal(sort_ssl_batch_next_fault(host->batch, 4), 4);
    assert_int_equal(sort_ssl_batch_next_fault(host->batch, 5), 10);
    assert_int_equal(sort_ssl_batch_next_fault(host->batch, 19), SORT_SSL_NONE);
    assert_int_equal(sort_ssl_batch_next_fault(host->batch, UINT32_MAX), SORT_SSL_NONE);
    assert_int_equal(sort_ssl_batch_next_fault(NULL, 0), SORT_SSL_NONE);
}

static void test_ssl_api_array_refusals(void **state)
{
    const Host *host = *state;
    SortSslBatch *batch = host->batch;
    double x[POINTS * 3] = {0};
    write_inputs(host);
    x[2] = 0.5;
    REFUSED("0.5 is no int",
            sort_ssl_batch_write_global(batch, N, SORT_SSL_VALUE, x, POINTS, &err));
    REFUSED("is no bool",
            sort_ssl_batch_write_global(batch, IS_BACK, SORT_SSL_VALUE, x, POINTS, &err));
    x[2] = 1e39;
    REFUSED("range of a float",
            sort_ssl_batch_write_global(batch, P, SORT_SSL_VALUE, x, POINTS * 3, &err));
    assert_true(sort_ssl_batch_global_int(batch, 0, N)[1] == 1); /* refusals have written nothing */
    assert_true(sort_ssl_batch_global(batch, 0, P, SORT_SSL_VALUE, 0)[5] == 5.0f);
    x[2] = (double)INFINITY;
    assert_int_equal(sort_ssl_batch_write_global(batch, P, SORT_SSL_VALUE, x, POINTS * 3, NULL), 0);
    REFUSED("is 63 numbers, not 21: a point has 3",
            sort_ssl_batch_write_global(batch, P, SORT_SSL_VALUE, x, POINTS, &err));
    REFUSED("no derivatives", sort_ssl_batch_write_global(batch, N, SORT_SSL_DDX, x, POINTS, &err));
    REFUSED("no global 3", sort_ssl_batch_write_global(batch, 3, SORT_SSL_VALUE, x, POINTS, &err));
    REFUSED("no attribute 1",
            sort_ssl_batch_write_attribute(batch, 1, SORT_SSL_VALUE, x, POINTS, &err));
    REFUSED("no SortSslShadow",
            sort_ssl_batch_write_global(batch, P, (SortSslShadow)3, x, POINTS * 3, &err));
    REFUSED("numbers is NULL",
            sort_ssl_batch_write_global(batch, P, SORT_SSL_VALUE, NULL, POINTS * 3, &err));
    REFUSED("batch is NULL",
            sort_ssl_batch_write_attribute(NULL, 0, SORT_SSL_VALUE, x, POINTS, &err));
    uint32_t c = sort_ssl_unit_find_output(host->unit, "c");
    REFUSED("'c' has no derivatives",
            sort_ssl_batch_read_output(batch, c, SORT_SSL_DDY, x, POINTS, &err));
    REFUSED("'e' has no derivatives",
            sort_ssl_batch_read_output(batch, sort_ssl_unit_find_output(host->unit, "e"),
                                       SORT_SSL_DDX, x, POINTS * 2, &err));
    REFUSED("is 21 numbers, not 20",
            sort_ssl_batch_read_output(batch, c, SORT_SSL_VALUE, x, POINTS - 1, &err));
    REFUSED("no output 7", sort_ssl_batch_read_output(batch, 7, SORT_SSL_VALUE, x, POINTS, &err));
    REFUSED("out_numbers is NULL",
            sort_ssl_batch_read_output(batch, c, SORT_SSL_VALUE, NULL, POINTS, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ssl_api_array_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ssl_api_array_subnormal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ssl_api_array_infinite_derivative, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ssl_api_array_faults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ssl_api_array_refusals, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
