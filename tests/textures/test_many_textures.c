/* Thousands of textures: how they are found again by what they are, and what they cost in memory. */
#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/cache/tex_index.h"
#include "textures/format/stex_format.h"
#include <stdio.h>
#include <string.h>

/* --- the index ------------------------------------------------------------------------------ */

static uint32_t depth_of(const TexIndexNode *node)
{
    if (!node)
        return 0;
    uint32_t a = depth_of(node->children[0]), b = depth_of(node->children[1]);
    return 1 + (a > b ? a : b);
}

static Hash128 key_of(uint32_t number)
{
    return hash128(&number, sizeof number);
}

/* Entries come and go in a random order, each key up to twice; what is in the index is found and nothing else is. */
static void test_index_finds_what_is_there_and_nothing_else(void **state)
{
    SORT_UNUSED(state);
    enum { KEYS = 20000, ENTRIES = 2 * KEYS, STEPS = 8 * ENTRIES };
    static TexIndexNode nodes[ENTRIES];
    static bool is_in[ENTRIES];
    TexIndexNode *root = NULL;
    uint64_t random = 1;
    uint32_t deepest = 0, removals = 0;
    for (uint32_t i = 0; i < ENTRIES; ++i)
        nodes[i] = (TexIndexNode){.key = key_of(i / 2), .owner = &nodes[i]};
    for (uint32_t step = 0; step < STEPS; ++step) {
        uint32_t i = random_u32(&random) % ENTRIES;
        if (is_in[i])
            cache_index_remove(&root, &nodes[i]);
        else
            cache_index_add(&root, &nodes[i]);
        removals += is_in[i];
        is_in[i] = !is_in[i];
        uint32_t other = random_u32(&random) % ENTRIES;
        const TexIndexNode *found = cache_index_find(root, nodes[other].key);
        if (is_in[other] || is_in[other ^ 1])
            assert_true(found && is_in[found - nodes] &&
                        (uint32_t)(found - nodes) / 2 == other / 2);
        else
            assert_null(found);
        if (step % 4096 == 0)
            deepest = depth_of(root) > deepest ? depth_of(root) : deepest;
    }
    assert_true(removals > STEPS / 4);
    assert_in_range(deepest, 14, 48); /* log2 of 20,000 is 14.3; a list would be that long */
    for (uint32_t i = 0; i < ENTRIES; ++i)
        if (is_in[i])
            cache_index_remove(&root, &nodes[i]);
    assert_null(root);
}

/* Keys that are equal in all bits are a list, which is no place for thousands but loses none. */
static void test_index_takes_entries_of_one_key(void **state)
{
    SORT_UNUSED(state);
    TexIndexNode nodes[300], *root = NULL;
    for (uint32_t i = 0; i < SORT_COUNT_OF(nodes); ++i) {
        nodes[i] = (TexIndexNode){.key = key_of(7), .owner = &nodes[i]};
        cache_index_add(&root, &nodes[i]);
    }
    for (uint32_t i = 0; i < SORT_COUNT_OF(nodes); ++i) {
        assert_non_null(cache_index_find(root, key_of(7)));
        cache_index_remove(&root, &nodes[(size_t)i * 7 % SORT_COUNT_OF(nodes)]);
    }
    assert_null(root);
    assert_null(cache_index_find(root, key_of(7)));
}

/* --- textures ------------------------------------------------------------------------------- */

enum { SIDE = 128, LEVELS = 8 };

/* A file to make others of. */
typedef struct Model {
    uint8_t *bytes; /* owned */
    size_t size_bytes;
} Model;

static Model model_load(void)
{
    Model m = {0};
    Picture p = picture_create(SIDE, SIDE, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 1);
    picture_convert(&p, fixture_path("model.stex"), NULL);
    picture_free(&p);
    char *data = NULL;
    Error err = {0};
    assert_int_equal(file_read(fixture_path("model.stex"), 1 << 20, &data, &m.size_bytes, &err),
                     STATUS_OK);
    m.bytes = (uint8_t *)data;
    return m;
}

static uint8_t texel_of(uint32_t number, uint32_t level)
{
    return (uint8_t)(number * 31 + (number >> 8) * 17 + level * 5);
}

