/* Derivatives that a host asks for (ssl_unit_differentiate) and exact sums of them: against closed forms, against
 * differences of the shader itself, forward against backward, at every width, and for every division into threads. */
#include "base/accum.h"
#include "base/check.h"
#include "base/thread.h"
#include "ssl/context.h"
#include "ssl/ssl_group.h"
#include "ssl/ssl_sum.h"
#include "tests/ssl/oracle/ir_eval.h"
#include "tools/ssl_kit/grid_host.h"
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
    {.name = "id", .type = SSL_INT, .space = "", .doc = ""},
};
static const SslClosureArg color_args[] = {{"color", SSL_COLOR}};
static const SslClosureRow closures[] = {{.name = "Lambert", .args = color_args, .arg_count = 1}};
enum { UV, ID, POINTS = 75 };

static int setup(void **state)
{
    const SslContextDesc tables = {.size_bytes = sizeof tables,
                                   .globals = globals,
                                   .closures = closures,
                                   .global_count = SORT_COUNT_OF(globals),
                                   .closure_count = SORT_COUNT_OF(closures)};
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

/* Doubles, whereas assert_float_equal compares floats. */
#define NEAR(x, y, tolerance)                                                                      \
    do {                                                                                           \
        double near_x = (x), near_y = (y);                                                         \
        if (!(fabs(near_x - near_y) <= (tolerance)))                                               \
            fail_msg("line %d: %.9g and not %.9g", __LINE__, near_x, near_y);                      \
    } while (0)

/* --- helpers ------------------------------------------------------------------------------------ */

static void fail_with(const DiagList *diags, const Error *err)
{
    StrBuf text = {0};
    diag_print(diags, &text);
    print_error("%s%s\n", strbuf_text(&text), err->text);
    strbuf_free(&text);
    fail();
}

static SslUnit *compile(SslContext *ctx, const char *text)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    const SslSource src = {.name = "test.ssl", .text = str_from(text)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK)
        fail_with(diags, &(Error){0});
    diag_list_destroy(diags);
    return unit;
}

static uint32_t split(char *words, const char *out[], uint32_t room)
{
    uint32_t count = 0;
    for (char *word = words; *word && count < room;) {
        size_t length = strcspn(word, " ");
        out[count++] = word;
        word += length;
        if (*word)
            *word++ = '\0';
    }
    return count;
}

/* Takes a derivative of the outputs by the inputs that `names` and `outputs` list, with spaces between. A name that begins with
 * '@' is a global, one with '#' an attribute, one with '%' a texture. */
static Status differentiate(const SslUnit *unit, bool is_backward, uint32_t directions,
                            const char *names, const char *outputs, SslUnit **out, DiagList *diags,
                            Error *err)
{
    static const char marks[] = "@#%";
    static const SslInputKind kinds[] = {SSL_INPUT_GLOBAL, SSL_INPUT_ATTRIBUTE, SSL_INPUT_TEXTURE};
    char in_words[256], out_words[256];
    const char *in[16], *of[16];
    SslDerivativeInput inputs[16];
    (void)snprintf(in_words, sizeof in_words, "%s", names);
    (void)snprintf(out_words, sizeof out_words, "%s", outputs);
    SslDerivativeDesc how = {.size_bytes = sizeof how,
                             .is_backward = is_backward,
                             .inputs = inputs,
                             .outputs = of,
                             .input_count = split(in_words, in, 16),
                             .output_count = split(out_words, of, 16),
                             .direction_count = directions};
    for (uint32_t i = 0; i < how.input_count; ++i) {
        const char *mark = strchr(marks, in[i][0]);
        inputs[i].kind = mark ? kinds[mark - marks] : SSL_INPUT_PARAM;
        inputs[i].name = mark ? in[i] + 1 : in[i];
    }
    return ssl_unit_differentiate(unit, &how, diags, out, err);
}

static SslUnit *derive(const SslUnit *unit, bool is_backward, uint32_t directions,
                       const char *names, const char *outputs)
{
    Error err = {0};
    DiagList *diags = diag_list_create();
    SslUnit *made;
    if (differentiate(unit, is_backward, directions, names, outputs, &made, diags, &err) !=
        STATUS_OK)
        fail_with(diags, &err);
    diag_list_destroy(diags);
    return made;
}

static GridHost *run_new(SslContext *ctx, const SslUnit *unit, uint32_t lanes, uint32_t points,
                         SslProgram **out_program)
{
    Error err = {0};
    GridHost *grid;
    const SslBuildDesc how = {.size_bytes = sizeof how, .lanes = lanes};
    if (ssl_program_build(ctx, unit, &how, NULL, out_program, &err) != STATUS_OK ||
        grid_host_create(*out_program, globals, SORT_COUNT_OF(globals), points, &grid, &err) !=
            STATUS_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < points; ++i) {
        int32_t id = (int32_t)i;
        *grid_host_global(grid, UV, 0, 0, i) = fmodf(0.37f * (float)i, 1.0f);
        *grid_host_global(grid, UV, 0, 1, i) = fmodf(0.111f * (float)i + 0.05f, 1.0f);
        memcpy(grid_host_global(grid, ID, 0, 0, i), &id, sizeof id);
    }
    return grid;
}

static void release(GridHost *grid, SslProgram *program, SslUnit *unit)
{
    grid_host_destroy(grid);
    ssl_program_release(program);
    ssl_unit_release(unit);
}

static uint32_t find_param(const SslUnitInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->param_count; ++i)
        if (strcmp(info->params[i].name, name) == 0)
            return i;
    fail_msg("no parameter %s", name);
    return 0;
}

static uint32_t find_attribute(const SslUnitInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->attribute_count; ++i)
        if (strcmp(info->attributes[i].name, name) == 0)
            return i;
    fail_msg("no attribute %s", name);
    return 0;
}

static uint32_t find_output(const SslUnitInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->output_count; ++i)
        if (strcmp(info->outputs[i].name, name) == 0)
            return i;
    fail_msg("no output %s", name);
    return 0;
}

