/* Traces: what comes out is what went in; a trace of real lookups agrees with the counters; a replay
 * loads what the cache loads under the same budget; the curve is that of a plain least-recently-used
 * cache; damage is told, never met with a crash. */
#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/replay/optimal_loads.h"
#include "textures/replay/stack_distance.h"
#include "textures/tex_replay.h"
#include "textures/trace/trace_write.h"
#include <fcntl.h>
#include <math.h>
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

static TexTraceReader *open_trace(const char *path)
{
    TexTraceReader *r;
    Error err = {0};
    if (tex_trace_open(path, &r, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return r;
}

/* Reads to the end. */
static Status read_all(TexTraceReader *r, uint64_t *out_events, Error *err)
{
    static TexTraceEvent event;
    bool more;
    *out_events = 0;
    for (;;) {
        TRY(tex_trace_next(r, &event, &more, err));
        if (!more)
            return STATUS_OK;
        ++*out_events;
    }
}

/* --- writing and reading -------------------------------------------------------------------- */

enum { STREAMS = 3, EVENTS = 40000, TILES = 341 };

/* A texture of 16 x 16 tiles and the levels below, each of 16 KiB. */
static TraceTexture some_texture(void)
{
    TraceTexture t = {.tile_bytes = 16384, .tile_count = TILES, .level_count = 6};
    uint32_t first = 0;
    for (uint32_t i = 0; i < 5; ++i) {
        uint32_t side = 16u >> i;
        t.levels[i] = (TexTraceLevel){64 * side, 64 * side, side, side, first};
        first += side * side;
    }
    t.levels[5] = (TexTraceLevel){32, 32, 0, 0, 0};
    return t;
}

typedef struct Made {
    uint32_t stream, texture, depth, tile_count, seed;
    bool is_read;
} Made;

/* Tiles and taps of an event follow from its seed. */
static void make_tiles(const Made *m, uint32_t tiles[], uint32_t taps[])
{
    uint64_t state = m->seed;
    for (uint32_t i = 0; i < m->tile_count; ++i) {
        tiles[i] = random_u32(&state) % TILES;
        uint32_t r = random_u32(&state);
        taps[i] = r % 3 == 0 ? 1 : 1 + r % 700;
    }
}

static Made *write_some(const char *path, uint32_t event_count)
{
    Made *made = MEM_ARRAY(Made, event_count);
    TraceWriter *w;
    TraceStream *streams[STREAMS];
    uint64_t state = 5;
    assert_int_equal(trace_writer_begin(path, 1 << 20, 4, &w, NULL), STATUS_OK);
    TraceTexture texture = some_texture();
    for (uint32_t i = 0; i < 3; ++i)
        trace_write_texture(w, trace_number_texture(w), &texture, i ? "b.stex" : "a \"<&>.stex");
    for (uint32_t i = 0; i < STREAMS; ++i)
        assert_non_null(streams[i] = trace_stream_create(w));
    for (uint32_t i = 0; i < event_count; ++i) {
        uint32_t r = random_u32(&state), tiles[TEX_TRACE_TILES_MAX], taps[TEX_TRACE_TILES_MAX];
        Made *m = &made[i];
        /* One stream is quiet for long. */
        *m = (Made){.stream = r % (r & 0x1000 ? STREAMS : STREAMS - 1),
                    .texture = (r >> 13) % 3,
                    .depth = (r >> 15) % TEX_DEPTH_BUCKETS,
                    .tile_count = r % 1000 == 0 ? TEX_TRACE_TILES_MAX : 1 + (r >> 20) % 5,
                    .seed = r,
                    .is_read = r >> 29 == 0};
        if (m->is_read)
            m->tile_count = 1;
        make_tiles(m, tiles, taps);
        if (m->is_read)
            trace_add_read(w, m->texture, tiles[0], (TexTraceOutcome)(r % 3), r);
        else
            trace_add_request(streams[m->stream], m->texture, m->depth, r % 7 == 0, tiles, taps,
                              m->tile_count);
    }
    for (uint32_t i = 0; i < STREAMS; ++i)
        trace_stream_destroy(streams[i]);
    assert_int_equal(trace_writer_end(w, 777, NULL), STATUS_OK);
    return made;
}

static void check_event(const TexTraceEvent *e, const Made *m, uint64_t order)
{
    uint32_t tiles[TEX_TRACE_TILES_MAX], taps[TEX_TRACE_TILES_MAX];
    make_tiles(m, tiles, taps);
    assert_int_equal(e->order, order);
    assert_int_equal(e->kind, m->is_read ? TEX_TRACE_READ : TEX_TRACE_REQUEST);
    assert_int_equal(e->texture, m->texture);
    assert_int_equal(e->tile_count, m->tile_count);
    assert_memory_equal(e->tiles, tiles, m->tile_count * sizeof *tiles);
    if (m->is_read) {
        assert_int_equal(e->outcome, m->seed % 3);
        assert_int_equal(e->duration_us, m->seed);
        return;
    }
    assert_int_equal(e->stream, m->stream + 1);
    assert_int_equal(e->depth, m->depth);
    assert_int_equal(e->is_continued, m->seed % 7 == 0);
    assert_memory_equal(e->taps, taps, m->tile_count * sizeof *taps);
}

static void test_trace_comes_back_in_order(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("order.trace");
    Made *made = write_some(path, EVENTS);
    TexTraceReader *r = open_trace(path);
    const TexTraceSummary *s = tex_trace_summary(r);
    assert_int_equal(s->texture_count, 3);
    assert_int_equal(s->order_count, EVENTS);
    assert_int_equal(s->budget_bytes, 1 << 20);
    assert_int_equal(s->table_bytes, 777);
    assert_string_equal(tex_trace_textures(r)[0].path, "a \"<&>.stex");
    uint32_t x, y;
    assert_int_equal(tex_trace_tile_place(&tex_trace_textures(r)[1], 256 + 9, &x, &y), 1);
    assert_int_equal(x, 1);
    assert_int_equal(y, 1);
    for (uint32_t pass = 0; pass < 2; ++pass) {
        static TexTraceEvent event;
        bool more;
        for (uint64_t i = 0; i < EVENTS; ++i) {
            assert_int_equal(tex_trace_next(r, &event, &more, NULL), STATUS_OK);
            assert_true(more);
            check_event(&event, &made[i], i);
            if (pass == 0 && i == EVENTS / 3)
                break;
        }
        if (pass == 1) {
            assert_int_equal(tex_trace_next(r, &event, &more, NULL), STATUS_OK);
            assert_false(more);
        }
        tex_trace_rewind(r);
    }
    tex_trace_close(r);
    mem_free(made);
}

static void test_trace_tells_that_it_could_not_be_written(void **state)
{
    SORT_UNUSED(state);
    TraceWriter *w;
    Error err = {0};
    const char *path = fixture_path("no/folder/t.trace");
    assert_int_equal(trace_writer_begin(path, 1, 1, &w, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.path, "t.trace"));
}

/* --- damage --------------------------------------------------------------------------------- */

/* Over what is there already: making files anew takes the disk long. */
static void put_file(const char *path, const void *data, size_t size_bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, size_bytes, 0), size_bytes);
    assert_int_equal(ftruncate(fd, (off_t)size_bytes), 0);
    close(fd);
}

