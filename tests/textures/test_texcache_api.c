/* libsort-texcache through its header: lookups against a formula, threads, and every refusal with a text. The installed library
 * is tested by tests/install/check_libraries.py; this one runs under sanitizers. */
#include "base/compiler.h"
#include "base/thread.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/api/sort_texcache.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 256 };

/* Red is column / 255, green is row from the top / 255. */
static const char *make_ramp(const char *name)
{
    const char *path = fixture_path(name);
    Picture p = picture_create(SIZE, SIZE, 3, SORT_TEXEL_U8, SORT_COLOR_RAW);
    for (uint32_t y = 0; y < SIZE; ++y)
        for (uint32_t x = 0; x < SIZE; ++x) {
            ((uint8_t *)picture_at(&p, x, y))[0] = (uint8_t)x;
            ((uint8_t *)picture_at(&p, x, y))[1] = (uint8_t)y;
        }
    picture_convert(&p, path, NULL);
    picture_free(&p);
    return path;
}

static SortTexcache *new_cache(void)
{
    SortTexcache *cache = NULL;
    SortTexcacheDesc desc = {
        .size_bytes = sizeof desc, .budget_bytes = 8 << 20, .io_thread_count = 2};
    assert_int_equal(sort_texcache_create(&desc, &cache, NULL), SORT_TEXCACHE_OK);
    return cache;
}

#define REFUSED(expected, words, call)                                                             \
    do {                                                                                           \
        SortTexcacheError err = {0};                                                               \
        assert_int_equal(call, expected);                                                          \
        assert_int_equal(err.status, expected);                                                    \
        if (!strstr(err.text, words))                                                              \
            fail_msg("'%s' is not in '%s'", words, err.text);                                      \
    } while (0)

static void test_texcache_api_lookup(void **state)
{
    SORT_UNUSED(state);
    SortTexcache *cache = new_cache();
    SortTexcacheTexture texture, again;
    SortTexcacheReader *reader = NULL;
    const char *path = make_ramp("ramp.stex");
    assert_int_equal(sort_texcache_open(cache, path, &texture, NULL), SORT_TEXCACHE_OK);
    assert_int_equal(sort_texcache_open(cache, path, &again, NULL), SORT_TEXCACHE_OK);
    assert_int_equal(texture.id, again.id);
    SortTexcacheInfo info = {.size_bytes = sizeof info};
    assert_int_equal(sort_texcache_info(cache, texture, &info, NULL), SORT_TEXCACHE_OK);
    assert_true(info.width == SIZE && info.channel_count == 3 &&
                info.color == SORT_TEXCACHE_COLOR_RAW);
    assert_int_equal(sort_texcache_reader_create(cache, &reader, NULL), SORT_TEXCACHE_OK);
    sort_texcache_destroy(cache); /* the reader keeps it */

    float coord[7][5] = {{0}}, result[12][5];
    for (uint32_t i = 0; i < 5; ++i) {
        coord[0][i] = ((float)(20 * i + 30) + 0.5f) / SIZE;
        coord[1][i] = 1.0f - ((float)(11 * i + 40) + 0.5f) / SIZE;
        coord[2][i] = coord[5][i] =
            i == 4 ? 8.0f / SIZE : 0; /* a wide footprint: the ramp's mean, of levels in 8 bits */
    }
    coord[0][3] = NAN;
    result[0][1] = -7.0f; /* not wanted, not written */
    SortTexcacheRequest request = {.size_bytes = sizeof request,
                                   .texture = texture,
                                   .lane_count = 5,
                                   .lane_mask = 0x1D,
                                   .with_derivs = true,
                                   .coord = coord[0]};
    assert_int_equal(sort_texcache_prefetch(reader, &request, NULL), SORT_TEXCACHE_OK);
    uint32_t missing = 0;
    assert_int_equal(sort_texcache_lookup(reader, &request, result[0], &missing, NULL),
                     SORT_TEXCACHE_OK);
    assert_int_equal(missing, 1u << 3);
    assert_true(result[0][1] == -7.0f);
    for (uint32_t i = 0; i < 5; ++i) {
        if (i == 1 || i == 3)
            continue;
        assert_float_equal(result[0][i] * 255, (float)(20 * i + 30), i == 4 ? 0.6f : 1e-3f);
        assert_float_equal(result[1][i] * 255, (float)(11 * i + 40), i == 4 ? 0.6f : 1e-3f);
        assert_float_equal(result[4][i], SIZE / 255.0f, 1e-3f);  /* d red / ds */
        assert_float_equal(result[9][i], -SIZE / 255.0f, 1e-3f); /* d green / dt */
    }
    assert_true(result[0][3] == 1 && result[1][3] == 0 &&
                result[2][3] == 1); /* the missing colour */
    SortTexcacheOptions options = {.size_bytes = sizeof options,
                                   .wrap_s = SORT_TEXCACHE_WRAP_BLACK,
                                   .filter = SORT_TEXCACHE_FILTER_CLOSEST,
                                   .has_missing_color = true,
                                   .missing_color = {0.25f, 0, 0, 1}};
    request.options = &options;
    coord[0][0] = 1.5f;
    assert_int_equal(sort_texcache_lookup(reader, &request, result[0], &missing, NULL),
                     SORT_TEXCACHE_OK);
    assert_true(result[0][0] == 0 && result[3][0] == 0);
    assert_true(result[0][3] == 0.25f);
    SortTexcacheStats stats = {.size_bytes = sizeof stats};
    assert_int_equal(sort_texcache_stats(cache, &stats, NULL), SORT_TEXCACHE_OK);
    assert_true(stats.lookups == 8 && stats.missing == 2 && stats.loads > 0 &&
                stats.budget_bytes == 8 << 20);
    assert_true(stats.bytes_peak <= stats.budget_bytes);

    assert_int_equal(sort_texcache_close(cache, texture, NULL), SORT_TEXCACHE_OK);
    assert_int_equal(sort_texcache_close(cache, texture, NULL), SORT_TEXCACHE_OK);
    REFUSED(SORT_TEXCACHE_NOT_FOUND, "no open texture", sort_texcache_close(cache, texture, &err));
    assert_int_equal(sort_texcache_lookup(reader, &request, result[0], &missing, NULL),
                     SORT_TEXCACHE_OK);
    assert_int_equal(missing, 0x1D); /* it was closed */
    sort_texcache_reader_destroy(reader);
}

