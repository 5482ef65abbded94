/* Partial result files: the exact sums, so that ranges rendered apart, checkpoints and resumed renders give the
 * bits of one uninterrupted render.
 *
 *   FileHeader    fixed size, with a check sum of its own
 *   FilmRange     [range_count]
 *   notes         [note_bytes]: the texts of FilmNote, each with a NUL at its end
 *   rows          [crop_height]: uint32_t packed_bytes, then [crop_width][record_bytes] packed as in film_pack.h; records are
 *                 those of film_record.h, lock zero
 *   IdOverflow    [overflow_count], as in film_ids.h
 *   uint32_t      CRC-32C of all after the header
 *
 * Little-endian. AOVs are listed by name, so that a build with other AOVs says so instead of misreading. The
 * file's size is checked against its header before memory is taken. */
#include "sort/film/film.h"

#include "base/alloc.h"
#include "base/cast.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "sort/film/film_pack.h"
#include "sort/film/film_record.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "partial result files are written as memory is laid out, little-endian"
#endif

enum {
    FILE_VERSION = 23,
    FILE_NOTES_MAX = 1 << 28,
    FILE_IDS_MAX = 8,
    FILE_AOVS_MAX = 64,
    FILE_AOV_NAME_MAX = 24
};

typedef struct FileHeader {
    char magic[8]; /* "SORTPART" */
    uint32_t version, header_bytes;
    uint32_t width, height, x, y, crop_width, crop_height;
    uint32_t record_bytes, range_count, aov_count;
    uint32_t nominal_samples, seed, note_bytes;
    uint64_t job, widened_at; /* of a checkpoint, else 0 */
    uint32_t pass_samples, wide_samples, sample_begin, sample_end, has_catchers;
    uint32_t has_splats, guiding;
    uint64_t light_path_count, odd_light_path_count;
    FilmShot shot;
    uint64_t overflow_count, rows_bytes;
    Hash128 scene;
    char filter[FILM_FILTER_NAME_MAX];
    char cpu_class[FILM_TARGET_NAME_MAX];
    char accumulator[16]; /* "fixed128 2^-64" */
    char aovs[FILE_AOVS_MAX][FILE_AOV_NAME_MAX];
    char ids[FILE_IDS_MAX][FILE_AOV_NAME_MAX]; /* "" after the last */
    uint32_t crc;                              /* of all above */
} FileHeader;

static const char file_magic[8] = {'S', 'O', 'R', 'T', 'P', 'A', 'R', 'T'};
static const char file_accumulator[16] = "fixed128 2^-64";
_Static_assert((int)FILM_ID_COUNT <= (int)FILE_IDS_MAX, "the header has no room for all layers");
_Static_assert((int)FILM_AOV_COUNT <= (int)FILE_AOVS_MAX, "the header has no room for all AOVs");

static uint32_t header_crc(const FileHeader *h)
{
    return crc32c(0, h, offsetof(FileHeader, crc));
}

static size_t film_row_bytes(const Film *film)
{
    return (size_t)film->desc.crop_width * film->record_bytes;
}

static uint64_t packed_rows_bytes(const Film *film)
{
    size_t row_bytes = film_row_bytes(film);
    uint64_t total = 0;
    for (uint32_t y = 0; y < film->desc.crop_height; ++y)
        total += sizeof(uint32_t) + film_packed_size(film->pixels + y * row_bytes, row_bytes);
    return total;
}