static bool is_refused(const char *path, Error *err)
{
    TexTraceReader *r;
    uint64_t events;
    Status status = tex_trace_open(path, &r, err);
    if (status == STATUS_OK) {
        status = read_all(r, &events, err);
        tex_trace_close(r);
    }
    return status == STATUS_FORMAT || status == STATUS_UNSUPPORTED;
}

static void test_trace_refuses_every_changed_byte_and_every_cut(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("damage.trace"), *broken = fixture_path("broken.trace");
    char *bytes;
    size_t size;
    mem_free(write_some(path, 60));
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size, NULL), STATUS_OK);
    for (size_t i = 0; i < size; ++i) {
        Error err = {0};
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        put_file(broken, bytes, size);
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        if (!is_refused(broken, &err))
            fail_msg("byte %zu changed, and nobody minds: %s", i, err.text);
        assert_true(err.has_offset || err.code == STATUS_UNSUPPORTED);
    }
    for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 7) {
        Error err = {0};
        put_file(broken, bytes, cut);
        if (!is_refused(broken, &err) || !strstr(err.text, "cut off"))
            fail_msg("cut at %zu: %s", cut, err.text);
    }
    Error err = {0};
    bytes[size] = 0; /* the reader's own NUL */
    put_file(broken, bytes, size + 1);
    assert_true(is_refused(broken, &err) && strstr(err.text, "follows the end"));
    mem_free(bytes);
    put_file(broken, "{}", 2);
    assert_true(is_refused(broken, &err));
    put_file(broken,
             "{\"version\": \"0.1\", \"threads\": 2, \"seconds\": 0}   "
             "                                    ",
             80);
    assert_true(is_refused(broken, &err) && strstr(err.text, "no trace"));
}

