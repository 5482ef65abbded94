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
    TEX_MAX_LANES = 32,     /* lanes of one request */
    TEX_MAX_LEVELS = 20,    /* so 2^19 texels an axis */
    TEX_MAX_PROBES = 16,    /* of an anisotropic lookup */
    TEX_DEPTH_BUCKETS = 8,  /* statistics by path depth; the last bucket holds all deeper ones */
    TEX_NOTES_BYTES = 1024, /* of TexInfo.notes */
    TEX_MIN_IO_THREADS = 1,
    TEX_MAX_IO_THREADS = 64
};

typedef struct TexCache TexCache;
typedef struct TexThread TexThread;

/* A texture of one cache: table index and generation. 0 is no texture; an id that was closed is
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
    uint32_t
        read_delay_us; /* for tests: every read of a tile, or of some that lie side by side, takes this much longer */
    /* Records a trace (tex_trace.h) into this file; it appears with texcache_trace_end. Takes
     * 64 KiB a thread besides the budget. NULL: none. */
    const char *trace_path;
    const Log *log; /* borrowed for the cache's life; must not call the cache; NULL: silent */
    /* A program that runs texcache_serve_decoder, and its arguments, NULL-terminated; borrowed for the cache's
     * life. It reads foreign files that hold tiles and mip levels ready. NULL: only .stex files are read. */
    const char *const *decoder_command;
    uint32_t decoder_count; /* such processes at once; 0: one a CPU, at most 8 */
} TexCacheDesc;

/* STATUS_LIMIT: the budget is below the smallest workable one, which the text states.
 * On success *out_cache is the caller's (texcache_destroy). */
Status texcache_create(const TexCacheDesc *desc, TexCache **out_cache, Error *err) SORT_MUST_CHECK;
/* Stops the I/O threads and frees everything, textures that are still open included. All TexThreads
 * are destroyed before. NULL is fine. */
void texcache_destroy(TexCache *c);

/* Completes the trace. All TexThreads are destroyed before. STATUS_IO: some of it could not be
 * written; there is no file then. STATUS_OK when none is recorded. */
Status texcache_trace_end(TexCache *c, Error *err) SORT_MUST_CHECK;

/* --- textures ----------------------------------------------------------------------------- */

typedef struct TexOpenDesc {
    size_t size_bytes; /* sizeof(TexOpenDesc) */
    const char
        *path; /* a .stex file, or a UDIM set of them: "name.<UDIM>.stex"; other files and sets
                          of them, if a decoder can read them tile by tile */
    SortColorSpace
        color_space; /* of a file that is no .stex; SORT_COLOR_UNKNOWN: what it says, else sRGB
                                   for 8 bits and linear for the rest */
    const char
        *name; /* in statistics and messages; NULL: the path. Of the first who opens it. Of a UDIM
                         set with <UDIM> in it, for its files */
    /* Makes a .stex file of the caller's own anew, as it was; NULL: it is taken as it is. Called by an I/O thread, which
     * waits for it, when a tile cannot be had because the file at `path` is damaged or gone. True: the file is whole now;
     * the tile is read once more. A file that is too short is refused by texcache_open then (STATUS_FORMAT). Callable
     * until the texture is closed for the last time. */
    bool (*remake)(void *data, const char *path);
    void *remake_data;
} TexOpenDesc;

/* Opens a paged texture; its tables stay in memory, within the budget, until it is closed.
 * The same path gives the same id, counted; so do files that were made of the same
 * picture in the same way (TexInfo.source_digest), whatever their names: their tiles are read once. Errors: STATUS_NOT_FOUND, STATUS_IO, STATUS_FORMAT (not
 * a .stex file, or a broken one), STATUS_UNSUPPORTED (a later version; or another format that cannot be
 * read tile by tile and has to be converted), STATUS_LIMIT (the budget
 * cannot hold its tables; states what would, with those of all that were opened or refused before). May evict tiles and block shortly, so never call it
 * from a fiber whose thread runs other fibers.
 *
 * What the conversion of a file had to warn of is logged again, since who renders may not be who converted.
 *
 * Of a UDIM set all files are opened that are there now. Lookups address it with s in [0, 10) and t in
 * [0, 100); each file is clamped at its edges, whatever the request's wrap. A file that is not there
 * is told once; what lies in it gets the missing colour. texcache_info describes its first file. */
