/* Paged, mip-mapped textures under a hard memory budget.
 *
 *   .stex files --read by--> I/O threads --> fixed slabs (the budget) --copied by--> texcache_lookup
 *
 * A TexCache owns the memory, the I/O threads and the open textures. Each thread that looks up has
 * one TexThread; each fiber (or plain thread) that may have to wait has one TexCaller with its
 * Waiter. A lookup that needs a tile which is not in memory asks for it, and waits through the
 * Waiter: this library neither spins nor knows what a fiber is. Every tile is read once however
 * many ask for it, and memory is reserved before it is read, so the budget is never exceeded.
 *
 *   texcache_create -> texcache_open ... -> texcache_thread_create -> texcache_caller_init
 *     -> texcache_lookup ... -> texcache_thread_destroy -> texcache_close ... -> texcache_destroy
 *
 * Coordinates: s runs right, t runs UP, as uv in SORT. (0,0) is the lower left corner of the image
 * and (1,1) the upper right one: t = 0 is the bottom edge. The texel in column i from the left and
 * row j from the TOP (the order in image files) of a W x H level is centred at
 * s = (i + 0.5) / W, t = 1 - (j + 0.5) / H. Results are linear: sRGB texels are decoded before they
 * are filtered. Channels: 1 -> (v,v,v,1), 2 -> (v,v,v,a), 3 -> (r,g,b,1), 4 -> (r,g,b,a), alpha as
 * in the file (TexInfo.is_premultiplied).
 *
 * The result of a lookup depends on the file and the request only: not on the budget, the number of
 * threads, their timing, the other lanes of the request or storage speed. A tile that cannot be read
 * (corrupted, truncated, vanished) fails alone: what touches it gets the missing colour, and one log
 * line names file, level, tile and reason. Storage that falters (EIO, no descriptors left ...) is tried
 * again a few times, and after growing pauses once more when a lookup wants the tile. A file that is
 * exchanged on disk is noticed: tiles of two contents never mix.
 *
 * Threads: a TexCache may be used from any thread. A TexThread and its TexCallers belong to one
 * thread. Nothing here calls malloc during a lookup. */
#ifndef SORT_TEXTURES_TEXCACHE_H
#define SORT_TEXTURES_TEXCACHE_H

#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/waiter.h"
#include "plugins/sort_plugin.h"

enum {
    TEX_MAX_LANES = 32,     /* the most lanes of one request */
    TEX_MAX_LEVELS = 20,    /* so that an axis has at most 2^19 texels */
    TEX_MAX_PROBES = 16,    /* the most probes of an anisotropic lookup */
    TEX_DEPTH_BUCKETS = 8,  /* statistics by path depth; the last bucket holds all deeper ones */
    TEX_NOTES_BYTES = 1024, /* size of TexInfo.notes */
    TEX_MIN_IO_THREADS = 1,
    TEX_MAX_IO_THREADS = 64
};

typedef struct TexCache TexCache;
typedef struct TexThread TexThread;

/* A texture of one cache: table index and generation. 0 is no texture, and the id of a closed texture is
 * recognised as such. */
typedef struct TexId {
    uint32_t id;
} TexId;

/* --- create and destroy ------------------------------------------------------------------- */

typedef struct TexCacheDesc {
    size_t size_bytes;        /* sizeof(TexCacheDesc) */
    uint64_t budget_bytes;    /* all memory of the cache, tables included; 0: 1 GiB */
    uint32_t io_thread_count; /* reads in flight; 0: 16; at most TEX_MAX_IO_THREADS */
    uint32_t max_open_files;  /* descriptors held at once; 0: 256; at least 1 */
    /* for tests: every read of a tile, or of adjacent tiles, takes this much longer */
    uint32_t read_delay_us;
    /* Records a trace (tex_trace.h) into this file, which appears with texcache_trace_end. Takes 64 KiB for
     * each thread beyond the budget. NULL: no trace. */
    const char *trace_path;
    const Log *log; /* borrowed for the cache's life; it must not call the cache; NULL: silent */
    /* The NULL-terminated command line of a program that runs texcache_serve_decoder; borrowed for the cache's
     * life. It reads foreign files that are tiled and mip-mapped. NULL: only .stex files are read. */
    const char *const *decoder_command;
    uint32_t decoder_count; /* the most decoder processes at once; 0: one for each CPU, at most 8 */
} TexCacheDesc;