static void make_header(const Film *film, FileHeader *h)
{
    const FilmDesc *d = &film->desc;
    memset(h, 0, sizeof *h);
    memcpy(h->magic, file_magic, sizeof file_magic);
    h->version = FILE_VERSION;
    h->header_bytes = sizeof *h;
    h->width = d->width, h->height = d->height, h->x = d->x, h->y = d->y;
    h->crop_width = d->crop_width, h->crop_height = d->crop_height;
    h->record_bytes = film->record_bytes;
    h->range_count = film->range_count;
    for (uint32_t i = 0; i < FILM_NOTE_COUNT; ++i)
        h->note_bytes += (uint32_t)strlen(film_note(film, (FilmNote)i)) + 1;
    h->overflow_count = film->id_table.count;
    h->rows_bytes = packed_rows_bytes(film);
    h->job = film->checkpoint.job;
    h->pass_samples = film->checkpoint.pass_samples;
    h->wide_samples = film->checkpoint.wide_samples;
    h->widened_at = film->checkpoint.widened_at;
    h->sample_begin = film->checkpoint.sample_begin;
    h->sample_end = film->checkpoint.sample_end;
    h->shot = film->shot;
    h->has_catchers = d->has_catchers;
    h->has_splats = d->has_splats;
    h->light_path_count = atomic_load_explicit(&film->light_path_count, memory_order_relaxed);
    h->odd_light_path_count =
        atomic_load_explicit(&film->odd_light_path_count, memory_order_relaxed);
    h->nominal_samples = d->identity.nominal_samples;
    h->seed = d->identity.seed;
    h->guiding = d->identity.guiding;
    h->scene = d->identity.scene;
    memcpy(h->filter, d->identity.filter, sizeof h->filter);
    memcpy(h->cpu_class, d->identity.cpu_class, sizeof h->cpu_class);
    memcpy(h->accumulator, file_accumulator, sizeof h->accumulator);
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        if (film_aovs_have(d->aovs, (FilmAov)i)) {
            const char *name = film_aov_info((FilmAov)i)->name;
            memcpy(h->aovs[h->aov_count++], name, strlen(name));
        }
    for (uint32_t i = 0, count = 0; i < FILM_ID_COUNT; ++i)
        if (d->ids >> i & 1) {
            const char *name = film_id_info((FilmId)i)->name;
            memcpy(h->ids[count++], name, strlen(name));
        }
    h->crc = header_crc(h);
}

/* Errors of the stream are noticed when the file is committed. */
static uint32_t write_checked(FILE *stream, const void *data, size_t size_bytes, uint32_t crc)
{
    (void)fwrite(data, 1, size_bytes, stream);
    return crc32c(crc, data, size_bytes);
}

static uint32_t write_overflow(FILE *stream, const IdTable *table, uint32_t crc)
{
    for (size_t i = 0; i < table->capacity; ++i)
        if (table->entries[i].entry.count)
            crc = write_checked(stream, &table->entries[i], sizeof table->entries[i], crc);
    return crc;
}

static uint32_t write_rows(FILE *stream, const Film *film, uint8_t *packed, uint32_t crc)
{
    size_t row_bytes = film_row_bytes(film);
    for (uint32_t y = 0; y < film->desc.crop_height; ++y) {
        uint32_t size = (uint32_t)film_pack(film->pixels + y * row_bytes, row_bytes, packed);
        crc = write_checked(stream, &size, sizeof size, crc);
        crc = write_checked(stream, packed, size, crc);
    }
    return crc;
}

static Status write_all(const Film *film, const char *path, uint8_t *packed, Error *err)
{
    FileHeader header;
    make_header(film, &header);
    FileReplace file;
    TRY(file_replace_begin(path, &file, err));
    (void)fwrite(&header, sizeof header, 1, file.stream);
    uint32_t crc =
        write_checked(file.stream, film->ranges, film->range_count * sizeof *film->ranges, 0);
    for (uint32_t i = 0; i < FILM_NOTE_COUNT; ++i) {
        const char *note = film_note(film, (FilmNote)i);
        crc = write_checked(file.stream, note, strlen(note) + 1, crc);
    }
    crc = write_rows(file.stream, film, packed, crc);
    crc = write_overflow(file.stream, &film->id_table, crc);
    (void)fwrite(&crc, sizeof crc, 1, file.stream);
    return file_replace_commit(&file, err);
}

Status film_write_partial(const Film *film, const char *path, Error *err)
{
    if (film->id_table.has_failed)
        return error_set_at(err, STATUS_NO_MEMORY, path, "no memory for Cryptomatte's counts");
    uint8_t *packed = mem_alloc(film_packed_max(film_row_bytes(film)), 1);
    if (!packed)
        return error_set_at(err, STATUS_NO_MEMORY, path, "no memory for a row of sums");
    Status status = write_all(film, path, packed, err);
    mem_free(packed);
    return status;
}

