/* Commits, sums, merging, means. The records are described in film_record.h. */
#include "sort/film/film.h"

#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/vec.h"
#include "sort/film/cryptomatte.h"
#include "sort/film/film_record.h"
#include <inttypes.h>
#include <string.h>

static const FilmAovInfo aov_infos[FILM_AOV_COUNT] = {
#define AOV(id, name, channels, sum, norm, suffixes, doc)                                          \
    {#name, suffixes, doc, channels, FILM_AT_##id},
#include "sort/film/aovs.inc"
#undef AOV
};

static const AovSum aov_sums[FILM_AOV_COUNT] = {
#define AOV(id, name, channels, sum, norm, suffixes, doc) AOV_SUM_##sum,
#include "sort/film/aovs.inc"
#undef AOV
};

static const AovNorm aov_norms[FILM_AOV_COUNT] = {
#define AOV(id, name, channels, sum, norm, suffixes, doc) AOV_NORM_##norm,
#include "sort/film/aovs.inc"
#undef AOV
};

static const FilmIdInfo id_infos[FILM_ID_COUNT] = {
#define FILM_ID(id, name, layer) {#name, layer},
#include "sort/film/film_ids.inc"
#undef FILM_ID
};

const FilmIdInfo *film_id_info(FilmId id)
{
    return (unsigned)id < FILM_ID_COUNT ? &id_infos[id] : NULL;
}

const FilmAovInfo *film_aov_info(FilmAov aov)
{
    return (unsigned)aov < FILM_AOV_COUNT ? &aov_infos[aov] : NULL;
}

bool film_aov_find(const char *name, FilmAov *out_aov)
{
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        if (strcmp(name, aov_infos[i].name) == 0) {
            *out_aov = (FilmAov)i;
            return true;
        }
    return false;
}

/* --- creation ------------------------------------------------------------------------------ */

static Status check_desc(const FilmDesc *d, Error *err)
{
    if (d->width == 0 || d->height == 0 || d->width > FILM_MAX_SIDE_PX ||
        d->height > FILM_MAX_SIDE_PX)
        return error_set(err, STATUS_INVALID, "a film of %u x %u pixels; sides must be 1 to %d",
                         d->width, d->height, FILM_MAX_SIDE_PX);
    if (d->crop_width == 0 || d->crop_height == 0 || d->x >= d->width || d->y >= d->height ||
        d->crop_width > d->width - d->x || d->crop_height > d->height - d->y)
        return error_set(err, STATUS_INVALID,
                         "the crop %u,%u,%u,%u is not inside the frame of %u x %u", d->x, d->y,
                         d->crop_width, d->crop_height, d->width, d->height);
    if (d->aovs >> FILM_AOV_COUNT)
        return error_set(err, STATUS_INVALID, "unknown AOVs (0x%" PRIx64 ")", d->aovs);
    if (d->ids >> FILM_ID_COUNT)
        return error_set(err, STATUS_INVALID, "unknown ids (0x%x)", d->ids);
    return STATUS_OK;
}

/* The AOV of colours that this one is divided by; FILM_AOV_COUNT: none. */
static FilmAov color_of(AovNorm norm)
{
    switch (norm) {
    case AOV_NORM_BY_DIFFUSE:
        return FILM_AOV_DIFFUSE_COLOR;
    case AOV_NORM_BY_GLOSSY:
        return FILM_AOV_GLOSSY_COLOR;
    case AOV_NORM_BY_TRANSMISSION:
        return FILM_AOV_TRANSMISSION_COLOR;
    default:
        return FILM_AOV_COUNT;
    }
}

/* Returns the AOVs with those that they are computed of. */
static FilmAovSet with_sources(FilmAovSet aovs)
{
    if (aovs & FILM_DENOISING & ~FILM_DENOISING_GUIDES)
        aovs |= FILM_DENOISING;
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        if (film_aovs_have(aovs, (FilmAov)i) && color_of(aov_norms[i]) != FILM_AOV_COUNT)
            aovs |= FILM_AOV_BIT(color_of(aov_norms[i]));
    return aovs;
}

static bool is_stored(AovNorm norm)
{
    return norm != AOV_NORM_COUNT && norm != AOV_NORM_CATCHER && norm != AOV_NORM_EVEN;
}

static bool is_of_odd(AovNorm norm)
{
    return norm == AOV_NORM_ODD || norm == AOV_NORM_ODD_INVERSE;
}

static bool is_inverse(AovNorm norm)
{
    return norm == AOV_NORM_INVERSE || norm == AOV_NORM_ODD_INVERSE;
}

/* Whether not every sample has it, so that those that do are counted. */
static bool is_counted(AovNorm norm)
{
    return norm == AOV_NORM_KNOWN || norm == AOV_NORM_PRESENT;
}

/* Returns the AOV whose values of a sample this one sums. */
static FilmAov source_of(FilmAov aov)
{
    switch ((int)aov) {
    case FILM_AOV_DENOISING_ODD_ALBEDO:
        return FILM_AOV_DENOISING_ALBEDO;
    case FILM_AOV_DENOISING_ODD_NORMAL:
        return FILM_AOV_DENOISING_NORMAL;
    case FILM_AOV_DENOISING_ODD_DEPTH:
        return FILM_AOV_DENOISING_DEPTH;
    default:
        return aov;
    }
}

static void lay_out_record(Film *film)
{
    uint32_t offset = PIXEL_AOVS_OFFSET;
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i) {
        if (!film_aovs_have(film->desc.aovs, (FilmAov)i) || !is_stored(aov_norms[i]))
            continue;
        uint32_t channels = aov_infos[i].channel_count;
        uint32_t sums = channels + is_counted(aov_norms[i]);
        film->slots[film->slot_count++] =
            (AovSlot){.aov = (FilmAov)i,
                      .sum = aov_sums[i],
                      .norm = aov_norms[i],
                      .channel_count = channels,
                      .sum_count = sums,
                      .sample_offset = aov_infos[source_of((FilmAov)i)].offset,
                      .record_offset = offset};
        offset += sums * (aov_sums[i] == AOV_SUM_WIDE ? 16u : 8u);
    }
    if (film->desc.has_catchers) {
        film->catcher_offset = offset;
        offset += CATCHER_SUMS * sizeof(AccumWide);
    }
    if (film->desc.has_splats) {
        film->splat_offset = offset;
        offset += film_splat_sums(film) * (uint32_t)sizeof(AccumWide);
    }
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i) {
        if (!(film->desc.ids >> i & 1))
            continue;
        film->id_offsets[i] = offset;
        offset += FILM_ID_SLOTS * sizeof(IdCount);
    }
    film->record_bytes = (offset + 15u) & ~15u;
}

