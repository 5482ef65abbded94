/* The film: exact in any order, on any threads, in any split; what is dropped; partial files and damage. */
#include "base/accum.h"
#include "sort/film/film.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"
#include "sort/sampling/sample_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WIDTH  37
#define HEIGHT 11

static const FilmAovSet all_aovs = FILM_AOVS_ALL;

static void set_text(char *to, size_t room, const char *text)
{
    (void)snprintf(to, room, "%s", text);
}

static FilmDesc make_desc(FilmAovSet aovs)
{
    FilmDesc d = {.size_bytes = sizeof d, .width = WIDTH, .height = HEIGHT, .aovs = aovs};
    d.identity.nominal_samples = 64;
    d.identity.seed = 3;
    set_text(d.identity.filter, FILM_FILTER_NAME_MAX, "blackman-harris 1.5");
    set_text(d.identity.cpu_class, FILM_TARGET_NAME_MAX, "x86-64-v3");
    return d;
}

static Film *make_film(FilmAovSet aovs)
{
    FilmDesc d = make_desc(aovs);
    Film *film = NULL;
    Error err = {0};
    assert_int_equal(film_create(&d, &film, &err), STATUS_OK);
    return film;
}

static float random_value(uint32_t pixel, uint32_t sample, uint32_t channel)
{
    uint64_t h = hash_mix64(pixel * 1000003ull + sample * 101ull + channel + 1);
    float unit = (float)(h >> 40) * 0x1p-24f;
    /* Magnitudes from 1e-25 to 1e10, either sign: what no float sum survives in another order. */
    return ldexpf(unit + 0.5f, (int)((h >> 8) % 116) - 83) * (h & 1 ? 1.0f : -1.0f);
}

static FilmSample make_sample(uint32_t pixel, uint32_t sample)
{
    FilmSample s = {.alpha = (float)(sample % 3) * 0.5f};
    for (uint32_t c = 0; c < 3; ++c)
        s.rgb[c] = random_value(pixel, sample, c);
    for (uint32_t c = 0; c < FILM_AOV_FLOATS; ++c)
        s.aov[c] = fmodf(random_value(pixel, sample, 10 + c), 50.0f);
    s.is_odd = sample & 1;
    return s;
}

static void commit(Film *film, uint32_t pixel, uint32_t sample)
{
    FilmSample s = make_sample(pixel, sample);
    film_commit(film, pixel % WIDTH, pixel / WIDTH, &s);
}

static void commit_range(Film *film, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; ++i)
        for (uint32_t p = 0; p < WIDTH * HEIGHT; ++p)
            commit(film, p, i);
    Error err = {0};
    assert_int_equal(film_add_range(film, (FilmRange){begin, end}, &err), STATUS_OK);
}

/* All that can be seen of a film, bit for bit. */
static void assert_same(const Film *a, const Film *b)
{
    static float x[WIDTH * HEIGHT * 4], y[WIDTH * HEIGHT * 4];
    film_resolve(a, x);
    film_resolve(b, y);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(film_sample_count(a), film_sample_count(b));
    assert_int_equal(film_dropped(a).count, film_dropped(b).count);
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        if (film_aovs_have(film_desc(a)->aovs, (FilmAov)i)) {
            film_resolve_aov(a, (FilmAov)i, x);
            film_resolve_aov(b, (FilmAov)i, y);
            size_t bytes =
                sizeof(float) * WIDTH * HEIGHT * film_aov_info((FilmAov)i)->channel_count;
            assert_memory_equal(x, y, bytes);
        }
}

/* --- the sums ------------------------------------------------------------------------------------ */

static void check_accum(float value, uint64_t lo, int64_t hi)
{
    AccumWide a = accum_wide_from_float(value);
    assert_true(a.lo == lo && a.hi == hi);
    assert_true(accum_wide_to_double(a) ==
                (fabsf(value) < 0x1p-40f ? accum_wide_to_double(a) : (double)value));
}

