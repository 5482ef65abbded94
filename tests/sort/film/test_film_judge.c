/* What a film knows beside its sums: the variance and adaptive sampling's judgement, checkpoints, notes. */
#include "sort/film/film.h"

#include "base/file.h"
#include "base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 9 };

static Film *make_film(FilmAovSet aovs)
{
    FilmDesc d = {.size_bytes = sizeof d, .width = SIDE, .height = SIDE, .aovs = aovs};
    Film *film = NULL;
    Error err = {0};
    assert_int_equal(film_create(&d, &film, &err), STATUS_OK);
    return film;
}

static double random_unit(uint64_t seed)
{
    return (double)(hash_mix64(seed) >> 11) * 0x1p-53;
}

/* Against the two-pass formula in double precision, on values with a large mean, which cancel badly. */
static void test_judge_variance_is_that_of_the_mean(void **state)
{
    (void)state;
    enum { SAMPLES = 37 };
    Film *film = make_film(FILM_AOV_BIT(FILM_AOV_VARIANCE));
    for (uint32_t p = 0; p < SIDE * SIDE; ++p)
        for (uint32_t s = 0; s < SAMPLES; ++s) {
            float v = (float)(1000.0 + random_unit(1000 * p + s));
            film_commit(film, p % SIDE, p / SIDE, &(FilmSample){.rgb = {v, 2 * v, 0.5f * v}});
        }
    float found[SIDE * SIDE];
    film_resolve_aov(film, FILM_AOV_VARIANCE, found);
    for (uint32_t p = 0; p < SIDE * SIDE; ++p) {
        double sum = 0, squares = 0, scale = 0.2126 + 2 * 0.7152 + 0.5 * 0.0722;
        for (uint32_t s = 0; s < SAMPLES; ++s)
            sum += scale * (double)(float)(1000.0 + random_unit(1000 * p + s));
        for (uint32_t s = 0; s < SAMPLES; ++s) {
            double d = scale * (double)(float)(1000.0 + random_unit(1000 * p + s)) - sum / SAMPLES;
            squares += d * d;
        }
        double expected = squares / (SAMPLES * (SAMPLES - 1.0));
        assert_true(fabs((double)found[p] - expected) < 1e-6 * expected);
    }
    film_destroy(film);
}

/* One pixel of two values among constant ones: its error, and that of its neighbours, follow from the rule. */
static void test_judge_follows_its_rule(void **state)
{
    (void)state;
    Film *film = make_film(FILM_AOV_BIT(FILM_AOV_VARIANCE));
    for (uint32_t p = 0; p < SIDE * SIDE; ++p)
        for (uint32_t s = 0; s < 16; ++s) {
            float v = p == 4 * SIDE + 4 ? (s % 2 ? 1.5f : 0.5f) : 1.0f;
            film_commit(film, p % SIDE, p / SIDE, &(FilmSample){.rgb = {v, v, v}});
        }
    /* Squared deviations 16 / 4 over 16 x 15, a ninth of it for each of 3 x 3 pixels; sqrt(Y) halves it. */
    double error = sqrt(4.0 / (16.0 * 15.0) / 9.0) / (2.0 * sqrt(1.0 + 1.0 / 1024.0));
    assert_int_equal(film_judge(film, (float)(error * 1.001)), 0);
    assert_true(film_is_done(film, 4, 4));
    /* Nine pixels have that error, and their neighbours go on with them. */
    assert_int_equal(film_judge(film, (float)(error * 0.999)), 25);
    for (uint32_t y = 0; y < SIDE; ++y)
        for (uint32_t x = 0; x < SIDE; ++x)
            assert_int_equal(film_is_done(film, x, y), x < 2 || x > 6 || y < 2 || y > 6);
    film_destroy(film);
}

static void test_judge_checkpoints_and_notes_are_kept(void **state)
{
    (void)state;
    char folder[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    static const char credits[] = "Chairs by A (CC BY)\nTable by B \xc3\xa9";
    Film *film = make_film(0), *back, *other = make_film(0);
    assert_int_equal(film_set_note(film, FILM_NOTE_SCENE, "room \"1\"", &err), STATUS_OK);
    assert_int_equal(film_set_note(film, FILM_NOTE_CREDITS, credits, &err), STATUS_OK);
    film_commit(film, 3, 3, &(FilmSample){.rgb = {1, 2, 3}, .alpha = 1});
    film_set_checkpoint(film, (FilmCheckpoint){.job = 1234567890123ull,
                                               .pass_samples = 4,
                                               .wide_samples = 96,
                                               .widened_at = 123456789012ull,
                                               .sample_begin = 50,
                                               .sample_end = 64});
    assert_int_equal(file_make_temp_directory("sort-judge", folder, &err), STATUS_OK);
    assert_int_equal(path_join(folder, "a.part", path, &err), STATUS_OK);
    assert_int_equal(film_write_partial(film, path, &err), STATUS_OK);
    assert_int_equal(film_read_partial(path, &back, &err), STATUS_OK);
    assert_true(film_checkpoint(back).job == 1234567890123ull);
    assert_int_equal(film_checkpoint(back).pass_samples, 4);
    assert_int_equal(film_checkpoint(back).wide_samples, 96);
    assert_int_equal(film_checkpoint(back).widened_at, 123456789012ull);
    assert_string_equal(film_note(back, FILM_NOTE_SCENE), "room \"1\"");
    assert_string_equal(film_note(back, FILM_NOTE_CREDITS), credits);
    assert_string_equal(film_note(other, FILM_NOTE_SCENE), "");
    assert_string_equal(film_note(other, FILM_NOTE_OBJECT), "");
    assert_int_equal(film_merge(other, back, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "checkpoint"));
    film_set_checkpoint(back, (FilmCheckpoint){0});
    assert_int_equal(film_merge(other, back, &err), STATUS_OK);
    film_destroy(film);
    film_destroy(back);
    film_destroy(other);
    assert_int_equal(file_remove_tree(folder, &err), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judge_variance_is_that_of_the_mean),
        cmocka_unit_test(test_judge_follows_its_rule),
        cmocka_unit_test(test_judge_checkpoints_and_notes_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