Status film_create(const FilmDesc *desc, Film **out_film, Error *err)
{
    *out_film = NULL;
    ASSERT(desc->size_bytes == sizeof *desc);
    FilmDesc full = *desc;
    if (!(full.x | full.y | full.crop_width | full.crop_height)) {
        full.crop_width = full.width;
        full.crop_height = full.height;
    }
    TRY(check_desc(&full, err));
    full.aovs = with_sources(full.aovs);
    Film *film = MEM_NEW(Film);
    if (!film)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a film");
    film->desc = full;
    film->shot.exposure = 1.0f;
    id_table_init(&film->id_table);
    film->desc.identity.filter[FILM_FILTER_NAME_MAX - 1] = '\0';
    film->desc.identity.cpu_class[FILM_TARGET_NAME_MAX - 1] = '\0';
    lay_out_record(film);
    /* The system would promise more than there is, and end the program when it is used. */
    if (film_pixel_count(film) <= mem_machine_bytes() / film->record_bytes)
        film->pixels = mem_alloc(film_pixel_count(film), film->record_bytes);
    if (!film->pixels) {
        uint32_t bytes = film->record_bytes;
        film_destroy(film);
        return error_set(err, STATUS_NO_MEMORY,
                         "no memory for a film of %u x %u pixels with %u bytes each",
                         full.crop_width, full.crop_height, bytes);
    }
    *out_film = film;
    return STATUS_OK;
}

