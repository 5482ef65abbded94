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
 * A table of words replaces hashing: a hit is one dependent load, and there is nothing to lock.
 *
 * Everything that changes a word, the queue, the slab pool or the accounts happens under `lock`,
 * which is never held over I/O, decompression, logging or a wait of a caller. Lock order: `lock`,
 * or the descriptor pool's, never both.
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
#include "textures/cache/tex_index.h"
#include "textures/convert/decoded_source.h"
#include "textures/format/read_run.h"
#include "textures/format/texel.h"
#include "textures/trace/trace_write.h"

enum EntryTag { ENTRY_EMPTY, ENTRY_QUEUED, ENTRY_READY, ENTRY_CONSTANT, ENTRY_FAILED };
/* Payloads: EMPTY: when the tile was used last, in loads, 0 if it never was here; QUEUED: request; READY: slot; CONSTANT: index of
 * the colour; FAILED: TileFailed. */
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

/* Why a tile is not there, and when it is worth asking storage again. */
typedef struct TileFailed {
    TileFault fault;
    bool was_loaded;
    uint32_t rounds; /* of tries so far; 0: there is no use in more */
    uint32_t when;   /* the next round, in ticks that wrap around */
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

/* Where the texels of a level are. A small level lies in a tile with others: its own tile, then, is larger than it. */
typedef struct TexLevel {
    uint32_t width, height;
    uint32_t tiles_x;
    uint32_t first_tile;
    uint32_t offset, row_bytes;       /* within a tile */
    uint8_t tile_log2_x, tile_log2_y; /* 31: all of the level */
} TexLevel;

/* The textures of a UDIM set's files; 0: no such file. */
typedef struct UdimSet {
    TexId ids[TEX_UDIM_COUNT];
    uint32_t first;
    _Atomic bool has_reported[TEX_UDIM_COUNT]; /* that a file is not there */
    _Atomic bool has_reported_outside;
} UdimSet;

/* What reading cost; and the lookups of threads that are gone. */
typedef struct TextureCounters {
    uint64_t lookups, loads, unique_loads, constants, failed_tiles, read_ns;
    uint64_t bytes_loaded, bytes_unique;
} TextureCounters;

enum { TEXTURE_TAILS_MAX = 2 };

typedef struct Texture {
    /* What lookups read; constant while open. */
    TileEntry *entries; /* owned; one a tile */
    TexLevel *levels;   /* in the same block, behind the entries */
    UdimSet *udim;      /* owned; NULL: a file of its own; else there are no levels and no tiles */
    TexelLoadQuad load_quad;
    TexelBlendQuad blend_quad;
    uint32_t texel_bytes;
    uint32_t level_count;
    TexWrap wrap_s, wrap_t;
    uint32_t generation;
    /* The rest. */
    uint32_t index;
    TexelFormat format;
    char *path;                       /* owned */
    char *name;                       /* owned; in statistics */
    TexIndexNode by_name, by_picture; /* in the cache's indices while there are references */
    bool has_picture;                 /* it is in that of pictures */
    StexBrief header;
    uint32_t tile_bytes; /* of tiles of the file */
    uint32_t tail_count; /* of tiles that hold small levels; numbered behind those of the file */
    uint32_t tail_bytes[TEXTURE_TAILS_MAX]; /* of each */
    Descriptor descriptor;                  /* of a .stex file */
    bool is_decoded;                        /* tiles come from a decoder process */
    SortColorSpace wanted_color_space;
    bool (*remake)(void *data, const char *path); /* TexOpenDesc */
    void *remake_data;
    StexStamp decoded_stamp;
    uint64_t bytes;              /* in the accounts */
    uint32_t refs, queued_count; /* lock */
    _Atomic uint32_t failures_logged;
    _Atomic bool has_logged_retry;
    uint32_t trace_number;    /* when a trace is recorded */
    TextureCounters counters; /* lock */
    _Atomic uint64_t waits, wait_ns;
} Texture;

/* A tile that has been asked for and is not there yet. */
typedef struct TileRequest {
    Texture *texture;
    uint32_t tile;
    uint32_t waiter_count;
    TexCaller *waiters;
    uint32_t next;     /* in the queue or the free list */
    uint32_t rounds;   /* of tries that have failed */
    uint32_t last_use; /* as an EMPTY entry has it */
} TileRequest;

enum {
    REQUEST_COUNT = 1024,
    REQUEST_RESERVE = REQUEST_COUNT / 4, /* left for those who wait, when others ask ahead */
    IO_BATCH_MAX = 64,                   /* requests sorted together: nobody is overtaken by more */
    CONSTANT_COUNT = 1024,               /* different colours of constant tiles; more get slots */
    TEXTURE_BLOCK = 256,                 /* textures in a block of the directory */
    TEXTURE_BLOCK_COUNT = 1024,
    IO_STACK_BYTES = 256 * 1024
};
#define NO_REQUEST UINT32_MAX

/* Counters of one thread: written by it alone, read by anyone. */
typedef struct ThreadCounters {
    _Atomic uint64_t lookups, bad_lookups, missing, probes;
    _Atomic uint64_t tile_requests, tile_hits, tile_misses;
    _Atomic uint64_t reads_awaited, reads_ahead, coalesced, failed_fast, waits, wait_ns;
    _Atomic uint64_t mip_probes[TEX_DEPTH_BUCKETS][TEX_MAX_LEVELS];
    _Atomic uint64_t wait_latency[TEX_LATENCY_BUCKETS];
} ThreadCounters;

/* Lookups of one thread, by texture, as TextureBlock. */
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
    struct TexThread *next; /* lock; of all threads */
    TraceStream *trace;     /* owned; NULL: no trace is recorded */
    ThreadCounters counters;
    LookupBlock *lookups[TEXTURE_BLOCK_COUNT]; /* owned; one for each block of the directory */
};

