/* What a TexCache is inside: shared by the files of this folder, seen by nobody else.
 *
 *   TexId -> Texture -> entries[tile]   one atomic word a tile, its state:
 *
 *              request                I/O thread                     eviction
 *     EMPTY ------------> QUEUED ------------------> READY(slot) ----------------> EMPTY
 *                            |---------------------> CONSTANT(colour)
 *                            |---------------------> FAILED(fault, when, rounds)
 *                            ^------------------------| storage may work again: asked for anew, later
 *
 * Readers load the word and, if it says READY, read the slot's memory, inside an epoch (epoch.h).
 * A table of words takes the place of a hash table: a hit is one dependent load and needs no lock.
 *
 * Every change of an entry, the queue, the slab pool or the accounts happens under `lock`, which is
 * never held during I/O, decompression, logging or a wait. No thread holds `lock` and the lock of
 * the descriptor pool at the same time.
 *
 * Progress: a caller waits for one tile at a time and holds nothing meanwhile. A tile that was
 * loaded for waiters is pinned until each of them has copied its texels, which needs no other
 * memory. I/O threads take slots in the order in which they came for them and hold one each. So one
 * slot is enough for everything to finish. */
#ifndef SORT_TEXTURES_CACHE_TEXCACHE_STATE_H
#define SORT_TEXTURES_CACHE_TEXCACHE_STATE_H

#include "base/thread.h"
#include "textures/cache/descriptors.h"
#include "textures/cache/epoch.h"
#include "textures/cache/slab.h"
#include "textures/cache/tap_list.h"
#include "textures/cache/tex_index.h"
#include "textures/convert/decoded_source.h"
#include "textures/format/read_run.h"
#include "textures/format/texel.h"
#include "textures/trace/trace_write.h"

enum EntryTag { ENTRY_EMPTY, ENTRY_QUEUED, ENTRY_READY, ENTRY_CONSTANT, ENTRY_FAILED };
/* The payload depends on the tag. EMPTY: the time of the tile's last use in loads, 0 if it was never resident;
 * QUEUED: the request; READY: the slot; CONSTANT: the index of the colour; FAILED: a packed TileFailed. */
static inline uint32_t entry_make(enum EntryTag tag, uint32_t payload)
{
    return payload << 3 | (uint32_t)tag;
}
static inline enum EntryTag entry_tag(uint32_t entry)
{
    return (enum EntryTag)(entry & 7u);
}
static inline uint32_t entry_payload(uint32_t entry)
{
    return entry >> 3;
}

/* Why a tile could not be loaded, and when its read may be tried again. */
typedef struct TileFailed {
    TileFault fault;
    bool was_loaded;
    uint32_t rounds; /* rounds of tries so far; 0 if the failure is final */
    uint32_t when;   /* when the next round may begin, in ticks that wrap around */
} TileFailed;
enum {
    FAILED_ROUNDS_MAX = 15,
    FAILED_TICK_SHIFT = 24, /* a tick is 2^24 ns, 17 ms */
    FAILED_TICK_MASK = (1 << 20) - 1
};
static inline uint32_t entry_make_failed(TileFailed f)
{
    return entry_make(ENTRY_FAILED, (uint32_t)f.fault | (uint32_t)f.was_loaded << 4 |
                                        f.rounds << 5 | (f.when & FAILED_TICK_MASK) << 9);
}
static inline TileFailed entry_failed(uint32_t entry)
{
    uint32_t payload = entry_payload(entry);
    return (TileFailed){.fault = (TileFault)(payload & 15u),
                        .was_loaded = (payload >> 4 & 1u) != 0,
                        .rounds = payload >> 5 & 15u,
                        .when = payload >> 9};
}

typedef struct TileEntry {
    _Atomic uint32_t word;
} TileEntry;

/* The place of a level's texels. A small level shares a tile with others; tile_log2_x and tile_log2_y then
 * cover the whole level. */
typedef struct TexLevel {
    uint32_t width, height;
    uint32_t tiles_x;
    uint32_t first_tile;
    uint32_t offset, row_texels;      /* offset and row pitch within a tile, in texels */
    uint8_t tile_log2_x, tile_log2_y; /* 31: the tile covers the whole level */
} TexLevel;