/* Makes all check sums right again, as far as the blocks can be followed. */
static void mend(char *bytes, size_t size)
{
    TraceHeader h;
    memcpy(&h, bytes, sizeof h);
    h.crc = crc32c(0, &h, offsetof(TraceHeader, crc));
    memcpy(bytes, &h, sizeof h);
    TraceBlock b;
    for (size_t at = sizeof h; at + sizeof b <= size; at += sizeof b + b.payload_bytes) {
        memcpy(&b, bytes + at, sizeof b);
        size_t left = size - at - sizeof b;
        if (b.payload_bytes > left)
            return;
        b.payload_crc = crc32c(0, bytes + at + sizeof b, b.payload_bytes);
        b.crc = crc32c(0, &b, offsetof(TraceBlock, crc));
        memcpy(bytes + at, &b, sizeof b);
    }
}

/* What check sums do not catch: random content behind right sums. Nothing is asserted but that it ends. */
static void test_trace_survives_wrong_content(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("seed.trace"), *broken = fixture_path("wrong.trace");
    char *bytes, *copy;
    size_t size;
    uint64_t random = 99, refused = 0;
    enum { ROUNDS = 700 };
    mem_free(write_some(path, 40));
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size, NULL), STATUS_OK);
    copy = mem_alloc(1, size);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        memcpy(copy, bytes, size);
        for (uint32_t n = 1 + random_u32(&random) % 4; n > 0; --n) {
            size_t at = random_u32(&random) % size;
            uint32_t r = random_u32(&random);
            copy[at] = (char)(r % 4 == 0 ? 0xff : r % 4 == 1 ? 0 : r >> 8);
        }
        mend(copy, size);
        put_file(broken, copy, size);
        Error err = {0};
        refused += is_refused(broken, &err);
        TexTraceReader *r;
        if (tex_trace_open(broken, &r, &err) == STATUS_OK) {
            TexReplay replay = {.budget_bytes = 2 << 20};
            TexCurve curve;
            (void)!tex_replay(r, &replay, 1, &err);
            (void)!tex_replay_curve(r, &curve, &err);
            tex_trace_close(r);
        }
    }
    assert_true(refused > ROUNDS / 2);
    mem_free(copy);
    mem_free(bytes);
}

/* --- traces of lookups ---------------------------------------------------------------------- */

static const char *make_texture(const char *name, uint32_t side, uint32_t channels)
{
    Picture p = picture_create(side, side, channels, SORT_TEXEL_U8, SORT_COLOR_LINEAR);
    picture_fill_noise(&p, side + channels);
    static char paths[4][256];
    static uint32_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s", fixture_path(name));
    picture_convert(&p, path, NULL);
    picture_free(&p);
    return path;
}

typedef struct Walk {
    const char *paths[2];
    uint32_t request_count, lane_count;
    TexFilter filter;
} Walk;

