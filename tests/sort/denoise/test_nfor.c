/* Denoising by regression: what must stay, by closed forms; what must go, by statistics; bits. */
#include "sort/denoise/nfor.h"

#include "base/alloc.h"
#include "sort/sampling/sample_key.h"
#include "sort/wide/wide.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A picture, its noise and its guides. */
typedef struct Picture {
    uint32_t width, height;
    size_t count;
    float *even, *odd, *variance, *albedo, *normal, *depth, *odd_albedo, *odd_normal, *odd_depth;
    float *truth; /* RGB */
    float *out;   /* RGBA */
} Picture;

static float *floats(size_t count)
{
    float *array = mem_alloc(count, sizeof *array);
    assert_non_null(array);
    return array;
}

static Picture make(uint32_t width, uint32_t height)
{
    Picture p = {.width = width, .height = height, .count = (size_t)width * height};
    p.even = floats(4 * p.count), p.odd = floats(4 * p.count);
    p.variance = floats(p.count), p.depth = floats(p.count), p.odd_depth = floats(p.count);
    p.albedo = floats(3 * p.count), p.odd_albedo = floats(3 * p.count);
    p.normal = floats(3 * p.count), p.odd_normal = floats(3 * p.count);
    p.truth = floats(3 * p.count), p.out = floats(4 * p.count);
    for (size_t i = 0; i < p.count; ++i) {
        p.even[4 * i + 3] = p.odd[4 * i + 3] = 8.0f;
        p.normal[3 * i + 2] = p.odd_normal[3 * i + 2] = 1.0f;
        p.depth[i] = p.odd_depth[i] = 5.0f;
        p.out[4 * i + 3] = 0.25f;
    }
    return p;
}

static void release(Picture *p)
{
    float *const all[] = {p->even,      p->odd,   p->variance,   p->albedo,
                          p->normal,    p->depth, p->odd_albedo, p->odd_normal,
                          p->odd_depth, p->truth, p->out};
    for (size_t i = 0; i < SORT_COUNT_OF(all); ++i)
        mem_free(all[i]);
}

static NforInput input_of(const Picture *p)
{
    return (NforInput){.size_bytes = sizeof(NforInput),
                       .width = p->width,
                       .height = p->height,
                       .even = p->even,
                       .odd = p->odd,
                       .variance = p->variance,
                       .albedo = p->albedo,
                       .normal = p->normal,
                       .depth = p->depth,
                       .odd_albedo = p->odd_albedo,
                       .odd_normal = p->odd_normal,
                       .odd_depth = p->odd_depth,
                       .thread_count = 2};
}

static void run(Picture *p)
{
    Error err = {0};
    NforInput input = input_of(p);
    assert_int_equal(nfor_denoise(&input, p->out, 4, &err), STATUS_OK);
}

/* About normal: the sum of twelve uniform numbers, variance 1. */
static float noise(size_t i, uint32_t salt)
{
    uint64_t h = hash_mix64(i * 977u + salt);
    float sum = -6.0f;
    for (int k = 0; k < 12; ++k, h = hash_mix64(h))
        sum += (float)(h >> 40) * 0x1p-24f;
    return sum;
}

/* Halves of the truth with noise of this standard deviation in the mean. */
static void add_noise(Picture *p, float deviation)
{
    for (size_t i = 0; i < p->count; ++i) {
        for (uint32_t c = 0; c < 3; ++c) {
            float half = deviation * 1.4142136f;
            p->even[4 * i + c] = p->truth[3 * i + c] + half * noise(i, 2 * c);
            p->odd[4 * i + c] = p->truth[3 * i + c] + half * noise(i, 2 * c + 1);
        }
        /* The squares of luminance's weights sum to 0.5619. */
        p->variance[i] = 0.5619f * deviation * deviation;
    }
}

static double mean_square_error(const Picture *p)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->count; ++i)
        for (uint32_t c = 0; c < 3; ++c) {
            double d = (double)p->out[4 * i + c] - (double)p->truth[3 * i + c];
            sum += d * d;
        }
    return sum / (3.0 * (double)p->count);
}

