/* Threads take textures from a list, convert and open them, each with a converter process of its own.
 *
 *   WAITING --taken by a thread--> UNDER_WAY --> OPEN, or FAILED with an error
 *
 * `lock` guards all states, lists and counts; it is not held while a texture is converted or opened. An id is
 * published by an atomic store, and is not taken back before the end. */
#include "sort/shade/texture_store.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/sandbox.h"
#include "base/thread.h"
#include "sort/shade/texture_command.h"
#include "textures/converter.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CONVERTED_FORMAT = 4, /* raise when conversion changes, so that old files are not found */
    LOCK_POLL_NS = 10000000,
    WORKERS_MAX = 64
};

#define IMAGE_BYTES_MAX ((uint64_t)64 << 30)

typedef enum EntryState { ENTRY_WAITING, ENTRY_UNDER_WAY, ENTRY_OPEN, ENTRY_FAILED } EntryState;

/* A fiber or thread that waits for a texture; it lies on the waiting stack. */
typedef struct Awaiting {
    Waiter *waiter;
    struct Awaiting *next;
} Awaiting;

typedef struct StoreEntry {
    _Atomic uint32_t id; /* 0: it is not open */
    EntryState state;    /* lock, as all below */
    bool is_asked_for;
    char digest[HASH128_TEXT_BYTES]; /* the name of the converted file; "": it has none (yet) */
    Awaiting *awaiting;
    Error error; /* FAILED */
} StoreEntry;

typedef struct StoreWorker {
    TextureStore *store;
    Thread *thread;
    Converter *converter; /* owned */
} StoreWorker;

struct TextureStore {
    TextureStoreDesc desc;
    char folder[PATH_BYTES];
    Arena *command;      /* owned; what converters are started by lies in it */
    StoreEntry *entries; /* owned; [count] */
    uint32_t count;
    StoreWorker workers[WORKERS_MAX];
    ConverterDesc converter;
    uint32_t worker_count, conversion_threads;
    uint64_t begin_ns;

    Mutex lock;
    Cond settled;
    uint32_t *asked; /* owned; [count] in the order in which they were asked for */
    uint32_t asked_count, asked_next;
    uint32_t next; /* the first that nobody may have looked at */
    uint32_t unsettled_count;
    uint32_t converted;
    uint64_t end_ns;
    _Atomic bool has_failed, has_given_up, is_stopping;
};

static const char *const color_space_words[] = {"auto", "srgb", "linear", "raw"};

static bool is_stopped(void *data)
{
    const TextureStore *store = data;
    return atomic_load(&store->is_stopping) ||
           (store->desc.cancel && atomic_load(store->desc.cancel));
}

/* --- the name of a converted texture ---------------------------------------------------------------- */

static Status hash_file(const char *path, HashState *h, Error *err)
{
    uint64_t size_bytes;
    TRY(file_size(path, &size_bytes, err));
    if (size_bytes > IMAGE_BYTES_MAX)
        return error_set_at(err, STATUS_LIMIT, path,
                            "is %" PRIu64 " bytes long; images of at most %" PRIu64
                            " bytes are converted",
                            size_bytes, IMAGE_BYTES_MAX);
    return file_hash(path, h, err);
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

/* The digest of the image's bytes and of what the conversion is told. */
static Status digest_image(const SceneTexture *texture, char out_digest[HASH128_TEXT_BYTES],
                           Error *err)
{
    HashState h;
    hash128_begin(&h);
    hash128_update_u64(&h, CONVERTED_FORMAT);
    hash128_update_text(&h, color_space_words[texture->color_space]);
    hash128_update_text(&h, path_extension(texture->path)); /* picks the decoder */
    TRY(texcache_is_udim(texture->path) ? hash_set(texture->path, &h, err)
                                        : hash_file(texture->path, &h, err));
    hash128_text(hash128_end(&h), out_digest);
    return STATUS_OK;
}

static Status converted_path(const TextureStore *store, const SceneTexture *texture,
                             const char *digest, char out_path[PATH_BYTES], Error *err)
{
    char file[HASH128_TEXT_BYTES + 16];
    snprintf(file, sizeof file, texcache_is_udim(texture->path) ? "%s.<UDIM>.stex" : "%s.stex",
             digest);
    return path_join(store->folder, file, out_path, err);
}

/* A file of the folder that is to be made (anew). */
typedef bool (*IsWanting)(const char *converted);

/* It was not converted before, or what has its name is nothing that we trust. */
static bool is_absent(const char *converted)
{
    return !file_is_private(converted);
}

static bool is_damaged(const char *converted)
{
    TexVerifyReport report;
    return !file_is_private(converted) ||
           texcache_file_verify(converted, NULL, NULL, &report, NULL) != STATUS_OK ||
           report.damages > 0;
}

/* Returns whether a converted file is absent. Each file of a UDIM set is checked, because a conversion may have been
 * interrupted. */
static bool is_any_absent(const char *source, const char *converted)
{
    bool is_present[TEX_UDIM_COUNT], is_any = false;
    uint32_t count;
    if (!texcache_is_udim(source))
        return is_absent(converted);
    if (texcache_udim_list(source, is_present, &count, NULL) != STATUS_OK)
        return true; /* which will say why */
    for (uint32_t i = 0; i < TEX_UDIM_COUNT && !is_any; ++i) {
        char path[PATH_BYTES];
        is_any = is_present[i] &&
                 (texcache_udim_path(converted, i, path, sizeof path, NULL) != STATUS_OK ||
                  is_absent(path));
    }
    return is_any;
}

/* --- conversion ------------------------------------------------------------------------------------- */

/* Reports a file under that name that is damaged or not trusted, and removes it in the latter case. */
static Status clear_place(const TextureStore *store, const SceneTexture *texture, const char *path,
                          Error *err)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return STATUS_OK;
    bool is_private = file_is_private(path);
    log_warning(store->desc.log, "%s: its converted file %s is %s; it is made anew", texture->name,
                path, is_private ? "damaged" : "not this user's own");
    return is_private ? STATUS_OK
                      : file_remove(path, err); /* it would be followed, or written to */
}

