/* Tiles of files: shapes that fit the picture, payloads that are predicted, and files of version 1. */
#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/format/stex_read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int group_begin(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    return 0;
}

static int group_end(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

/* --- prediction ----------------------------------------------------------------------------- */

/* Pictures of many kinds: noise, slopes with a little noise, stripes, channels that follow each other. */
static void fill(uint8_t *texels, const PredictShape *s, uint32_t kind, uint64_t *random)
{
    for (uint32_t y = 0; y < s->height; ++y) {
        for (uint32_t x = 0; x < s->width; ++x) {
            uint32_t noise = random_u32(random);
            for (uint32_t k = 0; k < s->channel_count; ++k) {
                uint32_t small = random_u32(random) & 3, value = noise >> k;
                if (kind == 1)
                    value = 37 * x + 11 * y + k + small;
                else if (kind == 2)
                    value = (x * 7 & 0xf0) * 9 + small;
                else if (kind == 3)
                    value = (y * 5 & 0xf0) * 11 + small;
                else if (kind == 4)
                    value = noise + k * 3 + small;
                else if (kind == 5)
                    value = (x + y) * (x + y) / 3 + small * 60;
                else if (kind == 6)
                    value = (x > y / 2 ? 200u : 10u) << (k & 1);
                value <<= 8 * (s->component_bytes - 1) / 2;
                memcpy(texels + ((y * s->width + x) * s->channel_count + k) * s->component_bytes,
                       &value, s->component_bytes);
            }
        }
    }
}

static void test_tiles_are_predicted_and_restored(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t sizes[][2] = {{64, 64}, {32, 32}, {4096, 1}, {1, 1024}, {512, 2}, {1, 1}};
    enum { MOST = 4096 * 16 };
    static uint8_t texels[MOST], scratch[MOST], residuals[MOST], again[MOST + 1];
    uint64_t random = 5;
    uint32_t seen[PREDICT_METHODS_ALL + 1] = {0};
    for (uint32_t n = 0; n < SORT_COUNT_OF(sizes); ++n) {
        for (uint32_t i = 0; i < 4 * 3 * 7; ++i) {
            PredictShape s = {sizes[n][0], sizes[n][1], 1 + i % 4, 1u << i / 4 % 3};
            size_t size = (size_t)s.width * s.height * s.channel_count * s.component_bytes;
            fill(texels, &s, i / 12, &random);
            uint32_t method = predict_tile(&s, texels, scratch, residuals);
            assert_int_not_equal(method & 7, PREDICT_NOTHING);
            assert_true(predict_is_method(&s, method));
            ++seen[method];
            memset(again, 0xa5, sizeof again);
            unpredict_tile(&s, method, residuals, again);
            assert_memory_equal(texels, again, size);
            assert_int_equal(again[size], 0xa5);
        }
    }
    for (uint32_t k = PREDICT_LEFT; k < PREDICT_COUNT; ++k)
        assert_true(seen[k] + seen[k | PREDICT_BY_SECOND] > 0);
    PredictShape grey = {64, 64, 1, 1};
    assert_false(predict_is_method(&grey, PREDICT_LEFT | PREDICT_BY_SECOND));
    assert_false(predict_is_method(&grey, PREDICT_BY_SECOND));
    assert_false(predict_is_method(&grey, PREDICT_COUNT));
}

/* Texels come back through compressed files of all formats, and smooth ones become much smaller than zlib alone can make them. */
static void test_tiles_of_compressed_files_come_back(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t i = 0; i < 16; ++i) {
        SortTexelType type = (SortTexelType)(i / 4);
        Picture p = picture_create(150, 130, 1 + i % 4, type, SORT_COLOR_RAW);
        for (uint32_t y = 0; y < 130; ++y) {
            for (uint32_t x = 0; x < 150; ++x) {
                for (uint32_t k = 0; k < p.info.channel_count; ++k)
                    picture_set(&p, x, y, k,
                                0.3f + 0.001f * (float)x + 0.002f * (float)y +
                                    0.00003f * (float)(x * (y + k) % 97));
            }
        }
        TexConvertDesc packed = {.compression = TEX_COMPRESSION_ZLIB};
        TexConvertReport large = picture_convert(&p, fixture_path("large.stex"), NULL);
        TexConvertReport small = picture_convert(&p, fixture_path("small.stex"), &packed);
        FileImage a = file_image_load(fixture_path("large.stex"));
        FileImage b = file_image_load(fixture_path("small.stex"));
        for (uint32_t l = 0; l < a.level_count; ++l)
            assert_memory_equal(a.levels[l].rgba, b.levels[l].rgba,
                                (size_t)a.levels[l].width * a.levels[l].height * 16);
        assert_true(small.file_bytes < large.file_bytes);
        if (type == SORT_TEXEL_U8)
            assert_true(3 * small.file_bytes < large.file_bytes);
        file_image_free(&a);
        file_image_free(&b);
        picture_free(&p);
    }
}

