#include "sort/import/scene_import.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sandbox.h"
#include "plugins/plugin_host.h"
#include "sort/import/import_files.h"
#include "sort/import/import_limits.h"
#include "sort/import/import_sink.h"
#include "sort/package/package_write.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_BYTES_MAX = 64 << 20, FIXED_ARGUMENTS = 13, IMPORT_ROOTS_MAX = 1024 };

bool scene_import_is_package(const char *path)
{
    return file_is_directory(path) || path_has_extension(path, ".zip") ||
           path_has_extension(path, ".json");
}

/* --- in this process ----------------------------------------------------------------------- */

/* The services of the host that plugins may call. */
typedef struct ImportHost {
    const Log *log;     /* borrowed */
    ImportFiles *files; /* borrowed */
} ImportHost;

static void pass_plugin_log(void *data, SortLogLevel level, const char *plugin, const char *text)
{
    static const LogLevel levels[] = {[SORT_LOG_DEBUG] = LOG_LEVEL_DEBUG,
                                      [SORT_LOG_INFO] = LOG_LEVEL_INFO,
                                      [SORT_LOG_WARNING] = LOG_LEVEL_WARNING,
                                      [SORT_LOG_ERROR] = LOG_LEVEL_ERROR};
    bool is_known = (unsigned)level < SORT_COUNT_OF(levels);
    const Log *log = ((const ImportHost *)data)->log;
    log_message(log, is_known ? levels[level] : LOG_LEVEL_ERROR, "%s: %s", plugin, text);
}

static int open_file(void *data, const char *name)
{
    int fd = -1;
    Error why = {0};
    const ImportHost *host = data;
    Status status = import_files_open(host->files, name, &fd, &why);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        log_warning(host->log, "the file '%s' %s", name, why.text);
    return fd;
}

static void list_file(void *data, const char *path)
{
    FILE *out = data;
    fputs(path, out);
    fputc('\0', out);
}

/* The sandbox of a process that does nothing but import. */
typedef struct Sandbox {
    bool is_wanted;
    const char *package_folder; /* borrowed */
    const Log *log;             /* borrowed */
} Sandbox;

/* From here on the importer's library, whatever a file makes of it, reads the folders that the file may name, and writes the
 * package. Where the kernel has no such limits, the plugin is trusted to go through open_file. */