/* Creates a cache and starts its I/O threads. On success *out_cache is the caller's (texcache_destroy). Any
 * thread. Errors: STATUS_LIMIT if the budget is below the smallest workable one, which the text states;
 * STATUS_INVALID, STATUS_IO (the trace), STATUS_NO_MEMORY. */
Status texcache_create(const TexCacheDesc *desc, TexCache **out_cache, Error *err) SORT_MUST_CHECK;
/* Stops the I/O threads and frees everything, including textures that are still open. All TexThreads are
 * destroyed before. NULL is allowed. */
void texcache_destroy(TexCache *c);

/* Completes the trace. All TexThreads are destroyed before. Returns STATUS_OK if none is recorded. Errors:
 * STATUS_IO if part of the trace could not be written; then there is no file. */
Status texcache_trace_end(TexCache *c, Error *err) SORT_MUST_CHECK;

/* --- textures ----------------------------------------------------------------------------- */

typedef struct TexOpenDesc {
    size_t size_bytes; /* sizeof(TexOpenDesc) */
    /* a .stex file, or a UDIM set of such files: "name.<UDIM>.stex"; also other files and sets that a decoder
     * can read tile by tile */
    const char *path;
    /* the colour space of a file that is no .stex; SORT_COLOR_UNKNOWN: as the file states, else sRGB for 8 bits
     * and linear for the rest */
    SortColorSpace color_space;
    /* the name in statistics and messages, as given by the first texcache_open; NULL: the path. The name of a
     * UDIM set contains <UDIM>, which is replaced for each file */
    const char *name;
    /* Restores a .stex file that belongs to the caller; NULL: the file is used as it is. An I/O thread calls
     * this, and waits for it, when a tile cannot be loaded because the file at `path` is damaged or missing. If
     * it returns true, the file is whole again and the tile is read once more. With this callback,
     * texcache_open refuses a truncated file (STATUS_FORMAT). It may be called until the texture is closed for
     * the last time. */
    bool (*remake)(void *data, const char *path);
    void *remake_data;
} TexOpenDesc;

/* Opens a paged texture; its tables stay in memory, within the budget, until it is closed. Opening the same path
 * again gives the same id and counts the reference. So do files that were made from the same picture with the same
 * settings (TexInfo.source_digest), whatever their names; their tiles are then read once. The call may evict tiles
 * and block shortly, so it must not come from a fiber whose thread runs other fibers.
 *
 * Warnings of the file's conversion are logged again, since the person who renders may not have converted it.
 *
 * For a UDIM set, all files that exist now are opened. Lookups address the set with s in [0, 10) and t in [0, 100);
 * each file is clamped at its edges, whatever the request's wrap. The absence of a file is reported once, and lookups
 * in its square get the missing colour. texcache_info describes the set's first file.
 *
 * Errors: STATUS_NOT_FOUND, STATUS_IO, STATUS_NO_MEMORY; STATUS_FORMAT if the file is no .stex file or a damaged one;
 * STATUS_UNSUPPORTED for a later version, or for another format that cannot be read tile by tile and has to be
 * converted; STATUS_LIMIT if the budget cannot hold the tables. The text then states a budget that would hold them
 * and those of all textures opened or refused before. */
Status texcache_open(TexCache *c, const TexOpenDesc *what, TexId *out_id,
                     Error *err) SORT_MUST_CHECK;
/* Returns how many textures were refused for lack of memory. *out_least_bytes is a budget that holds the tables
 * of all textures opened or refused so far, and one chunk of tiles. May be called at any time. */
uint64_t texcache_refused(TexCache *c, uint64_t *out_least_bytes);
void texcache_retain(TexCache *c, TexId id);
/* Drops one reference; with the last one, tiles and tables are freed. No lookup with this id may be in progress
 * then (lookups of other textures may). Blocks like texcache_open. */
void texcache_close(TexCache *c, TexId id);

