/* Folder or zip behind one face. A folder is read where it lies, piece by piece; an entry of a zip
 * is inflated into memory once, because deflate cannot seek.
 *
 * The bytes that all reads from a zip inflate together are limited by the zip's size, so that entries which share their
 * bytes (an overlapping zip bomb) do not multiply. */
#include "sort/package/package.h"

#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/package/package_zip.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct Package {
    char path[PATH_BYTES]; /* as given; a folder without scene.json behind it */
    int folder;            /* descriptor; -1 for a zip, or if there is none */
    ZipPool *zip;          /* owned; NULL for a folder */
    uint64_t zip_bytes;
    _Atomic uint64_t inflated_bytes;
};

struct PackageFile {
    int descriptor; /* folder; -1 for a zip */
    char *bytes;    /* zip: owned, [used_bytes] */
    uint64_t size_bytes, used_bytes;
};

/* --- opening -------------------------------------------------------------------------------- */

/* Returns the path of a scene.json in a folder of the zip, for a hint; NULL: there is none. */
static const char *find_inner_scene(ZipPool *zip)
{
    static const char suffix[] = "/scene.json";
    for (uint64_t i = 0; i < zip_pool_count(zip); ++i) {
        const char *name = zip_pool_name(zip, i);
        size_t bytes = name ? strlen(name) : 0;
        if (bytes >= sizeof suffix && strcmp(name + bytes - (sizeof suffix - 1), suffix) == 0)
            return name;
    }
    return NULL;
}

static Status open_zip(Package *package, Error *err)
{
    char magic[4] = {0};
    FILE *f = fopen(package->path, "rb");
    size_t got = f ? fread(magic, 1, sizeof magic, f) : 0;
    if (f)
        fclose(f);
    if (got < sizeof magic || magic[0] != 'P' || magic[1] != 'K')
        return error_set_at(err, STATUS_FORMAT, package->path,
                            "is neither a folder, nor a scene.json, nor a zip");
    TRY(file_size(package->path, &package->zip_bytes, err));
    Status status = zip_pool_open(package->path, &package->zip, err);
    if (status == STATUS_OK) {
        ZipEntry entry;
        status = zip_pool_find(package->zip, "scene.json", &entry, err);
        const char *inner = status == STATUS_NOT_FOUND ? find_inner_scene(package->zip) : NULL;
        if (inner)
            status = error_set(err, STATUS_FORMAT,
                               "holds '%s'; a package has scene.json at its root: zip the content "
                               "of the folder, not the folder",
                               inner);
        else if (status == STATUS_NOT_FOUND)
            status = error_set(err, STATUS_FORMAT, "is no scene package: there is no scene.json");
    }
    if (status != STATUS_OK && err) {
        Error copy = *err;
        error_set_at(err, status, package->path, "%s", copy.text);
    }
    return status;
}

