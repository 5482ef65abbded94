/* The parts that the commands of sslc share: the options that choose a shader and how it is built, reading the
 * source, building, and telling people what went wrong. */
#ifndef SORT_TOOLS_SSLC_SSLC_PROGRAM_H
#define SORT_TOOLS_SSLC_SSLC_PROGRAM_H

#include "base/array.h"
#include "sort/bsdf/closure_list.h"
#include "ssl/ssl.h"
#include "tools/kit/tool.h"

enum { SSLC_OPTIONS_MAX = 64, SSLC_CONSTANTS_MAX = 64 };

/* Values of the options that all commands but `check` have. */
typedef struct SslcBuildOptions {
    const char *shader, *cpu;
    CliTextList constants; /* "name=value" */
    CliTextList folders;   /* where the units of a group are looked for */
    uint32_t level, kind;
    bool without_derivatives, merged_summaries, bake_switches;
    bool without_code; /* no option of users: the program is described and not run */
} SslcBuildOptions;
/* Appends options to options[SSLC_OPTIONS_MAX], behind those that have a name; returns the new count. */
uint32_t sslc_append_options(CliOption *options, const CliOption *more, uint32_t more_count);
/* Appends those of SslcBuildOptions. */
uint32_t sslc_build_options(SslcBuildOptions *values, CliOption *options);

void sslc_print_diags(const DiagList *diags); /* on stderr */

enum { SSLC_SOURCE_MAX_BYTES = 16 << 20 };

/* The .ssl files that a path means: itself, or all in a folder and in folders of it, by name; "unit:"
 * means all units of the library. */
typedef struct SslcPaths {
    Arena *arena; /* borrowed */
    ARRAY(const char *) list;
} SslcPaths;
Status sslc_find_sources(SslcPaths *paths, const char *path, Error *err) SORT_MUST_CHECK;

/* A source file in memory and a context with the renderer's tables (or NULL). Zero-initialise, but for `folders` and
 * `beside`; sslc_close at the end in any case. */
typedef struct SslcFile {
    const char *path;
    char *text;
    size_t size_bytes;
    SslContextDesc tables;
    ClosureList *closures; /* of the tables; NULL: the built-in ones */
    SslContext *ctx;
    DiagList *diags;
    const CliTextList *folders;   /* of SslcBuildOptions; NULL: none */
    const SslcPaths *beside;      /* files that the command line names with it; NULL: none */
    Arena *arena;                 /* textures */
    ARRAY(const char *) textures; /* of a group, by id: formulas of grid_texture_parse */
    bool is_misused; /* sslc_compile, sslc_build: the options do not fit the source or its shader */
    bool is_quiet;   /* their warnings were printed by an earlier call */
} SslcFile;
/* The path may be that of a unit of the library, "unit:NAME". cpu may be NULL. Prints what is wrong. Closures that the file
 * makes and does not define are those of files beside it (sslc_closures.h). */
bool sslc_open(const char *path, const char *cpu, SslcFile *out_file);
void sslc_close(SslcFile *file);

/* Tells whether the file describes a group: its name then ends in .json. */
bool sslc_is_group(const SslcFile *file);
/* Links the group that the file describes; diagnostics go to `diags`. The caller owns *out_unit. */
Status sslc_link(SslcFile *file, DiagList *diags, SslUnit **out_unit) SORT_MUST_CHECK;

/* Compile (or link) the source, and build a program. Both print diagnostics and errors, and return NULL on failure; the
 * caller releases the result. */
SslUnit *sslc_compile(SslcFile *file, const char *shader);
SslProgram *sslc_build(SslcFile *file, const SslUnit *unit, const SslcBuildOptions *options,
                       bool output_derivatives);
/* The description that `options` stand for; constants: memory for SSLC_CONSTANTS_MAX. */
Status sslc_describe(const SslUnitInfo *unit, const SslcBuildOptions *options,
                     SslConstant *constants, SslBuildDesc *out_how, Error *err) SORT_MUST_CHECK;

/* "name=value" split at its first '='; the name goes to `name`. STATUS_INVALID without '='. */
enum { SSLC_NAME_BYTES = 256 };
Status sslc_split(const char *text, char name[SSLC_NAME_BYTES], const char **out_value,
                  Error *err) SORT_MUST_CHECK;
/* Index of a parameter, with a suggestion when there is none of that name. */
Status sslc_find_param(const SslUnitInfo *unit, const char *name, uint32_t *out_param,
                       Error *err) SORT_MUST_CHECK;
Status sslc_parse_value(const char *name, const char *text, SslType type, SslValue *out_value,
                        Error *err) SORT_MUST_CHECK;

/* The commands. */
int sslc_check(int argc, char **argv);
int sslc_doc(int argc, char **argv);
int sslc_run(int argc, char **argv);
int sslc_bench(int argc, char **argv);
int sslc_fit(int argc, char **argv);

#endif