static Status check_header(const FileHeader *h, const char *path, Error *err)
{
    if (memcmp(h->magic, file_magic, sizeof file_magic) != 0)
        return error_set_at(err, STATUS_FORMAT, path, "not a partial result");
    if (h->version != FILE_VERSION)
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "partial result of version %u; this build reads version %d", h->version,
                            FILE_VERSION);
    if (h->header_bytes != sizeof *h || h->crc != header_crc(h))
        return error_set_at(err, STATUS_FORMAT, path, "the header is damaged");
    if (memcmp(h->accumulator, file_accumulator, sizeof file_accumulator) != 0)
        return error_set_at(err, STATUS_UNSUPPORTED, path, "sums are stored in another format");
    if (h->filter[sizeof h->filter - 1] || h->cpu_class[sizeof h->cpu_class - 1] ||
        h->aov_count > FILM_AOV_COUNT || h->range_count > FILM_MAX_RANGES ||
        h->guiding > FILM_GUIDED || h->note_bytes > FILE_NOTES_MAX || h->crop_width == 0 ||
        h->crop_height == 0)
        return error_set_at(err, STATUS_FORMAT, path, "the header is malformed");
    bool is_finite = isfinite(h->shot.render_s) && isfinite(h->shot.fps) &&
                     isfinite(h->shot.pixel_aspect) && isfinite(h->shot.exposure);
    for (int i = 0; i < 16; ++i)
        is_finite =
            is_finite && isfinite(h->shot.world_to_camera[i]) && isfinite(h->shot.world_to_ndc[i]);
    if (!is_finite)
        return error_set_at(err, STATUS_FORMAT, path, "the header is malformed");
    return STATUS_OK;
}

static Status refuse_layer(const char name[FILE_AOV_NAME_MAX], const char *path, Error *err)
{
    return error_set_at(err, STATUS_UNSUPPORTED, path, "holds an AOV unknown to this build: '%.*s'",
                        FILE_AOV_NAME_MAX, name);
}

static Status read_aov(const char name[FILE_AOV_NAME_MAX], const char *path, FilmAovSet *aovs,
                       Error *err)
{
    FilmAov aov;
    if (name[FILE_AOV_NAME_MAX - 1] || !film_aov_find(name, &aov))
        return refuse_layer(name, path, err);
    *aovs |= FILM_AOV_BIT(aov);
    return STATUS_OK;
}

static Status read_id(const char name[FILE_AOV_NAME_MAX], const char *path, uint32_t *ids,
                      Error *err)
{
    for (uint32_t i = 0; i < FILM_ID_COUNT && !name[FILE_AOV_NAME_MAX - 1]; ++i)
        if (strcmp(name, film_id_info((FilmId)i)->name) == 0) {
            *ids |= 1u << i;
            return STATUS_OK;
        }
    return refuse_layer(name, path, err);
}

static Status read_layers(const FileHeader *h, const char *path, FilmDesc *desc, Error *err)
{
    for (uint32_t i = 0; i < h->aov_count; ++i)
        TRY(read_aov(h->aovs[i], path, &desc->aovs, err));
    for (uint32_t i = 0; i < FILE_IDS_MAX && h->ids[i][0]; ++i)
        TRY(read_id(h->ids[i], path, &desc->ids, err));
    return STATUS_OK;
}

static Status check_size(const FileHeader *h, const char *path, Error *err)
{
    uint64_t size = 0;
    TRY(file_size(path, &size, err));
    size_t overflow = 0, expected = 0, least = 0, row = (size_t)h->crop_width * h->record_bytes;
    /* A row is at least a control byte for each 16: no small file makes this program take much memory. */
    bool fits =
        size_mul(h->crop_height, sizeof(uint32_t) + row / 16, &least) && h->rows_bytes >= least &&
        size_mul(h->overflow_count, sizeof(IdOverflow), &overflow) &&
        size_add(h->rows_bytes,
                 sizeof *h + h->range_count * sizeof(FilmRange) + h->note_bytes + sizeof(uint32_t),
                 &expected) &&
        size_add(expected, overflow, &expected);
    if (!fits || size != expected)
        return error_set_at(err, STATUS_FORMAT, path, "%s: %llu bytes instead of %zu",
                            fits && size > expected ? "more follows behind its end" : "truncated",
                            (unsigned long long)size, fits ? expected : 0);
    return STATUS_OK;
}

