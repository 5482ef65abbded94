/* [Filtered] functions: against closed forms and means of the shader without the mark over footprints, which stay what it says where
 * nothing changes, at every width, with derivatives; and a distant plane with one sample against many. */
#include "base/check.h"
#include "base/hash.h"
#include "ssl/context.h"
#include "tools/ssl_kit/grid_host.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "uv", .type = SSL_FLOAT2, .has_derivs = true, .space = "", .doc = ""},
};
static const SslGlobalRow wide_globals[] = {
    {.name = "uv", .type = SSL_FLOAT2, .has_derivs = true, .space = "", .doc = ""},
    {.name = "sample_width", .type = SSL_FLOAT, .space = "", .doc = ""},
};
enum { UV, SAMPLE_WIDTH };

static int setup(void **state)
{
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = SORT_COUNT_OF(globals)};
    Error err = {0};
    SslContext *ctx;
    if (ssl_context_create(&tables, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    *state = ctx;
    return 0;
}

static int teardown(void **state)
{
    ssl_context_destroy(*state);
    return 0;
}

/* --- patterns ----------------------------------------------------------------------------------- */

static const char bricks[] = "const float x = u + (int(floor(v)) % 2 == 0 ? 0.0 : 0.5);\n"
                             "return fract(x) < 0.1 || fract(v) < 0.3 * k ? 1.0 : 0.0;";
static const char shifted_stripes[] = "const float x = u + 0.5 * float(int(floor(v)) & 1);\n"
                                      "if (fract(x) < 0.1) return 1.0; else return 0.0;";

/* Each is a function body that gives a float from u and v, and from k in (0, 1). */
static const char *const patterns[] = {
    "return u < k ? 2.0 : 0.5;",
    "if (u >= k) return 0.25; return 1.0;",
    "return fract(u) < k ? 1.0 : 0.0;",
    "float r = 1; if (abs(fract(v) - 0.5) < 0.5 * k) r = 2; return r;",
    "return float((int(floor(u)) + int(floor(v))) & 1);",
    "return (int(floor(u)) + int(floor(v))) % 2 == 0 ? k : 1.0;",
    "return mod(floor(u) + floor(v), 2.0) < 0.5 ? 1.0 : 0.0;",
    "return fract(u) < k || fract(v) < 0.3 ? 0.0 : 1.0;",
    "return u > 0.3 && u < 0.3 + k ? 1.0 : 0.0;",
    "return !(u > 0.3 && v < k) ? 1.0 : 0.0;",
    "return sin(6.28318531 * u) > k ? 1.0 : 0.0;",
    "return min(mod(u, 1.5), 1.5 - mod(u, 1.5)) < 0.3 * k ? 1.0 : 0.0;",
    "return step(k, fract(v)) * step(0.25, fract(u));",
    "const int row = int(floor(v / 0.7)); return v - 0.7 * row < 0.5 * k ? 1.0 : 0.0;",
    "const bool a = fract(u) < k; float r = a ? 1.0 : 0.0; if (!a) r = 0.5; return r;",
    bricks,
    shifted_stripes,
    "const float m = fract(v) < k ? 1.0 : 0.0; return m > 0.5 ? 0.25 : 0.75;",
    "return float(fract(v) < k) + (k > 0.5 ? 1.0 : 0.0);",
    "return fract(u) < k ? 1 : 0;",
    "const int n = fract(v) < k ? 3 : 1; return n * 0.25 * (fract(u) < 0.3 ? 2 : 1);",
};
enum { PATTERNS = SORT_COUNT_OF(patterns), TEXT_MAX = 1024 };

static const char *shader_of(const char *body, bool is_filtered, char text[TEXT_MAX])
{
    int length = snprintf(text, TEXT_MAX,
                          "%sfloat pattern(float u, float v, float k)\n{\n%s\n}\n"
                          "shader main(float k = 0.4, float scale = 1, out float o)\n"
                          "{\n    const float2 p = scale * global_value<uv>;\n"
                          "    o = pattern(p.x, p.y, k);\n}\n",
                          is_filtered ? "[Filtered] " : "", body);
    ASSERT(length > 0 && length < TEXT_MAX);
    return text;
}

typedef struct Run {
    SslUnit *unit;
    SslProgram *program;
    GridHost *grid;
    uint32_t count;
} Run;

static void fail_with(const DiagList *diags, const Error *err)
{
    StrBuf text = {0};
    diag_print(diags, &text);
    print_error("%s%s\n", strbuf_text(&text), err->text);
    strbuf_free(&text);
    fail();
}

static Run run_unit(SslContext *ctx, SslUnit *unit, uint32_t count, uint32_t lanes)
{
    Run r = {.unit = unit, .count = count};
    Error err = {0};
    const SslBuildDesc build = {.size_bytes = sizeof build, .lanes = lanes};
    if (ssl_program_build(ctx, unit, &build, NULL, &r.program, &err) != STATUS_OK ||
        grid_host_create(r.program, globals, SORT_COUNT_OF(globals), count, &r.grid, &err) !=
            STATUS_OK)
        fail_msg("%s", err.text);
    return r;
}

static SslUnit *compile(SslContext *ctx, const char *text)
{
    SslUnit *unit;
    DiagList *diags = diag_list_create();
    const SslSource src = {.name = "test.ssl", .text = str_from(text)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK || diag_count(diags) > 0)
        fail_with(diags, &(Error){0});
    diag_list_destroy(diags);
    return unit;
}

static Run run_text(SslContext *ctx, const char *text, uint32_t count, uint32_t lanes)
{
    return run_unit(ctx, compile(ctx, text), count, lanes);
}

static Run run_pattern(SslContext *ctx, uint32_t pattern, bool is_filtered, uint32_t count,
                       uint32_t lanes)
{
    char text[TEXT_MAX];
    return run_text(ctx, shader_of(patterns[pattern], is_filtered, text), count, lanes);
}

static void release(Run *r)
{
    grid_host_destroy(r->grid);
    ssl_program_release(r->program);
    ssl_unit_release(r->unit);
}

static void set_param(const Run *r, uint32_t param, float x)
{
    Error err = {0};
    const SslValue value = {.type = SSL_FLOAT, .f = {x}};
    if (ssl_params_set(r->program, grid_host_params(r->grid), param, &value, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* A point and its footprint. */
typedef struct Point {
    float u, v, dudx, dvdx, dudy, dvdy;
} Point;

static void set_point(const Run *r, uint32_t i, const Point *p)
{
    const float values[3][2] = {{p->u, p->v}, {p->dudx, p->dvdx}, {p->dudy, p->dvdy}};
    for (uint32_t shadow = 0; shadow < 3; ++shadow)
        for (uint32_t c = 0; c < 2; ++c) {
            float *at = grid_host_global(r->grid, UV, shadow, c, i);
            if (at)
                *at = values[shadow][c];
        }
}

static void shade(const Run *r)
{
    grid_host_run(r->grid);
}

static float result(const Run *r, uint32_t output, uint32_t i)
{
    return grid_host_float(r->grid, ssl_program_info(r->program)->outputs[output], 0, i);
}

/* In [0, 1). */
static float random_at(uint32_t i)
{
    return (float)(hash_mix64(i + 1) >> 40) * 0x1p-24f;
}

/* A footprint of which u changes along x and v along y, with sizes from 0.01 to 10. */
static Point straight_point(uint32_t i)
{
    return (Point){.u = 8 * random_at(8 * i) - 4,
                   .v = 8 * random_at(8 * i + 1) - 4,
                   .dudx = powf(10, 3 * random_at(8 * i + 2) - 2),
                   .dvdy = -powf(10, 3 * random_at(8 * i + 3) - 2)};
}

/* --- closed forms --------------------------------------------------------------------------------- */

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* The integral from 0 to t of 1 where t - floor(t) < k, 0 elsewhere. */
static double pulses(double t, double k)
{
    return floor(t) * k + fmin(t - floor(t), k);
}

static double mean_of_pulse(double t, double width, double k)
{
    return (pulses(t + width / 2, k) - pulses(t - width / 2, k)) / width;
}

static double mean_of_stripes(double t, double width) /* 1 in even cells, -1 in odd ones */
{
    return 2 * mean_of_pulse(t / 2, width / 2, 0.5) - 1;
}

static void test_closed_forms(void **state)
{
    enum { COUNT = 4000 };
    static const uint32_t which[] = {0, 2, 4, 7};
    const double k = (double)0.4f;
    for (uint32_t n = 0; n < SORT_COUNT_OF(which); ++n) {
        Run r = run_pattern(*state, which[n], true, COUNT, 0);
        set_param(&r, 1, 1.0f);
        for (uint32_t i = 0; i < COUNT; ++i) {
            Point p = straight_point(i);
            if (i % 2 == 0) { /* magnified, up to 1e-6 */
                p.dudx *= powf(10, -4 * random_at(i));
                p.dvdy *= powf(10, -4 * random_at(i));
            }
            set_point(&r, i, &p);
        }
        set_param(&r, 0, 0.4f);
        shade(&r);
        for (uint32_t i = 0; i < COUNT; ++i) {
            double u = (double)*grid_host_global(r.grid, UV, 0, 0, i);
            double v = (double)*grid_host_global(r.grid, UV, 0, 1, i), wide[2];
            wide[0] = fabs((double)*grid_host_global(r.grid, UV, 1, 0, i));
            wide[1] = fabs((double)*grid_host_global(r.grid, UV, 2, 1, i));
            double wanted = 0;
            if (which[n] == 0)
                wanted = 0.5 + 1.5 * clamp01(0.5 + (k - u) / wide[0]);
            else if (which[n] == 2)
                wanted = mean_of_pulse(u, wide[0], k);
            else if (which[n] == 4)
                wanted = (1 - mean_of_stripes(u, wide[0]) * mean_of_stripes(v, wide[1])) / 2;
            else
                wanted = (1 - mean_of_pulse(u, wide[0], k)) *
                         (1 - mean_of_pulse(v, wide[1], (double)0.3f));
            /* u has the relative precision of a float, by which its phase is divided. */
            double error = fabs((double)result(&r, 0, i) - wanted);
            double unit = 1e-6 + 4e-7 / fmin(wide[0], wide[1]);
            if (!(error <= unit))
                fail_msg("pattern %u at (%.9g %.9g), widths %g %g: %.9g and not %.9g", which[n], u,
                         v, wide[0], wide[1], (double)result(&r, 0, i), wanted);
        }
        release(&r);
    }
}

/* --- means of the shader without the mark ----------------------------------------------------------- */

/* Returns the largest error, and the mean of errors. */
static double compare_means(SslContext *ctx, uint32_t pattern, double angle, double *out_mean)
{
    enum { COUNT = 24, SAMPLES = 1 << 14 };
    Run filtered = run_pattern(ctx, pattern, true, COUNT, 0);
    Run plain = run_pattern(ctx, pattern, false, SAMPLES, 0);
    double largest = 0, sum = 0;
    for (uint32_t i = 0; i < COUNT; ++i) {
        Point p = straight_point(i + 97 * pattern);
        const float c = (float)cos(angle), s = (float)sin(angle), du = p.dudx, dv = p.dvdy;
        p.dudx = c * du, p.dudy = s * du;
        p.dvdx = -s * dv, p.dvdy = c * dv;
        set_point(&filtered, i, &p);
    }
    shade(&filtered);
    for (uint32_t i = 0; i < COUNT; ++i) {
        Point p = straight_point(i + 97 * pattern);
        const float c = (float)cos(angle), s = (float)sin(angle), du = p.dudx, dv = p.dvdy;
        double mean = 0;
        for (uint32_t k = 0; k < SAMPLES; ++k) {
            /* A lattice of rank 1: each of the positions along an axis has one point. */
            float x = ((float)k + 0.5f) / SAMPLES - 0.5f;
            float y = (float)((k * 6229u) % SAMPLES) / SAMPLES + 0.5f / SAMPLES - 0.5f;
            set_point(&plain, k,
                      &(Point){.u = p.u + du * (c * x + s * y), .v = p.v + dv * (c * y - s * x)});
        }
        shade(&plain);
        for (uint32_t k = 0; k < SAMPLES; ++k)
            mean += (double)result(&plain, 0, k) / SAMPLES;
        double error = fabs(mean - (double)result(&filtered, 0, i));
        sum += error / COUNT;
        largest = fmax(largest, error);
    }
    release(&filtered);
    release(&plain);
    *out_mean = sum;
    return largest;
}

static void test_means(void **state)
{
    for (uint32_t pattern = 0; pattern < PATTERNS; ++pattern) {
        double mean, turned, largest = compare_means(*state, pattern, 0, &mean);
        double largest_turned = compare_means(*state, pattern, 0.5, &turned);
        print_message("%2u: off by %.4f, mean %.4f; turned %.4f, mean %.4f\n", pattern, largest,
                      mean, largest_turned, turned);
        /* Bricks that are shifted by the parity of their row: the rows' edges and their parity are not independent. */
        bool is_correlated = patterns[pattern] == bricks;
        assert_true(largest <= (is_correlated ? 0.06 : 1.0 / 255) &&
                    mean <= (is_correlated ? 4e-3 : 1e-3));
        assert_true(largest_turned <= 0.2 && turned <= 0.04);
    }
}

/* --- what must not change --------------------------------------------------------------------------- */

static void assert_same_bits(const Run *a, const Run *b)
{
    for (uint32_t i = 0; i < a->count; ++i) {
        float x = result(a, 0, i), y = result(b, 0, i);
        if (memcmp(&x, &y, sizeof x) != 0)
            fail_msg("point %u: %.9g and %.9g", i, (double)x, (double)y);
    }
}

static void test_points_without_footprint(void **state)
{
    enum { COUNT = 500 };
    for (uint32_t pattern = 0; pattern < PATTERNS; ++pattern) {
        Run filtered = run_pattern(*state, pattern, true, COUNT, 0);
        Run plain = run_pattern(*state, pattern, false, COUNT, 0);
        for (uint32_t i = 0; i < COUNT; ++i) {
            Point p = {.u = 8 * random_at(2 * i) - 4, .v = 8 * random_at(2 * i + 1) - 4};
            if (i % 5 == 0)
                p.u = roundf(p.u), p.v = roundf(p.v);
            if (i % 7 == 0)
                p.u *= 1e7f;
            if (i % 49 == 0)
                p.v = i % 2 ? NAN : INFINITY;
            set_point(&filtered, i, &p);
            set_point(&plain, i, &p);
        }
        shade(&filtered);
        shade(&plain);
        assert_same_bits(&filtered, &plain);
        release(&filtered);
        release(&plain);
    }
}

/* A function with the mark that is not called, and one without a comparison, change no IR. */
static void test_nothing_changes_elsewhere(void **state)
{
    static const char plain[] = "float f(float x) { return x < 0.5 ? 1.0 : x; }\n"
                                "shader main(out float o) { o = f(global_value<uv>.x); }\n";
    static const char other[] = "[Filtered] float g(float x) { return x < 0.5 ? 1.0 : x; }\n"
                                "float f(float x) { return x < 0.5 ? 1.0 : x; }\n"
                                "shader main(out float o) { o = f(global_value<uv>.x); }\n";
    const char *const sources[] = {plain, other};
    StrBuf text[2] = {0};
    Error err = {0};
    DiagList *diags = diag_list_create();
    for (uint32_t i = 0; i < 2; ++i) {
        SslUnit *unit = compile(*state, sources[i]);
        if (ssl_unit_dump(unit, NULL, SSL_DUMP_IR_FINAL, diags, &text[i], &err) != STATUS_OK)
            fail_with(diags, &err);
        ssl_unit_release(unit);
    }
    assert_string_equal(strbuf_text(&text[0]), strbuf_text(&text[1]));
    assert_null(strstr(strbuf_text(&text[0]), "ddx"));
    for (uint32_t i = 0; i < 2; ++i)
        strbuf_free(&text[i]);
    diag_list_destroy(diags);
}

/* --- numbers of any size, any width ----------------------------------------------------------------- */

static void test_extreme_footprints(void **state)
{
    enum { COUNT = 512 };
    static const float sizes[] = {0, 1e-38f, 1e-20f, 1, 1e20f, FLT_MAX, -FLT_MAX, 3};
    for (uint32_t pattern = 0; pattern < PATTERNS; ++pattern) {
        Run r = run_pattern(*state, pattern, true, COUNT, 0);
        for (uint32_t i = 0; i < COUNT; ++i)
            set_point(&r, i,
                      &(Point){.u = 4 * random_at(i),
                               .v = 4 * random_at(i + COUNT),
                               .dudx = sizes[i & 7],
                               .dudy = sizes[i >> 3 & 7],
                               .dvdx = sizes[i >> 6 & 7],
                               .dvdy = sizes[7 - (i & 7)]});
        shade(&r);
        for (uint32_t i = 0; i < COUNT; ++i)
            if (!isfinite(result(&r, 0, i)) || fabsf(result(&r, 0, i)) > 4)
                fail_msg("pattern %u, point %u: %g", pattern, i, (double)result(&r, 0, i));
        release(&r);
    }
}

/* Footprints and values that are infinite inside the shader. */
static void test_singular_values(void **state)
{
    static const char text[] = "[Filtered] shader main(out float o)\n{\n"
                               "    const float2 p = global_value<uv>;\n"
                               "    o = 1 / p.x < 3 ? 1.0 : 2.0;\n"
                               "    o += fract(1 / p.x) < 0.5 ? 1.0 : 2.0;\n"
                               "    o += p.x > 0 ? 1 / sqrt(p.x) : 0;\n"
                               "    if (pow(p.y, 0.1) < 0.5) o += log(p.y); else o += p.y;\n"
                               "    o += mod(p.x, p.y) < 0.5 ? 1.0 : 2.0;\n}\n";
    static const float values[] = {0, 1e-30f, 1e-10f, 0.25f, -1, 1e10f, 1e30f, 0.5f};
    Run r = run_text(*state, text, 64, 0);
    for (uint32_t i = 0; i < 64; ++i)
        set_point(&r, i, &(Point){.u = values[i & 7], .v = values[i >> 3], .dudx = 1, .dvdy = 1});
    shade(&r);
    for (uint32_t i = 0; i < 64; ++i)
        assert_false(isnan(result(&r, 0, i)));
    release(&r);
}

static void test_widths(void **state)
{
    enum { COUNT = 203 };
    static const uint32_t widths[] = {1, 4, 8, 16};
    for (uint32_t pattern = 0; pattern < PATTERNS; ++pattern) {
        Run runs[SORT_COUNT_OF(widths)];
        for (uint32_t w = 0; w < SORT_COUNT_OF(widths); ++w) {
            runs[w] = run_pattern(*state, pattern, true, COUNT, widths[w]);
            for (uint32_t i = 0; i < COUNT; ++i) {
                Point p = straight_point(i);
                p.dudy = 0.3f * p.dudx * random_at(i);
                set_point(&runs[w], i, &p);
            }
            shade(&runs[w]);
            assert_same_bits(&runs[0], &runs[w]);
        }
        for (uint32_t w = 0; w < SORT_COUNT_OF(widths); ++w)
            release(&runs[w]);
    }
}

/* --- derivatives -------------------------------------------------------------------------------------- */

/* The derivatives by k and scale, which changes the footprint, against differences; both modes. */
static void test_gradients(void **state)
{
    enum { COUNT = 96 };
    for (uint32_t pattern = 0; pattern < PATTERNS; ++pattern) {
        char text[TEXT_MAX];
        Error err = {0};
        DiagList *diags = diag_list_create();
        SslUnit *unit = compile(*state, shader_of(patterns[pattern], true, text)), *made[2];
        for (uint32_t mode = 0; mode < 2; ++mode) {
            const SslDerivativeInput inputs[] = {{SSL_INPUT_PARAM, "k"},
                                                 {SSL_INPUT_PARAM, "scale"}};
            const char *const outputs[] = {"o"};
            const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                           .is_backward = mode == 1,
                                           .inputs = inputs,
                                           .outputs = outputs,
                                           .input_count = 2,
                                           .output_count = 1,
                                           .direction_count = mode == 0 ? 1 : 0};
            if (ssl_unit_differentiate(unit, &how, diags, &made[mode], &err) != STATUS_OK)
                fail_with(diags, &err);
        }
        diag_list_destroy(diags);
        Run value = run_unit(*state, unit, COUNT, 0);
        Run forward = run_unit(*state, made[0], COUNT, 0);
        Run backward = run_unit(*state, made[1], COUNT, 0);
        uint32_t compared = 0, moved = 0;
        for (uint32_t i = 0; i < COUNT; ++i) {
            const Point p = straight_point(i);
            set_point(&value, i, &p);
            set_point(&forward, i, &p);
            set_point(&backward, i, &p);
            *grid_host_attribute(backward.grid, 0, 0, 0, i) = 1;
        }
        shade(&backward);
        for (uint32_t param = 0; param < 2; ++param) {
            const float at[2] = {0.4f, 1.0f}, h = 0x1p-9f;
            float sides[3][COUNT];
            set_param(&forward, 2, param == 0);
            set_param(&forward, 3, param == 1);
            shade(&forward);
            for (uint32_t s = 0; s < 3; ++s) {
                set_param(&value, param, at[param] + ((float)s - 1) * h);
                shade(&value);
                for (uint32_t i = 0; i < COUNT; ++i)
                    sides[s][i] = result(&value, 0, i);
            }
            set_param(&value, param, at[param]);
            for (uint32_t i = 0; i < COUNT; ++i) {
                float left = (sides[1][i] - sides[0][i]) / h,
                      right = (sides[2][i] - sides[1][i]) / h;
                float f = result(&forward, 1, i), g = result(&backward, param, i);
                float scale = fmaxf(1, fabsf(left) + fabsf(right));
                if (fabsf(f - g) > 1e-4f * scale)
                    fail_msg("pattern %u: forward %g, backward %g", pattern, (double)f, (double)g);
                if (fabsf(left - right) > 0.02f * scale)
                    continue; /* a kink lies between */
                ++compared;
                moved += fabsf(f) > 1e-3f;
                if (fabsf(f - 0.5f * (left + right)) > 0.03f * scale)
                    fail_msg("pattern %u, parameter %u, point %u: %g and not %g or %g", pattern,
                             param, i, (double)f, (double)left, (double)right);
            }
        }
        assert_true(compared > COUNT && moved > 10);
        release(&value);
        release(&forward);
        release(&backward);
    }
}

/* --- a distant plane ------------------------------------------------------------------------------------ */

/* The plane y = -1 seen from the origin: rows of pixels from 4 to 64 degrees below the horizon or so. */
static Point on_plane(double x, double y)
{
    const double z = 1 / y; /* the depth; u = x z */
    return (Point){.u = (float)(x * z),
                   .v = (float)z,
                   .dudx = (float)z,
                   .dudy = (float)(-x * z * z),
                   .dvdy = (float)(-z * z)};
}

static double relative_mse(const double *picture, const double *wanted, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i)
        sum += (picture[i] - wanted[i]) * (picture[i] - wanted[i]) /
               (wanted[i] * wanted[i] + 1e-2) / count;
    return sum;
}

static void test_distant_planes(void **state)
{
    enum { WIDTH = 64, HEIGHT = 64, PIXELS = WIDTH * HEIGHT, SAMPLES = 1024 };
    static const struct {
        const char *name, *body;
    } planes[] = {
        {"checker", "return (int(floor(4 * u)) + int(floor(4 * v))) % 2 == 0 ? 0.2 : 0.8;"},
        {"bricks", "const float x = 4 * u + (int(floor(8 * v)) % 2 == 0 ? 0.0 : 0.5);\n"
                   "return fract(x) < 0.1 || fract(8 * v) < 0.15 ? 0.8 : 0.2;"},
        {"stripes", "return fract(6 * u) < 0.3 ? 0.2 : 0.8;"},
    };
    const double step = 1.0 / WIDTH;
    static double wanted[PIXELS], pictures[2][PIXELS];
    for (uint32_t n = 0; n < SORT_COUNT_OF(planes); ++n) {
        char text[TEXT_MAX];
        double mse[2], mean[3] = {0};
        for (uint32_t kind = 0; kind < 2; ++kind) {
            Run r = run_text(*state, shader_of(planes[n].body, kind == 1, text), PIXELS, 0);
            const uint32_t samples = kind == 0 ? SAMPLES : 1;
            memset(kind == 0 ? wanted : pictures[1], 0, sizeof wanted);
            for (uint32_t s = 0; s < samples; ++s) {
                for (uint32_t i = 0; i < PIXELS; ++i) {
                    double x = kind == 0 ? (double)random_at(2 * (s * PIXELS + i)) : 0.5;
                    double y = kind == 0 ? (double)random_at(2 * (s * PIXELS + i) + 1) : 0.5;
                    Point p = on_plane((i % WIDTH + x) * step - 0.5, (i / WIDTH + y + 2) * step);
                    p.dudx *= (float)step, p.dudy *= (float)step, p.dvdy *= (float)step;
                    set_point(&r, i, &p);
                }
                shade(&r);
                for (uint32_t i = 0; i < PIXELS; ++i) {
                    double x = (double)result(&r, 0, i);
                    if (kind == 0 && s == 0)
                        pictures[0][i] = x;
                    if (kind == 0)
                        wanted[i] += x / SAMPLES;
                    else
                        pictures[1][i] = x;
                }
            }
            release(&r);
        }
        for (uint32_t i = 0; i < PIXELS; ++i) {
            mean[0] += wanted[i] / PIXELS;
            mean[1] += pictures[1][i] / PIXELS;
        }
        for (uint32_t kind = 0; kind < 2; ++kind)
            mse[kind] = relative_mse(pictures[kind], wanted, PIXELS);
        print_message("%s: relative MSE with 1 sample %.4g, filtered %.4g (%.1f times less); "
                      "means %.4f, %.4f\n",
                      planes[n].name, mse[0], mse[1], mse[0] / mse[1], mean[0], mean[1]);
        assert_true(mse[1] * 25 < mse[0]);
        assert_true(fabs(mean[0] - mean[1]) < 2e-3);
    }
}

/* --- the width of a sample -------------------------------------------------------------------------------- */

static void test_sample_width(void **state)
{
    SORT_UNUSED(state);
    const SslContextDesc tables = {.size_bytes = sizeof tables,
                                   .globals = wide_globals,
                                   .global_count = SORT_COUNT_OF(wide_globals)};
    Error err = {0};
    SslContext *ctx;
    char text[TEXT_MAX];
    if (ssl_context_create(&tables, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    Run r = {.unit = compile(ctx, shader_of(patterns[0], true, text)), .count = 16};
    const SslBuildDesc build = {.size_bytes = sizeof build};
    if (ssl_program_build(ctx, r.unit, &build, NULL, &r.program, &err) != STATUS_OK ||
        grid_host_create(r.program, wide_globals, SORT_COUNT_OF(wide_globals), 16, &r.grid, &err) !=
            STATUS_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < 16; ++i) {
        set_point(&r, i, &(Point){.u = 0.45f, .dudx = 1});
        *grid_host_global(r.grid, SAMPLE_WIDTH, 0, 0, i) = (float)i / 16;
    }
    shade(&r);
    for (uint32_t i = 0; i < 16; ++i) {
        double wide = i / 16.0;
        double k = i == 0 ? 0 : clamp01(0.5 + ((double)0.4f - (double)0.45f) / wide);
        assert_true(fabs((double)result(&r, 0, i) - (0.5 + 1.5 * k)) < 1e-6);
    }
    release(&r);
    ssl_context_destroy(ctx);
}

/* --- what is said ------------------------------------------------------------------------------------------ */

static void test_notes(void **state)
{
    static const struct {
        const char *body, *note;
    } rows[] = {
        {"return u < k ? 1.0 : 0.0;", "u < k: filtered as an edge\n"},
        {"return fract(u) > k ? 1.0 : 0.0;", "fract(u) > k: filtered as intervals with a period\n"},
        {"return fract(u) * fract(v) > k ? 1.0 : 0.0;",
         "filtered as an edge, where the footprint is less than half a period\n"},
        {"return (int(floor(u)) & 1) == 0 ? 1.0 : 0.0;",
         "(int(floor(u)) & 1) == 0: filtered as the parity of whole numbers\n"},
        {"return floor(u) < k ? 1.0 : u < k ? 0.0 : 2.0;",
         "floor(u) < k: not filtered: both sides have periods, or one is a sum of roundings\n"},
        {"return fmod(u, 2) < k ? 1.0 : u < k ? 0.0 : 2.0;",
         "fmod(u, 2) < k: not filtered: fmod has another period on each side of 0: write mod\n"},
        {"return u == k ? 1.0 : u < k ? 0.0 : 2.0;",
         "u == k: not filtered: that two numbers are equal has no width\n"},
        {"const float s = int(floor(u)) > 3 ? 0.0 : 2.0; return s < v ? 1.0 : u < k ? 1.0 : 0.0;",
         "s < v: not filtered: a condition without coverage chose what is compared\n"},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        char text[TEXT_MAX];
        StrBuf out = {0};
        Error err = {0};
        DiagList *diags = diag_list_create();
        SslUnit *unit = compile(*state, shader_of(rows[i].body, true, text));
        if (ssl_unit_dump(unit, NULL, SSL_DUMP_FILTER, diags, &out, &err) != STATUS_OK)
            fail_with(diags, &err);
        if (!strstr(strbuf_text(&out), rows[i].note) ||
            strncmp(strbuf_text(&out), "test.ssl:3:", 11) != 0)
            fail_msg("%s\nand not\n%s", strbuf_text(&out), rows[i].note);
        strbuf_free(&out);
        diag_list_destroy(diags);
        ssl_unit_release(unit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_points_without_footprint),
        cmocka_unit_test(test_nothing_changes_elsewhere),
        cmocka_unit_test(test_extreme_footprints),
        cmocka_unit_test(test_singular_values),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_distant_planes),
        cmocka_unit_test(test_sample_width),
        cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests_name("filter", tests, setup, teardown);
}
