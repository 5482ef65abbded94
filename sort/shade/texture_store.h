/* Textures of a scene, opened in the cache. A ready-made .stex file is opened as it is; any other image
 * is converted once by a child process (`texcache make`: image libraries can crash or balloon, the
 * renderer may not) into a cache folder, under a name made from its content and settings, and found
 * there the next time; so are the images of a UDIM set ("skin.<UDIM>.png"). An image that holds tiles and mip
 * levels already, as `maketx` writes them, is read as it is, through a child process of the cache's. Of two renders that want the same image at once
 * one converts it, and the other one waits. */
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
} TextureStoreDesc;

typedef struct TextureStore TextureStore;

/* Converts and opens all wanted textures. Errors name the texture's file. */
Status texture_store_create(const TextureStoreDesc *desc, TextureStore **out_store,
                            Error *err) SORT_MUST_CHECK;
void texture_store_destroy(TextureStore *store); /* closes the textures; NULL is fine */
TexId texture_store_id(const TextureStore *store, uint32_t scene_texture);

#endif
