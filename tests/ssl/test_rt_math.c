/* The mathematics of kernels against the C library in double precision: the error of every function in
 * units in the last place, and that all widths give the same bits.
 *
 *   test_rt_math            floats 9,973 bit patterns apart, some seconds
 *   test_rt_math all        all 2^32 floats, a few minutes a function; `test_rt_math all sin` one of them
 */
#include "base/hash.h"
#include "ssl/rt/rt.h"
#include "ssl/rt/rt_lanes.h"
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

/* The bound of errors in ulp where a function computes in double; a correctly rounded result has 0.5. Others have bounds of their
 * own. docs/internals/jit.md promises the same. */
#define IN_DOUBLE 0.501

typedef void Lanes1(const float *restrict x, float *restrict out);
typedef void Lanes2(const float *restrict x, const float *restrict y, float *restrict out);
enum { WIDTHS = 3, WIDEST = 16 };
static const uint32_t widths[WIDTHS] = {4, 8, 16};

/* How many of the widths this machine can run. */
static uint32_t width_count(void)
{
#if RT_HAS_WIDE_LANES
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 1;
    bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    return has_avx512 ? 3 : 2;
#else
    return 1;
#endif
}

/* --- what is expected ----------------------------------------------------------------------------- */

static double positive(double x)
{
    return x < (double)FLT_MIN ? (double)FLT_MIN : x;
}

static double want_log(double x)
{
    return log(positive(x));
}

static double want_log2(double x)
{
    return log2(positive(x));
}

static double want_log10(double x)
{
    return log10(positive(x));
}

static double want_log1p(double x)
{
    return x <= -1 ? log((double)FLT_MIN) : log1p(x);
}

static double want_asin(double x)
{
    return asin(x < -1 ? -1 : x > 1 ? 1 : x);
}

static double want_acos(double x)
{
    return acos(x < -1 ? -1 : x > 1 ? 1 : x);
}

static double want_pow(double x, double y)
{
    return x < 0 && y == y && y != trunc(y) ? 0 : pow(x, y);
}

/* Functions of rt_lanes.h over arrays. Code for a CPU with wide registers calls those that take them. */
#define OVER_ARRAYS1(f, lanes, type, target)                                                       \
    target static void f##_##lanes(const float *restrict x, float *restrict out)                   \
    {                                                                                              \
        type in;                                                                                   \
        memcpy(&in, x, sizeof in);                                                                 \
        in = rt_##f##_##lanes(in);                                                                 \
        memcpy(out, &in, sizeof in);                                                               \
    }
#define OVER_ARRAYS2(f, lanes, type, target)                                                       \
    target static void f##_##lanes(const float *restrict x, const float *restrict y,               \
                                   float *restrict out)                                            \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, x, sizeof a);                                                                   \
        memcpy(&b, y, sizeof b);                                                                   \
        a = rt_##f##_##lanes(a, b);                                                                \
        memcpy(out, &a, sizeof a);                                                                 \
    }
#define OVER_ARRAYS_OF_SINCOS(f, lanes, type, target)                                              \
    target static void f##_##lanes(const float *restrict x, float *restrict out_sin,               \
                                   float *restrict out_cos)                                        \
    {                                                                                              \
        type in;                                                                                   \
        memcpy(&in, x, sizeof in);                                                                 \
        in = rt_##f##_##lanes(in, out_cos);                                                        \
        memcpy(out_sin, &in, sizeof in);                                                           \
    }
#if RT_HAS_WIDE_LANES
#    define OF_ALL_WIDTHS(kind, f)                                                                 \
        kind(f, 4, RtLanes4, ) kind(f, 8, RtLanes8, __attribute__((target("avx2"))))               \
            kind(f, 16, RtLanes16, __attribute__((target("avx512f"))))
#    define LANES(f) {f##_4, f##_8, f##_16}
#else
#    define OF_ALL_WIDTHS(kind, f) kind(f, 4, RtLanes4, )
#    define LANES(f)               {f##_4}
#endif
#define RT_MATH1(name, f) OF_ALL_WIDTHS(OVER_ARRAYS1, f)
#define RT_MATH2(name, f) OF_ALL_WIDTHS(OVER_ARRAYS2, f)
#define RT_WITH_FUSED
#include "ssl/rt/rt_math.inc"
#undef RT_WITH_FUSED
#undef RT_MATH1
#undef RT_MATH2
OF_ALL_WIDTHS(OVER_ARRAYS_OF_SINCOS, sincos)
OF_ALL_WIDTHS(OVER_ARRAYS_OF_SINCOS, fused_sincos)

