/* UDIM sets: a picture divided into files, one for each unit square of uv, "name.<UDIM>.stex". Number
 * 1001 + u + 10 v stands for [u, u+1) x [v, v+1), u below 10.
 *
 * A set is a Texture without tiles of its own, with a table of its files' textures. A lookup groups
 * its lanes by file and makes one request for each file, clamped at the file's edges: no footprint
 * reaches from one file into another. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "textures/cache/texcache_state.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define UDIM_TOKEN "<UDIM>"
enum { UDIM_COLUMNS = 10, UDIM_ROWS = TEX_UDIM_COUNT / UDIM_COLUMNS, UDIM_DIGITS = 4 };

/* --- names -------------------------------------------------------------------------------- */

/* Returns the token "<UDIM>" in the file's name; NULL if there is none. */
static const char *find_token(const char *pattern)
{
    return strstr(path_basename(pattern), UDIM_TOKEN);
}

bool texcache_is_udim(const char *path)
{
    return find_token(path) != NULL;
}

Status texcache_udim_path(const char *pattern, uint32_t index, char *out_path, size_t out_bytes,
                          Error *err)
{
    const char *token = find_token(pattern);
    int length = snprintf(out_path, out_bytes, "%.*s%" PRIu32 "%s", (int)(token - pattern), pattern,
                          TEX_UDIM_FIRST + index, token + strlen(UDIM_TOKEN));
    if (length < 0 || (size_t)length >= out_bytes)
        return error_set_at(err, STATUS_LIMIT, pattern, "is too long a path");
    return STATUS_OK;
}

/* Returns the index of the unit square that a name denotes; TEX_UDIM_COUNT if it denotes none. */
static uint32_t index_of_name(const char *name, Str before, const char *after)
{
    if (strncmp(name, before.data, before.size_bytes) != 0)
        return TEX_UDIM_COUNT;
    const char *digits = name + before.size_bytes;
    uint32_t number = 0;
    for (uint32_t i = 0; i < UDIM_DIGITS; ++i) {
        if (digits[i] < '0' || digits[i] > '9')
            return TEX_UDIM_COUNT;
        number = number * 10 + (uint32_t)(digits[i] - '0');
    }
    if (strcmp(digits + UDIM_DIGITS, after) != 0 || number < TEX_UDIM_FIRST ||
        number >= TEX_UDIM_FIRST + TEX_UDIM_COUNT)
        return TEX_UDIM_COUNT;
    return number - TEX_UDIM_FIRST;
}

uint32_t texcache_udim_index(const char *pattern, const char *path)
{
    const char *token = find_token(pattern);
    Str before = {pattern, (size_t)(token - pattern)};
    return index_of_name(path, before, token + strlen(UDIM_TOKEN));
}

Status texcache_udim_list(const char *pattern, bool out_present[TEX_UDIM_COUNT],
                          uint32_t *out_count, Error *err)
{
    memset(out_present, 0, TEX_UDIM_COUNT * sizeof *out_present);
    *out_count = 0;
    const char *token = find_token(pattern), *name = path_basename(pattern);
    Str folder = path_dirname(pattern), before = {name, (size_t)(token - name)};
    Arena *arena = arena_create(0, 0);
    char *folder_text = arena ? arena_strndup(arena, folder.data, folder.size_bytes) : NULL;
    if (!folder_text) {
        arena_destroy(arena);
        return error_set_at(err, STATUS_NO_MEMORY, pattern, "out of memory");
    }
    const char *const *names;
    uint32_t name_count;
    Status status = file_list_directory(folder_text, arena, &names, &name_count, err);
    for (uint32_t i = 0; status == STATUS_OK && i < name_count; ++i) {
        uint32_t index = index_of_name(names[i], before, token + strlen(UDIM_TOKEN));
        if (index == TEX_UDIM_COUNT)
            continue;
        out_present[index] = true;
        ++*out_count;
    }
    arena_destroy(arena);
    if (status == STATUS_OK && *out_count == 0) {
        status = error_set_at(err, STATUS_NOT_FOUND, pattern,
                              "no file with a number from %d to %d in the place of " UDIM_TOKEN
                              " is there",
                              TEX_UDIM_FIRST, TEX_UDIM_FIRST + TEX_UDIM_COUNT - 1);
    }
    return status;
}

/* --- open and close ----------------------------------------------------------------------- */