/* Reads what the check sum covers. */
static bool read_part(FILE *stream, void *data, size_t size_bytes, uint32_t *crc)
{
    if (fread(data, 1, size_bytes, stream) != size_bytes)
        return false;
    *crc = crc32c(*crc, data, size_bytes);
    return true;
}

static Status refuse_end(const char *path, Error *err)
{
    return error_set_at(err, STATUS_IO, path, "cannot be read to its end");
}

static Status refuse_sums(const char *path, Error *err)
{
    return error_set_at(err, STATUS_FORMAT, path, "the sums are damaged");
}

static Status set_notes(const char *text, uint32_t bytes, const char *path, Film *film, Error *err)
{
    const char *at = text, *end = text + bytes;
    for (uint32_t i = 0; i < FILM_NOTE_COUNT; ++i) {
        if (!memchr(at, 0, (size_t)(end - at)))
            return error_set_at(err, STATUS_FORMAT, path, "its notes make no sense");
        TRY(film_set_note(film, (FilmNote)i, at, err));
        at += strlen(at) + 1;
    }
    return STATUS_OK;
}

static Status read_notes(FILE *stream, uint32_t bytes, const char *path, Film *film, uint32_t *crc,
                         Error *err)
{
    char *text = mem_alloc((size_t)bytes + 1, 1);
    if (!text)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the notes of a film");
    Status status = read_part(stream, text, bytes, crc) ? set_notes(text, bytes, path, film, err)
                                                        : refuse_end(path, err);
    mem_free(text);
    return status;
}

static Status read_overflow(FILE *stream, uint64_t count, const char *path, Film *film,
                            uint32_t *crc, Error *err)
{
    uint64_t places = (uint64_t)film_pixel_count(film) * FILM_ID_COUNT;
    for (uint64_t i = 0; i < count; ++i) {
        IdOverflow e;
        if (!read_part(stream, &e, sizeof e, crc))
            return refuse_end(path, err);
        if (e.place >= places || e.entry.count == 0 || e.entry.count > FILM_MAX_SAMPLES ||
            !film->id_offsets[e.place % FILM_ID_COUNT])
            return error_set_at(err, STATUS_FORMAT, path, "its Cryptomatte counts make no sense");
        id_table_add(&film->id_table, e.place, e.entry.id, e.entry.count);
    }
    return film->id_table.has_failed
               ? error_set(err, STATUS_NO_MEMORY, "no memory for Cryptomatte's counts")
               : STATUS_OK;
}

static Status check_records(const Film *film, const char *path, Error *err)
{
    for (size_t i = 0; i < film_pixel_count(film); ++i) {
        const PixelHead *head = record_head(film_record(film, i));
        if (atomic_load_explicit(&head->lock, memory_order_relaxed) != 0 ||
            head->sample_count > FILM_MAX_SAMPLES)
            return error_set_at(err, STATUS_FORMAT, path, "pixel %zu is malformed", i);
    }
    return STATUS_OK;
}

/* A packed row that makes no sense is damaged; so the check sum says of those that do. */
static Status read_rows(FILE *stream, uint64_t rows_bytes, const char *path, Film *film,
                        uint8_t *packed, uint32_t *crc, Error *err)
{
    size_t row_bytes = film_row_bytes(film);
    uint64_t left = rows_bytes;
    for (uint32_t y = 0; y < film->desc.crop_height; ++y) {
        uint32_t size = 0;
        if (left < sizeof size)
            return refuse_sums(path, err);
        if (!read_part(stream, &size, sizeof size, crc))
            return refuse_end(path, err);
        left -= sizeof size;
        if (size > left || size > film_packed_max(row_bytes))
            return refuse_sums(path, err);
        if (!read_part(stream, packed, size, crc))
            return refuse_end(path, err);
        left -= size;
        if (!film_unpack(packed, size, film->pixels + y * row_bytes, row_bytes))
            return refuse_sums(path, err);
    }
    return left == 0 ? STATUS_OK : refuse_sums(path, err);
}

