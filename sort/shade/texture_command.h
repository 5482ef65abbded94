/* The command line of a process that decodes images of a scene: `texcache convert` or `texcache decode`, which read the
 * folders that the images lie in, and no other files (sandbox.h). */
#ifndef SORT_SHADE_TEXTURE_COMMAND_H
#define SORT_SHADE_TEXTURE_COMMAND_H

#include "base/arena.h"
#include "sort/scene/scene.h"

/* At most this many folders; of more, the deepest are replaced by those above them. */
enum { TEXTURE_FOLDERS_MAX = 256 };

typedef struct TextureCommandDesc {
    size_t size_bytes;    /* sizeof(TextureCommandDesc) */
    const char *program;  /* path of `texcache`; borrowed as long as the command is used */
    const char *task;     /* "convert" or "decode"; likewise */
    const Scene *scene;   /* its images are on the disk, or missing */
    const char *writable; /* a folder; NULL: none; copied */
} TextureCommandDesc;

/* NULL-terminated, in memory of the arena. Links are followed: what counts is where the images are. */
Status texture_command(Arena *arena, const TextureCommandDesc *desc,
                       const char *const **out_command, Error *err) SORT_MUST_CHECK;

#endif
