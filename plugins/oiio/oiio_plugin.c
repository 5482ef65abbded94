/* Image decoder on OpenImageIO.
 *
 * OpenImageIO speaks of a data window (the pixels in the file) inside a display window (the
 * picture). SORT sees the display window only, from (0,0):
 *
 *        +------------------- display ---+
 *        |  zero      +-------- data ----|---+
 *        |            |   texels         |   |  outside the display: dropped
 *        +------------|------------------+   |
 *                     +----------------------+
 *
 * A region is read in bands: tile rows of tiled files, some rows of others; directly into the
 * caller's memory if the band is as wide as the region, otherwise through a scratch buffer. */
#include "plugins/oiio/color_tag.h"
#include "plugins/oiio/oiio_shim.h"
#include "plugins/plugin_check.h"
#include "plugins/sort_plugin.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EDGE_MAX = 1 << 20,      /* in texels; larger sizes come from broken headers */
    BAND_BYTES_MAX = 8 << 20 /* size of the scratch buffer, for files stored by rows */
};

typedef struct Box {
    int x0, y0, x1, y1; /* half open */
} Box;

struct SortImage {
    const SortHostApi *api; /* borrowed: host */
    OiioFile *file;         /* owned */
    uint32_t subimage_count;
    uint32_t *level_counts; /* owned, by subimage; 0 if not counted yet */
    bool is_png, is_cicp;   /* what png_tag was read from */
    ColorTag png_tag;
    /* The level described last, since calls mostly repeat it. */
    bool has_current;
    uint32_t subimage, level;
    OiioLevel file_level;
    SortLevelInfo info;
};

static const size_t texel_bytes[] = {
    [SORT_TEXEL_U8] = 1, [SORT_TEXEL_U16] = 2, [SORT_TEXEL_HALF] = 2, [SORT_TEXEL_FLOAT] = 4};

__attribute__((format(printf, 3, 4))) static SortResult fail(SortFailure *why, SortResult result,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return result;
}

