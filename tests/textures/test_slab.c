/* The slab pool: T7 (what the clock evicts), scans, sizes that take over each other's chunks, and a
 * random model. */
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/cache/slab.h"
#include <string.h>

enum { TILE_MAX = 4096, KIB4 = 0, KIB12 = 3, KIB16 = 4 };

typedef struct Model {
    SlabPool pool;
    EpochSet epochs;
    uint32_t slot_of[TILE_MAX]; /* SLAB_NONE: not resident */
    uint32_t last_use[TILE_MAX];
    uint32_t resident;
} Model;

static void on_unlink(void *data, uint32_t texture, uint32_t tile, uint32_t last_use)
{
    Model *m = data;
    assert_in_range(last_use, 1, SLAB_STAMP_MAX);
    m->last_use[tile] = last_use;
    assert_int_equal(texture, 7);
    assert_int_not_equal(m->slot_of[tile], SLAB_NONE);
    m->slot_of[tile] = SLAB_NONE;
    --m->resident;
}

static void model_begin(Model *m, uint32_t chunks)
{
    Error err = {0};
    epoch_init(&m->epochs);
    assert_int_equal(slab_init(&m->pool, chunks, &m->epochs, on_unlink, m, &err), STATUS_OK);
    for (uint32_t i = 0; i < TILE_MAX; ++i)
        m->slot_of[i] = SLAB_NONE;
    memset(m->last_use, 0, sizeof m->last_use);
    m->resident = 0;
}

/* A hit marks, a miss loads. Returns true for a hit. */
static bool model_use(Model *m, uint32_t tile, uint32_t size_class)
{
    if (m->slot_of[tile] != SLAB_NONE) {
        slab_mark_used(&m->pool, m->slot_of[tile]);
        return true;
    }
    uint32_t slot;
    uint64_t tag;
    assert_true(slab_take(&m->pool, size_class, m->last_use[tile], &slot, &tag));
    assert_true(epoch_passed(&m->epochs, tag));
    slab_open_memory(&m->pool, slot);
    memset(slab_address(&m->pool, slot), (int)tile, slab_slot_bytes(size_class));
    slab_publish(&m->pool, slot, 7, tile, 0);
    m->slot_of[tile] = slot;
    ++m->resident;
    return false;
}

static void test_slab_evicts_what_was_not_used_again(void **state)
{
    SORT_UNUSED(state);
    Model m;
    model_begin(&m, 1); /* three tiles of 16 KiB */
    enum { A, B, C, D };
    model_use(&m, A, KIB16);
    model_use(&m, B, KIB16);
    model_use(&m, C, KIB16);
    assert_true(model_use(&m, A, KIB16));
    model_use(&m, D, KIB16);
    assert_int_equal(m.slot_of[B], SLAB_NONE);
    assert_int_not_equal(m.slot_of[A], SLAB_NONE);
    assert_int_not_equal(m.slot_of[C], SLAB_NONE);
    assert_int_equal(m.pool.eviction_count, 1);
    slab_destroy(&m.pool);
}

static void test_slab_keeps_hot_tiles_through_a_scan(void **state)
{
    SORT_UNUSED(state);
    Model m;
    model_begin(&m, 16); /* 48 tiles */
    /* 16 hot tiles, used over and over while others stream through; each of those is used twice. */
    uint32_t hits = 0;
    for (uint32_t round = 0; round < 200; ++round) {
        for (uint32_t i = 0; i < 16; ++i) {
            bool hit = model_use(&m, i, KIB16);
            hits += hit && round >= 20;
        }
        for (uint32_t i = 0; i < 16; ++i) {
            uint32_t tile = 16 + (round * 16 + i) % (TILE_MAX - 16);
            model_use(&m, tile, KIB16);
            model_use(&m, tile, KIB16);
        }
    }
    assert_int_equal(hits, 180 * 16);
    slab_destroy(&m.pool);
}

/* What a lookup makes of a tile: it is loaded, and used again and again for a while. */
static bool model_burst(Model *m, uint32_t tile, uint32_t size_class)
{
    bool hit = model_use(m, tile, size_class);
    for (uint32_t i = 0; i < 5; ++i)
        model_use(m, tile, size_class);
    return hit;
}

enum { SCAN_ROUNDS = 60, SCAN_COUNTED = 30 };

/* Scans `count` tiles again and again, and uses the next of `hot` tiles after each. Returns the share of the scanned tiles that
 * were there in the last rounds. */
