/* Assimp's view of the file system: the scene file, and the files that SortHostApi.open_file opens. The text of a glTF
 * file is replaced by GltfInfo.text and the file's tail. */
#ifndef SORT_ASSIMP_IO_H
#define SORT_ASSIMP_IO_H

#include "plugins/assimp/gltf_json.h"
#include <assimp/cfileio.h>

typedef struct AssimpIo {
    struct aiFileIO io; /* the interface to pass to Assimp */
    const SortHostApi *api;
    const char *path;     /* borrowed: the main file's path as passed to Assimp */
    const GltfInfo *info; /* NULL if the file is no glTF file */
    /* Material libraries, which Assimp omits from an OBJ file without a message: whether one was opened, and
     * the first one that was missing. */
    bool has_materials;
    char missing[1024];
} AssimpIo;

/* Initialises *io, which borrows all arguments and must not move until the import is over. */
void assimp_io_init(AssimpIo *io, const SortHostApi *api, const char *path, const GltfInfo *info);

#endif
