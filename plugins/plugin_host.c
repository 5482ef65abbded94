/* The plugin host. Two steps: scan (folders to candidate files, once) and load (dlopen, check the
 * ABI, remember the result or the reason), the latter only for the kind that is asked for.
 *
 * All state is guarded by one mutex. Objects that are handed out (decoders, importers, infos) are
 * written once, before they are handed out, and never move: the scan allocates `plugins` in full. */
#include "plugins/plugin_host.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/str.h"
#include "base/thread.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURE_MAX = 512, SUFFIX_MAX = 32 };

typedef enum PluginKind { KIND_DECODER = 1, KIND_IMPORTER = 2, KIND_ANY = 3 } PluginKind;

typedef struct Plugin {
    PluginHost *host; /* borrowed */
    char *path;       /* owned */
    const char *file; /* the last component of path */
    PluginKind kind;  /* determined by its file name */
    bool is_tried;
    SortHostApi api;          /* api.host is this Plugin */
    const SortPlugin *plugin; /* borrowed: the library; NULL if unusable */
    char failure[FAILURE_MAX];
} Plugin;

struct PluginHost {
    PluginHostDesc desc; /* its folders are replaced by the list below */
    Mutex mutex;
    char **folders; /* owned */
    uint32_t folder_count;
    bool is_scanned, is_listed;
    Plugin *plugins;   /* owned */
    PluginInfo *infos; /* owned; filled by plugin_host_list */
    uint32_t plugin_count;
};

/* --- what plugins may call ----------------------------------------------------------------- */

static void host_log(void *plugin_data, SortLogLevel level, const char *text)
{
    const Plugin *plugin = plugin_data;
    const PluginHostDesc *desc = &plugin->host->desc;
    if (desc->log && text)
        desc->log(desc->data, level, plugin->plugin ? plugin->plugin->name : plugin->file, text);
}

static bool host_cancelled(void *plugin_data)
{
    const PluginHostDesc *desc = &((const Plugin *)plugin_data)->host->desc;
    return desc->cancelled && desc->cancelled(desc->data);
}

static int host_open_file(void *plugin_data, const char *name)
{
    const PluginHostDesc *desc = &((const Plugin *)plugin_data)->host->desc;
    return desc->open_file ? desc->open_file(desc->data, name) : -1;
}

/* --- folders ------------------------------------------------------------------------------- */

static bool add_folder(PluginHost *host, const char *text, size_t size_bytes)
{
    ASSERT(!host->is_scanned);
    if (size_bytes == 0)
        return true;
    char **grown = mem_realloc(host->folders, host->folder_count + 1u, sizeof *host->folders);
    if (!grown)
        return false;
    host->folders = grown;
    char *copy = mem_alloc(size_bytes + 1u, 1);
    if (!copy)
        return false;
    memcpy(copy, text, size_bytes);
    host->folders[host->folder_count++] = copy;
    return true;
}

static bool add_environment_folders(PluginHost *host)
{
    const char *list = getenv("SORT_PLUGIN_PATH");
    while (list && *list) {
        size_t size_bytes = strcspn(list, ":");
        if (!add_folder(host, list, size_bytes))
            return false;
        list += size_bytes + (list[size_bytes] == ':');
    }
    return true;
}

/* Adds <folder of the program>/../lib/sort-renderer, or nothing if the system does not report the program's
 * path. */
static bool add_program_folder(PluginHost *host)
{
    char program[PATH_BYTES];
    if (process_executable_path(program, NULL) != STATUS_OK)
        return true;
    Str folder = path_dirname(program);
    StrBuf text = {0};
    strbuf_append(&text, folder);
    strbuf_append_c(&text, "/../lib/sort-renderer");
    bool ok = !text.failed && add_folder(host, text.data, text.size_bytes);
    strbuf_free(&text);
    return ok;
}

