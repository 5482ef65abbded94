/* The body of the decoder process: it answers requests on its standard input until the input ends. Foreign
 * image libraries run here and may crash here; the cache then starts another process. */
#include "base/alloc.h"
#include "base/process.h"
#include "textures/convert/decode_wire.h"
#include <stdio.h>
#include <string.h>

enum { OPEN_IMAGES_MAX = 64, EDGE_MAX = 1 << 20 };
#define READ_BYTES_MAX ((size_t)64 << 20)

typedef struct OpenImage {
    char path[PATH_BYTES]; /* "" marks a free place */
    StexStamp stamp;
    const SortImageDecoder *decoder; /* borrowed */
    SortImage *image;                /* owned */
    uint64_t last_use;
} OpenImage;

typedef struct Server {
    const TexDecoderHost *host; /* borrowed */
    OpenImage images[OPEN_IMAGES_MAX];
    uint64_t use;
    uint8_t *texels; /* owned; texel_room bytes */
    size_t texel_room;
    char path[PATH_BYTES];
} Server;

/* --- messages ----------------------------------------------------------------------------- */

static bool answer(const DecodeAnswer *a, const void *data)
{
    return process_send_to_parent(a, sizeof *a) && process_send_to_parent(data, (size_t)a->bytes);
}

static DecodeAnswer refusal(DecodeResult result, const char *text)
{
    DecodeAnswer a = {.result = result};
    snprintf(a.text, sizeof a.text, "%.*s", (int)sizeof a.text - 1, text);
    return a;
}

/* --- open images -------------------------------------------------------------------------- */

static void close_image(OpenImage *o)
{
    if (o->image)
        o->decoder->close(o->image);
    *o = (OpenImage){0};
}

/* Returns a free place, or that of the least recently used image. */
static OpenImage *find_place(Server *s)
{
    OpenImage *oldest = &s->images[0];
    for (uint32_t i = 0; i < OPEN_IMAGES_MAX; ++i) {
        OpenImage *o = &s->images[i];
        if (o->image && strcmp(o->path, s->path) == 0)
            return o;
        if (o->last_use < oldest->last_use)
            oldest = o;
    }
    return oldest;
}

/* Returns the open image; NULL on failure, which *out_answer explains. */
static OpenImage *open_image(Server *s, DecodeAnswer *out_answer)
{
    StexStamp stamp;
    int error_number;
    if (!stex_stamp_at(s->path, &stamp, &error_number)) {
        *out_answer = (DecodeAnswer){.result = DECODE_NO_FILE, .error_number = error_number};
        return NULL;
    }
    OpenImage *o = find_place(s);
    o->last_use = ++s->use;
    if (o->image && strcmp(o->path, s->path) == 0 && stex_stamps_equal(&stamp, &o->stamp))
        return o;
    close_image(o);
    Error err = {0};
    SortFailure why = {{0}};
    const SortHostApi *api;
    if (s->host->find(s->host->data, s->path, &o->decoder, &api, &err) != STATUS_OK) {
        *out_answer = refusal(DECODE_REFUSED, err.text);
        return NULL;
    }
    if (o->decoder->open(api, s->path, &o->image, &why) != SORT_OK) {
        *out_answer = refusal(DECODE_FAILED, why.text);
        *o = (OpenImage){0};
        return NULL;
    }
    snprintf(o->path, sizeof o->path, "%s", s->path);
    o->stamp = stamp;
    o->last_use = s->use;
    return o;
}

/* --- requests ----------------------------------------------------------------------------- */

/* Describes the file as the header of a paged texture would, if its levels match those of a paged texture. */
static DecodeAnswer describe(const OpenImage *o, DecodeFile *out_file)
{
    *out_file = (DecodeFile){.stamp = o->stamp};
    SortFailure why = {{0}};
    uint32_t level_count = 1;
    for (uint32_t level = 0; level < level_count; ++level) {
        SortLevelInfo info = {.size_bytes = sizeof info};
        if (o->decoder->level(o->image, 0, level, &info, &why) != SORT_OK)
            return refusal(DECODE_FAILED, why.text);
        if (level == 0) {
            level_count = info.level_count;
            out_file->info = info;
            out_file->info.format_name = NULL;
            if (info.tile_width == 0 || info.tile_height == 0)
                return refusal(DECODE_REFUSED, "is stored in rows, not in tiles");
            if (level_count < 2)
                return refusal(DECODE_REFUSED, "has no mip levels");
            if (level_count > TEX_MAX_LEVELS)
                return refusal(DECODE_REFUSED, "has too many mip levels");
        } else if (info.channel_count != out_file->info.channel_count ||
                   info.type != out_file->info.type) {
            return refusal(DECODE_REFUSED, "has mip levels of different formats");
        }
        out_file->widths[level] = info.width;
        out_file->heights[level] = info.height;
    }
    return (DecodeAnswer){.result = DECODE_OK, .bytes = sizeof *out_file};
}

static DecodeAnswer read_region(Server *s, const OpenImage *o, const DecodeRequest *r)
{
    if (!stex_stamps_equal(&r->stamp, &o->stamp))
        return (DecodeAnswer){.result = DECODE_REPLACED};
    SortFailure why = {{0}};
    SortLevelInfo info = {.size_bytes = sizeof info};
    if (o->decoder->level(o->image, 0, r->level, &info, &why) != SORT_OK)
        return refusal(DECODE_FAILED, why.text);
    if (r->width > EDGE_MAX || r->height > EDGE_MAX)
        return refusal(DECODE_FAILED, "too large a region was asked for");
    size_t bytes =
        (size_t)r->width * r->height * info.channel_count * stex_component_bytes(info.type);
    if (bytes > READ_BYTES_MAX)
        return refusal(DECODE_FAILED, "too large a region was asked for");
    if (bytes > s->texel_room) {
        uint8_t *grown = mem_realloc(s->texels, bytes, 1);
        if (!grown)
            return refusal(DECODE_FAILED, "out of memory");
        s->texels = grown;
        s->texel_room = bytes;
    }
    SortRegion region = {
        .level = r->level, .x = r->x, .y = r->y, .width = r->width, .height = r->height};
    if (o->decoder->read(o->image, &region, s->texels, bytes, &why) != SORT_OK)
        return refusal(DECODE_FAILED, why.text);
    return (DecodeAnswer){.result = DECODE_OK, .bytes = bytes};
}

static bool serve(Server *s, const DecodeRequest *r)
{
    DecodeAnswer a;
    DecodeFile file;
    const OpenImage *o = open_image(s, &a);
    if (o && r->kind == DECODE_READ)
        a = read_region(s, o, r);
    else if (o)
        a = describe(o, &file);
    return answer(&a, r->kind == DECODE_READ ? (const void *)s->texels : &file);
}

Status texcache_serve_decoder(const TexDecoderHost *host, Error *err)
{
    Server *s = MEM_NEW(Server);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    s->host = host;
    DecodeRequest r;
    Status status = STATUS_OK;
    while (status == STATUS_OK && process_receive_from_parent(&r, sizeof r)) {
        if (r.version != DECODE_VERSION || r.path_bytes >= sizeof s->path ||
            !process_receive_from_parent(s->path, r.path_bytes)) {
            status = error_set(err, STATUS_FORMAT, "what came in is no request to decode");
        } else {
            s->path[r.path_bytes] = '\0';
            if (!serve(s, &r))
                status = error_set(err, STATUS_IO, "nobody takes the answer");
        }
    }
    for (uint32_t i = 0; i < OPEN_IMAGES_MAX; ++i)
        close_image(&s->images[i]);
    mem_free(s->texels);
    mem_free(s);
    return status;
}