#define ONE(f, want, bound) {#f, rt_##f, want, LANES(f), bound}

static const struct Function1 {
    const char *name;
    float (*get)(float);
    double (*want)(double);
    Lanes1 *lanes[WIDTHS];
    double bound; /* of the error, in ulp */
} functions1[] = {
    ONE(sin, sin, 0.85),
    ONE(cos, cos, 0.85),
    ONE(tan, tan, IN_DOUBLE),
    ONE(asin, want_asin, 0.75),
    ONE(acos, want_acos, 0.75),
    ONE(atan, atan, 0.80),
    ONE(sinh, sinh, IN_DOUBLE),
    ONE(cosh, cosh, IN_DOUBLE),
    ONE(tanh, tanh, IN_DOUBLE),
    ONE(exp, exp, 0.90),
    ONE(exp2, exp2, 0.90),
    ONE(expm1, expm1, IN_DOUBLE),
    ONE(log, want_log, 0.90),
    ONE(log2, want_log2, IN_DOUBLE),
    ONE(log10, want_log10, IN_DOUBLE),
    ONE(log1p, want_log1p, IN_DOUBLE),
    ONE(cbrt, cbrt, IN_DOUBLE),
    ONE(fused_sin, sin, 0.90),
    ONE(fused_cos, cos, 0.90),
    ONE(fused_exp, exp, 0.90),
    ONE(fused_exp2, exp2, 0.90),
    ONE(fused_log, want_log, 0.90),
    ONE(fused_atan, atan, 0.90),
};

static const struct Function2 {
    const char *name;
    float (*get)(float, float);
    double (*want)(double, double);
    Lanes2 *lanes[WIDTHS];
    double bound;
} functions2[] = {ONE(pow, want_pow, 0.90), ONE(atan2, atan2, 0.90), ONE(fused_atan2, atan2, 0.90),
                  ONE(hypot, hypot, IN_DOUBLE), ONE(fmod, fmod, IN_DOUBLE)};

/* --- comparing ------------------------------------------------------------------------------------ */

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static bool same_float(float x, float y)
{
    return bits_of(x) == bits_of(y) || (x != x && y != y);
}

static double error_ulp(float got, double want)
{
    if (want != want || isinf(got) || isinf(want) || got != got)
        return (want != want && got != got) || (float)want == got ? 0 : (double)INFINITY;
    int exponent;
    (void)frexp(fmax(fabs(want), (double)FLT_MIN), &exponent);
    return fabs((double)got - want) / ldexp(1, exponent - FLT_MANT_DIG);
}

/* x[0 .. 16) through all widths. */
static void check_lanes1(const struct Function1 *f, const float *x)
{
    for (uint32_t w = 0; w < width_count(); ++w)
        for (uint32_t first = 0; first < WIDEST; first += widths[w]) {
            float out[WIDEST];
            f->lanes[w](x + first, out);
            for (uint32_t i = 0; i < widths[w]; ++i)
                if (!same_float(out[i], f->get(x[first + i])))
                    fail_msg("%s(%a): %a in %u lanes, %a alone", f->name, (double)x[first + i],
                             (double)out[i], widths[w], (double)f->get(x[first + i]));
        }
}

static void check_lanes2(const struct Function2 *f, const float *x, const float *y)
{
    for (uint32_t w = 0; w < width_count(); ++w)
        for (uint32_t first = 0; first < WIDEST; first += widths[w]) {
            float out[WIDEST];
            f->lanes[w](x + first, y + first, out);
            for (uint32_t i = 0; i < widths[w]; ++i)
                if (!same_float(out[i], f->get(x[first + i], y[first + i])))
                    fail_msg("%s(%a, %a): %a in %u lanes, %a alone", f->name, (double)x[first + i],
                             (double)y[first + i], (double)out[i], widths[w],
                             (double)f->get(x[first + i], y[first + i]));
        }
}