/* Does the same lookups each time: places that wander, with an occasional jump. */
static TexStats walk(const Walk *how, uint64_t budget_bytes, const char *trace_path)
{
    TexCacheDesc desc = {.size_bytes = sizeof desc,
                         .budget_bytes = budget_bytes,
                         .io_thread_count = 1,
                         .trace_path = trace_path};
    TexOptions options = {.filter = how->filter};
    TexId ids[2];
    Rig rig;
    rig_begin(&rig, &desc);
    ids[0] = rig_open(&rig, how->paths[0]);
    ids[1] = rig_open(&rig, how->paths[1]);
    uint64_t random = 3;
    float s = 0.5f, t = 0.5f;
    for (uint32_t i = 0; i < how->request_count; ++i) {
        float coord[7 * 16] = {0}, values[16], out[4 * 16];
        uint32_t n = how->lane_count;
        if (i % 16 == 0) {
            s = random_unit(&random);
            t = random_unit(&random);
        }
        for (uint32_t lane = 0; lane < n; ++lane) {
            s += 0.03f * (random_unit(&random) - 0.5f);
            t += 0.03f * (random_unit(&random) - 0.5f);
            coord[lane] = s;
            coord[n + lane] = t;
            coord[2 * n + lane] = 0.01f * random_unit(&random);
            coord[5 * n + lane] = 0.003f * random_unit(&random);
            values[lane] = random_unit(&random);
        }
        TexRequest r = {.texture = ids[random_u32(&random) % 4 == 0],
                        .options = &options,
                        .lane_count = n,
                        .lane_mask = n == 16 ? 0xfdff : 1,
                        .depth = i % 11,
                        .coord = coord,
                        .random = values};
        texcache_lookup(&rig.caller, &r, out);
    }
    rig_check_identities(&rig);
    TexStats stats = rig_stats(&rig);
    texcache_thread_destroy(rig.thread);
    rig.thread = NULL;
    Error err = {0};
    if (texcache_trace_end(rig.cache, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    rig_end(&rig);
    return stats;
}

static Walk begin_walk(uint32_t request_count, uint32_t lane_count, TexFilter filter)
{
    Walk how = {.request_count = request_count, .lane_count = lane_count, .filter = filter};
    how.paths[0] = make_texture("walk4.stex", 1024, 4);
    how.paths[1] = make_texture("walk3.stex", 1024, 3);
    return how;
}

static uint64_t chunks_budget(const Walk *how, uint32_t chunks)
{
    return budget_for_chunks(1, chunks,
                             table_bytes_of(how->paths[0]) + table_bytes_of(how->paths[1]));
}

static void test_trace_agrees_with_the_counters(void **state)
{
    SORT_UNUSED(state);
    static const TexFilter filters[] = {TEX_FILTER_ANISO, TEX_FILTER_STOCHASTIC,
                                        TEX_FILTER_TRILINEAR, TEX_FILTER_CATMULL_ROM};
    for (uint32_t i = 0; i < SORT_COUNT_OF(filters); ++i) {
        Walk how = begin_walk(600, 16, filters[i]);
        const char *path = fixture_path("walk.trace");
        TexStats stats = walk(&how, chunks_budget(&how, 40), path);
        TexTraceReader *r = open_trace(path);
        const TexTraceSummary *s = tex_trace_summary(r);
        uint64_t events;
        Error err = {0};
        assert_int_equal(s->tile_count, stats.tile_requests);
        assert_int_equal(s->read_count, stats.loads + stats.constants);
        assert_int_equal(s->budget_bytes, stats.budget_bytes);
        assert_int_equal(read_all(r, &events, &err), STATUS_OK);
        assert_int_equal(events, s->order_count);
        tex_trace_close(r);
    }
}

/* Tracing changes nothing: neither what is looked up nor what is loaded. */
static void test_trace_changes_no_counter(void **state)
{
    SORT_UNUSED(state);
    Walk how = begin_walk(600, 1, TEX_FILTER_CLOSEST);
    TexStats with = walk(&how, chunks_budget(&how, 20), fixture_path("w.trace"));
    TexStats without = walk(&how, chunks_budget(&how, 20), NULL);
    assert_int_equal(with.tile_requests, without.tile_requests);
    assert_memory_equal(with.mip_probes, without.mip_probes, sizeof with.mip_probes);
    assert_int_equal(with.loads, without.loads);
}

static void test_replay_loads_what_the_cache_loads(void **state)
{
    SORT_UNUSED(state);
    /* One tap a lookup, of one tile or a few: nothing is asked ahead whose order is left to chance. */
    Walk how = begin_walk(4000, 1, TEX_FILTER_CLOSEST);
    const char *path = fixture_path("exact.trace");
    TexStats recorded = walk(&how, chunks_budget(&how, 300), path);
    assert_int_equal(recorded.evictions, 0);
    static const uint32_t chunks[] = {1, 2, 3, 7, 16, 40, 90, 300};
    TexReplay replays[SORT_COUNT_OF(chunks)];
    for (uint32_t i = 0; i < SORT_COUNT_OF(chunks); ++i)
        replays[i] = (TexReplay){.budget_bytes = chunks_budget(&how, chunks[i])};
    TexTraceReader *r = open_trace(path);
    Error err = {0};
    if (tex_replay(r, replays, SORT_COUNT_OF(chunks), &err) != STATUS_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < SORT_COUNT_OF(chunks); ++i) {
        TexStats live = walk(&how, replays[i].budget_bytes, NULL);
        if (live.loads != replays[i].loads)
            fail_msg("%u chunks: %d loads live, %d in the replay", chunks[i], (int)live.loads,
                     (int)replays[i].loads);
        assert_int_equal(live.evictions, replays[i].evictions);
        assert_int_equal(live.bytes_loaded, replays[i].bytes_loaded);
        assert_int_equal(live.bytes_unique, replays[i].bytes_unique);
        assert_int_equal(replays[i].unique_loads, recorded.loads);
        assert_true(replays[i].is_workable);
    }
    static TexCurve curve;
    assert_int_equal(tex_replay_best(r, replays, SORT_COUNT_OF(chunks), &err), STATUS_OK);
    assert_int_equal(tex_replay_curve(r, &curve, &err), STATUS_OK);
    for (uint32_t i = 0; i < SORT_COUNT_OF(chunks); ++i) {
        assert_in_range(replays[i].best_loads, replays[i].unique_loads, replays[i].loads);
        assert_true(replays[i].best_loads <=
                    tex_curve_loads(&curve, replays[i].budget_bytes, NULL));
    }
    TexReplay too_small = {.budget_bytes = 1000};
    assert_int_equal(tex_replay(r, &too_small, 1, &err), STATUS_OK);
    assert_false(too_small.is_workable);
    too_small.budget_bytes = too_small.least_bytes;
    assert_int_equal(tex_replay(r, &too_small, 1, &err), STATUS_OK);
    assert_true(too_small.is_workable);
    tex_trace_close(r);
}

/* Batches ask ahead, and reads of one batch may come in another order: nearly the same. */
static void test_replay_of_batches_is_near(void **state)
{
    SORT_UNUSED(state);
    Walk how = begin_walk(2500, 16, TEX_FILTER_ANISO);
    const char *path = fixture_path("near.trace");
    walk(&how, chunks_budget(&how, 300), path);
    static const uint32_t chunks[] = {12, 24, 48};
    TexTraceReader *r = open_trace(path);
    for (uint32_t i = 0; i < SORT_COUNT_OF(chunks); ++i) {
        TexReplay replay = {.budget_bytes = chunks_budget(&how, chunks[i])};
        assert_int_equal(tex_replay(r, &replay, 1, NULL), STATUS_OK);
        double live = (double)walk(&how, replay.budget_bytes, NULL).loads;
        if (!((double)replay.loads > 0.95 * live && (double)replay.loads < 1.05 * live))
            fail_msg("%u chunks: %g loads live, %g in the replay", chunks[i], live,
                     (double)replay.loads);
    }
    tex_trace_close(r);
}

/* --- the best that could be had ------------------------------------------------------------- */

/* Throws out what is wanted last, found by looking at all that comes. */
static uint64_t plain_best(const uint32_t *accesses, uint32_t count, uint32_t capacity)
{
    uint32_t held[64], held_count = 0;
    uint64_t loads = 0;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t at = 0, last = 0, farthest = 0;
        while (at < held_count && held[at] != accesses[i])
            ++at;
        if (at < held_count)
            continue;
        ++loads;
        for (uint32_t k = 0; k < held_count && held_count == capacity; ++k) {
            uint32_t next = i + 1;
            while (next < count && accesses[next] != held[k])
                ++next;
            if (next > farthest) {
                farthest = next;
                last = k;
            }
        }
        held[held_count == capacity ? last : held_count++] = accesses[i];
    }
    return loads;
}

static void test_optimal_loads_agree_with_a_plain_search(void **state)
{
    SORT_UNUSED(state);
    enum { KINDS = 40, COUNT = 2000, BYTES = 4096 };
    uint32_t size_bytes[KINDS], accesses[COUNT];
    uint64_t random = 3, loads;
    OptimalLoads *best;
    for (uint32_t i = 0; i < KINDS; ++i)
        size_bytes[i] = BYTES;
    assert_int_equal(optimal_loads_create(size_bytes, KINDS, &best, NULL), STATUS_OK);
    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t r = random_u32(&random);
        accesses[i] = i < COUNT / 2 ? i % KINDS : (r % KINDS) * (r >> 16) / 65536u;
        assert_int_equal(optimal_loads_access(best, accesses[i], NULL), STATUS_OK);
    }
    for (uint32_t capacity = 1; capacity <= KINDS; capacity += 3) {
        assert_int_equal(optimal_loads_count(best, (uint64_t)capacity * BYTES, &loads, NULL),
                         STATUS_OK);
        assert_int_equal(loads, plain_best(accesses, COUNT, capacity));
    }
    optimal_loads_destroy(best);
}