static void assert_kept(const Picture *p, float tolerance)
{
    for (size_t i = 0; i < p->count; ++i) {
        for (uint32_t c = 0; c < 3; ++c) {
            float expected = p->truth[3 * i + c];
            assert_float_equal(p->out[4 * i + c], expected, tolerance * fabsf(expected) + 1e-30f);
        }
        assert_true(p->out[4 * i + 3] == 0.25f);
    }
}

typedef float (*Shape)(uint32_t x, uint32_t y, uint32_t c);

static float constant(uint32_t x, uint32_t y, uint32_t c)
{
    (void)x, (void)y;
    return 0.1f + 0.3f * (float)c;
}

static float ramp(uint32_t x, uint32_t y, uint32_t c)
{
    return 1.0f + 0.01f * (float)x + 0.02f * (float)y * (float)c;
}

static float speckle(uint32_t x, uint32_t y, uint32_t c)
{
    return ldexpf(1.0f, (int)(hash_mix64(x * 131u + y * 7u + c) % 20) - 10);
}

static void draw(Picture *p, Shape shape, float scale)
{
    for (uint32_t y = 0; y < p->height; ++y)
        for (uint32_t x = 0; x < p->width; ++x)
            for (uint32_t c = 0; c < 3; ++c)
                p->truth[3 * ((size_t)y * p->width + x) + c] = scale * shape(x, y, c);
}

/* Without noise every picture is kept, at any brightness. */
static void test_nfor_keeps_what_has_no_noise(void **state)
{
    (void)state;
    static const Shape shapes[] = {constant, ramp, speckle};
    static const float scales[] = {1.0f, 1e-6f, 1e6f};
    for (size_t s = 0; s < 3; ++s)
        for (size_t k = 0; k < 3; ++k) {
            Picture p = make(70, 37);
            draw(&p, shapes[s], scales[k]);
            add_noise(&p, 0.0f);
            run(&p);
            assert_kept(&p, 3e-5f);
            release(&p);
        }
}

static void test_nfor_takes_any_size(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, 1},   {1, 40},  {40, 1},  {2, 3},
                                        {64, 32}, {65, 33}, {129, 5}, {3, 70}};
    for (size_t i = 0; i < SORT_COUNT_OF(sizes); ++i) {
        Picture p = make(sizes[i][0], sizes[i][1]);
        draw(&p, ramp, 1.0f);
        add_noise(&p, 0.0f);
        run(&p);
        assert_kept(&p, 3e-5f);
        release(&p);
    }
}

/* A linear ramp that only the place tells: noise falls to the tenth of its variance and below, and nothing is left of a
 * bend. */
static void test_nfor_fits_a_ramp(void **state)
{
    (void)state;
    const float deviation = 0.1f;
    Picture p = make(150, 100);
    draw(&p, ramp, 1.0f);
    add_noise(&p, deviation);
    run(&p);
    assert_true(mean_square_error(&p) < 0.1 * (double)(deviation * deviation));
    double bias = 0.0, tilt = 0.0, norm = 0.0;
    for (uint32_t y = 0; y < p.height; ++y)
        for (uint32_t x = 0; x < p.width; ++x) {
            size_t i = (size_t)y * p.width + x;
            double d = (double)p.out[4 * i] - (double)p.truth[3 * i], u = (double)x - 74.5;
            bias += d, tilt += d * u, norm += u * u;
        }
    /* By the samples' own noise, at five standard deviations. */
    assert_true(fabs(bias) / (double)p.count < 5.0 * (double)deviation / sqrt((double)p.count));
    assert_true(fabs(tilt) / norm < 5.0 * (double)deviation / sqrt(norm));
    release(&p);
}

/* Black letters on white paper, which albedo shows: two pixels wide. */
static float letters(uint32_t x, uint32_t y)
{
    return (x / 2 + y / 5) % 3 == 0 ? 0.05f : 0.8f;
}

