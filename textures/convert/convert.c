/* Image to paged texture, in one pass from the top row down:
 *
 *   decoder --bands of rows--> repair --native--> writer, level 0
 *                                 \--linear floats--> mip builder --rows--> encode --> writer, level n
 *
 * Level 0 keeps the source's texels unchanged where the stored format equals the source's. Only 8-bit
 * sRGB stays encoded; wider sRGB sources are stored linear (16-bit integers as half), since otherwise
 * every lookup would have to evaluate the curve for every texel. */
#include "base/alloc.h"
#include "base/cast.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/thread.h"
#include "textures/convert/mip_build.h"
#include "textures/format/stex_write.h"
#include "textures/format/texel.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAND_ROWS = 64, BAND_ROWS_MAX = 1024 };

typedef struct Conversion {
    const TexConvertDesc *desc;
    SortImage *image; /* owned */
    SortLevelInfo info;
    TexelTables tables;
    TexelFormat source, stored;
    StexWriter *writer; /* owned */
    MipBuilder *mips;   /* owned */
    HashState digest;
    uint32_t band_rows, thread_count;
    uint8_t *bands[2]; /* owned, used alternately; band_rows rows as the decoder gives them */
    float *linear;     /* owned; one row */
    uint8_t *native;   /* owned; one row in the stored format */
    uint8_t *above,
        /* owned; the previous row, repaired, and the last row of a band, which waits for the next band */
        *held;
    bool has_above, has_held;
    float average[4];
    uint64_t non_finite_texels;
    SortHostApi host; /* the decoder's host: desc->host, with warnings collected as notes */
    Mutex notes_lock; /* a decoder may issue warnings on any thread */
    char notes[TEX_NOTES_BYTES];
} Conversion;

static size_t texel_bytes(TexelFormat format)
{
    return (size_t)format.channel_count * stex_component_bytes(format.type);
}

static Status decoder_error(const Conversion *c, SortResult result, const SortFailure *why,
                            Error *err)
{
    static const Status codes[] = {
        [SORT_ERROR_OPEN] = STATUS_IO,
        [SORT_ERROR_FORMAT] = STATUS_FORMAT,
        [SORT_ERROR_UNSUPPORTED] = STATUS_UNSUPPORTED,
        [SORT_ERROR_NO_MEMORY] = STATUS_NO_MEMORY,
        [SORT_ERROR_CANCELLED] = STATUS_CANCELLED,
        [SORT_ERROR_SINK] = STATUS_INTERNAL,
    };
    Status code = (size_t)result < SORT_COUNT_OF(codes) ? codes[result] : STATUS_INTERNAL;
    return error_set_at(err, code, c->desc->source_path, "%.*s", SORT_FAILURE_TEXT_MAX,
                        why->text[0] ? why->text : "the decoder failed without a reason");
}

static Status check_source(const Conversion *c, Error *err)
{
    const SortLevelInfo *info = &c->info;
    const char *path = c->desc->source_path;
    if (info->width == 0 || info->height == 0 || info->channel_count < 1 ||
        info->channel_count > 4 || (uint32_t)info->type > SORT_TEXEL_FLOAT)
        return error_set_at(err, STATUS_FORMAT, path,
                            "holds no picture that a texture can be made of");
    if (info->width > STEX_SIZE_MAX || info->height > STEX_SIZE_MAX) {
        return error_set_at(err, STATUS_LIMIT, path,
                            "is %" PRIu32 " x %" PRIu32 " pixels; textures go up to %d an axis",
                            info->width, info->height, STEX_SIZE_MAX);
    }
    return STATUS_OK;
}

/* Returns the rows of a band: about one row of output tiles, rounded to whole rows of the source's tiles, so
 * that no tile is decoded twice. */
static uint32_t choose_band_rows(const SortLevelInfo *info)
{
    uint32_t step =
        info->tile_height > 0 && info->tile_height <= BAND_ROWS_MAX ? info->tile_height : 1;
    return (BAND_ROWS + step - 1) / step * step;
}

