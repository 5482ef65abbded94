/* Foreign scene files (glTF, OBJ, PLY, FBX ...) to scene packages, in a child process.
 *
 *   sort-render model.gltf                       sort-render --import model.gltf --export-package DIR
 *     scene_import_in_child  --- spawns --->       scene_import_main
 *                            <-- messages ---        scene_import_file: plugin -> ImportSink
 *                            <-- exit code --
 *     scene_load(DIR)
 *
 * The child is the program itself, so there is nothing else to install. Its messages are lines for
 * people ("warning: ...", "error: ..."); the parent passes them on, and makes the last error line,
 * or the signal that ended the child, its own error. On its standard output the child lists the files that it
 * has read, which no output of the render may replace. */
#ifndef SORT_IMPORT_SCENE_IMPORT_H
#define SORT_IMPORT_SCENE_IMPORT_H

#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "sort/import/import_sink.h"
#include "sort/scene/scene_missing.h"

#include <stdio.h>

/* True for what scene_load reads itself: a folder, a .zip, a .json. All else has to be imported. */
bool scene_import_is_package(const char *path);

typedef struct SceneImportOptions {
    size_t size_bytes; /* sizeof(SceneImportOptions) */
    const Log *log;    /* borrowed; may be NULL */
    /* Folders to look for plugins in, before the usual ones (plugin_host.h). */
    const char *const *plugin_folders;
    uint32_t plugin_folder_count;
    /* Folders besides the scene file's own that it may have its files from (import_files.h). */
    const char *const *texture_paths;
    uint32_t texture_path_count;
    SceneMissing missing;
    ImportLightUnits light_units;
    /* The child has no limits of time and memory (import_limits.h). */
    bool is_unlimited;
    /* Takes the paths of the files that were read beside the scene file, each with a NUL behind it: in the child a stream for
     * its parent, in the parent a text. Either may be NULL. */
    FILE *files_read_to;
    StrBuf *files_read;
    /* The rest concerns scene_import_in_child alone. */
    const char *program; /* to run as the child; NULL: the running program */
    uint32_t timeout_ms; /* 0: none */
    /* Address space of the child. 0: three quarters of the machine's memory. */
    uint64_t memory_limit_bytes;
} SceneImportOptions;

/* In this process: for the child, and for tests. options may be NULL. package_folder must not
 * exist. Errors: those of plugin_host_importer_for, of the importer, of import_sink.h. */
Status scene_import_file(const char *path, const char *package_folder,
                         const SceneImportOptions *options, Error *err) SORT_MUST_CHECK;

/* Imports in a child process that is run as
 *   PROGRAM --import-child --import PATH --export-package FOLDER [--plugin-path FOLDER]... [--texture-path FOLDER]...
 *           --missing WHAT --light-units UNIT [--unlimited-import]
 * and has to call scene_import_main. Errors also: STATUS_INTERNAL when the child crashed or was
 * killed, STATUS_LIMIT when it took too long. */
Status scene_import_in_child(const char *path, const char *package_folder,
                             const SceneImportOptions *options, Error *err) SORT_MUST_CHECK;

/* The child's main, once the arguments are parsed: limits this process, imports, writes messages to standard error
 * (options->log is not used), and returns the exit code: 0, or SCENE_IMPORT_EXIT_BASE + the Status, by which the parent knows it. */
enum { SCENE_IMPORT_EXIT_BASE = 64 };
int scene_import_main(const char *path, const char *package_folder,
                      const SceneImportOptions *options);

#endif