/* How coordinates outside [0, 1] are mapped, for each axis. */
typedef enum TexWrap {
    TEX_WRAP_FILE, /* as recorded in the file, or periodic if the file does not say */
    TEX_WRAP_PERIODIC,
    TEX_WRAP_CLAMP,
    TEX_WRAP_MIRROR,
    TEX_WRAP_BLACK /* (0,0,0,0) outside */
} TexWrap;

typedef struct TexLevelInfo {
    uint32_t width, height;
    uint32_t tiles_x, tiles_y; /* 0 when packed into the tail */
    uint64_t constant_tiles;   /* tiles of one colour, without a payload; texcache_file_info only */
    uint64_t stored_bytes;     /* size of the payloads in the file; texcache_file_info only */
} TexLevelInfo;

typedef struct TexInfo {
    uint32_t width, height;
    uint32_t channel_count; /* 1 to 4 */
    SortTexelType type;     /* as stored */
    SortColorSpace color_space;
    bool is_premultiplied; /* colour has been multiplied by alpha */
    bool is_compressed;    /* tiles may be compressed */
    TexWrap wrap_s, wrap_t;
    uint32_t tile_width, tile_height; /* texels, powers of two */
    uint32_t level_count;
    uint32_t first_tail_level; /* levels from here on are packed in the tail */
    uint32_t tail_texels;
    uint64_t tile_count; /* all paged levels */
    uint64_t file_bytes; /* as the header says */
    float average_rgba[4];
    uint8_t source_digest[16]; /* digest of the source's pixels and of the conversion's settings */
    TexLevelInfo levels[TEX_MAX_LEVELS];
    /* Warnings of the conversion, one in a line: texels that were replaced, features that the decoder does not
     * support. Only for files; texcache_open() logs each line. */
    char notes[TEX_NOTES_BYTES];
} TexInfo;

/* Describes an open texture. Any thread. Errors: STATUS_NOT_FOUND if there is no such texture. */
Status texcache_info(const TexCache *c, TexId id, TexInfo *out_info, Error *err) SORT_MUST_CHECK;

/* --- lookup ------------------------------------------------------------------------------- */

/* Registers a thread: its epoch slot and its counters, which count in the budget. On success *out_thread is the
 * caller's (texcache_thread_destroy). Errors: STATUS_LIMIT, STATUS_NO_MEMORY. */
Status texcache_thread_create(TexCache *c, TexThread **out_thread, Error *err) SORT_MUST_CHECK;
/* Unregisters a thread; none of its callers may be in a lookup. NULL is allowed. */
void texcache_thread_destroy(TexThread *t);

/* The state of a fiber, or of a plain thread, that looks up. Its fields are private to the cache. */
typedef struct TexCaller {
    TexThread *thread;      /* borrowed */
    Waiter *waiter;         /* borrowed */
    struct TexCaller *next; /* next in the list of callers that wait for one tile */
} TexCaller;
/* Initialises a caller. Only lookups arm, wait for and fire `w`. `t` and `w` must outlive the caller, which
 * needs no destruction. */
void texcache_caller_init(TexCaller *caller, TexThread *t, Waiter *w);

/* The footprint is the parallelogram of the two derivative vectors, measured in texels of each axis,
 * as the ellipse with the same second moments; blur widens it. Level = log2 of a width in texels. */
typedef enum TexFilter {
    TEX_FILTER_DEFAULT,   /* TEX_FILTER_ANISO */
    TEX_FILTER_CLOSEST,   /* the nearest texel of the nearest level; derivatives are zero */
    TEX_FILTER_BILINEAR,  /* the nearest level */
    TEX_FILTER_TRILINEAR, /* isotropic: the level of the major axis, so it blurs but never aliases;
                             blends the two nearest levels linearly in log2 of the width */
    TEX_FILTER_ANISO, /* the level of the minor axis, blended likewise, with up to TEX_MAX_PROBES
                             probes along the major axis; longer ellipses are widened */
    TEX_FILTER_STOCHASTIC, /* one texel, chosen by TexRequest.random with the weight that ANISO gives
                              it: the same mean, a fraction of the work */
    /* Like ANISO, but where texels are magnified, 4 x 4 texels of level 0 are blended by a cubic kernel: */
    TEX_FILTER_CATMULL_ROM, /* interpolates the texels; may leave their range */
    TEX_FILTER_BSPLINE      /* smoother, but blurs */
} TexFilter;

