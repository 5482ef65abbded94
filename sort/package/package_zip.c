#include "sort/package/package_zip.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"
#include "sort/package/package.h"
#include <string.h>
#include <zip.h>

enum { IDLE_MAX = 64, PIECE_BYTES = 1 << 18 };

struct ZipPool {
    char *path; /* owned */
    Mutex mutex;
    zip_t *first; /* owned: stays open, so that names from it stay valid */
    uint64_t entry_count;
    zip_t *idle[IDLE_MAX]; /* owned; guarded by mutex */
    uint32_t idle_count;
};

/* Returns the first name that a zip has twice, or NULL. */
static const char *find_twice(zip_t *zip)
{
    zip_int64_t count = zip_get_num_entries(zip, 0);
    for (zip_int64_t i = 0; i < count; ++i) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (name && zip_name_locate(zip, name, ZIP_FL_ENC_RAW) != i)
            return name;
    }
    return NULL;
}

/* Says which name a zip has twice, so that programs differ about what it holds. libzip opens it without checks. */
static Status refuse_twice(const char *path, Error *err)
{
    zip_t *zip = zip_open(path, ZIP_RDONLY, NULL);
    const char *name = zip ? find_twice(zip) : NULL;
    error_set(err, STATUS_FORMAT, "cannot be read as a zip: it holds two files of the name '%s'",
              name ? name : "?");
    if (zip)
        zip_discard(zip);
    return STATUS_FORMAT;
}

static Status open_handle(const char *path, zip_t **out_zip, Error *err)
{
    int code = 0;
    *out_zip = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &code);
    if (*out_zip)
        return STATUS_OK;
    if (code == ZIP_ER_EXISTS)
        return refuse_twice(path, err);
    /* Said of a missing file, and of a missing field that has the size of an entry. */
    if (code == ZIP_ER_NOENT && file_exists(path))
        code = ZIP_ER_INCONS;
    zip_error_t why;
    zip_error_init_with_code(&why, code);
    Status status = code == ZIP_ER_NOENT    ? STATUS_NOT_FOUND
                    : code == ZIP_ER_MEMORY ? STATUS_NO_MEMORY
                    : code == ZIP_ER_OPEN || code == ZIP_ER_READ || code == ZIP_ER_SEEK
                        ? STATUS_IO
                        : STATUS_FORMAT;
    error_set(err, status, "cannot be read as a zip: %s", zip_error_strerror(&why));
    zip_error_fini(&why);
    return status;
}

Status zip_pool_open(const char *path, ZipPool **out_pool, Error *err)
{
    *out_pool = NULL;
    ZipPool *pool = MEM_NEW(ZipPool);
    char *copy = mem_strdup(path);
    if (!pool || !copy) {
        mem_free(pool);
        mem_free(copy);
        return error_set(err, STATUS_NO_MEMORY, "no memory to open a zip");
    }
    pool->path = copy;
    mutex_init(&pool->mutex);
    Status status = open_handle(path, &pool->first, err);
    if (status == STATUS_OK)
        pool->entry_count = (uint64_t)zip_get_num_entries(pool->first, 0);
    if (status == STATUS_OK && pool->entry_count > PACKAGE_ZIP_ENTRIES_MAX)
        status = error_set(err, STATUS_LIMIT, "the zip has more than %d entries",
                           PACKAGE_ZIP_ENTRIES_MAX);
    if (status != STATUS_OK) {
        zip_pool_close(pool);
        return status;
    }
    *out_pool = pool;
    return STATUS_OK;
}

void zip_pool_close(ZipPool *pool)
{
    if (!pool)
        return;
    for (uint32_t i = 0; i < pool->idle_count; ++i)
        zip_discard(pool->idle[i]);
    if (pool->first)
        zip_discard(pool->first);
    mutex_destroy(&pool->mutex);
    mem_free(pool->path);
    mem_free(pool);
}

static Status acquire(ZipPool *pool, zip_t **out_zip, Error *err)
{
    mutex_lock(&pool->mutex);
    *out_zip = pool->idle_count > 0 ? pool->idle[--pool->idle_count] : NULL;
    mutex_unlock(&pool->mutex);
    return *out_zip ? STATUS_OK : open_handle(pool->path, out_zip, err);
}

static void give_back(ZipPool *pool, zip_t *zip)
{
    mutex_lock(&pool->mutex);
    bool keep = pool->idle_count < IDLE_MAX;
    if (keep)
        pool->idle[pool->idle_count++] = zip;
    mutex_unlock(&pool->mutex);
    if (!keep)
        zip_discard(zip);
}

