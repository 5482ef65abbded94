/* Sample ranges, and adding one film to another. */
#include "sort/film/film_record.h"

#include "base/str.h"
#include <string.h>

/* The union of two ordered lists of disjoint ranges into out[], touching ones joined. */
static Status unite_ranges(const FilmRange *a, uint32_t a_count, const FilmRange *b,
                           uint32_t b_count, FilmRange out[FILM_MAX_RANGES], uint32_t *out_count,
                           Error *err)
{
    uint32_t count = 0, i = 0, j = 0;
    uint64_t samples = 0;
    while (i < a_count || j < b_count) {
        FilmRange next = j == b_count || (i < a_count && a[i].begin < b[j].begin) ? a[i++] : b[j++];
        samples += next.end - next.begin;
        if (count > 0 && next.begin < out[count - 1].end)
            return error_set(err, STATUS_INVALID, "samples %u to %u are there twice", next.begin,
                             (next.end < out[count - 1].end ? next.end : out[count - 1].end) - 1);
        if (count > 0 && next.begin == out[count - 1].end) {
            out[count - 1].end = next.end;
            continue;
        }
        if (count == FILM_MAX_RANGES)
            return error_set(err, STATUS_LIMIT, "more than %d separate sample ranges",
                             FILM_MAX_RANGES);
        out[count++] = next;
    }
    if (samples > FILM_MAX_SAMPLES)
        return error_set(err, STATUS_LIMIT, "%llu samples a pixel; at most %d",
                         (unsigned long long)samples, FILM_MAX_SAMPLES);
    *out_count = count;
    return STATUS_OK;
}

Status film_add_range(Film *film, FilmRange range, Error *err)
{
    if (film->id_table.has_failed)
        return error_set(err, STATUS_NO_MEMORY, "no memory for Cryptomatte's counts");
    if (range.begin >= range.end)
        return error_set(err, STATUS_INVALID, "the sample range %u:%u is empty", range.begin,
                         range.end);
    FilmRange united[FILM_MAX_RANGES];
    uint32_t count = 0;
    TRY(unite_ranges(film->ranges, film->range_count, &range, 1, united, &count, err));
    memcpy(film->ranges, united, count * sizeof *united);
    film->range_count = count;
    return STATUS_OK;
}

const FilmRange *film_ranges(const Film *film, uint32_t *out_count)
{
    *out_count = film->range_count;
    return film->ranges;
}

/* Returns the line that begins at *at, and moves that behind it. */
static Str next_line(const char **at)
{
    size_t bytes = strcspn(*at, "\n");
    Str line = {*at, bytes};
    *at += bytes + ((*at)[bytes] == '\n');
    return line;
}

/* Appends the settings that differ, "name value and other value", of two lists whose names are the same. */
static void list_differences(const char *a, const char *b, StrBuf *out)
{
    while (*a && *b) {
        Str one = next_line(&a), other = next_line(&b);
        if (str_equal(one, other))
            continue;
        size_t name = 0;
        while (name < one.size_bytes && one.data[name] != ' ')
            ++name;
        if (other.size_bytes < name || memcmp(one.data, other.data, name) != 0)
            continue;
        Str changed = {other.data + name, other.size_bytes - name};
        strbuf_printf(out, "%s%.*s and%.*s", strbuf_text(out)[0] ? "; " : "", STR_ARG(one),
                      STR_ARG(changed));
    }
}

/* The hashes of scenes with their settings differ: says what does. */
static Status differ(const Film *film, const Film *other, Error *err)
{
    const FilmIdentity *p = &film->desc.identity, *q = &other->desc.identity;
    char first[HASH128_TEXT_BYTES], second[HASH128_TEXT_BYTES];
    StrBuf list = {0};
    list_differences(film_note(film, FILM_NOTE_SETTINGS), film_note(other, FILM_NOTE_SETTINGS),
                     &list);
    Status status =
        strbuf_text(&list)[0]
            ? error_set(err, STATUS_INVALID, "settings differ: %s", strbuf_text(&list))
            : error_set(err, STATUS_INVALID, "scenes, cameras or bakes differ: hashes %s and %s",
                        hash128_text(p->scene, first), hash128_text(q->scene, second));
    strbuf_free(&list);
    return status;
}

static Status same_render(const FilmDesc *a, const FilmDesc *b, Error *err)
{
    if (a->width != b->width || a->height != b->height)
        return error_set(err, STATUS_INVALID, "frames differ: %u x %u and %u x %u", a->width,
                         a->height, b->width, b->height);
    if (a->x != b->x || a->y != b->y || a->crop_width != b->crop_width ||
        a->crop_height != b->crop_height)
        return error_set(err, STATUS_INVALID, "crops differ: %u,%u,%u,%u and %u,%u,%u,%u", a->x,
                         a->y, a->crop_width, a->crop_height, b->x, b->y, b->crop_width,
                         b->crop_height);
    if (a->aovs != b->aovs)
        return error_set(err, STATUS_INVALID, "AOVs differ");
    if (a->has_catchers != b->has_catchers)
        return error_set(err, STATUS_INVALID, "one has shadow catchers, the other has not");
    if (a->has_splats != b->has_splats)
        return error_set(err, STATUS_INVALID, "one has paths of light, the other has not");
    if (a->ids != b->ids)
        return error_set(err, STATUS_INVALID, "Cryptomatte layers differ");
    const FilmIdentity *p = &a->identity, *q = &b->identity;
    if (p->nominal_samples != q->nominal_samples)
        return error_set(err, STATUS_INVALID, "samples per pixel differ: %u and %u",
                         p->nominal_samples, q->nominal_samples);
    if (p->seed != q->seed)
        return error_set(err, STATUS_INVALID, "seeds differ: %u and %u", p->seed, q->seed);
    if (strncmp(p->filter, q->filter, sizeof p->filter) != 0)
        return error_set(err, STATUS_INVALID, "pixel filters differ: '%s' and '%s'", p->filter,
                         q->filter);
    if (strncmp(p->cpu_class, q->cpu_class, sizeof p->cpu_class) != 0)
        return error_set(err, STATUS_INVALID, "CPU classes differ: '%s' and '%s'", p->cpu_class,
                         q->cpu_class);
    return STATUS_OK;
}