static void set(GridHost *grid, const SslProgram *program, const char *name, const double *numbers)
{
    const SslUnitInfo *info = ssl_program_info(program)->unit;
    uint32_t at = find_param(info, name);
    uint32_t count = ssl_value_scalars(info->params[at].type, info->params[at].shape);
    SslValue value = {.type = info->params[at].type};
    if (info->params[at].shape) {
        value.list = numbers;
        value.count = count;
    }
    if (value.type == SSL_INT)
        value.i = (int32_t)numbers[0];
    for (uint32_t i = 0; i < count && !info->params[at].shape && value.type != SSL_INT; ++i)
        value.f[i] = (float)numbers[i];
    Error err = {0};
    if (ssl_params_set(program, grid_host_params(grid), at, &value, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static float output(const GridHost *grid, const SslProgram *program, const char *name,
                    uint32_t number, uint32_t point)
{
    const SslProgramInfo *info = ssl_program_info(program);
    return grid_host_float(grid, info->outputs[find_output(info->unit, name)], number, point);
}

static void seed(GridHost *grid, const SslProgram *program, const char *name, uint32_t component,
                 uint32_t point, float x)
{
    const SslUnitInfo *info = ssl_program_info(program)->unit;
    float *at = grid_host_attribute(grid, find_attribute(info, name), 0, component, point);
    if (at)
        *at = x;
}

static void expect_refused(Status status, const Error *err, Status wanted, const char *text)
{
    if (status != wanted || !strstr(err->text, text))
        fail_msg("status %d, '%s' and not '%s'", (int)status, err->text, text);
}

/* --- closed forms ------------------------------------------------------------------------------- */

static const char polynomial[] =
    "shader s(float a = 2, float b = 1, int n = 3, out float y, out color c) {"
    "  const float2 p = global_value<uv>;"
    "  y = a * a * p.x + b * sin(a * p.y);"
    "  c = color(a * b, b, p.x * b * b); }";

static void test_closed_form(void **state)
{
    SslUnit *unit = compile(*state, polynomial);
    SslUnit *back = derive(unit, true, 0, "a b @uv", "y c");
    SslUnit *forth = derive(unit, false, 2, "a b", "y");
    SslProgram *program, *forward;
    GridHost *grid = run_new(*state, back, 0, POINTS, &program);
    GridHost *other = run_new(*state, forth, 0, POINTS, &forward);
    for (uint32_t i = 0; i < POINTS; ++i) {
        seed(grid, program, "adjoint(y)", 0, i, 0.5f);
        seed(grid, program, "adjoint(c)", 2, i, (float)i);
    }
    const double one = 1;
    set(other, forward, "tangent(a)", &one);
    set(other, forward, "tangent2(b)", &one);
    grid_host_run(grid);
    grid_host_run(other);
    for (uint32_t i = 0; i < POINTS; ++i) {
        double a = 2, b = 1, u = (double)*grid_host_global(grid, UV, 0, 0, i),
               v = (double)*grid_host_global(grid, UV, 0, 1, i);
        double by_a = 2 * a * u + b * v * cos(a * v), by_b = sin(a * v);
        NEAR((double)output(grid, program, "gradient(a)", 0, i), 0.5 * by_a, 1e-5);
        NEAR((double)output(grid, program, "gradient(b)", 0, i), 0.5 * by_b + (double)i * 2 * b * u,
             2e-5);
        NEAR((double)output(grid, program, "gradient(global_value<uv>)", 0, i),
             0.5 * a * a + (double)i * b * b, 1e-4);
        NEAR((double)output(grid, program, "gradient(global_value<uv>)", 1, i),
             0.5 * b * a * cos(a * v), 1e-5);
        NEAR((double)output(other, forward, "y", 0, i), a * a * u + b * sin(a * v), 1e-5);
        NEAR((double)output(other, forward, "tangent(y)", 0, i), by_a, 1e-5);
        NEAR((double)output(other, forward, "tangent2(y)", 0, i), by_b, 1e-5);
    }
    release(grid, program, back);
    release(other, forward, forth);
    ssl_unit_release(unit);
}

/* What the source says of derivatives holds: detach, functions with derivatives of their own. */
static void test_says_the_source(void **state)
{
    SslUnit *unit = compile(
        *state, "void third_back(inout diff_pair<float> x, float adjoint) { x.d = 7 * adjoint; }"
                "[BackwardDerivative(third_back)] float third(float x) { return x; }"
                "float plain(float x) { return x * x; }"
                "shader s(float a = 3, out float y) {"
                "  y = third(a) + detach(100 * a) + plain(a); }");
    SslUnit *back = derive(unit, true, 0, "a", "y");
    SslProgram *program;
    GridHost *grid = run_new(*state, back, 0, 1, &program);
    seed(grid, program, "adjoint(y)", 0, 0, 1);
    grid_host_run(grid);
    NEAR((double)output(grid, program, "gradient(a)", 0, 0), 7 + 6, 0);
    release(grid, program, back);
    ssl_unit_release(unit);
}

static void test_zero_is_told(void **state)
{
    SslUnit *unit = compile(*state, "shader s(float edge = 0.5, float level = 1, float unread = 0,"
                                    "         out float y, out float z) {"
                                    "  y = global_value<uv>.x > edge ? level : 0.25 * level;"
                                    "  z = floor(edge * 8); }");
    SslUnit *back = derive(unit, true, 0, "edge level unread", "y z");
    const SslUnitInfo *info = ssl_unit_info(back);
    assert_true(info->outputs[0].is_zero);
    assert_false(info->outputs[1].is_zero);
    assert_true(info->outputs[2].is_zero);
    ssl_unit_release(back);
    ssl_unit_release(unit);
}

/* --- forward, backward and differences ----------------------------------------------------------- */

typedef struct Case {
    const char *text, *inputs, *outputs;
    double tolerance; /* of differences, relative to the size of the derivative */
} Case;

static const Case cases[] = {
    {"shader s(float k = 0.7, color tint = color(0.2, 0.5, 0.9), out color c) {"
     "  const float2 p = global_value<uv>;"
     "  if (p.x > 0.5) c = tint * sin(6 * k * p.y); else c = tint * tint / (1 + k * p.x);"
     "  if (global_value<id> % 3 == 0) c = c * k; }",
     "k tint", "c", 2e-3},
    {"float wave(float x, int n) { float s = 0; for (int i = 0; i < n; ++i) s = sin(s + x * "
     "float(i + 1));"
     "  return s; }"
     "shader s(float k = 1.3, float[4] w = {1, 2, 0.5, 0.25}, matrix m = matrix(1), out float y, "
     "out point "
     "q) {"
     "  y = 0; for (int i = 0; i < 4; ++i) y += w[i] * wave(k * global_value<uv>.x, i + "
     "global_value<id> % 4);"
     "  q = transform(m, point(k, y, 1)); }",
     "k w m", "y q", 4e-3},
    {"struct Wall { float width; int rows; float2 gap; };"
     "float raised(float x, int n) { return n <= 0 ? 1.0 : x * raised(x, n - 1); }"
     "shader s(Wall wall = {0.4, 3, float2(0.05, 0.1)}, out float y) {"
     "  const float2 p = global_value<uv>;"
     "  y = smoothstep(wall.gap.x, wall.width, p.x) * raised(wall.gap.y + p.y, wall.rows); }",
     "wall", "y", 4e-3},
    {"shader s(float roughness = 0.3, float scale = 4, out closure c, out float h) {"
     "  h = noise(roughness * scale * vector(global_value<uv>.x, global_value<uv>.y, 0.3));"
     "  c = make_closure<Lambert>(color(h)); }",
     "roughness scale @uv", "h", 2e-2},
};

static uint32_t numbers_of(const SslOutputInfo *info)
{
    return ssl_value_scalars(info->type, info->shape);
}

/* A direction, the same for an input of any kind and whatever it is called in. */
static double direction(uint32_t input, uint32_t number)
{
    return sin(3.1 * input + 1.7 * number + 0.4);
}

static float weight(uint32_t output_index, uint32_t number, uint32_t point)
{
    return cosf((float)(7 * output_index + 3 * number + point));
}

/* Gives tangents or moves the inputs along the direction by `step`. */
static void aim(GridHost *grid, SslProgram *program, const SslUnitInfo *gradients, double step,
                bool is_tangent)
{
    const SslUnitInfo *info = ssl_program_info(program)->unit;
    for (uint32_t i = 0; i < gradients->output_count; ++i) {
        char name[64], tangent[80];
        (void)snprintf(name, sizeof name, "%s", gradients->outputs[i].name + strlen("gradient("));
        name[strlen(name) - 1] = '\0';
        (void)snprintf(tangent, sizeof tangent, "tangent(%s)", name);
        double numbers[32];
        bool is_global = strchr(name, '<') != NULL;
        const SslParamInfo *param = is_global ? NULL : &info->params[find_param(info, name)];
        for (uint32_t k = 0; k < numbers_of(&gradients->outputs[i]); ++k) {
            bool is_float = is_global || ssl_value_kind(param->type, param->shape, k) == SSL_FLOAT;
            double start = is_tangent || is_global ? 0
                           : param->shape          ? param->default_value.list[k]
                                                   : (double)param->default_value.f[k];
            numbers[k] = start + (is_float ? step * direction(i, k) : 0);
        }
        if (!is_global) {
            set(grid, program, is_tangent ? tangent : name, numbers);
            continue;
        }
        for (uint32_t p = 0; p < POINTS; ++p)
            for (uint32_t k = 0; k < 2; ++k)
                if (is_tangent)
                    seed(grid, program, tangent, k, p, (float)numbers[k]);
                else
                    *grid_host_global(grid, UV, 0, k, p) += (float)numbers[k];
    }
}

/* The sum of all outputs of the case, weighted. */
static double weighted(GridHost *grid, const SslProgram *program, const SslUnitInfo *value_info,
                       bool is_tangent)
{
    double sum = 0;
    uint32_t at = 0;
    for (uint32_t o = 0; o < value_info->output_count; ++o) {
        if (value_info->outputs[o].type == SSL_CLOSURE)
            continue;
        char name[64];
        (void)snprintf(name, sizeof name, is_tangent ? "tangent(%s)" : "%s",
                       value_info->outputs[o].name);
        for (uint32_t k = 0; k < numbers_of(&value_info->outputs[o]); ++k)
            for (uint32_t p = 0; p < POINTS; ++p)
                sum += (double)weight(at, k, p) * (double)output(grid, program, name, k, p);
        ++at;
    }
    return sum;
}

static double moved(SslContext *ctx, const SslUnit *unit, const SslUnitInfo *gradients, double step)
{
    SslProgram *program;
    GridHost *grid = run_new(ctx, unit, 0, POINTS, &program);
    aim(grid, program, gradients, step, false);
    grid_host_run(grid);
    double sum = weighted(grid, program, ssl_unit_info(unit), false);
    release(grid, program, NULL);
    return sum;
}

/* unit: of the case, which the call releases. */
static void check_case(SslContext *ctx, SslUnit *unit, const Case *c)
{
    SslUnit *back = derive(unit, true, 0, c->inputs, c->outputs);
    SslUnit *forth = derive(unit, false, 1, c->inputs, c->outputs);
    const SslUnitInfo *gradients = ssl_unit_info(back);
    SslProgram *program, *forward;
    GridHost *grid = run_new(ctx, back, 0, POINTS, &program);
    GridHost *other = run_new(ctx, forth, 0, POINTS, &forward);
    char words[64];
    const char *of[8];
    (void)snprintf(words, sizeof words, "%s", c->outputs);
    uint32_t count = split(words, of, 8);
    for (uint32_t o = 0; o < count; ++o) {
        char name[64];
        (void)snprintf(name, sizeof name, "adjoint(%s)", of[o]);
        const SslUnitInfo *info = ssl_unit_info(back);
        uint32_t scalars = ssl_type_scalars(info->attributes[find_attribute(info, name)].type);
        for (uint32_t k = 0; k < scalars; ++k)
            for (uint32_t p = 0; p < POINTS; ++p)
                seed(grid, program, name, k, p, weight(o, k, p));
    }
    aim(other, forward, gradients, 1, true);
    grid_host_run(grid);
    grid_host_run(other);
    double backward = 0, size = 1;
    for (uint32_t i = 0; i < gradients->output_count; ++i)
        for (uint32_t k = 0; k < numbers_of(&gradients->outputs[i]); ++k)
            for (uint32_t p = 0; p < POINTS; ++p) {
                if (ssl_value_kind(gradients->outputs[i].type, gradients->outputs[i].shape, k) !=
                    SSL_FLOAT)
                    continue;
                double x = direction(i, k) *
                           (double)output(grid, program, gradients->outputs[i].name, k, p);
                backward += x;
                size += fabs(x);
            }
    double tangent = weighted(other, forward, ssl_unit_info(unit), true);
    double h = 1.0 / 256;
    double wide =
        (moved(ctx, unit, gradients, 2 * h) - moved(ctx, unit, gradients, -2 * h)) / (4 * h);
    double narrow = (moved(ctx, unit, gradients, h) - moved(ctx, unit, gradients, -h)) / (2 * h);
    double difference = (4 * narrow - wide) / 3; /* Richardson: the error is of fourth order */
    NEAR(tangent, backward, 2e-5 * size);
    NEAR(difference, backward, c->tolerance * size);
    release(grid, program, back);
    release(other, forward, forth);
    ssl_unit_release(unit);
}

static void test_agree(void **state)
{
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        check_case(*state, compile(*state, cases[i].text), &cases[i]);
}

/* --- groups ---------------------------------------------------------------------------------------- */

static SslUnit *link_units(SslContext *ctx, const SslGroupDesc *desc)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    if (ssl_group_link(ctx, desc, NULL, diags, &unit) != STATUS_OK)
        fail_with(diags, &(Error){0});
    diag_list_destroy(diags);
    return unit;
}

/* Wires output y of a unit to input x of another one, whose output z is the group's. */
static SslUnit *link_wired(SslContext *ctx, const SslUnit *from, const SslUnit *to)
{
    const SslGroupNode nodes[] = {{.name = "from", .unit = from}, {.name = "to", .unit = to}};
    const SslGroupWire wire = {.from_node = "from", .from = "y", .to_node = "to", .to = "x"};
    const SslGroupOutput output = {.name = "z", .node = "to", .output = "z"};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = "wired",
                               .nodes = nodes,
                               .wires = &wire,
                               .outputs = &output,
                               .node_count = 2,
                               .wire_count = 1,
                               .output_count = 1};
    return link_units(ctx, &desc);
}

/* Makes of a unit a group, whose only output is the unit's output z under another name. */
static SslUnit *link_alone(SslContext *ctx, const SslUnit *unit, const char *name)
{
    const SslGroupNode node = {.name = "", .unit = unit};
    const SslGroupOutput output = {.name = name, .node = "", .output = "z"};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = "named",
                               .nodes = &node,
                               .outputs = &output,
                               .node_count = 1,
                               .output_count = 1};
    return link_units(ctx, &desc);
}