static inline _Atomic uint64_t *cache_lookup_counter(const TexThread *t, const Texture *texture)
{
    return &t->lookups[texture->index / TEXTURE_BLOCK]->counts[texture->index % TEXTURE_BLOCK];
}

typedef struct IoThread {
    TexCache *cache; /* borrowed */
    Thread *thread;
    StexInflater *inflater; /* owned */
    ReadRun run;            /* what was read with the tile before */
} IoThread;

/* What loading did; under the lock. */
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
    /* Read by lookups. */
    SlabPool slabs;
    EpochSet epochs;
    TexelTables texels;
    float (*constants)[4]; /* owned; an index once published never changes */
    _Atomic(TextureBlock *) blocks[TEXTURE_BLOCK_COUNT];

    Mutex lock;
    Cond work;                 /* the queue has grown, or it is time to stop */
    Cond changed;              /* pins, slots, readers, queued_count or turns have changed */
    _Atomic uint32_t sleepers; /* on `changed`, for another reason than readers */

    TileRequest *requests; /* owned */
    uint32_t free_requests, free_request_count;
    uint32_t queue_first, queue_last;
    uint32_t
        batch_first; /* taken from the queue, sorted by storage; served before more are taken */
    TexCaller *request_waiters_first, *request_waiters_last; /* who found no free request */
    uint64_t turn_next, turn_served;                         /* I/O threads take slots in turn */
    uint32_t constant_count;
    uint32_t generation;            /* of the texture opened last */
    uint32_t first_free;            /* no place of the directory before it is free */
    TexIndexNode *names, *pictures; /* of open textures */
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
    uint64_t refused_bytes, refused_textures; /* tables that did not fit */
    uint64_t promised_bytes; /* the same and what waits for room: chunks keep out of it */
    LoadCounters loads;
    TexThread *threads;
    ThreadCounters retired; /* of threads that are gone */
    TraceWriter *trace;     /* owned; NULL: none is recorded */
    uint32_t trace_users;   /* I/O threads that are telling the trace of a read */
};

/* --- tex_cache.c -------------------------------------------------------------------------- */

/* What a budget is for, with tables of that size. */
typedef struct ChunkBudget {
    uint32_t chunk_max;   /* as if there were no tables */
    uint32_t chunk_limit; /* beside them; 0 below least_bytes */
    uint64_t fixed_bytes, least_bytes;
} ChunkBudget;
ChunkBudget cache_chunk_budget(uint64_t budget_bytes, uint32_t io_thread_count,
                               uint64_t table_bytes);

/* Under the lock: makes `bytes` of the budget free for tables, evicting chunks if it must, and
 * counts them. STATUS_LIMIT when they cannot fit beside one chunk. `path`: the texture's, or NULL for
 * a thread. May drop the lock meanwhile. */
Status cache_reserve_tables(TexCache *c, uint64_t bytes, const char *path, Error *err);
void cache_release_tables(TexCache *c, uint64_t bytes);
/* Under the lock: waits until readers that entered up to `tag` have left. */
void cache_wait_for_readers(TexCache *c, uint64_t tag);
/* Under the lock: recounts the peak. */
void cache_note_peak(TexCache *c);
/* Under the lock: sleeps until `changed` is signalled, or for a moment: whoever signals looks at
 * `sleepers` without the lock and may come too late. */
void cache_sleep(TexCache *c);
/* Wakes who sleeps on `changed`; takes the lock. */
void cache_wake_sleepers(TexCache *c);

/* --- tile_table.c ------------------------------------------------------------------------- */

typedef enum TileJoin {
    TILE_RESOLVED, /* *out_entry is READY (pinned for the caller), CONSTANT or FAILED */
    TILE_JOINED,   /* wait; then tile_resolve */
    TILE_NO_ROOM   /* wait, and join again */
} TileJoin;

/* Asks for a tile that the caller cannot do without. For the two last results its waiter has been
 * armed once. */