/* The textures of a UDIM set's files; an id of 0 means that there is no such file. */
typedef struct UdimSet {
    TexId ids[TEX_UDIM_COUNT];
    uint32_t first;
    _Atomic bool has_reported[TEX_UDIM_COUNT]; /* whether the absence of a file has been reported */
    _Atomic bool has_reported_outside;
} UdimSet;

/* Costs of reads, and the lookups of threads that have been destroyed. */
typedef struct TextureCounters {
    uint64_t lookups, loads, unique_loads, constants, failed_tiles, read_ns;
    uint64_t bytes_loaded, bytes_unique;
} TextureCounters;

enum { TEXTURE_TAILS_MAX = 2 };

typedef struct Texture {
    /* Lookups read the fields below, which are constant while the texture is open. */
    TileEntry *entries; /* owned; one a tile */
    TexLevel *levels;   /* in the same block, behind the entries */
    UdimSet *udim;      /* owned; NULL for a single file; a set has no levels and no tiles */
    TexelLoadQuad load_quad;
    TexelBlendTaps blend_taps;
    uint32_t texel_bytes;
    uint32_t level_count;
    TexWrap wrap_s, wrap_t;
    uint32_t generation;
    /* Lookups do not read the fields below. */
    uint32_t index;
    TexelFormat format;
    char *path; /* owned */
    char *name; /* owned; the name in statistics */
    /* nodes of the cache's indices, inserted while there are references */
    TexIndexNode by_name, by_picture;
    bool has_picture; /* by_picture is inserted */
    StexBrief header;
    uint32_t tile_bytes; /* bytes of one tile of the file in memory */
    /* number of tiles that hold small levels; they are numbered after the tiles of the file */
    uint32_t tail_count;
    uint32_t tail_bytes[TEXTURE_TAILS_MAX]; /* bytes of each of those tiles */
    Descriptor descriptor;                  /* used for .stex files */
    bool is_decoded;                        /* tiles come from a decoder process */
    SortColorSpace wanted_color_space;
    bool (*remake)(void *data, const char *path); /* see TexOpenDesc */
    void *remake_data;
    StexStamp decoded_stamp;
    uint64_t bytes;              /* in the accounts */
    uint32_t refs, queued_count; /* lock */
    _Atomic uint32_t failures_logged;
    _Atomic bool has_logged_retry;
    uint32_t trace_number;    /* number in the trace, if one is recorded */
    TextureCounters counters; /* lock */
    _Atomic uint64_t waits, wait_ns;
} Texture;

/* A tile that has been requested and is not loaded yet. */
typedef struct TileRequest {
    Texture *texture;
    uint32_t tile;
    uint32_t waiter_count;
    TexCaller *waiters;
    uint32_t next;     /* next in the queue or in the free list */
    uint32_t rounds;   /* rounds of tries that have failed */
    uint32_t last_use; /* the payload of an EMPTY entry */
} TileRequest;

enum {
    REQUEST_COUNT = 1024,
    /* reserved for callers that wait; requests ahead do not use them */
    REQUEST_RESERVE = REQUEST_COUNT / 4,
    /* requests that are sorted together; a request is overtaken by at most this many */
    IO_BATCH_MAX = 64,
    /* distinct colours of constant tiles; tiles of further colours get slots */
    CONSTANT_COUNT = 1024,
    TEXTURE_BLOCK = 256, /* textures in one block of the directory */
    TEXTURE_BLOCK_COUNT = 1024,
    IO_STACK_BYTES = 256 * 1024
};
#define NO_REQUEST UINT32_MAX

/* Counters of one thread, which alone writes them; any thread may read them. */
typedef struct ThreadCounters {
    _Atomic uint64_t lookups, bad_lookups, missing, probes;
    _Atomic uint64_t tile_requests, tile_hits, tile_misses;
    _Atomic uint64_t reads_awaited, reads_ahead, coalesced, failed_fast, waits, wait_ns;
    _Atomic uint64_t mip_probes[TEX_DEPTH_BUCKETS][TEX_MAX_LEVELS];
    _Atomic uint64_t wait_latency[TEX_LATENCY_BUCKETS];
} ThreadCounters;

