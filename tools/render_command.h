/* The command lines of sort-render: options into the structs that the libraries take. */
#ifndef SORT_TOOLS_RENDER_COMMAND_H
#define SORT_TOOLS_RENDER_COMMAND_H

#include "base/cli.h"
#include "base/path.h"
#include "sort/render/progress.h"
#include "sort/render/render_output.h"

/* Part of the interface: docs/sort-render.md. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DAMAGED = 3, EXIT_INTERRUPTED = 4 };

/* Where a film goes; what is NULL is not written. */
typedef struct OutputCommand {
    const char *exr, *png, *partial;
    uint32_t curve; /* ViewCurve of the PNG */
    double exposure;
} OutputCommand;

typedef struct RenderCommand {
    RenderOptions render;
    OutputCommand output;
    const char *scene, *stats, *import, *export_package;
    const char *checkpoint; /* NULL: none */
    double checkpoint_s,
        update_s; /* between two checkpoints; between two pictures, 0: only the last */
    bool is_resuming;
    const char *watch; /* where to publish; NULL: in the folder of tools/watch_folder.h */
    bool is_unwatched;
    struct ProbePixel {
        bool is_wanted;
        uint32_t x, y;
    } probe;
    uint32_t probe_samples; /* 0: one */
    const char *probe_out;
    ProgressKind progress;
    LogLevel log_level;
    bool is_quiet;
    CliTextList texture_paths, plugin_paths;
    char cache[PATH_BYTES], texcache[PATH_BYTES]; /* what render.cache_folder and so on point at */
} RenderCommand;

typedef struct MergeCommand {
    OutputCommand output;
    char *const *parts; /* borrowed from argv */
    uint32_t part_count;
} MergeCommand;

typedef struct CompareCommand {
    const char *paths[2]; /* the picture, the reference */
    const char *layer;    /* NULL: the picture itself */
    bool is_json;
} CompareCommand;

/* True: go on with *out_command. False: help or version was printed, or the arguments make no sense, which
 * was said; *out_code is the exit code. The command points into itself and into argv: do not copy it. */
bool render_command_parse(int argc, char **argv, RenderCommand *out_command, int *out_code);
bool merge_command_parse(int argc, char **argv, MergeCommand *out_command, int *out_code);

Status output_command_write(const OutputCommand *output, const Film *film,
                            Error *err) SORT_MUST_CHECK;

bool compare_command_parse(int argc, char **argv, CompareCommand *out_command, int *out_code);

/* "sort-render: ..." on standard error; returns `code`. */
int command_fail(const Error *err, int code);

/* --probe: returns the exit code. */
int probe_pixel(const RenderCommand *c, Render *render);

/* The subcommands. */
int merge_main(int argc, char **argv);
int compare_main(int argc, char **argv);

#endif