static void test_film_values_become_fixed_point(void **state)
{
    (void)state;
    check_accum(0.0f, 0, 0);
    check_accum(-0.0f, 0, 0);
    check_accum(1.0f, 0, 1);
    check_accum(-1.0f, 0, -1);
    check_accum(0.5f, 1ull << 63, 0);
    check_accum(-0.5f, 1ull << 63, -1);
    check_accum(0x1p-64f, 1, 0);
    check_accum(-0x1p-64f, UINT64_MAX, -1);
    check_accum(0x1p-66f, 0, 0);                  /* rounded to nothing */
    check_accum(-1e-30f, 0, 0);                   /* not to the largest fraction below zero */
    check_accum(-0x1.8p-64f, UINT64_MAX - 1, -1); /* halves to even */
    check_accum(0x1.fffffep-12f, 0x1fffffe0000000ull, 0);
    check_accum(-0x1p-11f, UINT64_MAX - (1ull << 53) + 1, -1);
    check_accum(0x1p38f, 0, 1ll << 38);
    check_accum(-0x1.fffffep37f, 0, -(0x1ffffffll << 13) + (1ll << 13));
    check_accum(3.14159274f, 0x243f6c0000000000ull, 3);
    check_accum(0x1.fffffep-2f, 0x7fffff8000000000ull, 0);
    check_accum(-0x1.fffffep-2f, 0x8000008000000000ull, -1);
    for (uint32_t i = 0; i < 1000000; ++i) { /* a float is as the double that it is */
        uint32_t bits = (uint32_t)hash_mix64(i);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!(fabsf(value) < 0x1p62f))
            continue;
        AccumWide own = accum_wide_from_float(value);
        AccumWide other = accum_wide_from_double((double)value);
        assert_true(own.lo == other.lo && own.hi == other.hi);
    }
}

static void test_film_sums_are_exact(void **state)
{
    (void)state;
    static const float cancel[] = {1e10f, 1.0f, 0x1p-60f, -1e10f, -1.0f, 3.0f, -0x1p-59f};
    AccumWide sum = {0, 0};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cancel); ++i)
        accum_wide_add(&sum, accum_wide_from_float(cancel[i]));
    accum_wide_add(&sum, accum_wide_from_float(-3.0f));
    assert_true(accum_wide_to_double(sum) == -0x1p-60);
    /* The most that a pixel can hold does not overflow. */
    sum = (AccumWide){0, 0};
    for (uint32_t i = 0; i < FILM_MAX_SAMPLES; ++i)
        accum_wide_add(&sum, accum_wide_from_float(-FILM_VALUE_MAX));
    assert_true(accum_wide_to_double(sum) == -0x1p62);
    int64_t narrow = 0;
    for (uint32_t i = 0; i < FILM_MAX_SAMPLES; ++i)
        narrow += accum_narrow_from_float(FILM_NARROW_MAX);
    assert_true(accum_narrow_to_double(narrow) == 0x1p30);
}

/* Quads have the sums of their numbers added one by one, down to the last bit; those with a number that is too large are left out. */
static void test_film_quads_are_exact(void **state)
{
    (void)state;
    enum { STRIDE = 5 };
    for (uint32_t trial = 0; trial < 2000; ++trial) {
        float numbers[STRIDE * ACCUM_LINES_MAX];
        AccumWide one_by_one[4] = {{5, -2}}, together[4] = {{5, -2}};
        uint32_t count = trial % (ACCUM_LINES_MAX + 1);
        for (uint32_t i = 0; i < STRIDE * ACCUM_LINES_MAX; ++i) {
            uint64_t h = hash_mix64(trial * 97ull + i + 1);
            int exponent =
                (int)(h % 88) - 70; /* with halves of the quantum, which are rounded to even */
            float fraction = h & 256 ? 0.5f : (float)(h >> 40) * 0x1p-25f + 0.25f;
            numbers[i] = ldexpf(fraction, exponent) * (h & 512 ? 1.0f : -1.0f);
        }
        for (uint32_t i = 0; i < 4 * count; ++i)
            accum_wide_add(&one_by_one[i % 4],
                           accum_wide_from_float(numbers[i / 4 * STRIDE + i % 4]));
        assert_true(accum_quads_add(numbers, STRIDE * sizeof(float), count, together));
        for (uint32_t c = 0; c < 4; ++c)
            assert_true(together[c].lo == one_by_one[c].lo && together[c].hi == one_by_one[c].hi);
        const float too_large[] = {ACCUM_LINE_MAX, -INFINITY, NAN};
        numbers[STRIDE * (trial % ACCUM_LINES_MAX) + trial % 4] = too_large[trial % 3];
        assert_false(accum_quads_add(numbers, STRIDE * sizeof(float), ACCUM_LINES_MAX, together));
        for (uint32_t c = 0; c < 4; ++c)
            assert_true(together[c].lo == one_by_one[c].lo && together[c].hi == one_by_one[c].hi);
    }
}