static void test_nfor_keeps_what_guides_show(void **state)
{
    (void)state;
    Picture p = make(128, 96);
    double contrast = 0.0;
    for (uint32_t y = 0; y < p.height; ++y)
        for (uint32_t x = 0; x < p.width; ++x) {
            size_t i = (size_t)y * p.width + x;
            for (uint32_t c = 0; c < 3; ++c) {
                p.albedo[3 * i + c] = p.odd_albedo[3 * i + c] = letters(x, y);
                p.truth[3 * i + c] = letters(x, y) * (1.0f + 0.005f * (float)x);
            }
        }
    add_noise(&p, 0.2f);
    run(&p);
    for (uint32_t y = 0; y < p.height; ++y)
        for (uint32_t x = 0; x + 1 < p.width; ++x) {
            size_t i = (size_t)y * p.width + x;
            if (letters(x, y) < letters(x + 1, y))
                contrast = fmax(contrast, fabs((double)(p.out[4 * i + 4] - p.out[4 * i]) -
                                               (double)(p.truth[3 * i + 3] - p.truth[3 * i])));
        }
    assert_true(mean_square_error(&p) < 0.04 * 0.1);
    assert_true(contrast < 0.35); /* of 0.75 and more */
    release(&p);
}

/* The mean difference of brightness between the pixels of `at` and those two beside them, of the result over the truth. */
static double contrast_kept(const Picture *p, bool (*at)(uint32_t x, uint32_t y))
{
    double kept = 0.0, true_contrast = 0.0;
    for (uint32_t y = 8; y + 8 < p->height; ++y)
        for (uint32_t x = 8; x + 8 < p->width; ++x) {
            size_t i = (size_t)y * p->width + x;
            if (!at(x, y))
                continue;
            kept += (double)(p->out[4 * i] - p->out[4 * (i + 2)]);
            true_contrast += (double)(p->truth[3 * i] - p->truth[3 * (i + 2)]);
        }
    return kept / true_contrast;
}

static bool is_hair(uint32_t x, uint32_t y)
{
    return (x + y / 4) % 23 == 0;
}

/* Bright strands, one pixel wide, which normals and distance show, before a wall. */
static void test_nfor_keeps_thin_hair(void **state)
{
    (void)state;
    Picture p = make(140, 90);
    for (uint32_t y = 0; y < p.height; ++y)
        for (uint32_t x = 0; x < p.width; ++x) {
            size_t i = (size_t)y * p.width + x;
            for (uint32_t c = 0; c < 3; ++c)
                p.truth[3 * i + c] = is_hair(x, y) ? 1.0f : 0.3f;
            if (!is_hair(x, y))
                continue;
            p.depth[i] = p.odd_depth[i] = 3.0f;
            p.normal[3 * i] = p.odd_normal[3 * i] = 0.8f;
            p.normal[3 * i + 2] = p.odd_normal[3 * i + 2] = 0.6f;
        }
    add_noise(&p, 0.15f);
    run(&p);
    assert_true(contrast_kept(&p, is_hair) > 0.9);
    assert_true(mean_square_error(&p) < 0.15 * 0.15 * 0.2);
    release(&p);
}

static bool is_ridge(uint32_t x, uint32_t y)
{
    (void)y;
    return x % 20 == 10;
}

/* Shading of a bump that only the normals show: dark on the side that looks away from the light. */
static void test_nfor_keeps_bump_edges(void **state)
{
    (void)state;
    Picture p = make(140, 90);
    for (uint32_t y = 0; y < p.height; ++y)
        for (uint32_t x = 0; x < p.width; ++x) {
            size_t i = (size_t)y * p.width + x;
            float tilt = is_ridge(x, y) || is_ridge(x + 1, y) ? 0.3f
                         : is_ridge(x - 1, y)                 ? -0.3f
                                                              : 0.0f;
            for (uint32_t c = 0; c < 3; ++c)
                p.truth[3 * i + c] = 0.6f + tilt;
            p.normal[3 * i] = p.odd_normal[3 * i] = tilt;
        }
    add_noise(&p, 0.15f);
    run(&p);
    assert_true(contrast_kept(&p, is_ridge) > 0.9);
    assert_true(mean_square_error(&p) < 0.15 * 0.15 * 0.2);
    release(&p);
}