typedef struct Walk {
    SortTexcache *cache;
    SortTexcacheTexture texture;
    uint32_t wrong;
} Walk;

static void walk(void *data)
{
    Walk *w = data;
    SortTexcacheReader *reader = NULL;
    w->wrong = sort_texcache_reader_create(w->cache, &reader, NULL) != SORT_TEXCACHE_OK;
    for (uint32_t i = 0; i < SIZE && !w->wrong; ++i) {
        float coord[7] = {((float)i + 0.5f) / SIZE, 0.5f}, result[4];
        SortTexcacheRequest request = {.size_bytes = sizeof request,
                                       .texture = w->texture,
                                       .lane_count = 1,
                                       .lane_mask = 1,
                                       .coord = coord};
        w->wrong +=
            sort_texcache_lookup(reader, &request, result, NULL, NULL) != SORT_TEXCACHE_OK ||
            fabsf(result[0] * 255 - (float)i) > 1e-3f;
    }
    sort_texcache_reader_destroy(reader);
}

typedef struct Listed {
    SortTexcache *cache;
    uint32_t taps;
    double sum[5], red[5]; /* by lane: of the weights, and of level 0's texels times them */
    double slope[5];       /* of red by s */
} Listed;

static void list_tap(void *user, const SortTexcacheTap *tap)
{
    Listed *listed = user;
    assert_int_equal(tap->size_bytes, sizeof *tap);
    ++listed->taps;
    for (uint32_t k = 0; k < 4; ++k) {
        assert_true(tap->x[k] < (uint32_t)SIZE >> tap->level &&
                    tap->y[k] < (uint32_t)SIZE >> tap->level);
        double red = (tap->x[k] + 0.5) * (1u << tap->level) - 0.5; /* the mean of a level's texel */
        listed->sum[tap->lane] += (double)tap->weights[k];
        listed->red[tap->lane] += (double)tap->weights[k] * red / 255;
        listed->slope[tap->lane] += (double)tap->slopes_s[k] * red / 255;
    }
}

