#include "sort/render/render_output.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/half.h"
#include "base/image/exr_write.h"
#include "base/image/png_write.h"
#include "base/str.h"
#include "sort/film/cryptomatte.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ID_RANKS = 6, /* Cryptomatte's usual number: three layers of two */
    CHANNELS_MAX = 8 + FILM_AOV_FLOATS + 2 * ID_RANKS * FILM_ID_COUNT,
    NAME_MAX_BYTES = 96,
    KEY_MAX_BYTES = 48,
    SHOT_METADATA = 5,   /* what add_shot adds at most */
    MAKING_METADATA = 4, /* what add_making adds at most */
    OF_ONE_ID = 4,       /* what add_id_metadata adds */
    METADATA_MAX = 10 + SHOT_METADATA + MAKING_METADATA + OF_ONE_ID * FILM_ID_COUNT
};

typedef struct Picture {
    float *pixels; /* RGBA, then the AOVs one after the other; owned */
    ExrChannel channels[CHANNELS_MAX];
    char names[CHANNELS_MAX][NAME_MAX_BYTES + 2];
    uint32_t channel_count;
} Picture;

typedef struct Metadata {
    ExrMetadata items[METADATA_MAX];
    char keys[OF_ONE_ID * FILM_ID_COUNT][KEY_MAX_BYTES];
    uint32_t count, key_count;
} Metadata;

static void add_channel(Picture *p, ExrPixelType type, const float *data, size_t stride,
                        const char *layer, char suffix)
{
    ASSERT(p->channel_count < CHANNELS_MAX);
    char *name = p->names[p->channel_count];
    if (layer)
        snprintf(name, sizeof p->names[0], "%s.%c", layer, suffix);
    else
        snprintf(name, sizeof p->names[0], "%c", suffix);
    p->channels[p->channel_count++] = (ExrChannel){name, type, data, stride};
}

/* The line'th name of a note. */
static void name_after(const Film *film, FilmNote note, uint32_t line, const char *start,
                       char out[NAME_MAX_BYTES])
{
    const char *name = film_note(film, note);
    for (uint32_t i = 0; i < line; ++i)
        name += strcspn(name, "\n") + 1;
    snprintf(out, NAME_MAX_BYTES, "%s%.*s", start, (int)strcspn(name, "\n"), name);
}

/* Returns the name of an AOV's layer. Light groups have the names that Blender gives them, and shader AOVs the scene's. */
static void layer_name(const Film *film, FilmAov aov, char out[NAME_MAX_BYTES])
{
    uint32_t group = (uint32_t)aov - (uint32_t)FILM_AOV_LIGHT_GROUP_1;
    uint32_t shader = (uint32_t)aov - (uint32_t)FILM_AOV_SHADER_AOV_1;
    if (group < FILM_LIGHT_GROUPS_MAX)
        name_after(film, FILM_NOTE_LIGHT_GROUPS, group, "Combined_", out);
    else if (shader < FILM_SHADER_AOVS_MAX)
        name_after(film, FILM_NOTE_SHADER_AOVS, shader, "AOV_", out);
    else
        snprintf(out, NAME_MAX_BYTES, "%s", film_aov_info(aov)->name);
}

/* Two ranks a layer, "CryptoObject00.RGBA" and so on. */
static void add_ids(Picture *p, const Film *film, FilmId id, float *at)
{
    film_resolve_ids(film, id, ID_RANKS, at);
    for (uint32_t c = 0; c < 2 * ID_RANKS; ++c) {
        char layer[NAME_MAX_BYTES];
        snprintf(layer, sizeof layer, "%s%02u", film_id_info(id)->layer, c / 4);
        add_channel(p, EXR_PIXEL_FLOAT, at + c, (size_t)2 * ID_RANKS, layer, "RGBA"[c % 4]);
    }
}

static ExrMetadata *add_typed(Metadata *m, const char *name, ExrAttributeType type)
{
    ASSERT(m->count < METADATA_MAX);
    ExrMetadata *item = &m->items[m->count++];
    *item = (ExrMetadata){.name = name, .type = type};
    return item;
}

static void add_metadata(Metadata *m, const char *name, const char *value)
{
    add_typed(m, name, EXR_ATTRIBUTE_STRING)->value = value;
}