static void test_nfor_has_the_same_bits(void **state)
{
    (void)state;
    static const uint32_t threads[] = {1, 2, 7};
    Picture p = make(150, 75);
    draw(&p, ramp, 1.0f);
    add_noise(&p, 0.3f);
    for (size_t i = 0; i < 3 * p.count; ++i) /* an edge, with noise of its own */
        p.albedo[i] = p.odd_albedo[i] = (float)(i / 3 % 150 > 70) + 0.02f * noise(i, 9);
    run(&p);
    float *expected = floats(4 * p.count);
    memcpy(expected, p.out, 4 * p.count * sizeof(float));
    uint32_t here =
        wide_class_here() + 1; /* as what is slower, with each number of threads; 0 is the same */
    for (size_t k = 0; k < SORT_COUNT_OF(threads); ++k)
        for (uint32_t cpu = threads[k] == 2 ? 0 : here; cpu <= here; ++cpu) {
            Error err = {0};
            NforInput input = input_of(&p);
            input.thread_count = threads[k];
            input.cpu_class = cpu;
            assert_int_equal(nfor_denoise(&input, p.out, 4, &err), STATUS_OK);
            assert_memory_equal(p.out, expected, 4 * p.count * sizeof(float));
        }
    mem_free(expected);
    release(&p);
}

/* Pixels whose numbers are no numbers stay as they are, and spoil no others; so do pixels without a half. */
static void test_nfor_leaves_holes(void **state)
{
    (void)state;
    Picture p = make(60, 40);
    draw(&p, constant, 1.0f);
    add_noise(&p, 0.05f);
    float *const spoiled[] = {&p.even[4 * 500],       &p.odd[4 * 700 + 1], &p.variance[900],
                              &p.albedo[3 * 1100],    &p.normal[3 * 1300], &p.depth[1500],
                              &p.odd_albedo[3 * 1700]};
    for (size_t i = 0; i < SORT_COUNT_OF(spoiled); ++i)
        *spoiled[i] = i % 2 ? NAN : INFINITY;
    p.odd[4 * 1900 + 3] = 0.0f;
    for (size_t k = 500; k <= 1900; k += 200)
        p.out[4 * k] = p.out[4 * k + 1] = p.out[4 * k + 2] = k == 700 ? NAN : 77.0f;
    run(&p);
    for (size_t i = 0; i < p.count; ++i) {
        bool is_hole = i >= 500 && i <= 1900 && (i - 500) % 200 == 0;
        for (uint32_t c = 0; c < 3; ++c)
            if (!is_hole)
                assert_float_equal(p.out[4 * i + c], p.truth[3 * i + c], 0.05f);
            else
                assert_true(i == 700 ? isnan(p.out[4 * i + c]) : p.out[4 * i + c] == 77.0f);
        assert_true(p.out[4 * i + 3] == 0.25f);
    }
    release(&p);
}

/* What is around a pixel that is no number is denoised as well as the rest. */
static void test_nfor_denoises_beside_holes(void **state)
{
    (void)state;
    Picture p = make(80, 80);
    double error = 0.0;
    draw(&p, constant, 10.0f);
    add_noise(&p, 0.02f);
    for (uint32_t k = 0; k < 16; ++k) {
        size_t i = (size_t)(10 + 20 * (k / 4)) * 80 + 10 + 20 * (k % 4);
        *(k % 2 ? &p.even[4 * i] : &p.odd[4 * i + 2]) = k % 4 < 2 ? NAN : INFINITY;
        if (k % 3 == 0)
            p.normal[3 * i] = NAN;
    }
    run(&p);
    for (uint32_t k = 0; k < 16; ++k)
        for (uint32_t c = 0; c < 3; ++c) {
            size_t i = (size_t)(10 + 20 * (k / 4)) * 80 + 11 + 20 * (k % 4);
            double d = (double)p.out[4 * i + c] - (double)p.truth[3 * i + c];
            error += d * d / (16.0 * 3.0);
        }
    assert_true(error < 0.1 * 0.02 * 0.02);
    release(&p);
}

/* Adds a sample of much light to a pixel of the odd half, which has eight. */
static void add_firefly(Picture *p, size_t i, float brightness)
{
    for (uint32_t c = 0; c < 3; ++c)
        p->odd[4 * i + c] += brightness / 8.0f;
    p->variance[i] += brightness * brightness / 256.0f;
}

