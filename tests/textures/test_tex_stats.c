/* The counters: by texture they add up to those of the cache, whatever comes first, threads or textures;
 * durations land in their buckets; JSON brings back what was written. */
#include "base/alloc.h"
#include "base/file.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/cache/texcache_state.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static const char *make_texture(const char *name, uint32_t side)
{
    const char *path = fixture_path(name);
    Picture p = picture_create(side, side, 3, SORT_TEXEL_U8, SORT_COLOR_LINEAR);
    picture_fill_noise(&p, side);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    return path;
}

static void look(TexThread *thread, TexId id, uint32_t count, uint64_t *random)
{
    Waiter *waiter;
    TexCaller caller;
    assert_int_equal(waiter_create_for_thread(&waiter, NULL), STATUS_OK);
    texcache_caller_init(&caller, thread, waiter);
    for (uint32_t i = 0; i < count; ++i) {
        float coord[14] = {random_unit(random), random_unit(random), random_unit(random),
                           random_unit(random)};
        float out[8];
        TexRequest r = {.texture = id, .lane_count = 2, .lane_mask = 3, .coord = coord};
        texcache_lookup(&caller, &r, out);
    }
    waiter_destroy_for_thread(waiter);
}

static void check_sums(TexCache *cache)
{
    TexTextureStats list[4];
    TexStats stats;
    uint32_t count = texcache_texture_stats(cache, list, SORT_COUNT_OF(list));
    TexTextureStats sum = {0};
    assert_true(count <= SORT_COUNT_OF(list));
    for (uint32_t i = 0; i < count; ++i) {
        sum.lookups += list[i].lookups;
        sum.loads += list[i].loads;
        sum.constants += list[i].constants;
        sum.bytes_loaded += list[i].bytes_loaded;
        sum.bytes_unique += list[i].bytes_unique;
        sum.read_ns += list[i].read_ns;
        sum.waits += list[i].waits;
        sum.wait_ns += list[i].wait_ns;
        assert_true(list[i].unique_loads <= list[i].loads);
        assert_true(list[i].unique_loads <= list[i].tile_count);
    }
    texcache_stats(cache, &stats);
    assert_int_equal(sum.lookups, stats.lookups);
    assert_int_equal(sum.loads, stats.loads);
    assert_int_equal(sum.constants, stats.constants);
    assert_int_equal(sum.bytes_loaded, stats.bytes_loaded);
    assert_int_equal(sum.bytes_unique, stats.bytes_unique);
    assert_int_equal(sum.read_ns, stats.read_ns);
    assert_int_equal(sum.waits, stats.waits);
    assert_int_equal(sum.wait_ns, stats.wait_ns);
}

static void test_stats_by_texture_add_up(void **state)
{
    SORT_UNUSED(state);
    uint64_t random = 1;
    Rig rig;
    TexCacheDesc desc = {.budget_bytes = 2 << 20, .io_thread_count = 2};
    TexThread *second;
    rig_begin(&rig, &desc); /* a thread before any texture */
    TexId a = rig_open(&rig, make_texture("a.stex", 1024));
    look(rig.thread, a, 300, &random);
    TexId b = rig_open(&rig, make_texture("b.stex", 512));
    assert_int_equal(texcache_thread_create(rig.cache, &second, NULL), STATUS_OK);
    look(second, b, 200, &random);
    look(second, a, 100, &random);
    rig_check_identities(&rig);
    check_sums(rig.cache);
    texcache_thread_destroy(second); /* what it counted stays */
    check_sums(rig.cache);
    TexTextureStats list[2];
    assert_int_equal(texcache_texture_stats(rig.cache, list, 2), 2);
    assert_int_equal(list[0].lookups, 800);
    assert_int_equal(list[1].lookups, 400);
    assert_true(list[0].loads > list[0].unique_loads);
    /* A place that is free again begins at zero. */
    texcache_close(rig.cache, a);
    TexId c = rig_open(&rig, make_texture("c.stex", 256));
    assert_int_equal(texcache_texture_stats(rig.cache, list, 1), 2);
    assert_non_null(strstr(list[0].path, "c.stex"));
    assert_int_equal(list[0].lookups, 0);
    look(rig.thread, c, 7, &random);
    assert_int_equal(texcache_texture_stats(rig.cache, list, 1), 2);
    assert_int_equal(list[0].lookups, 14);
    rig_end(&rig);
}