static const char surface[] =
    "struct Wave { float width; int turns; };"
    "shader s(float height = 0.6, Wave w = {1.5, 3}, out color y) {"
    "  float s = height * global_value<uv>.x;"
    "  for (int i = 0; i < w.turns + global_value<id> % 2; ++i) s = sin(s * w.width + height);"
    "  y = color(s, s * s, global_value<uv>.y * height); }";
static const char paint[] =
    "shader s(float x = 0, color tint = color(0.9, 0.5, 0.2), out color z) {"
    "  z = x > 0.1 ? tint * exp(x) : tint * tint / (2 + x); }";

/* The wire makes of a color a float, and the group is the first unit of another one. */
static void test_group_agrees(void **state)
{
    const Case inner = {NULL, "from.height from.w to.tint @uv", "z", 4e-3};
    const Case outer = {NULL, "from.from.height from.to.tint to.k", "z", 4e-3};
    SslUnit *from = compile(*state, surface), *to = compile(*state, paint);
    check_case(*state, link_wired(*state, from, to), &inner);
    SslUnit *last = compile(*state, "shader s(color x = color(0), float k = 2, out color z) {"
                                    "  z = pow(x, color(k)); }");
    SslUnit *named = link_wired(*state, from, to);
    SslUnit *again = link_alone(*state, named, "y");
    check_case(*state, link_wired(*state, again, last), &outer);
    ssl_unit_release(named);
    ssl_unit_release(again);
    ssl_unit_release(last);
    ssl_unit_release(from);
    ssl_unit_release(to);
}