static void add_record(const Film *film, uint8_t *to, uint8_t *from)
{
    record_head(to)->sample_count += record_head(from)->sample_count;
    record_head(to)->dropped_count += record_head(from)->dropped_count;
    for (uint32_t c = 0; c < 4; ++c)
        accum_wide_add(record_wide(to, PIXEL_RGBA_OFFSET) + c,
                       record_wide(from, PIXEL_RGBA_OFFSET)[c]);
    for (uint32_t i = 0; i < film->slot_count; ++i) {
        const AovSlot *slot = &film->slots[i];
        for (uint32_t c = 0; c < slot->sum_count; ++c)
            if (slot->sum == AOV_SUM_WIDE) {
                accum_wide_add(record_wide(to, slot->record_offset) + c,
                               record_wide(from, slot->record_offset)[c]);
            } else {
                int64_t *sum = record_narrow(to, slot->record_offset) + c;
                *sum = (int64_t)((uint64_t)*sum +
                                 (uint64_t)record_narrow(from, slot->record_offset)[c]);
            }
    }
    for (uint32_t c = 0; film->catcher_offset && c < CATCHER_SUMS; ++c)
        accum_wide_add(film_catcher(film, to) + c, film_catcher(film, from)[c]);
    for (uint32_t c = 0; film->splat_offset && c < film_splat_sums(film); ++c)
        accum_wide_add(film_splats(film, to) + c, film_splats(film, from)[c]);
}

Status film_same_render(const Film *film, const Film *other, Error *err)
{
    const FilmIdentity *p = &film->desc.identity, *q = &other->desc.identity;
    TRY(same_render(&film->desc, &other->desc, err));
    if (!hash128_equal(p->scene, q->scene))
        return differ(film, other, err);
    if (p->guiding && q->guiding && p->guiding != q->guiding)
        return error_set(err, STATUS_INVALID,
                         "one is guided, the other is not: they were begun with numbers of samples "
                         "of which only one is worth a trial of path guiding");
    return STATUS_OK;
}

static void add_all_ids(Film *film, const Film *other)
{
    const IdTable *table = &other->id_table;
    for (size_t p = 0; p < film_pixel_count(film); ++p) {
        for (uint32_t i = 0; i < FILM_ID_COUNT; ++i) {
            if (!film->id_offsets[i])
                continue;
            IdCount *to = record_ids(film_record(film, p), film->id_offsets[i]);
            const IdCount *from = record_ids(film_record(other, p), film->id_offsets[i]);
            for (uint32_t k = 0; k < FILM_ID_SLOTS && from[k].count; ++k)
                id_count_add(&film->id_table, to, film_id_place(p, (FilmId)i), from[k].id,
                             from[k].count);
        }
    }
    for (size_t k = 0; k < table->capacity; ++k) {
        const IdOverflow *e = &table->entries[k];
        if (!e->entry.count)
            continue;
        uint8_t *record = film_record(film, (size_t)(e->place / FILM_ID_COUNT));
        id_count_add(&film->id_table,
                     record_ids(record, film->id_offsets[e->place % FILM_ID_COUNT]), e->place,
                     e->entry.id, e->entry.count);
    }
}

Status film_merge(Film *film, const Film *other, Error *err)
{
    TRY(film_same_render(film, other, err));
    if (film->checkpoint.job || other->checkpoint.job)
        return error_set(err, STATUS_INVALID,
                         "a checkpoint of an unfinished render cannot be merged; resume it first");
    FilmRange united[FILM_MAX_RANGES];
    uint32_t count = 0;
    TRY(unite_ranges(film->ranges, film->range_count, other->ranges, other->range_count, united,
                     &count, err));
    memcpy(film->ranges, united, count * sizeof *united);
    film->range_count = count;
    if (!film->desc.identity.guiding)
        film->desc.identity.guiding = other->desc.identity.guiding;
    film_count_light_paths(
        film, atomic_load_explicit(&other->light_path_count, memory_order_relaxed),
        atomic_load_explicit(&other->odd_light_path_count, memory_order_relaxed));
    film->shot.render_s += other->shot.render_s;
    film->shot.has |= other->shot.has & FILM_SHOT_DAMAGED;
    for (size_t i = 0; i < film_pixel_count(film); ++i)
        add_record(film, film_record(film, i), film_record(other, i));
    add_all_ids(film, other);
    if (film->id_table.has_failed || other->id_table.has_failed)
        return error_set(err, STATUS_NO_MEMORY, "no memory for Cryptomatte's counts");
    return STATUS_OK;
}