__attribute__((format(printf, 3, 4))) static void say(const SortHostApi *api, SortLogLevel level,
                                                      const char *format, ...)
{
    char text[SORT_FAILURE_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    api->log(api->host, level, text);
}

static SortResult shim_failure(OiioResult result, const char *text, SortFailure *why)
{
    SortResult code = result == OIIO_RESULT_OPEN        ? SORT_ERROR_OPEN
                      : result == OIIO_RESULT_NO_MEMORY ? SORT_ERROR_NO_MEMORY
                                                        : SORT_ERROR_FORMAT;
    return fail(why, code, "%s", text);
}

/* --- open and close ------------------------------------------------------------------------ */

static void image_close(SortImage *image)
{
    if (!image)
        return;
    if (image->file)
        oiio_close(image->file);
    free(image->level_counts);
    free(image);
}

static SortResult image_open(const SortHostApi *api, const char *path, SortImage **out_image,
                             SortFailure *why)
{
    *out_image = NULL;
    /* OpenImageIO's own message for this is vague. */
    FILE *probe = fopen(path, "rb");
    if (!probe)
        return fail(why, SORT_ERROR_OPEN, "cannot be opened for reading");
    fclose(probe);
    SortImage *image = calloc(1, sizeof *image);
    if (!image)
        return fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
    image->api = api;
    char text[OIIO_WHY_MAX];
    OiioResult result = oiio_open(path, &image->file, text);
    if (result != OIIO_RESULT_OK) {
        image_close(image);
        /* The file exists and is readable, so no reader accepts its content. */
        return shim_failure(result == OIIO_RESULT_OPEN ? OIIO_RESULT_FORMAT : result, text, why);
    }
    image->is_png = strcmp(oiio_format_name(image->file), "png") == 0;
    if (image->is_png)
        image->png_tag = color_tag_of_png(path, &image->is_cicp);
    image->subimage_count = (uint32_t)oiio_subimage_count(image->file);
    image->level_counts = calloc(image->subimage_count, sizeof *image->level_counts);
    if (!image->level_counts) {
        image_close(image);
        return fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
    }
    *out_image = image;
    return SORT_OK;
}

/* --- what a level is ----------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static SortColorSpace space_of_tag(ColorTag tag)
{
    return tag == COLOR_TAG_LINEAR    ? SORT_COLOR_LINEAR
           : tag == COLOR_TAG_ENCODED ? SORT_COLOR_SRGB
                                      : SORT_COLOR_UNKNOWN;
}

/* Maps the words that OpenImageIO and its readers write. */
static SortColorSpace space_of_words(const SortImage *image, const OiioLevel *l)
{
    const char *space = l->color_space;
    if (space[0] == '\0')
        return SORT_COLOR_UNKNOWN;
    if (starts_with(space, "sRGB") || starts_with(space, "srgb"))
        return SORT_COLOR_SRGB;
    if (starts_with(space, "Linear") || starts_with(space, "linear") ||
        starts_with(space, "lin_") || strcmp(space, "scene_linear") == 0)
        return SORT_COLOR_LINEAR;
    if (starts_with(space, "GammaCorrected") || starts_with(space, "Gamma")) {
        if (color_tag_of_gamma((double)l->gamma) == COLOR_TAG_LINEAR)
            return SORT_COLOR_LINEAR;
        if (l->gamma < 2.1f || l->gamma > 2.3f)
            say(image->api, SORT_LOG_WARNING, "gamma %.3g is read as sRGB", (double)l->gamma);
        return SORT_COLOR_SRGB;
    }
    if (strcmp(space, "raw") == 0 || strcmp(space, "Raw") == 0 || strcmp(space, "data") == 0)
        return SORT_COLOR_RAW;
    if (strcmp(space, "Rec709") != 0) /* OpenImageIO reports this for every PNM file */
        say(image->api, SORT_LOG_WARNING, "colour space '%s' is not known", space);
    return SORT_COLOR_UNKNOWN;
}

/* Returns the colour space that the file states: an ICC profile takes precedence over a word, cICP over both.
 * OpenImageIO reports sRGB for every PNG file without a statement; such a file is unknown. */
static SortColorSpace color_space_of(const SortImage *image, const OiioLevel *l)
{
    if (image->is_cicp) {
        if (image->png_tag == COLOR_TAG_OTHER)
            say(image->api, SORT_LOG_WARNING,
                "the encoding that its cICP chunk names is not known");
        return space_of_tag(image->png_tag);
    }
    if (l->icc) {
        ColorTag tag = color_tag_of_icc(l->icc, l->icc_bytes);
        if (tag != COLOR_TAG_OTHER)
            return space_of_tag(tag);
        say(image->api, SORT_LOG_WARNING, "its ICC profile has a curve that is not known: ignored");
    }
    return image->is_png && image->png_tag == COLOR_TAG_NONE ? SORT_COLOR_UNKNOWN
                                                             : space_of_words(image, l);
}

/* Maps a wrap word of OpenImageIO that has an equivalent here; the word ends at the end of the text or at a
 * comma. */
static SortWrap wrap_of(const char *word)
{
    static const struct {
        const char *word;
        SortWrap wrap;
    } words[] = {{"periodic", SORT_WRAP_PERIODIC},
                 {"clamp", SORT_WRAP_CLAMP},
                 {"mirror", SORT_WRAP_MIRROR},
                 {"black", SORT_WRAP_BLACK}};
    size_t length = strcspn(word, ",");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        if (strlen(words[i].word) == length && strncmp(word, words[i].word, length) == 0)
            return words[i].wrap;
    }
    return SORT_WRAP_UNKNOWN;
}

/* Returns the word for t of "s,t", or the one word for both. */
static const char *wrap_word_of_t(const OiioLevel *l)
{
    const char *comma = strchr(l->wrap, ',');
    return comma ? comma + 1 : l->wrap;
}

/* Returns the number of channels used: at most four. A fourth that is no alpha is dropped if there are more
 * than four. */
static uint32_t channels_kept(const OiioLevel *l)
{
    ASSERT(l->channel_count >= 1);
    if (l->channel_count <= OIIO_CHANNELS_MAX)
        return (uint32_t)l->channel_count;
    return l->is_rgb && l->alpha_channel != 3 ? 3 : OIIO_CHANNELS_MAX;
}

/* Sets a missing display window: lower mip levels of many files carry none of their own. */
static void settle_display_window(OiioLevel *l, uint32_t level)
{
    bool is_missing = l->full_width <= 0 || l->full_height <= 0;
    bool is_of_level_0 = level > 0 && (l->full_width > 2 * l->data_width + 1 ||
                                       l->full_height > 2 * l->data_height + 1);
    if (is_missing || is_of_level_0) {
        l->full_x = l->data_x;
        l->full_y = l->data_y;
        l->full_width = l->data_width;
        l->full_height = l->data_height;
    }
}

static bool is_far(int position)
{
    return position < -EDGE_MAX || position > EDGE_MAX;
}