/* Textures of a group are those of its nodes; the tangents that are looked up are of none. */
static void test_group_textures(void **state)
{
    SslUnit *from = compile(*state, "texture2d wood; shader s(float k = 3, out color y) {"
                                    "  y = k * texture2d_sample<wood>(0.5, 0.5); }");
    SslUnit *to = compile(*state, "texture2d wood; shader s(color x = color(0), out color z) {"
                                  "  z = 2 * x + texture2d_sample<wood>(0.5, 0.5); }");
    SslUnit *group = link_wired(*state, from, to);
    SslUnit *back = derive(group, true, 0, "%from.wood %to.wood", "z");
    SslUnit *forth = derive(group, false, 1, "%from.wood", "z");
    SslProgram *program;
    GridHost *grid = run_new(*state, back, 0, 1, &program);
    for (uint32_t k = 0; k < 3; ++k)
        seed(grid, program, "adjoint(z)", k, 0, (float)(k + 1));
    grid_host_run(grid);
    for (uint32_t k = 0; k < 3; ++k) {
        NEAR((double)output(grid, program, "gradient(texture2d<from.wood>)", k, 0), 6.0 * (k + 1),
             0);
        NEAR((double)output(grid, program, "gradient(texture2d<to.wood>)", k, 0), k + 1.0, 0);
    }
    const SslUnitInfo *info = ssl_unit_info(forth);
    assert_int_equal(info->texture_count, 3);
    assert_string_equal(info->textures[2], "tangent(texture2d<from.wood>)");
    assert_int_equal(info->texture_ids[2], SSL_TEXTURE_UNBOUND);
    release(grid, program, back);
    ssl_unit_release(forth);
    ssl_unit_release(group);
    ssl_unit_release(from);
    ssl_unit_release(to);
}

/* What a part says of derivatives holds in the group, and what it has wrong is told in the part's source. */
static void test_group_says_the_source(void **state)
{
    SslUnit *from = compile(
        *state, "void third_back(inout diff_pair<float> x, float adjoint) { x.d = 7 * adjoint; }"
                "[BackwardDerivative(third_back)] float third(float x) { return x; }"
                "shader s(float a = 3, out float y) { y = third(a) + detach(100 * a); }");
    SslUnit *to = compile(*state, "shader s(float x = 0, int n = 9, out float z) {"
                                  "  z = x; [MaxIters(8)]\n"
                                  "  for (int i = 0; i < n; ++i) { if (z < 0) break; z *= 2; } }");
    SslUnit *group = link_wired(*state, from, to);
    SslUnit *back = derive(group, true, 0, "from.a", "z");
    SslProgram *program;
    GridHost *grid = run_new(*state, back, 0, 1, &program);
    const double eight = 8;
    set(grid, program, "to.n", &eight);
    seed(grid, program, "adjoint(z)", 0, 0, 1);
    grid_host_run(grid);
    NEAR((double)output(grid, program, "gradient(from.a)", 0, 0), 7 * 256, 0);
    assert_int_equal(grid_host_fault(grid, 0), 0);
    const double nine = 9;
    set(grid, program, "to.n", &nine);
    grid_host_run(grid);
    assert_int_not_equal(grid_host_fault(grid, 0), 0);
    SslFaultInfo fault;
    ssl_fault_describe(program, grid_host_fault(grid, 0) - 1, &fault);
    assert_int_equal(fault.kind, SSL_FAULT_TAPE);
    assert_string_equal(fault.source_name, "test.ssl");
    assert_int_equal(fault.line, 2);
    release(grid, program, back);

    Error err = {0};
    DiagList *diags = diag_list_create();
    SslUnit *other =
        compile(*state, "texture2d t; shader s(float x = 0, out float z) {\n"
                        "  z = ddx(texture2d_sample<t>(x * global_value<uv>.x, x).r); }");
    SslUnit *wrong = link_wired(*state, from, other), *made;
    expect_refused(differentiate(wrong, true, 0, "from.a", "z", &made, diags, &err), &err,
                   STATUS_SOURCE, "the derivative of 'wired' has errors");
    StrBuf text = {0};
    diag_print(diags, &text);
    if (!strstr(strbuf_text(&text), "test.ssl:2:7: error[S0815]"))
        fail_msg("%s", strbuf_text(&text));
    strbuf_free(&text);

    SslUnit *of_from = derive(from, false, 1, "a", "y");
    SslUnit *with = link_wired(*state, of_from, to);
    expect_refused(differentiate(with, true, 0, "from.a", "z", &made, diags, &err), &err,
                   STATUS_UNSUPPORTED, "'wired' has a derivative among its units");
    diag_list_destroy(diags);
    SslUnit *const units[] = {wrong, with, of_from, other, group, from, to};
    for (uint32_t i = 0; i < SORT_COUNT_OF(units); ++i)
        ssl_unit_release(units[i]);
}

/* A derivative is a unit that groups may have as a part; what it computes reads parameters outside of its entry. The group
 * keeps what it is made of. */
static void test_group_of_derivatives(void **state)
{
    SslUnit *from = compile(*state, surface), *to = compile(*state, paint);
    SslUnit *late = compile(
        *state, "\n\nshader s(color x = color(0), int n = 130, out color z) { z = x;\n"
                "  for (int i = 0; i < n; ++i) { if (z.r > 99) break; z *= 1 + 1e-3 * sin(z); } }");
    SslUnit *wired = link_wired(*state, from, to);
    SslUnit *slope = derive(wired, false, 1, "from.height @uv", "z");
    SslUnit *back = derive(late, true, 0, "x", "z");
    const SslGroupNode nodes[] = {{.name = "first", .unit = to},
                                  {.name = "slope", .unit = slope},
                                  {.name = "back", .unit = back}};
    const SslGroupWire wires[] = {{"first", "z", "slope", "to.tint", NULL},
                                  {"slope", "tangent(z)", "back", "x", NULL}};
    const SslGroupOutput outputs[] = {{"first", "first", "z", NULL},
                                      {"slope", "slope", "tangent(z)", NULL},
                                      {"gradient", "back", "gradient(x)", NULL}};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = "named",
                               .nodes = nodes,
                               .wires = wires,
                               .outputs = outputs,
                               .node_count = 3,
                               .wire_count = 2,
                               .output_count = 3};
    SslUnit *group = link_units(*state, &desc);
    SslUnit *const units[] = {from, to, late, wired, back};
    for (uint32_t i = 0; i < SORT_COUNT_OF(units); ++i)
        ssl_unit_release(units[i]);
    SslProgram *of_group, *of_slope;
    GridHost *grid = run_new(*state, group, 0, 1, &of_group);
    GridHost *alone = run_new(*state, slope, 0, 1, &of_slope);
    const double one = 1;
    set(grid, of_group, "slope.tangent(from.height)", &one);
    set(alone, of_slope, "tangent(from.height)", &one);
    seed(grid, of_group, "slope.tangent(global_value<uv>)", 0, 0, 0.5f);
    seed(alone, of_slope, "tangent(global_value<uv>)", 0, 0, 0.5f);
    grid_host_run(grid);
    double tint[3];
    for (uint32_t k = 0; k < 3; ++k)
        tint[k] = (double)output(grid, of_group, "first", k, 0);
    set(alone, of_slope, "to.tint", tint);
    grid_host_run(alone);
    for (uint32_t k = 0; k < 3; ++k)
        NEAR((double)output(grid, of_group, "slope", k, 0),
             (double)output(alone, of_slope, "tangent(z)", k, 0), 0);
    assert_int_not_equal(grid_host_fault(grid, 0), 0);
    SslFaultInfo fault;
    ssl_fault_describe(of_group, grid_host_fault(grid, 0) - 1, &fault);
    assert_int_equal(fault.kind, SSL_FAULT_TAPE);
    assert_string_equal(fault.source_name, "test.ssl");
    assert_int_equal(fault.line, 4);
    release(grid, of_group, group);
    release(alone, of_slope, slope);
}