/* Samples of a pixel that come together count as one by one, in films with layers and without, and also among ones that are dropped. */
static void test_film_samples_may_come_together(void **state)
{
    (void)state;
    enum { SAMPLES = 37 };
    static float plain_rgba[WIDTH * HEIGHT * 4], layered_rgba[WIDTH * HEIGHT * 4];
    Film *plain = make_film(0), *layered = make_film(FILM_AOV_BIT(FILM_AOV_ALBEDO));
    static FilmSample samples[SAMPLES];
    for (uint32_t p = 0; p < WIDTH * HEIGHT; ++p) {
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            samples[i] = make_sample(p, i);
            for (uint32_t c = 0; c < 3 && p % 3; ++c)
                samples[i].rgb[c] = fmodf(samples[i].rgb[c], 3.0f);
            if (p % 5 == 1 && i % 20 == 11)
                samples[i].rgb[p % 3] = NAN;
            film_commit(layered, p % WIDTH, p / WIDTH, &samples[i]);
        }
        film_commit_samples(plain, p % WIDTH, p / WIDTH, samples, sizeof samples[0], SAMPLES);
    }
    film_resolve(plain, plain_rgba);
    film_resolve(layered, layered_rgba);
    assert_memory_equal(plain_rgba, layered_rgba, sizeof plain_rgba);
    assert_int_equal(film_sample_count(plain), film_sample_count(layered));
    assert_int_equal(film_dropped(plain).count, film_dropped(layered).count);
    assert_true(film_dropped(plain).count > 0);
    film_destroy(plain);
    film_destroy(layered);
}

static void test_film_mean_is_right(void **state)
{
    (void)state;
    Film *film = make_film(all_aovs);
    double sum[3] = {0};
    for (uint32_t i = 0; i < 1000; ++i) {
        FilmSample s = {.rgb = {(float)i * 0.25f, -1.5f, 1e-20f}, .alpha = i < 250 ? 1.0f : 0.0f};
        for (uint32_t c = 0; c < 3; ++c) {
            sum[c] += (double)s.rgb[c];
            s.aov[FILM_AT_ALBEDO + c] = 0.5f;
            s.aov[FILM_AT_NORMAL + c] = i & 1 ? -1.0f : 0.0f;
        }
        s.aov[FILM_AT_DEPTH] = i < 250 ? 7.0f : INFINITY; /* nothing there: no depth */
        film_commit(film, 5, 6, &s);
    }
    static float rgba[WIDTH * HEIGHT * 4], aov[WIDTH * HEIGHT * 3];
    film_resolve(film, rgba);
    size_t at = 6 * WIDTH + 5;
    assert_true(rgba[4 * at] == (float)(sum[0] / 1000.0) && rgba[4 * at + 1] == -1.5f);
    assert_true(fabsf(rgba[4 * at + 2] / 1e-20f - 1.0f) < 10.0f); /* near the quantum of 5e-20 */
    assert_true(rgba[4 * at + 3] == 0.25f && rgba[0] == 0.0f);
    film_resolve_aov(film, FILM_AOV_ALBEDO, aov);
    assert_true(aov[3 * at] == 0.5f);
    film_resolve_aov(film, FILM_AOV_NORMAL, aov);
    assert_true(aov[3 * at + 2] == -0.5f);
    film_resolve_aov(film, FILM_AOV_DEPTH, aov);
    assert_true(aov[at] == 7.0f && aov[at + 1] == FILM_NO_DEPTH);
    film_resolve_aov(film, FILM_AOV_SAMPLES, aov);
    assert_true(aov[at] == 1000.0f && aov[at + 1] == 0.0f);
    film_clear(film);
    film_resolve(film, rgba);
    assert_true(rgba[4 * at] == 0.0f && film_sample_count(film) == 0);
    film_destroy(film);
}