static Status write_linear_row(void *data, uint32_t level, const float *row, Error *err)
{
    Conversion *c = data;
    const StexLevel *l = &stex_writer_header(c->writer)->levels[level];
    texel_encode_row(&c->tables, c->stored, row, l->width, c->native);
    if (l->width == 1 && l->height == 1)
        texel_expand(row, c->stored.channel_count, c->average);
    return stex_writer_row(c->writer, level, c->native, err);
}

/* Decodes rows from `y` on into consecutive rows of `out`. */
static Status decode_rows(const Conversion *c, uint32_t y, uint32_t rows, void *out, Error *err)
{
    ASSERT(rows > 0 && y < c->info.height && rows <= c->info.height - y);
    const TexConvertDesc *desc = c->desc;
    SortRegion region = {
        .subimage = desc->subimage, .y = y, .width = c->info.width, .height = rows};
    SortFailure why = {{0}};
    size_t bytes = c->info.width * texel_bytes(c->source) * rows;
    SortResult result = desc->decoder->read(c->image, &region, out, bytes, &why);
    return result == SORT_OK ? STATUS_OK : decoder_error(c, result, &why, err);
}

/* Determines whether halves represent all values of a float image exactly. They do for most RGBE pictures,
 * whose mantissas have 8 bits, and for halves that were widened to floats. The call decodes the image once
 * more, up to the first value that does not fit. */
static Status fits_half(const Conversion *c, bool *out_fits, Error *err)
{
    const SortLevelInfo *info = &c->info;
    size_t row_values = (size_t)info->width * info->channel_count;
    float *values = mem_alloc(row_values * c->band_rows, sizeof *values);
    half *halves = mem_alloc(row_values, sizeof *halves);
    float *back = mem_alloc(row_values, sizeof *back);
    Status status = STATUS_OK;
    if (!values || !halves || !back)
        status = error_set_at(err, STATUS_NO_MEMORY, c->desc->source_path, "out of memory");
    *out_fits = true;
    for (uint32_t y = 0; y < info->height && status == STATUS_OK && *out_fits; y += c->band_rows) {
        uint32_t rows = info->height - y < c->band_rows ? info->height - y : c->band_rows;
        status = decode_rows(c, y, rows, values, err);
        for (uint32_t i = 0; i < rows && status == STATUS_OK && *out_fits; ++i) {
            const float *row = values + i * row_values;
            half_from_float_array(row, row_values, halves);
            half_to_float_array(halves, row_values, back);
            /* Infinities and NaNs are repaired as floats are. */
            for (size_t k = 0; k < row_values; ++k)
                *out_fits = *out_fits && row[k] == back[k] && isfinite(row[k]);
        }
    }
    mem_free(values);
    mem_free(halves);
    mem_free(back);
    return status;
}

/* --- what there is to warn of --------------------------------------------------------------------- */

/* Appends a line to the notes. It is cut if it is longer than all notes may be, and left out if there is no
 * room for it. */
static void add_note(Conversion *c, const char *text)
{
    char line[TEX_NOTES_BYTES - 1];
    str_printable(str_from(text[0] ? text : "a warning without text"), line, sizeof line);
    mutex_lock(&c->notes_lock);
    size_t used = strlen(c->notes), bytes = strlen(line);
    if (used + bytes + 2 <= sizeof c->notes) {
        if (used > 0)
            c->notes[used++] = '\n';
        memcpy(c->notes + used, line, bytes + 1);
    }
    mutex_unlock(&c->notes_lock);
}

static void decoder_logs(void *data, SortLogLevel level, const char *text)
{
    Conversion *c = data;
    const SortHostApi *host = c->desc->host;
    if (level >= SORT_LOG_WARNING)
        add_note(c, text);
    if (host && host->log)
        host->log(host->host, level, text);
}

static bool is_cancelled(void *data)
{
    const SortHostApi *host = ((const Conversion *)data)->desc->host;
    return host && host->cancelled && host->cancelled(host->host);
}

