/* The paged file: what goes in comes out, in every format; T12 (truncation), T26 (accounting); damage
 * anywhere is noticed. */
#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/format/stex_read.h"
#include "textures/format/texel.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void test_stex_keeps_every_texel_of_every_format(void **state)
{
    SORT_UNUSED(state);
    static const SortTexelType types[] = {SORT_TEXEL_U8, SORT_TEXEL_U16, SORT_TEXEL_HALF,
                                          SORT_TEXEL_FLOAT};
    TexelTables *tables = MEM_NEW(TexelTables);
    texel_tables_fill(tables);
    for (uint32_t k = 0; k < 32; ++k) {
        TexelFormat format = {types[k / 8], k % 4 + 1, false};
        TexConvertDesc how = {.compression =
                                  k / 4 % 2 ? TEX_COMPRESSION_ZLIB : TEX_COMPRESSION_NONE};
        Picture p = picture_create(129, 60, format.channel_count, format.type, SORT_COLOR_LINEAR);
        picture_fill_noise(&p, k);
        if (how.compression == TEX_COMPRESSION_ZLIB) { /* something to compress */
            for (uint32_t y = 20; y < 60; ++y) {
                for (uint32_t x = 0; x < 60; ++x)
                    memcpy(picture_at(&p, x, y), picture_at(&p, 0, 0), p.texel_bytes);
            }
        }
        const char *path = fixture_path("texels.stex");
        picture_convert(&p, path, &how);
        FileImage image = file_image_load(path);
        assert_int_equal(image.level_count, 8);
        for (uint32_t y = 0; y < 60; ++y) {
            for (uint32_t x = 0; x < 129; ++x) {
                float values[4], rgba[4];
                texel_decode_row(tables, format, picture_at(&p, x, y), 1, values);
                texel_expand(values, format.channel_count, rgba);
                assert_memory_equal(rgba, image.levels[0].rgba + (y * 129 + x) * 4, sizeof rgba);
            }
        }
        file_image_free(&image);
        picture_free(&p);
    }
    mem_free(tables);
}

static void test_stex_accounts_for_tiles_and_tail(void **state)
{
    SORT_UNUSED(state);
    StexHeader h = {.version = STEX_VERSION,
                    .width = 4096,
                    .height = 4096,
                    .channel_count = 4,
                    .texel_type = SORT_TEXEL_U8};
    assert_true(stex_layout(&h));
    TexInfo info;
    stex_describe(&h, &info);
    assert_int_equal(info.level_count, 13);
    assert_int_equal(info.tile_width, 64);
    assert_int_equal(info.tile_height, 64);
    /* 4096 + 1024 + ... + 4 tiles; the 64-texel level, which would be tile 5461, opens the tail. */
    assert_int_equal(info.tile_count, 5460);
    assert_int_equal(info.first_tail_level, 6);
    assert_int_equal(info.tail_texels, 5461);
    for (uint32_t i = 0; i < 6; ++i)
        assert_int_equal(info.levels[i].tiles_x, 64u >> i);
    assert_int_equal(info.levels[6].tiles_x, 0);
}

static void test_stex_info_counts_constant_tiles(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(256, 256, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    for (uint32_t y = 0; y < 64; ++y) {
        for (uint32_t x = 0; x < 64; ++x)
            memset(picture_at(&p, x, y), (int)(x * y), 3);
    }
    const char *path = fixture_path("constant.stex");
    TexConvertDesc how = {.wrap_s = TEX_WRAP_CLAMP, .wrap_t = TEX_WRAP_MIRROR};
    TexConvertReport report = picture_convert(&p, path, &how);
    assert_int_equal(report.tile_count, 20);
    assert_int_equal(report.constant_tiles, 15 + 3);
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_file_info(path, &info, &err), STATUS_OK);
    assert_int_equal(info.levels[0].constant_tiles, 15);
    assert_int_equal(info.levels[0].stored_bytes, 64 * 64 * 3);
    assert_int_equal(info.levels[1].constant_tiles, 3);
    assert_int_equal(info.wrap_s, TEX_WRAP_CLAMP);
    assert_int_equal(info.wrap_t, TEX_WRAP_MIRROR);
    assert_int_equal(info.color_space, SORT_COLOR_SRGB);
    uint64_t file_bytes;
    assert_int_equal(file_size(path, &file_bytes, &err), STATUS_OK);
    assert_int_equal(info.file_bytes, file_bytes);
    picture_free(&p);
}

