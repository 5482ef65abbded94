/* Packed sums come back, take the bytes that their value needs, and what is no packing is refused without harm. */
#include "sort/film/film_pack.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { DATA_MAX = 80, PACKED_MAX = DATA_MAX + DATA_MAX / 16 + 1, CASES = 200000 };

static void check_back(const uint8_t *data, size_t size)
{
    uint8_t packed[PACKED_MAX], back[DATA_MAX];
    size_t packed_bytes = film_pack(data, size, packed);
    assert_int_equal(packed_bytes, film_packed_size(data, size));
    assert_true(packed_bytes <= film_packed_max(size));
    assert_true(film_unpack(packed, packed_bytes, back, size));
    assert_memory_equal(back, data, size);
    if (packed_bytes)
        assert_false(film_unpack(packed, packed_bytes - 1, back, size));
}

/* Bytes at which packings change: 0, all ones, either side of a sign. */
static void test_film_pack_comes_back(void **state)
{
    (void)state;
    static const uint8_t edges[] = {0, 0, 0xff, 0xff, 0x7f, 0x80, 1};
    uint8_t data[DATA_MAX];
    for (uint64_t i = 0; i < CASES; ++i) {
        for (uint64_t k = 0; k < DATA_MAX; ++k) {
            uint64_t draw = hash_mix64(i << 8 | k);
            data[k] = draw % 8 < 7 ? edges[draw % 8] : (uint8_t)(draw >> 32);
        }
        check_back(data, (size_t)(hash_mix64(~i) % (DATA_MAX + 1)));
    }
}

/* A sum of 2^-64 b times a power of two takes the control byte and those of b, with its sign. */
static void test_film_pack_keeps_what_counts(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift < 15; ++shift)
        for (unsigned negative = 0; negative < 2; ++negative) {
            uint8_t data[16];
            memset(data, negative ? 0xff : 0, sizeof data);
            memset(data, 0, shift);
            data[shift] = negative ? 0x85 : 0x45;
            assert_int_equal(film_packed_size(data, sizeof data), 2);
            data[shift] = negative ? 0x45 : 0x85; /* the sign needs a byte of its own */
            assert_int_equal(film_packed_size(data, sizeof data), 3);
        }
    uint8_t zeros[DATA_MAX] = {0}, full[16];
    assert_int_equal(film_packed_size(zeros, DATA_MAX), DATA_MAX / 16);
    memset(full, 0x55, sizeof full);
    assert_int_equal(film_packed_size(full, sizeof full), 17);
}

/* Sanitizers see accesses beyond either end. */
static void test_film_pack_refuses_noise(void **state)
{
    (void)state;
    uint8_t noise[PACKED_MAX], data[DATA_MAX + 1];
    for (uint64_t i = 0; i < CASES; ++i) {
        for (uint64_t k = 0; k < PACKED_MAX; ++k)
            noise[k] = (uint8_t)(hash_mix64(i << 8 | k) >> 17);
        data[DATA_MAX] = 0xa5;
        (void)film_unpack(noise, (size_t)(i % PACKED_MAX), data, DATA_MAX);
        assert_int_equal(data[DATA_MAX], 0xa5);
    }
    static const uint8_t outside[] = {0x2f, 1, 2}; /* two bytes, from the sixteenth */
    assert_false(film_unpack(outside, sizeof outside, data, 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_film_pack_comes_back),
        cmocka_unit_test(test_film_pack_keeps_what_counts),
        cmocka_unit_test(test_film_pack_refuses_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