static Status run_converter(TextureStore *store, Converter *converter, const SceneTexture *texture,
                            const char *from, const char *to, Error *err)
{
    Error why = {0};
    TRY(clear_place(store, texture, to, err));
    ConverterWish wish = {.source_path = from,
                          .output_path = to,
                          .color_space = (SortColorSpace)texture->color_space,
                          .thread_count = store->conversion_threads};
    Status status = converter_run(converter, &wish, &why);
    if (status == STATUS_OK || status == STATUS_CANCELLED)
        return status == STATUS_OK ? status : error_set(err, status, "cancelled");
    bool is_about_source = why.path[0] == '\0' || strcmp(why.path, texture->path) == 0;
    return error_set_at(err, status, texture->name, "cannot be converted: %s%s%s",
                        is_about_source ? "" : why.path, is_about_source ? "" : ": ", why.text);
}

/* Those files that are wanting; *out_is_any: there were some. */
static Status convert_files(TextureStore *store, Converter *converter, const SceneTexture *texture,
                            const char *path, IsWanting is_wanting, bool *out_is_any, Error *err)
{
    bool is_present[TEX_UDIM_COUNT] = {true}; /* which is the only file of what is no set */
    bool is_set = texcache_is_udim(texture->path);
    uint32_t count;
    *out_is_any = false;
    if (is_set)
        TRY(texcache_udim_list(texture->path, is_present, &count, err));
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i) {
        char from[PATH_BYTES], to[PATH_BYTES];
        if (!is_present[i])
            continue;
        if (is_set) {
            TRY(texcache_udim_path(texture->path, i, from, sizeof from, err));
            TRY(texcache_udim_path(path, i, to, sizeof to, err));
        }
        if (!is_wanting(is_set ? to : path))
            continue;
        *out_is_any = true;
        TRY(run_converter(store, converter, texture, is_set ? from : texture->path,
                          is_set ? to : path, err));
    }
    return STATUS_OK;
}

/* One process at a time converts an image. Waits for the lock, but not when all is to end. */
static Status lock_image(TextureStore *store, const char *digest, FileLock *out_lock, Error *err)
{
    char name[32], path[PATH_BYTES];
    /* One lock for images whose digests begin alike, so that a folder has few of them. */
    snprintf(name, sizeof name, "%.2s.lock", digest);
    TRY(path_join(store->folder, name, path, err));
    for (;;) {
        bool is_locked;
        TRY(file_try_lock(path, out_lock, &is_locked, err));
        if (is_locked)
            return STATUS_OK;
        if (is_stopped(store))
            return error_set(err, STATUS_CANCELLED, "cancelled");
        clock_sleep_ns(LOCK_POLL_NS);
    }
}

