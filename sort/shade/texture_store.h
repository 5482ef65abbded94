/* Textures of a scene on their way into the cache, while a render runs. A ready-made .stex file is opened as it is;
 * any other image is converted once by a child process (`texcache convert`: image libraries can crash or balloon, the
 * renderer may not) into a cache folder, under a name made from its content and settings, and found there the next
 * time; so are the images of a UDIM set ("skin.<UDIM>.png"). An image that holds tiles and mip levels already, as
 * `maketx` writes them, is read as it is, through a child process of the cache. When two renders need the same image at
 * once, one converts it and the other waits.
 *
 *   create --threads of the store--> convert and open: requested textures first, then the others in their order
 *   await  --fibers-------------> wait through their Waiter as for a tile; afterwards one atomic load
 *   finish                          waits for all; the failures
 *
 * All calls but create and destroy: any thread. */
#ifndef SORT_SHADE_TEXTURE_STORE_H
#define SORT_SHADE_TEXTURE_STORE_H

#include "base/log.h"
#include "sort/scene/scene.h"
#include "textures/texcache.h"

typedef struct TextureStoreDesc {
    size_t size_bytes;            /* sizeof(TextureStoreDesc) */
    const Scene *scene;           /* borrowed */
    TexCache *cache;              /* borrowed */
    const char *converted_folder; /* where converted textures are kept; created when missing */
    const char *texcache_program; /* path of the `texcache` program */
    const bool *is_wanted;        /* [scene->texture_count]; the others are not touched */
    uint32_t thread_count;        /* conversions at once; 0: one a CPU */
    const Log *log;
    const _Atomic bool *
        cancel; /* borrowed; set it, and textures that are not there yet are given up; NULL: never */
} TextureStoreDesc;

typedef struct TextureStore TextureStore;

/* Starts the threads. *out_store is the caller's. Errors: memory, threads, the folder cannot be made. Errors of single
 * textures are returned by texture_store_finish. */
Status texture_store_create(const TextureStoreDesc *desc, TextureStore **out_store,
                            Error *err) SORT_MUST_CHECK;
/* Cancels conversions, and closes the textures; NULL is fine. No texture_store_await may be under way. */
void texture_store_destroy(TextureStore *store);

/* Requests a texture: it is converted before those that were not requested, after earlier requests. */
void texture_store_ask(TextureStore *store, uint32_t scene_texture);
/* Returns the open texture after waiting for it through `waiter`, which belongs to the caller. Returns {0} when it failed
 * or was cancelled, or when store is NULL. */
TexId texture_store_await(TextureStore *store, uint32_t scene_texture, Waiter *waiter);
/* Returns the open texture without waiting; {0}: it is not open. */
TexId texture_store_id(const TextureStore *store, uint32_t scene_texture);

/* Returns whether some texture has failed. */
bool texture_store_has_failed(const TextureStore *store);
/* Returns whether a texture_store_await returned without its texture because of `cancel`: its picture is of no use. */
bool texture_store_gave_up(const TextureStore *store);
/* Waits until no texture is under way. The error is that of the first texture that cannot be had, whose place
 * goes to *out_texture, and names its file; others are logged. STATUS_CANCELLED: some were given up. */
Status texture_store_finish(TextureStore *store, uint32_t *out_texture, Error *err) SORT_MUST_CHECK;

/* Waits until no texture is under way. Returns the error of one texture; NULL: it is open, or was cancelled. */
const Error *texture_store_failure(TextureStore *store, uint32_t scene_texture);

typedef struct TextureStoreStats {
    uint32_t converted; /* images and sets, by this store */
    double seconds;     /* from the beginning until the last texture was settled; so far */
} TextureStoreStats;
TextureStoreStats texture_store_stats(TextureStore *store);

#endif