/* File `number`: every level has a colour of its own. Its level 0 is constant tiles, so that it ends behind its tail. */
static void write_variant(const Model *m, uint32_t number)
{
    StexHeader h;
    memcpy(&h, m->bytes, sizeof h);
    for (uint64_t k = 0; k < h.tile_count; ++k) {
        StexTile tile = {.flags = STEX_TILE_CONSTANT, .constant = {texel_of(number, 0)}};
        tile.record_crc = stex_record_crc(&tile, k);
        memcpy(m->bytes + h.index_offset + k * sizeof tile, &tile, sizeof tile);
    }
    uint8_t *tail = m->bytes + h.tail_offset;
    for (uint32_t level = h.first_tail_level; level < h.level_count; ++level)
        memset(tail + h.levels[level].tail_offset, texel_of(number, level),
               (size_t)h.levels[level].width * h.levels[level].height);
    memset(h.source_digest, 0, sizeof h.source_digest);
    memcpy(h.source_digest, &(uint32_t){number + 1}, sizeof number);
    h.tail_crc = crc32c(0, tail, (size_t)h.tail_bytes);
    h.file_bytes = h.data_offset;
    h.header_crc = stex_header_crc(&h);
    memcpy(m->bytes, &h, sizeof h);
    char name[32];
    snprintf(name, sizeof name, "t%u.stex", number);
    Error err = {0};
    assert_int_equal(file_write(fixture_path(name), m->bytes, (size_t)h.data_offset, &err),
                     STATUS_OK);
}

static TexId open_variant(Rig *rig, uint32_t number)
{
    char name[32];
    snprintf(name, sizeof name, "t%u.stex", number);
    return rig_open(rig, fixture_path(name));
}

static void check_level(Rig *rig, TexId id, uint32_t number, uint32_t level)
{
    float width = (float)(1u << level) / (float)SIDE, out[4];
    float coord[7] = {0.5f, 0.5f, level ? width : 0.0f, 0, 0, level ? width : 0.0f, 0};
    TexOptions options = {.mip = TEX_MIP_MAX_OF_FOUR};
    TexRequest r = {
        .texture = id, .options = &options, .lane_count = 1, .lane_mask = 1, .coord = coord};
    assert_int_equal(texcache_lookup(&rig->caller, &r, out), 0);
    float expected = (float)texel_of(number, level) / 255.0f;
    assert_true(out[0] > expected - 1e-6f && out[0] < expected + 1e-6f);
}

/* 10,000 textures of 128 x 128 texels in 64 MiB: all fit, every level of each shows its own texels, twice over, and the
 * budget holds. Some are closed and opened again. */
static void test_ten_thousand_textures_fit_64_mib(void **state)
{
    SORT_UNUSED(state);
    enum { FILES = 10000 };
    static TexId ids[FILES];
    Model model = model_load();
    for (uint32_t i = 0; i < FILES; ++i)
        write_variant(&model, i);
    mem_free(model.bytes);
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 64 << 20, .io_thread_count = 2};
    Rig rig;
    rig_begin(&rig, &d);
    uint64_t before = rig_stats(&rig).bytes_tables;
    for (uint32_t i = 0; i < FILES; ++i)
        ids[i] = open_variant(&rig, i);
    uint64_t each = (rig_stats(&rig).bytes_tables - before) / FILES;
    print_message("%u bytes stay in memory of each\n", (unsigned)each);
    assert_true(each < 1000);
    for (uint32_t pass = 0; pass < 2; ++pass) {
        for (uint32_t i = 0; i < FILES; ++i)
            for (uint32_t level = 0; level < LEVELS; ++level)
                check_level(&rig, ids[i], i, level);
    }
    for (uint32_t i = 0; i < FILES; i += 3)
        texcache_close(rig.cache, ids[i]);
    for (uint32_t i = 0; i < FILES; i += 3) {
        TexId old = ids[i];
        ids[i] = open_variant(&rig, i);
        assert_int_not_equal(ids[i].id, old.id);
        check_level(&rig, ids[i], i, 3);
    }
    for (uint32_t i = 0; i < FILES; i += 7) {
        assert_int_equal(open_variant(&rig, i).id, ids[i].id);
        texcache_close(rig.cache, ids[i]);
    }
    TexStats stats = rig_stats(&rig);
    assert_true(stats.evictions > 0);
    assert_true(stats.bytes_peak <= d.budget_bytes);
    assert_int_equal(stats.failed_tiles, 0);
    rig_check_identities(&rig);
    rig_end(&rig);
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
        cmocka_unit_test(test_index_finds_what_is_there_and_nothing_else),
        cmocka_unit_test(test_index_takes_entries_of_one_key),
        cmocka_unit_test(test_ten_thousand_textures_fit_64_mib),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