/* Under the lock of the image. */
static Status convert_and_count(TextureStore *store, Converter *converter,
                                const SceneTexture *texture, const char *path, IsWanting is_wanting,
                                Error *err)
{
    bool is_any;
    TRY(convert_files(store, converter, texture, path, is_wanting, &is_any, err));
    mutex_lock(&store->lock);
    store->converted += is_any;
    mutex_unlock(&store->lock);
    return STATUS_OK;
}

/* Converts, unless another render has done so while we waited for it. */
static Status convert_alone(StoreWorker *w, const SceneTexture *texture, const char *digest,
                            const char *path, Error *err)
{
    TextureStore *store = w->store;
    FileLock lock;
    TRY(lock_image(store, digest, &lock, err));
    Status status = STATUS_OK;
    if (is_any_absent(texture->path, path)) {
        log_info(store->desc.log, "converting %s", texture->name);
        status = convert_and_count(store, w->converter, texture, path, is_absent, err);
    }
    file_unlock(&lock);
    return status;
}

/* Converts those files anew that are damaged, unless another thread or render has done so while we waited for it. */
static Status convert_damaged(TextureStore *store, Converter *converter,
                              const SceneTexture *texture, const char *digest, const char *path,
                              Error *err)
{
    FileLock lock;
    char now[HASH128_TEXT_BYTES];
    TRY(digest_image(texture, now, err));
    if (strcmp(now, digest) != 0)
        return error_set_at(
            err, STATUS_IO, texture->name,
            "has changed since it was converted, and its converted file is damaged");
    TRY(lock_image(store, digest, &lock, err));
    Status status = convert_and_count(store, converter, texture, path, is_damaged, err);
    file_unlock(&lock);
    return status;
}

/* Under the lock of the store: the texture that was converted to this file; store->count: none. */
static uint32_t find_converted(const TextureStore *store, const char *path)
{
    uint32_t i = 0;
    while (i < store->count && (store->entries[i].digest[0] == '\0' ||
                                !strstr(path_basename(path), store->entries[i].digest)))
        ++i;
    return i;
}

/* TexOpenDesc.remake: in a thread of the cache's. */
static bool remake_converted(void *data, const char *path)
{
    TextureStore *store = data;
    Error err = {0};
    Converter *converter = NULL;
    char pattern[PATH_BYTES], digest[HASH128_TEXT_BYTES];
    mutex_lock(&store->lock);
    uint32_t index = find_converted(store, path);
    if (index < store->count)
        memcpy(digest, store->entries[index].digest, sizeof digest);
    mutex_unlock(&store->lock);
    if (index == store->count)
        return false;
    const SceneTexture *texture = &store->desc.scene->textures[index];
    Status status = converter_create(&store->converter, &converter, &err);
    if (status == STATUS_OK)
        status = converted_path(store, texture, digest, pattern, &err);
    if (status == STATUS_OK)
        status = convert_damaged(store, converter, texture, digest, pattern, &err);
    converter_destroy(converter);
    if (status != STATUS_OK && status != STATUS_CANCELLED)
        log_error(store->desc.log, "%s: %s", err.path, err.text);
    return status == STATUS_OK;
}

/* --- opening ---------------------------------------------------------------------------------------- */

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

static Status open_texture(const TextureStore *store, const SceneTexture *texture,
                           const TexOpenDesc *open, TexId *out_id, Error *err)
{
    Status status = texcache_open(store->desc.cache, open, out_id, err);
    return status == STATUS_OK ? status : error_prefix(err, "texture '%s'", texture->name);
}

/* Opens a tiled, mip-mapped image as it is. STATUS_UNSUPPORTED: it has to be converted. */
static Status open_ready(const TextureStore *store, const SceneTexture *texture, TexId *out_id,
                         Error *err)
{
    TexOpenDesc open = {.size_bytes = sizeof open,
                        .path = texture->path,
                        .color_space = (SortColorSpace)texture->color_space};
    return texcache_open(store->desc.cache, &open, out_id, err);
}