Status texcache_open(TexCache *c, const TexOpenDesc *what, TexId *out_id,
                     Error *err) SORT_MUST_CHECK;
/* How many textures were refused for want of memory, and a budget that holds the tables of all that were opened or
 * refused so far, with room for one chunk of tiles. Any time. */
uint64_t texcache_refused(TexCache *c, uint64_t *out_least_bytes);
void texcache_retain(TexCache *c, TexId id);
/* Gives one count back; with the last one tiles and tables are freed. No lookup with this id may be
 * under way then (another thread's lookups of other textures may). Blocks like texcache_open. */
void texcache_close(TexCache *c, TexId id);

/* How coordinates outside [0, 1] are met, per axis. */
typedef enum TexWrap {
    TEX_WRAP_FILE, /* as recorded in the file; periodic if that says nothing */
    TEX_WRAP_PERIODIC,
    TEX_WRAP_CLAMP,
    TEX_WRAP_MIRROR,
    TEX_WRAP_BLACK /* (0,0,0,0) outside */
} TexWrap;

typedef struct TexLevelInfo {
    uint32_t width, height;
    uint32_t tiles_x, tiles_y; /* 0 when packed into the tail */
    uint64_t constant_tiles;   /* of one colour, no payload in the file; texcache_file_info only */
    uint64_t stored_bytes;     /* payload in the file; texcache_file_info only */
} TexLevelInfo;

typedef struct TexInfo {
    uint32_t width, height;
    uint32_t channel_count; /* 1 to 4 */
    SortTexelType type;     /* as stored */
    SortColorSpace color_space;
    bool is_premultiplied; /* colour has been multiplied by alpha */
    bool is_compressed;    /* some tile may be */
    TexWrap wrap_s, wrap_t;
    uint32_t tile_width, tile_height; /* texels, powers of two */
    uint32_t level_count;
    uint32_t first_tail_level; /* levels from here on are packed in the tail */
    uint32_t tail_texels;
    uint64_t tile_count; /* all paged levels */
    uint64_t file_bytes; /* as the header says */
    float average_rgba[4];
    uint8_t source_digest[16]; /* of the source's pixels and the conversion's settings */
    TexLevelInfo levels[TEX_MAX_LEVELS];
    /* What its conversion had to warn of, one a line: texels that were replaced, what the decoder could not
     * follow. Of files only; texcache_open() logs each line. */
    char notes[TEX_NOTES_BYTES];
} TexInfo;

/* STATUS_NOT_FOUND: no such texture. */
Status texcache_info(const TexCache *c, TexId id, TexInfo *out_info, Error *err) SORT_MUST_CHECK;

/* --- lookup ------------------------------------------------------------------------------- */

/* Per thread: its epoch slot and its counters. Counted in the budget. */
Status texcache_thread_create(TexCache *c, TexThread **out_thread, Error *err) SORT_MUST_CHECK;
/* None of its callers may be in a lookup. NULL is fine. */
void texcache_thread_destroy(TexThread *t);

/* One a fiber (or one a plain thread). The fields are the cache's. */
typedef struct TexCaller {
    TexThread *thread;      /* borrowed */
    Waiter *waiter;         /* borrowed */
    struct TexCaller *next; /* in the list of those who wait for one tile */
} TexCaller;
/* `w` is armed, waited for and fired by lookups only. Both outlive the caller; nothing to destroy. */
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
    /* ANISO, but where texels are magnified 4 x 4 of level 0 are blended by a cubic kernel: */
    TEX_FILTER_CATMULL_ROM, /* goes through the texels; may leave their range */
    TEX_FILTER_BSPLINE      /* smoother; blurs */
} TexFilter;

typedef enum TexMip {
    TEX_MIP_FOOTPRINT,  /* as the filter says */
    TEX_MIP_OFF,        /* always level 0 */
    TEX_MIP_MAX_OF_FOUR /* one level: floor(log2(the largest of the four derivatives in texels)) */
} TexMip;

/* Zero means default. */
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
    const TexOptions *options; /* NULL: defaults */
    uint32_t lane_count;       /* 1 to TEX_MAX_LANES */
    uint32_t lane_mask; /* bit i: lane i is wanted; the others are neither read nor written */
    /* Path depth of the lookups, for statistics: of all lanes, or where `depths` is not NULL of each. A
     * trace records that of the first wanted lane. */
    uint32_t depth;
    const uint32_t *depths; /* [lane_count] */
    bool with_derivs;       /* results carry d/ds and d/dt */
    /* [7][lane_count]: s, t, ds/dx, dt/dx, ds/dy, dt/dy, blur. Derivatives per pixel step, in units
     * of s and t; blur in the same units, an extra width (standard deviations add in squares). */
    const float *coord;
    /* [lane_count] in [0, 1), for TEX_FILTER_STOCHASTIC; each lookup needs a number of its own. NULL:
     * that filter is TEX_FILTER_ANISO. */
    const float *random;
} TexRequest;

