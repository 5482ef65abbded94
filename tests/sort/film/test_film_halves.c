/* The halves of a film: each is, bit for bit, the film of its samples alone, in any split into parts. */
#include "sort/film/film.h"

#include "base/alloc.h"
#include "sort/sampling/sample_key.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 5, HEIGHT = 3, PIXELS = WIDTH * HEIGHT, SAMPLES = 13 };

static Film *make_film_of(FilmDesc d)
{
    d.size_bytes = sizeof d;
    d.width = WIDTH, d.height = HEIGHT;
    Film *film;
    Error err = {0};
    assert_int_equal(film_create(&d, &film, &err), STATUS_OK);
    return film;
}

static Film *make_film(FilmAovSet aovs, bool has_catchers)
{
    return make_film_of((FilmDesc){.aovs = aovs, .has_catchers = has_catchers});
}

static float random_unit(uint32_t pixel, uint32_t sample, uint32_t channel)
{
    return (float)(hash_mix64(pixel * 1009ull + sample * 101ull + channel) >> 40) * 0x1p-24f;
}

/* Light of all sizes, so that no sum in floats would survive a subtraction. */
static FilmSample make_sample(uint32_t pixel, uint32_t sample)
{
    FilmSample s = {.alpha = 1.0f, .is_odd = sample & 1};
    for (uint32_t c = 0; c < 3; ++c) {
        s.rgb[c] = ldexpf(random_unit(pixel, sample, c) - 0.2f, (int)(sample * 7 % 60) - 30);
        s.aov[FILM_AT_DENOISING_ALBEDO + c] = random_unit(pixel, sample, 3 + c);
        s.aov[FILM_AT_DENOISING_NORMAL + c] = 2.0f * random_unit(pixel, sample, 6 + c) - 1.0f;
    }
    s.aov[FILM_AT_DENOISING_DEPTH] = 1.0f + 10.0f * random_unit(pixel, sample, 9);
    return s;
}

/* Takes every step'th sample from `begin` on. */
static void take(Film *film, uint32_t begin, uint32_t end, uint32_t step)
{
    for (uint32_t k = begin; k < end; k += step)
        for (uint32_t p = 0; p < PIXELS; ++p) {
            FilmSample s = make_sample(p, k);
            film_commit(film, p % WIDTH, p / WIDTH, &s);
        }
    Error err = {0};
    assert_int_equal(film_add_range(film, (FilmRange){begin, end}, &err), STATUS_OK);
}

/* share: of the light, that is not seen directly. */
static void assert_half(const Film *film, FilmAov half, uint32_t begin, float share)
{
    float values[PIXELS][4], rgba[PIXELS][4];
    Film *alone = make_film(0, false);
    for (uint32_t k = begin; k < SAMPLES; k += 2)
        for (uint32_t p = 0; p < PIXELS; ++p) {
            FilmSample s = make_sample(p, k);
            for (int c = 0; c < 3; ++c)
                s.rgb[c] *= share;
            film_commit(alone, p % WIDTH, p / WIDTH, &s);
        }
    film_resolve(alone, rgba[0]);
    film_resolve_aov(film, half, values[0]);
    for (uint32_t p = 0; p < PIXELS; ++p) {
        assert_memory_equal(values[p], rgba[p], 3 * sizeof(float));
        assert_true(values[p][3] == (float)((SAMPLES - begin + 1) / 2));
    }
    film_destroy(alone);
}

static void test_film_halves_are_films_of_their_samples(void **state)
{
    (void)state;
    Film *film = make_film(FILM_DENOISING, false);
    take(film, 0, SAMPLES, 1);
    assert_half(film, FILM_AOV_DENOISING_EVEN, 0, 1.0f);
    assert_half(film, FILM_AOV_DENOISING_ODD, 1, 1.0f);
    film_destroy(film);
}

