/* Cryptomatte: the numbers of names, exact counts whatever their order, ranks, files. */
#include "sort/film/cryptomatte.h"
#include "sort/film/film.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 5, RANKS = 8, NAMES = 23 };

static Film *make_film(void)
{
    FilmDesc d = {.size_bytes = sizeof d, .width = SIDE, .height = SIDE, .ids = 3};
    Film *film = NULL;
    Error err = {0};
    assert_int_equal(film_create(&d, &film, &err), STATUS_OK);
    return film;
}

/* Published test vectors of MurmurHash3_x86_32, and the example of the Cryptomatte specification. */
static void test_ids_are_murmur3(void **state)
{
    (void)state;
    assert_int_equal(cryptomatte_id("hello"), 0x248bfa47u);
    assert_int_equal(cryptomatte_id("hello, world"), 0x149bbb7fu);
    assert_int_equal(cryptomatte_id("The quick brown fox jumps over the lazy dog"), 0x2e4ff723u);
    /* Never a NaN, an infinity or a subnormal number: among these names some would be. */
    uint32_t flipped = 0;
    for (uint32_t i = 0; i < 2000; ++i) {
        char name[16];
        (void)snprintf(name, sizeof name, "object %u", i);
        uint32_t exponent = cryptomatte_id(name) >> 23 & 255;
        assert_true(exponent != 0 && exponent != 255);
        flipped += exponent == 1 || exponent == 254;
    }
    assert_true(flipped > 0);
}

/* Sample s of a pixel meets a name; rare ones and frequent ones, more than fit into a record. */
static FilmSample sample_at(uint32_t pixel, uint32_t s)
{
    uint64_t h = hash_mix64(1000 * pixel + s);
    uint32_t name = (uint32_t)(h % NAMES) * (uint32_t)((h >> 32) % NAMES) / NAMES;
    return (FilmSample){.rgb = {1, 1, 1}, .alpha = 1, .ids = {100 + name, pixel % 2 ? 7 : 0}};
}

static void commit_samples(Film *film, uint32_t begin, uint32_t end, uint32_t step)
{
    Error err = {0};
    uint32_t count = end - begin;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t p = 0; p < SIDE * SIDE; ++p) {
            FilmSample s = sample_at(p, begin + i * step % count);
            film_commit(film, p % SIDE, p / SIDE, &s);
        }
    assert_int_equal(film_add_range(film, (FilmRange){begin, end}, &err), STATUS_OK);
}

static void assert_same_ids(const Film *a, const Film *b)
{
    static float x[SIDE * SIDE * RANKS * 2], y[SIDE * SIDE * RANKS * 2];
    for (int id = 0; id < FILM_ID_COUNT; ++id) {
        film_resolve_ids(a, (FilmId)id, RANKS, x);
        film_resolve_ids(b, (FilmId)id, RANKS, y);
        assert_memory_equal(x, y, sizeof x);
    }
}

static void test_ids_are_counted_exactly(void **state)
{
    (void)state;
    enum { SAMPLES = 101 };
    Film *film = make_film();
    commit_samples(film, 0, SAMPLES, 1);
    static float pairs[SIDE * SIDE * RANKS * 2];
    film_resolve_ids(film, FILM_ID_OBJECT, RANKS, pairs);
    for (uint32_t p = 0; p < SIDE * SIDE; ++p) {
        uint32_t counts[NAMES] = {0};
        for (uint32_t s = 0; s < SAMPLES; ++s)
            ++counts[sample_at(p, s).ids[0] - 100];
        for (uint32_t k = 0; k < RANKS; ++k) {
            uint32_t best = 0;
            for (uint32_t n = 1; n < NAMES; ++n)
                best = counts[n] > counts[best] ? n : best;
            const float *pair = pairs + 2 * (p * RANKS + k);
            assert_true(pair[1] == (float)counts[best] / SAMPLES);
            assert_true(pair[0] == cryptomatte_float(100 + best));
            counts[best] = 0;
        }
    }
    film_resolve_ids(film, FILM_ID_MATERIAL, RANKS, pairs);
    assert_true(pairs[0] == 0.0f && pairs[1] == 0.0f); /* pixel 0 met no material */
    assert_true(pairs[2 * RANKS + 1] == 1.0f && pairs[2 * RANKS + 3] == 0.0f); /* pixel 1, one */
    film_destroy(film);
}

static void test_ids_do_not_depend_on_order_or_files(void **state)
{
    (void)state;
    char folder[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    Film *whole = make_film(), *first = make_film(), *second = make_film(), *back;
    commit_samples(whole, 0, 101, 1);
    commit_samples(first, 0, 41, 7);
    commit_samples(second, 41, 101, 11);
    assert_int_equal(file_make_temp_directory("sort-ids", folder, &err), STATUS_OK);
    assert_int_equal(path_join(folder, "a.part", path, &err), STATUS_OK);
    assert_int_equal(film_write_partial(second, path, &err), STATUS_OK);
    assert_int_equal(film_read_partial(path, &back, &err), STATUS_OK);
    assert_same_ids(second, back);
    assert_int_equal(film_merge(back, first, &err), STATUS_OK);
    assert_same_ids(whole, back);
    film_destroy(whole);
    film_destroy(first);
    film_destroy(second);
    film_destroy(back);
    assert_int_equal(file_remove_tree(folder, &err), STATUS_OK);
}

static void test_ids_have_a_manifest(void **state)
{
    (void)state;
    static const char *const names[] = {"hello", "a \"b\""};
    StrBuf text = {0};
    char key[8];
    cryptomatte_manifest(names, 2, &text);
    assert_non_null(strstr(strbuf_text(&text), "248bfa47"));
    assert_non_null(strstr(strbuf_text(&text), "a \\\"b\\\""));
    cryptomatte_layer_key("hello", key);
    assert_string_equal(key, "248bfa4");
    strbuf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_murmur3),
        cmocka_unit_test(test_ids_are_counted_exactly),
        cmocka_unit_test(test_ids_do_not_depend_on_order_or_files),
        cmocka_unit_test(test_ids_have_a_manifest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