static double scan_hits(uint32_t chunks, uint32_t size_class, uint32_t count, uint32_t hot,
                        uint32_t *out_hot_misses)
{
    Model m;
    model_begin(&m, chunks);
    uint32_t hits = 0, next_hot = 0;
    *out_hot_misses = 0;
    for (uint32_t round = 0; round < SCAN_ROUNDS; ++round) {
        bool is_counted = round >= SCAN_ROUNDS - SCAN_COUNTED;
        for (uint32_t i = 0; i < count; ++i) {
            hits += model_burst(&m, hot + i, size_class) && is_counted;
            if (hot > 0) {
                bool hit = model_use(&m, next_hot++ % hot, size_class);
                *out_hot_misses += !hit && is_counted;
            }
        }
    }
    slab_destroy(&m.pool);
    return (double)hits / ((double)SCAN_COUNTED * count);
}

/* If `count` tiles are used in rotation, least-recently-used eviction never hits. At best (Belady), one tile
 * less than memory holds stays through the round while one place serves all others, so that (capacity - 1) /
 * (count - 1) of the uses hit. */
static void test_slab_repeated_scans_find_what_memory_holds(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t chunk_counts[] = {1, 2, 5, 16, 70};
    static const double sizes[] = {1.05, 1.25, 1.5, 2.0, 4.0};
    for (uint32_t size_class = 0; size_class < SLAB_SIZE_COUNT; ++size_class) {
        for (uint32_t k = 0; k < SORT_COUNT_OF(chunk_counts); ++k) {
            uint32_t slots = chunk_counts[k] * (SLAB_CHUNK_BYTES / slab_slot_bytes(size_class));
            for (uint32_t n = 0; n < SORT_COUNT_OF(sizes); ++n) {
                uint32_t count = (uint32_t)((double)slots * sizes[n]) + 1, hot_misses;
                double best = (double)(slots - 1) / (double)(count - 1);
                double hits = scan_hits(chunk_counts[k], size_class, count, 0, &hot_misses);
                double least = slots < 12 ? 0.7 * best : 0.9 * best;
                if (!(hits >= least))
                    fail_msg("%u slots, %u tiles: %.3f there, at best %.3f", slots, count, hits,
                             best);
            }
        }
    }
}

static void test_slab_keeps_hot_tiles_through_repeated_scans(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t chunk_counts[] = {8, 16, 70};
    static const double sizes[] = {1.25, 2.0, 4.0};
    enum { HOT = 10 };
    for (uint32_t size_class = 0; size_class < SLAB_SIZE_COUNT; ++size_class) {
        for (uint32_t k = 0; k < SORT_COUNT_OF(chunk_counts); ++k) {
            uint32_t slots = chunk_counts[k] * (SLAB_CHUNK_BYTES / slab_slot_bytes(size_class));
            for (uint32_t n = 0; n < SORT_COUNT_OF(sizes); ++n) {
                uint32_t count = (uint32_t)((double)slots * sizes[n]), hot_misses;
                double best = (double)(slots - HOT - 1) / (double)(count - 1);
                double hits = scan_hits(chunk_counts[k], size_class, count, HOT, &hot_misses);
                if (!(hits >= 0.88 * best && hot_misses == 0))
                    fail_msg("%u slots, %u tiles: %.3f there, at best %.3f; %u hot ones were not",
                             slots, count, hits, best, hot_misses);
            }
        }
    }
}

static void test_slab_sizes_share_the_memory(void **state)
{
    SORT_UNUSED(state);
    Model m;
    model_begin(&m, 4);
    for (uint32_t i = 0; i < 12; ++i)
        model_use(&m, i, KIB16);
    assert_int_equal(m.resident, 12);
    /* Another size takes the memory over chunk by chunk... */
    for (uint32_t i = 0; i < 48; ++i)
        model_use(&m, 100 + i, KIB4);
    assert_int_equal(m.pool.chunk_count, 4);
    /* ... and back, though all of it is hot. */
    for (uint32_t i = 0; i < 48; ++i)
        model_use(&m, 100 + i, KIB4);
    for (uint32_t i = 0; i < 12; ++i)
        model_use(&m, 200 + i, KIB12);
    uint32_t found = 0;
    for (uint32_t i = 0; i < 12; ++i)
        found += m.slot_of[200 + i] != SLAB_NONE;
    assert_true(found >= 4);
    slab_destroy(&m.pool);
}

static void test_slab_leaves_pinned_and_loading_slots_alone(void **state)
{
    SORT_UNUSED(state);
    Model m;
    model_begin(&m, 1);
    for (uint32_t i = 0; i < 3; ++i)
        model_use(&m, i, KIB16);
    for (uint32_t i = 0; i < 3; ++i)
        slab_pin(&m.pool, m.slot_of[i]);
    uint32_t slot, chunk;
    uint64_t tag;
    assert_false(slab_take(&m.pool, KIB16, 0, &slot, &tag));
    assert_false(slab_take(&m.pool, KIB4, 0, &slot, &tag));
    assert_false(slab_retire_chunk(&m.pool, &chunk, &tag));
    assert_true(slab_unpin(&m.pool, m.slot_of[1]));
    assert_true(slab_take(&m.pool, KIB16, 0, &slot, &tag));
    assert_int_equal(m.slot_of[1], SLAB_NONE);
    /* One is loading, two are pinned. */
    uint32_t none;
    assert_false(slab_take(&m.pool, KIB16, 0, &none, &tag));
    slab_give_back(&m.pool, slot, 0);
    assert_true(slab_take(&m.pool, KIB16, 0, &none, &tag));
    assert_int_equal(none, slot);
    slab_destroy(&m.pool);
}

