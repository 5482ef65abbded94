/* Gradients over edges (SslDerivativeDesc.has_edges) against closed forms: sums over a picture are areas and integrals, whose
 * derivatives are integrals along the edges. */
#include "base/check.h"
#include "ssl/context.h"
#include "ssl/ssl_sum.h"
#include "tools/ssl_kit/grid_edges.h"
#include <math.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "uv", .type = SSL_FLOAT2, .has_derivs = true, .space = "", .doc = ""},
};
enum { UV, SIZE = 64, POINTS = SIZE * SIZE, PARAMS_MAX = 4 };

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

/* --- a shader's gradient ------------------------------------------------------------------------ */

typedef struct Shape {
    SslUnit *plain, *unit;
    SslProgram *program;
    GridHost *grid;
    uint32_t param_count;
} Shape;

static void fail_with(const DiagList *diags, const Error *err)
{
    StrBuf text = {0};
    diag_print(diags, &text);
    print_error("%s%s\n", strbuf_text(&text), err->text);
    strbuf_free(&text);
    fail();
}

/* Coordinates are in pixels: the grid's points are the centers of SIZE x SIZE of them. */
static void set_points(GridHost *grid)
{
    for (uint32_t i = 0; i < POINTS; ++i) {
        *grid_host_global(grid, UV, 0, 0, i) = (float)(i % SIZE) + 0.5f;
        *grid_host_global(grid, UV, 0, 1, i) = (float)(i / SIZE) + 0.5f;
        *grid_host_global(grid, UV, 1, 0, i) = 1;
        *grid_host_global(grid, UV, 2, 1, i) = 1;
    }
}

typedef enum Kind { SMOOTH, SWEPT, MARKED } Kind; /* without edges, with them, marks of them */

/* Differentiates the first output of a shader by all its parameters, which are floats. */
static Shape shape_of(SslContext *ctx, const char *text, Kind kind, uint32_t lanes)
{
    Shape s = {0};
    Error err = {0};
    DiagList *diags = diag_list_create();
    const SslSource src = {.name = "test.ssl", .text = str_from(text)};
    if (ssl_unit_compile(ctx, &src, diags, &s.plain) != STATUS_OK)
        fail_with(diags, &err);
    const SslUnitInfo *info = ssl_unit_info(s.plain);
    SslDerivativeInput inputs[PARAMS_MAX];
    SslDerivativeDesc how = {.size_bytes = sizeof how,
                             .is_backward = kind != MARKED,
                             .inputs = inputs,
                             .outputs = &info->outputs[0].name,
                             .input_count = info->param_count,
                             .output_count = 1,
                             .has_edges = kind == SWEPT,
                             .marks_edges = kind == MARKED};
    ASSERT(info->param_count <= PARAMS_MAX);
    for (uint32_t i = 0; i < info->param_count; ++i)
        inputs[i] = (SslDerivativeInput){SSL_INPUT_PARAM, info->params[i].name};
    s.param_count = info->param_count;
    if (ssl_unit_differentiate(s.plain, &how, diags, &s.unit, &err) != STATUS_OK)
        fail_with(diags, &err);
    diag_list_destroy(diags);
    const SslBuildDesc build = {.size_bytes = sizeof build, .lanes = lanes};
    if (ssl_program_build(ctx, s.unit, &build, NULL, &s.program, &err) != STATUS_OK ||
        grid_host_create(s.program, globals, SORT_COUNT_OF(globals), POINTS, &s.grid, &err) !=
            STATUS_OK)
        fail_msg("%s", err.text);
    set_points(s.grid);
    for (uint32_t i = 0; i < POINTS && kind != MARKED; ++i)
        if (grid_host_attribute(s.grid, 0, 0, 0, i)) /* else it is not read */
            *grid_host_attribute(s.grid, 0, 0, 0, i) = 1;
    return s;
}

/* Returns a shape with the same program and points of its own, which have no values yet. */
static Shape twin_of(const Shape *s)
{
    Shape twin = *s;
    Error err = {0};
    twin.plain = ssl_unit_retain(s->plain);
    twin.unit = ssl_unit_retain(s->unit);
    twin.program = ssl_program_retain(s->program);
    if (grid_host_create(s->program, globals, SORT_COUNT_OF(globals), POINTS, &twin.grid, &err) !=
        STATUS_OK)
        fail_msg("%s", err.text);
    return twin;
}

