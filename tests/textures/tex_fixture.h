/* What the texture tests share: pictures made of a formula behind a SortImageDecoder, files in a
 * private folder, a cache with one thread, and a log that remembers. */
#ifndef SORT_TESTS_TEX_FIXTURE_H
#define SORT_TESTS_TEX_FIXTURE_H

#include "textures/texcache.h"

/* A picture in memory, in native texels, top row first. */
typedef struct Picture {
    SortLevelInfo info;
    uint8_t *texels; /* owned */
    size_t texel_bytes;
} Picture;

/* Zeroed texels; 2 and 4 channels have straight alpha. Free with picture_free. */
Picture picture_create(uint32_t width, uint32_t height, uint32_t channel_count, SortTexelType type,
                       SortColorSpace color_space);
void picture_free(Picture *p);
void *picture_at(const Picture *p, uint32_t x, uint32_t y);
/* From [0, 1] (any finite value for half and float) to the type. */
void picture_set(Picture *p, uint32_t x, uint32_t y, uint32_t channel, float value);
/* Every byte (every value in [0, 1), for half and float) pseudo-random by position and seed. */
void picture_fill_noise(Picture *p, uint32_t seed);

/* A fresh private folder; removed by fixture_end. */
void fixture_begin(void);
void fixture_end(void);
/* "<folder>/name"; one of 8 buffers in turn. */
const char *fixture_path(const char *name);

/* Converts; the test fails if it does not work. Zero members of `how` mean defaults; it may be NULL.
 * Of how->host only `cancelled` counts. */
TexConvertReport picture_convert(const Picture *p, const char *path, const TexConvertDesc *how);
/* Converts a picture; the caller examines the error. */
Status picture_try_convert(const Picture *p, const char *path, const TexConvertDesc *how,
                           Error *err);

/* A whole .stex file as linear rgba floats, read through stex_read.h, tile by tile. */
typedef struct LevelImage {
    uint32_t width, height;
    float *rgba; /* owned; [height][width][4] */
} LevelImage;
typedef struct FileImage {
    uint32_t level_count;
    LevelImage levels[TEX_MAX_LEVELS];
} FileImage;
FileImage file_image_load(const char *path);
void file_image_free(FileImage *image);

/* Computes what the cache's lookup should, without regard to speed or paging. `options` may not use anisotropy.
 * out: rgba, d/ds, d/dt. */
void oracle_lookup(const FileImage *image, const float coord[7], const TexOptions *options,
                   float out[12]);

typedef struct LogLines {
    uint32_t count;
    char last[4096];
    char first[4096];
} LogLines;

/* A cache and a plain thread's caller. */
typedef struct Rig {
    TexCache *cache;
    TexThread *thread;
    Waiter *waiter;
    TexCaller caller;
    Log log;
    LogLines lines;
} Rig;
/* Zero members of `desc` but size_bytes mean defaults; `desc` may be NULL. */
void rig_begin(Rig *rig, const TexCacheDesc *desc);
void rig_end(Rig *rig);
TexId rig_open(Rig *rig, const char *path);
/* One lane without derivatives of its own. Returns true when it got the missing colour. */
bool rig_lookup(Rig *rig, TexId id, const TexOptions *options, float s, float t, float out[4]);
TexStats rig_stats(Rig *rig);
/* Waits until nothing is queued, then asserts the identities of TexStats. */
void rig_check_identities(Rig *rig);
void stats_check_identities(const TexStats *s);
/* As many probes of each level at each depth from `a` to `b` as from `b` to `c`. */
void stats_check_same_mip_probes(const TexStats *a, const TexStats *b, const TexStats *c);

/* A budget under which a cache with that many I/O threads and one TexThread has room for
 * `chunk_count` chunks of 48 KiB beside tables of `table_bytes`. */
uint64_t budget_for_chunks(uint32_t io_thread_count, uint32_t chunk_count, uint64_t table_bytes);
uint64_t table_bytes_of(const char *path);

uint64_t resident_bytes(void); /* of this process */

/* A cheap random sequence. */
uint32_t random_u32(uint64_t *state);
float random_unit(uint64_t *state); /* [0, 1) */

#endif