/* --- order, threads, ranges ---------------------------------------------------------------------- */

static void test_film_order_does_not_matter(void **state)
{
    (void)state;
    Film *forward = make_film(all_aovs), *shuffled = make_film(all_aovs);
    const uint32_t samples = 64, total = samples * WIDTH * HEIGHT;
    for (uint32_t i = 0; i < total; ++i)
        commit(forward, i % (WIDTH * HEIGHT), i / (WIDTH * HEIGHT));
    for (uint32_t i = 0; i < total; ++i) {
        uint32_t j = (uint32_t)((i * 7919ull + 13) % total); /* 7919 is prime to total */
        commit(shuffled, j % (WIDTH * HEIGHT), j / (WIDTH * HEIGHT));
    }
    assert_same(forward, shuffled);
    film_destroy(forward);
    film_destroy(shuffled);
}

#define CONTENDED_SAMPLES 20000

static void commit_contended(void *data, uint32_t index)
{
    for (uint32_t i = index; i < CONTENDED_SAMPLES; i += 4)
        commit(data, i % 3, i); /* three pixels for four threads */
}

static void test_film_threads_do_not_matter(void **state)
{
    (void)state;
    Film *one = make_film(all_aovs), *four = make_film(all_aovs);
    for (uint32_t i = 0; i < 4; ++i)
        commit_contended(one, i);
    parallel_for(4, 4, commit_contended, four);
    assert_int_equal(film_sample_count(four), CONTENDED_SAMPLES);
    assert_same(one, four);
    film_destroy(one);
    film_destroy(four);
}

static void test_film_ranges_merge_exactly(void **state)
{
    (void)state;
    Film *whole = make_film(all_aovs), *a = make_film(all_aovs), *b = make_film(all_aovs),
         *c = make_film(all_aovs);
    Error err = {0};
    commit_range(whole, 0, 8);
    commit_range(a, 0, 3);
    commit_range(b, 3, 5);
    commit_range(c, 5, 8);
    assert_int_equal(film_merge(c, a, &err), STATUS_OK);
    uint32_t count = 0;
    const FilmRange *ranges = film_ranges(c, &count);
    assert_int_equal(count, 2);
    assert_true(ranges[0].begin == 0 && ranges[0].end == 3 && ranges[1].begin == 5 &&
                ranges[1].end == 8);
    assert_int_equal(film_merge(c, b, &err), STATUS_OK);
    ranges = film_ranges(c, &count);
    assert_true(count == 1 && ranges[0].begin == 0 && ranges[0].end == 8);
    assert_same(whole, c);
    /* Once more is once too often. */
    assert_int_equal(film_merge(c, b, &err), STATUS_INVALID);
    assert_string_equal(err.text, "samples 3 to 4 are there twice");
    assert_same(whole, c);
    film_destroy(whole);
    film_destroy(a);
    film_destroy(b);
    film_destroy(c);
}