void film_destroy(Film *film)
{
    if (!film)
        return;
    mem_free(film->pixels);
    for (uint32_t i = 0; i < FILM_NOTE_COUNT; ++i)
        mem_free(film->notes[i]);
    id_table_destroy(&film->id_table);
    mem_free(film);
}

const FilmDesc *film_desc(const Film *film)
{
    return &film->desc;
}

size_t film_size_bytes(const Film *film)
{
    return sizeof *film + film_pixel_count(film) * film->record_bytes;
}

void film_clear(Film *film)
{
    memset(film->pixels, 0, film_pixel_count(film) * film->record_bytes);
    id_table_clear(&film->id_table);
    film->range_count = 0;
    atomic_store_explicit(&film->light_path_count, 0, memory_order_relaxed);
    atomic_store_explicit(&film->odd_light_path_count, 0, memory_order_relaxed);
    film->checkpoint = (FilmCheckpoint){0};
}

void film_set_checkpoint(Film *film, FilmCheckpoint checkpoint)
{
    film->checkpoint = checkpoint;
}

FilmCheckpoint film_checkpoint(const Film *film)
{
    return film->checkpoint;
}

void film_set_nominal_samples(Film *film, uint32_t nominal_samples)
{
    film->desc.identity.nominal_samples = nominal_samples;
}

void film_set_guiding(Film *film, FilmGuiding guiding)
{
    ASSERT(guiding <= FILM_GUIDED);
    film->desc.identity.guiding = guiding;
}

void film_set_shot(Film *film, const FilmShot *shot)
{
    film->shot = *shot;
}

const FilmShot *film_shot(const Film *film)
{
    return &film->shot;
}

/* --- commits ------------------------------------------------------------------------------- */

/* Returns the sample's weight in this AOV. */
static float slot_weight(const AovSlot *slot, const FilmSample *sample)
{
    if (is_of_odd(slot->norm))
        return sample->is_odd ? 1.0f : 0.0f;
    if (slot->norm == AOV_NORM_KNOWN)
        return sample->aov[slot->sample_offset] >= 0.0f ? 1.0f : 0.0f;
    if (slot->norm == AOV_NORM_PRESENT)
        return sample->aov[slot->sample_offset] == FILM_NO_DEPTH ? 0.0f : 1.0f;
    return slot->norm == AOV_NORM_ALPHA ? sample->alpha + sample->caught.cover : 1.0f;
}

static bool is_acceptable(const Film *film, const FilmSample *sample)
{
    /* Comparisons with NaN are false. */
    bool ok = fabsf(sample->alpha) <= FILM_VALUE_MAX;
    for (int c = 0; c < 3; ++c)
        ok = ok && fabsf(sample->rgb[c]) <= FILM_VALUE_MAX;
    if (film->catcher_offset)
        ok = ok && catcher_is_acceptable(&sample->caught);
    for (uint32_t i = 0; i < film->slot_count; ++i) {
        const AovSlot *slot = &film->slots[i];
        if (slot->aov == FILM_AOV_DENOISING_ODD)
            continue; /* of radiance, which has been judged */
        for (uint32_t c = 0; c < slot->channel_count && slot_weight(slot, sample) != 0.0f; ++c)
            ok = ok && isfinite(sample->aov[slot->sample_offset + c]);
    }
    return ok;
}

static void lock_record(PixelHead *head)
{
    while (atomic_exchange_explicit(&head->lock, 1u, memory_order_acquire))
        while (atomic_load_explicit(&head->lock, memory_order_relaxed)) {
        }
}

static void unlock_record(PixelHead *head)
{
    atomic_store_explicit(&head->lock, 0u, memory_order_release);
}

static double luminance_of(const float rgb[3])
{
    return film_luminance((double)rgb[0], (double)rgb[1], (double)rgb[2]);
}