/* Compressed and not, over several groups of tiles and rows that do not end on tiles. */
static void test_stex_bytes_do_not_depend_on_threads(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t thread_counts[] = {1, 2, 3, 16};
    Picture p = picture_create(4500, 333, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    for (uint32_t y = 0; y < 333; ++y) {
        for (uint32_t x = 0; x < 3 * 4500; ++x) /* smooth, noisy and constant parts */
            ((uint8_t *)picture_at(&p, 0, y))[x] = (uint8_t)(x < 5000   ? x / 9 + y
                                                             : x < 9000 ? (x * x * 31 + y * 57) >> 3
                                                                        : 7);
    }
    for (uint32_t k = 0; k < 2; ++k) {
        char *first = NULL;
        size_t first_size = 0;
        for (uint32_t i = 0; i < SORT_COUNT_OF(thread_counts); ++i) {
            const char *path = fixture_path("threads.stex");
            TexConvertDesc how = {.thread_count = thread_counts[i],
                                  .compression = k ? TEX_COMPRESSION_ZLIB : TEX_COMPRESSION_NONE};
            TexConvertReport report = picture_convert(&p, path, &how);
            assert_true(report.constant_tiles > 0);
            char *bytes;
            size_t size;
            Error err = {0};
            assert_int_equal(file_read(path, 1 << 25, &bytes, &size, &err), STATUS_OK);
            if (i == 0) {
                first = bytes;
                first_size = size;
            } else {
                assert_int_equal(size, first_size);
                assert_memory_equal(bytes, first, size);
                mem_free(bytes);
            }
        }
        mem_free(first);
    }
    picture_free(&p);
}

static void test_stex_digest_tells_sources_apart(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(20, 20, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 1);
    TexInfo a, b, c, d, e;
    Error err = {0};
    const char *path = fixture_path("digest.stex");
    TexConvertDesc clamped = {.wrap_s = TEX_WRAP_CLAMP};
    picture_convert(&p, path, NULL);
    assert_int_equal(texcache_file_info(path, &a, &err), STATUS_OK);
    picture_convert(&p, path, NULL);
    assert_int_equal(texcache_file_info(path, &b, &err), STATUS_OK);
    picture_convert(&p, path, &clamped);
    assert_int_equal(texcache_file_info(path, &c, &err), STATUS_OK);
    TexConvertDesc packed = {.compression = TEX_COMPRESSION_ZLIB};
    picture_convert(&p, path, &packed);
    assert_int_equal(texcache_file_info(path, &e, &err), STATUS_OK);
    *(uint8_t *)picture_at(&p, 19, 19) ^= 1;
    picture_convert(&p, path, NULL);
    assert_int_equal(texcache_file_info(path, &d, &err), STATUS_OK);
    assert_memory_equal(a.source_digest, b.source_digest, 16);
    assert_memory_equal(a.source_digest, e.source_digest, 16);
    assert_memory_not_equal(a.source_digest, c.source_digest, 16);
    assert_memory_not_equal(a.source_digest, d.source_digest, 16);
    picture_free(&p);
}

static void expect_refusal(const char *path, Status status, const char *text)
{
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_file_info(path, &info, &err), status);
    if (!strstr(err.text, text))
        fail_msg("expected '%s' in '%s'", text, err.text);
    assert_string_equal(err.path, path);
}

