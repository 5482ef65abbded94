/* libsort-texcache: paged, mip-mapped textures under a hard memory budget, for other programs.
 *
 *   cache ---> texture (an open .stex file)
 *         `--> reader (one a thread) ---> lookups
 *
 * A cache owns the memory, its I/O threads and the open textures. A lookup that needs a tile which is not in memory blocks the
 * calling thread until an I/O thread has read it; every tile is read once however many ask for it, and memory is reserved
 * before it is read, so that the budget is never exceeded. `texcache make` turns pictures into .stex files; embedding.md of
 * the manual describes this library, texture-file.md the files.
 *
 * Coordinates. s runs right and t runs UP: (0, 0) is the lower left corner of the picture and (1, 1) the upper right one.
 * Results are linear: texels stored as sRGB are decoded before they are filtered. Channels: 1 -> (v, v, v, 1), 2 -> (v, v, v, a),
 * 3 -> (r, g, b, 1), 4 -> (r, g, b, a), with alpha as in the file (SortTexcacheInfo.is_premultiplied).
 *
 * The result of a lookup depends on the file and the request alone: not on the budget, the number of threads, their timing or
 * the other lanes. (It is computed in the floating-point modes of the calling thread; the renderer of SORT flushes subnormal
 * numbers to zero.) A tile that cannot be read fails alone: what touches it gets the missing colour, and one message names
 * file, level, tile and reason.
 *
 * Ownership. sort_texcache_..._create gives the caller one handle, which is given back once with sort_texcache_..._destroy; NULL
 * is fine there. A reader keeps its cache, so the order does not matter. Text that the host passes is copied.
 *
 * Errors. Functions that can fail return a SortTexcacheStatus; with anything but SORT_TEXCACHE_OK they change nothing, set an
 * out handle to NULL or no texture, and describe the reason in *err unless err is NULL. NULL for a required argument, a value
 * out of range or a size_bytes that this library does not know is SORT_TEXCACHE_INVALID, never undefined behaviour; a handle
 * that was given back is the host's mistake, but a texture that was closed is recognised. Nothing here prints, ends the process
 * or installs a signal handler; only a failed internal check (a defect of the library, named on standard error) ends it.
 *
 * Threads. A cache may be used by any number of threads at once, a reader by one at a time. There is no global state. Lookups
 * allocate no memory. A child made by fork() has no I/O threads: it must not use the cache of its parent.
 *
 * Structs that may grow begin with size_bytes, which the caller sets to sizeof. Zero in any other field is its default. */
#ifndef SORT_TEXCACHE_H
#define SORT_TEXCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SORT_TEXCACHE_MAX_LANES = 32,     /* points of one lookup */
    SORT_TEXCACHE_MAX_LEVELS = 20,    /* so 2^19 texels an axis */
    SORT_TEXCACHE_ERROR_BYTES = 1536, /* of SortTexcacheError.text */
    SORT_TEXCACHE_COORD_ROWS = 7,     /* of SortTexcacheRequest.coord */
    SORT_TEXCACHE_RESULT_ROWS = 12    /* of results with derivatives; 4 without */
};

typedef enum SortTexcacheStatus {
    SORT_TEXCACHE_OK = 0,
    SORT_TEXCACHE_INVALID,   /* an argument that makes no sense */
    SORT_TEXCACHE_NOT_FOUND, /* a file or texture that is not there */
    SORT_TEXCACHE_IO,        /* the operating system refused or failed */
    SORT_TEXCACHE_FORMAT,    /* not a .stex file, or a broken one */
    SORT_TEXCACHE_UNSUPPORTED, /* a later version of the format, or a picture that has to be converted first */
    SORT_TEXCACHE_LIMIT, /* the budget is too small; the text states what would do */
    SORT_TEXCACHE_NO_MEMORY,
    SORT_TEXCACHE_SOURCE,    /* not used by this library */
    SORT_TEXCACHE_CANCELLED, /* not used by this library */
    SORT_TEXCACHE_INTERNAL   /* a defect of the library that was caught */
} SortTexcacheStatus;