static SortResult check_level(const OiioLevel *l, SortFailure *why)
{
    if (l->is_deep)
        return fail(why, SORT_ERROR_UNSUPPORTED, "deep images are not supported");
    if (l->depth > 1)
        return fail(why, SORT_ERROR_UNSUPPORTED, "volumes are not supported");
    if (l->channel_count < 1 || l->data_width < 1 || l->data_height < 1)
        return fail(why, SORT_ERROR_FORMAT, "the image has no pixels (%d x %d, %d channels)",
                    l->data_width, l->data_height, l->channel_count);
    if (l->full_width > EDGE_MAX || l->full_height > EDGE_MAX || l->data_width > EDGE_MAX ||
        l->data_height > EDGE_MAX)
        return fail(why, SORT_ERROR_UNSUPPORTED,
                    "%d x %d texels (display window %d x %d): the limit is %d a side",
                    l->data_width, l->data_height, l->full_width, l->full_height, (int)EDGE_MAX);
    if (is_far(l->data_x) || is_far(l->data_y) || is_far(l->full_x) || is_far(l->full_y))
        return fail(why, SORT_ERROR_UNSUPPORTED,
                    "its windows lie at %d,%d and %d,%d: the limit is %d from the origin",
                    l->data_x, l->data_y, l->full_x, l->full_y, (int)EDGE_MAX);
    return SORT_OK;
}

static void say_what_is_lost(const SortImage *image, const OiioLevel *l, uint32_t kept)
{
    if ((uint32_t)l->channel_count > kept)
        say(image->api, SORT_LOG_WARNING, "%d channels: only the first %u are used",
            l->channel_count, kept);
    if (l->orientation != 1)
        say(image->api, SORT_LOG_WARNING,
            "the file asks for orientation %d, which is ignored: the rows are used as stored",
            l->orientation);
}

/* Makes (subimage, level) the current level. */
static SortResult select_level(SortImage *image, uint32_t subimage, uint32_t level,
                               SortFailure *why)
{
    if (image->has_current && image->subimage == subimage && image->level == level)
        return SORT_OK;
    if (subimage >= image->subimage_count)
        return fail(why, SORT_ERROR_FORMAT, "subimage %u of %u", subimage, image->subimage_count);
    bool is_first_look = image->level_counts[subimage] == 0;
    if (is_first_look)
        image->level_counts[subimage] = (uint32_t)oiio_level_count(image->file, (int)subimage);
    if (level >= image->level_counts[subimage])
        return fail(why, SORT_ERROR_FORMAT, "level %u of %u", level, image->level_counts[subimage]);
    OiioLevel l;
    char text[OIIO_WHY_MAX];
    OiioResult result = oiio_level(image->file, (int)subimage, (int)level, &l, text);
    if (result != OIIO_RESULT_OK)
        return shim_failure(result, text, why);
    settle_display_window(&l, level);
    SortResult checked = check_level(&l, why);
    if (checked != SORT_OK)
        return checked;
    uint32_t kept = channels_kept(&l);
    ASSERT(l.type <= OIIO_TYPE_FLOAT);
    if (is_first_look)
        say_what_is_lost(image, &l, kept);
    static const SortTexelType types[] = {[OIIO_TYPE_U8] = SORT_TEXEL_U8,
                                          [OIIO_TYPE_U16] = SORT_TEXEL_U16,
                                          [OIIO_TYPE_HALF] = SORT_TEXEL_HALF,
                                          [OIIO_TYPE_FLOAT] = SORT_TEXEL_FLOAT};
    bool has_alpha = l.alpha_channel >= 0 && (uint32_t)l.alpha_channel < kept;
    image->info = (SortLevelInfo){
        .size_bytes = sizeof(SortLevelInfo),
        .width = (uint32_t)l.full_width,
        .height = (uint32_t)l.full_height,
        .channel_count = kept,
        .type = types[l.type],
        .tile_width = (uint32_t)l.tile_width,
        .tile_height = (uint32_t)l.tile_height,
        .level_count = image->level_counts[subimage],
        .subimage_count = image->subimage_count,
        .color_space = color_space_of(image, &l),
        .alpha_channel = has_alpha ? l.alpha_channel : -1,
        .is_premultiplied = has_alpha && !l.is_unassociated,
        .format_name = oiio_format_name(image->file),
        .wrap_s = wrap_of(l.wrap),
        .wrap_t = wrap_of(wrap_word_of_t(&l)),
    };
    ASSERT(level < image->info.level_count && kept <= OIIO_CHANNELS_MAX);
    image->file_level = l;
    image->subimage = subimage;
    image->level = level;
    image->has_current = true;
    return SORT_OK;
}