static void add_square(uint8_t *record, const AovSlot *slot, const FilmSample *sample)
{
    double y = luminance_of(sample->rgb) + luminance_of(sample->caught.backdrop);
    if (slot->aov == FILM_AOV_DENOISING_VARIANCE)
        y = luminance_of(sample->rgb) - luminance_of(sample->aov + FILM_AT_DENOISING_LIGHT);
    y = fmin(y * y, (double)FILM_VALUE_MAX);
    accum_wide_add(record_wide(record, slot->record_offset), accum_wide_from_double(y));
}

static float seen_light(float light)
{
    return clampf(light, -FILM_VALUE_MAX, FILM_VALUE_MAX);
}

/* The picture of the samples of odd number without the light that the camera sees directly, and their number. */
static void add_odd(uint8_t *record, const AovSlot *slot, const FilmSample *sample)
{
    AccumWide *sums = record_wide(record, slot->record_offset);
    const float *seen = sample->aov + FILM_AT_DENOISING_LIGHT;
    for (uint32_t c = 0; sample->is_odd && c < 3; ++c) {
        /* Each is rounded as in the whole sums, so that the other half is the rest of them exactly. */
        accum_wide_add(&sums[c], accum_wide_from_float(sample->rgb[c]));
        accum_wide_add(&sums[c], accum_wide_negated(accum_wide_from_float(seen_light(seen[c]))));
    }
    if (sample->is_odd)
        accum_wide_add(&sums[3], accum_wide_from_float(1.0f));
}

static float inverse_distance(float distance)
{
    return distance < FILM_NO_DEPTH ? 1.0f / fmaxf(distance, 1.0f / FILM_VALUE_MAX) : 0.0f;
}

static void add_aov(uint8_t *record, const AovSlot *slot, const FilmSample *sample)
{
    if (slot->norm == AOV_NORM_VARIANCE) {
        add_square(record, slot, sample);
        return;
    }
    if (slot->aov == FILM_AOV_DENOISING_ODD) {
        add_odd(record, slot, sample);
        return;
    }
    const float *values = sample->aov + slot->sample_offset;
    float weight = slot_weight(slot, sample);
    if (weight == 0.0f)
        return;
    for (uint32_t c = 0; c < slot->sum_count; ++c) {
        float value = c < slot->channel_count ? values[c] * weight : 1.0f;
        if (is_inverse(slot->norm))
            value = inverse_distance(value);
        if (slot->sum == AOV_SUM_WIDE)
            accum_wide_add(record_wide(record, slot->record_offset) + c,
                           accum_wide_from_float(clampf(value, -FILM_VALUE_MAX, FILM_VALUE_MAX)));
        else
            record_narrow(record, slot->record_offset)[c] +=
                accum_narrow_from_float(clampf(value, -FILM_NARROW_MAX, FILM_NARROW_MAX));
    }
}

static void add_ids(Film *film, size_t pixel, uint8_t *record, const FilmSample *sample)
{
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        if (film->id_offsets[i] && sample->ids[i])
            id_count_add(&film->id_table, record_ids(record, film->id_offsets[i]),
                         film_id_place(pixel, (FilmId)i), sample->ids[i], 1);
}

/* Adds an acceptable sample to a locked record. */
static void add_sample(Film *film, size_t pixel, uint8_t *record, const FilmSample *sample)
{
    AccumWide *rgba = record_wide(record, PIXEL_RGBA_OFFSET);
    for (int c = 0; c < 3; ++c)
        accum_wide_add(&rgba[c], accum_wide_from_float(sample->rgb[c]));
    accum_wide_add(&rgba[3], accum_wide_from_float(sample->alpha));
    for (uint32_t i = 0; i < film->slot_count; ++i)
        add_aov(record, &film->slots[i], sample);
    if (film->catcher_offset)
        catcher_add(film_catcher(film, record), &sample->caught);
    add_ids(film, pixel, record, sample);
}