static Status enter_sandbox(const ImportFiles *files, const char *package_folder, const Log *log,
                            Error *err)
{
    char partial[PATH_BYTES], parent[PATH_BYTES], whole[PATH_BYTES];
    const char *readable[IMPORT_ROOTS_MAX];
    uint32_t count;
    const char *const *roots = import_files_roots(files, &count);
    TRY(package_partial_folder(package_folder, partial, err));
    TRY(path_join(NULL, package_folder, whole, err));
    Str above = path_dirname(whole);
    snprintf(parent, sizeof parent, "%.*s", STR_ARG(above));
    if (count > IMPORT_ROOTS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d texture folders", IMPORT_ROOTS_MAX);
    for (uint32_t i = 0; i < count; ++i)
        readable[i] = roots[i];
    SandboxDesc desc = {.size_bytes = sizeof desc,
                        .readable = readable,
                        .readable_count = count,
                        .writable = partial,
                        .entries = parent};
    Status status = sandbox_enter(&desc, err);
    if (status != STATUS_UNSUPPORTED)
        return status;
    log_info(log, "the import runs without a sandbox: this kernel has no Landlock");
    return STATUS_OK;
}

/* The plugin gets an absolute path: what it puts together from that does not depend on the working folder. */
static Status run_importer(PluginHost *host, const char *path, const ImportFiles *files,
                           const SortSceneSink *sink, const Sandbox *sandbox, Error *err)
{
    const SortSceneImporter *importer;
    TRY(plugin_host_importer_for(host, path, &importer, err));
    if (sandbox->is_wanted)
        TRY(enter_sandbox(files, sandbox->package_folder, sandbox->log, err));
    SortFailure why = {{0}};
    SortResult result = importer->import(plugin_host_importer_api(host, importer),
                                         import_files_source(files), sink, &why);
    return plugin_error(result, &why, path, err);
}

static void say_summary(const Log *log, const ImportSummary *s)
{
    log_info(log,
             "imported %llu triangles in %u meshes, %u instances, %u materials, %u textures, "
             "%u cameras, %u lights",
             (unsigned long long)s->triangle_count, s->mesh_count, s->instance_count,
             s->material_count, s->texture_count, s->camera_count, s->light_count);
}

static Status import_with(PluginHost *host, ImportFiles *files, const char *path,
                          const char *package_folder, const SceneImportOptions *options,
                          bool is_child, Error *err)
{
    ImportSinkDesc desc = {.size_bytes = sizeof desc,
                           .folder = package_folder,
                           .source = path,
                           .log = options->log,
                           .files = files,
                           .missing = options->missing,
                           .light_units = options->light_units};
    ImportSink *sink;
    TRY(import_sink_create(&desc, &sink, err));
    Error sink_error = {0};
    Sandbox sandbox = {is_child, package_folder, options->log};
    Status status =
        run_importer(host, path, files, import_sink_callbacks(sink), &sandbox, &sink_error);
    if (import_sink_status(sink, &sink_error) != STATUS_OK)
        status = sink_error.code;
    if (status != STATUS_OK && err)
        *err = sink_error;
    ImportSummary summary;
    if (status == STATUS_OK)
        status = import_sink_finish(sink, &summary, err);
    if (status == STATUS_OK)
        say_summary(options->log, &summary);
    import_sink_destroy(sink);
    return status;
}

static Status import_file(const char *path, const char *package_folder,
                          const SceneImportOptions *options, bool is_child, Error *err)
{
    ImportHost data = {.log = options->log};
    PluginHostDesc desc = {.size_bytes = sizeof desc,
                           .folders = options->plugin_folders,
                           .folder_count = options->plugin_folder_count,
                           .data = &data,
                           .log = pass_plugin_log,
                           .open_file = open_file};
    ImportFilesDesc files = {.size_bytes = sizeof files,
                             .source = path,
                             .texture_paths = options->texture_paths,
                             .texture_path_count = options->texture_path_count,
                             .allow =
                                 is_child && !options->is_unlimited ? import_limits_allow : NULL,
                             .opened = options->files_read_to ? list_file : NULL,
                             .opened_data = options->files_read_to};
    PluginHost *host;
    TRY(import_files_create(&files, &data.files, err));
    Status status = plugin_host_create(&desc, &host, err);
    if (status == STATUS_OK) {
        status = import_with(host, data.files, path, package_folder, options, is_child, err);
        plugin_host_destroy(host);
    }
    import_files_destroy(data.files);
    return status;
}

Status scene_import_file(const char *path, const char *package_folder,
                         const SceneImportOptions *options, Error *err)
{
    static const SceneImportOptions none;
    return import_file(path, package_folder, options ? options : &none, false, err);
}

int scene_import_main(const char *path, const char *package_folder,
                      const SceneImportOptions *options)
{
    Log log = {.level = LOG_LEVEL_INFO, .write = log_to_stream, .data = stderr};
    SceneImportOptions own = *options;
    own.log = &log;
    Error err = {0};
    Status status = import_file(path, package_folder, &own, true, &err);
    if (status == STATUS_OK && own.files_read_to &&
        (fflush(own.files_read_to) != 0 || ferror(own.files_read_to)))
        status = error_set(&err, STATUS_IO, "the files that were read cannot be listed");
    if (status == STATUS_OK)
        return 0;
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX];
    log_error(&log, "%s", error_format(&err, text, sizeof text));
    return SCENE_IMPORT_EXIT_BASE + (int)status;
}

/* --- in a child ---------------------------------------------------------------------------- */

/* Passes the child's lines on to the log. The last error line is copied to `error_text`: it becomes
 * the Error, and is not logged. */
static void pass_messages(const StrBuf *errors, const Log *log, char error_text[ERROR_TEXT_MAX])
{
    static const struct {
        const char *prefix;
        LogLevel level;
    } rows[] = {{"error: ", LOG_LEVEL_ERROR},
                {"warning: ", LOG_LEVEL_WARNING},
                {"debug: ", LOG_LEVEL_DEBUG},
                {"", LOG_LEVEL_INFO}};
    error_text[0] = '\0';
    for (const char *line = strbuf_text(errors); *line;) {
        size_t size = strcspn(line, "\n");
        size_t row = 0;
        while (strncmp(line, rows[row].prefix, strlen(rows[row].prefix)) != 0)
            ++row;
        size_t skip = strlen(rows[row].prefix);
        if (rows[row].level == LOG_LEVEL_ERROR) {
            if (error_text[0])
                log_error(log, "%s", error_text);
            snprintf(error_text, ERROR_TEXT_MAX, "%.*s", (int)(size - skip), line + skip);
        } else if (size > 0) {
            log_message(log, rows[row].level, "%.*s", (int)(size - skip), line + skip);
        }
        line += size + (line[size] == '\n');
    }
}