static Status read_pixels(FILE *stream, uint64_t rows_bytes, const char *path, Film *film,
                          uint32_t *crc, Error *err)
{
    uint8_t *packed = mem_alloc(film_packed_max(film_row_bytes(film)), 1);
    if (!packed)
        return error_set_at(err, STATUS_NO_MEMORY, path, "no memory for a row of sums");
    Status status = read_rows(stream, rows_bytes, path, film, packed, crc, err);
    mem_free(packed);
    return status;
}

static Status read_body(FILE *stream, const FileHeader *h, const char *path, Film *film, Error *err)
{
    FilmRange ranges[FILM_MAX_RANGES];
    uint32_t stored = 0, crc = 0;
    if (!read_part(stream, ranges, h->range_count * sizeof *ranges, &crc))
        return refuse_end(path, err);
    TRY(read_notes(stream, h->note_bytes, path, film, &crc, err));
    TRY(read_pixels(stream, h->rows_bytes, path, film, &crc, err));
    TRY(read_overflow(stream, h->overflow_count, path, film, &crc, err));
    if (fread(&stored, sizeof stored, 1, stream) != 1)
        return refuse_end(path, err);
    if (crc != stored)
        return refuse_sums(path, err);
    for (uint32_t i = 0; i < h->range_count; ++i)
        if (film_add_range(film, ranges[i], NULL) != STATUS_OK)
            return error_set_at(err, STATUS_FORMAT, path, "its sample ranges make no sense");
    film->checkpoint = (FilmCheckpoint){.job = h->job,
                                        .pass_samples = h->pass_samples,
                                        .wide_samples = h->wide_samples,
                                        .widened_at = h->widened_at,
                                        .sample_begin = h->sample_begin,
                                        .sample_end = h->sample_end};
    film->shot = h->shot;
    film_count_light_paths(film, h->light_path_count, h->odd_light_path_count);
    return check_records(film, path, err);
}

static Status read_stream(FILE *stream, const char *path, Film **out_film, Error *err)
{
    FileHeader h;
    if (fread(&h, sizeof h, 1, stream) != 1)
        return error_set_at(err, STATUS_FORMAT, path, "not a partial result: too short");
    TRY(check_header(&h, path, err));
    FilmDesc desc = {.size_bytes = sizeof desc,
                     .width = h.width,
                     .height = h.height,
                     .x = h.x,
                     .y = h.y,
                     .crop_width = h.crop_width,
                     .crop_height = h.crop_height,
                     .has_catchers = h.has_catchers != 0,
                     .has_splats = h.has_splats != 0,
                     .identity = {.scene = h.scene,
                                  .nominal_samples = h.nominal_samples,
                                  .seed = h.seed,
                                  .guiding = (FilmGuiding)h.guiding}};
    memcpy(desc.identity.filter, h.filter, sizeof h.filter);
    memcpy(desc.identity.cpu_class, h.cpu_class, sizeof h.cpu_class);
    TRY(read_layers(&h, path, &desc, err));
    TRY(check_size(&h, path, err));
    Film *film = NULL;
    Status status = film_create(&desc, &film, err);
    if (status == STATUS_INVALID)
        return error_set_at(err, STATUS_FORMAT, path, "the header is malformed");
    TRY(status);
    status = film->record_bytes == h.record_bytes
                 ? read_body(stream, &h, path, film, err)
                 : error_set_at(err, STATUS_FORMAT, path, "records of %u bytes instead of %u",
                                h.record_bytes, film->record_bytes);
    if (status != STATUS_OK) {
        film_destroy(film);
        return status;
    }
    *out_film = film;
    return STATUS_OK;
}

Status film_read_partial(const char *path, Film **out_film, Error *err)
{
    *out_film = NULL;
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return error_set_at(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path, "%s",
                            strerror(errno));
    Status status = read_stream(stream, path, out_film, err);
    (void)fclose(stream);
    return status;
}