static void test_film_ranges_are_checked(void **state)
{
    (void)state;
    Film *film = make_film(0);
    Error err = {0};
    assert_int_equal(film_add_range(film, (FilmRange){3, 3}, &err), STATUS_INVALID);
    assert_int_equal(film_add_range(film, (FilmRange){4, 3}, &err), STATUS_INVALID);
    assert_int_equal(film_add_range(film, (FilmRange){0, FILM_MAX_SAMPLES + 1u}, &err),
                     STATUS_LIMIT);
    for (uint32_t i = 0; i < FILM_MAX_RANGES; ++i)
        assert_int_equal(film_add_range(film, (FilmRange){2 * i, 2 * i + 1}, &err), STATUS_OK);
    assert_int_equal(film_add_range(film, (FilmRange){1000, 1001}, &err), STATUS_LIMIT);
    assert_int_equal(film_add_range(film, (FilmRange){1, 2}, &err), STATUS_OK);
    assert_int_equal(film_add_range(film, (FilmRange){0, 1}, &err), STATUS_INVALID);
    uint32_t count = 0;
    (void)film_ranges(film, &count);
    assert_int_equal(count, FILM_MAX_RANGES - 1);
    film_destroy(film);
}

static void test_film_merges_only_what_agrees(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "frames differ: 37 x 11 and 37 x 12",
        "crops differ: 0,0,37,11 and 1,0,36,11",
        "AOVs differ",
        ("scenes, cameras or bakes differ: hashes 00000000000000000000000000000000 and "
         "00010000000000000000000000000000"),
        "samples per pixel differ: 64 and 65",
        "seeds differ: 3 and 4",
        "pixel filters differ: 'blackman-harris 1.5' and 'box 1'",
        "CPU classes differ: 'x86-64-v3' and 'native'"};
    Film *film = make_film(1);
    for (uint32_t i = 0; i < SORT_COUNT_OF(messages); ++i) {
        FilmDesc d = *film_desc(film);
        switch (i) {
        case 0:
            d.height = 12;
            break;
        case 1:
            d.x = 1, d.crop_width = 36;
            break;
        case 2:
            d.aovs = 2;
            break;
        case 3:
            d.identity.scene.bytes[1] = 1;
            break;
        case 4:
            d.identity.nominal_samples = 65;
            break;
        case 5:
            d.identity.seed = 4;
            break;
        case 6:
            set_text(d.identity.filter, FILM_FILTER_NAME_MAX, "box 1");
            break;
        default:
            set_text(d.identity.cpu_class, FILM_TARGET_NAME_MAX, "native");
            break;
        }
        Film *other = NULL;
        Error err = {0};
        assert_int_equal(film_create(&d, &other, &err), STATUS_OK);
        assert_int_equal(film_merge(film, other, &err), STATUS_INVALID);
        assert_string_equal(err.text, messages[i]);
        film_destroy(other);
    }
    film_destroy(film);
}

/* --- what is refused ----------------------------------------------------------------------------- */

static void test_film_drops_what_is_not_finite(void **state)
{
    (void)state;
    Film *film = make_film(FILM_AOV_BIT(FILM_AOV_ALBEDO));
    FilmSample good = {.rgb = {1, 2, 3}, .alpha = 1};
    FilmSample bad[6];
    for (uint32_t i = 0; i < 6; ++i)
        bad[i] = good;
    bad[0].rgb[1] = NAN;
    bad[1].rgb[2] = -INFINITY;
    bad[2].alpha = NAN;
    bad[3].aov[FILM_AT_ALBEDO + 2] = INFINITY;
    bad[4].rgb[0] = 0x1.000002p38f;
    bad[5].aov[FILM_AT_DEPTH] = NAN; /* not held: not looked at */
    for (uint32_t i = 0; i < 6; ++i)
        film_commit(film, 9 + i % 2, 4, &bad[i]);
    film_commit(film, 9, 4, &good);
    FilmDropped dropped = film_dropped(film);
    assert_int_equal(dropped.count, 5);
    assert_int_equal(dropped.pixel_count, 2);
    assert_true(dropped.x == 9 && dropped.y == 4);
    assert_int_equal(film_sample_count(film), 2);
    static float rgba[WIDTH * HEIGHT * 4];
    film_resolve(film, rgba);
    assert_true(rgba[4 * (4 * WIDTH + 9) + 2] == 3.0f);
    film_destroy(film);
}

