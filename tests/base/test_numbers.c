/* hash, crc32c, half, mat4, srgb, clock: against published vectors and against definitions. */
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/mat4.h"
#include "base/srgb.h"
#include "base/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_hash(size_t size_bytes, unsigned factor, const char *expected)
{
    uint8_t data[1000] = {0};
    char text[HASH128_TEXT_BYTES];
    for (size_t i = 0; i < size_bytes; ++i)
        data[i] = (uint8_t)(i * factor);
    Hash128 whole = hash128(data, size_bytes);
    assert_string_equal(hash128_text(whole, text), expected);
    for (size_t part = 1; part < 300; part += 13) {
        HashState s;
        hash128_begin(&s);
        for (size_t at = 0; at < size_bytes; at += part)
            hash128_update(&s, data + at, size_bytes - at < part ? size_bytes - at : part);
        assert_true(hash128_equal(hash128_end(&s), whole));
    }
}

/* Expected values: Python's hashlib.blake2b(data, digest_size=16). */
static void test_hash_is_blake2b(void **state)
{
    SORT_UNUSED(state);
    char text[HASH128_TEXT_BYTES];
    assert_string_equal(hash128_text(hash128("abc", 3), text), "cf4ab791c62b8d2b2109c90275287816");
    check_hash(0, 1, "cae66941d9efbd404e4d88758ea67670");
    check_hash(128, 1, "a74787004ef589e31149183900d0294a");
    check_hash(129, 7, "2ec7e7bf8a8265ffd68aadd70ecd2b7e");
    check_hash(256, 7, "dbb08d79105462394550aa4d4e10133f");
    check_hash(1000, 7, "8095a6f38992fefe1c12ac8ec5e70791");
}

static void test_hash_keeps_texts_apart(void **state)
{
    SORT_UNUSED(state);
    HashState a, b;
    hash128_begin(&a);
    hash128_update_text(&a, "ab");
    hash128_update_text(&a, "c");
    hash128_begin(&b);
    hash128_update_text(&b, "a");
    hash128_update_text(&b, "bc");
    Hash128 first = hash128_end(&a), second = hash128_end(&b);
    assert_false(hash128_equal(first, second));
    assert_true(hash128_low64(first) != hash128_low64(second));
    assert_true(hash_mix64(1) != hash_mix64(2));
    assert_true(hash_mix64(0) == 0);
}

static void test_crc32c_known_values(void **state)
{
    SORT_UNUSED(state);
    /* [RFC3720 appendix B.4] */
    uint8_t zeros[32] = {0}, ones[32], up[32];
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < 32; ++i)
        up[i] = (uint8_t)i;
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aau);
    assert_int_equal(crc32c(0, ones, 32), 0x62a8ab43u);
    assert_int_equal(crc32c(0, up, 32), 0x46dd794eu);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(crc32c(0, "", 0), 0);
}

static void test_crc32c_forms_agree(void **state)
{
    SORT_UNUSED(state);
    uint8_t data[300];
    for (size_t i = 0; i < sizeof data; ++i)
        data[i] = (uint8_t)hash_mix64(i);
    for (size_t start = 0; start < 9; ++start)
        for (size_t size = 0; size + start <= sizeof data; ++size) {
            uint32_t whole = crc32c_portable(0, data + start, size);
            assert_int_equal(crc32c(0, data + start, size), whole);
            uint32_t part = crc32c(0, data + start, size / 3);
            assert_int_equal(crc32c(part, data + start + size / 3, size - size / 3), whole);
        }
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By the definition of the format. */
static double half_value(half h)
{
    int exponent = (h >> 10) & 31;
    double mantissa = (double)(h & 1023);
    double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return h & 0x8000 ? -size : size;
}

static void test_half_round_trips_all(void **state)
{
    SORT_UNUSED(state);
    static half all[65536], back[65536];
    static float values[65536];
    for (uint32_t h = 0; h < 65536; ++h)
        all[h] = (half)h;
    half_to_float_array(all, 65536, values);
    half_from_float_array(values, 65536, back);
    for (uint32_t h = 0; h < 65536; ++h) {
        float value = half_to_float((half)h);
        bool is_nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
        assert_int_equal(bits_of(values[h]), bits_of(value));
        assert_int_equal(half_from_float(value), is_nan ? h | 0x200 : h);
        assert_int_equal(back[h], half_from_float(value));
        if ((h & 0x7c00) != 0x7c00)
            assert_true((double)value == half_value((half)h));
        else
            assert_true(is_nan ? isnan(value)
                               : isinf(value) && (signbit(value) != 0) == (h >> 15 != 0));
    }
}

/* Nearest half by search, ties to the even one. */
static half nearest_half(float value)
{
    half sign = signbit(value) ? 0x8000 : 0;
    double size = fabs((double)value);
    uint32_t low = 0, high = 0x7c00; /* as if infinity were 65536 */
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(half_value((half)middle) <= size ? &low : &high) = middle;
    }
    double down = half_value((half)low), up = high == 0x7c00 ? 65536.0 : half_value((half)high);
    double middle = (down + up) / 2;
    if (size > middle || (size == middle && (low & 1)))
        low = high;
    return (half)(sign | low);
}

