/* Inside sort/film/: what a film is made of, for film.c and film_file.c.
 *
 * Pixels are records of one size, row by row:
 *
 *   PixelHead | AccumWide rgba[4] | for each AOV held, in the order of aovs.inc, for each channel
 *                                   an AccumWide or an int64_t
 *             | with catchers, AccumWide[CATCHER_SUMS], as in catcher.h
 *             | with splats, AccumWide rgb[3], and with FILM_AOV_DENOISING_ODD rgb[3] of paths of odd samples
 *             | for each layer of ids held, IdCount[FILM_ID_SLOTS]
 *
 * Each record has a lock of its own, held for the few additions of a commit: two threads meet on a pixel only
 * by chance. */
#ifndef SORT_FILM_FILM_RECORD_H
#define SORT_FILM_FILM_RECORD_H

#include "base/accum.h"
#include "sort/film/catcher.h"
#include "sort/film/film_ids.h"
#include <stdatomic.h>

typedef enum AovSum { AOV_SUM_WIDE, AOV_SUM_NARROW } AovSum;
typedef enum AovNorm {
    AOV_NORM_SAMPLES,
    AOV_NORM_ALPHA,
    AOV_NORM_KNOWN,
    AOV_NORM_PRESENT,
    AOV_NORM_BY_DIFFUSE,
    AOV_NORM_BY_GLOSSY,
    AOV_NORM_BY_TRANSMISSION,
    AOV_NORM_COUNT,
    AOV_NORM_VARIANCE,
    AOV_NORM_CATCHER,
    AOV_NORM_INVERSE,
    AOV_NORM_ODD,
    AOV_NORM_ODD_INVERSE,
    AOV_NORM_EVEN
} AovNorm;

typedef struct PixelHead {
    _Atomic uint32_t lock; /* 1: taken */
    uint32_t sample_count, dropped_count;
    uint32_t is_done; /* film_judge found it good enough */
} PixelHead;

/* An AOV that the film holds and stores. */
typedef struct AovSlot {
    FilmAov aov;
    AovSum sum;
    AovNorm norm;
    uint32_t channel_count;
    uint32_t
        sum_count; /* stored: the channels, and for AOV_NORM_KNOWN and PRESENT the samples that have it */
    uint32_t sample_offset; /* floats, in FilmSample.aov */
    uint32_t record_offset; /* bytes, in the record */
} AovSlot;

struct Film {
    FilmDesc desc;
    uint32_t record_bytes, slot_count;
    AovSlot slots[FILM_AOV_COUNT];
    FilmRange ranges[FILM_MAX_RANGES];
    uint32_t range_count;
    FilmCheckpoint checkpoint;
    FilmShot shot;
    char *notes[FILM_NOTE_COUNT];          /* owned; NULL: "" */
    uint32_t id_offsets[FILM_ID_COUNT];    /* bytes, in the record; 0: not held */
    uint32_t catcher_offset, splat_offset; /* the same */
    /* The paths whose light the splats are, and those of odd samples among them. */
    _Atomic uint64_t light_path_count, odd_light_path_count;
    IdTable id_table;
    uint8_t *pixels; /* owned */
};

enum { PIXEL_RGBA_OFFSET = sizeof(PixelHead), PIXEL_AOVS_OFFSET = PIXEL_RGBA_OFFSET + 4 * 16 };
_Static_assert(sizeof(PixelHead) == 16 && sizeof(AccumWide) == 16, "records have no padding");