/* Adds `count` samples to a locked record, or drops them. */
static void commit_each(Film *film, size_t pixel, uint8_t *record, const unsigned char *samples,
                        size_t stride_bytes, uint32_t count)
{
    PixelHead *head = record_head(record);
    for (uint32_t k = 0; k < count; ++k) {
        const void *at = samples + k * stride_bytes;
        if (is_acceptable(film, at) && head->sample_count < FILM_MAX_SAMPLES) {
            ++head->sample_count;
            add_sample(film, pixel, record, at);
        } else {
            ++head->dropped_count;
        }
    }
}

/* Returns whether the film holds nothing but radiance and alpha. */
static bool is_plain(const Film *film)
{
    bool has_ids = false;
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        has_ids |= film->id_offsets[i] != 0;
    return film->slot_count == 0 && !film->catcher_offset && !has_ids;
}

_Static_assert(offsetof(FilmSample, rgb) == 0 && offsetof(FilmSample, alpha) == 3 * sizeof(float),
               "radiance and alpha are four numbers in a row");
_Static_assert(ACCUM_LINE_MAX <= FILM_VALUE_MAX, "numbers of quads are acceptable");

void film_commit_samples(Film *film, uint32_t x, uint32_t y, const void *samples,
                         size_t stride_bytes, uint32_t count)
{
    const FilmDesc *d = &film->desc;
    CHECK(x - d->x < d->crop_width && y - d->y < d->crop_height);
    size_t pixel = (size_t)(y - d->y) * d->crop_width + (x - d->x);
    uint8_t *record = film_record(film, pixel);
    PixelHead *head = record_head(record);
    bool sums_quads = is_plain(film);
    const unsigned char *at = samples;
    lock_record(head);
    for (uint32_t done = 0, n; done < count; done += n, at += n * stride_bytes) {
        n = count - done < ACCUM_LINES_MAX ? count - done : ACCUM_LINES_MAX;
        if (sums_quads && head->sample_count + n <= FILM_MAX_SAMPLES &&
            accum_quads_add(at, stride_bytes, n, record_wide(record, PIXEL_RGBA_OFFSET)))
            head->sample_count += n;
        else
            commit_each(film, pixel, record, at, stride_bytes, n);
    }
    unlock_record(head);
}

void film_commit(Film *film, uint32_t x, uint32_t y, const FilmSample *sample)
{
    film_commit_samples(film, x, y, sample, sizeof *sample, 1);
}

void film_splat(Film *film, uint32_t x, uint32_t y, const float rgb[3], bool is_odd)
{
    const FilmDesc *d = &film->desc;
    CHECK(x - d->x < d->crop_width && y - d->y < d->crop_height);
    uint8_t *record = film_record(film, (size_t)(y - d->y) * d->crop_width + (x - d->x));
    PixelHead *head = record_head(record);
    AccumWide *sums = film_splats(film, record);
    ASSERT(sums);
    bool ok = true;
    for (int c = 0; c < 3; ++c)
        ok = ok && fabsf(rgb[c]) <= FILM_SPLAT_MAX; /* NaN is not */
    lock_record(head);
    for (uint32_t c = 0; ok && c < film_splat_sums(film); ++c)
        if (c < 3 || is_odd)
            accum_wide_add(&sums[c], accum_wide_from_float(rgb[c % 3]));
    head->dropped_count += !ok;
    unlock_record(head);
}

void film_splat_prefetch(const Film *film, uint32_t x, uint32_t y)
{
    const FilmDesc *d = &film->desc;
    ASSERT(x - d->x < d->crop_width && y - d->y < d->crop_height);
    uint8_t *record = film_record(film, (size_t)(y - d->y) * d->crop_width + (x - d->x));
    SORT_PREFETCH(record_head(record));
    SORT_PREFETCH(film_splats(film, record));
}

void film_count_light_paths(Film *film, uint64_t count, uint64_t odd)
{
    atomic_fetch_add_explicit(&film->light_path_count, count, memory_order_relaxed);
    atomic_fetch_add_explicit(&film->odd_light_path_count, odd, memory_order_relaxed);
}

/* --- results ------------------------------------------------------------------------------- */

