/* Assimp's view of the file system: the scene file, and what SortHostApi.open_file gives. Of a glTF file the text is
 * replaced by GltfInfo.text and the file's tail. */
#ifndef SORT_ASSIMP_IO_H
#define SORT_ASSIMP_IO_H

#include "plugins/assimp/gltf_json.h"
#include <assimp/cfileio.h>

typedef struct AssimpIo {
    struct aiFileIO io; /* hand this to Assimp */
    const SortHostApi *api;
    const char *path;     /* borrowed: the main file, as Assimp is told it */
    const GltfInfo *info; /* NULL: no glTF */
    /* Libraries of materials, which an OBJ file loses without a word: whether one was opened, and the first that
     * was not there. */
    bool has_materials;
    char missing[1024];
} AssimpIo;

/* Borrows all, and must stay where it is until the import is over. */
void assimp_io_init(AssimpIo *io, const SortHostApi *api, const char *path, const GltfInfo *info);

#endif
