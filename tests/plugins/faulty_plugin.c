/* Plugins that go wrong, one a build: FAULT says how. The good one is there to be found among them. */
#include "plugins/sort_plugin.h"
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAULT_NONE,
    FAULT_ABI,
    FAULT_NULL,
    FAULT_NO_OPEN,
    FAULT_EMPTY,
    FAULT_SMALL,
    FAULT_CRASH,
    FAULT_BALLOON,
    FAULT_PRY
};
/* NOLINTBEGIN(misc-redundant-expression): FAULT is one of these names */

static SortResult open_image(const SortHostApi *api, const char *path, SortImage **out_image,
                             SortFailure *why)
{
    (void)path;
    *out_image = NULL;
    api->log(api->host, SORT_LOG_INFO, "asked to open");
    (void)snprintf(why->text, sizeof why->text, "%s", "this decoder opens nothing");
    return api->cancelled(api->host) ? SORT_ERROR_CANCELLED : SORT_ERROR_FORMAT;
}

static SortResult level(SortImage *image, uint32_t subimage, uint32_t number,
                        SortLevelInfo *out_info, SortFailure *why)
{
    (void)image, (void)subimage, (void)number, (void)out_info, (void)why;
    return SORT_ERROR_FORMAT;
}

static SortResult read(SortImage *image, const SortRegion *region, void *out_texels,
                       size_t out_bytes, SortFailure *why)
{
    (void)image, (void)region, (void)out_texels, (void)out_bytes, (void)why;
    return SORT_ERROR_FORMAT;
}

static void close_image(SortImage *image)
{
    (void)image;
}

/* What a library that a file took over might try. */
static SortResult pry(const char *path, const SortSceneSink *sink)
{
    char beside[4096];
    const char *slash = strrchr(path, '/');
    (void)snprintf(beside, sizeof beside, "%.*s/planted", slash ? (int)(slash - path) : 0, path);
    if (fopen("/etc/passwd", "r"))
        sink->warning(sink->sink, "read /etc/passwd");
    if (fopen(beside, "w"))
        sink->warning(sink->sink, "wrote beside the scene");
    static char program[] = "/bin/true";
    char *const arguments[] = {program, NULL}, *const environment[] = {NULL};
    pid_t child;
    if (posix_spawn(&child, program, NULL, NULL, arguments, environment) == 0)
        sink->warning(sink->sink, "ran a program");
    if (fopen(path, "r"))
        sink->warning(sink->sink, "read the scene");
    return SORT_ERROR_FORMAT;
}

static SortResult import(const SortHostApi *api, const char *path, const SortSceneSink *sink,
                         SortFailure *why)
{
    (void)path, (void)why;
    sink->warning(sink->sink, "about to go wrong");
    if (FAULT == FAULT_CRASH)
        abort();
    if (FAULT == FAULT_PRY)
        return pry(path, sink);
    for (size_t block = 0; block < 1u << 20 && !api->cancelled(api->host); ++block) {
        void *memory = malloc(64u << 20);
        if (!memory)
            return SORT_ERROR_NO_MEMORY;
        memset(memory, 1, 4096);
    }
    return SORT_OK;
}

static const char *const image_suffixes[] = {"faulty", NULL};
static const char *const scene_suffixes[] = {FAULT == FAULT_CRASH ? "crash"
                                             : FAULT == FAULT_PRY ? "pry"
                                                                  : "balloon",
                                             NULL};

static const SortImageDecoder decoder = {.size_bytes = FAULT == FAULT_SMALL ? 8 : sizeof decoder,
                                         .name = "faulty",
                                         .suffixes = image_suffixes,
                                         .open = FAULT == FAULT_NO_OPEN ? NULL : open_image,
                                         .level = level,
                                         .read = read,
                                         .close = close_image};
static const SortSceneImporter importer = {
    .size_bytes = sizeof importer, .name = "faulty", .suffixes = scene_suffixes, .import = import};

const SortPlugin *sort_plugin_entry(const SortHostApi *api)
{
    static const SortPlugin plugin = {
        .size_bytes = sizeof plugin,
        .abi = FAULT == FAULT_ABI ? 99 : SORT_PLUGIN_ABI,
        .name = "faulty",
        .version = "1.0",
        .decoder = FAULT == FAULT_EMPTY || FAULT >= FAULT_CRASH ? NULL : &decoder,
        .importer = FAULT >= FAULT_CRASH ? &importer : NULL,
    };
    if (FAULT == FAULT_NULL) {
        api->log(api->host, SORT_LOG_ERROR, "no licence here");
        return NULL;
    }
    return &plugin;
}
/* NOLINTEND(misc-redundant-expression) */