/* The picture of a pixel. paths: film_paths_a_pixel(). */
static void resolve_means(const Film *film, uint8_t *record, double paths, float out_rgba[4])
{
    const AccumWide *rgba = record_wide(record, PIXEL_RGBA_OFFSET);
    double count = (double)record_head(record)->sample_count;
    ASSERT(record_head(record)->sample_count <= FILM_MAX_SAMPLES);
    for (uint32_t c = 0; c < 4; ++c)
        out_rgba[c] = count > 0.0 ? (float)(accum_wide_to_double(rgba[c]) / count) : 0.0f;
    film_add_splats(film, record, paths, out_rgba);
}

void film_resolve(const Film *film, float *out_rgba)
{
    bool has_shadows =
        film->catcher_offset && !film_aovs_have(film->desc.aovs, FILM_AOV_SHADOW_CATCHER);
    double paths = film_paths_a_pixel(film, &film->light_path_count);
    for (size_t i = 0; i < film_pixel_count(film); ++i) {
        uint8_t *record = film_record(film, i);
        resolve_means(film, record, paths, out_rgba + 4 * i);
        if (!has_shadows)
            continue;
        CatcherShadow shadow =
            catcher_shadow(film_catcher(film, record), record_head(record)->sample_count);
        catcher_shade(&shadow, out_rgba + 4 * i);
    }
}

static void resolve_catcher(const Film *film, float *out_values)
{
    CatcherShadow shadow = {.cover = 0.0};
    double paths = film_paths_a_pixel(film, &film->light_path_count);
    for (size_t i = 0; i < film_pixel_count(film); ++i) {
        uint8_t *record = film_record(film, i);
        float rgba[4];
        resolve_means(film, record, paths, rgba);
        if (film->catcher_offset)
            shadow = catcher_shadow(film_catcher(film, record), record_head(record)->sample_count);
        catcher_pass(&shadow, (double)rgba[3], out_values + 3 * i);
    }
}

static double slot_sum(uint8_t *record, const AovSlot *slot, uint32_t channel)
{
    if (slot->sum == AOV_SUM_WIDE)
        return accum_wide_to_double(record_wide(record, slot->record_offset)[channel]);
    return accum_narrow_to_double(record_narrow(record, slot->record_offset)[channel]);
}

static void resolve_variance(const Film *film, const AovSlot *slot, float *out_values)
{
    for (size_t i = 0; i < film_pixel_count(film); ++i)
        out_values[i] = (float)record_variance(film, film_record(film, i), slot);
}

/* Returns the divisor of the sums. */
static double slot_norm(const Film *film, uint8_t *record, const AovSlot *slot)
{
    const AccumWide *catcher = film_catcher(film, record);
    if (slot->norm == AOV_NORM_ALPHA)
        return accum_wide_to_double(record_wide(record, PIXEL_RGBA_OFFSET)[3]) +
               (catcher ? catcher_cover(catcher) : 0.0);
    if (is_counted(slot->norm))
        return slot_sum(record, slot, slot->channel_count);
    if (is_of_odd(slot->norm))
        return slot_sum(record, film_slot(film, FILM_AOV_DENOISING_ODD), 3);
    return (double)record_head(record)->sample_count;
}

static void resolve_slot(const Film *film, const AovSlot *slot, float *out_values)
{
    bool is_distance = slot->norm == AOV_NORM_ALPHA || is_inverse(slot->norm);
    float nothing = is_distance                    ? FILM_NO_DEPTH
                    : slot->norm == AOV_NORM_KNOWN ? FILM_UNKNOWN
                                                   : 0.0f;
    for (size_t i = 0; i < film_pixel_count(film); ++i) {
        uint8_t *record = film_record(film, i);
        double norm = slot_norm(film, record, slot);
        if (is_inverse(slot->norm)) {
            double sum = slot_sum(record, slot, 0);
            *out_values++ = sum > 0.0 ? (float)fmin(norm / sum, (double)FILM_NO_DEPTH) : nothing;
            continue;
        }
        for (uint32_t c = 0; c < slot->channel_count; ++c)
            *out_values++ = norm > 0.0 ? (float)(slot_sum(record, slot, c) / norm) : nothing;
    }
}

