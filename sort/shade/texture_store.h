/* Textures of a scene on their way into the cache, while a render runs. A ready-made .stex file is opened as it is;
 * any other image is converted once by a child process (`texcache convert`: image libraries can crash or balloon, the
 * renderer may not) into a cache folder, under a name made from its content and settings, and found there the next
 * time; so are the images of a UDIM set ("skin.<UDIM>.png"). An image that holds tiles and mip levels already, as
 * `maketx` writes them, is read as it is, through a child process of the cache's. Of two renders that want the same
 * image at once one converts it, and the other one waits.
 *
 *   create --threads of the store--> convert, open: what is asked for first, then the others in their order
 *   await  --whoever looks up-----> waits through its Waiter as for a tile; afterwards one atomic load
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

/* Begins. Errors: memory, threads, the folder cannot be made. What becomes of single textures is told by the others. */
Status texture_store_create(const TextureStoreDesc *desc, TextureStore **out_store,
                            Error *err) SORT_MUST_CHECK;
/* Gives up what is under way, and closes the textures; NULL is fine. Nobody waits. */
void texture_store_destroy(TextureStore *store);

/* Moves a texture to the front, behind others that were asked for. */
void texture_store_ask(TextureStore *store, uint32_t scene_texture);
/* The open texture; waits for it through `waiter`, which belongs to the caller. {0}: it cannot be had, or was given
 * up; or store is NULL. */
TexId texture_store_await(TextureStore *store, uint32_t scene_texture, Waiter *waiter);
/* Without waiting; {0}: it is not open. */
TexId texture_store_id(const TextureStore *store, uint32_t scene_texture);

/* Some texture cannot be had. */
bool texture_store_has_failed(const TextureStore *store);
/* Whether a texture_store_await went without its texture because of `cancel`: what it was for is of no use. */
bool texture_store_gave_up(const TextureStore *store);
/* Waits until no texture is under way. The error is that of the first texture that cannot be had, whose place
 * goes to *out_texture, and names its file; others are logged. STATUS_CANCELLED: some were given up. */
Status texture_store_finish(TextureStore *store, uint32_t *out_texture, Error *err) SORT_MUST_CHECK;

/* The same, one by one: waits, too. Why a texture cannot be had; NULL: it can, or it was given up. */
const Error *texture_store_failure(TextureStore *store, uint32_t scene_texture);

typedef struct TextureStoreStats {
    uint32_t converted; /* images and sets, by this store */
    double seconds;     /* from the beginning until the last texture was settled; so far */
} TextureStoreStats;
TextureStoreStats texture_store_stats(TextureStore *store);

#endif