typedef enum TexMip {
    TEX_MIP_FOOTPRINT,  /* as the filter determines */
    TEX_MIP_OFF,        /* always level 0 */
    TEX_MIP_MAX_OF_FOUR /* one level: floor(log2(the largest of the four derivatives in texels)) */
} TexMip;

/* Options of a lookup; zero means the default. */
typedef struct TexOptions {
    TexWrap wrap_s, wrap_t;
    TexFilter filter;
    TexMip mip;
    float mip_bias;         /* added to the level; +1 is one level blurrier */
    bool has_missing_color; /* false: (1, 0, 1, 1) */
    float missing_color[4];
} TexOptions;

typedef struct TexRequest {
    TexId texture;
    const TexOptions *options; /* NULL: the defaults */
    uint32_t lane_count;       /* 1 to TEX_MAX_LANES */
    uint32_t lane_mask; /* bit i: lane i is looked up; other lanes are neither read nor written */
    /* Path depth of the lookups, for statistics: that of all lanes, or if `depths` is not NULL one for each
     * lane. A trace records the depth of the first active lane. */
    uint32_t depth;
    const uint32_t *depths; /* [lane_count] */
    bool with_derivs;       /* results include d/ds and d/dt */
    /* [7][lane_count]: s, t, ds/dx, dt/dx, ds/dy, dt/dy, blur. Derivatives are per pixel step, in units of s
     * and t. Blur is an additional width in the same units (standard deviations add in squares). */
    const float *coord;
    /* [lane_count] in [0, 1), for TEX_FILTER_STOCHASTIC; each lookup needs a new random number. NULL: that
     * filter falls back to TEX_FILTER_ANISO. */
    const float *random;
} TexRequest;

/* Looks up all lanes of the mask. out_result: [4][lane_count] rgba, or with_derivs [12][lane_count]: rgba,
 * d rgba/ds, d rgba/dt of the interpolant at the levels used. The call may wait; it requests all missing
 * tiles before it does, and holds no lock and no tile while it waits.
 *
 * Defined for any input. A lane whose s or t is not finite or beyond +-2^24 gets the missing colour;
 * derivatives or blur that are not finite select the coarsest level; both are counted (bad_lookups).
 * An id that is no open texture gives the missing colour on every lane.
 * Returns the mask of lanes that got the missing colour (their derivatives are 0). */
uint32_t texcache_lookup(TexCaller *caller, const TexRequest *r, float *out_result);
/* Requests the tiles that the lookup would need, without waiting. It is a hint: results never depend on it. */
void texcache_touch(TexCaller *caller, const TexRequest *r);

/* --- which texels a lookup blends --------------------------------------------------------- */

/* One tap: four texels of a level, some of which may coincide: left and right of the upper row, then of the
 * lower one. */
typedef struct TexTap {
    uint32_t lane, level;
    uint32_t x[4], y[4]; /* column and row, from the left and the top */
    /* The weight of each texel in the lane's value; 0 where the texel is replaced by black. Without such texels
     * the weights of a lane sum to 1. (STOCHASTIC: 1 for the chosen texel.) */
    float weights[4];
    /* The weights in d/ds and d/dt, if the request is for derivatives. */
    float slopes_s[4], slopes_t[4];
} TexTap;

/* Calls `visit` for all taps of the lanes that texcache_lookup would look up, without reading texels; lanes without a place have none.
 * Returns false, and calls nothing, if the texture is not open or a UDIM set. It must stay open meanwhile. */
bool texcache_taps(const TexCache *c, const TexRequest *r,
                   void (*visit)(void *data, const TexTap *tap), void *data);

/* --- what a lookup reads, for people ------------------------------------------------------- */

enum { TEX_EXPLAIN_TEXELS_MAX = 2 * 4 * TEX_MAX_PROBES };

typedef struct TexExplainTexel {
    uint32_t level, x, y; /* column and row, from the left and the top */
    float weight;         /* weight in the result */
} TexExplainTexel;