/* light / color; where a channel has no colour, what the others have on average. */
static void divide_by_color(const double light[3], const double color[3], float out[3])
{
    double sum = 0.0;
    int count = 0;
    for (int c = 0; c < 3; ++c)
        if (color[c] != 0.0) {
            sum += light[c] / color[c];
            ++count;
        }
    for (int c = 0; c < 3; ++c)
        out[c] = (float)(color[c] != 0.0 ? light[c] / color[c] : count ? sum / count : 0.0);
}

static void resolve_by_color(const Film *film, const AovSlot *slot, float *out_values)
{
    const AovSlot *divisor = film_slot(film, color_of(slot->norm));
    ASSERT(slot->channel_count == 3 && divisor && divisor->channel_count == 3);
    for (size_t i = 0; i < film_pixel_count(film); ++i) {
        uint8_t *record = film_record(film, i);
        double light[3], color[3];
        for (uint32_t c = 0; c < 3; ++c) {
            light[c] = slot_sum(record, slot, c);
            color[c] = slot_sum(record, divisor, c);
        }
        divide_by_color(light, color, out_values + 3 * i);
    }
}

void film_resolve_aov(const Film *film, FilmAov aov, float *out_values)
{
    CHECK((unsigned)aov < FILM_AOV_COUNT && film_aovs_have(film->desc.aovs, aov));
    if (aov == FILM_AOV_DENOISING_EVEN || aov == FILM_AOV_DENOISING_ODD) {
        film_resolve_half(film, aov == FILM_AOV_DENOISING_ODD, out_values);
        return;
    }
    if (aov_norms[aov] == AOV_NORM_COUNT) {
        for (size_t i = 0; i < film_pixel_count(film); ++i)
            out_values[i] = (float)record_head(film_record(film, i))->sample_count;
        return;
    }
    if (aov_norms[aov] == AOV_NORM_CATCHER) {
        resolve_catcher(film, out_values);
        return;
    }
    const AovSlot *slot = film_slot(film, aov);
    if (slot->norm == AOV_NORM_VARIANCE)
        resolve_variance(film, slot, out_values);
    else if (color_of(slot->norm) != FILM_AOV_COUNT)
        resolve_by_color(film, slot, out_values);
    else
        resolve_slot(film, slot, out_values);
}

void film_resolve_ids(const Film *film, FilmId id, uint32_t ranks, float *out_pairs)
{
    CHECK((unsigned)id < FILM_ID_COUNT && film->id_offsets[id] && ranks <= FILM_ID_RANKS_MAX);
    for (size_t p = 0; p < film_pixel_count(film); ++p) {
        IdCount ranked[FILM_ID_RANKS_MAX];
        uint8_t *record = film_record(film, p);
        uint32_t count = id_count_ranked(&film->id_table, record_ids(record, film->id_offsets[id]),
                                         film_id_place(p, id), ranked, ranks);
        float samples = (float)record_head(record)->sample_count;
        for (uint32_t k = 0; k < ranks; ++k) {
            *out_pairs++ = k < count ? cryptomatte_float(ranked[k].id) : 0.0f;
            *out_pairs++ = k < count ? (float)ranked[k].count / samples : 0.0f;
        }
    }
}

uint64_t film_sample_count(const Film *film)
{
    uint64_t count = 0;
    for (size_t i = 0; i < film_pixel_count(film); ++i)
        count += record_head(film_record(film, i))->sample_count;
    return count;
}

FilmDropped film_dropped(const Film *film)
{
    FilmDropped dropped = {0};
    for (size_t i = 0; i < film_pixel_count(film); ++i) {
        uint32_t count = record_head(film_record(film, i))->dropped_count;
        if (count == 0)
            continue;
        if (dropped.pixel_count++ == 0) {
            dropped.x = film->desc.x + (uint32_t)(i % film->desc.crop_width);
            dropped.y = film->desc.y + (uint32_t)(i / film->desc.crop_width);
        }
        dropped.count += count;
    }
    return dropped;
}