/* Rec. 709. */
static inline double film_luminance(double r, double g, double b)
{
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

static inline size_t film_pixel_count(const Film *film)
{
    return (size_t)film->desc.crop_width * film->desc.crop_height;
}
static inline uint8_t *film_record(const Film *film, size_t index)
{
    return film->pixels + index * film->record_bytes;
}
static inline PixelHead *record_head(uint8_t *record)
{
    return (PixelHead *)record;
}
static inline AccumWide *record_wide(uint8_t *record, uint32_t offset)
{
    return (AccumWide *)(record + offset);
}
static inline int64_t *record_narrow(uint8_t *record, uint32_t offset)
{
    return (int64_t *)(record + offset);
}

static inline IdCount *record_ids(uint8_t *record, uint32_t offset)
{
    return (IdCount *)(record + offset);
}
/* [CATCHER_SUMS]; NULL: the film has no catchers. */
static inline AccumWide *film_catcher(const Film *film, uint8_t *record)
{
    return film->catcher_offset ? record_wide(record, film->catcher_offset) : NULL;
}
/* [film_splat_sums()]; NULL: the film has no splats. */
static inline AccumWide *film_splats(const Film *film, uint8_t *record)
{
    return film->splat_offset ? record_wide(record, film->splat_offset) : NULL;
}
/* Returns the number of sums of splats in each record. */
static inline uint32_t film_splat_sums(const Film *film)
{
    bool has_halves = film_aovs_have(film->desc.aovs, FILM_AOV_DENOISING_ODD);
    return !film->desc.has_splats ? 0 : has_halves ? 6 : 3;
}
/* Returns so many paths of light for each pixel of the frame, which divides their splats. */
static inline double film_paths_a_pixel(const Film *film, const _Atomic uint64_t *paths)
{
    uint64_t count = atomic_load_explicit(paths, memory_order_relaxed);
    return (double)count / ((double)film->desc.width * (double)film->desc.height);
}
/* Adds the mean of a record's splats to the light of a pixel. paths: film_paths_a_pixel() of all. */
static inline void film_add_splats(const Film *film, uint8_t *record, double paths, float rgb[3])
{
    const AccumWide *sums = film_splats(film, record);
    for (uint32_t c = 0; sums && paths > 0.0 && c < 3; ++c)
        rgb[c] = (float)((double)rgb[c] + accum_wide_to_double(sums[c]) / paths);
}
static inline uint64_t film_id_place(size_t pixel, FilmId id)
{
    return (uint64_t)pixel * FILM_ID_COUNT + id;
}

static inline double record_luminance(const AccumWide *rgb)
{
    return film_luminance(accum_wide_to_double(rgb[0]), accum_wide_to_double(rgb[1]),
                          accum_wide_to_double(rgb[2]));
}

/* NULL when the film does not hold it, or stores nothing for it. */
static inline const AovSlot *film_slot(const Film *film, FilmAov aov)
{
    for (uint32_t i = 0; i < film->slot_count; ++i)
        if (film->slots[i].aov == aov)
            return &film->slots[i];
    return NULL;
}

/* Returns the variance of the pixel's mean luminance, without shadows on catchers; 0 below two samples. variance: the
 * film's slot of that AOV. */
static inline double record_variance(const Film *film, uint8_t *record, const AovSlot *variance)
{
    const AccumWide *catcher = film_catcher(film, record);
    double n = (double)record_head(record)->sample_count;
    if (n < 2.0)
        return 0.0;
    double sum = record_luminance(record_wide(record, PIXEL_RGBA_OFFSET));
    if (variance->aov == FILM_AOV_DENOISING_VARIANCE)
        sum -= record_luminance(
            record_wide(record, film_slot(film, FILM_AOV_DENOISING_LIGHT)->record_offset));
    else if (catcher)
        sum += record_luminance(catcher + CATCHER_BACKDROP);
    double squares = accum_wide_to_double(*record_wide(record, variance->record_offset));
    return fmax(squares - sum * sum / n, 0.0) / (n * (n - 1.0));
}

/* Resolves FILM_AOV_DENOISING_ODD or _EVEN, which the film must hold: [crop_height][crop_width][4]. Both halves show the
 * shadows on catchers that the picture has. */
void film_resolve_half(const Film *film, bool is_odd, float *out_values);

#endif
