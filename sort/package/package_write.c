/* Entries to JSON and files of arrays; scene.json last. */
#define _DEFAULT_SOURCE /* flock */
#include "sort/package/package_write.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/package/package_names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { OBJECTS_MAX = 1 << 20, INSTANCES_MAX = 1 << 24 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "arrays are written as they lie in memory");

/* The sections: field, name of an entry without one, and most entries. */
static const struct {
    const char *field, *entry;
    uint32_t max;
} sections[PACKAGE_SECTION_COUNT] = {
    [PACKAGE_CAMERAS] = {"cameras", "camera", OBJECTS_MAX},
    [PACKAGE_MESHES] = {"meshes", "mesh", OBJECTS_MAX},
    [PACKAGE_CURVES] = {"curves", "curves", OBJECTS_MAX},
    [PACKAGE_INSTANCES] = {"instances", "instance", INSTANCES_MAX},
    [PACKAGE_MATERIALS] = {"materials", "material", OBJECTS_MAX},
    [PACKAGE_LIGHTS] = {"lights", "light", OBJECTS_MAX},
};

static const struct {
    const char *name;
    uint32_t size_bytes;
} numbers[] = {[PACKAGE_FLOAT32] = {"float32", 4},
               [PACKAGE_UINT32] = {"uint32", 4},
               [PACKAGE_UINT16] = {"uint16", 2}};

typedef struct Section {
    StrBuf text; /* a JSON array that is still open */
    JsonWriter json;
    NameSet names;
    uint32_t count;
} Section;

struct PackageWriter {
    Arena *arena; /* owned: names */
    Error error;  /* the first */
    StrBuf text;  /* scene.json, whose object is still open */
    JsonWriter fields;
    Section sections[PACKAGE_SECTION_COUNT];
    const Section *open; /* whose last entry is being written; or NULL */
    const char *open_name;
    FILE *arrays; /* of the open entry, from its first array on */
    uint64_t arrays_bytes;
    bool is_compressed, is_finished;
    int lock_fd; /* of the partial folder; -1: none */
    char arrays_file[64 + PACKAGE_SLUG_MAX];
    char folder[PATH_BYTES], partial[PATH_BYTES];
};

/* --- errors -------------------------------------------------------------------------------- */

Status package_writer_status(const PackageWriter *w, Error *err)
{
    if (w->error.code != STATUS_OK && err)
        *err = w->error;
    return w->error.code;
}

Status package_writer_fail(PackageWriter *w, const Error *error)
{
    CHECK(error->code != STATUS_OK);
    if (w->error.code == STATUS_OK)
        w->error = *error;
    return error->code;
}

static void fail_without_memory(PackageWriter *w)
{
    Error err = {0};
    (void)error_set(&err, STATUS_NO_MEMORY, "out of memory");
    package_writer_fail(w, &err);
}

/* --- files --------------------------------------------------------------------------------- */

Status package_writer_open_file(PackageWriter *w, const char *file, FILE **out_stream, Error *err)
{
    char path[PATH_BYTES], parent[PATH_BYTES];
    *out_stream = NULL;
    TRY(path_join(w->partial, file, path, err));
    Str folder = path_dirname(path);
    snprintf(parent, sizeof parent, "%.*s", STR_ARG(folder));
    TRY(file_make_directories(parent, err));
    *out_stream = fopen(path, "wb");
    if (!*out_stream)
        return error_set_at(err, STATUS_IO, path, "cannot be created: %s", strerror(errno));
    return STATUS_OK;
}

Status package_writer_close_file(FILE *stream, const char *file, Error *err)
{
    bool had_error = ferror(stream) != 0;
    if (fclose(stream) != 0 || had_error)
        return error_set_at(err, STATUS_IO, file, "cannot be written: %s", strerror(errno));
    return STATUS_OK;
}

/* --- entries ------------------------------------------------------------------------------- */

uint32_t package_writer_count(const PackageWriter *w, PackageSection section)
{
    return w->sections[section].count;
}

JsonWriter *package_writer_fields(PackageWriter *w)
{
    return &w->fields;
}

JsonWriter *package_writer_begin(PackageWriter *w, PackageSection section, const char *wanted_name,
                                 const char **out_name)
{
    ASSERT((size_t)section < SORT_COUNT_OF(w->sections));
    Section *s = &w->sections[section];
    CHECK(!w->open);
    if (s->count == sections[section].max) {
        Error err = {0};
        (void)error_set(&err, STATUS_LIMIT, "more than %u %s", s->count, sections[section].field);
        package_writer_fail(w, &err);
    }
    w->open_name = package_unique_name(w->arena, &s->names, wanted_name ? wanted_name : "",
                                       sections[section].entry, s->count);
    if (!w->open_name) {
        fail_without_memory(w);
        w->open_name = "";
    }
    w->open = s;
    json_write_object(&s->json, NULL);
    json_write_string(&s->json, "name", w->open_name);
    if (out_name)
        *out_name = w->open_name;
    return &s->json;
}