static void release(Shape *s)
{
    grid_host_destroy(s->grid);
    ssl_program_release(s->program);
    ssl_unit_release(s->unit);
    ssl_unit_release(s->plain);
}

static void set_params(Shape *s, const float *params)
{
    Error err = {0};
    for (uint32_t i = 0; i < s->param_count; ++i) {
        const SslValue value = {.type = SSL_FLOAT, .f = {params[i]}};
        if (ssl_params_set(s->program, grid_host_params(s->grid), i, &value, &err) != STATUS_OK)
            fail_msg("%s", err.text);
    }
}

/* Runs some blocks, and adds the gradient of the sum of their pixels, each times its adjoint, which is 1. */
static void add_gradient(Shape *s, uint32_t blocks, double *out)
{
    Error err = {0};
    SslSum *sum;
    if (blocks == 0)
        return;
    grid_host_run_blocks(s->grid, 0, blocks);
    const SslBatch part = grid_host_part(s->grid, 0, blocks);
    if (ssl_sum_create(s->program, &sum, &err) != STATUS_OK ||
        ssl_sum_add(sum, &part, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < s->param_count; ++i)
        out[i] += ssl_sum_value(sum, i, 0);
    ssl_sum_destroy(sum);
}

static void gradient_at(Shape *s, const float *params, double *out)
{
    memset(out, 0, s->param_count * sizeof *out);
    set_params(s, params);
    add_gradient(s, POINTS / SSL_BLOCK, out);
}

/* --- closed forms ------------------------------------------------------------------------------- */

#define PI 3.14159265358979

enum { PLACES = 48, MIDDLE = SIZE / 2 };
static const double width = 8; /* of the window: exp(-d^2 / (2 width^2)) */

/* A shader, places for its parameters, each in low + [0, span), and the derivatives of the sum of its pixels, with the sizes that errors
 * are relative to. */
typedef struct Case {
    const char *name, *text;
    float low[PARAMS_MAX], span[PARAMS_MAX];
    void (*expect)(const double *p, double *out, double *out_sizes);
    double limit;
} Case;

/* The integral of the window along the line at x, of which it is a function. */
static double window_at(double x)
{
    double d = x - (double)MIDDLE;
    return sqrt(2 * PI) * width * exp(-d * d / (2 * width * width));
}

#define WINDOW                                                                                     \
    "float window(float2 p) { return exp(-dot(p - 32.0, p - 32.0) / 128.0); }"                     \
    "float2 at() { return global_value<uv>; }"

static void of_disc(const double *p, double *out, double *out_sizes)
{
    out[0] = out[1] = 0;
    out[2] = 0.75 * 2 * PI * p[2];
    out_sizes[0] = out_sizes[1] = out_sizes[2] = out[2];
}

static void of_half_plane(const double *p, double *out, double *out_sizes)
{
    out[0] = 0;
    out[1] = -window_at((double)MIDDLE + p[1]);
    out_sizes[0] = -width * out[1]; /* a turn moves the edge by its distance from the middle */
    out_sizes[1] = -out[1];
}

static void of_coloured_disc(const double *p, double *out, double *out_sizes)
{
    out[0] = PI * p[1] * p[1] * 0.02;
    out[1] = 2 * PI * p[1] * (1 + 0.02 * p[0]);
    out_sizes[0] = out_sizes[1] = out[1];
}

static void of_powers(const double *p, double *out, double *out_sizes)
{
    *out_sizes = out[0] = 2 * PI * p[0] * (27 + exp(1.5) - exp(0.5) + 1.5);
}

static void of_first_hit(const double *p, double *out, double *out_sizes)
{
    *out_sizes = out[0] = 2 * PI * p[0] * (1 * (1 - 0.5) + 4 * (0.5 - 1.0 / 3) + 9 * (1.0 / 3));
}

static void of_rectangle(const double *p, double *out, double *out_sizes)
{
    out_sizes[0] = out_sizes[1] = 4 * (p[0] + p[1]);
    out[0] = 4 * p[1];
    out[1] = 4 * p[0];
}

static void of_ring(const double *p, double *out, double *out_sizes)
{
    out_sizes[0] = out_sizes[1] = 4 * PI * p[0];
    out[0] = 4 * PI * p[1];
    out[1] = 4 * PI * p[0];
}

static void of_staircase(const double *p, double *out, double *out_sizes)
{
    *out = 0;
    for (int k = -2; k < 12; ++k)
        *out += width * window_at(width * (k - p[0]));
    *out_sizes = *out;
}

static void of_stripes(const double *p, double *out, double *out_sizes)
{
    *out = *out_sizes = 0;
    for (int k = -2; k < 12; ++k) {
        double edge = width * window_at(width * (k - p[0]));
        *out += k & 1 ? edge : -edge;
        *out_sizes += edge;
    }
}

static void of_layers(const double *p, double *out, double *out_sizes)
{
    /* A disc of radius 10 before a larger one, each at its own depth: the front one hides the other's inside. */
    out[0] = *out_sizes = 2 * PI * p[0] * 0.5;
}

static const Case cases[] = {
    {"disc of 3 pixels",
     "shader s(float x, float y, float r, out float v) {"
     "  const float2 d = global_value<uv> - float2(x, y);"
     "  v = dot(d, d) < r * r ? 1.0 : 0.25; }",
     {30, 31, 3},
     {1, 1, 1},
     of_disc,
     0.03},
    {"disc of 8 pixels",
     "shader s(float x, float y, float r, out float v) {"
     "  const float2 d = global_value<uv> - float2(x, y);"
     "  v = dot(d, d) < r * r ? 1.0 : 0.25; }",
     {30, 31, 8},
     {1, 1, 1},
     of_disc,
     0.01},
    {"disc of 20 pixels",
     "shader s(float x, float y, float r, out float v) {"
     "  const float2 d = global_value<uv> - float2(x, y);"
     "  v = dot(d, d) < r * r ? 1.0 : 0.25; }",
     {30, 31, 20},
     {1, 1, 4},
     of_disc,
     0.01},
    {"half-plane",
     WINDOW "shader s(float turn, float away, out float v) {"
            "  const float2 d = at() - 32.0;"
            "  v = d.x * cos(turn) + d.y * sin(turn) > away ? window(at()) : 0; }",
     {0, -6},
     {6.28f, 12},
     of_half_plane,
     0.01},
    {"disc by IF",
     "shader s(float x, float r, out float v) {"
     "  const float2 d = global_value<uv> - float2(x, 31.3);"
     "  if (length(d) < r) { v = 1; for (int i = 0; i < 2; ++i) v += 0.01 * global_value<uv>.x; }"
     "  else v = 0; }",
     {30, 8},
     {2, 8},
     of_coloured_disc,
     0.01},
    {"functions of a step",
     "shader s(float r, out float v) {"
     "  const float2 d = global_value<uv> - float2(31.4, 31.7);"
     "  const float h = step(length(d), r), k = 1 - h;"
     "  v = h * h * h * (1 - k) * 27 + exp(0.5 + h) + 1 / (1 + h) - 1 / (1 + k) * 2 + pow(5 - k * "
     "4, h) - h; }",
     {8},
     {8},
     of_powers,
     0.01},
    {"first hit of a loop",
     "shader s(float r, out float v) {"
     "  const float d = length(global_value<uv> - float2(31.4, 31.7));"
     "  v = 0;"
     "  for (int i = 1; i <= 3; ++i) if (d < r * float(i)) { v = 1.0 / float(i); break; } }",
     {8},
     {2},
     of_first_hit,
     0.01},
    {"rectangle",
     "shader s(float w, float h, out float v) {"
     "  const float2 d = abs(rotate2(global_value<uv> - float2(31.4, 31.7), 0.4));"
     "  v = d.x < w && d.y < h ? 1 : 0; }"
     "float2 rotate2(float2 p, float a) { return float2(p.x * cos(a) - p.y * sin(a), p.x * sin(a) "
     "+ p.y * cos(a)); }",
     {8, 8},
     {8, 8},
     of_rectangle,
     0.02},
    {"ring",
     "shader s(float r, float w, out float v) {"
     "  v = abs(length(global_value<uv> - float2(31.4, 31.7)) - r) < w ? 1 : 0; }",
     {12, 3},
     {8, 3},
     of_ring,
     0.01},
    {"staircase of floor",
     WINDOW "shader s(float phase, out float v) {"
            "  v = window(at()) * floor(at().x / 8 + phase); }",
     {0},
     {1},
     of_staircase,
     0.01},
    {"stripes of int",
     WINDOW "shader s(float phase, out float v) {"
            "  const int k = int(floor(at().x / 8 + phase));"
            "  v = (k & 1) == 1 ? window(at()) : 0; }",
     {0},
     {1},
     of_stripes,
     0.01},
    {"layers",
     "shader s(float r, out float v) {"
     "  const float d = length(global_value<uv> - float2(31.4, 31.7));"
     "  float depth = -1; v = 0;"
     "  for (int i = 0; i < 2; ++i) {"
     "    const float z = i == 0 ? 0.5 : 0.25, size = i == 0 ? 10 : r;"
     "    if (d < size && z > depth) { depth = z; v = i == 0 ? 0.8 : 0.5; } } }",
     {14},
     {6},
     of_layers,
     0.01},
};

/* Returns a number from 0 to 1, like no other: a multiple of an irrational one. */
static double part_of(uint32_t place, uint32_t param)
{
    static const double steps[PARAMS_MAX] = {0.7548777, 0.5698403, 0.4301597, 0.3247180};
    return fmod((place + 1) * steps[param], 1);
}

static void test_closed_forms(void **state)
{
    bool has_failed = false;
    for (uint32_t k = 0; k < SORT_COUNT_OF(cases); ++k) {
        const Case *c = &cases[k];
        Shape s = shape_of(*state, c->text, SWEPT, 0);
        double worst = 0, sum = 0;
        for (uint32_t i = 0; i < PLACES; ++i) {
            float params[PARAMS_MAX];
            double exact[PARAMS_MAX], gradient[PARAMS_MAX], expected[PARAMS_MAX];
            double sizes[PARAMS_MAX];
            for (uint32_t j = 0; j < s.param_count; ++j) {
                params[j] = c->low[j] + c->span[j] * (float)part_of(i, j);
                exact[j] = (double)params[j];
            }
            c->expect(exact, expected, sizes);
            gradient_at(&s, params, gradient);
            for (uint32_t j = 0; j < s.param_count; ++j) {
                double error = (gradient[j] - expected[j]) / sizes[j];
                worst = fmax(worst, fabs(error));
                sum += error * error;
            }
        }
        print_message("%s: off by %.2f %% at most, %.2f %% root mean square\n", c->name,
                      100 * worst, 100 * sqrt(sum / (PLACES * s.param_count)));
        has_failed = has_failed || !(worst <= c->limit);
        release(&s);
    }
    assert_false(has_failed);
}

/* Gradients with edges at the points that marks tell to have some, and without at all others, are those with edges at all points. */
static void test_marks(void **state)
{
    static uint32_t marks[POINTS], near[POINTS];
    const GridMarks picture = {marks, SIZE, SIZE};
    for (uint32_t k = 0; k < SORT_COUNT_OF(cases); ++k) {
        const Case *c = &cases[k];
        Shape marked = shape_of(*state, c->text, MARKED, 0);
        Shape smooth = shape_of(*state, c->text, SMOOTH, 0);
        Shape all = shape_of(*state, c->text, SWEPT, 0);
        Shape swept = twin_of(&all);
        const SslUnitInfo *info = ssl_unit_info(marked.unit);
        assert_int_equal(info->output_count, 2);
        assert_string_equal(info->outputs[1].name, "edges()");
        const SslOutputSlot slot = ssl_program_info(marked.program)->outputs[1];
        for (uint32_t i = 0; i < 4; ++i) {
            float params[PARAMS_MAX];
            double expected[PARAMS_MAX], gradient[PARAMS_MAX] = {0}, size = 0;
            Shape *shapes[] = {&marked, &smooth, &swept};
            for (uint32_t j = 0; j < all.param_count; ++j)
                params[j] = c->low[j] + c->span[j] * (float)part_of(i, j);
            for (uint32_t j = 0; j < SORT_COUNT_OF(shapes); ++j)
                set_params(shapes[j], params);
            grid_host_run(marked.grid);
            for (uint32_t p = 0; p < POINTS; ++p)
                marks[p] = grid_host_word(marked.grid, slot, 0, p);
            uint32_t count = grid_edges_find(&picture, smooth.grid, 0, POINTS, near);
            assert_true(count >= 4 * SIZE - 4 && count < POINTS / 2); /* the border is among them */
            grid_edges_gather(swept.grid, 0, all.grid, near, count);
            add_gradient(&smooth, POINTS / SSL_BLOCK, gradient);
            add_gradient(&swept, grid_edges_keep(swept.grid, count), gradient);
            gradient_at(&all, params, expected);
            for (uint32_t j = 0; j < all.param_count; ++j)
                size = fmax(size, fabs(expected[j]));
            assert_true(size > 0);
            for (uint32_t j = 0; j < all.param_count; ++j)
                if (!(fabs(gradient[j] - expected[j]) <= 1e-6 * size))
                    fail_msg("%s, place %u: %.9g, not %.9g", c->name, i, gradient[j], expected[j]);
        }
        release(&marked);
        release(&smooth);
        release(&all);
        release(&swept);
    }
}

static bool is_near(const GridMarks *m, uint32_t point)
{
    const int32_t steps[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    for (uint32_t k = 0; k < 4; ++k) {
        uint32_t x = point % m->width + (uint32_t)steps[k][0];
        uint32_t y = point / m->width + (uint32_t)steps[k][1];
        if (x >= m->width || y >= m->height || m->marks[y * m->width + x] != m->marks[point])
            return true;
    }
    return false;
}

/* Each point near an edge is listed, and no other, in pictures of any size, from any block on. */
static void test_points_near_edges(void **state)
{
    static const uint32_t widths[] = {1, 2, 15, 16, 17, 18, 31, 33, 50, 64};
    static uint32_t marks[POINTS], near[POINTS];
    Shape shape = shape_of(*state, "shader s(float k, out float v) { v = k; }", SMOOTH, 0);
    uint32_t random = 1, listed = 0, left_out = 0;
    for (uint32_t i = 0; i < SORT_COUNT_OF(widths) * 12; ++i) {
        const GridMarks picture = {marks, widths[i / 12], 1 + i % 12 * 5};
        uint32_t points = picture.width * picture.height, first = i % 3 * SSL_BLOCK, at = 0;
        for (uint32_t p = 0; p < points;
             ++p) { /* few changes, also of the highest and of the lowest bit */
            random = random * 1664525u + 1013904223u;
            marks[p] = random >> 24 ? 7 : random & 0x80000 ? 6 : 0x80000007u;
        }
        if (first >= points)
            continue;
        uint32_t count = grid_edges_find(&picture, shape.grid, first / SSL_BLOCK, points, near);
        for (uint32_t p = first; p < points; ++p) {
            bool is_listed = at < count && near[at] == p;
            bool is_live = grid_host_batch(shape.grid)->live[p / SSL_BLOCK] >> p % SSL_BLOCK & 1;
            assert_int_equal(is_listed, is_near(&picture, p));
            assert_int_equal(is_live, !is_listed);
            at += is_listed;
        }
        assert_int_equal(at, count);
        listed += count;
        left_out += points - first - count;
    }
    assert_true(listed > 1000 && left_out > 1000);
    release(&shape);
}

/* Vectors of any size have lengths without edges, though they are scaled for it. */
static void test_lengths_have_no_edges(void **state)
{
    static const char *const texts[] = {
        "shader s(float k, out float v) { v = length(global_value<uv> - float2(k)); }",
        "shader s(float k, out float v) { v = 1e22 * distance(global_value<uv>, float2(k)); }",
        "shader s(float k, out float v) { v = normalize(float3(global_value<uv> - k, 1e-20)).x; }",
    };
    const float k = 20.5f; /* the centre of a pixel */
    for (uint32_t i = 0; i < SORT_COUNT_OF(texts); ++i) {
        Shape marked = shape_of(*state, texts[i], MARKED, 0);
        const SslOutputSlot slot = ssl_program_info(marked.program)->outputs[1];
        set_params(&marked, &k);
        grid_host_run(marked.grid);
        for (uint32_t p = 1; p < POINTS; ++p)
            assert_int_equal(grid_host_word(marked.grid, slot, 0, p),
                             grid_host_word(marked.grid, slot, 0, 0));
        release(&marked);
    }
}

/* What has no derivative over edges says so, with a place. */
static void test_refused(void **state)
{
    static const struct {
        const char *text, *code;
        bool is_backward, marks_edges;
    } wrong[] = {
        {"shader s(float k, out float v) { v = ddx(floor(global_value<uv>.x * k)); }", "S0815",
         true, false},
        {"texture2d t; shader s(float k, out float v) {"
         "  v = texture2d_sample<t>(floor(global_value<uv>.x * k), 0).r; }",
         "S0819", true, false},
        {"shader s(float k, out float v) { v = floor(global_value<uv>.x * k); }", NULL, false,
         false},
        {"shader s(float k, out float v) { v = floor(global_value<uv>.x * k); }", NULL, true, true},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(wrong); ++i) {
        Error err = {0};
        SslUnit *unit, *made;
        DiagList *diags = diag_list_create();
        const SslSource src = {.name = "test.ssl", .text = str_from(wrong[i].text)};
        if (ssl_unit_compile(*state, &src, diags, &unit) != STATUS_OK)
            fail_with(diags, &err);
        const char *output = "v";
        const SslDerivativeInput input = {SSL_INPUT_PARAM, "k"};
        const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                       .is_backward = wrong[i].is_backward,
                                       .inputs = &input,
                                       .outputs = &output,
                                       .input_count = 1,
                                       .output_count = 1,
                                       .has_edges = !wrong[i].marks_edges,
                                       .marks_edges = wrong[i].marks_edges};
        Status status = ssl_unit_differentiate(unit, &how, diags, &made, &err);
        if (wrong[i].code) {
            assert_int_equal(status, STATUS_SOURCE);
            assert_string_equal(diag_get(diags, 0)->code, wrong[i].code);
            assert_true(diag_get(diags, 0)->span.end > diag_get(diags, 0)->span.begin);
        } else {
            assert_int_equal(status, STATUS_INVALID);
            assert_non_null(strstr(err.text, "edges"));
        }
        diag_list_destroy(diags);
        ssl_unit_release(unit);
    }
}

/* Without edges, or without derivatives of the globals, a disc has no gradient; at every width it has the same bits. */
static void test_widths(void **state)
{
    const char *text = cases[SORT_COUNT_OF(cases) - 1].text;
    static const uint32_t lanes[] = {1, 4, 8, 16};
    const float radius = 17.3f;
    double gradient, first = 0;
    Shape plain = shape_of(*state, text, SMOOTH, 0);
    gradient_at(&plain, &radius, &gradient);
    assert_true(gradient == 0);
    release(&plain);
    for (uint32_t i = 0; i < SORT_COUNT_OF(lanes); ++i) {
        Shape s = shape_of(*state, text, SWEPT, lanes[i]);
        gradient_at(&s, &radius, &gradient);
        first = i == 0 ? gradient : first;
        assert_true(gradient == first && gradient > 0);
        for (uint32_t p = 0; p < POINTS && i == 0; ++p)
            *grid_host_global(s.grid, UV, 1, 0, p) = *grid_host_global(s.grid, UV, 2, 1, p) = 0;
        if (i == 0)
            gradient_at(&s, &radius, &gradient);
        assert_true(i > 0 || gradient == 0);
        release(&s);
    }
}

/* A choice that comes out the same at all pixels has no edge; shaken by noise, it comes out as often as the noise says, and its gradient has
 * the sign and about the size of that part's. */
static void test_noise(void **state)
{
    const SslSource src = {
        .name = "test.ssl",
        .text = str_from(
            "shader s(float p, out float v) { v = p > 0.5 ? 1 : global_value<uv>.x * 0; }")};
    static const bool has_noise[] = {true};
    const SslDerivativeInput inputs[] = {{SSL_INPUT_PARAM, "p"}, {SSL_INPUT_GLOBAL, "uv"}};
    const char *output = "v";
    Error err = {0};
    DiagList *diags = diag_list_create();
    SslUnit *plain, *unit;
    if (ssl_unit_compile(*state, &src, diags, &plain) != STATUS_OK)
        fail_with(diags, &err);
    for (uint32_t kind = SWEPT; kind <= MARKED; ++kind) {
        const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                       .is_backward = kind == SWEPT,
                                       .has_edges = kind == SWEPT,
                                       .marks_edges = kind == MARKED,
                                       .inputs = inputs,
                                       .has_noise = has_noise,
                                       .input_count = 1,
                                       .outputs = &output,
                                       .output_count = 1};
        SslProgram *program;
        GridHost *grid = NULL;
        const SslBuildDesc build = {.size_bytes = sizeof build};
        if (ssl_unit_differentiate(plain, &how, diags, &unit, &err) != STATUS_OK)
            fail_with(diags, &err);
        const SslUnitInfo *info = ssl_unit_info(unit);
        assert_string_equal(info->params[1].name, "noise(p)");
        assert_string_equal(info->params[2].name, "seed()");
        assert_string_equal(info->attributes[0].name, "pixel()");
        if (ssl_program_build(*state, unit, &build, NULL, &program, &err) != STATUS_OK ||
            grid_host_create(program, globals, SORT_COUNT_OF(globals), POINTS, &grid, &err) !=
                STATUS_OK)
            fail_msg("%s", err.text);
        set_points(grid);
        for (uint32_t i = 0; i < POINTS; ++i)
            for (uint32_t k = 0; k < 2; ++k) {
                *grid_host_attribute(grid, 0, 0, k, i) = (float)(k == 0 ? i % SIZE : i / SIZE);
                float *step = grid_host_attribute(grid, 0, 1 + k, k, i);
                if (step)
                    *step = 1;
                if (kind == SWEPT)
                    *grid_host_attribute(grid, 1, 0, 0, i) = 1;
            }
        for (uint32_t i = 0; i < 8; ++i) {
            float p = 0.2f + 0.1f * (float)i, size = i % 2 ? 1.0f : 0.0f;
            double sum = 0, part = fmin(1, fmax(0, (double)p - 0.5 + 0.5));
            const SslValue values[] = {{.type = SSL_FLOAT, .f = {p}},
                                       {.type = SSL_FLOAT, .f = {size}},
                                       {.type = SSL_INT, .i = (int32_t)i}};
            for (uint32_t k = 0; k < 3; ++k)
                if (ssl_params_set(program, grid_host_params(grid), k, &values[k], &err) !=
                    STATUS_OK)
                    fail_msg("%s", err.text);
            grid_host_run(grid);
            const SslOutputSlot slot = ssl_program_info(program)->outputs[0];
            for (uint32_t k = 0; k < POINTS; ++k)
                sum += (double)grid_host_float(grid, slot, 0, k) / (double)POINTS;
            if (kind == MARKED && size > 0) /* 4096 draws: three deviations of a part are 0.024 */
                assert_true(fabs(sum - part) < 0.024);
            else if (kind == MARKED)
                assert_true(sum == (p > 0.5f ? 1.0 : 0.0));
            else if (size > 0)
                assert_true(sum > 0.5 && sum < 2);
            else
                assert_true(sum == 0);
        }
        grid_host_destroy(grid);
        ssl_program_release(program);
        ssl_unit_release(unit);
    }
    const SslDerivativeDesc wrong = {.size_bytes = sizeof wrong,
                                     .is_backward = true,
                                     .inputs = &inputs[1],
                                     .has_noise = has_noise,
                                     .input_count = 1,
                                     .outputs = &output,
                                     .output_count = 1};
    assert_int_equal(ssl_unit_differentiate(plain, &wrong, diags, &unit, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "cannot have noise"));
    ssl_unit_release(plain);
    diag_list_destroy(diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_points_near_edges),
        cmocka_unit_test(test_lengths_have_no_edges),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_widths),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