/* Looks up all wanted lanes. out_result: [4][lane_count] rgba, or with_derivs [12][lane_count]: rgba,
 * d rgba/ds, d rgba/dt of the interpolant at the levels used. May wait; requests all missing tiles
 * before it does, and holds no lock and no tile while it waits.
 *
 * Defined for any input. A lane whose s or t is not finite or beyond +-2^24 gets the missing colour;
 * derivatives or blur that are not finite select the coarsest level; both are counted (bad_lookups).
 * An id that is no open texture gives the missing colour on every lane.
 * Returns the mask of lanes that got the missing colour (their derivatives are 0). */
uint32_t texcache_lookup(TexCaller *caller, const TexRequest *r, float *out_result);
/* Asks for the tiles that the lookup would need, and waits for none. A hint: results never depend on
 * it. */
void texcache_touch(TexCaller *caller, const TexRequest *r);

/* --- what a lookup reads, for people ------------------------------------------------------- */

enum { TEX_EXPLAIN_TEXELS_MAX = 2 * 4 * TEX_MAX_PROBES };

typedef struct TexExplainTexel {
    uint32_t level, x, y; /* from the left and the top */
    float weight;         /* in the result */
} TexExplainTexel;

typedef struct TexExplain {
    const char *name,
        *path;              /* borrowed: the texture, of a UDIM set the file; NULL: there is none */
    uint32_t width, height; /* of level 0 */
    float s, t;             /* in that file */
    bool has_place,
        is_bad;           /* as bad_lookups counts: no place, or derivatives that are no numbers */
    TexFilter filter;     /* none of the defaults */
    float level;          /* finest level used; a fraction blends it with the next */
    uint32_t probe_count; /* 1 to TEX_MAX_PROBES */
    float probe_step[2];  /* from one to the next, in s and t */
    float major[2], minor[2]; /* half axes of the footprint's ellipse, in s and t */
    uint32_t texel_count;     /* each once; weights add up to 1 but for black borders */
    TexExplainTexel texels[TEX_EXPLAIN_TEXELS_MAX];
} TexExplain;

/* What texcache_lookup does for one wanted lane of the request; reads nothing and counts nothing. The
 * texture stays open meanwhile. */
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
    uint64_t lookups;       /* lanes */
    uint64_t bad_lookups;   /* lanes with coordinates or derivatives that are no numbers */
    uint64_t missing;       /* lanes that got the missing colour */
    uint64_t probes;        /* bilinear (or closest) taps, each of one level */
    uint64_t tile_requests; /* tiles that taps asked for; levels of the tail need none */
    uint64_t tile_hits, tile_misses;
    uint64_t reads_awaited; /* reads that a waiting lookup started */
    uint64_t reads_ahead;   /* reads that texcache_touch or another lane of the batch started */
    uint64_t coalesced;     /* misses that joined a read under way */
    uint64_t failed_fast;   /* misses of tiles known to have failed */
    uint64_t waits;         /* times a caller waited */
    uint64_t wait_ns;       /* summed over callers, until they went on */
    uint64_t loads;         /* tiles read into a slab */
    uint64_t constants;     /* tiles found to be of one colour: no slab */
    uint64_t failed_tiles;  /* reads that came to nothing, tries included */
    uint64_t reads_pending; /* asked for ahead and not done yet */
    uint64_t retries;       /* tries that were repeated at once, because storage seemed to falter */
    uint64_t recovered_tiles; /* had failed for a while: pictures made meanwhile may differ */
    uint64_t reads_merged; /* of tiles that came with the read of the one before them in the file */
    uint64_t evictions;
    uint64_t resident_tiles;
    uint64_t bytes_read;   /* from storage, payload */
    uint64_t bytes_loaded; /* into slabs, with repetition */
    uint64_t bytes_unique; /* into slabs, each tile once: pressure = bytes_loaded / bytes_unique */
    uint64_t file_opens;   /* reopened descriptors included */
    uint64_t open_files;
    uint64_t bytes_now, bytes_peak; /* all memory that counts against the budget; a true peak */
    uint64_t bytes_tables;          /* of bytes_now: tables, which cannot be evicted */
    uint64_t budget_bytes;
    uint64_t read_ns; /* summed over I/O threads: storage, checksum, decompression */
    uint64_t mip_probes[TEX_DEPTH_BUCKETS][TEX_MAX_LEVELS];
    /* Durations of reads and of waits: bucket 0 below 1 us, bucket k in [2^(k-1), 2^k) us, the last one
     * open. */
    uint64_t read_latency[TEX_LATENCY_BUCKETS], wait_latency[TEX_LATENCY_BUCKETS];
} TexStats;

