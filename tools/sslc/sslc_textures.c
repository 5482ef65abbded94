#include "tools/sslc/sslc_textures.h"
#include "base/alloc.h"
#include "base/check.h"
#include "tools/sslc/sslc_program.h"
#include <string.h>

Status sslc_find_texture(const SslUnitInfo *unit, const char *name, uint32_t *out_slot, Error *err)
{
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        if (strcmp(unit->textures[i], name) == 0) {
            *out_slot = i;
            return STATUS_OK;
        }
    const char *nearest = suggest_nearest(name, unit->textures, unit->texture_count);
    return error_set(err, STATUS_INVALID, "shader '%s' has no texture '%s'%s%s%s", unit->name, name,
                     nearest ? "; did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'?" : "");
}

uint32_t sslc_textures_count(const CliTextList *texts, const char *name)
{
    size_t length = strlen(name);
    uint32_t count = 0;
    for (uint32_t i = 0; i < texts->count; ++i)
        count += strncmp(texts->items[i], name, length) == 0 && texts->items[i][length] == '=';
    return count;
}

const char *sslc_texture_file(const char *text)
{
    static const char word[] = "picture:";
    return strncmp(text, word, sizeof word - 1) == 0 ? text + sizeof word - 1 : NULL;
}

Status sslc_textures_add(SslcTextures *textures, const char *name, const SslcPicture *pixels,
                         TexPicture **out_picture, Error *err)
{
    const TexPictureDesc desc = {
        .size_bytes = sizeof desc, .width = pixels->width, .height = pixels->height};
    SslcTexture *items = mem_realloc(textures->items, textures->count + 1, sizeof *items);
    ASSERT(pixels->channels == TEX_PICTURE_CHANNELS);
    if (!items)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    textures->items = items;
    SslcTexture *texture = &items[textures->count];
    TRY(tex_picture_create(&desc, &texture->picture, err));
    ++textures->count;
    texture->name = mem_strdup(name);
    *out_picture = texture->picture;
    if (!texture->name)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    memcpy(tex_picture_texels(*out_picture), pixels->numbers,
           (size_t)pixels->width * pixels->height * pixels->channels * sizeof *pixels->numbers);
    return tex_picture_build(*out_picture, err);
}

static Status load(SslcTextures *textures, const CliTextList *texts, const char *text, Error *err)
{
    char name[SSLC_NAME_BYTES];
    const char *value;
    SslcPicture pixels;
    TexPicture *picture;
    TRY(sslc_split(text, name, &value, err));
    if (!sslc_texture_file(value))
        return STATUS_OK;
    if (sslc_textures_count(texts, name) > 1)
        return error_set(err, STATUS_INVALID, "texture '%s' is given twice", name);
    TRY(sslc_picture_read(sslc_texture_file(value), TEX_PICTURE_CHANNELS, 0, 0, &pixels, err));
    Status status = sslc_textures_add(textures, name, &pixels, &picture, err);
    sslc_picture_free(&pixels);
    return status == STATUS_OK ? STATUS_OK : error_prefix(err, "texture '%s'", name);
}

Status sslc_textures_load(SslcTextures *textures, const CliTextList *texts, Error *err)
{
    for (uint32_t i = 0; i < texts->count; ++i)
        TRY(load(textures, texts, texts->items[i], err));
    return STATUS_OK;
}

TexPicture *sslc_textures_find(const SslcTextures *textures, const char *name)
{
    for (uint32_t i = 0; i < textures->count; ++i)
        if (textures->items[i].name && strcmp(textures->items[i].name, name) == 0)
            return textures->items[i].picture;
    return NULL;
}

void sslc_textures_free(SslcTextures *textures)
{
    for (uint32_t i = 0; i < textures->count; ++i) {
        tex_picture_destroy(textures->items[i].picture);
        mem_free(textures->items[i].name);
    }
    mem_free(textures->items);
    *textures = (SslcTextures){0};
}

Status sslc_texture_pixels(TexPicture *picture, SslcPicture *out, Error *err)
{
    const TexPictureLevel level = tex_picture_level(picture, 0);
    const float *texels = tex_picture_texels(picture);
    size_t count = (size_t)level.width * level.height;
    bool has_alpha = false;
    for (size_t i = 0; i < count; ++i)
        has_alpha = has_alpha || texels[4 * i + 3] != 1.0f;
    uint32_t channels = has_alpha ? 4 : 3;
    TRY(sslc_picture_create(level.width, level.height, channels, out, err));
    ASSERT(out->width == level.width && out->height == level.height);
    for (size_t i = 0; i < count; ++i)
        memcpy(out->numbers + i * channels, texels + 4 * i, channels * sizeof *texels);
    return STATUS_OK;
}