static void test_half_rounds_to_nearest_even(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t h = 0; h <= 0x7c00; ++h) {
        uint32_t bits = bits_of(half_to_float((half)h));
        /* at, around and half-way to the next value; below half of the least, too */
        uint32_t step = h == 0 ? 0x33000000u : h < 0x400 ? 0 : 0x1000;
        float tie = h < 0x400 ? (float)((half_value((half)h) + half_value((half)(h + 1))) / 2)
                              : float_of(bits + step);
        if (h == 0x7c00)
            tie = 65520.0f;
        for (int32_t near = -2; near <= 2; ++near) {
            float value = float_of(bits_of(tie) + (uint32_t)near);
            assert_int_equal(half_from_float(value), nearest_half(value));
            assert_int_equal(half_from_float(-value), nearest_half(-value));
        }
    }
    static float values[4096];
    static half bulk[4096];
    for (uint32_t round = 0; round < 256; ++round) {
        for (uint32_t i = 0; i < 4096; ++i)
            values[i] = float_of((uint32_t)hash_mix64(round * 4096u + i + 1));
        half_from_float_array(values, 4096 - round % 9, bulk);
        for (uint32_t i = 0; i < 4096 - round % 9; ++i)
            assert_int_equal(bulk[i], half_from_float(values[i]));
    }
}

/* Subnormal halves survive flush-to-zero modes. */
static void half_with_flush(void *data)
{
    bool *is_right = data;
    thread_flush_denormals();
    half all[16];
    float values[16];
    for (unsigned i = 0; i < 16; ++i)
        all[i] = (half)(i * 61 + 1);
    half_to_float_array(all, 16, values);
    *is_right = true;
    for (unsigned i = 0; i < 16; ++i)
        *is_right &= half_from_float(values[i]) == all[i] &&
                     bits_of(half_to_float(all[i])) == bits_of(values[i]) && values[i] > 0;
}

static void test_half_ignores_flush_modes(void **state)
{
    SORT_UNUSED(state);
    bool is_right = false;
    Thread *thread;
    assert_int_equal(thread_create("flush", 0, half_with_flush, &is_right, &thread, NULL),
                     STATUS_OK);
    thread_join(thread);
    assert_true(is_right);
}

static void check_near(float3 a, float3 b)
{
    assert_true(f3_length(f3_sub(a, b)) < 1e-5f);
}