void udim_close(TexCache *c, const UdimSet *set)
{
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i) {
        if (set->ids[i].id != 0)
            texcache_close(c, set->ids[i]);
    }
}

Status udim_open(TexCache *c, const TexOpenDesc *set, UdimSet *out_set, Error *err)
{
    const char *pattern = set->path;
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    TRY(texcache_udim_list(pattern, is_present, &count, err));
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i) {
        char path[PATH_BYTES], name[PATH_BYTES];
        if (!is_present[i])
            continue;
        TRY(texcache_udim_path(pattern, i, path, sizeof path, err));
        TexOpenDesc what = {.size_bytes = sizeof what,
                            .path = path,
                            .color_space = set->color_space,
                            .remake = set->remake,
                            .remake_data = set->remake_data};
        if (set->name && texcache_is_udim(set->name)) {
            TRY(texcache_udim_path(set->name, i, name, sizeof name, err));
            what.name = name;
        }
        TRY(texcache_open(c, &what, &out_set->ids[i], err));
    }
    while (!is_present[out_set->first])
        ++out_set->first;
    return STATUS_OK;
}

/* --- lookup ------------------------------------------------------------------------------- */

/* A lane's coordinates, resolved to a file and to coordinates within it. */
typedef struct UdimLane {
    uint32_t index; /* TEX_UDIM_COUNT: in no file */
    float s, t;
} UdimLane;

static bool has_file(const UdimSet *set, int32_t u, int32_t v)
{
    return u >= 0 && u < UDIM_COLUMNS && v >= 0 && v < UDIM_ROWS &&
           set->ids[v * UDIM_COLUMNS + u].id != 0;
}

/* Resolves coordinates in [0, 10] x [0, 100]. A point on a whole number belongs to the file above or to the
 * right of it, and where that file is absent to the one whose edge it lies on. */
static UdimLane place_lane(const UdimSet *set, float s, float t)
{
    /* the lookup of that file handles coordinates that are out of range */
    if (!isfinite(s) || !isfinite(t))
        return (UdimLane){set->first, s, t};
    UdimLane lane = {.index = TEX_UDIM_COUNT};
    const float columns = (float)UDIM_COLUMNS, rows = (float)UDIM_ROWS;
    if (!(s >= 0.0f && s <= columns && t >= 0.0f && t <= rows))
        return lane;
    int32_t u = (int32_t)s, v = (int32_t)t;
    bool is_edge_s = (float)u == s, is_edge_t = (float)v == t;
    if (!has_file(set, u, v)) {
        if (is_edge_s && has_file(set, u - 1, v)) {
            --u;
        } else if (is_edge_t && has_file(set, u, v - 1)) {
            --v;
        } else if (is_edge_s && is_edge_t && has_file(set, u - 1, v - 1)) {
            --u;
            --v;
        }
    }
    lane.s = s - (float)u;
    lane.t = t - (float)v;
    /* A place beyond all UDIM numbers has no index under which it could be reported. */
    if (u < UDIM_COLUMNS && v < UDIM_ROWS)
        lane.index = (uint32_t)(v * UDIM_COLUMNS + u);
    return lane;
}

TexId udim_place(const UdimSet *set, float s, float t, float *out_s, float *out_t)
{
    UdimLane lane = place_lane(set, s, t);
    *out_s = lane.s;
    *out_t = lane.t;
    return lane.index < TEX_UDIM_COUNT ? set->ids[lane.index] : (TexId){0};
}

/* The part of a request whose lanes lie in one file, with that file's coordinates. */
typedef struct UdimPart {
    TexRequest request;
    uint32_t lanes[TEX_MAX_LANES]; /* lane numbers in the whole request */
    float coord[7 * TEX_MAX_LANES];
    float random[TEX_MAX_LANES];
    uint32_t depths[TEX_MAX_LANES];
} UdimPart;