/* --- the curve ------------------------------------------------------------------------------ */

enum { ITEMS = 700, ACCESSES = 30000 };

/* A plain list, the last used in front. */
static uint64_t plain_distance(uint32_t *list, uint32_t *count, const uint32_t *bytes,
                               uint32_t item)
{
    uint64_t sum = 0, result = STACK_DISTANCE_FIRST;
    uint32_t at = 0;
    while (at < *count && list[at] != item)
        sum += bytes[list[at++]];
    if (at < *count)
        result = sum + bytes[item];
    else
        ++*count;
    memmove(list + 1, list, at * sizeof *list);
    list[0] = item;
    return result;
}

static void test_stack_distances_are_those_of_a_list(void **state)
{
    SORT_UNUSED(state);
    static uint32_t list[ITEMS], bytes[ITEMS];
    uint32_t count = 0;
    uint64_t random = 17;
    StackDistance d;
    assert_int_equal(stack_distance_init(&d, ITEMS, NULL), STATUS_OK);
    for (uint32_t i = 0; i < ITEMS; ++i)
        bytes[i] = 4096 * (1 + random_u32(&random) % 4);
    for (uint32_t i = 0; i < ACCESSES; ++i) {
        uint32_t r = random_u32(&random);
        uint32_t item = r % 3 == 0 ? (r >> 4) % ITEMS : (r >> 4) % 40; /* some are hot */
        uint64_t distance;
        assert_int_equal(stack_distance_access(&d, item, bytes[item], &distance, NULL), STATUS_OK);
        assert_int_equal(distance, plain_distance(list, &count, bytes, item));
    }
    stack_distance_destroy(&d);
}

