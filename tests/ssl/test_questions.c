/* Questions to the host: every kind of number goes both ways, in code of any number of lanes and under any mask, and tables that make no
 * sense are refused. */
#include "ssl/ssl.h"
#include <stdio.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "x", .type = SSL_FLOAT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "n", .type = SSL_INT, .space = "", .doc = ""},
};
static const SslClosureArg mixed_args[] = {
    {"at", SSL_POINT}, {"count", SSL_INT}, {"is_odd", SSL_BOOL}};
static const SslClosureArg one_arg[] = {{"count", SSL_INT}};
static const SslQuestionRow questions[] = {
    {.name = "mixed", .args = mixed_args, .arg_count = 3, .result = SSL_NORMAL, .doc = ""},
    {.name = "next", .args = one_arg, .arg_count = 1, .result = SSL_INT, .doc = ""},
    {.name = "is_large", .args = one_arg, .arg_count = 1, .result = SSL_BOOL, .doc = ""}};
enum { MIXED, NEXT, IS_LARGE };

/* Lanes ask different things, some nothing, and as often as a loop says. */
static const char source[] =
    "shader s(out float a, out float b, out float slope, out int steps)\n{\n"
    "    const float x = global_value<x>;\n"
    "    const int n = global_value<n>;\n"
    "    steps = n;\n"
    "    for (int i = 0; i < n % 5; i++) steps = ask_host<next>(steps);\n"
    "    float3 found = float3(-1);\n"
    "    if (n % 3 != 0) found = ask_host<mixed>(float3(x, 2 * x, n), n, n % 2 == 1);\n"
    "    a = found.x + 10 * found.y;\n"
    "    b = ask_host<is_large>(n) ? found.z : -found.z;\n"
    "    slope = ddx(a * x);\n}\n";

struct SslHost {
    uint32_t asked;
};

static int32_t word_at(const SslAskCall *call, uint32_t scalar, uint32_t lane)
{
    int32_t word;
    memcpy(&word, (const char *)call->args + 4 * (size_t)(scalar * call->lane_count + lane), 4);
    return word;
}

static float number_at(const SslAskCall *call, uint32_t scalar, uint32_t lane)
{
    float number;
    memcpy(&number, (const char *)call->args + 4 * (size_t)(scalar * call->lane_count + lane), 4);
    return number;
}

static void answer(SslHost *host, const SslAskCall *call)
{
    for (uint32_t k = 0; k < call->lane_count; ++k) {
        if (!(call->lane_mask >> k & 1u))
            continue;
        ++host->asked;
        int32_t *words = call->result;
        float *numbers = call->result;
        if (call->question == NEXT)
            words[k] = word_at(call, 0, k) + 100;
        else if (call->question == IS_LARGE)
            words[k] = word_at(call, 0, k) > 7;
        for (uint32_t c = 0; c < 3 && call->question == MIXED; ++c)
            numbers[c * call->lane_count + k] =
                number_at(call, c, k) +
                (float)(word_at(call, 3, k) * (word_at(call, 4, k) ? 1 : -1));
    }
}

