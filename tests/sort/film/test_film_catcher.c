/* Films resolve the sums of shadow catchers: the picture, the pass, and what adaptive sampling thinks of them. */
#include "sort/film/film.h"

#include "base/file.h"
#include "base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 32 };

static Film *make_film(FilmAovSet aovs, bool has_catchers)
{
    FilmDesc d = {.size_bytes = sizeof d,
                  .width = SIDE,
                  .height = SIDE,
                  .aovs = aovs,
                  .has_catchers = has_catchers};
    Film *film = NULL;
    Error err = {0};
    assert_int_equal(film_create(&d, &film, &err), STATUS_OK);
    return film;
}

static void check4(const float found[4], float r, float g, float b, float a)
{
    const float expected[4] = {r, g, b, a};
    for (int c = 0; c < 4; ++c)
        assert_true(fabsf(found[c] - expected[c]) < 1e-6f);
}

/* Commits four samples: an object, a hole, and two on a catcher that keeps (0, 1/2, 2) of its light, before an environment
 * or before nothing. */
static void commit_four(Film *film, uint32_t x, float behind)
{
    const FilmSample on_catcher = {
        .aov = {[FILM_AT_DEPTH] = 5.0f},
        .caught = {.alone = {1, 1, 1},
                   .backdrop = {0.2f * behind, 0.4f * behind, 0.8f * behind, behind},
                   .cover = 1.0f}};
    FilmSample darker = on_catcher, brighter = on_catcher;
    darker.caught.lit[2] = 1.0f;
    brighter.caught.lit[1] = 1.0f, brighter.caught.lit[2] = 3.0f;
    film_commit(film, x, 0,
                &(FilmSample){.rgb = {1, 1, 1}, .alpha = 1, .aov = {[FILM_AT_DEPTH] = 3.0f}});
    film_commit(film, x, 0, &(FilmSample){.aov = {[FILM_AT_DEPTH] = FILM_NO_DEPTH}});
    film_commit(film, x, 0, &darker);
    film_commit(film, x, 0, &brighter);
}

static void test_catcher_film_shades_what_is_behind(void **state)
{
    (void)state;
    static float rgba[4 * SIDE * SIDE], pass[3 * SIDE * SIDE], depth[SIDE * SIDE];
    const FilmAovSet depth_bit = FILM_AOV_BIT(FILM_AOV_DEPTH);
    Film *film = make_film(depth_bit, true);
    commit_four(film, 0, 0.0f);
    commit_four(film, 1, 1.0f);
    film_resolve(film, rgba);
    const float k = 2.5f / 3.0f; /* kept, on average */
    check4(rgba, 0.25f, 0.25f, 0.25f, 0.25f + 0.5f * (1.0f - k));
    check4(rgba + 4, 0.25f + 0.1f * k, 0.25f + 0.2f * k, 0.25f + 0.4f * k, 0.75f);
    check4(rgba + 8, 0, 0, 0, 0);
    /* Samples of nothing have no depth; those of catchers have. */
    film_resolve_aov(film, FILM_AOV_DEPTH, depth);
    assert_true(fabsf(depth[0] - 13.0f / 3.0f) < 1e-5f);
    film_destroy(film);
    /* With the pass there is a hole in place of the catcher; three quarters let a background through, two of them
     * catch. */
    film = make_film(depth_bit | FILM_AOV_BIT(FILM_AOV_SHADOW_CATCHER), true);
    commit_four(film, 0, 0.0f);
    film_resolve(film, rgba);
    check4(rgba, 0.25f, 0.25f, 0.25f, 0.25f);
    film_resolve_aov(film, FILM_AOV_SHADOW_CATCHER, pass);
    check4((const float[4]){pass[0], pass[1], pass[2]}, 1.0f / 3.0f, 2.0f / 3.0f,
           1.0f + 2.0f / 3.0f, 0.0f);
    assert_true(pass[3] == 1.0f);
    film_destroy(film);
    film = make_film(FILM_AOV_BIT(FILM_AOV_SHADOW_CATCHER), false);
    film_resolve_aov(film, FILM_AOV_SHADOW_CATCHER, pass);
    assert_true(pass[0] == 1.0f && pass[3 * SIDE * SIDE - 1] == 1.0f);
    film_destroy(film);
}

/* Black ones, that reflect nothing to take from, and light that subtracts. */
static void test_catcher_film_keeps_shares_in_bounds(void **state)
{
    (void)state;
    static float rgba[4 * SIDE * SIDE];
    Film *film = make_film(0, true);
    FilmSample sample = {.caught = {.cover = 1.0f}};
    film_commit(film, 0, 0, &sample);
    for (int c = 0; c < 3; ++c)
        sample.caught.alone[c] = 1.0f, sample.caught.lit[c] = -1.0f;
    film_commit(film, 1, 0, &sample);
    for (int c = 0; c < 3; ++c)
        sample.caught.lit[c] = 7.0f;
    film_commit(film, 2, 0, &sample);
    sample.caught.lit[1] = NAN;
    film_commit(film, 3, 0, &sample);
    film_resolve(film, rgba);
    assert_true(rgba[3] == 0.0f && rgba[7] == 1.0f && rgba[11] == 0.0f);
    assert_int_equal(film_dropped(film).count, 1);
    film_destroy(film);
}

