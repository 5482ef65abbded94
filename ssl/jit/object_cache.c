#include "ssl/jit/object_cache.h"
#include "base/alloc.h"
#include "base/file.h"
#include <string.h>

static const char magic[8] = "SSLOBJ1\n";

static Status object_path(const char *folder, Hash128 key, char out_path[PATH_BYTES], Error *err)
{
    char name[HASH128_TEXT_BYTES + 8];
    hash128_text(key, name);
    memcpy(name + HASH128_TEXT_BYTES - 1, ".sslobj", sizeof ".sslobj");
    return path_join(folder, name, out_path, err);
}

static bool is_intact(const char *file, size_t file_bytes, Hash128 key)
{
    ObjectHeader header;
    if (file_bytes < sizeof header)
        return false;
    memcpy(&header, file, sizeof header);
    return memcmp(header.magic, magic, sizeof magic) == 0 && hash128_equal(header.key, key) &&
           header.size_bytes == file_bytes - sizeof header &&
           hash128_equal(header.content, hash128(file + sizeof header, file_bytes - sizeof header));
}

LLVMMemoryBufferRef object_cache_load(const char *folder, Hash128 key)
{
    char path[PATH_BYTES];
    char *file = NULL;
    size_t file_bytes = 0;
    LLVMMemoryBufferRef object = NULL;
    if (object_path(folder, key, path, NULL) != STATUS_OK ||
        file_read_private(path, OBJECT_CACHE_MAX_BYTES, &file, &file_bytes, NULL) != STATUS_OK)
        return NULL;
    if (is_intact(file, file_bytes, key))
        object = LLVMCreateMemoryBufferWithMemoryRangeCopy(
            file + sizeof(ObjectHeader), file_bytes - sizeof(ObjectHeader), "cached object");
    mem_free(file);
    return object;
}

Status object_cache_store(const char *folder, Hash128 key, LLVMMemoryBufferRef object, Error *err)
{
    const char *content = LLVMGetBufferStart(object);
    size_t content_bytes = LLVMGetBufferSize(object);
    char path[PATH_BYTES];
    if (content_bytes > OBJECT_CACHE_MAX_BYTES - sizeof(ObjectHeader))
        return error_set(err, STATUS_LIMIT, "the object is too large for the cache");
    TRY(object_path(folder, key, path, err));
    ObjectHeader header = {
        .size_bytes = content_bytes, .key = key, .content = hash128(content, content_bytes)};
    memcpy(header.magic, magic, sizeof magic);
    char *file = mem_alloc(sizeof header + content_bytes, 1);
    if (!file)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, content, content_bytes);
    Status status = file_write_private(path, file, sizeof header + content_bytes, err);
    mem_free(file);
    return status;
}