/* Removes from *lanes those that lie in the same file as its first lane, and returns that file. */
static uint32_t take_part(const TexRequest *r, const UdimLane places[TEX_MAX_LANES],
                          const TexOptions *options, uint32_t *lanes, UdimPart *out)
{
    uint32_t index = places[__builtin_ctz(*lanes)].index, count = 0;
    for (uint32_t left = *lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (places[lane].index == index) {
            out->lanes[count++] = lane;
            *lanes &= ~(1u << lane);
        }
    }
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t lane = out->lanes[i];
        out->coord[i] = places[lane].s;
        out->coord[count + i] = places[lane].t;
        for (uint32_t k = 2; k < 7; ++k)
            out->coord[k * count + i] = r->coord[k * r->lane_count + lane];
        if (r->random)
            out->random[i] = r->random[lane];
        if (r->depths)
            out->depths[i] = r->depths[lane];
    }
    out->request = *r;
    out->request.options = options;
    out->request.lane_count = count;
    out->request.lane_mask = count == 32 ? UINT32_MAX : (1u << count) - 1;
    out->request.coord = out->coord;
    out->request.random = r->random ? out->random : NULL;
    out->request.depths = r->depths ? out->depths : NULL;
    return index;
}

typedef struct UdimLookup {
    UdimLane places[TEX_MAX_LANES];
    TexOptions options;
    uint32_t lanes; /* wanted */
    UdimPart part;
} UdimLookup;

static void begin(const UdimSet *set, const TexRequest *r, UdimLookup *out)
{
    out->options = r->options ? *r->options : (TexOptions){0};
    out->options.wrap_s = out->options.wrap_t = TEX_WRAP_CLAMP;
    out->lanes = r->lane_count == 32 ? r->lane_mask : r->lane_mask & ((1u << r->lane_count) - 1);
    for (uint32_t left = out->lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        out->places[lane] = place_lane(set, r->coord[lane], r->coord[r->lane_count + lane]);
    }
}

static void report_absent(TexCache *c, const Texture *texture, uint32_t index)
{
    if (index == TEX_UDIM_COUNT) {
        if (!atomic_exchange_explicit(&texture->udim->has_reported_outside, true,
                                      memory_order_relaxed))
            log_warning(c->log, "%s: coordinates outside of all its files show the missing colour",
                        texture->name);
        return;
    }
    if (atomic_exchange_explicit(&texture->udim->has_reported[index], true, memory_order_relaxed))
        return;
    log_warning(c->log,
                "%s: there is no file %" PRIu32 "; what lies in it shows the missing colour",
                texture->name, TEX_UDIM_FIRST + index);
}

/* Looks up the lanes of one file. Lanes of an absent file go through the ordinary lookup of no texture. */
static uint32_t look_up_part(TexCaller *caller, const Texture *texture, uint32_t index,
                             UdimPart *part, float *out_result)
{
    part->request.texture = index < TEX_UDIM_COUNT ? texture->udim->ids[index] : (TexId){0};
    if (part->request.texture.id == 0)
        report_absent(caller->thread->cache, texture, index);
    return texcache_lookup(caller, &part->request, out_result);
}

uint32_t udim_lookup(TexCaller *caller, const TexRequest *r, const Texture *texture,
                     float *out_result)
{
    UdimLookup lookup;
    begin(texture->udim, r, &lookup);
    /* requests the missing tiles of all files before any lane waits */
    udim_touch(caller, r, texture, true);
    uint32_t missing = 0, value_count = r->with_derivs ? 12 : 4;
    while (lookup.lanes) {
        uint32_t index = take_part(r, lookup.places, &lookup.options, &lookup.lanes, &lookup.part);
        float result[12 * TEX_MAX_LANES];
        uint32_t count = lookup.part.request.lane_count;
        uint32_t part_missing = look_up_part(caller, texture, index, &lookup.part, result);
        for (uint32_t i = 0; i < count; ++i) {
            uint32_t lane = lookup.part.lanes[i];
            missing |= (part_missing >> i & 1u) << lane;
            for (uint32_t k = 0; k < value_count; ++k)
                out_result[k * r->lane_count + lane] = result[k * count + i];
        }
    }
    return missing;
}

void udim_touch(TexCaller *caller, const TexRequest *r, const Texture *texture, bool only_if_many)
{
    UdimLookup lookup;
    begin(texture->udim, r, &lookup);
    while (lookup.lanes) {
        uint32_t index = take_part(r, lookup.places, &lookup.options, &lookup.lanes, &lookup.part);
        if (only_if_many && lookup.lanes == 0)
            return; /* the lookup of a single file requests its tiles itself */
        lookup.part.request.texture =
            index < TEX_UDIM_COUNT ? texture->udim->ids[index] : (TexId){0};
        texcache_touch(caller, &lookup.part.request);
        only_if_many = false;
    }
}
