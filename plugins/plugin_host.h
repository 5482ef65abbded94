/* Finds, checks and loads plugins: the only user of dlopen.
 *
 *   folders (in order)                     files, by name                    loaded
 *     1. PluginHostDesc.folders              sort_plugin_decoder_oiio.so       on the first call of
 *     2. SORT_PLUGIN_PATH, ':' between       sort_plugin_importer_assimp.so    plugin_host_decoder_for
 *     3. <folder of the program>/../lib/sort-renderer ...                      or _importer_for
 *
 * The kind stands in the file name, so that asking for an importer does not load an image library.
 * If two files have the same name, the first one found is used; among plugins that handle a suffix,
 * the first by folder, then by file name.
 *
 * Plugins are untrusted in one respect only: their libraries may crash or exhaust memory on bad
 * files. Use a host in a child process (texcache make; scene_import.h), never in the renderer.
 *
 * Threads: any function may be called from any thread; loading is serialised inside. As
 * sort_plugin.h states, a decoder's image belongs to one thread at a time.
 * Lifetime: decoders and importers live as long as the host. Libraries stay mapped until the
 * process ends, since the libraries behind them keep threads and exit handlers. */
#ifndef SORT_PLUGINS_PLUGIN_HOST_H
#define SORT_PLUGINS_PLUGIN_HOST_H

#include "base/error.h"
#include "plugins/sort_plugin.h"

typedef struct PluginHost PluginHost;

typedef struct PluginHostDesc {
    size_t size_bytes;          /* sizeof(PluginHostDesc) */
    const char *const *folders; /* copied; searched first, in this order */
    uint32_t folder_count;
    bool only_these_folders; /* neither SORT_PLUGIN_PATH nor the program's own folder */
    void *data;              /* passed to the functions below */
    /* Receives messages of plugins, and of the host about them. May be NULL. Called from any thread; must not
     * call the host. */
    void (*log)(void *data, SortLogLevel level, const char *plugin, const char *text);
    /* Returns true to make plugins end soon with SORT_ERROR_CANCELLED. May be NULL. Called from any thread. */
    bool (*cancelled)(void *data);
    /* Implements SortHostApi.open_file. If NULL, importers can open nothing. */
    int (*open_file)(void *data, const char *name);
} PluginHostDesc;

/* Creates a host without reading any folder yet. desc may be NULL: the default folders, no log. On success
 * *out_host is owned by the caller (plugin_host_destroy). Errors: STATUS_NO_MEMORY. */
Status plugin_host_create(const PluginHostDesc *desc, PluginHost **out_host,
                          Error *err) SORT_MUST_CHECK;
/* Destroys a host. No image may be open and no import running. NULL is allowed. */
void plugin_host_destroy(PluginHost *host);

/* Finds the decoder for the suffix of `path` (ignoring ASCII case, without touching the file). *out_decoder is
 * borrowed from the host. Errors: STATUS_UNSUPPORTED if no plugin handles the suffix; the text names it, and
 * the plugins that were found, or why each of them could not be loaded, or the folders that were searched. */
Status plugin_host_decoder_for(PluginHost *host, const char *path,
                               const SortImageDecoder **out_decoder, Error *err) SORT_MUST_CHECK;
/* Loads every plugin that may be a decoder, for a process that enters a sandbox and cannot load one later
 * (sandbox.h). plugin_host_decoder_for reports those that cannot be loaded. */
void plugin_host_load_decoders(PluginHost *host);
/* Finds the scene importer for the suffix of `path`, in the same way as plugin_host_decoder_for. */
Status plugin_host_importer_for(PluginHost *host, const char *path,
                                const SortSceneImporter **out_importer, Error *err) SORT_MUST_CHECK;

/* Returns the `api` to pass to open() of a decoder, or import() of an importer, of this host. Borrowed from the
 * host. Messages logged through it carry the plugin's name. */
const SortHostApi *plugin_host_decoder_api(PluginHost *host, const SortImageDecoder *decoder);
const SortHostApi *plugin_host_importer_api(PluginHost *host, const SortSceneImporter *importer);

typedef struct PluginInfo {
    const char *path;                  /* path of the shared library */
    const char *name, *version;        /* empty if it was not loaded */
    const char *failure;               /* why it cannot be used; NULL if it can be */
    const SortImageDecoder *decoder;   /* or NULL */
    const SortSceneImporter *importer; /* or NULL */
} PluginInfo;

/* Loads every plugin of the folders and describes each. Returns the count; *out_infos is borrowed from the
 * host. After an error the count covers the plugins that could be listed. */
uint32_t plugin_host_list(PluginHost *host, const PluginInfo **out_infos);

/* Converts a plugin's result to a Status and fills *err with its text (path may be NULL). SORT_OK gives
 * STATUS_OK and leaves *err alone. SORT_ERROR_SINK also leaves *err alone (the sink's owner has filled it) and
 * gives err->code, or STATUS_INTERNAL if that is STATUS_OK. */
Status plugin_error(SortResult result, const SortFailure *why, const char *path, Error *err);

#endif