/* The taps of a lookup are what it blends. */
static void test_texcache_api_taps(void **state)
{
    SORT_UNUSED(state);
    SortTexcache *cache = new_cache();
    SortTexcacheTexture texture;
    SortTexcacheReader *reader = NULL;
    assert_int_equal(sort_texcache_open(cache, make_ramp("ramp.stex"), &texture, NULL),
                     SORT_TEXCACHE_OK);
    assert_int_equal(sort_texcache_reader_create(cache, &reader, NULL), SORT_TEXCACHE_OK);
    float coord[7][5] = {{0}}, result[12][5];
    for (uint32_t i = 0; i < 5; ++i) {
        coord[0][i] = 0.3f + 0.07f * (float)i;
        coord[1][i] = 0.6f;
        coord[2][i] = 0.011f * (float)(i % 3);
        coord[5][i] = 0.004f * (float)i;
    }
    coord[0][3] = NAN;
    SortTexcacheRequest request = {.size_bytes = sizeof request,
                                   .texture = texture,
                                   .lane_count = 5,
                                   .lane_mask = 0x1D,
                                   .with_derivs = true,
                                   .coord = coord[0]};
    Listed listed = {0};
    assert_int_equal(sort_texcache_taps(reader, &request, list_tap, &listed, NULL),
                     SORT_TEXCACHE_OK);
    assert_int_equal(sort_texcache_lookup(reader, &request, result[0], NULL, NULL),
                     SORT_TEXCACHE_OK);
    for (uint32_t i = 0; i < 5; ++i) {
        bool is_there = i != 1 && i != 3;
        assert_true(is_there ? fabs(listed.sum[i] - 1) < 1e-6 : listed.sum[i] == 0);
        if (!is_there)
            continue;
        assert_float_equal(result[0][i], (float)listed.red[i], 3e-3f); /* levels in 8 bits */
        assert_float_equal(result[4][i], (float)listed.slope[i], 0.2f);
    }
    REFUSED(SORT_TEXCACHE_INVALID, "visit", sort_texcache_taps(reader, &request, NULL, NULL, &err));
    request.texture.id = 12345;
    REFUSED(SORT_TEXCACHE_NOT_FOUND, "no open texture",
            sort_texcache_taps(reader, &request, list_tap, &listed, &err));
    sort_texcache_reader_destroy(reader);
    sort_texcache_destroy(cache);
}

static void test_texcache_api_threads(void **state)
{
    SORT_UNUSED(state);
    Walk walks[4] = {{.cache = new_cache()}};
    Thread *threads[4];
    assert_int_equal(
        sort_texcache_open(walks[0].cache, make_ramp("walk.stex"), &walks[0].texture, NULL),
        SORT_TEXCACHE_OK);
    for (uint32_t i = 1; i < 4; ++i)
        walks[i] = walks[0];
    for (uint32_t i = 0; i < 4; ++i) {
        assert_int_equal(thread_create("walk", 0, walk, &walks[i], &threads[i], NULL), STATUS_OK);
    }
    for (uint32_t i = 0; i < 4; ++i) {
        thread_join(threads[i]);
        assert_int_equal(walks[i].wrong, 0);
    }
    sort_texcache_destroy(walks[0].cache);
}

static void remember(void *user, SortTexcacheLogLevel level, const char *text)
{
    char(*lines)[256] = user;
    if (level == SORT_TEXCACHE_LOG_ERROR || level == SORT_TEXCACHE_LOG_WARNING)
        (void)snprintf(lines[0], sizeof lines[0], "%s", text);
}

/* A damaged tile fails alone, and the host's log hears of it. */
static void test_texcache_api_damage(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("damaged.stex");
    Picture p = picture_create(SIZE, SIZE, 3, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 1);
    picture_convert(&p, path, &(TexConvertDesc){.compression = TEX_COMPRESSION_NONE});
    picture_free(&p);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    static const char zeros[65536];
    assert_int_equal(fseek(file, -(long)(3 * SIZE * SIZE / 2), SEEK_END),
                     0); /* inside of level 0 or 1 */
    assert_int_equal(fwrite(zeros, 1, sizeof zeros, file), sizeof zeros);
    assert_int_equal(fclose(file), 0);
    char line[1][256] = {""};
    SortTexcacheDesc desc = {.size_bytes = sizeof desc, .log = remember, .log_user = line};
    desc.log_level = SORT_TEXCACHE_LOG_WARNING;
    SortTexcache *cache = NULL;
    SortTexcacheTexture texture;
    SortTexcacheReader *reader = NULL;
    assert_int_equal(sort_texcache_create(&desc, &cache, NULL), SORT_TEXCACHE_OK);
    assert_int_equal(sort_texcache_open(cache, path, &texture, NULL), SORT_TEXCACHE_OK);
    assert_int_equal(sort_texcache_reader_create(cache, &reader, NULL), SORT_TEXCACHE_OK);
    uint32_t failed = 0;
    for (uint32_t i = 0; i < 64; ++i) {
        float coord[7] = {((float)(i % 8) + 0.5f) / 8, ((float)(i / 8) + 0.5f) / 8}, result[4];
        SortTexcacheRequest request = {.size_bytes = sizeof request,
                                       .texture = texture,
                                       .lane_count = 1,
                                       .lane_mask = 1,
                                       .coord = coord};
        uint32_t missing = 0;
        assert_int_equal(sort_texcache_lookup(reader, &request, result, &missing, NULL),
                         SORT_TEXCACHE_OK);
        failed += missing;
    }
    assert_true(failed > 0 && failed < 64);
    sort_texcache_reader_destroy(reader);
    sort_texcache_destroy(cache); /* its threads are gone: the line is whole */
    assert_non_null(strstr(line[0], "damaged.stex"));
}

