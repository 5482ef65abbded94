#include "sort/shade/texture_store.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/process.h"
#include "base/thread.h"
#include <string.h>

enum { CONVERTED_FORMAT = 2 }; /* raise when conversion changes, so that old files are not found */

struct TextureStore {
    TexCache *cache;
    TexId *ids; /* [texture_count]; owned */
    uint32_t texture_count;
};

typedef struct Converted {
    char path[PATH_BYTES]; /* the .stex file */
    TexId id;              /* opened as it is, without a conversion; else 0 */
    Status status;
    Error error;
} Converted;

typedef struct ConvertJob {
    const TextureStoreDesc *desc;
    Converted *converted; /* [texture_count] */
} ConvertJob;

static const char *const color_space_words[] = {"auto", "srgb", "linear", "raw"};

static Status hash_file(const char *path, HashState *h, Error *err)
{
    char *data = NULL;
    size_t size = 0;
    TRY(file_read(path, SIZE_MAX / 2, &data, &size, err));
    hash128_update(h, data, size);
    mem_free(data);
    return STATUS_OK;
}

/* Numbers and contents of a UDIM set's files. */
static Status hash_set(const char *pattern, HashState *h, Error *err)
{
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    TRY(texcache_udim_list(pattern, is_present, &count, err));
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i) {
        char path[PATH_BYTES];
        if (!is_present[i])
            continue;
        hash128_update_u64(h, i);
        TRY(texcache_udim_path(pattern, i, path, sizeof path, err));
        TRY(hash_file(path, h, err));
    }
    return STATUS_OK;
}

/* Name in the cache folder: the digest of the image's bytes and of what the conversion is told. */
static Status converted_name(const TextureStoreDesc *desc, const SceneTexture *texture,
                             Converted *out)
{
    bool is_set = texcache_is_udim(texture->path);
    HashState h;
    hash128_begin(&h);
    hash128_update_u64(&h, CONVERTED_FORMAT);
    hash128_update_text(&h, color_space_words[texture->color_space]);
    hash128_update_text(&h, path_extension(texture->path)); /* picks the decoder */
    TRY(is_set ? hash_set(texture->path, &h, &out->error)
               : hash_file(texture->path, &h, &out->error));
    char digest[HASH128_TEXT_BYTES], file[HASH128_TEXT_BYTES + 16];
    hash128_text(hash128_end(&h), digest);
    snprintf(file, sizeof file, is_set ? "%s.<UDIM>.stex" : "%s.stex", digest);
    return path_join(desc->converted_folder, file, out->path, &out->error);
}

/* Whether it was converted before: of a set all files, for a conversion may have been interrupted. */
static bool is_converted(const char *source, const char *converted)
{
    if (!texcache_is_udim(source))
        return file_exists(converted);
    bool is_present[TEX_UDIM_COUNT];
    uint32_t source_count, converted_count;
    return texcache_udim_list(source, is_present, &source_count, NULL) == STATUS_OK &&
           texcache_udim_list(converted, is_present, &converted_count, NULL) == STATUS_OK &&
           source_count == converted_count;
}

static Status run_texcache(const TextureStoreDesc *desc, const SceneTexture *texture,
                           Converted *out)
{
    const char *argv[] = {desc->texcache_program,
                          "make",
                          texture->path,
                          "-o",
                          out->path,
                          "--color-space",
                          color_space_words[texture->color_space],
                          "--quiet",
                          NULL};
    ProcessDesc child = {.size_bytes = sizeof child,
                         .argv = argv,
                         .standard_output = PROCESS_DISCARD,
                         .standard_error = PROCESS_CAPTURE};
    ProcessResult result;
    TRY(process_run(&child, 0, &result, &out->error));
    Status status = STATUS_OK;
    if (!result.has_exited || result.exit_code != 0) {
        char how[96];
        const char *said = result.errors.size_bytes ? strbuf_text(&result.errors) : "no message";
        status = error_set_at(&out->error, STATUS_FORMAT, texture->name,
                              "cannot be converted: %.*s (%s)", (int)strcspn(said, "\n"), said,
                              process_result_describe(&result, how));
    }
    process_result_free(&result);
    return status;
}

/* Whether an OpenEXR file may hold tiles: it says so near its beginning (a flag of the version field; files
 * of several parts say it later). Spares environment maps in rows the start of a decoder process. */
static bool may_be_tiled_exr(const char *path)
{
    enum { TILED = 0x02, MULTIPART = 0x10 }; /* in the second byte of the version field */
    char start[8];
    size_t size_bytes = 0;
    FILE *file = fopen(path, "rb");
    if (file) {
        size_bytes = fread(start, 1, sizeof start, file);
        (void)fclose(file);
    }
    return size_bytes == sizeof start && (start[5] & (TILED | MULTIPART)) != 0;
}