typedef struct Sharing {
    SslContext *ctx;
    const SslUnit *unit;
} Sharing;

/* Half of the calls differentiate the unit, half of them link it. */
static void share(void *data, uint32_t index)
{
    const Sharing *s = data;
    if (index % 2) {
        ssl_unit_release(derive(s->unit, index % 4 == 1, 1, "from.height @uv", "z"));
        return;
    }
    ssl_unit_release(link_alone(s->ctx, s->unit, "z"));
}

static void test_threads_share_a_group(void **state)
{
    SslUnit *from = compile(*state, surface), *to = compile(*state, paint);
    SslUnit *group = link_wired(*state, from, to);
    ssl_unit_release(from);
    ssl_unit_release(to);
    parallel_for(4, 32, share, &(Sharing){*state, group});
    ssl_unit_release(group);
}

/* --- hints ------------------------------------------------------------------------------------------ */

/* A loop in a loop, branches in both, and a call that has a derivative of its own. */
static const char hinted[] =
    "%sfloat detail(float3 p, int n) { float s = 0; for (int i = 0; i < n; ++i) { s += "
    "snoise(p); "
    "p "
    "*= 2; } return s; }"
    "void own_back(inout diff_pair<float> x, float d) { x.d = d * cos(x.p); }"
    "[BackwardDerivative(own_back)] %sfloat own(float x) { return sin(x); }"
    "shader s(float a = 0.7, float b = 0.4, out float y) {"
    "  const float3 p = float3(global_value<uv>.x, global_value<uv>.y, 0.3);"
    "  y = 0.2;"
    "  for (int i = 0; i < 5; ++i) {"
    "    if (p.x > 0.2 * float(i)) y += a * detail(p * float(i + 1), 3) * y;"
    "    else if (p.y > 0.5) y = own(y * b + detail(p + float3(i), 2)); else y *= 1.1;"
    "    for (int k = 0; k < i; ++k) y = y * b + detail(float3(k, i, 0.5) - p, 1) * own(a * y);"
    "  } }";

/* What is kept changes no bit, and makes kernels shorter. */
static void test_kept(void **state)
{
    static const char *const marks[2] = {"", "[PreferCheckpoint] "};
    static const uint32_t lanes[] = {1, 16};
    uint32_t instructions[2];
    float first[2][POINTS];
    for (uint32_t k = 0; k < 2; ++k)
        for (uint32_t w = 0; w < SORT_COUNT_OF(lanes); ++w) {
            StrBuf text = {0};
            strbuf_printf(&text, hinted, marks[k], marks[k]);
            SslUnit *unit = compile(*state, strbuf_text(&text));
            SslUnit *back = derive(unit, true, 0, "a b", "y");
            SslProgram *program;
            GridHost *grid = run_new(*state, back, lanes[w], POINTS, &program);
            float found[2][POINTS];
            for (uint32_t i = 0; i < POINTS; ++i)
                seed(grid, program, "adjoint(y)", 0, i, 1);
            grid_host_run(grid);
            for (uint32_t i = 0; i < POINTS; ++i) {
                found[0][i] = output(grid, program, "gradient(a)", 0, i);
                found[1][i] = output(grid, program, "gradient(b)", 0, i);
            }
            if (k == 0 && w == 0)
                memcpy(first, found, sizeof first);
            assert_memory_equal(first, found, sizeof first);
            instructions[k] = ssl_program_info(program)->ir_instructions;
            release(grid, program, back);
            ssl_unit_release(unit);
            strbuf_free(&text);
        }
    if (instructions[1] >= instructions[0] * 3 / 4)
        fail_msg("%u instructions, and %u without hints", instructions[1], instructions[0]);
}

/* --- the interpreter, in double ------------------------------------------------------------------- */

/* Sets what the interpreter reads of a parameter, at its default, or moved along one of its numbers. */
static void give_params(EvalPoint *point, const SslUnitInfo *info, const char *moved,
                        uint32_t number, double step)
{
    for (uint32_t i = 0; i < info->param_count; ++i) {
        const SslParamInfo *param = &info->params[i];
        for (uint32_t k = 0; k < ssl_value_scalars(param->type, param->shape); ++k) {
            const SslValue *value = &param->default_value;
            EvalScalar *to = &point->params[i][k];
            if (param->shape)
                to->v = value->list[k];
            else if (param->type == SSL_INT)
                to->i = value->i;
            else
                to->v = (double)value->f[k];
            if (param->shape && ssl_value_kind(param->type, param->shape, k) == SSL_INT)
                to->i = (int32_t)value->list[k];
            if (moved && strcmp(moved, param->name) == 0 && k == number)
                to->v += step;
        }
    }
}

static void give_point(EvalPoint *point, uint32_t index)
{
    *point = (EvalPoint){.mode = EVAL_DUAL};
    point->globals[UV][0][0] = fmod(0.37 * index, 1);
    point->globals[UV][0][1] = fmod(0.111 * index + 0.05, 1);
    point->globals[ID][0][0] = index;
}

/* The value of output number `of` of a case's unit, with a parameter or a global moved. */
static double value_in_double(const SslUnit *unit, uint32_t index, const char *moved,
                              uint32_t number, double step, uint32_t of, Arena *arena)
{
    EvalPoint point;
    give_point(&point, index);
    give_params(&point, ssl_unit_info(unit), moved, number, step);
    if (strcmp(moved, "global_value<uv>") == 0)
        point.globals[UV][0][number] += step;
    EvalResult r = ir_eval(unit->module, &point, arena);
    return eval_number(&point, &r, of);
}

