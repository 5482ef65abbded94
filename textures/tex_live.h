/* What a running render's cache does, for another process to look at.
 *
 *   render --TexLivePublisher: a few KiB written over a file, ten times a second--> file
 *   file --tex_live_read--> a copy whose check sum agrees --> texcache watch
 *
 * A file that is written and read whole, not shared memory: a reader can do no harm to the render, a
 * render that dies can do none to a reader, and nothing but a check sum has to be agreed upon. A copy
 * caught in the middle of writing is read again. The file is gone when the render ends; one that was left
 * behind by a killed render is recognised by its process. */
#ifndef SORT_TEXTURES_TEX_LIVE_H
#define SORT_TEXTURES_TEX_LIVE_H

#include "textures/texcache.h"

enum { TEX_LIVE_VERSION = 1, TEX_LIVE_TEXTURES = 32, TEX_LIVE_NAME_BYTES = 96 };

typedef struct TexLiveTexture {
    char name[TEX_LIVE_NAME_BYTES]; /* the end of its path */
    uint64_t lookups, loads, unique_loads, bytes_loaded, wait_ns;
} TexLiveTexture;

/* As it lies in the file; no padding that is not zero. */
typedef struct TexLive {
    char magic[8];
    uint32_t version, size_bytes;
    uint32_t crc; /* CRC-32C of all of it with this field zero */
    uint32_t process_id;
    uint64_t process_start; /* tells a process from a later one of the same number */
    uint64_t sequence;      /* of publications */
    uint64_t wall_ms;       /* of this one, since 1970 */
    uint64_t elapsed_ms;    /* of the render */
    uint64_t paths_done, paths_total, rays;
    char scene[256];
    TexStats stats;
    uint32_t is_finished;
    uint32_t texture_count; /* open; the TEX_LIVE_TEXTURES that loaded most are below */
    TexLiveTexture textures[TEX_LIVE_TEXTURES];
} TexLive;

typedef struct TexLivePublisher TexLivePublisher;

/* STATUS_INVALID: a render that is alive publishes there, or the file is none of ours. */
Status tex_live_begin(const char *path, TexLivePublisher **out_publisher,
                      Error *err) SORT_MUST_CHECK;
/* Fills magic to wall_ms, and the check sum, and writes. Cannot fail but by being late: a full disk shows
 * as a render that does not answer. One thread. */
void tex_live_publish(TexLivePublisher *p, TexLive *live);
/* Removes the file. NULL is fine. */
void tex_live_end(TexLivePublisher *p);

/* STATUS_NOT_FOUND: no such file; STATUS_FORMAT: no live block; STATUS_UNSUPPORTED: another version. */
Status tex_live_read(const char *path, TexLive *out_live, Error *err) SORT_MUST_CHECK;
/* Whether the process that published is there. */
bool tex_live_is_alive(const TexLive *live);

#endif