/* The caller's; filled by a function that fails, else left alone. */
typedef struct SortTexcacheError {
    SortTexcacheStatus status;
    char text[SORT_TEXCACHE_ERROR_BYTES]; /* names file and reason, safe to show; NUL-terminated */
} SortTexcacheError;

/* The version of the library, "MAJOR.MINOR.PATCH". Static. */
const char *sort_texcache_version(void);

/* --- cache ------------------------------------------------------------------------------------------ */

typedef enum SortTexcacheLogLevel {
    SORT_TEXCACHE_LOG_ERROR,
    SORT_TEXCACHE_LOG_WARNING,
    SORT_TEXCACHE_LOG_INFO,
    SORT_TEXCACHE_LOG_DEBUG
} SortTexcacheLogLevel;

/* One message without a line end, valid during the call. Called from any thread at any time; must not call the cache. */
typedef void (*SortTexcacheLog)(void *user, SortTexcacheLogLevel level, const char *text);

typedef struct SortTexcacheDesc {
    size_t size_bytes;              /* sizeof(SortTexcacheDesc) */
    uint64_t budget_bytes;          /* all memory of the cache, tables included; 0: 1 GiB */
    uint32_t io_thread_count;       /* reads in flight; 0: 16; at most 64 */
    uint32_t max_open_files;        /* descriptors held at once; 0: 256 */
    SortTexcacheLog log;            /* NULL: silent */
    void *log_user;                 /* handed to log */
    SortTexcacheLogLevel log_level; /* messages of less importance are dropped; 0: errors only */
} SortTexcacheDesc;

typedef struct SortTexcache SortTexcache; /* given back by sort_texcache_destroy */

/* Starts the I/O threads. desc may be NULL: defaults. Errors: INVALID, LIMIT (below the smallest budget), IO (a thread cannot be
 * started), NO_MEMORY. */
SortTexcacheStatus sort_texcache_create(const SortTexcacheDesc *desc, SortTexcache **out_cache,
                                        SortTexcacheError *err);
/* Stops the I/O threads and closes all textures, when the last reader of it is destroyed, too. */
void sort_texcache_destroy(SortTexcache *cache);

/* --- textures ----------------------------------------------------------------------------------------- */

/* A texture of one cache; 0 is none. An id that was closed is recognised as such. */
typedef struct SortTexcacheTexture {
    uint32_t id;
} SortTexcacheTexture;

/* Opens a .stex file, or a UDIM set of them ("name.<UDIM>.stex"). Its tables stay in memory, within the budget, until it is
 * closed. The same file gives the same id, counted. May evict tiles and block shortly. Errors: NOT_FOUND, IO, FORMAT,
 * UNSUPPORTED, LIMIT (the budget cannot hold its tables), NO_MEMORY. */
SortTexcacheStatus sort_texcache_open(SortTexcache *cache, const char *path,
                                      SortTexcacheTexture *out_texture, SortTexcacheError *err);
/* Gives one count back; the last one frees tiles and tables: then no lookup of this texture may be under way. Errors:
 * NOT_FOUND (it is not open). */
SortTexcacheStatus sort_texcache_close(SortTexcache *cache, SortTexcacheTexture texture,
                                       SortTexcacheError *err);

/* How coordinates outside [0, 1] are met, per axis. */
typedef enum SortTexcacheWrap {
    SORT_TEXCACHE_WRAP_FILE, /* as recorded in the file; periodic if that says nothing */
    SORT_TEXCACHE_WRAP_PERIODIC,
    SORT_TEXCACHE_WRAP_CLAMP,
    SORT_TEXCACHE_WRAP_MIRROR,
    SORT_TEXCACHE_WRAP_BLACK /* (0, 0, 0, 0) outside */
} SortTexcacheWrap;

typedef enum SortTexcacheTexel {
    SORT_TEXCACHE_TEXEL_U8,
    SORT_TEXCACHE_TEXEL_U16,
    SORT_TEXCACHE_TEXEL_HALF,
    SORT_TEXCACHE_TEXEL_FLOAT
} SortTexcacheTexel;