/* Whether a file of this name may hold tiles and mip levels: what maketx writes, under any of its names. */
static bool may_be_ready(const char *path)
{
    static const char *const suffixes[] = {".tx", ".tif", ".tiff", ".env"};
    if (path_has_extension(path, ".exr"))
        return may_be_tiled_exr(path);
    for (size_t i = 0; i < SORT_COUNT_OF(suffixes); ++i)
        if (path_has_extension(path, suffixes[i]))
            return true;
    return false;
}

/* Converts, unless another render has done so while we waited for it: one process at a time converts an image. */
static Status convert_alone(const TextureStoreDesc *desc, const SceneTexture *texture,
                            Converted *out)
{
    char path[PATH_BYTES];
    FileLock lock;
    if (snprintf(path, sizeof path, "%s.lock", out->path) >= (int)sizeof path)
        return error_set_at(&out->error, STATUS_LIMIT, out->path, "is too long a path");
    TRY(file_lock(path, &lock, &out->error));
    Status status = STATUS_OK;
    if (!is_converted(texture->path, out->path)) {
        log_info(desc->log, "converting %s", texture->name);
        status = run_texcache(desc, texture, out);
    }
    file_unlock(&lock);
    return status;
}

/* Opens a tiled, mip-mapped image as it is. STATUS_UNSUPPORTED: it has to be converted. */
static Status open_ready(const TextureStoreDesc *desc, const SceneTexture *texture, Converted *out)
{
    TexOpenDesc open = {.size_bytes = sizeof open,
                        .path = texture->path,
                        .color_space = (SortColorSpace)texture->color_space};
    return texcache_open(desc->cache, &open, &out->id, &out->error);
}

static void convert_one(void *data, uint32_t index)
{
    ConvertJob *job = data;
    const SceneTexture *texture = &job->desc->scene->textures[index];
    Converted *out = &job->converted[index];
    if (!job->desc->is_wanted[index])
        return;
    if (path_has_extension(texture->path, ".stex")) {
        snprintf(out->path, sizeof out->path, "%s", texture->path);
        return;
    }
    if (may_be_ready(texture->path)) {
        out->status = open_ready(job->desc, texture, out);
        if (out->status != STATUS_UNSUPPORTED)
            return;
    }
    out->status = converted_name(job->desc, texture, out);
    if (out->status != STATUS_OK || is_converted(texture->path, out->path))
        return;
    out->status = convert_alone(job->desc, texture, out);
}

static Status open_all(const TextureStoreDesc *desc, const Converted *converted,
                       TextureStore *store, Error *err)
{
    for (uint32_t i = 0; i < store->texture_count; ++i) /* they are closed with the store */
        store->ids[i] = converted[i].id;
    for (uint32_t i = 0; i < store->texture_count; ++i) {
        if (!desc->is_wanted[i])
            continue;
        if (converted[i].status != STATUS_OK) {
            *err = converted[i].error;
            return converted[i].status;
        }
        if (converted[i].id.id != 0)
            continue;
        TexOpenDesc open = {.size_bytes = sizeof open,
                            .path = converted[i].path,
                            .name = desc->scene->textures[i].path};
        Status status = texcache_open(desc->cache, &open, &store->ids[i], err);
        if (status != STATUS_OK)
            return error_prefix(err, "texture '%s'", desc->scene->textures[i].name);
    }
    return STATUS_OK;
}

Status texture_store_create(const TextureStoreDesc *desc, TextureStore **out_store, Error *err)
{
    *out_store = NULL;
    uint32_t count = desc->scene->texture_count;
    TextureStore *store = MEM_NEW(TextureStore);
    Converted *converted = MEM_ARRAY(Converted, count + 1);
    TexId *ids = MEM_ARRAY(TexId, count + 1);
    Status status = STATUS_OK;
    if (!store || !converted || !ids) {
        mem_free(store);
        mem_free(ids);
        mem_free(converted);
        return error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    }
    *store = (TextureStore){.cache = desc->cache, .ids = ids, .texture_count = count};
    if (count > 0)
        status = file_make_directories(desc->converted_folder, err);
    if (status == STATUS_OK) {
        ConvertJob job = {desc, converted};
        parallel_for(desc->thread_count, count, convert_one, &job);
        status = open_all(desc, converted, store, err);
    }
    mem_free(converted);
    if (status != STATUS_OK) {
        texture_store_destroy(store);
        return status;
    }
    *out_store = store;
    return STATUS_OK;
}

void texture_store_destroy(TextureStore *store)
{
    if (!store)
        return;
    for (uint32_t i = 0; i < store->texture_count; ++i)
        if (store->ids[i].id != 0)
            texcache_close(store->cache, store->ids[i]);
    mem_free(store->ids);
    mem_free(store);
}

TexId texture_store_id(const TextureStore *store, uint32_t scene_texture)
{
    return store->ids[scene_texture];
}