/* --- shapes --------------------------------------------------------------------------------- */

static void test_tiles_fit_thin_pictures(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t sizes[][2] = {
        {4096, 1},    {1, 4096},  {524288, 1},  {1, 524288}, {4096, 3},  {5, 7000},
        {4096, 33},   {33, 4096}, {5000, 70},   {100000, 9}, {65, 65},   {65, 20000},
        {1000, 1000}, {640, 360}, {129, 66},    {300, 200},  {2048, 31}, {17, 17},
        {8192, 64},   {8192, 65}, {4096, 4096}, {524288, 5}, {129, 129}, {97, 97}};
    for (uint32_t n = 0; n < SORT_COUNT_OF(sizes); ++n) {
        for (uint32_t i = 0; i < 16; ++i) {
            StexHeader h = {.version = STEX_VERSION,
                            .width = sizes[n][0],
                            .height = sizes[n][1],
                            .channel_count = (uint8_t)(1 + i % 4),
                            .texel_type = (uint8_t)(i / 4)};
            assert_true(stex_layout(&h));
            uint32_t area = stex_texel_bytes(&h) <= 4 ? 4096 : 1024;
            assert_int_equal(stex_tile_bytes(&h), area * stex_texel_bytes(&h));
            uint64_t texels = (uint64_t)h.width * h.height, all = 0;
            for (uint32_t l = 0; l < h.level_count; ++l)
                all += (uint64_t)h.levels[l].width * h.levels[l].height;
            uint64_t stored = h.tile_count * area + h.tail_bytes / stex_texel_bytes(&h);
            /* Never more than thrice what is there, and no more than half as much again from some tiles on. */
            assert_true(stored <= 3 * all);
            if (texels >= 64 * (uint64_t)area)
                if (stored * 2 > 3 * all)
                    fail_msg("%u x %u, %u bytes a texel: %g", h.width, h.height,
                             stex_texel_bytes(&h), (double)stored / (double)all);
        }
    }
    /* Pictures that are not thin keep square tiles. */
    StexHeader square = {
        .version = STEX_VERSION, .width = 2000, .height = 1125, .channel_count = 3};
    assert_true(stex_layout(&square));
    assert_int_equal(stex_tile_width_log2(&square), 6);
    assert_int_equal(stex_tile_height_log2(&square), 6);
}

static void check_lookups(const char *path)
{
    FileImage image = file_image_load(path);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    TexOptions options = {.filter = TEX_FILTER_TRILINEAR};
    uint64_t random = 1;
    for (uint32_t i = 0; i < 400; ++i) {
        float width = i % 3 ? 0.0f : random_unit(&random) * random_unit(&random);
        float coord[7] = {random_unit(&random) * 2 - 0.5f,
                          random_unit(&random) * 2 - 0.5f,
                          width,
                          0,
                          0,
                          width,
                          0};
        float out[12], expected[12];
        TexRequest r = {.texture = id,
                        .options = &options,
                        .lane_count = 1,
                        .lane_mask = 1,
                        .with_derivs = true,
                        .coord = coord};
        assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
        oracle_lookup(&image, coord, &options, expected);
        for (uint32_t k = 0; k < 4; ++k)
            assert_float_equal(out[k], expected[k], 1e-4);
    }
    rig_end(&rig);
    file_image_free(&image);
}

