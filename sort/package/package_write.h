/* Writes a scene package (docs/reference/scene-package.md) piece by piece: the counterpart in C of python/sort_package. What can be written is
 * what docs/reference/scene.schema.json describes; the writer takes care of names, files, arrays and JSON, and leaves the fields to its
 * caller.
 *
 *   DIR.partial/ grows     package_writer_begin, fields, arrays, package_writer_end for each entry of a section;
 *                          package_writer_fields for `settings`, `environment` and what else stands alone
 *   DIR/                   has its name when package_writer_finish is done, so that a reader never meets half of one
 *
 *   PackageWriter *w;
 *   TRY(package_writer_create(&(PackageWriteDesc){.size_bytes = sizeof(PackageWriteDesc), .folder = "out"}, &w, err));
 *   JsonWriter *light = package_writer_begin(w, PACKAGE_LIGHTS, "lamp", NULL);
 *   json_write_string(light, "type", "point");
 *   json_write_floats(light, "intensity", (float[]){10, 10, 10}, 3);
 *   json_write_floats(light, "transform", &transform.m[0][0], 16);
 *   package_writer_end(w);
 *   ...
 *   Status status = package_writer_finish(w, err);
 *   package_writer_destroy(w);
 *
 * Functions that return nothing keep the first error, and do nothing after it: package_writer_status tells, and so does
 * package_writer_finish. Arrays and files go to disk as they come; JSON stays in memory. Whether the scene is sound is for
 * its reader to say (`sort-render --check`).
 *
 * Thread rule: one thread at a time. */
#ifndef SORT_PACKAGE_PACKAGE_WRITE_H
#define SORT_PACKAGE_PACKAGE_WRITE_H

#include "base/error.h"
#include "base/json_write.h"
#include "base/path.h"

#include <stdio.h>

typedef struct PackageWriter PackageWriter;

/* The sections of scene.json, whose entries have names. */
typedef enum PackageSection {
    PACKAGE_CAMERAS,
    PACKAGE_MESHES,
    PACKAGE_CURVES,
    PACKAGE_INSTANCES,
    PACKAGE_MATERIALS,
    PACKAGE_LIGHTS,
    PACKAGE_SECTION_COUNT
} PackageSection;

typedef enum PackageNumber { PACKAGE_FLOAT32, PACKAGE_UINT32, PACKAGE_UINT16 } PackageNumber;

typedef struct PackageWriteDesc {
    size_t size_bytes;  /* sizeof(PackageWriteDesc) */
    const char *folder; /* the package to make; must not exist; copied */
    bool is_compressed; /* arrays are stored with zlib */
} PackageWriteDesc;

/* Makes the temporary folder. On success *out_writer is owned by the caller. Errors: STATUS_INVALID when `folder`, or its
 * partial form, is there already; STATUS_IO, STATUS_LIMIT, STATUS_NO_MEMORY. */
Status package_writer_create(const PackageWriteDesc *desc, PackageWriter **out_writer,
                             Error *err) SORT_MUST_CHECK;
/* "FOLDER.partial": where the package grows. Who runs a writer in a process that may die removes it afterwards. */
Status package_partial_folder(const char *folder, char out_path[PATH_BYTES],
                              Error *err) SORT_MUST_CHECK;
/* Without a package_writer_finish that succeeded, nothing stays on disk. NULL is fine. */
void package_writer_destroy(PackageWriter *writer);

/* The first error, STATUS_OK when there is none. err may be NULL. */
Status package_writer_status(const PackageWriter *writer, Error *err);
/* Makes it the writer's error, unless there is one. Returns error->code, which is not STATUS_OK. */
Status package_writer_fail(PackageWriter *writer, const Error *error);

/* Opens an entry: its name is written, its fields follow through what is returned (borrowed until package_writer_end; never
 * NULL). The name is the wanted one made fit: UTF-8 without control characters, at most 255 bytes, not empty,
 * unique in its section by a number behind it. *out_name (may be NULL) lives as long as the writer. One entry at a time. */
JsonWriter *package_writer_begin(PackageWriter *writer, PackageSection section,
                                 const char *wanted_name, const char **out_name);
void package_writer_end(PackageWriter *writer);
/* Writes an ARRAY of the open entry: `count` elements of `components` numbers (1 to 4), as they lie in `values`. field: its
 * name at this place of the JSON, such as "positions"; NULL inside a JSON array, as for "uv". All arrays of an entry share a
 * file. */
void package_writer_array(PackageWriter *writer, const char *field, PackageNumber type,
                          uint32_t components, uint32_t count, const void *values);
uint32_t package_writer_count(const PackageWriter *writer, PackageSection section);

/* For the fields of scene.json itself but `sort_package` and the sections: "name", "settings", "environment", "groups" ...
 * Borrowed; nesting must be closed when the writer finishes. */
JsonWriter *package_writer_fields(PackageWriter *writer);

/* A file of the package, such as "shaders/wood.ssl" or "textures/oak.png", to be named in fields; its folders are made.
 * package_writer_close_file notices every earlier error of the stream. */
Status package_writer_open_file(PackageWriter *writer, const char *file, FILE **out_stream,
                                Error *err) SORT_MUST_CHECK;
Status package_writer_close_file(FILE *stream, const char *file, Error *err) SORT_MUST_CHECK;
/* Letters, digits, '-' and '_' of a name, at most 40, for the names of files. */
enum { PACKAGE_SLUG_MAX = 40 };
void package_slug(const char *name, char out[PACKAGE_SLUG_MAX + 1]);

/* Writes scene.json and gives the folder its name. Call it once. Errors: the first one, STATUS_IO, STATUS_NO_MEMORY. */
Status package_writer_finish(PackageWriter *writer, Error *err) SORT_MUST_CHECK;

#endif