Status plugin_host_create(const PluginHostDesc *desc, PluginHost **out_host, Error *err)
{
    *out_host = NULL;
    PluginHost *host = MEM_NEW(PluginHost);
    if (!host)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (desc)
        host->desc = *desc;
    mutex_init(&host->mutex);
    bool ok = true;
    for (uint32_t i = 0; ok && i < host->desc.folder_count; ++i)
        ok = add_folder(host, host->desc.folders[i], strlen(host->desc.folders[i]));
    if (!host->desc.only_these_folders)
        ok = ok && add_environment_folders(host) && add_program_folder(host);
    host->desc.folders = NULL;
    if (!ok) {
        plugin_host_destroy(host);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *out_host = host;
    return STATUS_OK;
}

void plugin_host_destroy(PluginHost *host)
{
    if (!host)
        return;
    for (uint32_t i = 0; i < host->plugin_count; ++i)
        mem_free(host->plugins[i].path);
    for (uint32_t i = 0; i < host->folder_count; ++i)
        mem_free(host->folders[i]);
    mem_free(host->plugins);
    mem_free(host->infos);
    mem_free(host->folders);
    mutex_destroy(&host->mutex);
    mem_free(host);
}

/* --- scan: which files are there ----------------------------------------------------------- */

static const char file_prefix[] = "sort_plugin_";

static PluginKind kind_of(const char *file)
{
    ASSERT(strncmp(file, file_prefix, sizeof file_prefix - 1) == 0);
    const char *rest = file + sizeof file_prefix - 1;
    if (strncmp(rest, "decoder_", 8) == 0)
        return KIND_DECODER;
    if (strncmp(rest, "importer_", 9) == 0)
        return KIND_IMPORTER;
    return KIND_ANY;
}

static bool is_plugin_file(const char *file)
{
    return strncmp(file, file_prefix, sizeof file_prefix - 1) == 0 &&
           str_ends_with(str_from(file), STR_LIT(".so"));
}

static bool is_known(const PluginHost *host, const char *file)
{
    for (uint32_t i = 0; i < host->plugin_count; ++i)
        if (strcmp(host->plugins[i].file, file) == 0)
            return true;
    return false;
}

static bool add_plugin(PluginHost *host, const char *folder, const char *file)
{
    Plugin *grown = mem_realloc(host->plugins, host->plugin_count + 1u, sizeof *host->plugins);
    if (!grown)
        return false;
    host->plugins = grown;
    char *path = mem_alloc(PATH_BYTES, 1);
    if (!path)
        return false;
    if (path_join(folder, file, path, NULL) != STATUS_OK) {
        mem_free(path);
        return true; /* the path is too long to be opened */
    }
    host->plugins[host->plugin_count++] =
        (Plugin){.path = path, .file = path_basename(path), .kind = kind_of(file)};
    return true;
}

/* Scans a folder; one that is missing or unreadable contains no plugins. */
static bool scan_folder(PluginHost *host, Arena *names_arena, const char *folder)
{
    const char *const *names;
    uint32_t count;
    Error ignored = {0};
    if (file_list_directory(folder, names_arena, &names, &count, &ignored) != STATUS_OK)
        return ignored.code != STATUS_NO_MEMORY;
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; ++i)
        if (is_plugin_file(names[i]) && !is_known(host, names[i]))
            ok = add_plugin(host, folder, names[i]);
    return ok;
}

static Status scan(PluginHost *host, Error *err)
{
    if (host->is_scanned)
        return STATUS_OK;
    ASSERT(host->plugin_count == 0 && !host->infos);
    Arena *names_arena = arena_create(0, 0);
    bool ok = names_arena != NULL;
    for (uint32_t i = 0; ok && i < host->folder_count; ++i)
        ok = scan_folder(host, names_arena, host->folders[i]);
    arena_destroy(names_arena);
    if (ok && host->plugin_count) {
        host->infos = MEM_ARRAY(PluginInfo, host->plugin_count);
        ok = host->infos != NULL;
    }
    if (!ok) {
        for (uint32_t i = 0; i < host->plugin_count; ++i)
            mem_free(host->plugins[i].path);
        host->plugin_count = 0;
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < host->plugin_count; ++i) {
        Plugin *plugin = &host->plugins[i];
        plugin->host = host;
        plugin->api = (SortHostApi){.size_bytes = sizeof(SortHostApi),
                                    .abi = SORT_PLUGIN_ABI,
                                    .host = plugin,
                                    .log = host_log,
                                    .cancelled = host_cancelled,
                                    .open_file = host_open_file};
    }
    host->is_scanned = true;
    return STATUS_OK;
}

/* --- load: open, check, remember ----------------------------------------------------------- */

static void fail(Plugin *plugin, const char *format, ...) SORT_PRINTF(2, 3);
static void fail(Plugin *plugin, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ASSERT(plugin->is_tried && !plugin->plugin);
    vsnprintf(plugin->failure, sizeof plugin->failure, format, args);
    va_end(args);
    host_log(plugin, SORT_LOG_WARNING, plugin->failure);
}

/* Returns a description of the fault, or NULL. */
static const char *decoder_fault(const SortImageDecoder *d)
{
    if (d->size_bytes < sizeof *d)
        return "its decoder's size_bytes is too small";
    if (!d->name || !d->suffixes)
        return "its decoder lacks a name or suffixes";
    if (!d->open || !d->level || !d->read || !d->close)
        return "its decoder lacks a function";
    return NULL;
}

static const char *importer_fault(const SortSceneImporter *i)
{
    if (i->size_bytes < sizeof *i)
        return "its importer's size_bytes is too small";
    if (!i->name || !i->suffixes)
        return "its importer lacks a name or suffixes";
    return i->import ? NULL : "its importer lacks the import function";
}

