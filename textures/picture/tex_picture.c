#include "textures/tex_picture.h"
#include "base/alloc.h"
#include "base/check.h"
#include "textures/convert/mip_build.h"
#include "textures/filter/tex_place.h"
#include "textures/filter/tex_taps.h"
#include <string.h>

enum { CHANNELS = TEX_PICTURE_CHANNELS, ROWS_MAX = 12 };

struct TexPicture {
    Texture *shape; /* owned: what taps are computed from; it has no tiles */
    TexLevel levels[TEX_MAX_LEVELS];
    uint64_t first[TEX_MAX_LEVELS + 1]; /* places */
    float *texels;
};

/* --- life --------------------------------------------------------------------------------------- */

static TexWrap wrap_or_periodic(TexWrap wrap)
{
    return wrap == TEX_WRAP_FILE ? TEX_WRAP_PERIODIC : wrap;
}

Status tex_picture_create(const TexPictureDesc *desc, TexPicture **out, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc);
    uint32_t width = desc->width, height = desc->height;
    *out = NULL;
    if (width == 0 || height == 0 || width > TEX_PICTURE_SIZE_MAX || height > TEX_PICTURE_SIZE_MAX)
        return error_set(err, STATUS_INVALID,
                         "a texture of %u x %u texels; 1 x 1 to %d x %d are possible", width,
                         height, TEX_PICTURE_SIZE_MAX, TEX_PICTURE_SIZE_MAX);
    TexPicture *p = MEM_NEW(TexPicture);
    Texture *shape = MEM_NEW(Texture);
    if (!p || !shape) {
        mem_free(p);
        mem_free(shape);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    p->shape = shape;
    p->shape->levels = p->levels;
    p->shape->wrap_s = wrap_or_periodic(desc->wrap_s);
    p->shape->wrap_t = wrap_or_periodic(desc->wrap_t);
    for (bool is_last = false; !is_last;) {
        uint32_t level = p->shape->level_count++;
        p->levels[level] = (TexLevel){.width = width, .height = height};
        p->first[level + 1] = p->first[level] + (uint64_t)width * height * CHANNELS;
        is_last = width == 1 && height == 1;
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
    }
    p->texels = MEM_ARRAY(float, tex_picture_places(p));
    if (!p->texels) {
        tex_picture_destroy(p);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *out = p;
    return STATUS_OK;
}

void tex_picture_destroy(TexPicture *p)
{
    if (!p)
        return;
    mem_free(p->texels);
    mem_free(p->shape);
    mem_free(p);
}

uint32_t tex_picture_levels(const TexPicture *p)
{
    return p->shape->level_count;
}

TexPictureLevel tex_picture_level(const TexPicture *p, uint32_t level)
{
    ASSERT(level < p->shape->level_count);
    return (TexPictureLevel){p->levels[level].width, p->levels[level].height, p->first[level]};
}

uint64_t tex_picture_places(const TexPicture *p)
{
    return p->first[p->shape->level_count];
}

float *tex_picture_texels(TexPicture *p)
{
    return p->texels;
}

/* --- levels ------------------------------------------------------------------------------------- */

typedef struct Build {
    TexPicture *picture;
    uint32_t rows[TEX_MAX_LEVELS]; /* that are there */
} Build;

static Status keep_row(void *data, uint32_t level, const float *row, Error *err)
{
    Build *b = data;
    TexPicture *p = b->picture;
    SORT_UNUSED(err);
    ASSERT(level < p->shape->level_count && b->rows[level] < p->levels[level].height);
    size_t count = (size_t)p->levels[level].width * CHANNELS;
    memcpy(p->texels + p->first[level] + b->rows[level]++ * count, row, count * sizeof *row);
    return STATUS_OK;
}

Status tex_picture_build(TexPicture *p, Error *err)
{
    Build b = {.picture = p};
    const MipDesc desc = {.width = p->levels[0].width,
                          .height = p->levels[0].height,
                          .channel_count = CHANNELS,
                          .emit = keep_row,
                          .data = &b};
    MipBuilder *builder;
    TRY(mip_builder_create(&desc, &builder, err));
    Status status = STATUS_OK;
    for (uint32_t y = 0; y < desc.height && status == STATUS_OK; ++y)
        status = mip_builder_push(builder, p->texels + (size_t)y * desc.width * CHANNELS, err);
    mip_builder_destroy(builder);
    return status;
}

void tex_picture_pull(const TexPicture *p, double *by_place)
{
    for (uint32_t level = p->shape->level_count - 1; level > 0; --level) {
        const TexLevel *fine = &p->levels[level - 1];
        mip_pull(fine->width, fine->height, CHANNELS, by_place + p->first[level],
                 by_place + p->first[level - 1]);
    }
}

/* --- lookups ------------------------------------------------------------------------------------ */

static uint64_t place_of(const TexPicture *p, const TexTap *tap, uint32_t k)
{
    ASSERT(tap->level < p->shape->level_count);
    const TexLevel *level = &p->levels[tap->level];
    return p->first[tap->level] + ((uint64_t)tap->y[k] * level->width + tap->x[k]) * CHANNELS;
}

typedef struct Blend {
    const TexPicture *picture;
    uint32_t lane_count, row_count;
    float *result; /* [row_count][lane_count] */
} Blend;

static void blend_tap(void *data, const TexTap *tap)
{
    const Blend *b = data;
    const float *const weights[3] = {tap->weights, tap->slopes_s, tap->slopes_t};
    for (uint32_t k = 0; k < 4; ++k) {
        const float *texel = b->picture->texels + place_of(b->picture, tap, k);
        for (uint32_t row = 0; row < b->row_count; ++row)
            b->result[row * b->lane_count + tap->lane] +=
                weights[row / CHANNELS][k] * texel[row % CHANNELS];
    }
}

static uint32_t row_count_of(const TexRequest *r)
{
    return r->with_derivs ? ROWS_MAX : CHANNELS;
}

uint32_t tex_picture_lookup(const TexPicture *p, const TexRequest *r, float *out_result)
{
    static const float magenta[CHANNELS] = {1, 0, 1, 1};
    const float *missing_color =
        r->options && r->options->has_missing_color ? r->options->missing_color : magenta;
    uint32_t n = r->lane_count, missing = 0;
    Blend b = {p, n, row_count_of(r), out_result};
    for (uint32_t lane = 0; lane < n; ++lane) {
        double s, v;
        bool is_wanted = r->lane_mask >> lane & 1u;
        bool is_missing = is_wanted && !place_coordinates(r, lane, &s, &v);
        missing |= (uint32_t)is_missing << lane;
        for (uint32_t row = 0; row < b.row_count && is_wanted; ++row)
            out_result[row * n + lane] = is_missing && row < CHANNELS ? missing_color[row] : 0.0f;
    }
    taps_visit(p->shape, r, 0, blend_tap, &b);
    return missing;
}

typedef struct Spread {
    const TexPicture *picture;
    uint32_t lane_count, row_count;
    const float *adjoints; /* [row_count][lane_count] */
    TexPictureAdd *add;
    void *data;
} Spread;

static void spread_tap(void *data, const TexTap *tap)
{
    const Spread *s = data;
    const float *const weights[3] = {tap->weights, tap->slopes_s, tap->slopes_t};
    float numbers[4][CHANNELS] = {{0}};
    for (uint32_t row = 0; row < s->row_count; ++row) {
        float adjoint = s->adjoints[row * s->lane_count + tap->lane];
        for (uint32_t k = 0; k < 4; ++k)
            numbers[k][row % CHANNELS] += weights[row / CHANNELS][k] * adjoint;
    }
    for (uint32_t k = 0; k < 4; k += 2) { /* left and right */
        bool are_beside = tap->x[k + 1] == tap->x[k] + 1;
        s->add(s->data, place_of(s->picture, tap, k), numbers[k], are_beside ? 8 : 4);
        if (!are_beside)
            s->add(s->data, place_of(s->picture, tap, k + 1), numbers[k + 1], 4);
    }
}

void tex_picture_spread(const TexPicture *p, const TexRequest *r, const float *adjoints,
                        TexPictureAdd *add, void *data)
{
    Spread s = {p, r->lane_count, row_count_of(r), adjoints, add, data};
    taps_visit(p->shape, r, 0, spread_tap, &s);
}