/* Lookups of one thread by texture; the places match those of TextureBlock. */
typedef struct LookupBlock {
    _Atomic uint64_t counts[TEXTURE_BLOCK];
} LookupBlock;

static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + n, memory_order_relaxed);
}

struct TexThread {
    EpochReader epoch;
    TexCache *cache;        /* borrowed */
    struct TexThread *next; /* guarded by the lock; links all threads */
    TraceStream *trace;     /* owned; NULL if no trace is recorded */
    ThreadCounters counters;
    LookupBlock *lookups[TEXTURE_BLOCK_COUNT]; /* owned; one for each block of the directory */
    TapList taps;                              /* of the last lookup; fibers share it */
};

static inline _Atomic uint64_t *cache_lookup_counter(const TexThread *t, const Texture *texture)
{
    return &t->lookups[texture->index / TEXTURE_BLOCK]->counts[texture->index % TEXTURE_BLOCK];
}

typedef struct IoThread {
    TexCache *cache; /* borrowed */
    Thread *thread;
    StexInflater *inflater; /* owned */
    ReadRun run;            /* tiles that were read together with the one before */
} IoThread;

/* Results of reads; guarded by the lock. */
typedef struct LoadCounters {
    uint64_t loads, constants, failed_tiles;
    uint64_t retries, recovered_tiles, reads_merged;
    uint64_t bytes_read, bytes_loaded, bytes_unique, read_ns;
    uint64_t read_latency[TEX_LATENCY_BUCKETS];
} LoadCounters;

typedef struct TextureBlock {
    _Atomic(Texture *) textures[TEXTURE_BLOCK];
} TextureBlock;

struct TexCache {
    /* Lookups read the fields below. */
    SlabPool slabs;
    EpochSet epochs;
    TexelTables texels;
    float (*constants)[4]; /* owned; an index once published never changes */
    _Atomic(TextureBlock *) blocks[TEXTURE_BLOCK_COUNT];

    Mutex lock;
    Cond work;               /* signalled by tile_wake_reader, or at the end */
    uint32_t readers_idle;   /* I/O threads that sleep on `work`, but for those that were woken */
    uint32_t readers_waking; /* that were woken and do not run yet */
    /* signalled when pins, slots, readers, queued_count or turns have changed */
    Cond changed;
    _Atomic uint32_t sleepers; /* threads that wait for `changed` for another reason than readers */

    TileRequest *requests; /* owned */
    uint32_t free_requests, free_request_count;
    uint32_t queue_first, queue_last;
    /* requests taken from the queue and sorted by position in storage; they are served before more are taken */
    uint32_t batch_first;
    /* callers that found no free request */
    TexCaller *request_waiters_first, *request_waiters_last;
    uint64_t turn_next, turn_served; /* I/O threads take slots in turn */
    uint32_t constant_count;
    uint32_t generation;            /* generation of the texture opened last */
    uint32_t first_free;            /* every earlier place of the directory is taken */
    TexIndexNode *names, *pictures; /* indices of open textures */
    bool is_stopping;

    IoThread *io_threads; /* owned */
    uint32_t io_thread_count, io_threads_running;
    uint32_t read_delay_us;
    DescriptorPool descriptors;
    DecodePool decoders;
    const Log *log; /* borrowed */

    uint64_t budget_bytes, fixed_bytes, peak_bytes;
    uint64_t table_bytes; /* in the accounts */
    uint64_t table_peak_bytes;
    /* textures that were refused, and the bytes of their tables */
    uint64_t refused_bytes, refused_textures;
    /* what would have held everything when one was refused last: threads that were there then may be gone */
    uint64_t refused_least_bytes;
    /* refused tables and those that wait for room: chunks leave this much free */
    uint64_t promised_bytes;
    LoadCounters loads;
    TexThread *threads;
    ThreadCounters retired; /* counters of threads that have been destroyed */
    TraceWriter *trace;     /* owned; NULL if none is recorded */
    uint32_t trace_users;   /* number of I/O threads that are recording a read in the trace */
};