typedef enum SortTexcacheColor {
    SORT_TEXCACHE_COLOR_UNKNOWN,
    SORT_TEXCACHE_COLOR_SRGB,
    SORT_TEXCACHE_COLOR_LINEAR,
    SORT_TEXCACHE_COLOR_RAW /* data, not colour */
} SortTexcacheColor;

typedef struct SortTexcacheInfo {
    size_t size_bytes;      /* sizeof(SortTexcacheInfo) */
    uint32_t width, height; /* texels of the finest level */
    uint32_t channel_count; /* 1 to 4 */
    SortTexcacheTexel texel;
    SortTexcacheColor color;
    bool is_premultiplied; /* colour has been multiplied by alpha */
    SortTexcacheWrap wrap_s, wrap_t;
    uint32_t tile_width, tile_height; /* texels */
    uint32_t level_count;
    uint64_t tile_count; /* of all levels that are paged */
    uint64_t file_bytes;
    float average_rgba[4];
} SortTexcacheInfo;

/* Fills *out (whose size_bytes is set); of a UDIM set, with its first file. Errors: INVALID, NOT_FOUND (it is not open). */
SortTexcacheStatus sort_texcache_info(const SortTexcache *cache, SortTexcacheTexture texture,
                                      SortTexcacheInfo *out, SortTexcacheError *err);

/* --- lookups --------------------------------------------------------------------------------------------- */

/* What one thread needs for lookups; counted in the budget. */
typedef struct SortTexcacheReader
    SortTexcacheReader; /* given back by sort_texcache_reader_destroy */

/* Errors: LIMIT (the budget cannot hold it), NO_MEMORY. */
SortTexcacheStatus sort_texcache_reader_create(SortTexcache *cache, SortTexcacheReader **out_reader,
                                               SortTexcacheError *err);
void sort_texcache_reader_destroy(SortTexcacheReader *reader);

/* The footprint is the parallelogram of the two derivative vectors, measured in texels of each axis, as the ellipse with the
 * same second moments; blur widens it. Level = log2 of a width in texels. */
typedef enum SortTexcacheFilter {
    SORT_TEXCACHE_FILTER_DEFAULT, /* ANISO */
    SORT_TEXCACHE_FILTER_CLOSEST, /* the nearest texel of the nearest level; derivatives are zero */
    SORT_TEXCACHE_FILTER_BILINEAR, /* the nearest level */
    SORT_TEXCACHE_FILTER_TRILINEAR, /* isotropic, the level of the major axis: blurs but never aliases */
    SORT_TEXCACHE_FILTER_ANISO, /* the level of the minor axis, with up to 16 probes along the major axis */
    SORT_TEXCACHE_FILTER_STOCHASTIC, /* one texel, chosen by `random` with the weight that ANISO gives it */
    SORT_TEXCACHE_FILTER_CATMULL_ROM, /* ANISO, but cubic through the texels where they are magnified; may leave their range */
    SORT_TEXCACHE_FILTER_BSPLINE /* likewise, smoother; blurs */
} SortTexcacheFilter;

typedef struct SortTexcacheOptions {
    size_t size_bytes;               /* sizeof(SortTexcacheOptions) */
    SortTexcacheWrap wrap_s, wrap_t; /* a UDIM set's files are clamped whatever this says */
    SortTexcacheFilter filter;
    float mip_bias;         /* added to the level; +1 is one level blurrier */
    bool has_missing_color; /* false: (1, 0, 1, 1) */
    float missing_color[4];
} SortTexcacheOptions;

typedef struct SortTexcacheRequest {
    size_t size_bytes; /* sizeof(SortTexcacheRequest) */
    SortTexcacheTexture texture;
    const SortTexcacheOptions *options; /* NULL: defaults */
    uint32_t lane_count;                /* 1 to SORT_TEXCACHE_MAX_LANES */
    uint32_t lane_mask; /* bit i: lane i is wanted; the others are neither read nor written */
    bool with_derivs;   /* results carry d/ds and d/dt */
    /* [7][lane_count]: s, t, ds/dx, dt/dx, ds/dy, dt/dy, blur. Derivatives per pixel step in units of s and t; zero means a
     * point, which magnifies. blur in the same units: an extra width (standard deviations add in squares). s in [0, 10) and t
     * in [0, 100) address a UDIM set. */
    const float *coord;
    /* [lane_count] in [0, 1), for FILTER_STOCHASTIC; each lookup needs a number of its own. NULL: that filter is ANISO. */
    const float *random;
} SortTexcacheRequest;