/* Any time; counters of running lookups may lag. */
void texcache_stats(TexCache *c, TexStats *out_stats);

/* What one open file did (a UDIM set: each of its files). */
typedef struct TexTextureStats {
    const char *name, *path; /* borrowed: until the texture is closed */
    uint32_t width, height;
    uint64_t tile_count;
    uint64_t tile_bytes; /* of one in memory */
    uint64_t lookups;
    uint64_t loads, unique_loads, constants, failed_tiles;
    uint64_t bytes_loaded, bytes_unique;
    uint64_t read_ns;
    uint64_t waits, wait_ns; /* for its tiles */
} TexTextureStats;

/* Fills up to `capacity` entries; returns how many open files there are. Any time; as texcache_stats. */
uint32_t texcache_texture_stats(TexCache *c, TexTextureStats *out, uint32_t capacity);

/* The counters as fields of the JSON object that is open, under their names above, and back.
 * Reading: STATUS_FORMAT when one is missing. */
void texcache_stats_write(const TexStats *stats, JsonWriter *w);
Status texcache_stats_read(JsonCursor *object, TexStats *out_stats, Error *err) SORT_MUST_CHECK;

/* bytes_loaded / bytes_unique: how often each tile was read, on average. 1 when nothing was loaded. */
double texcache_stats_pressure(const TexStats *stats);

typedef struct TexIdentity {
    const char *text; /* "loads - evictions == resident_tiles" */
    uint64_t left, right;
} TexIdentity;
enum { TEX_IDENTITY_COUNT = 7 };
/* Both sides of each of the identities; a difference is a defect of the cache, or a lookup that was
 * under way. */
void texcache_stats_identities(const TexStats *stats, TexIdentity out[TEX_IDENTITY_COUNT]);

/* --- UDIM sets ---------------------------------------------------------------------------- */

enum {
    TEX_UDIM_FIRST = 1001, /* the number of [0, 1) x [0, 1) */
    TEX_UDIM_COUNT = 1000  /* ten a row; index = number - TEX_UDIM_FIRST */
};
/* Whether the name (not the folder) has "<UDIM>" in it. The others are for such paths. */
bool texcache_is_udim(const char *path);
/* Which files of a set are there. STATUS_NOT_FOUND: none. */
Status texcache_udim_list(const char *pattern, bool out_present[TEX_UDIM_COUNT],
                          uint32_t *out_count, Error *err) SORT_MUST_CHECK;
Status texcache_udim_path(const char *pattern, uint32_t index, char *out_path, size_t out_bytes,
                          Error *err) SORT_MUST_CHECK;
/* The index of the file at `path`, spelt as the pattern is; TEX_UDIM_COUNT: it is none of the set's. */
uint32_t texcache_udim_index(const char *pattern, const char *path);

/* --- files, without a cache --------------------------------------------------------------- */

/* What texcache_info tells. */
Status texcache_file_header(const char *path, TexInfo *out_info, Error *err) SORT_MUST_CHECK;
/* The same, and the counts of the tile index. STATUS_FORMAT at the first damaged record. */
Status texcache_file_info(const char *path, TexInfo *out_info, Error *err) SORT_MUST_CHECK;

typedef enum TexDamagePlace {
    TEX_DAMAGE_TILE, /* its index record or its payload */
    TEX_DAMAGE_TAIL,
    TEX_DAMAGE_LENGTH /* the file is shorter or longer than it should be */
} TexDamagePlace;

typedef struct TexDamage {
    TexDamagePlace place;
    uint32_t level, x, y; /* of a tile */
    uint64_t offset;      /* in the file */
    bool has_crc;         /* a check sum did not agree: */
    uint32_t expected_crc, found_crc;
    const char *text; /* all of it in words, but for the tile; until the callback returns */
} TexDamage;

