/* An exact conversion: the number is a quotient N / D of two integers. Where both are floats, as for most literals, one division
 * of floats rounds it [Clinger1990]; else a long division gives the float's bits. */
#include "ssl/front/decimal.h"
#include "base/check.h"
#include "ssl/ssl_limits.h"

#include <math.h>

/* Room for 10^(127 + 60), the largest power that can matter, and a shift by 32. */
enum { LIMBS = 24, EXPONENT_LARGEST = 60 };
_Static_assert(32 * LIMBS >= 622 + 32, "10^187 has 622 bits");

typedef struct Natural {
    uint32_t limb[LIMBS]; /* lowest first */
} Natural;

static void multiply_add(Natural *n, uint32_t factor, uint32_t term)
{
    uint64_t carry = term;
    for (int i = 0; i < LIMBS; ++i) {
        carry += (uint64_t)n->limb[i] * factor;
        n->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    ASSERT(carry == 0);
}

static int bit_length(const Natural *n)
{
    for (int i = LIMBS - 1; i >= 0; --i)
        for (int bit = 31; bit >= 0; --bit)
            if (n->limb[i] >> bit & 1u)
                return i * 32 + bit + 1;
    return 0;
}

static void shift_left(Natural *n, int bits)
{
    for (; bits > 0; bits -= bits < 31 ? bits : 31)
        multiply_add(n, 1u << (bits < 31 ? bits : 31), 0);
}

static bool is_less(const Natural *a, const Natural *b)
{
    for (int i = LIMBS - 1; i >= 0; --i)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i];
    return false;
}

static void subtract(Natural *a, const Natural *b)
{
    ASSERT(!is_less(a, b));
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; ++i) {
        uint64_t difference = (uint64_t)a->limb[i] - b->limb[i] - borrow;
        a->limb[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
}

/* Digits into *n and the power of ten that they are to be multiplied with. */
static void scan(Str text, Natural *n, int *out_exponent)
{
    int exponent = 0, written = 0;
    bool is_fraction = false, is_negative = false;
    size_t i = 0;
    for (; i < text.size_bytes && text.data[i] != 'e' && text.data[i] != 'E'; ++i) {
        if (text.data[i] == '.') {
            is_fraction = true;
            continue;
        }
        multiply_add(n, 10, (uint32_t)(text.data[i] - '0'));
        exponent -= is_fraction;
    }
    for (++i; i < text.size_bytes; ++i) {
        if (text.data[i] == '-')
            is_negative = true;
        else if (text.data[i] != '+' && written < 10000)
            written = written * 10 + (text.data[i] - '0');
    }
    *out_exponent = exponent + (is_negative ? -written : written);
}

/* n * 10^exponent, if that is a product or quotient of two numbers that are floats exactly, which is rounded once. */
static bool convert_small(const Natural *n, int exponent, float *out_value)
{
    static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f,
                                   1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    const int largest = (int)SORT_COUNT_OF(powers) - 1;
    for (int i = 1; i < LIMBS; ++i)
        if (n->limb[i] != 0)
            return false;
    if (n->limb[0] > 1u << 24 || exponent > largest || exponent < -largest)
        return false;
    float small = (float)n->limb[0];
    *out_value = exponent < 0 ? small / powers[-exponent] : small * powers[exponent];
    return true;
}

bool decimal_to_float(Str text, float *out_value)
{
    ASSERT(text.size_bytes <= SSL_MAX_NUMBER_BYTES);
    Natural n = {{0}}, d = {{1}};
    int exponent;
    scan(text, &n, &exponent);
    if (convert_small(&n, exponent, out_value))
        return true;
    *out_value = 0.0f;
    if (bit_length(&n) == 0)
        return true;
    if (exponent > EXPONENT_LARGEST)
        return false;
    if (exponent < -(SSL_MAX_NUMBER_BYTES + EXPONENT_LARGEST))
        return true; /* below 10^-60 */
    for (int i = 0; i < exponent; ++i)
        multiply_add(&n, 10, 0);
    for (int i = 0; i > exponent; --i)
        multiply_add(&d, 10, 0);

    /* value = N/D * 2^scale with N/D in [1, 2). */
    int scale = bit_length(&n) - bit_length(&d);
    shift_left(scale < 0 ? &n : &d, scale < 0 ? -scale : scale);
    if (is_less(&n, &d)) {
        shift_left(&n, 1);
        --scale;
    }
    int bits = scale >= -126 ? 24 : 24 - (-126 - scale); /* of the significand */
    if (bits < 0)
        return true;
    uint32_t significand = 0;
    for (int i = 0; i < bits; ++i) {
        bool one = !is_less(&n, &d);
        if (one)
            subtract(&n, &d);
        significand = significand << 1 | one;
        shift_left(&n, 1);
    }
    /* The rest, N/D in [0, 2), is in units of half the last bit. */
    bool is_above_half = is_less(&d, &n), is_half = !is_above_half && !is_less(&n, &d);
    if (is_above_half || (is_half && (significand & 1u)))
        ++significand;
    *out_value = ldexpf((float)significand, scale - bits + 1);
    return !isinf(*out_value);
}