/* --- tex_cache.c -------------------------------------------------------------------------- */

/* The division of a budget, given the bytes of tables. */
typedef struct ChunkBudget {
    uint32_t chunk_max; /* chunks that would fit without any tables */
    /* chunks that fit beside the tables; 0 if the budget is below least_bytes */
    uint32_t chunk_limit;
    uint64_t fixed_bytes, least_bytes;
} ChunkBudget;
ChunkBudget cache_chunk_budget(uint64_t budget_bytes, uint32_t io_thread_count,
                               uint64_t table_bytes);

/* Makes `bytes` of the budget available for tables, evicting chunks if necessary, and counts them. The caller
 * holds the lock, which may be dropped meanwhile. `path` names the texture in messages; NULL for a thread.
 * Errors: STATUS_LIMIT if the tables do not fit beside one chunk. */
Status cache_reserve_tables(TexCache *c, uint64_t bytes, const char *path, Error *err);
void cache_release_tables(TexCache *c, uint64_t bytes);
/* Waits until readers that entered up to `tag` have left. The caller holds the lock. */
void cache_wait_for_readers(TexCache *c, uint64_t tag);
/* Updates the peak of memory use. The caller holds the lock. */
void cache_note_peak(TexCache *c);
/* Waits until `changed` is signalled, or for a moment: a thread that signals reads `sleepers` without the lock
 * and may miss a waiting thread. The caller holds the lock. */
void cache_sleep(TexCache *c);
/* Wakes the threads that wait for `changed`. Takes the lock. */
void cache_wake_sleepers(TexCache *c);

/* --- tile_table.c ------------------------------------------------------------------------- */

typedef enum TileJoin {
    TILE_RESOLVED, /* *out_entry is READY with a pin of the caller's, CONSTANT or FAILED */
    TILE_JOINED,   /* the caller waits, then calls tile_resolve() */
    TILE_NO_ROOM   /* the caller waits, then calls tile_join() again */
} TileJoin;

/* Requests a tile that the caller needs. If the result is TILE_JOINED or TILE_NO_ROOM, the caller's waiter has
 * been armed once. */
TileJoin tile_join(TexCaller *caller, Texture *texture, uint32_t tile, uint32_t *out_entry);
/* Returns the tile's entry after the wait: READY with a pin, CONSTANT or FAILED. */
uint32_t tile_resolve(const Texture *texture, uint32_t tile);
/* Drops the caller's pin on the slot of a READY tile. */
void tile_unpin(TexCache *c, uint32_t slot);
/* Requests tiles that will be needed soon. Tiles for which there is no room now are left out. */
void tile_request_ahead(TexThread *thread, Texture *texture, const uint32_t *tiles, uint32_t count);

/* Returns how many tiles of that size may be requested without a waiter at a time. Loading more than memory can
 * hold would evict what was just loaded. */
uint32_t cache_ahead_limit(const SlabPool *slabs, uint32_t tile_bytes);

/* Wakes an I/O thread for a request, unless one that was woken is still on its way: that one takes the request, or wakes the next
 * thread when it leaves requests behind. So a thread that is quicker than the next one's wake takes all. The caller holds the lock. */
void tile_wake_reader(TexCache *c);

/* The calls below are made by I/O threads, under the lock. */
/* Takes the next request of the batch, ordered by file and position, together with the requests for the tiles
 * adjacent to it. Returns their number; 0 if there are no requests. */
uint32_t tile_queue_pop(TexCache *c, uint32_t out_requests[RUN_TILES_MAX]);
/* Publishes a tile's new entry; for READY the slot is published with a pin for each waiter. Frees the request
 * and returns the list of waiters, which the caller fires without the lock. */
TexCaller *tile_publish(TexCache *c, uint32_t request, uint32_t entry);
void tile_fire(TexCaller *waiters);
/* Implements SlabPool.unlink. The caller holds the lock. */
void tile_unlink(void *cache, uint32_t texture, uint32_t tile, uint32_t last_use);