static void note_repairs(Conversion *c)
{
    char text[128];
    snprintf(text, sizeof text,
             "%" PRIu64 " texels were not finite, or beyond 1e30, and have been replaced",
             c->non_finite_texels);
    if (c->non_finite_texels > 0)
        add_note(c, text);
}

static Status open_source(Conversion *c, Error *err)
{
    const TexConvertDesc *desc = c->desc;
    SortFailure why = {{0}};
    SortResult result = desc->decoder->open(&c->host, desc->source_path, &c->image, &why);
    if (result != SORT_OK)
        return decoder_error(c, result, &why, err);
    c->info.size_bytes = sizeof c->info;
    result = desc->decoder->level(c->image, desc->subimage, 0, &c->info, &why);
    return result == SORT_OK ? check_source(c, err) : decoder_error(c, result, &why, err);
}

/* Chooses how texels are stored: linear where 8 bits do not encode them, as half floats where no value is lost. */
static Status choose_format(Conversion *c, SortColorSpace *out_space, Error *err)
{
    *out_space = texel_source_color_space(&c->info, c->desc->color_space);
    bool is_srgb = *out_space == SORT_COLOR_SRGB;
    c->source = (TexelFormat){c->info.type, c->info.channel_count, is_srgb};
    c->stored = c->source;
    if (is_srgb && c->info.type != SORT_TEXEL_U8) {
        c->stored.is_srgb = false;
        if (c->info.type == SORT_TEXEL_U16)
            c->stored.type = SORT_TEXEL_HALF;
        *out_space = SORT_COLOR_LINEAR;
    }
    c->band_rows = choose_band_rows(&c->info);
    if (c->stored.type == SORT_TEXEL_FLOAT && *out_space == SORT_COLOR_LINEAR) {
        bool fits;
        TRY(fits_half(c, &fits, err));
        if (fits)
            c->stored.type = SORT_TEXEL_HALF;
    }
    return STATUS_OK;
}

static Status allocate_rows(Conversion *c, Error *err)
{
    for (uint32_t i = 0; i < 2; ++i)
        c->bands[i] = mem_alloc((size_t)c->info.width * c->band_rows, texel_bytes(c->source));
    c->linear = mem_alloc((size_t)c->info.width * c->info.channel_count, sizeof(float));
    c->native = mem_alloc(c->info.width, texel_bytes(c->stored));
    c->above = mem_alloc(c->info.width, texel_bytes(c->source));
    c->held = mem_alloc(c->info.width, texel_bytes(c->source));
    if (!c->bands[0] || !c->bands[1] || !c->linear || !c->native || !c->above || !c->held)
        return error_set_at(err, STATUS_NO_MEMORY, c->desc->source_path, "out of memory");
    return STATUS_OK;
}

/* Begins the digest of the source with all that decides how its texels are read. */
static void begin_digest(Conversion *c, const StexHeader *format, bool is_alpha_weighted)
{
    hash128_begin(&c->digest);
    hash128_update_text(&c->digest, "stex source 2");
    hash128_update_u64(&c->digest, (uint64_t)c->info.width << 32 | c->info.height);
    hash128_update_u64(&c->digest, (uint64_t)c->source.type << 32 | c->source.channel_count);
    hash128_update_u64(&c->digest,
                       (uint64_t)format->color_space << 48 | (uint64_t)c->stored.type << 40 |
                           (uint64_t)format->wrap_s << 32 | (uint64_t)format->wrap_t << 24 |
                           (uint64_t)is_alpha_weighted << 8 | (format->flags & STEX_PREMULTIPLIED));
}