/* Single samples that met a small light leave no square, whose corners would be below what is right, of the size of windows. */
static void test_nfor_removes_fireflies(void **state)
{
    (void)state;
    Picture p = make(120, 80);
    draw(&p, constant, 1.0f);
    add_noise(&p, 0.02f);
    add_firefly(&p, 40 * 120 + 40, 3000.0f);
    add_firefly(&p, 43 * 120 + 42, 1e5f); /* near another */
    add_firefly(&p, 3 * 120 + 90, 1e15f);
    add_firefly(&p, 79 * 120 + 119, 3000.0f); /* in the corner */
    run(&p);
    for (size_t i = 0; i < p.count; ++i)
        for (uint32_t c = 0; c < 3; ++c)
            assert_float_equal(p.out[4 * i + c], p.truth[3 * i + c], 0.1f);
    release(&p);
}

/* Small lights and a line of light, a thousand times as bright as what is around them, are in both halves. */
static bool is_bright(uint32_t x, uint32_t y)
{
    return (x % 20 == 10 && y % 20 == 10) || y == 5;
}

static float sparkles(uint32_t x, uint32_t y, uint32_t c)
{
    return is_bright(x, y) ? 100.0f : constant(x, y, c) * 0.2f;
}

static void test_nfor_keeps_small_lights(void **state)
{
    (void)state;
    Picture p = make(120, 80);
    draw(&p, sparkles, 1.0f);
    add_noise(&p, 0.02f);
    run(&p);
    assert_true(contrast_kept(&p, is_bright) > 0.99);
    for (uint32_t x = 0; x < 120; ++x)
        assert_float_equal(p.out[4 * (5 * 120 + x)], 100.0f, 1.0f);
    release(&p);
}

/* Light that few samples find, but everywhere, is kept: it is no less light than what all find. */
static void test_nfor_keeps_light_found_rarely(void **state)
{
    (void)state;
    Picture p = make(120, 80);
    draw(&p, constant, 1e-3f);
    add_noise(&p, 0.0f);
    double sum = 0.0, expected = 0.0;
    for (size_t i = 0; i < p.count; ++i) {
        uint64_t chance = hash_mix64(i);
        float *half = chance & 1 ? p.odd : p.even;
        for (uint32_t c = 0; chance % 20 < 2 && c < 3; ++c)
            half[4 * i + c] = 1.0f;
        p.variance[i] = chance % 20 < 2 ? 0.25f : 0.0f;
        expected += 0.5 * (double)(p.even[4 * i] + p.odd[4 * i]);
    }
    run(&p);
    for (size_t i = 0; i < p.count; ++i)
        sum += (double)p.out[4 * i];
    assert_true(fabs(sum - expected) < 0.1 * expected);
    release(&p);
}

/* Numbers near the largest ones leave their pixels as they were, and others have numbers. */
static void test_nfor_survives_huge_numbers(void **state)
{
    (void)state;
    Picture p = make(60, 40);
    draw(&p, constant, 1.0f);
    add_noise(&p, 0.02f);
    for (size_t i = 1000; i < 1004; ++i)
        p.even[4 * i] = p.odd[4 * i] = 3e38f;
    p.variance[1500] = 3e38f;
    p.albedo[3 * 500] = p.normal[3 * 700 + 1] = 3e38f;
    run(&p);
    for (size_t i = 0; i < p.count; ++i)
        for (uint32_t c = 0; c < 3; ++c)
            if (i < 1000 || i >= 1004)
                assert_float_equal(p.out[4 * i + c],
                                   i == 1500 || i == 500 || i == 700 ? p.out[4 * i + c]
                                                                     : p.truth[3 * i + c],
                                   0.05f);
    release(&p);
}

/* Spots of light on black. */
static float spots(uint32_t x, uint32_t y, uint32_t c)
{
    SORT_UNUSED(c);
    return x % 8 < 2 && y % 8 < 2 ? 4.0f : 0.0f;
}