static void test_stack_distance_memory_grows_with_items(void **state)
{
    SORT_UNUSED(state);
    enum { MANY = 20000 };
    StackDistance d;
    uint64_t distance;
    assert_int_equal(stack_distance_init(&d, MANY, NULL), STATUS_OK);
    for (uint32_t round = 0; round < 3; ++round) {
        for (uint32_t i = 0; i < MANY; ++i) {
            assert_int_equal(stack_distance_access(&d, i, 4096, &distance, NULL), STATUS_OK);
            assert_int_equal(distance, round ? (uint64_t)MANY * 4096 : STACK_DISTANCE_FIRST);
        }
    }
    assert_true(d.capacity <= 4 * MANY);
    stack_distance_destroy(&d);
}

static void test_curve_counts_what_a_lru_cache_would_load(void **state)
{
    SORT_UNUSED(state);
    Walk how = begin_walk(3000, 1, TEX_FILTER_CLOSEST);
    const char *path = fixture_path("curve.trace");
    TexStats recorded = walk(&how, chunks_budget(&how, 300), path);
    TexTraceReader *r = open_trace(path);
    static TexCurve curve;
    assert_int_equal(tex_replay_curve(r, &curve, NULL), STATUS_OK);
    assert_int_equal(curve.unique_loads, recorded.loads);
    assert_int_equal(curve.bytes_unique, recorded.bytes_unique);
    uint64_t bytes, last = UINT64_MAX;
    assert_int_equal(tex_curve_loads(&curve, 1u << 30, &bytes), recorded.loads);
    assert_int_equal(bytes, recorded.bytes_unique);
    for (uint64_t budget = curve.overhead_bytes; budget < 20 << 20; budget += 1 << 18) {
        uint64_t loads = tex_curve_loads(&curve, budget, NULL);
        assert_true(loads <= last);
        last = loads;
    }
    assert_int_equal(tex_curve_loads(&curve, 0, NULL), curve.unique_loads + curve.reuses);
    uint64_t enough = tex_curve_budget_for(&curve, 1.5);
    assert_true((double)tex_curve_loads(&curve, enough, NULL) <= 1.5 * (double)curve.unique_loads);
    assert_true((double)tex_curve_loads(&curve, enough - enough / 20, NULL) >
                1.5 * (double)curve.unique_loads);
    /* The cache is no worse than LRU by more than a fifth, on this walk. */
    for (uint32_t chunks = 20; chunks <= 80; chunks += 20) {
        TexReplay replay = {.budget_bytes = chunks_budget(&how, chunks)};
        assert_int_equal(tex_replay(r, &replay, 1, NULL), STATUS_OK);
        double lru = (double)tex_curve_loads(&curve, replay.budget_bytes, NULL);
        if (!((double)replay.loads < 1.2 * lru && (double)replay.loads > 0.8 * lru))
            fail_msg("%u chunks: %g by the cache, %g by the curve", chunks, (double)replay.loads,
                     lru);
    }
    tex_trace_close(r);
}