/* Converts if that is needed, and opens; a converted file that is damaged is made anew. */
static Status open_converted(StoreWorker *w, uint32_t index, TexId *out_id, Error *err)
{
    TextureStore *store = w->store;
    const SceneTexture *texture = &store->desc.scene->textures[index];
    char path[PATH_BYTES], digest[HASH128_TEXT_BYTES];
    TRY(digest_image(texture, digest, err));
    TRY(converted_path(store, texture, digest, path, err));
    mutex_lock(&store->lock);
    memcpy(store->entries[index].digest, digest, sizeof digest);
    mutex_unlock(&store->lock);
    if (is_any_absent(texture->path, path))
        TRY(convert_alone(w, texture, digest, path, err));
    TexOpenDesc open = {.size_bytes = sizeof open,
                        .path = path,
                        .name = texture->path,
                        .remake = remake_converted,
                        .remake_data = store};
    Status status = open_texture(store, texture, &open, out_id, err);
    if (status != STATUS_FORMAT && status != STATUS_UNSUPPORTED && status != STATUS_NOT_FOUND)
        return status;
    TRY(convert_damaged(store, w->converter, texture, digest, path, err));
    return open_texture(store, texture, &open, out_id, err);
}

static Status prepare_texture(StoreWorker *w, uint32_t index, TexId *out_id, Error *err)
{
    const TextureStore *store = w->store;
    const SceneTexture *texture = &store->desc.scene->textures[index];
    if (path_has_extension(texture->path, ".stex")) {
        TexOpenDesc open = {
            .size_bytes = sizeof open, .path = texture->path, .name = texture->path};
        return open_texture(store, texture, &open, out_id, err);
    }
    Status ready =
        may_be_ready(texture->path) ? open_ready(store, texture, out_id, err) : STATUS_UNSUPPORTED;
    return ready == STATUS_UNSUPPORTED ? open_converted(w, index, out_id, err) : ready;
}

/* --- threads ---------------------------------------------------------------------------------------- */

/* Under the lock. Returns who waits, to be woken without it. */
static Awaiting *settle(TextureStore *store, StoreEntry *entry, Status status, TexId id,
                        const Error *error)
{
    Awaiting *awaiting = entry->awaiting;
    ASSERT(entry->state == ENTRY_UNDER_WAY && store->unsettled_count > 0);
    entry->awaiting = NULL;
    entry->state = status == STATUS_OK ? ENTRY_OPEN : ENTRY_FAILED;
    if (status == STATUS_OK) {
        atomic_store_explicit(&entry->id, id.id, memory_order_release);
    } else {
        entry->error = *error;
        entry->error.code = status;
        atomic_store(&store->has_failed, true);
        if (status == STATUS_CANCELLED && awaiting)
            atomic_store(&store->has_given_up, true);
    }
    if (--store->unsettled_count == 0) {
        store->end_ns = clock_now_ns();
        cond_broadcast(&store->settled);
    }
    return awaiting;
}

static void wake(Awaiting *awaiting)
{
    while (awaiting) {
        Awaiting *next = awaiting->next; /* gone once its waiter is fired */
        waiter_fire(awaiting->waiter);
        awaiting = next;
    }
}

/* Under the lock: the next texture that nobody is at; store->count: none. */
static uint32_t take_texture(TextureStore *store)
{
    uint32_t taken = store->count;
    while (taken == store->count && store->asked_next < store->asked_count) {
        uint32_t asked = store->asked[store->asked_next++];
        if (store->entries[asked].state == ENTRY_WAITING)
            taken = asked;
    }
    while (taken == store->count && store->next < store->count) {
        uint32_t next = store->next++;
        if (store->desc.is_wanted[next] && store->entries[next].state == ENTRY_WAITING)
            taken = next;
    }
    ASSERT(store->next <= store->count && store->asked_next <= store->asked_count);
    if (taken < store->count)
        store->entries[taken].state = ENTRY_UNDER_WAY;
    return taken;
}

static void run_worker(void *data)
{
    StoreWorker *w = data;
    TextureStore *store = w->store;
    for (;;) {
        mutex_lock(&store->lock);
        uint32_t index = take_texture(store);
        mutex_unlock(&store->lock);
        if (index == store->count)
            return;
        Error err = {0};
        TexId id = {0};
        Status status = is_stopped(store) ? error_set(&err, STATUS_CANCELLED, "cancelled")
                                          : prepare_texture(w, index, &id, &err);
        mutex_lock(&store->lock);
        Awaiting *awaiting = settle(store, &store->entries[index], status, id, &err);
        mutex_unlock(&store->lock);
        wake(awaiting);
    }
}

static uint64_t memory_limit(void)
{
#if SORT_ASAN || SORT_TSAN /* whose shadow is larger than any machine */
    return 0;
#endif
    const uint64_t least = (uint64_t)2 << 30;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t half = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : 0;
    return half > least ? half : least;
}