/* Looks up all wanted lanes; blocks while tiles are read. out_result: [4][lane_count] r g b a, or with_derivs [12][lane_count]:
 * rgba, d rgba/ds, d rgba/dt of what is interpolated at the levels used. *out_missing (may be NULL): bit i: lane i got the
 * missing colour, as lanes do whose s or t is not finite or beyond +-2^24, whose tile cannot be read, or all when the texture
 * is not open. Derivatives or blur that are not finite select the coarsest level. Errors: INVALID. */
SortTexcacheStatus sort_texcache_lookup(SortTexcacheReader *reader,
                                        const SortTexcacheRequest *request, float *out_result,
                                        uint32_t *out_missing, SortTexcacheError *err);
/* Asks for the tiles that the lookup would need, and waits for none. A hint: results never depend on it. Errors: INVALID. */
SortTexcacheStatus sort_texcache_prefetch(SortTexcacheReader *reader,
                                          const SortTexcacheRequest *request,
                                          SortTexcacheError *err);

/* Four texels of a level, some of which may coincide: left and right of the upper row, then of the lower one. */
typedef struct SortTexcacheTap {
    size_t size_bytes; /* sizeof(SortTexcacheTap), set by the library */
    uint32_t lane, level;
    uint32_t x[4], y[4]; /* column and row, from the left and the top */
    float weights[4];    /* of each texel in the lane's result; 0 where it is replaced by black */
    float slopes_s[4], slopes_t[4]; /* with_derivs: in d/ds and d/dt */
} SortTexcacheTap;
typedef void (*SortTexcacheVisit)(void *user, const SortTexcacheTap *tap);

/* Calls `visit` for the texels that a lookup blends, without reading them: what its transpose needs, such as gradients by texels
 * (sort_ssl.h). A lane's result is the sum of texels times weights over all its taps; lanes without a place have none. Errors: INVALID,
 * NOT_FOUND (it is not open), UNSUPPORTED (a UDIM set). */
SortTexcacheStatus sort_texcache_taps(SortTexcacheReader *reader,
                                      const SortTexcacheRequest *request, SortTexcacheVisit visit,
                                      void *user, SortTexcacheError *err);

/* --- statistics -------------------------------------------------------------------------------------------- */

/* Counts since the cache was created. Whenever no lookup is under way, tile_hits + tile_misses == tile_requests and
 * loads - evictions == resident_tiles. */
typedef struct SortTexcacheStats {
    size_t size_bytes;      /* sizeof(SortTexcacheStats) */
    uint64_t lookups;       /* lanes */
    uint64_t missing;       /* lanes that got the missing colour */
    uint64_t bad_lookups;   /* lanes with coordinates or derivatives that are no numbers */
    uint64_t probes;        /* taps, each of one level */
    uint64_t tile_requests; /* tiles that taps asked for */
    uint64_t tile_hits, tile_misses;
    uint64_t waits;   /* times a thread waited */
    uint64_t wait_ns; /* summed over threads */
    uint64_t loads;   /* tiles read into memory */
    uint64_t evictions;
    uint64_t failed_tiles; /* reads that came to nothing */
    uint64_t resident_tiles;
    uint64_t bytes_read;            /* from storage, payload */
    uint64_t bytes_loaded;          /* into memory, with repetition */
    uint64_t bytes_unique;          /* into memory, each tile once */
    uint64_t bytes_now, bytes_peak; /* all memory that counts against the budget; a true peak */
    uint64_t bytes_tables;          /* of bytes_now: what cannot be evicted */
    uint64_t budget_bytes;
} SortTexcacheStats;

/* Fills *out (whose size_bytes is set). Any time; counters of running lookups may lag. Errors: INVALID. */
SortTexcacheStatus sort_texcache_stats(SortTexcache *cache, SortTexcacheStats *out,
                                       SortTexcacheError *err);

#ifdef __cplusplus
}
#endif
#endif