static SslContext *create_context(void)
{
    const SslContextDesc desc = {.size_bytes = sizeof desc,
                                 .globals = globals,
                                 .global_count = SORT_COUNT_OF(globals),
                                 .questions = questions,
                                 .question_count = SORT_COUNT_OF(questions)};
    SslContext *ctx;
    Error err = {0};
    if (ssl_context_create(&desc, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return ctx;
}

typedef struct Numbers {
    float a, b, slope;
    int32_t steps;
} Numbers;

static Numbers expected(int32_t n, float x)
{
    float sign = n % 2 == 1 ? 1.0f : -1.0f, added = sign * (float)n;
    bool asks = n % 3 != 0;
    Numbers e = {.a = asks ? (x + added) + 10 * (2 * x + added) : -11,
                 .b = asks ? (float)n + added : -1,
                 .steps = n + 100 * (n % 5)};
    e.b = n > 7 ? e.b : -e.b;
    e.slope = e.a; /* answers have no derivatives */
    return e;
}

static void check_lanes(SslContext *ctx, SslUnit *unit, uint32_t lanes, uint16_t live)
{
    static _Alignas(64) float inputs[8 * SSL_BLOCK];
    static _Alignas(64) char result[1 << 12];
    const SslBuildDesc how = {.size_bytes = sizeof how, .lanes = lanes};
    SslProgram *program;
    Error err = {0};
    if (ssl_program_build(ctx, unit, &how, NULL, &program, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    const SslProgramInfo *info = ssl_program_info(program);
    assert_int_equal(info->questions, 7);
    SslGlobalsLayout layout;
    ssl_globals_layout(globals, SORT_COUNT_OF(globals), &layout);
    assert_true(layout.stride_bytes <= sizeof inputs && info->result_stride_bytes <= sizeof result);
    for (int32_t k = 0; k < SSL_BLOCK; ++k) {
        inputs[layout.offset_floats[0] + (uint32_t)k] = 0.25f * (float)k;
        inputs[layout.offset_floats[0] + (uint32_t)k + SSL_BLOCK] = 1; /* d/dx */
        memcpy(&inputs[layout.offset_floats[1] + (uint32_t)k], &k, sizeof k);
    }
    SslHost host = {0};
    const SslServices services = {.size_bytes = sizeof services, .ask = answer};
    const SslBatch batch = {.globals = inputs,
                            .live = &live,
                            .result = result,
                            .services = &services,
                            .host = &host,
                            .block_count = 1,
                            .loop_budget = 1000,
                            .stack_bytes = 1 << 12};
    ssl_program_kernel(program)(&batch);
    uint32_t asked = 0;
    for (int32_t k = 0; k < SSL_BLOCK; ++k) {
        if (!(live >> k & 1))
            continue;
        Numbers e = expected(k, 0.25f * (float)k), got;
        memcpy(&got.a, result + info->outputs[0].offset + 4 * k, 4);
        memcpy(&got.b, result + info->outputs[1].offset + 4 * k, 4);
        memcpy(&got.slope, result + info->outputs[2].offset + 4 * k, 4);
        memcpy(&got.steps, result + info->outputs[3].offset + 4 * k, 4);
        if (memcmp(&e, &got, sizeof e) != 0)
            fail_msg("%u lanes, lane %d: %g %g %g %d instead of %g %g %g %d", lanes, k,
                     (double)got.a, (double)got.b, (double)got.slope, got.steps, (double)e.a,
                     (double)e.b, (double)e.slope, e.steps);
        asked += 1u + (uint32_t)(k % 5) + (k % 3 != 0);
    }
    assert_int_equal(host.asked, asked); /* no lane asks what it does not need */
    ssl_program_release(program);
}

static void test_questions_by_lanes_and_masks(void **state)
{
    (void)state;
    SslContext *ctx = create_context();
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    const SslSource src = {.name = "ask.ssl", .text = str_from(source)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK)
        fail_msg("%s", diag_get(diags, 0)->message);
    const uint32_t lanes[] = {1, 4, 8, 16};
    const uint16_t masks[] = {0xffff, 0x0001, 0xa5c3, 0x8000};
    for (size_t i = 0; i < SORT_COUNT_OF(lanes); ++i)
        for (size_t k = 0; k < SORT_COUNT_OF(masks); ++k)
            check_lanes(ctx, unit, lanes[i], masks[k]);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    ssl_context_destroy(ctx);
}

static void check_refused(const SslQuestionRow *rows, uint32_t count, const char *part)
{
    const SslContextDesc desc = {
        .size_bytes = sizeof desc, .questions = rows, .question_count = count};
    SslContext *ctx;
    Error err = {0};
    assert_int_not_equal(ssl_context_create(&desc, &ctx, &err), STATUS_OK);
    assert_null(ctx);
    if (!strstr(err.text, part))
        fail_msg("'%s' instead of '%s'", err.text, part);
}

static void test_tables_of_questions_are_checked(void **state)
{
    (void)state;
    static const SslClosureArg closure_arg[] = {{"c", SSL_CLOSURE}};
    const SslQuestionRow twice[] = {questions[1], questions[1]};
    const SslQuestionRow silent = {.name = "silent", .args = one_arg, .result = SSL_INT};
    const SslQuestionRow odd = {
        .name = "odd", .args = closure_arg, .arg_count = 1, .result = SSL_INT};
    const SslQuestionRow matrix = {
        .name = "matrix", .args = one_arg, .arg_count = 1, .result = SSL_MATRIX};
    check_refused(twice, 2, "question 'next' stands twice");
    check_refused(&silent, 1, "question 'silent' has 0 arguments");
    check_refused(&odd, 1, "argument 'c' of question 'odd' cannot be a closure");
    check_refused(&matrix, 1, "the answer to question 'matrix' cannot be a matrix");
    check_refused(questions, SSL_MAX_QUESTIONS + 1, "65 questions; at most 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions_by_lanes_and_masks),
        cmocka_unit_test(test_tables_of_questions_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