static Status start_workers(TextureStore *store, uint32_t wanted_count, Error *err)
{
    uint32_t threads = store->desc.thread_count ? store->desc.thread_count : thread_cpu_count();
    uint32_t count = threads < wanted_count ? threads : wanted_count;
    count = count < WORKERS_MAX ? count : WORKERS_MAX;
    store->conversion_threads = count > 0 ? threads / count : 1;
    TextureCommandDesc convert = {.size_bytes = sizeof convert,
                                  .program = store->desc.texcache_program,
                                  .task = "convert",
                                  .scene = store->desc.scene,
                                  .writable = store->folder};
    const char *const *command;
    store->command = arena_create(0, 0);
    if (!store->command)
        return error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    TRY(texture_command(store->command, &convert, &command, err));
    if (!sandbox_is_supported())
        log_info(store->desc.log,
                 "images are decoded without a sandbox: this kernel has no Landlock");
    store->converter = (ConverterDesc){.size_bytes = sizeof store->converter,
                                       .command = command,
                                       .memory_limit_bytes = memory_limit(),
                                       .is_cancelled = is_stopped,
                                       .data = store};
    for (uint32_t i = 0; i < count; ++i) {
        StoreWorker *w = &store->workers[i];
        w->store = store;
        TRY(converter_create(&store->converter, &w->converter, err));
        Status status = thread_create("texture-store", 0, run_worker, w, &w->thread, err);
        if (status != STATUS_OK) {
            converter_destroy(w->converter);
            return store->worker_count > 0 ? STATUS_OK : status;
        }
        ++store->worker_count;
    }
    return STATUS_OK;
}

/* --- create and destroy ----------------------------------------------------------------------------- */

Status texture_store_create(const TextureStoreDesc *desc, TextureStore **out_store, Error *err)
{
    *out_store = NULL;
    uint32_t count = desc->scene->texture_count;
    TextureStore *store = MEM_NEW(TextureStore);
    if (!store)
        return error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    store->desc = *desc;
    store->count = count;
    store->begin_ns = store->end_ns = clock_now_ns();
    mutex_init(&store->lock);
    cond_init(&store->settled);
    store->entries = MEM_ARRAY(StoreEntry, count + 1);
    store->asked = MEM_ARRAY(uint32_t, count + 1);
    bool *is_wanted = MEM_ARRAY(bool, count + 1);
    store->desc.is_wanted = is_wanted;
    Status status = store->entries && store->asked && is_wanted
                        ? STATUS_OK
                        : error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    for (uint32_t i = 0; status == STATUS_OK && i < count; ++i) {
        is_wanted[i] = desc->is_wanted[i];
        store->unsettled_count += is_wanted[i];
    }
    uint32_t wanted_count = store->unsettled_count;
    if (status == STATUS_OK && snprintf(store->folder, sizeof store->folder, "%s",
                                        desc->converted_folder) >= (int)sizeof store->folder)
        status = error_set_at(err, STATUS_LIMIT, desc->converted_folder, "is too long a path");
    if (status == STATUS_OK && wanted_count > 0)
        status = file_make_private_directory(store->folder, err);
    if (status == STATUS_OK)
        status = start_workers(store, wanted_count, err);
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
    atomic_store(&store->is_stopping, true);
    for (uint32_t i = 0; i < store->worker_count; ++i) {
        thread_join(store->workers[i].thread);
        converter_destroy(store->workers[i].converter);
    }
    for (uint32_t i = 0; store->entries && i < store->count; ++i) {
        TexId id = texture_store_id(store, i);
        if (id.id != 0)
            texcache_close(store->desc.cache, id);
    }
    union {
        const bool *constant;
        bool *owned;
    } is_wanted = {.constant = store->desc.is_wanted};
    mem_free(is_wanted.owned);
    mem_free(store->entries);
    mem_free(store->asked);
    arena_destroy(store->command);
    cond_destroy(&store->settled);
    mutex_destroy(&store->lock);
    mem_free(store);
}

/* --- asking ----------------------------------------------------------------------------------------- */

/* Under the lock. */
static void ask(TextureStore *store, uint32_t scene_texture)
{
    StoreEntry *entry = &store->entries[scene_texture];
    if (entry->is_asked_for || !store->desc.is_wanted[scene_texture])
        return;
    ASSERT(store->asked_count < store->count);
    entry->is_asked_for = true;
    store->asked[store->asked_count++] = scene_texture;
}