static void add_float(Metadata *m, const char *name, double value)
{
    add_typed(m, name, EXR_ATTRIBUTE_FLOAT)->floats[0] = (float)value;
}

static void add_matrix(Metadata *m, const char *name, const float matrix[16])
{
    memcpy(add_typed(m, name, EXR_ATTRIBUTE_M44F)->floats, matrix, 16 * sizeof *matrix);
}

/* 24, 25, 30000/1001 ... as fractions, others to a thousandth. */
static void add_rate(Metadata *m, double fps)
{
    int32_t *rate = add_typed(m, "framesPerSecond", EXR_ATTRIBUTE_RATIONAL)->integers;
    double television = fps * 1.001;
    bool is_whole = fabs(fps - round(fps)) < 1e-4;
    bool is_television = fabs(television - round(television)) < 1e-3;
    rate[0] = (int32_t)(is_whole ? round(fps) : 1000.0 * (is_television ? round(television) : fps));
    rate[1] = is_whole ? 1 : is_television ? 1001 : 1000;
}

/* How the picture was taken, in the words of OpenEXR where it has them. */
static void add_shot(Metadata *m, const FilmShot *shot)
{
    if (shot->has & FILM_SHOT_CAMERA)
        add_matrix(m, "worldToCamera", shot->world_to_camera);
    if (shot->has & FILM_SHOT_NDC)
        add_matrix(m, "worldToNDC", shot->world_to_ndc);
    if (shot->has & FILM_SHOT_FRAME) {
        add_typed(m, "imageCounter", EXR_ATTRIBUTE_INT)->integers[0] = shot->frame;
        add_typed(m, "frame", EXR_ATTRIBUTE_INT)->integers[0] = shot->frame;
    }
    if (shot->fps > 0.0f)
        add_rate(m, (double)shot->fps);
}

typedef struct MakingOf {
    char host[256], date[32];
} MakingOf;

/* When and where it is written, in universal time, and how long it took. */
static void add_making(Metadata *m, const FilmShot *shot, MakingOf *making)
{
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) &&
        strftime(making->date, sizeof making->date, "%Y:%m:%d %H:%M:%S", &parts) > 0) {
        add_metadata(m, "capDate", making->date);
        add_float(m, "utcOffset", 0.0);
    }
    if (gethostname(making->host, sizeof making->host - 1) == 0 && making->host[0])
        add_metadata(m, "HostComputer", making->host);
    add_float(m, "renderTime", shot->render_s);
}

/* Adds the metadata that the Cryptomatte specification requires of one layer. */
static void add_id_metadata(Metadata *m, const Film *film, FilmId id)
{
    const char *layer = film_id_info(id)->layer;
    char key[8];
    cryptomatte_layer_key(layer, key);
    const char *const items[][2] = {{"name", layer},
                                    {"hash", "MurmurHash3_32"},
                                    {"conversion", "uint32_to_float32"},
                                    {"manifest", film_note(film, FILM_NOTE_CREDITS + 1 + id)}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(items); ++i) {
        char *name = m->keys[m->key_count++];
        snprintf(name, KEY_MAX_BYTES, "cryptomatte/%s/%s", key, items[i][0]);
        add_metadata(m, name, items[i][1]);
    }
}

/* Channels of floats beside RGBA. */
static uint32_t count_floats(const FilmDesc *desc)
{
    uint32_t floats = 0;
    for (int a = 0; a < FILM_AOV_COUNT; ++a)
        floats +=
            film_aovs_have(desc->aovs, (FilmAov)a) ? film_aov_info((FilmAov)a)->channel_count : 0;
    for (int i = 0; i < FILM_ID_COUNT; ++i)
        floats += desc->ids >> i & 1 ? 2 * ID_RANKS : 0;
    return floats;
}

uint64_t render_output_exr_bytes(const Film *film)
{
    const FilmDesc *desc = film_desc(film);
    return (uint64_t)desc->crop_width * desc->crop_height * (4 + count_floats(desc)) *
           sizeof(float);
}