static uint32_t check_in_double(const SslUnit *unit, const SslUnit *back, uint32_t first,
                                uint32_t index, const char *adjoint, uint32_t component,
                                Arena *arena)
{
    const SslUnitInfo *info = ssl_unit_info(back);
    EvalPoint point;
    uint32_t result = 0, checked = 0;
    give_point(&point, index);
    give_params(&point, info, NULL, 0, 0);
    point.attributes[find_attribute(info, adjoint)][0][component] = 1;
    EvalResult r = ir_eval(back->module, &point, arena);
    for (uint32_t i = 0; i < info->output_count; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", info->outputs[i].name + strlen("gradient("));
        name[strlen(name) - 1] = '\0';
        for (uint32_t k = 0; k < numbers_of(&info->outputs[i]); ++k, ++result) {
            if (ssl_value_kind(info->outputs[i].type, info->outputs[i].shape, k) != SSL_FLOAT)
                continue;
            const double h = 1e-7; /* where a second derivative jumps, the error is as large */
            double difference =
                (value_in_double(unit, index, name, k, h, first + component, arena) -
                 value_in_double(unit, index, name, k, -h, first + component, arena)) /
                (2 * h);
            double gradient = eval_number(&point, &r, result);
            NEAR(gradient, difference, 1e-6 * (1 + fabs(gradient)));
            ++checked;
        }
    }
    return checked;
}

/* Every number of every gradient at many points, in the interpreter's double arithmetic, against central differences in it. */
static void test_in_double(void **state)
{
    uint32_t checked = 0;
    for (uint32_t c = 0; c < SORT_COUNT_OF(cases); ++c) {
        Arena *arena = arena_create(0, 0);
        SslUnit *unit = compile(*state, cases[c].text);
        SslUnit *back = derive(unit, true, 0, cases[c].inputs, cases[c].outputs);
        const SslUnitInfo *info = ssl_unit_info(unit);
        for (uint32_t o = 0, first = 0; o < info->output_count; ++o) {
            const SslOutputInfo *of = &info->outputs[o];
            char adjoint[64];
            (void)snprintf(adjoint, sizeof adjoint, "adjoint(%s)", of->name);
            if (of->type == SSL_CLOSURE) {
                ++first;
                continue;
            }
            for (uint32_t k = 0; k < numbers_of(of); ++k)
                for (uint32_t p = 1; p < 24; ++p) {
                    checked += check_in_double(unit, back, first, p, adjoint, k, arena);
                    arena_reset(arena);
                }
            first += numbers_of(of);
        }
        ssl_unit_release(back);
        ssl_unit_release(unit);
        arena_destroy(arena);
    }
    assert_true(checked > 1000);
}

/* --- sums ---------------------------------------------------------------------------------------- */

static const char pattern[] =
    "shader s(float width = 0.3, float blur = 0.05, color tint = color(0.8, 0.3, 0.1), out "
    "color "
    "c) {"
    "  const float2 p = global_value<uv>;"
    "  float h = 0; for (int i = 1; i < 5; ++i) h += sin(float(i) * 9 * p.x * width) / "
    "float(i);"
    "  c = p.y > 0.6 ? tint * smoothstep(width, width + blur, p.x) : tint * h; }";

enum { MANY = 1000, PIECES_MAX = 16 };
typedef struct Pieces {
    SslContext *ctx;
    const SslUnit *unit;
    uint32_t lanes, count;
    SslSum *sums[PIECES_MAX];
    SslProgram *programs[PIECES_MAX];
} Pieces;

/* Sums piece `index` of the points: points index, index + count, ... */
static void sum_piece(void *data, uint32_t index)
{
    Pieces *pieces = data;
    Error err = {0};
    uint32_t points = (MANY - index + pieces->count - 1) / pieces->count;
    SslProgram *program;
    GridHost *grid = run_new(pieces->ctx, pieces->unit, pieces->lanes, points, &program);
    for (uint32_t i = 0; i < points; ++i) {
        uint32_t point = i * pieces->count + index;
        *grid_host_global(grid, UV, 0, 0, i) = fmodf(0.377f * (float)point, 1.0f);
        *grid_host_global(grid, UV, 0, 1, i) = (float)point / MANY;
        for (uint32_t k = 0; k < 3; ++k)
            seed(grid, program, "adjoint(c)", k, i, sinf((float)(point + 100 * k)) * 1e-3f);
    }
    grid_host_run(grid);
    CHECK(ssl_sum_create(program, &pieces->sums[index], &err) == STATUS_OK);
    CHECK(ssl_sum_add(pieces->sums[index], grid_host_batch(grid), &err) == STATUS_OK);
    grid_host_destroy(grid);
    pieces->programs[index] = program;
}

static void sum_in_pieces(SslContext *ctx, const SslUnit *unit, uint32_t threads, uint32_t count,
                          uint32_t lanes, double out[5])
{
    Pieces pieces = {.ctx = ctx, .unit = unit, .lanes = lanes, .count = count};
    Error err = {0};
    parallel_for(threads, count, sum_piece, &pieces);
    for (uint32_t i = count - 1; i > 0; --i) /* from the last on, so the order differs */
        assert_int_equal(ssl_sum_merge(pieces.sums[0], pieces.sums[i], &err), STATUS_OK);
    assert_int_equal(ssl_sum_points(pieces.sums[0]), MANY);
    for (uint32_t i = 0; i < 5; ++i)
        out[i] = ssl_sum_value(pieces.sums[0], i < 2 ? i : 2, i < 2 ? 0 : i - 2);
    for (uint32_t i = 0; i < count; ++i) {
        ssl_sum_destroy(pieces.sums[i]);
        ssl_program_release(pieces.programs[i]);
    }
}

static void test_same_bits(void **state)
{
    static const uint32_t threads[] = {1, 2, 5}, widths[] = {1, 8, 16}, counts[] = {1, 7, 16};
    SslUnit *unit = compile(*state, pattern);
    SslUnit *back = derive(unit, true, 0, "width blur tint", "c");
    double first[5], again[5];
    sum_in_pieces(*state, back, 1, 1, 4, first);
    for (uint32_t i = 0; i < 5; ++i)
        assert_true(fabs(first[i]) > 1e-6 && fabs(first[i]) < 1e3);
    for (uint32_t t = 0; t < 3; ++t)
        for (uint32_t w = 0; w < 3; ++w) {
            sum_in_pieces(*state, back, threads[t], counts[(t + w) % 3], widths[w], again);
            assert_memory_equal(first, again, sizeof first);
        }
    ssl_unit_release(back);
    ssl_unit_release(unit);
}

typedef bool AddLines(const float *const *lines, uint32_t count, AccumWide *out);

/* Lines of numbers of all sizes, apart from each other, sum to the bits that single numbers sum to; large ones are refused. */
static void check_lines(AddLines *add)
{
    AccumWide lines = {0}, singles = {0};
    float group[ACCUM_LINES_MAX][ACCUM_LINE + 1] = {0};
    const float *at[ACCUM_LINES_MAX];
    uint32_t bits = 1, count = 0;
    for (uint32_t i = 0; i < ACCUM_LINES_MAX; ++i)
        at[i] = group[i];
    for (uint32_t i = 0; i < 20000; ++i) {
        float *v = group[count];
        for (uint32_t k = 0; k < ACCUM_LINE; ++k) {
            bits = bits * 1664525u + 1013904223u;
            int exponent = (int)(bits >> 8 & 127) - 110; /* from 2^-110 to 2^17 */
            v[k] = ldexpf((float)(bits >> 9) * 0x1p-23f, exponent) * (bits & 1 ? 1.0f : -1.0f);
            accum_wide_add(&singles, accum_wide_from_float(v[k]));
        }
        if (++count < ACCUM_LINES_MAX - i % 3)
            continue;
        assert_true(add(at, count, &lines));
        assert_true(lines.hi == singles.hi && lines.lo == singles.lo);
        count = 0;
    }
    assert_true(singles.hi != 0 && singles.lo != 0);
    const AccumWide before = lines;
    static const float large[] = {ACCUM_LINE_MAX, -ACCUM_LINE_MAX, INFINITY, -INFINITY, NAN};
    memset(group, 0, sizeof group);
    for (uint32_t i = 0; i < SORT_COUNT_OF(large); ++i)
        for (uint32_t k = 0; k < ACCUM_LINE; ++k) {
            group[k][k] = large[i];
            group[0][15 - k] = 1;
            assert_false(add(at, ACCUM_LINES_MAX, &lines));
            assert_true(lines.hi == before.hi && lines.lo == before.lo);
            group[k][k] = group[0][15 - k] = 0;
        }
}

static void test_lines(void **state)
{
    SORT_UNUSED(state);
    check_lines(accum_lines_add);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_lines(accum_lines_add_avx2);
    if (__builtin_cpu_supports("avx512f"))
        check_lines(accum_lines_add_avx512);
#endif
}

static void test_sums_refuse(void **state)
{
    SslUnit *unit = compile(*state, "shader s(float a = 2, int n = 1, out float y) {"
                                    "  y = exp(a * global_value<uv>.x);"
                                    "  for (int i = 0; i < n; ++i) y = sin(y * a);"
                                    "  if (a < 0) y = 1; }");
    SslUnit *back = derive(unit, true, 0, "a", "y");
    SslProgram *program;
    SslSum *sum;
    Error err = {0};
    GridHost *grid = run_new(*state, back, 0, POINTS, &program);
    assert_int_equal(ssl_sum_create(program, &sum, &err), STATUS_OK);
    for (uint32_t i = 0; i < POINTS; ++i)
        seed(grid, program, "adjoint(y)", 0, i, 1);
    grid_host_run(grid);
    assert_int_equal(ssl_sum_add(sum, grid_host_batch(grid), &err), STATUS_OK);
    double before = ssl_sum_value(sum, 0, 0);
    assert_true(before != 0);

    seed(grid, program, "adjoint(y)", 0, 20, NAN);
    grid_host_run(grid);
    expect_refused(ssl_sum_add(sum, grid_host_batch(grid), &err), &err, STATUS_INVALID,
                   "adjoint(y) at point 20 is nan");
    seed(grid, program, "adjoint(y)", 0, 20, 1);
    seed(grid, program, "adjoint(y)", 0, 33, 1e30f);
    grid_host_run(grid);
    expect_refused(ssl_sum_add(sum, grid_host_batch(grid), &err), &err, STATUS_INVALID,
                   "too large for an exact sum");
    seed(grid, program, "adjoint(y)", 0, 33, 1);
    const SslValue many = {.type = SSL_INT, .i = 1000};
    assert_int_equal(ssl_params_set(program, grid_host_params(grid), 1, &many, &err), STATUS_OK);
    grid_host_run(grid);
    expect_refused(ssl_sum_add(sum, grid_host_batch(grid), &err), &err, STATUS_INVALID,
                   "bwd_diff of a loop with more turns");
    assert_true(ssl_sum_value(sum, 0, 0) == before);
    assert_int_equal(ssl_sum_points(sum), POINTS);
    ssl_sum_clear(sum);
    assert_true(ssl_sum_value(sum, 0, 0) == 0);
    ssl_sum_destroy(sum);
    release(grid, program, back);
    ssl_unit_release(unit);
}

/* A gradient that overflows is told, whereas bwd_diff in the language gives zero; behind a choice, too. */
static void test_overflow_is_told(void **state)
{
    static const char *const sources[] = {
        "shader s(float a = 1e20, out float y) { y = a * a * 1e-10; }",
        "shader s(float a = 1e20, out float y) { y = a > 1 ? a * a * 1e-10 : a; }",
    };
    for (size_t i = 0; i < SORT_COUNT_OF(sources); ++i) {
        SslUnit *unit = compile(*state, sources[i]);
        SslUnit *back = derive(unit, true, 0, "a", "y");
        SslProgram *program;
        SslSum *sum;
        Error err = {0};
        GridHost *grid = run_new(*state, back, 0, 1, &program);
        seed(grid, program, "adjoint(y)", 0, 0, 3e38f);
        grid_host_run(grid);
        assert_int_equal(ssl_sum_create(program, &sum, &err), STATUS_OK);
        expect_refused(ssl_sum_add(sum, grid_host_batch(grid), &err), &err, STATUS_INVALID,
                       "gradient(a) at point 0 is inf");
        ssl_sum_destroy(sum);
        release(grid, program, back);
        ssl_unit_release(unit);
    }
}

/* --- what is refused ------------------------------------------------------------------------------ */

static void test_inputs_stay_data(void **state)
{
    SslUnit *unit =
        compile(*state, "shader s(float a = 1, float b = 1, out float y) { y = a * b; }");
    SslUnit *back = derive(unit, true, 0, "a", "y");
    SslProgram *program;
    Error err = {0};
    SslBuildDesc how = {.size_bytes = sizeof how, .bake_switches = true};
    assert_int_equal(ssl_program_build(*state, back, &how, NULL, &program, &err), STATUS_OK);
    GridHost *grid;
    assert_int_equal(grid_host_create(program, globals, SORT_COUNT_OF(globals), 1, &grid, &err),
                     STATUS_OK);
    seed(grid, program, "adjoint(y)", 0, 0, 2);
    grid_host_run(grid);
    NEAR((double)output(grid, program, "gradient(a)", 0, 0), 2, 0);
    assert_false(ssl_program_info(program)->params[1].is_used); /* b was baked */
    release(grid, program, NULL);
    const SslConstant constant = {"a", {.type = SSL_FLOAT, .f = {1}}};
    how.constants = &constant;
    how.constant_count = 1;
    expect_refused(ssl_program_build(*state, back, &how, NULL, &program, &err), &err,
                   STATUS_INVALID, "parameter 'a' is an input of a derivative");
    ssl_unit_release(back);
    ssl_unit_release(unit);
}

/* ddx and ddy of what depends on a parameter, through which no bwd_diff leads, have derivatives by it. */
static void test_screen_derivatives(void **state)
{
    SslUnit *unit =
        compile(*state, "shader s(float a = 2, out float d) {"
                        "  const float2 p = global_value<uv>;"
                        "  d = ddx(a * a * p.x * p.y) + 3 * ddy(detach(a) * sin(a * p.x)); }");
    SslUnit *made = derive(unit, true, 0, "a", "d");
    SslProgram *program;
    GridHost *grid = run_new(*state, made, 8, POINTS, &program);
    for (uint32_t i = 0; i < POINTS; ++i) {
        *grid_host_global(grid, UV, 1, 0, i) = 0.5f;
        *grid_host_global(grid, UV, 2, 0, i) = 0.25f;
        *grid_host_global(grid, UV, 1, 1, i) = -1;
        *grid_host_attribute(grid, find_attribute(ssl_unit_info(made), "adjoint(d)"), 0, 0, i) = 1;
    }
    grid_host_run(grid);
    for (uint32_t i = 0; i < POINTS; ++i) {
        double x = (double)*grid_host_global(grid, UV, 0, 0, i);
        double y = (double)*grid_host_global(grid, UV, 0, 1, i);
        /* d = a^2 (y / 2 - x) + 3 b a cos(a x) / 4, where b = a is held */
        double wanted = 4 * (y / 2 - x) + 1.5 * (cos(2 * x) - 2 * x * sin(2 * x));
        NEAR((double)output(grid, program, "gradient(a)", 0, i), wanted, 1e-5);
    }
    release(grid, program, made);
    ssl_unit_release(unit);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *inputs, *outputs, *text;
        Status status;
        bool is_forward;
        uint32_t directions;
    } rows[] = {
        {"", "y", "needs an input", STATUS_INVALID, false, 0},
        {"a", "", "needs an output", STATUS_INVALID, false, 0},
        {"q", "y", "shader 's' has no parameter 'q'", STATUS_NOT_FOUND, false, 0},
        {"a", "q", "shader 's' has no output 'q'", STATUS_NOT_FOUND, false, 0},
        {"@q", "y", "the host has no global 'q'", STATUS_NOT_FOUND, false, 0},
        {"#q", "y", "shader 's' has no attribute 'q'", STATUS_NOT_FOUND, false, 0},
        {"n", "y", "parameter 'n' is of type int, which has no derivative", STATUS_INVALID, false,
         0},
        {"@id", "y", "global 'id' is of type int, which has no derivative", STATUS_INVALID, false,
         0},
        {"a", "k", "output 'k' is of type int", STATUS_INVALID, false, 0},
        {"a", "c", "output 'c' is of type closure", STATUS_INVALID, false, 0},
        {"a", "m", "output 'm' is of type matrix; adjoints are", STATUS_UNSUPPORTED, false, 0},
        {"a a", "y", "input 'a' is given twice", STATUS_INVALID, false, 0},
        {"a", "y y", "output 'y' is given twice", STATUS_INVALID, false, 0},
        {"%wod", "y", "shader 's' has no texture 'wod'; did you mean 'wood'?", STATUS_NOT_FOUND,
         false, 0},
        {"%wood", "t", "one direction is possible", STATUS_UNSUPPORTED, true, 2},
        {"a", "y", "2 directions; backward derivatives have none", STATUS_INVALID, false, 2},
        {"a", "y", "5 directions; 1 to 4 are possible", STATUS_INVALID, true, 5},
        {"a", "t", "S0819", STATUS_SOURCE, false, 0},
    };
    SslUnit *unit = compile(
        *state,
        "texture2d wood;"
        "shader s(float a = 1, int n = 1, out float y, out int k, out closure c, out matrix m,"
        "         out color t) {"
        "  y = a; k = n; m = matrix(a); c = make_closure<Lambert>(color(a));"
        "  t = color(ddx(texture2d_sample<wood>(a * global_value<uv>.x, a).r)); }");
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        Error err = {0};
        SslUnit *made;
        DiagList *diags = diag_list_create();
        Status status = differentiate(unit, !rows[i].is_forward, rows[i].directions, rows[i].inputs,
                                      rows[i].outputs, &made, diags, &err);
        assert_null(made);
        if (status == STATUS_SOURCE)
            (void)snprintf(err.text, sizeof err.text, "%s", diag_get(diags, 0)->code);
        expect_refused(status, &err, rows[i].status, rows[i].text);
        diag_list_destroy(diags);
    }
    SslUnit *back = derive(unit, true, 0, "a", "y"), *made;
    DiagList *diags = diag_list_create();
    Error err = {0};
    expect_refused(differentiate(back, true, 0, "a", "gradient(a)", &made, diags, &err), &err,
                   STATUS_UNSUPPORTED, "is a derivative already");
    diag_list_destroy(diags);
    ssl_unit_release(back);
    ssl_unit_release(unit);
}