void texture_store_ask(TextureStore *store, uint32_t scene_texture)
{
    mutex_lock(&store->lock);
    ask(store, scene_texture);
    mutex_unlock(&store->lock);
}

TexId texture_store_id(const TextureStore *store, uint32_t scene_texture)
{
    ASSERT(scene_texture < store->count);
    return (TexId){atomic_load_explicit(&store->entries[scene_texture].id, memory_order_acquire)};
}

TexId texture_store_await(TextureStore *store, uint32_t scene_texture, Waiter *waiter)
{
    TexId id = store ? texture_store_id(store, scene_texture) : (TexId){0};
    if (SORT_LIKELY(id.id != 0) || !store || !store->desc.is_wanted[scene_texture])
        return id;
    StoreEntry *entry = &store->entries[scene_texture];
    Awaiting me = {.waiter = waiter};
    mutex_lock(&store->lock);
    bool must_wait = entry->state == ENTRY_WAITING || entry->state == ENTRY_UNDER_WAY;
    if (must_wait) {
        ask(store, scene_texture);
        waiter_arm(waiter, 1);
        me.next = entry->awaiting;
        entry->awaiting = &me;
    } else if (entry->state == ENTRY_FAILED && entry->error.code == STATUS_CANCELLED) {
        atomic_store(&store->has_given_up, true);
    }
    mutex_unlock(&store->lock);
    if (must_wait)
        waiter_wait(waiter);
    return texture_store_id(store, scene_texture);
}

bool texture_store_has_failed(const TextureStore *store)
{
    return atomic_load_explicit(&store->has_failed, memory_order_relaxed);
}

bool texture_store_gave_up(const TextureStore *store)
{
    return atomic_load(&store->has_given_up);
}

static void wait_for_all(TextureStore *store)
{
    mutex_lock(&store->lock);
    while (store->unsettled_count > 0)
        cond_wait(&store->settled, &store->lock);
    mutex_unlock(&store->lock); /* nothing changes any more */
}

const Error *texture_store_failure(TextureStore *store, uint32_t scene_texture)
{
    wait_for_all(store);
    const StoreEntry *entry = &store->entries[scene_texture];
    bool has_failed = entry->state == ENTRY_FAILED && entry->error.code != STATUS_CANCELLED;
    return has_failed ? &entry->error : NULL;
}

Status texture_store_finish(TextureStore *store, uint32_t *out_texture, Error *err)
{
    enum { TOLD_MAX = 10 };
    uint32_t first = store->count, others = 0;
    bool is_cancelled = false;
    wait_for_all(store);
    uint64_t least_bytes, refused = texcache_refused(store->desc.cache, &least_bytes);
    for (uint32_t i = 0; i < store->count; ++i) {
        const StoreEntry *entry = &store->entries[i];
        if (entry->state != ENTRY_FAILED)
            continue;
        is_cancelled = is_cancelled || entry->error.code == STATUS_CANCELLED;
        if (entry->error.code == STATUS_CANCELLED)
            continue;
        if (first == store->count)
            first = i;
        else if ((refused == 0 || entry->error.code != STATUS_LIMIT) && others++ < TOLD_MAX)
            log_error(store->desc.log, "%s: %s", entry->error.path, entry->error.text);
    }
    if (others > TOLD_MAX)
        log_error(store->desc.log, "%u textures more cannot be had", (unsigned)(others - TOLD_MAX));
    if (first == store->count)
        return is_cancelled ? error_set(err, STATUS_CANCELLED, "cancelled") : STATUS_OK;
    *out_texture = first;
    const Error *error = &store->entries[first].error;
    if (err)
        *err = *error;
    if (err && error->code == STATUS_LIMIT && refused > 0) {
        char text[ERROR_TEXT_MAX];
        snprintf(text, sizeof text, "%s", error->text);
        error_set_at(err, STATUS_LIMIT, error->path,
                     "%.*s (%" PRIu64 " textures do not fit; --texture-memory %" PRIu64
                     "K holds the tables of all)",
                     (int)sizeof text / 2, text, refused, least_bytes / 1024 + 1);
    }
    return error->code;
}

TextureStoreStats texture_store_stats(TextureStore *store)
{
    mutex_lock(&store->lock);
    uint64_t end_ns = store->unsettled_count > 0 ? clock_now_ns() : store->end_ns;
    TextureStoreStats stats = {.converted = store->converted,
                               .seconds = (double)(end_ns - store->begin_ns) * 1e-9};
    mutex_unlock(&store->lock);
    return stats;
}