/* Near 0, 1, the borders of the reductions, and what is no number. */
static const float special[] = {
    0.0f,        -0.0f,      1.0f,         -1.0f,       0.5f,        -0.5f,       2.0f,
    -2.0f,       3.0f,       -3.0f,        1.5f,        -2.5f,       0x1p24f,     -0x1p24f,
    0x1p23f,     16777215,   0x1p28f,      0x1p-28f,    0x1p127f,    -0x1p127f,   0x1p-126f,
    -0x1p-126f,  0x1p-149f,  FLT_MAX,      -FLT_MAX,    INFINITY,    -INFINITY,   NAN,
    0.99999994f, 1.0000001f, -0.99999994f, 3.14159274f, 0.41421357f, 2.41421366f,
};
enum { SPECIALS = sizeof special / sizeof *special };

/* The largest error over floats `step` patterns apart, and the special ones. */
static void check_function1(const struct Function1 *f, uint64_t step)
{
    double worst = 0;
    float where = 0, lanes[WIDEST];
    uint32_t lane = 0;
    for (uint64_t i = 0, bits = 0; bits <= UINT32_MAX; bits = i++ < SPECIALS ? 0 : bits + step) {
        float x = i < SPECIALS ? special[i] : from_bits((uint32_t)bits), got = f->get(x);
        double error = error_ulp(got, f->want((double)x));
        if (error > worst) {
            worst = error;
            where = x;
        }
        if (x == 0 && bits_of(got) != bits_of((float)f->want((double)x)))
            fail_msg("%s(%a): the zero has the wrong sign", f->name, (double)x);
        lanes[lane++] = x;
        if (lane == WIDEST)
            check_lanes1(f, lanes);
        lane %= WIDEST;
    }
    print_message("%-6s %.5f ulp, at %a\n", f->name, worst, (double)where);
    assert_true(worst <= f->bound);
}

enum { SAMPLE_STEP = 9973 };

static void test_functions_of_one_argument(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof functions1 / sizeof *functions1; ++i)
        check_function1(&functions1[i], SAMPLE_STEP);
}

/* One of the special values, or any bit pattern, or a number of ordinary size. */
static float sample(uint64_t random)
{
    switch (random % 4) {
    case 0:
        return special[(random >> 8) % SPECIALS];
    case 1:
        return from_bits((uint32_t)(random >> 32));
    default:
        return ((float)(random >> 40) * 0x1p-24f - 0.25f) * (random & 16 ? 64.0f : 2.0f);
    }
}

static void check_function2(const struct Function2 *f, uint32_t rounds)
{
    double worst = 0;
    float where[2] = {0}, x[WIDEST], y[WIDEST];
    for (uint32_t round = 0; round < rounds; ++round) {
        for (uint32_t i = 0; i < WIDEST; ++i) {
            uint64_t index = (uint64_t)round * WIDEST + i;
            bool both_special = index < (uint64_t)SPECIALS * SPECIALS;
            x[i] = both_special ? special[index / SPECIALS] : sample(hash_mix64(2 * index));
            y[i] = both_special ? special[index % SPECIALS] : sample(hash_mix64(2 * index + 1));
            double error = error_ulp(f->get(x[i], y[i]), f->want((double)x[i], (double)y[i]));
            if (error > worst) {
                worst = error;
                where[0] = x[i];
                where[1] = y[i];
            }
        }
        check_lanes2(f, x, y);
    }
    print_message("%-6s %.5f ulp, at %a, %a\n", f->name, worst, (double)where[0], (double)where[1]);
    assert_true(worst <= f->bound);
}

static void test_functions_of_two_arguments(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof functions2 / sizeof *functions2; ++i)
        check_function2(&functions2[i], 60000);
}

typedef void LanesOfTwo(const float *restrict, float *restrict, float *restrict);

static void check_sine_and_cosine(LanesOfTwo *const *lanes, float (*both)(float, float *),
                                  float (*sine)(float), float (*cosine)(float))
{
    for (uint64_t bits = 0; bits + WIDEST * SAMPLE_STEP <= UINT32_MAX;
         bits += WIDEST * SAMPLE_STEP) {
        float x[WIDEST], out_sin[WIDEST], out_cos[WIDEST];
        for (uint32_t i = 0; i < WIDEST; ++i)
            x[i] = from_bits((uint32_t)(bits + i * SAMPLE_STEP));
        x[bits % WIDEST] = bits % 3 ? 0x1p30f : 1000.0f; /* which have a body of their own */
        for (uint32_t w = 0; w < width_count(); ++w) {
            lanes[w](x, out_sin, out_cos);
            for (uint32_t i = 0; i < widths[w]; ++i) {
                float c, s = both(x[i], &c);
                assert_true(same_float(s, sine(x[i])) && same_float(c, cosine(x[i])));
                assert_true(same_float(s, out_sin[i]) && same_float(c, out_cos[i]));
            }
        }
    }
}