static double random_unit(uint64_t seed)
{
    return (double)(hash_mix64(seed) >> 11) * 0x1p-53;
}

/* Pixels of catchers whose light is partly hidden by chance, more of it where it is brighter. */
static Film *make_noisy(uint32_t samples)
{
    Film *film = make_film(FILM_AOV_BIT(FILM_AOV_VARIANCE), true);
    for (uint32_t p = 0; p < SIDE * SIDE; ++p)
        for (uint32_t s = 0; s < samples; ++s) {
            uint64_t seed = 2 * ((uint64_t)samples * p + s);
            float alone = 0.5f + (float)random_unit(seed);
            float lit = random_unit(seed + 1) < 0.3 * (double)alone ? 0.0f : alone;
            film_commit(film, p % SIDE, p / SIDE,
                        &(FilmSample){.caught = {.lit = {lit, lit, lit},
                                                 .alone = {alone, alone, alone},
                                                 .cover = 1.0f}});
        }
    return film;
}

/* The error that film_judge finds, by bisection: half of all pixels have a larger one. */
static double judged_error(Film *film)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 20; ++i) {
        double middle = 0.5 * (low + high);
        if (film_judge(film, (float)middle) > SIDE * SIDE / 2)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* On white the displayed error is that of alpha over 2 sqrt(1 - alpha): the judge's, that sees one pixel's samples, is as
 * large as the spread of alpha from pixel to pixel. It looks at the worst of 25 pixels. */
static void test_catcher_film_judges_the_noise_of_shadows(void **state)
{
    (void)state;
    static float rgba[4 * SIDE * SIDE];
    double sum = 0.0, squares = 0.0, n = SIDE * SIDE;
    Film *film = make_noisy(64);
    film_resolve(film, rgba);
    for (uint32_t p = 0; p < SIDE * SIDE; ++p) {
        sum += (double)rgba[4 * p + 3];
        squares += (double)(rgba[4 * p + 3] * rgba[4 * p + 3]);
    }
    double alpha = sum / n, spread = sqrt(squares / n - alpha * alpha);
    double expected = spread / (2.0 * sqrt(1.0 - alpha)), found = judged_error(film);
    assert_true(spread > 0.03 && found > 0.95 * expected && found < 1.25 * expected);
    film_destroy(film);
    /* Light that is noisy, and that nothing hides. */
    film = make_film(FILM_AOV_BIT(FILM_AOV_VARIANCE), true);
    for (uint32_t p = 0; p < SIDE * SIDE; ++p)
        for (uint32_t s = 0; s < 16; ++s) {
            float v = (float)random_unit(1000 * p + s);
            film_commit(film, p % SIDE, p / SIDE,
                        &(FilmSample){.caught = {.lit = {v, v, v},
                                                 .alone = {v, v, v},
                                                 .backdrop = {1, 1, 1, 1},
                                                 .cover = 1.0f}});
        }
    assert_int_equal(film_judge(film, 1e-7f), 0);
    film_destroy(film);
}

static void test_catcher_film_is_stored_and_added(void **state)
{
    (void)state;
    static float whole_rgba[4 * SIDE * SIDE], rgba[4 * SIDE * SIDE];
    char folder[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    Film *whole = make_noisy(4), *back, *none = make_film(FILM_AOV_BIT(FILM_AOV_VARIANCE), false);
    Film *sum = make_film(FILM_AOV_BIT(FILM_AOV_VARIANCE), true);
    assert_int_equal(file_make_temp_directory("sort-catcher", folder, &err), STATUS_OK);
    assert_int_equal(path_join(folder, "a.part", path, &err), STATUS_OK);
    assert_int_equal(film_write_partial(whole, path, &err), STATUS_OK);
    assert_int_equal(film_read_partial(path, &back, &err), STATUS_OK);
    assert_true(film_desc(back)->has_catchers);
    assert_int_equal(film_merge(none, back, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "shadow catchers"));
    assert_int_equal(film_merge(sum, back, &err), STATUS_OK);
    film_resolve(whole, whole_rgba);
    film_resolve(sum, rgba);
    assert_memory_equal(whole_rgba, rgba, sizeof rgba);
    film_destroy(whole);
    film_destroy(back);
    film_destroy(sum);
    film_destroy(none);
    assert_int_equal(file_remove_tree(folder, &err), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catcher_film_shades_what_is_behind),
        cmocka_unit_test(test_catcher_film_keeps_shares_in_bounds),
        cmocka_unit_test(test_catcher_film_judges_the_noise_of_shadows),
        cmocka_unit_test(test_catcher_film_is_stored_and_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