typedef struct TexExplain {
    const char *name,
        /* borrowed: the path of the texture, for a UDIM set of the file; NULL if there is none */
        *path;
    uint32_t width, height; /* size of level 0 */
    float s, t;             /* coordinates in that file */
    bool has_place,
        /* counted by bad_lookups: there is no place, or a derivative is not finite */
        is_bad;
    TexFilter filter;         /* with defaults resolved */
    float level;              /* the finest level used; a fraction blends it with the next */
    uint32_t probe_count;     /* 1 to TEX_MAX_PROBES */
    float probe_step[2];      /* step from one probe to the next, in s and t */
    float major[2], minor[2]; /* half axes of the footprint's ellipse, in s and t */
    /* each texel occurs once; the weights sum to 1 except at black borders */
    uint32_t texel_count;
    TexExplainTexel texels[TEX_EXPLAIN_TEXELS_MAX];
} TexExplain;

/* Describes what texcache_lookup does for one active lane of the request, without reading or counting anything.
 * The texture must stay open meanwhile. */
void texcache_explain(const TexCache *c, const TexRequest *r, uint32_t lane, TexExplain *out);

/* --- statistics --------------------------------------------------------------------------- */

enum { TEX_LATENCY_BUCKETS = 24 };

/* Identities, true whenever no lookup is under way:
 *   tile_hits + tile_misses == tile_requests; misses == reads_awaited + coalesced + failed_fast;
 *   reads_awaited + reads_ahead == loads + constants + failed_tiles + reads_pending;
 *   loads - evictions == resident_tiles; the sum of mip_probes == probes; that of read_latency ==
 *   loads + constants + failed_tiles, that of wait_latency == waits; that of TexTextureStats.lookups over
 *   all textures == lookups, when none was closed. */
typedef struct TexStats {
    uint64_t lookups;       /* lanes looked up */
    uint64_t bad_lookups;   /* lanes with coordinates or derivatives that are not finite */
    uint64_t missing;       /* lanes that got the missing colour */
    uint64_t probes;        /* bilinear (or closest) taps, each of one level */
    uint64_t tile_requests; /* tiles that taps requested; levels of the tail need none */
    uint64_t tile_hits, tile_misses;
    uint64_t reads_awaited; /* reads that a waiting lookup started */
    uint64_t reads_ahead;   /* reads that texcache_touch or another lane of the batch started */
    uint64_t coalesced;     /* misses that joined a read under way */
    uint64_t failed_fast;   /* misses of tiles that had already failed */
    uint64_t waits;         /* times a caller waited */
    uint64_t wait_ns;       /* time that callers waited, summed */
    uint64_t loads;         /* tiles read into a slab */
    uint64_t constants;     /* tiles found to be of one colour, which take no slot */
    uint64_t failed_tiles;  /* reads that failed, including all tries */
    uint64_t reads_pending; /* reads requested ahead that are not done yet */
    /* tries that were repeated at once because the storage seemed to fail temporarily */
    uint64_t retries;
    /* tiles that had failed for a while; pictures made meanwhile may differ */
    uint64_t recovered_tiles;
    /* reads of tiles that came with the read of the one before them in the file */
    uint64_t reads_merged;
    uint64_t evictions;
    uint64_t resident_tiles;
    uint64_t bytes_read;   /* payload bytes read from storage */
    uint64_t bytes_loaded; /* bytes loaded into slabs, with repetition */
    /* bytes loaded into slabs, each tile once; the pressure is bytes_loaded / bytes_unique */
    uint64_t bytes_unique;
    uint64_t file_opens; /* reopened descriptors included */
    uint64_t open_files;
    uint64_t bytes_now, bytes_peak; /* all memory that counts against the budget; a true peak */
    /* the part of bytes_now that is tables, which cannot be evicted */
    uint64_t bytes_tables;
    uint64_t budget_bytes;
    uint64_t read_ns; /* time of storage, check sums and decompression, summed over I/O threads */
    uint64_t mip_probes[TEX_DEPTH_BUCKETS][TEX_MAX_LEVELS];
    /* Histograms of the durations of reads and of waits: bucket 0 is below 1 us, bucket k is [2^(k-1), 2^k) us,
     * and the last one is open. */
    uint64_t read_latency[TEX_LATENCY_BUCKETS], wait_latency[TEX_LATENCY_BUCKETS];
} TexStats;