static void test_tiles_of_thin_pictures_are_looked_up(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t sizes[][2] = {{4096, 1}, {1, 5000}, {3000, 5}, {33, 4000},
                                        {9000, 2}, {65, 65},  {500, 70}};
    for (uint32_t n = 0; n < SORT_COUNT_OF(sizes); ++n) {
        for (uint32_t i = 0; i < 4; ++i) {
            Picture p = picture_create(sizes[n][0], sizes[n][1], i % 2 ? 3 : 4,
                                       i < 2 ? SORT_TEXEL_U8 : SORT_TEXEL_FLOAT, SORT_COLOR_RAW);
            picture_fill_noise(&p, n);
            TexConvertDesc how = {.compression =
                                      i % 2 ? TEX_COMPRESSION_ZLIB : TEX_COMPRESSION_NONE};
            const char *path = fixture_path("thin.stex");
            TexConvertReport report = picture_convert(&p, path, &how);
            /* Header, index and levels: no more than thrice the texels. */
            assert_true(report.file_bytes <
                        16384 + 4 * (uint64_t)sizes[n][0] * sizes[n][1] * p.texel_bytes);
            check_lookups(path);
            picture_free(&p);
        }
    }
}

/* --- floats that are halves ------------------------------------------------------------------ */

static SortTexelType type_stored(const Picture *p)
{
    TexInfo info;
    const char *path = fixture_path("half.stex");
    picture_convert(p, path, NULL);
    assert_int_equal(texcache_file_info(path, &info, NULL), STATUS_OK);
    FileImage image = file_image_load(path);
    for (uint32_t i = 0; i < 150 * 130; ++i)
        assert_memory_equal(image.levels[0].rgba + 4 * (size_t)i, p->texels + 12 * (size_t)i, 12);
    file_image_free(&image);
    return info.type;
}

/* A sky in RGBE: mantissas of 8 bits, exponents over a wide range. */
static void test_tiles_of_floats_become_halves_where_nothing_is_lost(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(150, 130, 3, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    uint64_t random = 2;
    for (uint32_t i = 0; i < 150 * 130; ++i) {
        int exponent =
            (int)(random_u32(&random) % 31) - 24; /* up to 255 * 2^6, in steps of 2^-24 */
        for (uint32_t k = 0; k < 3; ++k)
            picture_set(&p, i % 150, i / 150, k,
                        ldexpf((float)(random_u32(&random) & 255), exponent));
    }
    assert_int_equal(type_stored(&p), SORT_TEXEL_HALF);
    /* One value that halves do not have, anywhere, and all stay floats. */
    static const float others[] = {65536.0f, 0x1p-25f, 1.0f + 0x1p-11f, 0.1f};
    for (uint32_t i = 0; i < SORT_COUNT_OF(others); ++i) {
        Picture q = p;
        float before;
        memcpy(&before, picture_at(&q, 149 - 40 * i, 129 - 30 * i), sizeof before);
        picture_set(&q, 149 - 40 * i, 129 - 30 * i, 0, others[i]);
        assert_int_equal(type_stored(&q), SORT_TEXEL_FLOAT);
        picture_set(&q, 149 - 40 * i, 129 - 30 * i, 0, before);
    }
    picture_free(&p);
    Picture data = picture_create(150, 130, 3, SORT_TEXEL_FLOAT, SORT_COLOR_RAW);
    assert_int_equal(type_stored(&data), SORT_TEXEL_FLOAT);
    picture_free(&data);
}

/* --- files of version 1 ---------------------------------------------------------------------- */

static const char *data_folder;

/* tests/textures/data/version1_*.stex were made by the program that wrote version 1, of this formula, as raw data. */
static void check_old_file(const char *name, uint32_t width, uint32_t height)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", data_folder, name);
    FileImage image = file_image_load(path);
    assert_int_equal(image.levels[0].width, width);
    assert_int_equal(image.levels[0].height, height);
    for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
            const uint8_t rgb[3] = {(uint8_t)(x * x / 7 + y * 3), (uint8_t)(x * 5 + y * y),
                                    (uint8_t)(x ^ y)};
            for (uint32_t k = 0; k < 3; ++k)
                assert_float_equal(image.levels[0].rgba[(y * width + x) * 4 + k],
                                   (float)rgb[k] / 255.0f, 1e-6);
        }
    }
    file_image_free(&image);
    check_lookups(path);
    TexVerifyReport report;
    assert_int_equal(texcache_file_verify(path, NULL, NULL, &report, NULL), STATUS_OK);
    assert_int_equal(report.damages, 0);
}

