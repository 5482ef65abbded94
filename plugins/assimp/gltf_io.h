/* Assimp's view of the file system during the import of a glTF file: the main file is replaced by
 * GltfInfo.text and the file's tail; all others are read as they are, also under names with %20. */
#ifndef SORT_ASSIMP_GLTF_IO_H
#define SORT_ASSIMP_GLTF_IO_H

#include "plugins/assimp/gltf_json.h"
#include <assimp/cfileio.h>

typedef struct GltfIo {
    struct aiFileIO io; /* hand this to Assimp */
    const char *path;   /* borrowed: the main file, as Assimp is told it */
    const GltfInfo *info;
} GltfIo;

/* Borrows both, and must stay where it is until the import is over. */
void gltf_io_init(GltfIo *io, const char *path, const GltfInfo *info);

/* Replaces %20 and its like; `out` may be cut. */
void gltf_decode_percent(const char *in, char *out, size_t out_bytes);

#endif