static void test_texcache_api_refusals(void **state)
{
    SORT_UNUSED(state);
    SortTexcache *cache = NULL;
    SortTexcacheDesc desc = {.size_bytes = sizeof desc - 1};
    REFUSED(SORT_TEXCACHE_INVALID, "size_bytes of SortTexcacheDesc",
            sort_texcache_create(&desc, &cache, &err));
    desc = (SortTexcacheDesc){.size_bytes = sizeof desc, .budget_bytes = 1};
    REFUSED(SORT_TEXCACHE_LIMIT, "too small", sort_texcache_create(&desc, &cache, &err));
    desc = (SortTexcacheDesc){.size_bytes = sizeof desc, .io_thread_count = 65};
    REFUSED(SORT_TEXCACHE_INVALID, "65 texture I/O threads",
            sort_texcache_create(&desc, &cache, &err));
    desc = (SortTexcacheDesc){.size_bytes = sizeof desc, .log_level = (SortTexcacheLogLevel)9};
    REFUSED(SORT_TEXCACHE_INVALID, "9 is no", sort_texcache_create(&desc, &cache, &err));
    REFUSED(SORT_TEXCACHE_INVALID, "out_cache is NULL", sort_texcache_create(NULL, NULL, &err));
    assert_null(cache);
    cache = new_cache();
    SortTexcacheTexture texture = {5};
    REFUSED(SORT_TEXCACHE_NOT_FOUND, "none.stex",
            sort_texcache_open(cache, "none.stex", &texture, &err));
    assert_int_equal(texture.id, 0);
    REFUSED(SORT_TEXCACHE_INVALID, "path is NULL", sort_texcache_open(cache, NULL, &texture, &err));
    const char *path = fixture_path("no.stex");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs("this is no texture", file) >= 0);
    assert_int_equal(fclose(file), 0);
    REFUSED(SORT_TEXCACHE_FORMAT, "no.stex", sort_texcache_open(cache, path, &texture, &err));
    SortTexcacheInfo info = {.size_bytes = sizeof info};
    REFUSED(SORT_TEXCACHE_NOT_FOUND, "no open texture",
            sort_texcache_info(cache, texture, &info, &err));
    info.size_bytes = 4;
    REFUSED(SORT_TEXCACHE_INVALID, "SortTexcacheInfo",
            sort_texcache_info(cache, texture, &info, &err));
    SortTexcacheReader *reader = NULL;
    assert_int_equal(sort_texcache_reader_create(cache, &reader, NULL), SORT_TEXCACHE_OK);
    float coord[7] = {0}, result[4];
    SortTexcacheOptions options = {.size_bytes = sizeof options};
    SortTexcacheRequest good = {.size_bytes = sizeof good,
                                .lane_count = 1,
                                .lane_mask = 1,
                                .coord = coord,
                                .options = &options};
    SortTexcacheRequest bad = good;
    bad.lane_count = 33;
    REFUSED(SORT_TEXCACHE_INVALID, "33 lanes",
            sort_texcache_lookup(reader, &bad, result, NULL, &err));
    bad.lane_count = 0;
    REFUSED(SORT_TEXCACHE_INVALID, "0 lanes", sort_texcache_prefetch(reader, &bad, &err));
    bad = good;
    bad.coord = NULL;
    REFUSED(SORT_TEXCACHE_INVALID, "coord is NULL",
            sort_texcache_lookup(reader, &bad, result, NULL, &err));
    bad = good;
    bad.size_bytes = 0;
    REFUSED(SORT_TEXCACHE_INVALID, "SortTexcacheRequest",
            sort_texcache_lookup(reader, &bad, result, NULL, &err));
    options.filter = (SortTexcacheFilter)8;
    REFUSED(SORT_TEXCACHE_INVALID, "8 is no",
            sort_texcache_lookup(reader, &good, result, NULL, &err));
    options = (SortTexcacheOptions){.size_bytes = sizeof options, .wrap_t = (SortTexcacheWrap)5};
    REFUSED(SORT_TEXCACHE_INVALID, "SortTexcacheWrap",
            sort_texcache_lookup(reader, &good, result, NULL, &err));
    options = (SortTexcacheOptions){.size_bytes = sizeof options, .mip_bias = NAN};
    REFUSED(SORT_TEXCACHE_INVALID, "mip_bias",
            sort_texcache_lookup(reader, &good, result, NULL, &err));
    REFUSED(SORT_TEXCACHE_INVALID, "reader is NULL",
            sort_texcache_lookup(NULL, &good, result, NULL, &err));
    sort_texcache_reader_destroy(reader);
    sort_texcache_reader_destroy(NULL);
    sort_texcache_destroy(cache);
    sort_texcache_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texcache_api_lookup), cmocka_unit_test(test_texcache_api_taps),
        cmocka_unit_test(test_texcache_api_threads), cmocka_unit_test(test_texcache_api_damage),
        cmocka_unit_test(test_texcache_api_refusals)};
    fixture_begin();
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_end();
    return failures;
}