/* What the camera sees of lights is in neither half, but in a sum of its own; nor is it variance. */
static void test_film_halves_are_without_lights(void **state)
{
    (void)state;
    float variance[PIXELS], plain[PIXELS];
    Film *film = make_film(FILM_DENOISING, false);
    Film *half = make_film(FILM_AOV_BIT(FILM_AOV_VARIANCE), false);
    for (uint32_t k = 0; k < SAMPLES; ++k)
        for (uint32_t p = 0; p < PIXELS; ++p) {
            FilmSample s = make_sample(p, k);
            for (int c = 0; c < 3; ++c)
                s.aov[FILM_AT_DENOISING_LIGHT + c] = 0.5f * s.rgb[c];
            film_commit(film, p % WIDTH, p / WIDTH, &s);
            for (int c = 0; c < 3; ++c)
                s.rgb[c] *= 0.5f;
            film_commit(half, p % WIDTH, p / WIDTH, &s);
        }
    assert_half(film, FILM_AOV_DENOISING_EVEN, 0, 0.5f);
    assert_half(film, FILM_AOV_DENOISING_ODD, 1, 0.5f);
    film_resolve_aov(film, FILM_AOV_DENOISING_VARIANCE, variance);
    film_resolve_aov(half, FILM_AOV_VARIANCE, plain);
    for (uint32_t p = 0; p < PIXELS; ++p)
        assert_float_equal(variance[p], plain[p], 1e-6f * plain[p]);
    film_destroy(film);
    film_destroy(half);
}

/* The guides of the odd samples are those of a film of odd samples. */
static void test_film_halves_have_guides(void **state)
{
    (void)state;
    static const FilmAov pairs[][2] = {{FILM_AOV_DENOISING_ODD_ALBEDO, FILM_AOV_DENOISING_ALBEDO},
                                       {FILM_AOV_DENOISING_ODD_NORMAL, FILM_AOV_DENOISING_NORMAL},
                                       {FILM_AOV_DENOISING_ODD_DEPTH, FILM_AOV_DENOISING_DEPTH}};
    Film *film = make_film(FILM_DENOISING, false), *odd = make_film(FILM_DENOISING, false);
    take(film, 0, SAMPLES, 1);
    take(odd, 1, SAMPLES, 2);
    for (size_t i = 0; i < 3; ++i) {
        float a[PIXELS * 3], b[PIXELS * 3];
        film_resolve_aov(film, pairs[i][0], a);
        film_resolve_aov(odd, pairs[i][1], b);
        assert_memory_equal(a, b,
                            sizeof(float) * PIXELS * film_aov_info(pairs[i][0])->channel_count);
    }
    film_destroy(film);
    film_destroy(odd);
}

static void test_film_halves_merge(void **state)
{
    (void)state;
    Error err = {0};
    Film *film = make_film(FILM_AOV_BIT(FILM_AOV_DENOISING_ODD), false);
    Film *rest = make_film(FILM_AOV_BIT(FILM_AOV_DENOISING_EVEN), false);
    assert_true(film_desc(film)->aovs == FILM_DENOISING);
    take(film, 0, 5, 1);
    take(rest, 5, SAMPLES, 1);
    assert_int_equal(film_merge(film, rest, &err), STATUS_OK);
    assert_half(film, FILM_AOV_DENOISING_EVEN, 0, 1.0f);
    assert_half(film, FILM_AOV_DENOISING_ODD, 1, 1.0f);
    film_destroy(film);
    film_destroy(rest);
}

/* 1 / mean(1 / d); nothing at all is infinitely far. */
static void test_film_depth_is_the_harmonic_mean(void **state)
{
    (void)state;
    Film *film = make_film(FILM_DENOISING_GUIDES, false);
    static const float depths[][2] = {{2.0f, 6.0f}, {4.0f, FILM_NO_DEPTH}, {FILM_NO_DEPTH, 1e12f}};
    static const float expected[] = {3.0f, 8.0f, FILM_NO_DEPTH};
    for (uint32_t p = 0; p < 3; ++p)
        for (uint32_t k = 0; k < 2; ++k) {
            FilmSample s = {.alpha = 1.0f};
            s.aov[FILM_AT_DENOISING_DEPTH] = depths[p][k];
            film_commit(film, p, 0, &s);
        }
    float depth[PIXELS];
    film_resolve_aov(film, FILM_AOV_DENOISING_DEPTH, depth);
    for (uint32_t p = 0; p < 3; ++p)
        assert_float_equal(depth[p], expected[p], 1e-6f * expected[p]);
    film_destroy(film);
}