/* Light is not negative, beside black either, where straight lines through it would be; numbers that samples make negative stay. */
static void test_nfor_stays_above_black(void **state)
{
    (void)state;
    Picture p = make(80, 80), q = make(80, 80);
    draw(&p, spots, 1.0f);
    add_noise(&p, 2.0f);
    for (size_t i = 0; i < p.count; ++i)
        p.albedo[3 * i] = p.odd_albedo[3 * i] = 0.2f + 0.1f * p.truth[3 * i];
    for (size_t i = 0; i < 4 * p.count; ++i) {
        p.even[i] = p.truth[3 * (i / 4)] > 0.0f || i % 4 == 3 ? fmaxf(p.even[i], 0.0f) : 0.0f;
        p.odd[i] = p.truth[3 * (i / 4)] > 0.0f || i % 4 == 3 ? fmaxf(p.odd[i], 0.0f) : 0.0f;
        q.even[i] = i % 4 == 3 ? p.even[i] : -p.even[i];
        q.odd[i] = i % 4 == 3 ? p.odd[i] : -p.odd[i];
    }
    memcpy(q.variance, p.variance, p.count * sizeof *p.variance);
    run(&p);
    run(&q);
    uint32_t below = 0;
    for (size_t i = 0; i < p.count; ++i) {
        assert_true(p.out[4 * i] >= 0.0f && p.out[4 * i + 1] >= 0.0f && p.out[4 * i + 2] >= 0.0f);
        below += q.out[4 * i] < -0.05f;
    }
    assert_true(below > p.count / 100);
    release(&p);
    release(&q);
}

/* Light that is no noise is added as it is. */
static void test_nfor_adds_light(void **state)
{
    (void)state;
    Error err = {0};
    Picture p = make(30, 20), q = make(30, 20);
    draw(&p, constant, 1.0f);
    add_noise(&p, 0.1f);
    run(&p);
    draw(&q, speckle, 1.0f);
    NforInput input = input_of(&p);
    input.light = q.truth;
    assert_int_equal(nfor_denoise(&input, q.out, 4, &err), STATUS_OK);
    for (size_t i = 0; i < p.count; ++i)
        for (uint32_t c = 0; c < 3; ++c)
            assert_true(q.out[4 * i + c] == p.out[4 * i + c] + q.truth[3 * i + c]);
    release(&p);
    release(&q);
}

static void test_nfor_refuses(void **state)
{
    (void)state;
    Error err = {0};
    Picture p = make(8, 8);
    NforInput input = input_of(&p);
    for (size_t i = 0; i < p.count; ++i)
        p.odd[4 * i + 3] = 0.0f;
    assert_int_equal(nfor_denoise(&input, p.out, 4, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "two samples"));
    input.width = 0;
    assert_int_equal(nfor_denoise(&input, p.out, 4, &err), STATUS_INVALID);
    release(&p);
}

static void test_nfor_runs_out_of_memory(void **state)
{
    (void)state;
    Picture p = make(8, 8);
    NforInput input = input_of(&p);
    for (uint64_t n = 1; n <= 2; ++n) {
        Error err = {0};
        mem_fail_nth(n);
        assert_int_equal(nfor_denoise(&input, p.out, 4, &err), STATUS_NO_MEMORY);
        mem_fail_nth(0);
    }
    release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nfor_keeps_what_has_no_noise),
        cmocka_unit_test(test_nfor_takes_any_size),
        cmocka_unit_test(test_nfor_fits_a_ramp),
        cmocka_unit_test(test_nfor_keeps_what_guides_show),
        cmocka_unit_test(test_nfor_keeps_thin_hair),
        cmocka_unit_test(test_nfor_keeps_bump_edges),
        cmocka_unit_test(test_nfor_has_the_same_bits),
        cmocka_unit_test(test_nfor_leaves_holes),
        cmocka_unit_test(test_nfor_denoises_beside_holes),
        cmocka_unit_test(test_nfor_removes_fireflies),
        cmocka_unit_test(test_nfor_keeps_small_lights),
        cmocka_unit_test(test_nfor_keeps_light_found_rarely),
        cmocka_unit_test(test_nfor_survives_huge_numbers),
        cmocka_unit_test(test_nfor_stays_above_black),
        cmocka_unit_test(test_nfor_adds_light),
        cmocka_unit_test(test_nfor_refuses),
        cmocka_unit_test(test_nfor_runs_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