static void test_mat4_transforms(void **state)
{
    SORT_UNUSED(state);
    mat4 m = mat4_mul(mat4_translate(f3(1, 2, 3)), mat4_scale(f3(2, 2, 2)));
    check_near(mat4_point(&m, f3(1, 1, 1)), f3(3, 4, 5)); /* scaled first */
    check_near(mat4_vector(&m, f3(1, 1, 1)), f3(2, 2, 2));
    mat4 quarter = mat4_rotate(f3(0, 0, 5), 1.57079632679f);
    check_near(mat4_vector(&quarter, f3(1, 0, 0)), f3(0, 1, 0));
    const float turn[4] = {0, 0, 1.41421356237f, 1.41421356237f}; /* not unit: a quarter about z */
    mat4 trs = mat4_trs(f3(1, 0, 0), turn, f3(3, 1, 1));
    check_near(mat4_point(&trs, f3(1, 0, 0)), f3(1, 3, 0));
    assert_true(fabsf(mat4_determinant3(trs) - 3) < 1e-5f);
    assert_true(mat4_determinant3(mat4_scale(f3(-1, 1, 1))) == -1.0f);
    mat4 look = mat4_look_at(f3(0, 0, 5), f3(0, 0, 0), f3(0, 1, 0));
    check_near(mat4_vector(&look, f3(0, 0, -1)), f3(0, 0, -1));
    check_near(mat4_point(&look, f3(0, 0, 0)), f3(0, 0, 5));
    look = mat4_look_at(f3(3, 4, 5), f3(-1, 0, 2), f3(0, 1, 0));
    check_near(mat4_vector(&look, f3(0, 0, -1)), f3_normalize(f3(-4, -4, -3)));
    assert_true(fabsf(mat4_determinant3(look) - 1) < 1e-5f);
    look = mat4_look_at(f3(0, 5, 0), f3(0, 0, 0), f3(0, 1, 0)); /* straight down */
    assert_true(mat4_is_finite(look) && fabsf(mat4_determinant3(look) - 1) < 1e-5f);
    mat4 projection = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 2, 0}}};
    check_near(mat4_project(&projection, f3(2, 4, 1)), f3(1, 2, 0.5f));
    assert_false(mat4_is_affine(projection));
}

static void test_mat4_inverse_and_normals(void **state)
{
    SORT_UNUSED(state);
    for (uint64_t round = 1; round < 200; ++round) {
        mat4 m, inverse;
        for (unsigned i = 0; i < 16; ++i)
            m.m[i / 4][i % 4] = (float)(hash_mix64(round * 16 + i) >> 40) * 0x1p-23f - 1;
        for (unsigned j = 0; j < 4; ++j)
            m.m[3][j] = j == 3;
        if (fabsf(mat4_determinant3(m)) < 0.05f)
            continue;
        assert_true(mat4_inverse(m, &inverse));
        mat4 product = mat4_mul(m, inverse);
        for (unsigned i = 0; i < 16; ++i)
            assert_true(fabsf(product.m[i / 4][i % 4] - (i % 5 == 0)) < 1e-4f);
        /* a normal stays perpendicular to what it was perpendicular to */
        float3 tangent = f3(m.m[0][1], 0.5f, m.m[2][0]), normal = f3_cross(tangent, f3(1, 2, 3));
        float3 moved = mat4_normal(&inverse, normal), along = mat4_vector(&m, tangent);
        assert_true(fabsf(f3_dot(moved, along)) <
                    1e-5f * f3_length(moved) * f3_length(along) + 1e-6f);
    }
    mat4 out;
    assert_false(mat4_inverse(mat4_scale(f3(1, 0, 1)), &out));
    assert_false(mat4_inverse(mat4_scale(f3(1, NAN, 1)), &out));
    mat4 identity = mat4_identity();
    assert_memory_equal(&out, &identity, sizeof out);
}

static void test_srgb_and_clock(void **state)
{
    SORT_UNUSED(state);
    for (int i = 0; i <= 1000; ++i) {
        float x = (float)i / 1000;
        assert_true(fabsf(srgb_from_linear(srgb_to_linear(x)) - x) < 1e-5f);
    }
    assert_true(fabsf(srgb_to_linear(0.5f) - 0.21404114f) < 1e-6f);
    for (int code = 0; code < 256; ++code) /* there and back again, each code is itself */
        assert_int_equal(lroundf(255 * srgb_from_linear(srgb_to_linear((float)code / 255))), code);
    uint64_t start = clock_now_ns();
    clock_sleep_ns(2000000);
    assert_in_range(clock_now_ns() - start, 2000000, 2000000000);
    assert_true(clock_seconds_since(start) >= 0.002);
    assert_true(clock_process_cpu_ns() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_is_blake2b),
        cmocka_unit_test(test_hash_keeps_texts_apart),
        cmocka_unit_test(test_crc32c_known_values),
        cmocka_unit_test(test_crc32c_forms_agree),
        cmocka_unit_test(test_half_round_trips_all),
        cmocka_unit_test(test_half_rounds_to_nearest_even),
        cmocka_unit_test(test_half_ignores_flush_modes),
        cmocka_unit_test(test_mat4_transforms),
        cmocka_unit_test(test_mat4_inverse_and_normals),
        cmocka_unit_test(test_srgb_and_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
