/* The command line of sort-render: options into the structs that the libraries take. */
#ifndef SORT_TOOLS_SORT_RENDER_RENDER_COMMAND_H
#define SORT_TOOLS_SORT_RENDER_RENDER_COMMAND_H

#include "base/path.h"
#include "sort/import/import_sink.h"
#include "sort/render/progress.h"
#include "tools/sort_render/command_line.h"
#include "tools/sort_render/render_values.h"

typedef struct RenderCommand {
    RenderOptions render;
    OutputCommand output;
    const char *scene, *stats, *import, *export_package;
    bool is_import_child;   /* of a renderer, which reads the exit code (scene_import.h) */
    FrameRange frames;      /* of names with # in them; see render_frames.h */
    const char *checkpoint; /* NULL: none */
    const char *after;      /* sums by which an adaptive round goes on; NULL: none */
    double checkpoint_s;    /* between two checkpoints */
    double
        update_s; /* between two pictures of an unfinished render; 0: only the last one is written */
    bool is_resuming, keeps_checkpoint;
    bool only_check;
    const char *watch; /* where to publish; NULL: in the folder of tools/kit/watch_folder.h */
    bool is_unwatched;
    ProbePixel probe;
    uint32_t probe_samples; /* 0: one */
    const char *probe_out;
    ProgressKind progress;
    LogLevel log_level;
    bool is_quiet;
    CliTextList texture_paths, plugin_paths;
    ImportLightUnits light_units;
    bool is_import_unlimited;
    char cache[PATH_BYTES],
        texcache[PATH_BYTES]; /* render.cache_folder and texcache_program point here */
} RenderCommand;

/* True: go on with *out_command. False: help or version was printed, or the arguments make no sense, which
 * was said; *out_code is the exit code. The command points into itself and into argv: do not copy it. */
bool render_command_parse(int argc, char **argv, RenderCommand *out_command, int *out_code);

/* Reads a command line of 'sort-render serve', whose only argument is the scene. Nothing is printed and no file is looked
 * for but those that options name. STATUS_INVALID: it makes no sense, or has an option that a renderer that stays does not
 * have. Otherwise as above. */
Status render_command_read(int argc, char **argv, RenderCommand *out_command,
                           Error *err) SORT_MUST_CHECK;

/* Claims all files that the command writes as outputs, and its scene as an input. */
Status render_command_claim(const RenderCommand *c, FileClaims *claims, Error *err) SORT_MUST_CHECK;
/* Checks that these outputs can be created. */
Status render_command_check_places(const RenderCommand *c, Error *err) SORT_MUST_CHECK;

/* --probe: returns the exit code. */
int probe_pixel(const RenderCommand *c, Render *render);

/* The subcommands. */
int merge_main(int argc, char **argv);
int verify_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int denoise_main(int argc, char **argv);
int serve_main(int argc, char **argv);

#endif