static Status open_folder(Package *package, Error *err)
{
    char file[PATH_BYTES];
    TRY(path_join(package->path, "scene.json", file, err));
    if (!file_exists(file))
        return error_set_at(err, STATUS_FORMAT, package->path,
                            "is no scene package: there is no scene.json");
    package->folder = open(package->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return STATUS_OK;
}

Status package_open(const char *path, Package **out_package, Error *err)
{
    *out_package = NULL;
    Package *package = MEM_NEW(Package);
    if (!package)
        return error_set(err, STATUS_NO_MEMORY, "no memory to open a package");
    package->folder = -1;
    Status status = STATUS_OK;
    bool is_json = strcmp(path_basename(path), "scene.json") == 0;
    Str root = is_json ? path_dirname(path) : str_from(path);
    if (root.size_bytes >= sizeof package->path)
        status = error_set(err, STATUS_LIMIT, "the path of the package is too long");
    if (status == STATUS_OK) {
        memcpy(package->path, root.data, root.size_bytes);
        if (!file_exists(path))
            status = error_set_at(err, STATUS_NOT_FOUND, path, "no such file or folder");
        else if (file_is_directory(package->path))
            status = open_folder(package, err);
        else
            status = open_zip(package, err);
    }
    if (status != STATUS_OK) {
        package_close(package);
        return status;
    }
    *out_package = package;
    return STATUS_OK;
}

void package_close(Package *package)
{
    if (!package)
        return;
    zip_pool_close(package->zip);
    if (package->folder >= 0)
        close(package->folder);
    mem_free(package);
}

bool package_is_zip(const Package *package)
{
    return package->zip != NULL;
}

uint64_t package_zip_bytes(const Package *package)
{
    return package->zip_bytes;
}

uint64_t package_zip_count(const Package *package)
{
    return package->zip ? zip_pool_count(package->zip) : 0;
}

const char *package_zip_name(const Package *package, uint64_t index)
{
    return zip_pool_name(package->zip, index);
}

const char *package_path(const Package *package)
{
    return package->path;
}

/* --- names and sizes ------------------------------------------------------------------------ */

Status package_check_name(const char *file, Error *err)
{
    TRY(path_check_relative(file, err));
    if (strlen(file) > PACKAGE_FILE_NAME_BYTES_MAX)
        return error_set(err, STATUS_FORMAT, "the file name is longer than %d bytes",
                         PACKAGE_FILE_NAME_BYTES_MAX);
    if (strchr(file, ':'))
        return error_set(err, STATUS_FORMAT, "'%s' contains ':'", file);
    for (const char *part = file;;) {
        size_t bytes = strcspn(part, "/");
        if (bytes == 0 || bytes > PACKAGE_COMPONENT_BYTES_MAX || (bytes == 1 && part[0] == '.'))
            return error_set(err, STATUS_FORMAT,
                             "'%s' has a component that is empty, '.', or longer than %d bytes",
                             file, PACKAGE_COMPONENT_BYTES_MAX);
        if (part[bytes] == '\0')
            return STATUS_OK;
        part += bytes + 1;
    }
}

/* Refuses to inflate past what a zip of this size may become. */
static Status account(Package *package, const ZipEntry *entry, Error *err)
{
    uint64_t limit = package_growth_limit(package->zip_bytes);
    uint64_t before = atomic_fetch_add_explicit(&package->inflated_bytes, entry->size_bytes,
                                                memory_order_relaxed);
    if (before > limit || entry->size_bytes > limit - before)
        return error_set(err, STATUS_LIMIT,
                         "the zip inflates to more than %llu bytes, %d times its size and 64 MiB: "
                         "if that is meant, unpack it and render the folder",
                         (unsigned long long)limit, PACKAGE_GROWTH_RATIO_MAX);
    return STATUS_OK;
}

/* Resolves the path, to say why a file cannot be had, and for symbolic links that file_open_beneath does not follow. */
static Status open_resolved(Package *package, const char *file, int *out_descriptor, Error *err)
{
    char path[PATH_BYTES];
    Status status = path_resolve_inside(package->path, file, path, err);
    if (status == STATUS_NOT_FOUND)
        return error_set(err, STATUS_NOT_FOUND, "no file '%s' in the package", file);
    if (status != STATUS_OK)
        return error_prefix(err, "'%s'", file);
    *out_descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*out_descriptor < 0)
        return error_set(err, STATUS_IO, "'%s' cannot be opened: %s", file, strerror(errno));
    return STATUS_OK;
}