/* --- made-up traces ------------------------------------------------------------------------- */

enum { MADE_TILES = 4000, MADE_USES = 60000, MADE_TEXTURES = 3 };

/* Which tile is used at time i; random: anew for each use. Numbers beyond MADE_TILES wrap. */
typedef uint32_t (*MadeTrace)(uint32_t i, uint64_t *random);

/* Zipf's popularity with exponent 1: rank r with a probability of about 1 / r. */
static uint32_t made_zipf(uint32_t i, uint64_t *random)
{
    SORT_UNUSED(i);
    double u = random_u32(random) * 0x1p-32;
    return (uint32_t)pow((double)MADE_TILES, u) - 1;
}

/* What is used is another tenth of the tiles now and then. */
static uint32_t made_phases(uint32_t i, uint64_t *random)
{
    uint32_t phase = i / (MADE_USES / 12);
    return phase * 331 + random_u32(random) % (MADE_TILES / 10);
}

/* All tiles once, beside a set that is used all the time. */
static uint32_t made_scan_and_hot(uint32_t i, uint64_t *random)
{
    return i % 3 == 0 ? 400 + i / 3 % (MADE_TILES - 400) : random_u32(random) % 400;
}

static uint32_t made_cycle(uint32_t i, uint64_t *random)
{
    SORT_UNUSED(random);
    return i % 1500;
}

/* Waves at eight places that move on, each with neighbours, as a render looks. */
static uint32_t made_waves(uint32_t i, uint64_t *random)
{
    uint32_t place = random_u32(random) % 8;
    return place * 500 + i / 200 + random_u32(random) % 40;
}

/* Halves of all above, in turns. */
static uint32_t made_mixture(uint32_t i, uint64_t *random)
{
    switch (i / (MADE_USES / 8) % 4) {
    case 0:
        return made_cycle(i, random);
    case 1:
        return made_zipf(i, random);
    case 2:
        return made_waves(i, random);
    default:
        return made_scan_and_hot(i, random);
    }
}

static uint32_t made_uniform(uint32_t i, uint64_t *random)
{
    SORT_UNUSED(i);
    return random_u32(random) % MADE_TILES;
}

/* A texture of 64 x 64 tiles and the levels below. */
static TraceTexture made_texture(uint32_t tile_bytes)
{
    TraceTexture t = {.tile_bytes = tile_bytes, .level_count = 8};
    for (uint32_t i = 0; i < 7; ++i) {
        uint32_t side = 64u >> i;
        t.levels[i] = (TexTraceLevel){64 * side, 64 * side, side, side, t.tile_count};
        t.tile_count += side * side;
    }
    t.levels[7] = (TexTraceLevel){32, 32, 0, 0, 0};
    return t;
}