static void test_sine_and_cosine_together(void **state)
{
    (void)state;
    static LanesOfTwo *const lanes[WIDTHS] = LANES(sincos), *const fused[WIDTHS] =
                                                                LANES(fused_sincos);
    check_sine_and_cosine(lanes, rt_sincos, rt_sin, rt_cos);
    check_sine_and_cosine(fused, rt_fused_sincos, rt_fused_sin, rt_fused_cos);
}

/* The floats around multiples of pi/2, where nearly all bits of an angle cancel. */
static void test_angles_beside_zeros(void **state)
{
    static const struct {
        float (*get)(float);
        double (*want)(double);
    } functions[] = {{rt_sin, sin}, {rt_cos, cos}, {rt_fused_sin, sin}, {rt_fused_cos, cos}};
    (void)state;
    for (uint32_t quarter = 1; quarter < 2000; ++quarter)
        for (uint32_t i = 0; i < 5; ++i) {
            float x = from_bits(bits_of((float)(quarter * 1.5707963267948966)) + i - 2);
            for (uint32_t k = 0; k < SORT_COUNT_OF(functions); ++k)
                if (error_ulp(functions[k].get(x), functions[k].want((double)x)) > 0.9)
                    fail_msg("function %u of %a is %a", k, (double)x, (double)functions[k].get(x));
        }
}

/* Against the C library's. */
static void test_fused_multiply_add(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 300000; ++round) {
        float in[3][WIDEST], out[WIDEST];
        for (uint32_t i = 0; i < WIDEST; ++i) {
            for (uint32_t k = 0; k < 3; ++k)
                in[k][i] = sample(hash_mix64((round * WIDEST + i) * 3 + k));
            if (round % 2) /* what is close to the product, so that bits cancel */
                in[2][i] = -in[0][i] * in[1][i] * (1.0f + (float)(round % 5) * 0x1p-23f);
            assert_true(same_float(rt_fma(in[0][i], in[1][i], in[2][i]),
                                   fmaf(in[0][i], in[1][i], in[2][i])));
        }
        RtLanes4 a, b, c;
        memcpy(&a, in[0], sizeof a);
        memcpy(&b, in[1], sizeof b);
        memcpy(&c, in[2], sizeof c);
        a = rt_fma_4(a, b, c);
        memcpy(out, &a, sizeof a);
        for (uint32_t i = 0; i < 4; ++i)
            assert_true(same_float(out[i], fmaf(in[0][i], in[1][i], in[2][i])));
    }
}

/* Errors before the last rounding are below half an ulp, so a result that is a float is found. */
static void test_exact_results(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100000; ++i) {
        float x = sample(hash_mix64(i) | 3);
        if (x > 0)
            assert_true(same_float(rt_pow(x, 1.0f), x));
        float whole = (float)(i % 4096), square = whole * whole;
        assert_true(rt_pow(whole, 2.0f) == square && rt_pow(square, 0.5f) == whole);
    }
    for (int exponent = -149; exponent < 128; ++exponent) {
        float power = ldexpf(1.0f, exponent);
        assert_true(rt_exp2((float)exponent) == power && rt_pow(2.0f, (float)exponent) == power);
    }
    assert_true(rt_exp(0.0f) == 1.0f && rt_cos(0.0f) == 1.0f && rt_log(1.0f) == 0.0f &&
                rt_acos(1.0f) == 0.0f);
}

static int check_all(const char *name)
{
    uint32_t checked = 0;
    for (uint32_t i = 0; i < sizeof functions1 / sizeof *functions1; ++i)
        if (!name || strcmp(name, functions1[i].name) == 0) {
            check_function1(&functions1[i], 1);
            ++checked;
        }
    if (checked == 0)
        (void)fprintf(stderr, "test_rt_math: no function of one argument is called '%s'\n", name);
    return checked == 0;
}