/* --- tile_io.c ---------------------------------------------------------------------------- */

void tile_io_run(void *io_thread); /* the body of an I/O thread */

/* --- tex_record.c ------------------------------------------------------------------------- */

/* Record a request in the thread's trace, and a texture in the cache's. */
void cache_record_request(TexThread *thread, Texture *texture, const TexRequest *r);
void cache_record_texture(TexCache *c, const Texture *texture);

/* --- tex_stats.c -------------------------------------------------------------------------- */

void cache_counters_add(ThreadCounters *to, const ThreadCounters *from);
/* Returns the bucket of TexStats.read_latency and wait_latency for a duration. */
uint32_t cache_latency_bucket(uint64_t duration_ns);

/* --- tex_by_texture.c; all under the lock ------------------------------------------------- */

/* Allocate counters: for one thread and all textures of the directory, or for all threads and one block of the
 * directory. They may drop the lock meanwhile. `path` is as for cache_reserve_tables(). */
Status cache_give_counters(TexCache *c, TexThread *t, const char *path, Error *err);
Status cache_give_counters_to_all(TexCache *c, const Texture *texture, uint32_t block, Error *err);
/* Adds a thread's counters to the retired ones and frees them. */
void cache_take_counters(TexCache *c, TexThread *t);
/* Clears the counters of a texture's place, which becomes free for another texture. */
void cache_forget_counters(TexCache *c, const Texture *texture);

/* --- tex_udim.c --------------------------------------------------------------------------- */

/* Opens all files of a set. The caller has zeroed *out_set and calls udim_close() on failure, too. */
Status udim_open(TexCache *c, const TexOpenDesc *set, UdimSet *out_set, Error *err);
void udim_close(TexCache *c, const UdimSet *set);
/* Implement texcache_lookup and texcache_touch for a set. With only_if_many, udim_touch() does nothing if all
 * lanes lie in one file. */
uint32_t udim_lookup(TexCaller *caller, const TexRequest *r, const Texture *texture,
                     float *out_result);
void udim_touch(TexCaller *caller, const TexRequest *r, const Texture *texture, bool only_if_many);

/* Returns the file of a set that contains a place, and the coordinates within it; {0} if there is none. */
TexId udim_place(const UdimSet *set, float s, float t, float *out_s, float *out_t);

/* --- tex_open.c --------------------------------------------------------------------------- */

/* Describes a texture whose tiles come from a decoder process to the functions that read them. The result
 * borrows the header. */
DecodedFile texture_decoded_file(TexCache *c, const Texture *texture, const StexHeader *header);
/* Returns the bytes that an open texture takes of the budget. path_bytes and name_bytes include the terminating
 * NULs. */
uint64_t texture_table_bytes(const StexHeader *h, size_t path_bytes, size_t name_bytes);
/* Divides the small levels of a file into tiles: the smaller ones share a tile, and the largest has one of its
 * own if they do not fit together. Returns the number of tiles. out_first receives the first level of each
 * tile, and the end. */
uint32_t texture_tail_tiles(const StexHeader *h, uint32_t out_first[TEXTURE_TAILS_MAX + 1]);

static inline uint32_t texture_tile_count(const Texture *t)
{
    return (uint32_t)t->header.tile_count + t->tail_count;
}
static inline bool texture_is_tail(const Texture *t, uint32_t tile)
{
    return tile >= t->header.tile_count;
}
/* Returns the bytes of one tile in memory. */
static inline uint32_t texture_tile_bytes(const Texture *t, uint32_t tile)
{
    return texture_is_tail(t, tile) ? t->tail_bytes[tile - t->header.tile_count] : t->tile_bytes;
}
/* Returns NULL if there is no such texture. Any thread may call. */
Texture *texture_of(const TexCache *c, TexId id);
Texture *texture_at(const TexCache *c, uint32_t index);
void texture_destroy_all(TexCache *c); /* no TexThread or I/O thread is left */

#endif
