/* A texture in memory whose texels change, such as one that is fitted: looked up as the cache looks up textures, at the same texels
 * with the same weights (results may differ from the cache's in their last bits), and with the transpose of that.
 *
 *   texels of level 0 --tex_picture_build--> all levels --tex_picture_lookup--> results
 *   gradient by level 0 <--tex_picture_pull-- by all levels <--tex_picture_spread-- adjoints of results
 *
 * Texels are four floats, linear rgba. A place numbers the floats of all levels: those of level 0 come first, row by row from the top.
 * Levels are plain means of areas, alpha for itself. While texels change, nobody may look up; else any thread may. */
#ifndef SORT_TEXTURES_TEX_PICTURE_H
#define SORT_TEXTURES_TEX_PICTURE_H

#include "textures/texcache.h"

enum { TEX_PICTURE_CHANNELS = 4, TEX_PICTURE_SIZE_MAX = 16384 };

typedef struct TexPicture TexPicture;

typedef struct TexPictureDesc {
    size_t size_bytes;      /* sizeof(TexPictureDesc) */
    uint32_t width, height; /* 1 to TEX_PICTURE_SIZE_MAX */
    TexWrap wrap_s, wrap_t; /* where a lookup says none; TEX_WRAP_FILE is periodic */
} TexPictureDesc;

/* All texels are zero. The caller owns *out. STATUS_INVALID: the size; STATUS_NO_MEMORY. */
Status tex_picture_create(const TexPictureDesc *desc, TexPicture **out, Error *err) SORT_MUST_CHECK;
void tex_picture_destroy(TexPicture *picture); /* NULL is allowed */

typedef struct TexPictureLevel {
    uint32_t width, height;
    uint64_t place; /* of its first texel's first channel */
} TexPictureLevel;
uint32_t tex_picture_levels(const TexPicture *picture);
TexPictureLevel tex_picture_level(const TexPicture *picture, uint32_t level);
/* How many places there are. */
uint64_t tex_picture_places(const TexPicture *picture);
/* The floats by place. Who writes those of level 0 calls tex_picture_build before the next lookup. */
float *tex_picture_texels(TexPicture *picture);
/* Makes all other levels of level 0. */
Status tex_picture_build(TexPicture *picture, Error *err) SORT_MUST_CHECK;

/* As texcache_lookup, for requests whose texture does not matter: returns the lanes that got the missing color. */
uint32_t tex_picture_lookup(const TexPicture *picture, const TexRequest *r, float *out_result);

/* Parts of the adjoints of a lookup, for the places from `place` on: of one texel, or of two beside each other. */
typedef void TexPictureAdd(void *data, uint64_t place, const float *numbers, uint32_t count);
/* The transpose of tex_picture_lookup: calls `add` for all texels of every tap of the lanes that are looked up. adjoints: as the results
 * of the request. Which level and which texels are read has no derivative. */
void tex_picture_spread(const TexPicture *picture, const TexRequest *r, const float *adjoints,
                        TexPictureAdd *add, void *data);
/* The transpose of tex_picture_build: adds what is in the places of other levels to those of level 0. by_place[all places] */
void tex_picture_pull(const TexPicture *picture, double *by_place);

#endif