static void test_slab_waits_for_readers(void **state)
{
    SORT_UNUSED(state);
    Model m;
    model_begin(&m, 1);
    EpochReader reader;
    epoch_add(&m.epochs, &reader);
    for (uint32_t i = 0; i < 3; ++i)
        model_use(&m, i, KIB16);
    epoch_enter(&m.epochs, &reader);
    uint32_t slot;
    uint64_t tag;
    assert_true(slab_take(&m.pool, KIB16, 0, &slot, &tag));
    assert_false(epoch_passed(&m.epochs, tag));
    assert_false(epoch_leave(&m.epochs, &reader));
    assert_true(epoch_passed(&m.epochs, tag));
    epoch_enter(&m.epochs, &reader); /* came later: sees nothing of the old tile */
    assert_true(epoch_passed(&m.epochs, tag));
    epoch_leave(&m.epochs, &reader);
    epoch_remove(&m.epochs, &reader);
    slab_destroy(&m.pool);
}

static void test_slab_random_operations_keep_the_books(void **state)
{
    SORT_UNUSED(state);
    enum { CHUNKS = 10, TILES = 300 };
    Model m;
    model_begin(&m, CHUNKS);
    uint64_t random = 9;
    for (uint32_t step = 0; step < 200000; ++step) {
        uint32_t r = random_u32(&random);
        uint32_t tile = r % TILES, size_class = tile % SLAB_SIZE_COUNT;
        if (r >> 24 < 250) {
            model_use(&m, tile, size_class);
            uint32_t bytes = slab_slot_bytes(size_class);
            const uint8_t *texels = slab_address(&m.pool, m.slot_of[tile]);
            assert_int_equal(texels[0], (uint8_t)tile);
            assert_int_equal(texels[bytes - 1], (uint8_t)tile);
        } else if (r >> 24 < 253) {
            if (m.slot_of[tile] != SLAB_NONE) { /* as when a texture is closed */
                uint32_t slot = m.slot_of[tile];
                m.slot_of[tile] = SLAB_NONE;
                --m.resident;
                slab_give_back(&m.pool, slot, epoch_retire(&m.epochs));
            }
        } else {
            m.pool.chunk_limit = 3 + r % (CHUNKS - 3);
            while (m.pool.chunk_count > m.pool.chunk_limit) {
                uint32_t chunk;
                uint64_t tag;
                assert_true(slab_retire_chunk(&m.pool, &chunk, &tag));
                slab_decommit(&m.pool, chunk);
            }
        }
        assert_true(m.pool.chunk_count <= CHUNKS);
        assert_int_equal(m.pool.resident_count, m.resident);
    }
    uint32_t resident = 0, chunks = 0;
    for (uint32_t c = 0; c < CHUNKS; ++c) {
        chunks += m.pool.chunks[c].state != CHUNK_UNCOMMITTED;
        if (m.pool.chunks[c].state != CHUNK_ASSIGNED)
            continue;
        uint32_t count = SLAB_CHUNK_BYTES / slab_slot_bytes(m.pool.chunks[c].size_class), here = 0;
        for (uint32_t i = 0; i < count; ++i) {
            here += m.pool.chunks[c].slots[i].state == SLOT_FREE;
            resident += m.pool.chunks[c].slots[i].state == SLOT_RESIDENT;
        }
        assert_int_equal(here, m.pool.chunks[c].free_count);
    }
    assert_int_equal(chunks, m.pool.chunk_count);
    assert_int_equal(resident, m.resident);
    slab_destroy(&m.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slab_evicts_what_was_not_used_again),
        cmocka_unit_test(test_slab_keeps_hot_tiles_through_a_scan),
        cmocka_unit_test(test_slab_repeated_scans_find_what_memory_holds),
        cmocka_unit_test(test_slab_keeps_hot_tiles_through_repeated_scans),
        cmocka_unit_test(test_slab_sizes_share_the_memory),
        cmocka_unit_test(test_slab_leaves_pinned_and_loading_slots_alone),
        cmocka_unit_test(test_slab_waits_for_readers),
        cmocka_unit_test(test_slab_random_operations_keep_the_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