static Film *make_splat_film(FilmAovSet aovs)
{
    FilmDesc d = make_desc(aovs);
    Film *film = NULL;
    Error err = {0};
    d.has_splats = true;
    assert_int_equal(film_create(&d, &film, &err), STATUS_OK);
    return film;
}

/* Splats are divided by the paths of light for each pixel of the frame, whatever samples the pixel has. */
static void test_film_splats_add_light(void **state)
{
    (void)state;
    Film *a = make_splat_film(0), *b = make_splat_film(0);
    static float rgba[WIDTH * HEIGHT * 4];
    const float light[3] = {0x1p-30f, 3, 1e8f};
    const float wrong[2][3] = {{NAN, 0, 0}, {0, 0x1.1p28f, 0}};
    FilmSample sample = {.rgb = {1, 1, 1}, .alpha = 1};
    for (int i = 0; i < 3; ++i) {
        film_splat(a, 1, 0, light, false);
        film_commit(a, 1, 0, &sample);
        film_commit(b, 1, 0, &sample);
    }
    for (int i = 0; i < 3; ++i)
        film_splat(b, 1, 0, light, false);
    film_count_light_paths(a, (uint64_t)6 * WIDTH * HEIGHT, 0);
    for (int i = 0; i < 6; ++i)
        film_count_light_paths(b, (uint64_t)WIDTH * HEIGHT, 7);
    assert_same(a, b);
    assert_int_equal(film_sample_count(a), 3);
    film_resolve(a, rgba);
    for (int c = 0; c < 3; ++c)
        assert_true(rgba[4 + c] == 1 + light[c] / 2);
    assert_true(rgba[7] == 1);
    for (int i = 0; i < 2; ++i)
        film_splat(a, 1, 0, wrong[i], true);
    assert_int_equal(film_dropped(a).count, 2);
    film_resolve(a, rgba);
    assert_true(rgba[5] == 2.5f);
    film_destroy(a);
    film_destroy(b);
}

static void test_film_descriptions_are_checked(void **state)
{
    (void)state;
    static const struct {
        uint32_t width, height, x, y, w, h;
    } bad[] = {{0, 5, 0, 0, 0, 0}, {5, 0, 0, 0, 0, 0},          {65536, 5, 0, 0, 0, 0},
               {5, 5, 5, 0, 1, 1}, {5, 5, 0, 0, 6, 1},          {5, 5, 4, 4, 1, 2},
               {5, 5, 1, 1, 0, 0}, {5, 5, 1, 1, 0xffffffffu, 1}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(bad); ++i) {
        FilmDesc d = {.size_bytes = sizeof d,
                      .width = bad[i].width,
                      .height = bad[i].height,
                      .x = bad[i].x,
                      .y = bad[i].y,
                      .crop_width = bad[i].w,
                      .crop_height = bad[i].h};
        Film *film = NULL;
        Error err = {0};
        assert_int_equal(film_create(&d, &film, &err), STATUS_INVALID);
        assert_null(film);
    }
    FilmDesc d = make_desc(0);
    for (uint64_t nth = 1; nth <= 2; ++nth) {
        Film *film = NULL;
        mem_fail_nth(nth);
        assert_int_equal(film_create(&d, &film, NULL), STATUS_NO_MEMORY);
    }
    mem_fail_nth(0);
}

static void test_film_crop_keeps_its_place(void **state)
{
    (void)state;
    FilmDesc d = make_desc(0);
    d.x = 30, d.y = 8, d.crop_width = 7, d.crop_height = 3;
    Film *film = NULL;
    assert_int_equal(film_create(&d, &film, NULL), STATUS_OK);
    FilmSample s = {.rgb = {1, 0, 0}}, bad = {.rgb = {NAN, 0, 0}};
    film_commit(film, 36, 10, &s);
    film_commit(film, 31, 9, &bad);
    float rgba[7 * 3 * 4];
    film_resolve(film, rgba);
    assert_true(rgba[7 * 3 * 4 - 4] == 1.0f && rgba[0] == 0.0f);
    assert_true(film_dropped(film).x == 31 && film_dropped(film).y == 9);
    film_destroy(film);
}