/* Returns the statistics. Any thread, any time; the counters of running lookups may lag. */
void texcache_stats(TexCache *c, TexStats *out_stats);

/* The statistics of one open file (for a UDIM set, of each of its files). */
typedef struct TexTextureStats {
    const char *name, *path; /* borrowed until the texture is closed */
    uint32_t width, height;
    uint64_t tile_count;
    uint64_t tile_bytes; /* bytes of one tile in memory */
    uint64_t lookups;
    uint64_t loads, unique_loads, constants, failed_tiles;
    uint64_t bytes_loaded, bytes_unique;
    uint64_t read_ns;
    uint64_t waits, wait_ns; /* waits for the file's tiles */
} TexTextureStats;

/* Fills up to `capacity` entries and returns how many open files there are. Any thread, any time, like
 * texcache_stats. */
uint32_t texcache_texture_stats(TexCache *c, TexTextureStats *out, uint32_t capacity);

/* Write the counters as fields of the JSON object that is open, under their names above, and read them back.
 * Errors of reading: STATUS_FORMAT if a counter is missing. */
void texcache_stats_write(const TexStats *stats, JsonWriter *w);
Status texcache_stats_read(JsonCursor *object, TexStats *out_stats, Error *err) SORT_MUST_CHECK;

/* Returns bytes_loaded / bytes_unique: how often each tile was loaded on average; 1 if nothing was loaded. */
double texcache_stats_pressure(const TexStats *stats);

typedef struct TexIdentity {
    const char *text; /* "loads - evictions == resident_tiles" */
    uint64_t left, right;
} TexIdentity;
enum { TEX_IDENTITY_COUNT = 7 };
/* Returns both sides of each of the identities. A difference is a defect of the cache, unless a lookup was in
 * progress. */
void texcache_stats_identities(const TexStats *stats, TexIdentity out[TEX_IDENTITY_COUNT]);

/* --- UDIM sets ---------------------------------------------------------------------------- */

enum {
    TEX_UDIM_FIRST = 1001, /* the number of [0, 1) x [0, 1) */
    TEX_UDIM_COUNT = 1000  /* ten in a row; index = number - TEX_UDIM_FIRST */
};
/* Returns whether the file name (not the folder) contains "<UDIM>". The functions below apply to such paths. */
bool texcache_is_udim(const char *path);
/* Finds out which files of a set exist. Errors: STATUS_NOT_FOUND if there are none. */
Status texcache_udim_list(const char *pattern, bool out_present[TEX_UDIM_COUNT],
                          uint32_t *out_count, Error *err) SORT_MUST_CHECK;
Status texcache_udim_path(const char *pattern, uint32_t index, char *out_path, size_t out_bytes,
                          Error *err) SORT_MUST_CHECK;
/* Returns the index of the file at `path`, spelt like the pattern; TEX_UDIM_COUNT if it does not belong to the
 * set. */
uint32_t texcache_udim_index(const char *pattern, const char *path);

/* --- files, without a cache --------------------------------------------------------------- */

/* Reads a file's header and describes it like texcache_info. */
Status texcache_file_header(const char *path, TexInfo *out_info, Error *err) SORT_MUST_CHECK;
/* Describes a file, with the counts of its tile index. Errors: STATUS_FORMAT at the first damaged record. */
Status texcache_file_info(const char *path, TexInfo *out_info, Error *err) SORT_MUST_CHECK;

typedef enum TexDamagePlace {
    TEX_DAMAGE_TILE, /* a tile's index record or payload */
    TEX_DAMAGE_TAIL,
    TEX_DAMAGE_LENGTH /* the file is shorter or longer than it should be */
} TexDamagePlace;

typedef struct TexDamage {
    TexDamagePlace place;
    uint32_t level, x, y; /* the damaged tile */
    uint64_t offset;      /* in the file */
    bool has_crc;         /* a check sum did not match: */
    uint32_t expected_crc, found_crc;
    const char *text; /* a description without the tile; valid until the callback returns */
} TexDamage;

typedef struct TexVerifyReport {
    uint64_t tiles, constant_tiles;
    uint64_t payload_bytes; /* bytes of payload that were read */
    uint64_t damages, damaged_tiles;
} TexVerifyReport;