void package_writer_end(PackageWriter *w)
{
    CHECK(w->open);
    Section *s = &w->sections[w->open - w->sections];
    CHECK(s->json.depth == 2);
    json_write_end(&s->json);
    ++s->count;
    Error err = {0};
    if (w->arrays && package_writer_close_file(w->arrays, w->arrays_file, &err) != STATUS_OK)
        package_writer_fail(w, &err);
    w->arrays = NULL;
    w->arrays_bytes = 0;
    w->open = NULL;
}

/* The file of the open entry's arrays. */
static Status open_arrays(PackageWriter *w, Error *err)
{
    if (w->arrays)
        return STATUS_OK;
    char slug[PACKAGE_SLUG_MAX + 1];
    package_slug(w->open_name, slug);
    snprintf(w->arrays_file, sizeof w->arrays_file, "%s/%04u_%s.bin",
             sections[w->open - w->sections].field, w->open->count, slug);
    return package_writer_open_file(w, w->arrays_file, &w->arrays, err);
}

/* *out_stored_bytes: what they take in the file. */
static Status write_values(PackageWriter *w, const void *values, size_t size_bytes,
                           uint64_t *out_stored_bytes, Error *err)
{
    TRY(open_arrays(w, err));
    uLongf stored = size_bytes;
    if (!w->is_compressed) {
        fwrite(values, 1, size_bytes, w->arrays);
    } else {
        stored = compressBound(size_bytes);
        Bytef *buffer = mem_alloc(stored, 1);
        if (!buffer)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        int result = compress2(buffer, &stored, values, size_bytes, Z_BEST_COMPRESSION);
        if (result == Z_OK)
            fwrite(buffer, 1, stored, w->arrays);
        mem_free(buffer);
        if (result != Z_OK)
            return error_set(err, STATUS_NO_MEMORY, "zlib cannot compress: %s", zError(result));
    }
    *out_stored_bytes = stored;
    return STATUS_OK;
}

void package_writer_array(PackageWriter *w, const char *field, PackageNumber type,
                          uint32_t components, uint32_t count, const void *values)
{
    CHECK(w->open && components >= 1 && components <= 4);
    JsonWriter *json = &w->sections[w->open - w->sections].json;
    uint64_t offset = w->arrays_bytes, stored = 0;
    Error err = {0};
    ASSERT((size_t)type < SORT_COUNT_OF(numbers));
    size_t size_bytes = (size_t)count * components * numbers[type].size_bytes;
    if (w->error.code == STATUS_OK &&
        write_values(w, values, size_bytes, &stored, &err) != STATUS_OK)
        package_writer_fail(w, &err);
    w->arrays_bytes += stored;
    json_write_object(json, field);
    json_write_string(json, "file", w->arrays_file);
    json_write_u64(json, "offset_bytes", offset);
    json_write_string(json, "type", numbers[type].name);
    json_write_u64(json, "components", components);
    json_write_u64(json, "count", count);
    if (w->is_compressed) {
        json_write_string(json, "compression", "zlib");
        json_write_u64(json, "stored_bytes", stored);
    }
    json_write_end(json);
}

/* --- create and destroy -------------------------------------------------------------------- */

/* In the folder until it is a package: that a killed writer left it behind, and not a user who has called it so. */
static const char partial_mark[] = ".unfinished-sort-package";

/* Empties what a dead writer of this user left; false when it is somebody's. The folder is locked while it is
 * written. */