static void test_film_aov_table(void **state)
{
    (void)state;
    FilmAov aov = FILM_AOV_ALBEDO;
    assert_true(film_aov_find("depth", &aov) && aov == FILM_AOV_DEPTH);
    assert_false(film_aov_find("Depth", &aov));
    assert_null(film_aov_info(FILM_AOV_COUNT));
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        assert_int_equal(strlen(film_aov_info((FilmAov)i)->suffixes),
                         film_aov_info((FilmAov)i)->channel_count);
    assert_int_equal(film_aov_info(FILM_AOV_DEPTH)->offset, FILM_AT_DEPTH);
}

/* --- files --------------------------------------------------------------------------------------- */

typedef struct TempFile {
    char folder[PATH_BYTES], path[PATH_BYTES];
} TempFile;

static void make_temp(TempFile *t)
{
    Error err = {0};
    assert_int_equal(file_make_temp_directory("film", t->folder, &err), STATUS_OK);
    assert_int_equal(path_join(t->folder, "part.sortpart", t->path, &err), STATUS_OK);
}

static void remove_temp(TempFile *t)
{
    Error err = {0};
    assert_int_equal(file_remove_tree(t->folder, &err), STATUS_OK);
}

static void test_film_partial_files_give_back_the_sums(void **state)
{
    (void)state;
    TempFile temp;
    make_temp(&temp);
    Film *whole = make_film(all_aovs), *first = make_film(all_aovs), *rest = make_film(all_aovs);
    FilmSample bad = {.rgb = {NAN, 0, 0}};
    film_commit(whole, 1, 1, &bad);
    film_commit(first, 1, 1, &bad);
    commit_range(whole, 0, 8);
    commit_range(first, 0, 3);
    commit_range(rest, 3, 8);
    Error err = {0};
    assert_int_equal(film_write_partial(first, temp.path, &err), STATUS_OK);
    Film *read = NULL;
    assert_int_equal(film_read_partial(temp.path, &read, &err), STATUS_OK);
    assert_same(first, read);
    assert_memory_equal(&film_desc(first)->identity, &film_desc(read)->identity,
                        sizeof(FilmIdentity));
    uint32_t count = 0;
    assert_true(film_ranges(read, &count)[0].end == 3 && count == 1);
    /* Resumed, and merged. */
    assert_int_equal(film_merge(rest, read, &err), STATUS_OK);
    assert_same(whole, rest);
    commit_range(read, 3, 8);
    assert_same(whole, read);
    film_destroy(whole);
    film_destroy(first);
    film_destroy(rest);
    film_destroy(read);
    remove_temp(&temp);
}

/* Files keep splats and their paths, and sums of films are those of all paths. */
static void test_film_partial_files_keep_splats(void **state)
{
    (void)state;
    static float rgba[WIDTH * HEIGHT * 4];
    Film *film = make_splat_film(0), *none = make_film(0), *read = NULL;
    TempFile temp;
    Error err = {0};
    make_temp(&temp);
    film_commit(film, 1, 0, &(FilmSample){.rgb = {1, 1, 1}, .alpha = 1});
    film_splat(film, 1, 0, (const float[3]){6, 6, 6}, false);
    film_count_light_paths(film, (uint64_t)3 * WIDTH * HEIGHT, 0);
    assert_int_equal(film_write_partial(film, temp.path, &err), STATUS_OK);
    assert_int_equal(film_read_partial(temp.path, &read, &err), STATUS_OK);
    remove_temp(&temp);
    assert_same(film, read);
    film_count_light_paths(read, (uint64_t)3 * WIDTH * HEIGHT, 0);
    assert_int_equal(film_merge(film, read, &err), STATUS_OK);
    film_resolve(film, rgba);
    assert_float_equal(rgba[5], 1 + 12.0f / 9, 1e-6f);
    film_clear(film);
    film_commit(film, 1, 0, &(FilmSample){.rgb = {1, 1, 1}, .alpha = 1});
    film_resolve(film, rgba);
    assert_true(rgba[5] == 1);
    assert_int_equal(film_merge(film, none, &err), STATUS_INVALID);
    film_destroy(film);
    film_destroy(none);
    film_destroy(read);
}