static void test_stex_refuses_what_is_no_texture(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    const char *path = fixture_path("broken.stex");
    expect_refusal(fixture_path("absent.stex"), STATUS_NOT_FOUND, "cannot be opened");
    assert_int_equal(file_write(path, "", 0, &err), STATUS_OK);
    expect_refusal(path, STATUS_FORMAT, "0 bytes");
    assert_int_equal(file_write(path, "hello", 5, &err), STATUS_OK);
    expect_refusal(path, STATUS_FORMAT, "not a paged texture");
    assert_int_equal(file_make_directories(fixture_path("folder.stex"), &err), STATUS_OK);
    expect_refusal(fixture_path("folder.stex"), STATUS_FORMAT, "regular file");

    Picture p = picture_create(300, 200, 4, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    picture_fill_noise(&p, 3);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    uint64_t whole;
    assert_int_equal(file_size(path, &whole, &err), STATUS_OK);
    /* Cuts, from the back to the front. */
    assert_int_equal(truncate(path, (off_t)(whole / 2)), 0);
    TexInfo info;
    assert_int_equal(texcache_file_info(path, &info, &err), STATUS_OK); /* only tiles are lost */
    assert_int_equal(truncate(path, 4500), 0);
    expect_refusal(path, STATUS_FORMAT, "the file has 4500");
    assert_int_equal(truncate(path, 100), 0);
    expect_refusal(path, STATUS_FORMAT, "it needs 4096 bytes, the file has 100");
}

static void test_stex_notices_any_damage_to_its_tables(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    const char *path = fixture_path("damage.stex");
    Picture p = picture_create(130, 70, 2, SORT_TEXEL_U16, SORT_COLOR_LINEAR);
    picture_fill_noise(&p, 4);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    char *bytes;
    size_t size;
    assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
    const StexHeader *h = (const StexHeader *)bytes;
    uint64_t random = 5;
    for (uint32_t i = 0; i < 600; ++i) { /* header page and index */
        uint64_t end = h->index_offset + h->tile_count * sizeof(StexTile);
        uint64_t at = random_u32(&random) % end;
        char *broken = mem_alloc(1, size);
        memcpy(broken, bytes, size);
        broken[at] = (char)(broken[at] ^ (1 << random_u32(&random) % 8));
        assert_int_equal(file_write(path, broken, size, &err), STATUS_OK);
        mem_free(broken);
        TexInfo info;
        Status status = texcache_file_info(path, &info, &err);
        if (status != STATUS_FORMAT && status != STATUS_UNSUPPORTED)
            fail_msg("a flipped bit in byte %" PRIu64 " went unnoticed", at);
    }
    mem_free(bytes);
}

/* A header whose check sum is right but whose content is a lie. */
static void test_stex_refuses_lies_with_valid_checksums(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    const char *path = fixture_path("lies.stex");
    Picture p = picture_create(190, 120, 1, SORT_TEXEL_U8, SORT_COLOR_LINEAR);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    char *bytes;
    size_t size;
    assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
    StexHeader honest;
    memcpy(&honest, bytes, sizeof honest);
    for (uint32_t lie = 0; lie < 16; ++lie) {
        StexHeader h = honest;
        switch (lie) {
        case 0:
            h.width = 0;
            break;
        case 1:
            h.height = STEX_SIZE_MAX + 1;
            break;
        case 2:
            h.channel_count = 5;
            break;
        case 3:
            h.texel_type = 9;
            break;
        case 4:
            h.tile_count = UINT64_MAX;
            break;
        case 5:
            h.levels[1].first_tile = 1u << 30;
            break;
        case 6:
            h.tail_offset = UINT64_MAX - 8;
            break;
        case 7:
            h.wrap_s = TEX_WRAP_FILE;
            break;
        case 8:
            h.flags = 0x80;
            break;
        case 9:
            h.average_rgba[2] = NAN;
            break;
        case 10:
            h.average_rgba[3] = -INFINITY;
            break;
        case 11:
            memset(h.notes, 'x', sizeof h.notes);
            break;
        case 12:
            memset(h.notes, '\n', sizeof h.notes - 1);
            break;
        case 13:
            snprintf(h.notes, sizeof h.notes, "one\n\ntwo");
            break;
        case 14:
            snprintf(h.notes, sizeof h.notes, "\none");
            break;
        default:
            h.level_count = 200;
            break;
        }
        h.header_crc = stex_header_crc(&h);
        memcpy(bytes, &h, sizeof h);
        assert_int_equal(file_write(path, bytes, size, &err), STATUS_OK);
        expect_refusal(path, STATUS_FORMAT, "contradicts itself");
    }
    honest.version = STEX_VERSION + 1;
    honest.header_crc = stex_header_crc(&honest);
    memcpy(bytes, &honest, sizeof honest);
    assert_int_equal(file_write(path, bytes, size, &err), STATUS_OK);
    expect_refusal(path, STATUS_UNSUPPORTED, "version 3; this program reads versions 1 to 2");
    mem_free(bytes);
}

static void test_stex_failed_conversion_leaves_nothing(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(8, 8, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    Error err = {0};
    assert_int_equal(picture_try_convert(&p, fixture_path("no/such/folder.stex"), NULL, &err),
                     STATUS_NOT_FOUND);
    TexConvertDesc how = {.subimage = 3};
    assert_int_equal(picture_try_convert(&p, fixture_path("never.stex"), &how, &err),
                     STATUS_FORMAT);
    assert_string_equal(err.text, "no such level");
    assert_false(file_exists(fixture_path("never.stex")));
    p.info.width = STEX_SIZE_MAX + 1;
    assert_int_equal(picture_try_convert(&p, fixture_path("never.stex"), NULL, &err), STATUS_LIMIT);
    picture_free(&p);
}

static void test_stex_conversion_survives_any_failed_allocation(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(100, 90, 4, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    picture_fill_noise(&p, 6);
    const char *path = fixture_path("memory.stex");
    /* One thread: others that cannot be had are done without. */
    TexConvertDesc how = {.compression = TEX_COMPRESSION_ZLIB, .thread_count = 1};
    for (uint64_t n = 1;; ++n) {
        assert_in_range(n, 1, 200);
        Error err = {0};
        mem_fail_nth(n);
        Status status = picture_try_convert(&p, path, &how, &err);
        bool is_done = mem_allocation_count() < n;
        mem_fail_nth(0);
        if (is_done) {
            assert_int_equal(status, STATUS_OK);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
        assert_false(file_exists(path));
    }
    picture_free(&p);
}

static uint32_t bands_before_cancel;

static bool cancel_after_a_while(void *host)
{
    SORT_UNUSED(host);
    return bands_before_cancel-- == 0;
}

static void note_progress(void *data, float done)
{
    float *last = data;
    assert_true(done > *last && done <= 1.0f);
    *last = done;
}

static void test_stex_conversion_can_be_cancelled(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(30, 300, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    const char *path = fixture_path("cancelled.stex");
    SortHostApi host = {.cancelled = cancel_after_a_while};
    float done = 0.0f;
    TexConvertDesc how = {.host = &host, .progress = note_progress, .progress_data = &done};
    Error err = {0};
    bands_before_cancel = 2;
    assert_int_equal(picture_try_convert(&p, path, &how, &err), STATUS_CANCELLED);
    assert_false(file_exists(path));
    assert_true(done > 0.2f && done < 0.6f);
    bands_before_cancel = 1000;
    done = 0.0f;
    assert_int_equal(picture_try_convert(&p, path, &how, &err), STATUS_OK);
    assert_true(done == 1.0f);
    picture_free(&p);
}

static int setup(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    return 0;
}

static int teardown(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stex_keeps_every_texel_of_every_format),
        cmocka_unit_test(test_stex_accounts_for_tiles_and_tail),
        cmocka_unit_test(test_stex_info_counts_constant_tiles),
        cmocka_unit_test(test_stex_bytes_do_not_depend_on_threads),
        cmocka_unit_test(test_stex_digest_tells_sources_apart),
        cmocka_unit_test(test_stex_refuses_what_is_no_texture),
        cmocka_unit_test(test_stex_notices_any_damage_to_its_tables),
        cmocka_unit_test(test_stex_refuses_lies_with_valid_checksums),
        cmocka_unit_test(test_stex_failed_conversion_leaves_nothing),
        cmocka_unit_test(test_stex_conversion_survives_any_failed_allocation),
        cmocka_unit_test(test_stex_conversion_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