static bool take_over_partial(PackageWriter *w)
{
    struct stat folder, mark;
    Error ignored = {0};
    int fd = open(w->partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_ours = fstat(fd, &folder) == 0 && folder.st_uid == geteuid() &&
                   fstatat(fd, partial_mark, &mark, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(mark.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    int content = is_ours ? dup(fd) : -1;
    is_ours = content >= 0 && file_empty_directory(content, w->partial, &ignored) == STATUS_OK;
    if (is_ours)
        w->lock_fd = fd;
    else
        (void)close(fd);
    return is_ours;
}

static Status mark_partial(PackageWriter *w, Error *err)
{
    if (w->lock_fd < 0) {
        w->lock_fd = open(w->partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (w->lock_fd >= 0)
            (void)flock(w->lock_fd, LOCK_EX | LOCK_NB);
    }
    int fd = w->lock_fd < 0
                 ? -1
                 : openat(w->lock_fd, partial_mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set_at(err, STATUS_IO, w->partial, "cannot be written: %s", strerror(errno));
    (void)close(fd);
    return STATUS_OK;
}

static Status make_partial_folder(PackageWriter *w, Error *err)
{
    char parent[PATH_BYTES];
    Str folder = path_dirname(w->partial);
    snprintf(parent, sizeof parent, "%.*s", STR_ARG(folder));
    TRY(file_make_directories(parent, err));
    if (mkdir(w->partial, 0777) == 0 || (errno == EEXIST && take_over_partial(w)))
        return mark_partial(w, err);
    errno = file_exists(w->partial) ? EEXIST : errno;
    Status status = error_set_at(err, errno == EEXIST ? STATUS_INVALID : STATUS_IO, w->partial,
                                 "cannot be created: %s", strerror(errno));
    w->partial[0] = '\0'; /* not ours to remove */
    return status;
}

/* Without slashes at the end. */
static Status copy_path(const char *from, char out[PATH_BYTES], Error *err)
{
    TRY(path_join(NULL, from, out, err));
    size_t size = strlen(out);
    while (size > 1 && out[size - 1] == '/')
        out[--size] = '\0';
    return STATUS_OK;
}

Status package_partial_folder(const char *folder, char out_path[PATH_BYTES], Error *err)
{
    TRY(copy_path(folder, out_path, err));
    size_t size = strlen(out_path);
    int added = snprintf(out_path + size, PATH_BYTES - size, ".partial");
    if (added < 0 || size + (size_t)added >= PATH_BYTES)
        return error_set_at(err, STATUS_LIMIT, folder, "the path is too long");
    return STATUS_OK;
}

static Status begin_package(PackageWriter *w, const char *folder, Error *err)
{
    TRY(copy_path(folder, w->folder, err));
    if (file_exists(w->folder))
        return error_set_at(err, STATUS_INVALID, w->folder, "is there already");
    char partial[PATH_BYTES];
    TRY(package_partial_folder(w->folder, partial, err));
    memcpy(w->partial, partial, sizeof partial);
    return make_partial_folder(w, err);
}

Status package_writer_create(const PackageWriteDesc *desc, PackageWriter **out_writer, Error *err)
{
    *out_writer = NULL;
    PackageWriter *w = MEM_NEW(PackageWriter);
    if (!w)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    w->lock_fd = -1;
    w->is_compressed = desc->is_compressed;
    w->arena = arena_create(0, 0);
    Status status = w->arena ? begin_package(w, desc->folder, err)
                             : error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status != STATUS_OK) {
        package_writer_destroy(w);
        return status;
    }
    w->fields = json_writer(&w->text, JSON_INDENTED);
    json_write_object(&w->fields, NULL);
    json_write_u64(&w->fields, "sort_package", 1);
    for (int i = 0; i < PACKAGE_SECTION_COUNT; ++i) {
        Section *s = &w->sections[i];
        s->json = json_writer(&s->text, JSON_INDENTED);
        json_write_array(&s->json, NULL);
    }
    *out_writer = w;
    return STATUS_OK;
}

void package_writer_destroy(PackageWriter *w)
{
    if (!w)
        return;
    if (w->arrays)
        (void)fclose(w->arrays);
    if (!w->is_finished && w->partial[0])
        (void)!file_remove_tree(w->partial, NULL);
    for (int i = 0; i < PACKAGE_SECTION_COUNT; ++i) {
        mem_free(w->sections[i].names.hashes);
        strbuf_free(&w->sections[i].text);
    }
    strbuf_free(&w->text);
    if (w->lock_fd >= 0)
        (void)close(w->lock_fd);
    arena_destroy(w->arena);
    mem_free(w);
}

/* --- finish -------------------------------------------------------------------------------- */

/* Puts the sections behind the other fields. */
static Status write_json(PackageWriter *w, Error *err)
{
    CHECK(w->fields.depth == 1);
    bool failed = false;
    for (int i = 0; i < PACKAGE_SECTION_COUNT; ++i) {
        Section *s = &w->sections[i];
        json_write_end(&s->json);
        strbuf_printf(&w->text, ",\n  \"%s\": ", sections[i].field);
        strbuf_append(&w->text, (Str){s->text.data, s->text.size_bytes});
        failed = failed || s->text.failed;
    }
    json_write_end(&w->fields);
    strbuf_append_char(&w->text, '\n');
    if (failed || w->text.failed)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    char path[PATH_BYTES];
    TRY(path_join(w->partial, "scene.json", path, err));
    return file_write(path, w->text.data, w->text.size_bytes, err);
}

Status package_writer_finish(PackageWriter *w, Error *err)
{
    CHECK(!w->is_finished);
    TRY(package_writer_status(w, err));
    CHECK(!w->open);
    TRY(write_json(w, err));
    (void)unlinkat(w->lock_fd, partial_mark, 0);
    if (rename(w->partial, w->folder) != 0)
        return error_set_at(err, STATUS_IO, w->folder, "cannot be created: %s", strerror(errno));
    w->is_finished = true;
    return STATUS_OK;
}