/* Opens the source, chooses the stored format and prepares for the first row. */
static Status conversion_begin(Conversion *c, Error *err)
{
    const TexConvertDesc *desc = c->desc;
    SortColorSpace color_space;
    TRY(open_source(c, err));
    TRY(choose_format(c, &color_space, err));

    uint32_t last = c->info.channel_count - 1;
    bool has_alpha = (last == 1 || last == 3) && c->info.alpha_channel == (int32_t)last;
    MipDesc mips = {.width = c->info.width,
                    .height = c->info.height,
                    .channel_count = c->info.channel_count,
                    .is_alpha_weighted =
                        has_alpha && !c->info.is_premultiplied && color_space != SORT_COLOR_RAW,
                    .emit = write_linear_row,
                    .data = c};
    TRY(mip_builder_create(&mips, &c->mips, err));
    TRY(allocate_rows(c, err));

    StexHeader format = {
        .width = c->info.width,
        .height = c->info.height,
        .channel_count = (uint8_t)c->stored.channel_count,
        .texel_type = (uint8_t)c->stored.type,
        .color_space = (uint8_t)color_space,
        .wrap_s = (uint8_t)texel_source_wrap(c->info.wrap_s, desc->wrap_s),
        .wrap_t = (uint8_t)texel_source_wrap(c->info.wrap_t, desc->wrap_t),
        .flags = (has_alpha && c->info.is_premultiplied ? (uint32_t)STEX_PREMULTIPLIED : 0u) |
                 (desc->compression == TEX_COMPRESSION_ZLIB ? (uint32_t)STEX_COMPRESSED : 0u),
    };
    begin_digest(c, &format, mips.is_alpha_weighted);
    TRY(stex_writer_begin(desc->output_path, &format, c->thread_count, &c->writer, err));
    if (desc->compression == TEX_COMPRESSION_ZLIB && desc->compression_level > 0)
        stex_writer_set_level(c->writer, desc->compression_level);
    return STATUS_OK;
}

/* Converts one row of the source's texels, which may be repaired in place. `below` is followed by below_count
 * rows. */
static Status convert_row(Conversion *c, uint8_t *row, const uint8_t *below, uint32_t below_count,
                          Error *err)
{
    size_t width = c->info.width, row_bytes = width * texel_bytes(c->source);
    hash128_update(&c->digest, row, row_bytes);
    TexelRow about = {.format = c->source,
                      .width = width,
                      .above = c->has_above ? c->above : NULL,
                      .texels = row,
                      .below = below,
                      .below_count = below_count};
    size_t repaired = texel_repair_row(&about);
    if (repaired > 0 && c->desc->non_finite == TEX_NON_FINITE_REFUSE)
        return error_set_at(err, STATUS_FORMAT, c->desc->source_path,
                            "has values that are not finite, or beyond 1e30");
    c->non_finite_texels += repaired;
    memcpy(c->above, row, row_bytes);
    c->has_above = true;
    texel_decode_row(&c->tables, c->source, row, width, c->linear);
    bool is_same = c->source.type == c->stored.type && c->source.is_srgb == c->stored.is_srgb;
    if (is_same) {
        TRY(stex_writer_row(c->writer, 0, row, err));
        if (width == 1 && c->info.height == 1)
            texel_expand(c->linear, c->stored.channel_count, c->average);
    } else {
        TRY(write_linear_row(c, 0, c->linear, err));
    }
    return mip_builder_push(c->mips, c->linear, err);
}

/* One band is decoded while the previous one is filtered and written, by two threads or in turn. */
enum { BAND_DECODE, BAND_CONVERT, BAND_TASKS };

typedef struct BandStep {
    Conversion *c;
    /* if a number of rows is 0, that task has nothing to do */
    uint32_t decode_y, decode_rows, convert_rows;
    uint8_t *decoded, *converted; /* borrowed */
    bool is_last;                 /* no row follows the converted ones */
    Status status[BAND_TASKS];
    Error errors[BAND_TASKS];
} BandStep;

static Status decode_band(const BandStep *s, Error *err)
{
    return s->decode_rows > 0 ? decode_rows(s->c, s->decode_y, s->decode_rows, s->decoded, err)
                              : STATUS_OK;
}