/* Writes it. Tiles have one size, or three: a third of the tiles has each. Each is used in a burst, as lookups do. */
static void write_made(const char *path, MadeTrace made, bool is_mixed, uint64_t seed)
{
    static const uint32_t bytes[MADE_TEXTURES] = {16384, 4096, 12288};
    TraceWriter *w;
    uint64_t random = seed;
    assert_int_equal(trace_writer_begin(path, 1 << 20, 1, &w, NULL), STATUS_OK);
    for (uint32_t i = 0; i < MADE_TEXTURES; ++i) {
        TraceTexture t = made_texture(bytes[i]);
        trace_write_texture(w, trace_number_texture(w), &t, "made.stex");
    }
    TraceStream *stream = trace_stream_create(w);
    assert_non_null(stream);
    for (uint32_t i = 0; i < MADE_USES; ++i) {
        uint32_t tile = made(i, &random) % MADE_TILES;
        const uint32_t taps = 40;
        trace_add_request(stream, is_mixed ? tile % MADE_TEXTURES : 0, 0, false, &tile, &taps, 1);
    }
    trace_stream_destroy(stream);
    assert_int_equal(trace_writer_end(w, 1000, NULL), STATUS_OK);
}

/* Whatever is looked up in whatever order, no more is loaded than by a least-recently-used cache and a tenth, and no less than
 * by one that knows the future. */
static void test_replay_is_never_far_worse_than_lru(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        const char *name;
        MadeTrace made;
    } traces[] = {
        {"zipf", made_zipf},      {"phases", made_phases}, {"scan and hot", made_scan_and_hot},
        {"cycle", made_cycle},    {"waves", made_waves},   {"mixture", made_mixture},
        {"uniform", made_uniform}};
    static const double parts[] = {0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 0.95};
    static TexCurve curve;
    const char *path = fixture_path("made.trace");
    Error err = {0};
    for (uint32_t i = 0; i < SORT_COUNT_OF(traces); ++i) {
        for (uint32_t is_mixed = 0; is_mixed < 2; ++is_mixed) {
            TexReplay replays[SORT_COUNT_OF(parts)] = {0};
            write_made(path, traces[i].made, is_mixed, 7 + i);
            TexTraceReader *r = open_trace(path);
            assert_int_equal(tex_replay_curve(r, &curve, &err), STATUS_OK);
            for (uint32_t k = 0; k < SORT_COUNT_OF(parts); ++k)
                replays[k].budget_bytes =
                    curve.overhead_bytes + (uint64_t)(parts[k] * (double)curve.bytes_unique);
            assert_int_equal(tex_replay(r, replays, SORT_COUNT_OF(parts), &err), STATUS_OK);
            assert_int_equal(tex_replay_best(r, replays, SORT_COUNT_OF(parts), &err), STATUS_OK);
            for (uint32_t k = 0; k < SORT_COUNT_OF(parts); ++k) {
                double lru = (double)tex_curve_loads(&curve, replays[k].budget_bytes, NULL);
                double loads = (double)replays[k].loads, best = (double)replays[k].best_loads;
                if (!(loads <= 1.1 * lru) || !(best <= loads))
                    fail_msg("%s, %s, a memory of %g: %g loads, LRU %g, at best %g", traces[i].name,
                             is_mixed ? "three sizes" : "one size", parts[k], loads, lru, best);
            }
            tex_trace_close(r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_comes_back_in_order),
        cmocka_unit_test(test_trace_tells_that_it_could_not_be_written),
        cmocka_unit_test(test_trace_refuses_every_changed_byte_and_every_cut),
        cmocka_unit_test(test_trace_survives_wrong_content),
        cmocka_unit_test(test_trace_agrees_with_the_counters),
        cmocka_unit_test(test_trace_changes_no_counter),
        cmocka_unit_test(test_replay_loads_what_the_cache_loads),
        cmocka_unit_test(test_replay_of_batches_is_near),
        cmocka_unit_test(test_optimal_loads_agree_with_a_plain_search),
        cmocka_unit_test(test_stack_distances_are_those_of_a_list),
        cmocka_unit_test(test_stack_distance_memory_grows_with_items),
        cmocka_unit_test(test_replay_is_never_far_worse_than_lru),
        cmocka_unit_test(test_curve_counts_what_a_lru_cache_would_load),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