static void test_tiles_of_version_1_are_read(void **state)
{
    SORT_UNUSED(state);
    check_old_file("version1_zlib.stex", 70, 66);
    check_old_file("version1_thin.stex", 200, 3);
}

/* A record that names a method where there can be none contradicts its header. */
static void test_tiles_without_sense_are_refused(void **state)
{
    SORT_UNUSED(state);
    char path[1024], *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/version1_zlib.stex", data_folder);
    StexHeader h;
    StexTile record;
    TileFailure failure;
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size, NULL), STATUS_OK);
    memcpy(&h, bytes, sizeof h);
    uint32_t tile = 0;
    do
        memcpy(&record, bytes + h.index_offset + tile * sizeof record, sizeof record);
    while (record.flags != STEX_TILE_ZLIB && ++tile < h.tile_count);
    mem_free(bytes);
    assert_int_equal(record.flags, STEX_TILE_ZLIB);
    static const struct {
        uint32_t version, channels, flags;
        bool is_sound;
    } cases[] = {
        {1, 3, STEX_TILE_ZLIB, true},
        {1, 3, STEX_TILE_ZLIB | PREDICT_LEFT << STEX_TILE_METHOD_SHIFT, false},
        {2, 3, STEX_TILE_ZLIB | PREDICT_LEFT << STEX_TILE_METHOD_SHIFT, true},
        {2, 3, PREDICT_LEFT << STEX_TILE_METHOD_SHIFT, false},
        {2, 3, STEX_TILE_ZLIB | PREDICT_COUNT << STEX_TILE_METHOD_SHIFT, false},
        {2, 3, STEX_TILE_ZLIB | PREDICT_BY_SECOND << STEX_TILE_METHOD_SHIFT, false},
        {2, 3, STEX_TILE_ZLIB | (PREDICT_MEAN | PREDICT_BY_SECOND) << STEX_TILE_METHOD_SHIFT, true},
        {2, 1, STEX_TILE_ZLIB | (PREDICT_MEAN | PREDICT_BY_SECOND) << STEX_TILE_METHOD_SHIFT,
         false}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        StexHeader other = h;
        StexTile r = record;
        other.version = cases[i].version;
        other.channel_count = (uint8_t)cases[i].channels;
        other.tile_log2 = cases[i].version == 1 ? 6 : 0x66;
        r.flags = cases[i].flags;
        r.stored_bytes = r.stored_bytes < 4096 ? r.stored_bytes : 4096;
        if (!(r.flags & STEX_TILE_ZLIB))
            r.stored_bytes = stex_tile_bytes(&other);
        r.record_crc = stex_record_crc(&r, tile);
        assert_int_equal(stex_check_record(&other, tile, &r, &failure), cases[i].is_sound);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_are_predicted_and_restored),
        cmocka_unit_test(test_tiles_of_compressed_files_come_back),
        cmocka_unit_test(test_tiles_fit_thin_pictures),
        cmocka_unit_test(test_tiles_of_thin_pictures_are_looked_up),
        cmocka_unit_test(test_tiles_of_floats_become_halves_where_nothing_is_lost),
        cmocka_unit_test(test_tiles_of_version_1_are_read),
        cmocka_unit_test(test_tiles_without_sense_are_refused),
    };
    if (argc != 2)
        return 2;
    data_folder = argv[1];
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