static SortResult image_level(SortImage *image, uint32_t subimage, uint32_t level,
                              SortLevelInfo *out_info, SortFailure *why)
{
    if (out_info->size_bytes < sizeof *out_info)
        return fail(why, SORT_ERROR_UNSUPPORTED, "SortLevelInfo.size_bytes is not set");
    SortResult result = select_level(image, subimage, level, why);
    if (result == SORT_OK)
        *out_info = image->info;
    return result;
}

/* --- texels -------------------------------------------------------------------------------- */

static int min_int(int a, int b)
{
    return a < b ? a : b;
}
static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* A read in progress: the wanted region and its destination. Coordinates are OpenImageIO's. */
typedef struct Reading {
    SortImage *image;
    const OiioLevel *level;
    Box wanted;         /* inside the data window */
    int out_x, out_y;   /* coordinates of the first texel of `out` */
    size_t out_row, px; /* bytes of a row of `out`, and of a texel */
    unsigned char *out;
    SortFailure *why;
} Reading;

static SortResult read_box(const Reading *r, Box box, void *out)
{
    SortImage *image = r->image;
    char text[OIIO_WHY_MAX];
    const OiioBox what = {.subimage = (int)image->subimage,
                          .level = (int)image->level,
                          .x_begin = box.x0,
                          .x_end = box.x1,
                          .y_begin = box.y0,
                          .y_end = box.y1,
                          .channel_count = (int)image->info.channel_count,
                          .type = r->level->type};
    OiioResult result = r->level->tile_width > 0 ? oiio_read_tiles(image->file, &what, out, text)
                                                 : oiio_read_rows(image->file, &what, out, text);
    return result == OIIO_RESULT_OK ? SORT_OK : shim_failure(result, text, r->why);
}

static unsigned char *out_at(const Reading *r, int x, int y)
{
    ASSERT(x >= r->out_x && y >= r->out_y);
    return r->out + (size_t)(y - r->out_y) * r->out_row + (size_t)(x - r->out_x) * r->px;
}

/* Reads `box`, which covers the wanted columns and some of the rows, and copies the wanted part. */
static SortResult read_band(const Reading *r, Box box, unsigned char *scratch)
{
    size_t box_row = (size_t)(box.x1 - box.x0) * r->px;
    int y0 = max_int(box.y0, r->wanted.y0), y1 = min_int(box.y1, r->wanted.y1);
    ASSERT(y0 < y1 && box.x0 <= r->wanted.x0 && box.x1 >= r->wanted.x1);
    bool is_direct = box_row == r->out_row && box.x0 == r->out_x && box.y0 == y0 && box.y1 == y1;
    if (is_direct)
        return read_box(r, box, out_at(r, box.x0, y0));
    SortResult result = read_box(r, box, scratch);
    if (result != SORT_OK)
        return result;
    size_t bytes = (size_t)(r->wanted.x1 - r->wanted.x0) * r->px;
    for (int y = y0; y < y1; ++y)
        memcpy(out_at(r, r->wanted.x0, y),
               scratch + (size_t)(y - box.y0) * box_row + (size_t)(r->wanted.x0 - box.x0) * r->px,
               bytes);
    return SORT_OK;
}

/* Returns the box to read: the wanted columns widened to tiles, or to whole rows. */
static Box band_columns(const OiioLevel *l, Box wanted)
{
    int end = l->data_x + l->data_width;
    ASSERT(wanted.x0 >= l->data_x && wanted.x0 < wanted.x1 && wanted.x1 <= end);
    if (l->tile_width <= 0)
        return (Box){.x0 = l->data_x, .x1 = end};
    int first = (wanted.x0 - l->data_x) / l->tile_width;
    int last = (wanted.x1 - l->data_x + l->tile_width - 1) / l->tile_width;
    return (Box){.x0 = l->data_x + first * l->tile_width,
                 .x1 = min_int(l->data_x + last * l->tile_width, end)};
}