typedef struct TexVerifyReport {
    uint64_t tiles, constant_tiles;
    uint64_t payload_bytes; /* read */
    uint64_t damages, damaged_tiles;
} TexVerifyReport;

/* Reads all of a file and compares every check sum; compressed tiles are decompressed. Goes on behind
 * damage: on_damage, unless it is NULL, is called for each (this thread). A header that is damaged or contradicts itself
 * is an error, since nothing behind it can be found. Memory: a tile and the tail. */
Status texcache_file_verify(const char *path,
                            void (*on_damage)(void *data, const TexDamage *damage), void *data,
                            TexVerifyReport *out_report, Error *err) SORT_MUST_CHECK;

typedef struct TexRegion {
    uint32_t level, x, y, width, height; /* texels, from the left and the top; inside the level */
} TexRegion;

/* Texels of a file as lookups see them: out_rgba [height][width][4], linear, rows from the top. Tiles
 * that cannot be had are magenta, and counted. STATUS_INVALID: the region is not inside of the
 * level. */
Status texcache_file_read(const char *path, const TexRegion *region, float *out_rgba,
                          uint64_t *out_damaged_tiles, Error *err) SORT_MUST_CHECK;

/* --- decoder processes -------------------------------------------------------------------- */

/* Where a decoder process gets its decoders from. */
typedef struct TexDecoderHost {
    size_t size_bytes; /* sizeof(TexDecoderHost) */
    /* The decoder for a path, and what its open() is to be called with. */
    Status (*find)(void *data, const char *path, const SortImageDecoder **out_decoder,
                   const SortHostApi **out_api, Error *err);
    void *data;
} TexDecoderHost;

/* The whole work of a process that a cache starts (TexCacheDesc.decoder_command): answers requests on
 * standard input and output until the input ends. */
Status texcache_serve_decoder(const TexDecoderHost *host, Error *err) SORT_MUST_CHECK;

/* The whole work of a process that a converter starts (converter.h): converts images that standard input asks
 * for, until it ends. */
Status texcache_serve_converter(const TexDecoderHost *host, Error *err) SORT_MUST_CHECK;

/* --- conversion --------------------------------------------------------------------------- */

typedef enum TexCompression { TEX_COMPRESSION_NONE, TEX_COMPRESSION_ZLIB } TexCompression;
typedef enum TexNonFinite {
    TEX_NON_FINITE_REPLACE, /* by the mean of its neighbours; what is beyond +-1e30 becomes that; counted */
    TEX_NON_FINITE_REFUSE /* STATUS_FORMAT */
} TexNonFinite;

typedef struct TexConvertDesc {
    size_t size_bytes;               /* sizeof(TexConvertDesc) */
    const SortImageDecoder *decoder; /* reads source_path */
    /* What the decoder's calls go to; `cancelled` is polled if it is there. Warnings are kept in the file, too. */
    const SortHostApi *host;
    const char *source_path;
    const char *output_path; /* appears whole or not at all: written beside and renamed */
    uint32_t subimage;
    /* SORT_COLOR_UNKNOWN: what the file says, else sRGB for 8-bit colour and linear for the rest */
    SortColorSpace color_space;
    TexWrap wrap_s, wrap_t; /* TEX_WRAP_FILE: what the image says, else periodic */
    TexCompression compression;
    uint32_t compression_level; /* of zlib: 1 (fast) to 9 (small); 0: 6 */
    TexNonFinite non_finite;
    void (*progress)(void *data, float done); /* 0 to 1, this thread; NULL: none */
    void *progress_data;
    uint32_t thread_count; /* 0: one a CPU; the bytes do not depend on it */
} TexConvertDesc;

typedef struct TexConvertReport {
    uint32_t width, height, level_count;
    uint64_t tile_count, constant_tiles, file_bytes;
    uint64_t non_finite_texels; /* replaced */
} TexConvertReport;

/* Makes a paged texture: every level by exact area filtering of the one before in linear light,
 * alpha-weighted, any size. Needs memory for about four rows of tiles, not for the image. While some rows
 * are filtered and compressed the next ones are decoded, on another thread if there is one.
 * out_report may be NULL. */
Status texcache_convert(const TexConvertDesc *desc, TexConvertReport *out_report,
                        Error *err) SORT_MUST_CHECK;

#endif