static const char *chosen;

static void test_all_floats(void **state)
{
    (void)state;
    assert_int_equal(check_all(chosen), 0);
}

/* --- registers -------------------------------------------------------------------------------------- */

#if RT_KEEPS_REGISTERS
/* A call: of what, with what arguments, and where rt_sincos writes; then what the registers held: `upper` what all of zmm16 to zmm31 have, `masks` what k4
 * to k7 have. */
typedef struct Call {
    void (*function)(void);
    float *memory;
    uint64_t masks, rsi;
    float x[WIDEST], y[WIDEST];
    uint32_t upper[WIDEST];
} Call;
_Static_assert(offsetof(Call, rsi) == 24 && offsetof(Call, y) == 96 && offsetof(Call, upper) == 160,
               "the assembler's offsets");

static __attribute__((target("avx512f"))) bool keeps_registers(Call *call)
{
    __asm__ volatile(
        "mov %%rsp, %%rbx\n sub $256, %%rsp\n and $-64, %%rsp\n"
        "vmovups 32(%[call]), %%zmm0\n vmovups 96(%[call]), %%zmm1\n mov 8(%[call]), %%rdi\n"
        ".irp r,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "vpternlogd $255, %%zmm\\r, %%zmm\\r, %%zmm\\r\n .endr\n"
        "kxnorw %%k0, %%k0, %%k4\n kmovw %%k4, %%k5\n kmovw %%k4, %%k6\n kmovw %%k4, %%k7\n"
        "mov $12345, %%rsi\n call *(%[call])\n"
        ".irp r,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "vpandd %%zmm\\r, %%zmm16, %%zmm16\n .endr\n"
        "kandw %%k4, %%k5, %%k5\n kandw %%k6, %%k7, %%k7\n kandw %%k5, %%k7, %%k7\n"
        "kmovw %%k7, %%eax\n mov %%rax, 16(%[call])\n mov %%rsi, 24(%[call])\n"
        "vmovups %%zmm16, 160(%[call])\n mov %%rbx, %%rsp\n vzeroupper\n"
        :
        : [call] "r"(call)
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc",
          "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20",
          "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30",
          "xmm31", "k4", "k5", "k6", "k7");
    bool is_kept = call->masks == 0xffff && call->rsi == 12345;
    for (uint32_t i = 0; i < WIDEST; ++i)
        is_kept = is_kept && call->upper[i] == UINT32_MAX;
    return is_kept;
}
#endif

/* With arguments of all kinds, also such as go through the functions of one lane. */
static void test_registers_are_kept(void **state)
{
    (void)state;
#if RT_KEEPS_REGISTERS
    static void (*const functions[])(void) = {
#    define RT_MATH1(name, f) (void (*)(void)) rt_##f##_16,
#    define RT_MATH2          RT_MATH1
#    define RT_WITH_FUSED
#    include "ssl/rt/rt_math.inc"
#    undef RT_WITH_FUSED
#    undef RT_MATH1
#    undef RT_MATH2
        (void (*)(void))rt_sincos_16, (void (*)(void))rt_fused_sincos_16,
        (void (*)(void))rt_fma_16};
    if (width_count() < WIDTHS)
        skip();
    for (uint64_t round = 0; round < 2000; ++round)
        for (uint32_t k = 0; k < SORT_COUNT_OF(functions); ++k) {
            float memory[WIDEST];
            Call call = {.function = functions[k], .memory = memory};
            for (uint32_t i = 0; i < WIDEST; ++i) {
                call.x[i] = sample(hash_mix64(round * WIDEST + i));
                call.y[i] = sample(hash_mix64(~(round * WIDEST + i)));
            }
            assert_true(keeps_registers(&call));
        }
#else
    skip();
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers_are_kept),
        cmocka_unit_test(test_functions_of_one_argument),
        cmocka_unit_test(test_functions_of_two_arguments),
        cmocka_unit_test(test_sine_and_cosine_together),
        cmocka_unit_test(test_angles_beside_zeros),
        cmocka_unit_test(test_fused_multiply_add),
        cmocka_unit_test(test_exact_results),
    };
    const struct CMUnitTest all[] = {cmocka_unit_test(test_all_floats)};
    chosen = argc > 2 ? argv[2] : NULL;
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        return cmocka_run_group_tests(all, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
