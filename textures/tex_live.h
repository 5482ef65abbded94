/* Live statistics of a running render's cache, for another process to display.
 *
 *   render --TexLivePublisher: a few KiB written over a file, ten times a second--> file
 *   file --tex_live_read--> a copy whose check sum agrees --> texcache watch
 *
 * The statistics are a file that is written and read whole, not shared memory, so that neither a reader
 * nor a render that dies can disturb the other side; a check sum is the only protocol. A reader that
 * meets a half-written copy reads again. The file is removed when the render ends; a file left behind by
 * a killed render is recognised by its process. */
#ifndef SORT_TEXTURES_TEX_LIVE_H
#define SORT_TEXTURES_TEX_LIVE_H

#include "textures/texcache.h"

enum { TEX_LIVE_VERSION = 1, TEX_LIVE_TEXTURES = 32, TEX_LIVE_NAME_BYTES = 96 };

typedef struct TexLiveTexture {
    char name[TEX_LIVE_NAME_BYTES]; /* the end of the texture's path */
    uint64_t lookups, loads, unique_loads, bytes_loaded, wait_ns;
} TexLiveTexture;
_Static_assert(sizeof(TexLiveTexture) == TEX_LIVE_NAME_BYTES + 5 * sizeof(uint64_t), "no padding");

/* The content of the file. All padding is zero. */
typedef struct TexLive {
    char magic[8];
    uint32_t version, size_bytes;
    uint32_t crc; /* CRC-32C of the struct with this field zero */
    uint32_t process_id;
    uint64_t process_start; /* distinguishes the process from a later one with the same number */
    uint64_t sequence;      /* number of this publication */
    uint64_t wall_ms;       /* time of this publication, since 1970 */
    uint64_t elapsed_ms;    /* time since the render began */
    uint64_t paths_done, paths_total, rays;
    char scene[256];
    TexStats stats;
    uint32_t is_finished;
    /* open textures; those with most loads are in `textures`, up to TEX_LIVE_TEXTURES */
    uint32_t texture_count;
    TexLiveTexture textures[TEX_LIVE_TEXTURES];
} TexLive;
_Static_assert(offsetof(TexLive, process_start) == 24, "in the file");

typedef struct TexLivePublisher TexLivePublisher;

/* Creates the file. On success *out_publisher is the caller's (tex_live_end). Errors: STATUS_INVALID if a live
 * render publishes there or the file is not a live block; STATUS_IO, STATUS_NO_MEMORY. */
Status tex_live_begin(const char *path, TexLivePublisher **out_publisher,
                      Error *err) SORT_MUST_CHECK;
/* Fills the fields from magic to wall_ms and the check sum, and writes. It reports no errors: on a full disk
 * readers see a render that does not answer. One thread at a time. */
void tex_live_publish(TexLivePublisher *p, TexLive *live);
/* Removes the file and frees the publisher. NULL is allowed. */
void tex_live_end(TexLivePublisher *p);

/* Reads a consistent copy. Any thread. Errors: STATUS_NOT_FOUND if there is no such file; STATUS_FORMAT if it
 * is no live block; STATUS_UNSUPPORTED for another version; STATUS_IO. */
Status tex_live_read(const char *path, TexLive *out_live, Error *err) SORT_MUST_CHECK;
/* Returns whether the process that published is still running. */
bool tex_live_is_alive(const TexLive *live);

#endif