/* A plain file inside the folder, opened. */
static Status open_inside(Package *package, const char *file, int *out_descriptor,
                          uint64_t *out_size_bytes, Error *err)
{
    *out_descriptor = -1;
    *out_size_bytes = 0;
    int descriptor = package->folder < 0 ? -1 : file_open_beneath(package->folder, file);
    if (descriptor < 0)
        TRY(open_resolved(package, file, &descriptor, err));
    ASSERT(descriptor >= 0);
    struct stat stat;
    if (fstat(descriptor, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        close(descriptor);
        return error_set(err, STATUS_FORMAT, "'%s' is not a plain file", file);
    }
    *out_descriptor = descriptor;
    *out_size_bytes = (uint64_t)stat.st_size;
    return STATUS_OK;
}

Status package_file_size(Package *package, const char *file, uint64_t *out_size_bytes,
                         uint64_t *out_stored_bytes, Error *err)
{
    uint64_t stored;
    TRY(package_check_name(file, err));
    if (package->zip) {
        ZipEntry entry;
        TRY(zip_pool_find(package->zip, file, &entry, err));
        *out_size_bytes = entry.size_bytes;
        stored = entry.stored_bytes;
    } else {
        int descriptor;
        TRY(open_inside(package, file, &descriptor, out_size_bytes, err));
        close(descriptor);
        stored = *out_size_bytes;
    }
    if (out_stored_bytes)
        *out_stored_bytes = stored;
    return STATUS_OK;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Keeps the first used_bytes of an entry. */
typedef struct KeepPrefix {
    char *bytes;
    uint64_t used_bytes, position;
} KeepPrefix;

static Status keep_piece(void *data, const char *bytes, size_t size_bytes, Error *err)
{
    SORT_UNUSED(err);
    KeepPrefix *keep = data;
    if (keep->position < keep->used_bytes) {
        uint64_t room = keep->used_bytes - keep->position;
        memcpy(keep->bytes + keep->position, bytes, room < size_bytes ? (size_t)room : size_bytes);
    }
    keep->position += size_bytes;
    return STATUS_OK;
}

static Status inflate_prefix(Package *package, const char *file, PackageFile *out_file, Error *err)
{
    ZipEntry entry;
    TRY(zip_pool_find(package->zip, file, &entry, err));
    TRY(account(package, &entry, err));
    out_file->size_bytes = entry.size_bytes;
    if (out_file->used_bytes > entry.size_bytes)
        out_file->used_bytes = entry.size_bytes;
    size_t bytes;
    if (!size_add(out_file->used_bytes, 1, &bytes) ||
        !(out_file->bytes = mem_alloc_aligned(bytes, SORT_CACHE_LINE)))
        return error_set(err, STATUS_NO_MEMORY, "no memory for the %llu bytes of '%s'",
                         (unsigned long long)out_file->used_bytes, file);
    KeepPrefix keep = {.bytes = out_file->bytes, .used_bytes = out_file->used_bytes};
    Status status = zip_pool_read(package->zip, &entry, keep_piece, &keep, err);
    if (status != STATUS_OK && err) {
        Error copy = *err;
        error_set(err, status, "'%s' %s", file, copy.text);
    }
    return status;
}

Status package_file_open(Package *package, const char *file, uint64_t used_bytes,
                         PackageFile **out_file, Error *err)
{
    *out_file = NULL;
    TRY(package_check_name(file, err));
    PackageFile *f = MEM_NEW(PackageFile);
    if (!f)
        return error_set(err, STATUS_NO_MEMORY, "no memory to open '%s'", file);
    f->descriptor = -1;
    f->used_bytes = used_bytes;
    Status status = package->zip ? inflate_prefix(package, file, f, err)
                                 : open_inside(package, file, &f->descriptor, &f->size_bytes, err);
    if (status != STATUS_OK) {
        package_file_close(f);
        return status;
    }
    *out_file = f;
    return STATUS_OK;
}

bool package_file_identify(const PackageFile *f, HashState *h)
{
    const time_t settled_s = 2;
    struct stat info;
    struct timespec now;
    if (f->descriptor < 0 || fstat(f->descriptor, &info) != 0 ||
        clock_gettime(CLOCK_REALTIME, &now) != 0 || info.st_mtim.tv_sec > now.tv_sec - settled_s)
        return false;
    hash128_update_u64(h, (uint64_t)info.st_dev);
    hash128_update_u64(h, (uint64_t)info.st_ino);
    hash128_update_u64(h, (uint64_t)info.st_size);
    hash128_update_u64(h, (uint64_t)info.st_mtim.tv_sec);
    hash128_update_u64(h, (uint64_t)info.st_mtim.tv_nsec);
    return true;
}

void package_file_close(PackageFile *file)
{
    if (!file)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    mem_free(file->bytes);
    mem_free(file);
}

Status package_file_read(PackageFile *file, uint64_t offset_bytes, size_t size_bytes,
                         void *out_data, Error *err)
{
    if (offset_bytes > file->size_bytes || size_bytes > file->size_bytes - offset_bytes)
        return error_set(
            err, STATUS_FORMAT, "the file has %llu bytes, too few for %zu from byte %llu on",
            (unsigned long long)file->size_bytes, size_bytes, (unsigned long long)offset_bytes);
    if (file->bytes) {
        CHECK(offset_bytes + size_bytes <= file->used_bytes);
        memcpy(out_data, file->bytes + offset_bytes, size_bytes);
        return STATUS_OK;
    }
    char *out = out_data;
    while (size_bytes > 0) {
        /* Linux moves at most 2 GiB at once. */
        size_t piece = size_bytes < ((size_t)1 << 30) ? size_bytes : (size_t)1 << 30;
        ssize_t got = pread(file->descriptor, out, piece, (off_t)offset_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, STATUS_IO, "reading the file failed: %s", strerror(errno));
        if (got == 0)
            return error_set(err, STATUS_IO, "the file became shorter while it was read");
        ASSERT((size_t)got <= piece);
        out += got;
        offset_bytes += (uint64_t)got;
        size_bytes -= (size_t)got;
    }
    return STATUS_OK;
}

Status package_read(Package *package, const char *file, size_t max_bytes, char **out_data,
                    size_t *out_size_bytes, Error *err)
{
    *out_data = NULL;
    uint64_t size_bytes;
    TRY(package_file_size(package, file, &size_bytes, NULL, err));
    if (size_bytes > max_bytes)
        return error_set(err, STATUS_LIMIT, "'%s' has %llu bytes; at most %zu are read", file,
                         (unsigned long long)size_bytes, max_bytes);
    PackageFile *f;
    TRY(package_file_open(package, file, size_bytes, &f, err));
    CHECK(f);
    char *data = MEM_ARRAY(char, (size_t)size_bytes + 1);
    Status status = data ? package_file_read(f, 0, (size_t)size_bytes, data, err)
                         : error_set(err, STATUS_NO_MEMORY, "no memory to read '%s'", file);
    package_file_close(f);
    if (status != STATUS_OK) {
        mem_free(data);
        return status;
    }
    *out_data = data;
    *out_size_bytes = (size_t)size_bytes;
    return STATUS_OK;
}

/* --- extracting ----------------------------------------------------------------------------- */

typedef struct ExtractFile {
    FILE *stream;
    const char *folder; /* for messages: the name in it is a temporary one */
} ExtractFile;

static Status write_piece(void *data, const char *bytes, size_t size_bytes, Error *err)
{
    ExtractFile *file = data;
    if (fwrite(bytes, 1, size_bytes, file->stream) != size_bytes)
        return error_set_at(err, STATUS_IO, file->folder, "writing failed: %s", strerror(errno));
    return STATUS_OK;
}

/* Inflates to a temporary name and renames, so that nobody meets half a file. It is not forced to
 * the disk, as file_replace_commit would do: what is lost in a crash is extracted again. */
static Status extract_entry(Package *package, const ZipEntry *entry, const char *folder,
                            const char *path, Error *err)
{
    char name[64], part[PATH_BYTES];
    snprintf(name, sizeof name, ".extract-%ld-%llu", (long)getpid(),
             (unsigned long long)entry->index);
    TRY(path_join(folder, name, part, err));
    ExtractFile file = {.stream = fopen(part, "wb"), .folder = folder};
    if (!file.stream)
        return error_set_at(err, STATUS_IO, folder, "cannot be written: %s", strerror(errno));
    Status status = zip_pool_read(package->zip, entry, write_piece, &file, err);
    if (fclose(file.stream) != 0 && status == STATUS_OK)
        status = error_set_at(err, STATUS_IO, folder, "writing failed: %s", strerror(errno));
    if (status == STATUS_OK && rename(part, path) != 0)
        status = error_set_at(err, STATUS_IO, path, "cannot be written: %s", strerror(errno));
    if (status != STATUS_OK)
        (void)remove(part);
    return status;
}

Status package_extract(Package *package, const char *file, const char *folder,
                       char out_path[PATH_BYTES], Error *err)
{
    TRY(package_check_name(file, err));
    if (!package->zip) {
        int descriptor;
        uint64_t size_bytes;
        TRY(open_inside(package, file, &descriptor, &size_bytes, err));
        close(descriptor);
        return path_resolve_inside(package->path, file, out_path, err);
    }
    ZipEntry entry;
    TRY(zip_pool_find(package->zip, file, &entry, err));
    TRY(account(package, &entry, err));
    TRY(path_join(folder, file, out_path, err));
    char parent[PATH_BYTES];
    Str dirname = path_dirname(out_path);
    memcpy(parent, dirname.data, dirname.size_bytes);
    parent[dirname.size_bytes] = '\0';
    TRY(file_make_directories(parent, err));
    return extract_entry(package, &entry, folder, out_path, err);
}