/* Samples that the film drops belong to neither half. */
static void test_film_halves_drop(void **state)
{
    (void)state;
    Film *film = make_film(FILM_DENOISING, false);
    for (uint32_t k = 0; k < 4; ++k) {
        FilmSample s = make_sample(0, k);
        if (k == 1)
            s.rgb[1] = NAN;
        if (k == 2)
            s.aov[FILM_AT_DENOISING_NORMAL] = INFINITY;
        film_commit(film, 0, 0, &s);
    }
    float even[PIXELS][4], odd[PIXELS][4];
    film_resolve_aov(film, FILM_AOV_DENOISING_EVEN, even[0]);
    film_resolve_aov(film, FILM_AOV_DENOISING_ODD, odd[0]);
    assert_true(even[0][3] == 1.0f && odd[0][3] == 1.0f);
    for (uint32_t c = 0; c < 3; ++c) {
        assert_true(even[0][c] == make_sample(0, 0).rgb[c]);
        assert_true(odd[0][c] == make_sample(0, 3).rgb[c]);
    }
    film_destroy(film);
}

/* The picture is between its halves, also where a shadow catcher darkens it. */
static void test_film_halves_have_the_shadows_of_catchers(void **state)
{
    (void)state;
    Film *film = make_film(FILM_DENOISING, true);
    for (uint32_t k = 0; k < 4; ++k) {
        FilmSample s = {.is_odd = k & 1};
        for (int c = 0; c < 3; ++c) {
            s.rgb[c] = 0.25f * (float)k;
            s.caught.lit[c] = 0.5f, s.caught.alone[c] = 1.0f;
        }
        for (int c = 0; c < 4; ++c)
            s.caught.backdrop[c] = 3.0f;
        s.caught.cover = 1.0f;
        film_commit(film, 0, 0, &s);
    }
    float rgba[PIXELS][4], even[PIXELS][4], odd[PIXELS][4];
    film_resolve(film, rgba[0]);
    film_resolve_aov(film, FILM_AOV_DENOISING_EVEN, even[0]);
    film_resolve_aov(film, FILM_AOV_DENOISING_ODD, odd[0]);
    for (int c = 0; c < 3; ++c) {
        assert_float_equal(rgba[0][c], 0.375f + 1.5f, 1e-6f);
        assert_float_equal(even[0][c], 0.25f + 1.5f, 1e-6f);
        assert_float_equal(odd[0][c], 0.5f + 1.5f, 1e-6f);
    }
    film_destroy(film);
}

/* Each half has the splats of its own paths of light. */
static void test_film_halves_have_splats(void **state)
{
    (void)state;
    Film *film = make_film_of((FilmDesc){.aovs = FILM_DENOISING, .has_splats = true});
    float half[PIXELS][4], rgba[PIXELS][4];
    for (uint32_t k = 0; k < 4; ++k)
        film_commit(film, 1, 0, &(FilmSample){.rgb = {1, 1, 1}, .alpha = 1, .is_odd = k & 1});
    film_splat(film, 1, 0, (const float[3]){9, 9, 9}, true);
    film_splat(film, 1, 0, (const float[3]){6, 6, 6}, false);
    film_count_light_paths(film, (uint64_t)5 * PIXELS, (uint64_t)3 * PIXELS);
    for (int k = 0; k < 2; ++k) {
        film_resolve_aov(film, k ? FILM_AOV_DENOISING_ODD : FILM_AOV_DENOISING_EVEN, half[0]);
        assert_true(half[1][0] == 4.0f && half[1][3] == 2.0f);
    }
    film_resolve(film, rgba[0]);
    assert_true(rgba[1][0] == 4.0f);
    film_destroy(film);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_film_halves_are_films_of_their_samples),
        cmocka_unit_test(test_film_halves_are_without_lights),
        cmocka_unit_test(test_film_halves_have_guides),
        cmocka_unit_test(test_film_halves_merge),
        cmocka_unit_test(test_film_depth_is_the_harmonic_mean),
        cmocka_unit_test(test_film_halves_drop),
        cmocka_unit_test(test_film_halves_have_the_shadows_of_catchers),
        cmocka_unit_test(test_film_halves_have_splats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