/* Unix mode of the entry, when it was made on Unix; 0 otherwise. */
static uint32_t entry_mode(zip_t *zip, uint64_t index)
{
    zip_uint8_t system = 0;
    zip_uint32_t attributes = 0;
    if (zip_file_get_external_attributes(zip, index, 0, &system, &attributes) != 0)
        return 0;
    return system == ZIP_OPSYS_UNIX ? attributes >> 16 : 0;
}

static Status check_entry(zip_t *zip, const char *name, ZipEntry *out_entry, Error *err)
{
    enum { MODE_KIND = 0170000, MODE_REGULAR = 0100000 };
    zip_int64_t index = zip_name_locate(zip, name, ZIP_FL_ENC_RAW);
    if (index < 0)
        return error_set(err, STATUS_NOT_FOUND, "no file '%s' in the zip", name);
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat_index(zip, (zip_uint64_t)index, 0, &stat) != 0)
        return error_set(err, STATUS_FORMAT, "'%s' in the zip: %s", name, zip_strerror(zip));
    const zip_uint64_t wanted =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((stat.valid & wanted) != wanted)
        return error_set(err, STATUS_FORMAT, "'%s' in the zip has no size", name);
    uint32_t kind = entry_mode(zip, (zip_uint64_t)index) & MODE_KIND;
    if (kind != 0 && kind != MODE_REGULAR)
        return error_set(err, STATUS_FORMAT, "'%s' in the zip is a link or no plain file", name);
    if (stat.encryption_method != ZIP_EM_NONE)
        return error_set(err, STATUS_UNSUPPORTED, "'%s' in the zip is encrypted", name);
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
        return error_set(err, STATUS_UNSUPPORTED,
                         "'%s' in the zip uses compression method %u; stored and deflate are read",
                         name, (unsigned)stat.comp_method);
    if (stat.size > PACKAGE_INFLATE_SLACK_BYTES &&
        stat.size / PACKAGE_INFLATE_RATIO_MAX > stat.comp_size)
        return error_set(err, STATUS_LIMIT,
                         "'%s' in the zip claims to inflate from %llu to %llu bytes", name,
                         (unsigned long long)stat.comp_size, (unsigned long long)stat.size);
    *out_entry = (ZipEntry){
        .index = (uint64_t)index, .size_bytes = stat.size, .stored_bytes = stat.comp_size};
    return STATUS_OK;
}

Status zip_pool_find(ZipPool *pool, const char *name, ZipEntry *out_entry, Error *err)
{
    zip_t *zip;
    TRY(acquire(pool, &zip, err));
    Status status = check_entry(zip, name, out_entry, err);
    give_back(pool, zip);
    return status;
}

uint64_t zip_pool_count(const ZipPool *pool)
{
    return pool->entry_count;
}

const char *zip_pool_name(ZipPool *pool, uint64_t index)
{
    mutex_lock(&pool->mutex);
    const char *name = zip_get_name(pool->first, index, ZIP_FL_ENC_RAW);
    mutex_unlock(&pool->mutex);
    return name;
}

static Status read_entry(zip_t *zip, const ZipEntry *entry, char *buffer, ZipPieceFn piece,
                         void *data, Error *err)
{
    zip_file_t *file = zip_fopen_index(zip, entry->index, 0);
    if (!file)
        return error_set(err, STATUS_FORMAT, "cannot be opened in the zip: %s", zip_strerror(zip));
    Status status = STATUS_OK;
    uint64_t total = 0;
    /* Until 0 comes back: only then has libzip compared the CRC. */
    for (;;) {
        zip_int64_t got = zip_fread(file, buffer, PIECE_BYTES);
        if (got < 0) {
            status =
                error_set(err, STATUS_FORMAT, "damaged in the zip: %s", zip_file_strerror(file));
            break;
        }
        total += (uint64_t)got;
        if (total > entry->size_bytes || (got == 0 && total < entry->size_bytes)) {
            status = error_set(err, STATUS_FORMAT,
                               "damaged in the zip: holds %s than the %llu bytes it claims",
                               got == 0 ? "less" : "more", (unsigned long long)entry->size_bytes);
            break;
        }
        if (got == 0)
            break;
        status = piece(data, buffer, (size_t)got, err);
        if (status != STATUS_OK)
            break;
    }
    zip_fclose(file);
    return status;
}

Status zip_pool_read(ZipPool *pool, const ZipEntry *entry, ZipPieceFn piece, void *data, Error *err)
{
    zip_t *zip;
    char *buffer = MEM_ARRAY(char, PIECE_BYTES);
    if (!buffer)
        return error_set(err, STATUS_NO_MEMORY, "no memory to read a zip");
    Status status = acquire(pool, &zip, err);
    if (status == STATUS_OK) {
        status = read_entry(zip, entry, buffer, piece, data, err);
        give_back(pool, zip);
    }
    mem_free(buffer);
    return status;
}