/* Returns the factor on an AOV's values: the exposure for light, its square for a variance of light. */
static float gain_of(const Film *film, FilmAov aov)
{
    const FilmAovSet light =
        FILM_LIGHT | FILM_AOV_BIT(FILM_AOV_DENOISING_EVEN) | FILM_AOV_BIT(FILM_AOV_DENOISING_ODD);
    const FilmAovSet variances =
        FILM_AOV_BIT(FILM_AOV_VARIANCE) | FILM_AOV_BIT(FILM_AOV_DENOISING_VARIANCE);
    float exposure = film_shot(film)->exposure;
    return film_aovs_have(light, aov)       ? exposure
           : film_aovs_have(variances, aov) ? exposure * exposure
                                            : 1.0f;
}

void render_output_resolve(const Film *film, float *out_rgba)
{
    const FilmDesc *desc = film_desc(film);
    size_t floats = 4 * (size_t)desc->crop_width * desc->crop_height;
    float exposure = film_shot(film)->exposure;
    film_resolve(film, out_rgba);
    for (size_t i = 0; i < floats; ++i)
        out_rgba[i] *= i % 4 == 3 ? 1.0f : exposure;
}

void render_output_resolve_aov(const Film *film, FilmAov aov, float *out_values)
{
    const FilmDesc *desc = film_desc(film);
    uint32_t channels = film_aov_info(aov)->channel_count;
    size_t floats = (size_t)desc->crop_width * desc->crop_height * channels;
    float gain = gain_of(film, aov);
    film_resolve_aov(film, aov, out_values);
    for (size_t i = 0; i < floats; ++i)
        out_values[i] *= i % channels < 3 ? gain : 1.0f; /* a fourth one counts samples */
}

/* Whether all of the values are numbers that a half has. */
static bool fit_halves(const float *values, size_t count)
{
    bool do_fit = true;
    for (size_t i = 0; i < count; ++i)
        do_fit &= fabsf(values[i]) <= HALF_MAX;
    return do_fit;
}

static Status picture_create(const Film *film, const RenderExr *how, Picture *p, Error *err)
{
    const FilmDesc *desc = film_desc(film);
    size_t count = (size_t)desc->crop_width * desc->crop_height, floats = 4 + count_floats(desc);
    *p = (Picture){.pixels = mem_alloc(count, floats * sizeof(float))};
    if (!p->pixels)
        return error_set(err, STATUS_NO_MEMORY, "out of memory writing the picture");
    render_output_resolve(film, p->pixels);
    bool is_half = !how->is_float && fit_halves(p->pixels, 4 * count) &&
                   (!how->denoised || fit_halves(how->denoised, 4 * count));
    const ExrPixelType type = is_half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT;
    for (int c = 0; c < 4; ++c)
        add_channel(p, type, p->pixels + c, 4, NULL, "RGBA"[c]);
    for (int c = 0; c < 4 && how->denoised; ++c)
        add_channel(p, type, how->denoised + c, 4, "denoised", "RGBA"[c]);
    float *at = p->pixels + 4 * count;
    for (int a = 0; a < FILM_AOV_COUNT; ++a) {
        const FilmAovInfo *info = film_aov_info((FilmAov)a);
        if (!film_aovs_have(desc->aovs & ~how->hidden, (FilmAov)a))
            continue;
        char layer[NAME_MAX_BYTES];
        layer_name(film, (FilmAov)a, layer);
        render_output_resolve_aov(film, (FilmAov)a, at);
        for (uint32_t c = 0; c < info->channel_count; ++c)
            add_channel(p, EXR_PIXEL_FLOAT, at + c, info->channel_count, layer, info->suffixes[c]);
        at += count * info->channel_count;
    }
    for (int i = 0; i < FILM_ID_COUNT; ++i) {
        if (!(desc->ids >> i & 1))
            continue;
        add_ids(p, film, (FilmId)i, at);
        at += count * 2 * ID_RANKS;
    }
    return STATUS_OK;
}

static void describe_samples(const Film *film, StrBuf *out)
{
    uint32_t count;
    const FilmRange *ranges = film_ranges(film, &count);
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "%s%u:%u", i ? "," : "", ranges[i].begin, ranges[i].end);
}