TileJoin tile_join(TexCaller *caller, Texture *texture, uint32_t tile, uint32_t *out_entry);
/* After the wait: READY with a pin, CONSTANT or FAILED. */
uint32_t tile_resolve(const Texture *texture, uint32_t tile);
/* Drops the caller's pin on a READY slot. */
void tile_unpin(TexCache *c, uint32_t slot);
/* Asks for tiles that will be wanted soon; those for which there is no room now are left out. */
void tile_request_ahead(TexThread *thread, Texture *texture, const uint32_t *tiles, uint32_t count);

/* How many tiles of that size may be on their way without a waiter: loading more than memory can hold
 * would throw out what was loaded before. */
uint32_t cache_ahead_limit(const SlabPool *slabs, uint32_t tile_bytes);

/* Under the lock. What I/O threads do with requests: */
/* The next of a batch in the order of files and places in them, with those behind it whose tiles lie side by
 * side with its own. Returns how many; 0: nothing is asked for. */
uint32_t tile_queue_pop(TexCache *c, uint32_t out_requests[RUN_TILES_MAX]);
/* Publishes the outcome; for READY the slot is published with a pin for each waiter. Gives the
 * request back and returns the list of waiters, to be fired without the lock. */
TexCaller *tile_publish(TexCache *c, uint32_t request, uint32_t entry);
void tile_fire(TexCaller *waiters);
/* Under the lock: SlabPool.unlink. */
void tile_unlink(void *cache, uint32_t texture, uint32_t tile, uint32_t last_use);

/* --- tile_io.c ---------------------------------------------------------------------------- */

void tile_io_run(void *io_thread); /* a thread's whole life */

/* --- tex_record.c ------------------------------------------------------------------------- */

/* Puts a request into the thread's trace, and what a texture is into the cache's. */
void cache_record_request(TexThread *thread, Texture *texture, const TexRequest *r);
void cache_record_texture(TexCache *c, const Texture *texture);

/* --- tex_stats.c -------------------------------------------------------------------------- */

void cache_counters_add(ThreadCounters *to, const ThreadCounters *from);
/* The bucket of TexStats.read_latency and wait_latency. */
uint32_t cache_latency_bucket(uint64_t duration_ns);

/* --- tex_by_texture.c; all under the lock ------------------------------------------------- */

/* Room for the lookups of a thread, of all textures of the directory; or of all threads, of one block of
 * it. May drop the lock meanwhile. path: as cache_reserve_tables. */
Status cache_give_counters(TexCache *c, TexThread *t, const char *path, Error *err);
Status cache_give_counters_to_all(TexCache *c, const Texture *texture, uint32_t block, Error *err);
/* Keeps what a thread has counted, and frees its room. */
void cache_take_counters(TexCache *c, TexThread *t);
/* The place of a texture is free for another. */
void cache_forget_counters(TexCache *c, const Texture *texture);

/* --- tex_udim.c --------------------------------------------------------------------------- */

/* Opens all files of a set; *out_set is zeroed before. On failure too, udim_close() what was opened. */
Status udim_open(TexCache *c, const TexOpenDesc *what, UdimSet *out_set, Error *err);
void udim_close(TexCache *c, const UdimSet *set);
/* texcache_lookup and texcache_touch for a set. only_if_many: nothing when all lanes lie in one. */
uint32_t udim_lookup(TexCaller *caller, const TexRequest *r, const Texture *texture,
                     float *out_result);
void udim_touch(TexCaller *caller, const TexRequest *r, const Texture *texture, bool only_if_many);

/* The file of a set in which a place lies, and the place in it. {0}: there is none. */
TexId udim_place(const UdimSet *set, float s, float t, float *out_s, float *out_t);

/* --- tex_open.c --------------------------------------------------------------------------- */

/* A texture whose tiles come from a decoder process, as what reads them takes it; it borrows the header. */
DecodedFile texture_decoded_file(TexCache *c, const Texture *texture, const StexHeader *header);
/* What an open texture takes in the accounts; the path's and the name's bytes with their ends. */
uint64_t texture_table_bytes(const StexHeader *h, size_t path_bytes, size_t name_bytes);
/* How the small levels of a file are divided into tiles: small ones together, others the largest by itself. Returns how many
 * tiles. out_first: the first level of each, and the end. */
uint32_t texture_tail_tiles(const StexHeader *h, uint32_t out_first[TEXTURE_TAILS_MAX + 1]);

static inline uint32_t texture_tile_count(const Texture *t)
{
    return (uint32_t)t->header.tile_count + t->tail_count;
}
static inline bool texture_is_tail(const Texture *t, uint32_t tile)
{
    return tile >= t->header.tile_count;
}
/* Bytes of one tile in memory. */
static inline uint32_t texture_tile_bytes(const Texture *t, uint32_t tile)
{
    return texture_is_tail(t, tile) ? t->tail_bytes[tile - t->header.tile_count] : t->tile_bytes;
}
/* NULL: no such texture. Any thread. */
Texture *texture_of(const TexCache *c, TexId id);
Texture *texture_at(const TexCache *c, uint32_t index);
void texture_destroy_all(TexCache *c); /* no threads are left */

#endif