static SortResult read_wanted(const Reading *r)
{
    const OiioLevel *l = r->level;
    bool is_tiled = l->tile_width > 0;
    Box box = band_columns(l, r->wanted);
    size_t box_row = (size_t)(box.x1 - box.x0) * r->px;
    ASSERT(box_row > 0);
    int rows = is_tiled ? l->tile_height : max_int(1, (int)(BAND_BYTES_MAX / box_row));
    rows = min_int(rows, l->data_height);
    int first = is_tiled ? (r->wanted.y0 - l->data_y) / rows * rows + l->data_y : r->wanted.y0;
    int end = is_tiled ? l->data_y + l->data_height : r->wanted.y1;
    unsigned char *scratch = malloc((size_t)rows * box_row);
    if (!scratch)
        return fail(r->why, SORT_ERROR_NO_MEMORY, "out of memory");
    SortResult result = SORT_OK;
    for (int y = first; result == SORT_OK && y < r->wanted.y1; y += rows) {
        box.y0 = y;
        box.y1 = min_int(y + rows, end);
        result = r->image->api->cancelled(r->image->api->host)
                     ? fail(r->why, SORT_ERROR_CANCELLED, "cancelled")
                     : read_band(r, box, scratch);
    }
    free(scratch);
    return result;
}

static SortResult image_read(SortImage *image, const SortRegion *region, void *out_texels,
                             size_t out_bytes, SortFailure *why)
{
    SortResult result = select_level(image, region->subimage, region->level, why);
    if (result != SORT_OK)
        return result;
    const SortLevelInfo *info = &image->info;
    ASSERT(image->has_current && image->level == region->level);
    if (region->x > info->width || region->width > info->width - region->x ||
        region->y > info->height || region->height > info->height - region->y)
        return fail(why, SORT_ERROR_UNSUPPORTED, "region %u,%u %ux%u lies outside %ux%u texels",
                    region->x, region->y, region->width, region->height, info->width, info->height);
    size_t px = info->channel_count * texel_bytes[info->type];
    size_t bytes = (size_t)region->width * region->height * px;
    if (out_bytes < bytes)
        return fail(why, SORT_ERROR_UNSUPPORTED, "the region needs %zu bytes, %zu were given",
                    bytes, out_bytes);
    const OiioLevel *l = &image->file_level;
    Box asked = {.x0 = l->full_x + (int)region->x, .y0 = l->full_y + (int)region->y};
    asked.x1 = asked.x0 + (int)region->width;
    asked.y1 = asked.y0 + (int)region->height;
    Box wanted = {.x0 = max_int(asked.x0, l->data_x),
                  .y0 = max_int(asked.y0, l->data_y),
                  .x1 = min_int(asked.x1, l->data_x + l->data_width),
                  .y1 = min_int(asked.y1, l->data_y + l->data_height)};
    bool is_covered = memcmp(&wanted, &asked, sizeof asked) == 0;
    if (!is_covered)
        memset(out_texels, 0, bytes);
    if (wanted.x0 >= wanted.x1 || wanted.y0 >= wanted.y1)
        return SORT_OK;
    Reading reading = {.image = image,
                       .level = l,
                       .wanted = wanted,
                       .out_x = asked.x0,
                       .out_y = asked.y0,
                       .out_row = (size_t)region->width * px,
                       .px = px,
                       .out = out_texels,
                       .why = why};
    return read_wanted(&reading);
}

/* --- entry --------------------------------------------------------------------------------- */

/* Suffixes of still images that OpenImageIO reads; no movies, no volumes. */
static const char *const suffixes[] = {
    "png",  "jpg",  "jpeg", "jpe", "jfif", "exr", "tif",  "tiff", "tx",   "env",  "hdr", "rgbe",
    "tga",  "tpic", "bmp",  "dib", "gif",  "psd", "pdd",  "psb",  "dds",  "dpx",  "cin", "ico",
    "iff",  "pbm",  "pgm",  "ppm", "pnm",  "pfm", "rla",  "sgi",  "rgb",  "rgba", "bw",  "int",
    "inta", "pic",  "webp", "jp2", "j2c",  "j2k", "heic", "heif", "avif", "fits", NULL};

static const SortImageDecoder decoder = {.size_bytes = sizeof(SortImageDecoder),
                                         .name = "openimageio",
                                         .suffixes = suffixes,
                                         .open = image_open,
                                         .level = image_level,
                                         .read = image_read,
                                         .close = image_close};

const SortPlugin *sort_plugin_entry(const SortHostApi *api)
{
    static SortPlugin plugin = {.size_bytes = sizeof(SortPlugin),
                                .abi = SORT_PLUGIN_ABI,
                                .name = "openimageio",
                                .decoder = &decoder};
    if (api->abi != SORT_PLUGIN_ABI) {
        say(api, SORT_LOG_ERROR, "the host has plugin ABI %u, this plugin ABI %d", api->abi,
            (int)SORT_PLUGIN_ABI);
        return NULL;
    }
    plugin.version = oiio_version();
    return &plugin;
}