Status render_output_exr(const Film *film, const char *path, const RenderExr *how, Error *err)
{
    static const RenderExr plain;
    const FilmDesc *desc = film_desc(film);
    const FilmShot *shot = film_shot(film);
    MakingOf making = {.date = ""};
    Picture picture;
    StrBuf samples = {0};
    char nominal[16], seed[16], hash[HASH128_TEXT_BYTES];
    if (!how)
        how = &plain;
    TRY(picture_create(film, how, &picture, err));
    describe_samples(film, &samples);
    snprintf(nominal, sizeof nominal, "%u", desc->identity.nominal_samples);
    snprintf(seed, sizeof seed, "%u", desc->identity.seed);
    hash128_text(desc->identity.scene, hash);
    Metadata metadata = {0};
    add_metadata(&metadata, "software", "SORT " SORT_VERSION);
    add_metadata(&metadata, "sort/samples", strbuf_text(&samples));
    add_metadata(&metadata, "sort/nominalSamples", nominal);
    add_metadata(&metadata, "sort/seed", seed);
    add_metadata(&metadata, "sort/guided", desc->identity.guiding == FILM_GUIDED ? "yes" : "no");
    add_metadata(&metadata, "sort/filter", desc->identity.filter);
    add_metadata(&metadata, "sort/cpu", desc->identity.cpu_class);
    add_metadata(&metadata, "sort/sceneHash", hash);
    add_metadata(&metadata, "sort/scene", film_note(film, FILM_NOTE_SCENE));
    add_metadata(&metadata, "credits", film_note(film, FILM_NOTE_CREDITS));
    add_shot(&metadata, shot);
    if (!how->is_timeless)
        add_making(&metadata, shot, &making);
    for (int i = 0; i < FILM_ID_COUNT; ++i)
        if (desc->ids >> i & 1)
            add_id_metadata(&metadata, film, (FilmId)i);
    ExrWriteDesc write = {.size_bytes = sizeof write,
                          .width = desc->crop_width,
                          .height = desc->crop_height,
                          .x = desc->x,
                          .y = desc->y,
                          .frame_width = desc->width,
                          .frame_height = desc->height,
                          .channels = picture.channels,
                          .channel_count = picture.channel_count,
                          .metadata = metadata.items,
                          .metadata_count = metadata.count,
                          .pixel_aspect = shot->pixel_aspect,
                          .compression = EXR_ZIP};
    Status status = samples.failed
                        ? error_set(err, STATUS_NO_MEMORY, "out of memory writing the picture")
                        : exr_write(path, &write, err);
    strbuf_free(&samples);
    mem_free(picture.pixels);
    return status;
}

Status render_output_png(const Film *film, const float *denoised, const char *path,
                         const ViewTransform *view, Error *err)
{
    const FilmDesc *desc = film_desc(film);
    size_t count = (size_t)desc->crop_width * desc->crop_height;
    float *rgba = mem_alloc(count, 4 * sizeof *rgba);
    uint8_t *rgb = mem_alloc(count, 3);
    Status status;
    if (rgba && rgb) {
        if (!denoised)
            render_output_resolve(film, rgba);
        view_transform_rgb(view, denoised ? denoised : rgba, 4, count, rgb);
        status = png_write(path, desc->crop_width, desc->crop_height, 3, rgb, err);
    } else {
        status = error_set(err, STATUS_NO_MEMORY, "out of memory writing the picture");
    }
    mem_free(rgba);
    mem_free(rgb);
    return status;
}

Status render_output_pixels(const Film *film, const float *denoised, const char *path, Error *err)
{
    const FilmDesc *desc = film_desc(film);
    size_t width = desc->crop_width, height = desc->crop_height, row = 4 * width;
    float *rgba = mem_alloc(width * height, 8 * sizeof *rgba);
    if (!rgba)
        return error_set(err, STATUS_NO_MEMORY, "out of memory writing the picture");
    if (!denoised)
        render_output_resolve(film, rgba);
    const float *from = denoised ? denoised : rgba;
    float *turned = rgba + row * height;
    for (size_t y = 0; y < height; ++y)
        memcpy(turned + row * y, from + row * (height - 1 - y), row * sizeof *rgba);
    Status status = file_write_fleeting(path, turned, row * height * sizeof *rgba, err);
    mem_free(rgba);
    return status;
}