static Status convert_band(const BandStep *s, Error *err)
{
    Conversion *c = s->c;
    size_t row_bytes = c->info.width * texel_bytes(c->source);
    uint32_t rows = s->convert_rows;
    if (rows == 0)
        return STATUS_OK;
    if (c->has_held)
        TRY(convert_row(c, c->held, s->converted, rows, err));
    for (uint32_t i = 0; i + 1 < rows; ++i) {
        uint8_t *row = s->converted + i * row_bytes;
        TRY(convert_row(c, row, row + row_bytes, rows - 1 - i, err));
    }
    memcpy(c->held, s->converted + (rows - 1) * row_bytes, row_bytes);
    c->has_held = true;
    return s->is_last ? convert_row(c, c->held, NULL, 0, err) : STATUS_OK;
}

static void run_band_task(void *step, uint32_t task)
{
    BandStep *s = step;
    s->status[task] =
        task == BAND_DECODE ? decode_band(s, &s->errors[task]) : convert_band(s, &s->errors[task]);
}

static uint32_t rows_from(const Conversion *c, uint32_t y)
{
    ASSERT(y <= c->info.height);
    uint32_t left = c->info.height - y;
    return left < c->band_rows ? left : c->band_rows;
}

static Status convert_rows(Conversion *c, Error *err)
{
    const TexConvertDesc *desc = c->desc;
    BandStep step = {.c = c, .decode_rows = rows_from(c, 0), .decoded = c->bands[0]};
    for (uint32_t done = 0, turn = 0; done < c->info.height; turn ^= 1) {
        if (is_cancelled(c))
            return error_set_at(err, STATUS_CANCELLED, desc->source_path, "cancelled");
        parallel_for(c->thread_count, BAND_TASKS, run_band_task, &step);
        /* an error in the upper band is reported first */
        for (uint32_t task = BAND_TASKS; task-- > 0;) {
            if (step.status[task] != STATUS_OK) {
                if (err)
                    *err = step.errors[task];
                return step.status[task];
            }
        }
        done += step.convert_rows;
        if (desc->progress && step.convert_rows > 0)
            desc->progress(desc->progress_data, (float)done / (float)c->info.height);
        step.decode_y += step.decode_rows;
        step.converted = step.decoded;
        step.convert_rows = step.decode_rows;
        step.decoded = c->bands[turn ^ 1];
        step.decode_rows = rows_from(c, step.decode_y);
        step.is_last = step.decode_rows == 0;
    }
    return STATUS_OK;
}

Status texcache_convert(const TexConvertDesc *desc, TexConvertReport *out_report, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc && desc->decoder && desc->source_path &&
          desc->output_path);
    TexConvertReport report = {0};
    Conversion *c = MEM_NEW(Conversion);
    if (!c)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    c->desc = desc;
    c->thread_count = desc->thread_count ? desc->thread_count : thread_cpu_count();
    mutex_init(&c->notes_lock);
    c->host = (SortHostApi){.size_bytes = sizeof c->host,
                            .abi = SORT_PLUGIN_ABI,
                            .host = c,
                            .log = decoder_logs,
                            .cancelled = is_cancelled};
    texel_tables_fill(&c->tables);
    Status status = conversion_begin(c, err);
    if (status == STATUS_OK)
        status = convert_rows(c, err);
    if (status == STATUS_OK) {
        const StexHeader *h = stex_writer_header(c->writer);
        report.width = h->width;
        report.height = h->height;
        report.level_count = h->level_count;
        report.tile_count = h->tile_count;
        report.non_finite_texels = c->non_finite_texels;
        Hash128 digest = hash128_end(&c->digest);
        note_repairs(c);
        StexWriter *writer = c->writer;
        c->writer = NULL;
        status = stex_writer_finish(writer, c->average, digest.bytes, c->notes,
                                    &report.constant_tiles, &report.file_bytes, err);
    }
    if (status == STATUS_OK && out_report)
        *out_report = report;
    stex_writer_abandon(c->writer);
    mip_builder_destroy(c->mips);
    if (c->image)
        desc->decoder->close(c->image);
    mem_free(c->bands[0]);
    mem_free(c->bands[1]);
    mem_free(c->linear);
    mem_free(c->native);
    mem_free(c->above);
    mem_free(c->held);
    mutex_destroy(&c->notes_lock);
    mem_free(c);
    return status;
}