static void check_read(const char *path, Status expected)
{
    Film *film = NULL;
    Error err = {0};
    Status status = film_read_partial(path, &film, &err);
    if (status != expected)
        print_message("%s: %s\n", status_name(status), err.text);
    assert_int_equal(status, expected);
    assert_null(film);
    assert_true(err.code == expected && err.text[0] && strcmp(err.path, path) == 0);
}

/* Every byte of the file that is changed, and every cut, is noticed. */
static void test_film_damaged_files_are_refused(void **state)
{
    (void)state;
    TempFile temp;
    make_temp(&temp);
    Film *film = make_film(FILM_AOV_BIT(FILM_AOV_DEPTH));
    commit_range(film, 0, 2);
    Error err = {0};
    assert_int_equal(film_write_partial(film, temp.path, &err), STATUS_OK);
    film_destroy(film);
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(file_read(temp.path, 1 << 24, &data, &size, &err), STATUS_OK);
    for (size_t i = 0; i < size; i = i < 64 || i > size - 8 ? i + 1 : i + 241) {
        data[i] ^= 0x10;
        assert_int_equal(file_write(temp.path, data, size, &err), STATUS_OK);
        check_read(temp.path, i >= 8 && i < 12 ? STATUS_UNSUPPORTED : STATUS_FORMAT);
        data[i] ^= 0x10;
    }
    static const size_t cuts[] = {0, 1, 7, 100, 1000, 2000};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cuts); ++i) {
        assert_int_equal(file_write(temp.path, data, cuts[i], &err), STATUS_OK);
        check_read(temp.path, STATUS_FORMAT);
    }
    assert_int_equal(file_write(temp.path, data, size - 1, &err), STATUS_OK);
    check_read(temp.path, STATUS_FORMAT);
    assert_int_equal(file_remove(temp.path, &err), STATUS_OK);
    check_read(temp.path, STATUS_NOT_FOUND);
    mem_free(data);
    remove_temp(&temp);
}

static void test_film_write_errors_are_reported(void **state)
{
    (void)state;
    Film *film = make_film(0);
    Error err = {0};
    assert_int_not_equal(film_write_partial(film, "/nonexistent-folder/part", &err), STATUS_OK);
    assert_true(err.text[0] != '\0');
    film_destroy(film);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_film_values_become_fixed_point),
        cmocka_unit_test(test_film_sums_are_exact),
        cmocka_unit_test(test_film_quads_are_exact),
        cmocka_unit_test(test_film_samples_may_come_together),
        cmocka_unit_test(test_film_mean_is_right),
        cmocka_unit_test(test_film_order_does_not_matter),
        cmocka_unit_test(test_film_threads_do_not_matter),
        cmocka_unit_test(test_film_ranges_merge_exactly),
        cmocka_unit_test(test_film_ranges_are_checked),
        cmocka_unit_test(test_film_merges_only_what_agrees),
        cmocka_unit_test(test_film_drops_what_is_not_finite),
        cmocka_unit_test(test_film_splats_add_light),
        cmocka_unit_test(test_film_partial_files_keep_splats),
        cmocka_unit_test(test_film_descriptions_are_checked),
        cmocka_unit_test(test_film_crop_keeps_its_place),
        cmocka_unit_test(test_film_aov_table),
        cmocka_unit_test(test_film_partial_files_give_back_the_sums),
        cmocka_unit_test(test_film_damaged_files_are_refused),
        cmocka_unit_test(test_film_write_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