static const char *plugin_fault(const SortPlugin *p)
{
    if (p->size_bytes < sizeof *p)
        return "its SortPlugin's size_bytes is too small";
    if (!p->name || !p->version)
        return "it lacks a name or a version";
    if (!p->decoder && !p->importer)
        return "it brings neither a decoder nor an importer";
    const char *fault = p->decoder ? decoder_fault(p->decoder) : NULL;
    if (!fault && p->importer)
        fault = importer_fault(p->importer);
    return fault;
}

static void load(Plugin *plugin)
{
    ASSERT(plugin->host->is_scanned && plugin->api.host == plugin);
    if (plugin->is_tried)
        return;
    plugin->is_tried = true;
    void *library = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail(plugin, "cannot be loaded: %s", dlerror());
        return;
    }
    union {
        void *object;
        SortPluginEntry function;
    } entry = {.object = dlsym(library, SORT_PLUGIN_ENTRY_NAME)};
    if (!entry.object) {
        fail(plugin, "is no SORT plugin: it does not export " SORT_PLUGIN_ENTRY_NAME);
        return;
    }
    const SortPlugin *found = entry.function(&plugin->api);
    if (!found) {
        fail(plugin, "refused to run here");
        return;
    }
    if (found->abi != SORT_PLUGIN_ABI) {
        fail(plugin, "was built for plugin ABI %u, this program has ABI %d: rebuild the plugin",
             (unsigned)found->abi, (int)SORT_PLUGIN_ABI);
        return;
    }
    const char *fault = plugin_fault(found);
    if (fault) {
        fail(plugin, "is a broken plugin: %s", fault);
        return;
    }
    plugin->plugin = found;
}

/* --- queries ------------------------------------------------------------------------------- */

/* Writes the suffix of a path in lower case; empty if there is none, or none that a plugin could name. */
static void lower_suffix(const char *path, char out[SUFFIX_MAX])
{
    out[0] = '\0';
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    if (!dot || strlen(dot + 1) >= SUFFIX_MAX)
        return;
    size_t i = 0;
    for (const char *c = dot + 1; *c; ++c)
        out[i++] = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    ASSERT(i < SUFFIX_MAX);
    out[i] = '\0';
}

static bool has_suffix(const char *const *suffixes, const char *suffix)
{
    for (; *suffixes; ++suffixes)
        if (strcmp(*suffixes, suffix) == 0)
            return true;
    return false;
}

static const char *const *suffixes_of(const Plugin *plugin, PluginKind kind)
{
    if (!plugin->plugin)
        return NULL;
    if (kind == KIND_DECODER)
        return plugin->plugin->decoder ? plugin->plugin->decoder->suffixes : NULL;
    return plugin->plugin->importer ? plugin->plugin->importer->suffixes : NULL;
}

/* Explains why there is no plugin for this suffix: plugins found, failures, or folders searched. */
static Status explain(const PluginHost *host, PluginKind kind, const char *path, const char *suffix,
                      Error *err)
{
    StrBuf text = {0};
    const char *noun = kind == KIND_DECODER ? "image decoder" : "scene importer";
    if (suffix[0])
        strbuf_printf(&text, "no %s plugin handles '.%s' files", noun, suffix);
    else
        strbuf_printf(&text, "the name has no suffix that tells the format to a %s plugin", noun);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < host->plugin_count; ++i) {
        const Plugin *plugin = &host->plugins[i];
        if (!(plugin->kind & kind))
            continue;
        strbuf_append_c(&text, shown++ ? "; " : " (");
        if (plugin->plugin)
            strbuf_printf(&text, "%s %s is loaded", plugin->plugin->name, plugin->plugin->version);
        else
            strbuf_printf(&text, "%s %s", plugin->file, plugin->failure);
    }
    if (shown == 0) {
        strbuf_append_c(&text, " (none was found; looked in");
        for (uint32_t i = 0; i < host->folder_count; ++i)
            strbuf_printf(&text, "%s %s", i ? "," : "", host->folders[i]);
        strbuf_append_c(&text, host->folder_count ? "" : " no folder");
    }
    strbuf_append_char(&text, ')');
    error_set_at(err, STATUS_UNSUPPORTED, path, "%s", strbuf_text(&text));
    strbuf_free(&text);
    return STATUS_UNSUPPORTED;
}

