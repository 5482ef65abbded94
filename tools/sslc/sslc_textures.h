/* Textures of sslc that are pictures: those that the command line names, and those that are fitted. */
#ifndef SORT_TOOLS_SSLC_SSLC_TEXTURES_H
#define SORT_TOOLS_SSLC_SSLC_TEXTURES_H

#include "base/array.h"
#include "base/cli.h"
#include "ssl/ssl.h"
#include "textures/tex_picture.h"
#include "tools/sslc/sslc_picture.h"

typedef struct SslcTexture {
    char *name; /* in the shader; owned */
    TexPicture *picture;
} SslcTexture;

/* Zero-initialise; release with sslc_textures_free. */
typedef struct SslcTextures {
    SslcTexture *items; /* owned */
    uint32_t count;
} SslcTextures;

/* Index of a texture, with a suggestion when there is none of that name. */
Status sslc_find_texture(const SslUnitInfo *unit, const char *name, uint32_t *out_slot,
                         Error *err) SORT_MUST_CHECK;
/* How many of the texts "NAME=..." have a name. */
uint32_t sslc_textures_count(const CliTextList *texts, const char *name);
/* If the text is "picture:FILE", which names a picture and no formula, returns the file; else NULL. */
const char *sslc_texture_file(const char *text);
/* Reads the pictures among texts "NAME=picture:FILE". STATUS_INVALID: such a texture is given more than once. */
Status sslc_textures_load(SslcTextures *textures, const CliTextList *texts,
                          Error *err) SORT_MUST_CHECK;
/* Adds a texture; *out_picture is the list's. `pixels` has four channels, and becomes level 0. */
Status sslc_textures_add(SslcTextures *textures, const char *name, const SslcPicture *pixels,
                         TexPicture **out_picture, Error *err) SORT_MUST_CHECK;
TexPicture *sslc_textures_find(const SslcTextures *textures, const char *name); /* NULL: none */
void sslc_textures_free(SslcTextures *textures);

/* Copies level 0; without alpha if that is 1 everywhere. */
Status sslc_texture_pixels(TexPicture *picture, SslcPicture *out, Error *err) SORT_MUST_CHECK;

#endif