/* Derivatives of functions that stay know arguments and results: what else such a function reads of the inputs is refused, unless the
 * source leaves that derivative out. */
static void test_reads_in_calls(void **state)
{
    static const struct {
        const char *input, *output;
        bool is_refused;
    } rows[] = {
        {"@uv", "again(a, 3)", true},
        {"#paint", "again(a, 3)", true},
        {"#paint", "through(a, 3)", true},
        {"@uv", "own(a)", true},
        {"#paint", "own(a)", false}, /* which does not read it */
        {"a", "again(a, 3)", false},
        {"@uv", "detach(again(a, 3)) + global_value<uv>.y", false},
        {"@uv", "a * detach(sin(again(a, 3)))", false},
        {"@uv", "again(a, 3) > 1 ? a : 0", false},
        {"@uv", "noted(a)", false},
        {"@uv", "passed(a, global_value<uv>.x, 3)", false},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i)
        for (uint32_t k = 0; k < 2; ++k) {
            char text[2048];
            Error err = {0};
            SslUnit *made;
            DiagList *diags = diag_list_create();
            (void)snprintf(
                text, sizeof text,
                "attribute float paint = 1;"
                "float again(float a, int n) { return n <= 0 ? a : global_value<uv>.x *"
                " attribute<paint> + again(a, n - 1); }"
                "float below(float a, int n) { return again(a, n); }"
                "float through(float a, int n) { return n <= 0 ? a : below(a, 2) + through(a, "
                "n - "
                "1); }"
                "float passed(float a, float by, int n) { return n <= 0 ? a : by * passed(a, "
                "by, n "
                "- 1); }"
                "void own_bwd(inout diff_pair<float> a, float g) { a.d = g; }"
                "diff_pair<float> own_fwd(diff_pair<float> a) { return a; }"
                "[BackwardDerivative(own_bwd)] [ForwardDerivative(own_fwd)] float own(float a)"
                " { return a + global_value<uv>.x; }"
                "[TreatAsDifferentiable] float noted(float a) { return a + global_value<uv>.x; "
                "}"
                "shader s(float a = 1, out float y) { y = %s; }",
                rows[i].output);
            SslUnit *unit = compile(*state, text);
            Status status = differentiate(unit, k > 0, 0, rows[i].input, "y", &made, diags, &err);
            if (status != (rows[i].is_refused ? STATUS_SOURCE : STATUS_OK))
                fail_msg("%s by %s: %s %s", rows[i].output, rows[i].input, err.text,
                         diag_count(diags) ? diag_get(diags, 0)->message : "");
            if (rows[i].is_refused) {
                assert_string_equal(diag_get(diags, 0)->code, "S0826");
                assert_true(diag_get(diags, 0)->span.end > 0);
                assert_int_equal(diag_get(diags, 1)->severity, DIAG_NOTE);
            }
            ssl_unit_release(made);
            ssl_unit_release(unit);
            diag_list_destroy(diags);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_says_the_source),
        cmocka_unit_test(test_zero_is_told),
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_group_agrees),
        cmocka_unit_test(test_group_textures),
        cmocka_unit_test(test_group_says_the_source),
        cmocka_unit_test(test_group_of_derivatives),
        cmocka_unit_test(test_threads_share_a_group),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_in_double),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_sums_refuse),
        cmocka_unit_test(test_overflow_is_told),
        cmocka_unit_test(test_inputs_stay_data),
        cmocka_unit_test(test_screen_derivatives),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_reads_in_calls),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