/* Reads a whole file and compares every check sum; compressed tiles are decompressed. The call continues after
 * damage: on_damage, unless it is NULL, is called for each defect, on this thread. A header that is damaged or
 * contradicts itself is an error, since nothing after it can be located. Memory: a tile and the tail. */
Status texcache_file_verify(const char *path,
                            void (*on_damage)(void *data, const TexDamage *damage), void *data,
                            TexVerifyReport *out_report, Error *err) SORT_MUST_CHECK;

typedef struct TexRegion {
    /* in texels, from the left and the top; inside the level */
    uint32_t level, x, y, width, height;
} TexRegion;

/* Reads texels of a file as lookups see them. out_rgba: [height][width][4], linear, rows from the top. Tiles
 * that cannot be loaded are magenta, and counted. Errors: STATUS_INVALID if the region is not inside the level. */
Status texcache_file_read(const char *path, const TexRegion *region, float *out_rgba,
                          uint64_t *out_damaged_tiles, Error *err) SORT_MUST_CHECK;

/* --- decoder processes -------------------------------------------------------------------- */

/* The source of a decoder process's decoders. */
typedef struct TexDecoderHost {
    size_t size_bytes; /* sizeof(TexDecoderHost) */
    /* Finds the decoder for a path, and the host to pass to its open(). */
    Status (*find)(void *data, const char *path, const SortImageDecoder **out_decoder,
                   const SortHostApi **out_api, Error *err);
    void *data;
} TexDecoderHost;

/* The main loop of a process that a cache starts (TexCacheDesc.decoder_command): answers requests on standard
 * input and output until the input ends. */
Status texcache_serve_decoder(const TexDecoderHost *host, Error *err) SORT_MUST_CHECK;

/* The main loop of a process that a converter starts (converter.h): converts the images requested on standard
 * input until it ends. */
Status texcache_serve_converter(const TexDecoderHost *host, Error *err) SORT_MUST_CHECK;

/* --- conversion --------------------------------------------------------------------------- */

typedef enum TexCompression { TEX_COMPRESSION_NONE, TEX_COMPRESSION_ZLIB } TexCompression;
typedef enum TexNonFinite {
    /* replaced by the mean of the neighbours, and values beyond +-1e30 clamped; counted */
    TEX_NON_FINITE_REPLACE,
    TEX_NON_FINITE_REFUSE /* STATUS_FORMAT */
} TexNonFinite;

typedef struct TexConvertDesc {
    size_t size_bytes;               /* sizeof(TexConvertDesc) */
    const SortImageDecoder *decoder; /* the decoder that reads source_path */
    /* The decoder's host; `cancelled` is polled if it is set. Warnings are also kept in the file. */
    const SortHostApi *host;
    const char *source_path;
    const char *output_path; /* written under a temporary name and renamed when complete */
    uint32_t subimage;
    /* SORT_COLOR_UNKNOWN: as the file states, else sRGB for 8-bit colour and linear for the rest */
    SortColorSpace color_space;
    TexWrap wrap_s, wrap_t; /* TEX_WRAP_FILE: as the image states, else periodic */
    TexCompression compression;
    uint32_t compression_level; /* of zlib: 1 (fast) to 9 (small); 0: 6 */
    TexNonFinite non_finite;
    /* called with 0 to 1 on this thread; NULL: not called */
    void (*progress)(void *data, float done);
    void *progress_data;
    uint32_t thread_count; /* 0: one for each CPU; the file's bytes do not depend on it */
} TexConvertDesc;

typedef struct TexConvertReport {
    uint32_t width, height, level_count;
    uint64_t tile_count, constant_tiles, file_bytes;
    uint64_t non_finite_texels; /* texels that were replaced */
} TexConvertReport;

/* Makes a paged texture: each level is the exact area average of the one before, in linear light and weighted by
 * alpha, for any size. Needs memory for about four rows of tiles, not for the image. While some rows are filtered
 * and compressed, the next ones are decoded, on another thread if there is one. out_report may be NULL. */
Status texcache_convert(const TexConvertDesc *desc, TexConvertReport *out_report,
                        Error *err) SORT_MUST_CHECK;

#endif
