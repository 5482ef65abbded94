/* Which files an import may read: the scene file itself, and what it names, as long as that is a regular file of a
 * sound size inside the folder of the scene file or one of --texture-path, after links are followed.
 *
 *   "textures\wood.png", "file:///C:/chair/textures/wood.png", "wood%20dark.png"  --find-->  /models/chair/textures/wood.png
 *
 * Scene files name others in many ways. A name is tried as it stands, as a URI (%20), with backslashes turned, beside
 * the scene file and in the other folders; then by its last components, for names with the folders of another
 * machine; and last without regard to case. All bytes that are opened are counted, for import_limits.h.
 *
 * Thread rule: one thread at a time. */
#ifndef SORT_IMPORT_IMPORT_FILES_H
#define SORT_IMPORT_IMPORT_FILES_H

#include "base/error.h"
#include "base/path.h"

/* The size limit of a file that a scene file names; the scene file itself may have any size. */
#define IMPORT_FILE_BYTES_MAX ((uint64_t)4 << 30)

typedef struct ImportFiles ImportFiles;

typedef struct ImportFilesDesc {
    size_t size_bytes;  /* sizeof(ImportFilesDesc) */
    const char *source; /* the scene file; must be a regular file */
    const char *const *texture_paths;
    uint32_t texture_path_count;
    /* Called before a file is read, with the bytes of all that were opened so far. May be NULL. */
    void (*allow)(void *data, uint64_t total_bytes);
    void *allow_data;
    /* Called with the path of each other file that is opened, links followed. May be NULL. */
    void (*opened)(void *data, const char *path);
    void *opened_data;
} ImportFilesDesc;

/* On success *out_files is owned by the caller. Errors: STATUS_NOT_FOUND, STATUS_IO, STATUS_FORMAT (no regular
 * file), STATUS_NO_MEMORY. */
Status import_files_create(const ImportFilesDesc *desc, ImportFiles **out_files,
                           Error *err) SORT_MUST_CHECK;
/* The folders that files may lie in, resolved; borrowed. */
const char *const *import_files_roots(const ImportFiles *files, uint32_t *out_count);
void import_files_destroy(ImportFiles *files); /* NULL is fine */

/* The scene file as an absolute path, so that what is put together from it is one as well. Borrowed. */
const char *import_files_source(const ImportFiles *files);

/* The file that the scene file calls `name`: its path, with links followed. Errors, whose texts follow a name:
 * STATUS_NOT_FOUND ("is not there"); STATUS_INVALID (it is there, and may not be read); STATUS_LIMIT. */
Status import_files_find(ImportFiles *files, const char *name, char out_path[PATH_BYTES],
                         Error *err) SORT_MUST_CHECK;
/* Finds it, opens it for reading, and counts its bytes. *out_fd is the caller's. */
Status import_files_open(ImportFiles *files, const char *name, int *out_fd,
                         Error *err) SORT_MUST_CHECK;

#endif