static Status judge(const ProcessResult *result, const char *path, const Log *log, Error *err)
{
    char error_text[ERROR_TEXT_MAX], how[96];
    pass_messages(&result->errors, log, error_text);
    if (result->has_exited && result->exit_code == 0)
        return STATUS_OK;
    int status = result->exit_code - SCENE_IMPORT_EXIT_BASE;
    if (result->has_exited && status > STATUS_OK && status <= STATUS_INTERNAL && error_text[0])
        return error_set(err, (Status)status, "%s", error_text);
    if (error_text[0])
        log_error(log, "%s", error_text);
    bool is_limit = !result->has_exited && (result->signal == SIGXCPU || result->signal == SIGALRM);
    if (is_limit)
        return error_set_at(
            err, STATUS_LIMIT, path,
            "cannot be imported: it takes more time than a file of its size may (%d s, and %d s "
            "for each MB); --unlimited-import takes the limit away",
            IMPORT_CPU_S, IMPORT_CPU_S_PER_MB);
    return error_set_at(err, result->has_timed_out ? STATUS_LIMIT : STATUS_INTERNAL, path,
                        "cannot be imported: the importing process failed: %s",
                        process_result_describe(result, how));
}

/* Three quarters of the machine's memory. None under sanitizers, whose shadow memory is larger. */
static uint64_t default_memory_limit(void)
{
#if SORT_ASAN || SORT_TSAN
    return 0;
#else
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages / 4 * 3 * (uint64_t)page_bytes : 0;
#endif
}

/* Removes the partial package of a child that died. */
static void remove_partial(const char *package_folder, const Log *log)
{
    char partial[PATH_BYTES];
    Error err = {0};
    Status status = package_partial_folder(package_folder, partial, &err);
    if (status == STATUS_OK)
        status = file_remove_tree(partial, &err);
    if (status != STATUS_OK)
        log_warning(log, "%s stays behind: %s", partial, err.text);
}

static Status run_child(const SceneImportOptions *options, const char *const *argv,
                        const char *path, const char *package_folder, Error *err)
{
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .standard_output = options->files_read ? PROCESS_CAPTURE : PROCESS_DISCARD,
                        .standard_error = PROCESS_CAPTURE,
                        .capture_max_bytes = MESSAGE_BYTES_MAX,
                        .memory_limit_bytes = options->memory_limit_bytes
                                                  ? options->memory_limit_bytes
                                                  : default_memory_limit()};
    ProcessResult result = {0};
    TRY(process_run(&desc, options->timeout_ms, &result, err));
    Status status = judge(&result, path, options->log, err);
    if (status == STATUS_OK && options->files_read)
        strbuf_append(options->files_read, (Str){result.output.data, result.output.size_bytes});
    if (status == STATUS_OK && options->files_read && result.is_output_cut)
        status = error_set_at(err, STATUS_LIMIT, path, "names too many files");
    if (!result.has_exited)
        remove_partial(package_folder, options->log);
    process_result_free(&result);
    return status;
}

Status scene_import_in_child(const char *path, const char *package_folder,
                             const SceneImportOptions *options, Error *err)
{
    static const SceneImportOptions none;
    if (!options)
        options = &none;
    char program[PATH_BYTES];
    if (options->program)
        TRY(path_join(NULL, options->program, program, err));
    else
        TRY(process_executable_path(program, err));
    const char **argv = MEM_ARRAY(const char *, FIXED_ARGUMENTS + 2 * options->plugin_folder_count +
                                                    2 * options->texture_path_count);
    if (!argv)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    uint32_t count = 0;
    argv[count++] = program;
    argv[count++] = "--import-child";
    argv[count++] = "--import";
    argv[count++] = path;
    argv[count++] = "--export-package";
    argv[count++] = package_folder;
    for (uint32_t i = 0; i < options->plugin_folder_count; ++i) {
        argv[count++] = "--plugin-path";
        argv[count++] = options->plugin_folders[i];
    }
    for (uint32_t i = 0; i < options->texture_path_count; ++i) {
        argv[count++] = "--texture-path";
        argv[count++] = options->texture_paths[i];
    }
    argv[count++] = "--missing";
    argv[count++] = options->missing == SCENE_MISSING_MAGENTA ? "magenta" : "error";
    argv[count++] = "--light-units";
    argv[count++] = import_light_units_names[options->light_units];
    if (options->is_unlimited)
        argv[count++] = "--unlimited-import";
    Status status = run_child(options, argv, path, package_folder, err);
    mem_free(argv);
    return status;
}