static Status find(PluginHost *host, PluginKind kind, const char *path, const SortPlugin **out,
                   Error *err)
{
    *out = NULL;
    char suffix[SUFFIX_MAX];
    lower_suffix(path, suffix);
    mutex_lock(&host->mutex);
    Status status = scan(host, err);
    for (uint32_t i = 0; status == STATUS_OK && !*out && i < host->plugin_count; ++i) {
        Plugin *plugin = &host->plugins[i];
        if (!(plugin->kind & kind))
            continue;
        load(plugin);
        const char *const *suffixes = suffixes_of(plugin, kind);
        if (suffixes && has_suffix(suffixes, suffix))
            *out = plugin->plugin;
    }
    if (status == STATUS_OK && !*out)
        status = explain(host, kind, path, suffix, err);
    mutex_unlock(&host->mutex);
    return status;
}

void plugin_host_load_decoders(PluginHost *host)
{
    mutex_lock(&host->mutex);
    Status status = scan(host, NULL);
    for (uint32_t i = 0; status == STATUS_OK && i < host->plugin_count; ++i)
        if (host->plugins[i].kind & KIND_DECODER)
            load(&host->plugins[i]);
    mutex_unlock(&host->mutex);
}

Status plugin_host_decoder_for(PluginHost *host, const char *path,
                               const SortImageDecoder **out_decoder, Error *err)
{
    const SortPlugin *plugin;
    Status status = find(host, KIND_DECODER, path, &plugin, err);
    *out_decoder = plugin ? plugin->decoder : NULL;
    return status;
}

Status plugin_host_importer_for(PluginHost *host, const char *path,
                                const SortSceneImporter **out_importer, Error *err)
{
    const SortPlugin *plugin;
    Status status = find(host, KIND_IMPORTER, path, &plugin, err);
    *out_importer = plugin ? plugin->importer : NULL;
    return status;
}

const SortHostApi *plugin_host_decoder_api(PluginHost *host, const SortImageDecoder *decoder)
{
    const SortHostApi *api = NULL;
    mutex_lock(&host->mutex);
    for (uint32_t i = 0; !api && i < host->plugin_count; ++i)
        if (host->plugins[i].plugin && host->plugins[i].plugin->decoder == decoder)
            api = &host->plugins[i].api;
    mutex_unlock(&host->mutex);
    return api;
}

const SortHostApi *plugin_host_importer_api(PluginHost *host, const SortSceneImporter *importer)
{
    const SortHostApi *api = NULL;
    mutex_lock(&host->mutex);
    for (uint32_t i = 0; !api && i < host->plugin_count; ++i)
        if (host->plugins[i].plugin && host->plugins[i].plugin->importer == importer)
            api = &host->plugins[i].api;
    mutex_unlock(&host->mutex);
    return api;
}

uint32_t plugin_host_list(PluginHost *host, const PluginInfo **out_infos)
{
    mutex_lock(&host->mutex);
    uint32_t count = scan(host, NULL) == STATUS_OK ? host->plugin_count : 0;
    for (uint32_t i = 0; !host->is_listed && i < count; ++i) {
        Plugin *plugin = &host->plugins[i];
        load(plugin);
        const SortPlugin *p = plugin->plugin;
        host->infos[i] = (PluginInfo){.path = plugin->path,
                                      .name = p ? p->name : "",
                                      .version = p ? p->version : "",
                                      .failure = p ? NULL : plugin->failure,
                                      .decoder = p ? p->decoder : NULL,
                                      .importer = p ? p->importer : NULL};
    }
    host->is_listed = count == host->plugin_count && host->is_scanned;
    mutex_unlock(&host->mutex);
    *out_infos = host->infos;
    return count;
}

/* --- results ------------------------------------------------------------------------------- */

Status plugin_error(SortResult result, const SortFailure *why, const char *path, Error *err)
{
    static const struct {
        Status status;
        const char *text;
    } rows[] = {
        [SORT_OK] = {STATUS_OK, ""},
        [SORT_ERROR_OPEN] = {STATUS_IO, "cannot be read"},
        [SORT_ERROR_FORMAT] = {STATUS_FORMAT, "broken content"},
        [SORT_ERROR_UNSUPPORTED] = {STATUS_UNSUPPORTED, "an unsupported feature"},
        [SORT_ERROR_NO_MEMORY] = {STATUS_NO_MEMORY, "out of memory"},
        [SORT_ERROR_CANCELLED] = {STATUS_CANCELLED, "cancelled"},
        [SORT_ERROR_SINK] = {STATUS_INTERNAL, "the importer stopped at an error it did not get"},
    };
    if (result == SORT_OK)
        return STATUS_OK;
    if (result == SORT_ERROR_SINK && err && err->code != STATUS_OK)
        return err->code;
    if ((unsigned)result >= SORT_COUNT_OF(rows))
        return error_set_at(err, STATUS_INTERNAL, path ? path : "", "the plugin returned result %d",
                            (int)result);
    const char *text = why && why->text[0] ? why->text : rows[result].text;
    return error_set_at(err, rows[result].status, path ? path : "", "%.*s",
                        (int)(SORT_FAILURE_TEXT_MAX - 1), text);
}