/* Writes the file with another source digest, since files with equal ones would share their tiles. */
static void write_variant(const Str *file, uint32_t number, const char *path)
{
    StexHeader h;
    memcpy(&h, file->data, sizeof h);
    memcpy(h.source_digest, &number, sizeof number);
    h.header_crc = stex_header_crc(&h);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(&h, 1, sizeof h, f), sizeof h);
    assert_int_equal(fwrite(file->data + sizeof h, 1, file->size_bytes - sizeof h, f),
                     file->size_bytes - sizeof h);
    assert_int_equal(fclose(f), 0);
}

static void test_stats_by_texture_of_more_than_a_block(void **state)
{
    SORT_UNUSED(state);
    enum { COUNT = TEXTURE_BLOCK + 3 };
    static TexTextureStats list[COUNT];
    static TexId ids[COUNT];
    Str bytes = {0};
    char *content;
    assert_int_equal(
        file_read(make_texture("source.stex", 100), 1 << 20, &content, &bytes.size_bytes, NULL),
        STATUS_OK);
    bytes.data = content;
    uint64_t random = 2;
    Rig rig;
    rig_begin(&rig, NULL);
    for (uint32_t i = 0; i < COUNT; ++i) {
        char name[32];
        snprintf(name, sizeof name, "link%u.stex", i);
        const char *path = fixture_path(name);
        write_variant(&bytes, i, path);
        ids[i] = rig_open(&rig, path);
    }
    look(rig.thread, ids[0], 3, &random);
    look(rig.thread, ids[COUNT - 1], 5, &random);
    assert_int_equal(texcache_texture_stats(rig.cache, list, COUNT), COUNT);
    assert_int_equal(list[0].lookups, 6);
    assert_int_equal(list[COUNT - 1].lookups, 10);
    assert_int_equal(list[1].lookups, 0);
    TexStats stats = rig_stats(&rig);
    assert_true(stats.bytes_now <= stats.bytes_peak);
    for (uint32_t i = 0; i < COUNT; ++i)
        texcache_close(rig.cache, ids[i]);
    assert_int_equal(texcache_texture_stats(rig.cache, list, COUNT), 0);
    rig_end(&rig);
    mem_free(content);
}

static void test_stats_latency_buckets(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        uint64_t ns;
        uint32_t bucket;
    } rows[] = {{0, 0},          {999, 0},      {1000, 1},     {1999, 1},         {2000, 2},
                {3999, 2},       {1000000, 10}, {1024000, 11}, {4194303999u, 22}, {4194304000u, 23},
                {UINT64_MAX, 23}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i)
        assert_int_equal(cache_latency_bucket(rows[i].ns), rows[i].bucket);
}

static void test_stats_waits_are_measured(void **state)
{
    SORT_UNUSED(state);
    uint64_t random = 3;
    Rig rig;
    TexCacheDesc desc = {.read_delay_us = 5000, .io_thread_count = 1};
    rig_begin(&rig, &desc);
    TexId id = rig_open(&rig, make_texture("slow.stex", 256));
    look(rig.thread, id, 4, &random);
    rig_check_identities(&rig);
    TexStats stats = rig_stats(&rig);
    assert_true(stats.waits > 0);
    assert_true(stats.wait_ns >= stats.waits * 4000000 && stats.read_ns >= 5000000);
    for (uint32_t i = 0; i < 12; ++i) /* nothing is read within 4 ms */
        assert_int_equal(stats.read_latency[i], 0);
    check_sums(rig.cache);
    rig_end(&rig);
}

static void test_stats_come_back_from_json(void **state)
{
    SORT_UNUSED(state);
    TexStats stats, back;
    uint64_t *numbers = (uint64_t *)(void *)&stats;
    for (uint32_t i = 0; i < sizeof stats / sizeof *numbers; ++i)
        numbers[i] = 1000 + i * i;
    StrBuf text = {0};
    JsonWriter w = json_writer(&text, JSON_INDENTED);
    json_write_object(&w, NULL);
    texcache_stats_write(&stats, &w);
    json_write_end(&w);
    JsonDoc *doc;
    JsonCursor root;
    Error err = {0};
    Str written = {text.data, text.size_bytes};
    assert_int_equal(json_parse("stats", written, &doc, &err), STATUS_OK);
    assert_int_equal(json_root_object(doc, &root, &err), STATUS_OK);
    if (texcache_stats_read(&root, &back, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(&stats, &back, sizeof stats);
    json_destroy(doc);
    strbuf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats_by_texture_add_up),
        cmocka_unit_test(test_stats_by_texture_of_more_than_a_block),
        cmocka_unit_test(test_stats_latency_buckets),
        cmocka_unit_test(test_stats_waits_are_measured),
        cmocka_unit_test(test_stats_come_back_from_json),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
