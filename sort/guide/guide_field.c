#include "sort/guide/guide_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/guide/sphere_square.h"
#include "ssl/rt/rt.h"
#include <string.h>

const float guide_chances[GUIDE_CHANCES] = {0.0f, 0.25f, 0.5f, 0.75f};

enum {
    /* The memory of a region without its quads: two cells and a tally. */
    REGION_BYTES = sizeof(GuideRegion) + sizeof(GuideTally) + 2 * sizeof(GuideCell),
    QUAD_BYTES = sizeof(GuideQuad) + sizeof(GuideSums),
    QUADS_A_REGION = 24, /* that the limit has room for */
    FIRST_DEPTH = 3      /* of the quadtree that first records fall into */
};
#define NEAREST 256.0f /* of distances that are told apart, in parts of the field's length */

/* --- memory ------------------------------------------------------------------------------------- */

Status guide_field_alloc(const GuideFieldDesc *desc, GuideField **out_field, Error *err)
{
    GuideField *f = MEM_NEW(GuideField);
    *out_field = NULL;
    ASSERT(desc->memory_bytes >= 1 << 20 && desc->radiance > 0.0f);
    if (!f)
        return error_set(err, STATUS_NO_MEMORY, "out of memory learning where light comes from");
    uint64_t room = desc->memory_bytes / (REGION_BYTES + QUADS_A_REGION * QUAD_BYTES);
    f->desc = *desc;
    f->region_room = (uint32_t)(room < 1u << 24 ? room : 1u << 24);
    f->quad_room = f->region_room * QUADS_A_REGION;
    int exponent;
    (void)frexpf(desc->radiance, &exponent);
    f->to_units = ldexpf(1.0f, 20 - exponent);
    f->cells = MEM_ARRAY(GuideCell, 2 * (size_t)f->region_room);
    f->regions = MEM_ARRAY(GuideRegion, f->region_room);
    f->quads = MEM_ARRAY(GuideQuad, f->quad_room);
    if (!f->cells || !f->regions || !f->quads) {
        guide_field_destroy(f);
        return error_set(err, STATUS_NO_MEMORY, "out of memory learning where light comes from");
    }
    f->cell_count = GUIDE_SIDES; /* the roots */
    *out_field = f;
    return STATUS_OK;
}

Status guide_field_close(GuideField *f, Error *err)
{
    void *cells = mem_realloc(f->cells, f->cell_count, sizeof *f->cells);
    f->cells = cells ? cells : f->cells;
    void *regions = mem_realloc(f->regions, f->region_count, sizeof *f->regions);
    f->regions = regions ? regions : f->regions;
    void *quads = mem_realloc(f->quads, f->quad_count, sizeof *f->quads);
    f->quads = quads ? quads : f->quads;
    f->sums = MEM_ARRAY(GuideSums, f->quad_count);
    f->tallies = MEM_ARRAY(GuideTally, f->region_count);
    if (!f->sums || !f->tallies)
        return error_set(err, STATUS_NO_MEMORY, "out of memory learning where light comes from");
    f->stats.regions = f->region_count;
    f->stats.quads = f->quad_count;
    f->stats.bytes = f->cell_count * sizeof *f->cells +
                     f->region_count * (sizeof *f->regions + sizeof *f->tallies) +
                     f->quad_count * (sizeof *f->quads + sizeof *f->sums);
    return STATUS_OK;
}

void guide_field_destroy(GuideField *f)
{
    if (!f)
        return;
    mem_free(f->cells);
    mem_free(f->regions);
    mem_free(f->quads);
    mem_free(f->sums);
    mem_free(f->tallies);
    mem_free(f);
}

/* Appends a quad of equal shares, with quads of equal shares below it down to `depth`. Returns its index. */
static uint32_t add_even_quads(GuideField *f, uint32_t depth)
{
    uint32_t q = f->quad_count++;
    ASSERT(f->quad_count <= f->quad_room);
    for (uint32_t k = 0; k < 4; ++k) {
        f->quads[q].share[k] = 0.25f;
        f->quads[q].child[k] = depth > 1 ? add_even_quads(f, depth - 1) : 0;
    }
    return q;
}

Status guide_field_create(const GuideFieldDesc *desc, GuideField **out_field, Error *err)
{
    GuideField *f;
    TRY(guide_field_alloc(desc, &f, err));
    for (uint32_t side = 0; side < GUIDE_SIDES; ++side) {
        f->cells[side] = (GuideCell){.axis = f->region_count};
        f->regions[f->region_count++] =
            (GuideRegion){.root = add_even_quads(f, FIRST_DEPTH), .size = desc->size};
    }
    Status status = guide_field_close(f, err);
    if (status != STATUS_OK) {
        guide_field_destroy(f);
        return status;
    }
    *out_field = f;
    return STATUS_OK;
}

GuideStats guide_field_stats(const GuideField *f)
{
    return f->stats;
}

/* --- drawing directions -------------------------------------------------------------------------- */

/* Returns the axis that a normal is nearest to, and 3 more where it points along it backwards. */
static uint32_t side_of(float3 n)
{
    float x = fabsf(n.x), y = fabsf(n.y), z = fabsf(n.z);
    uint32_t axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    float along = axis == 0 ? n.x : axis == 1 ? n.y : n.z;
    return axis + (along < 0.0f ? 3 : 0);
}

uint32_t guide_field_region(const GuideField *f, float3 p, float3 n)
{
    const float at[3] = {p.x, p.y, p.z};
    const GuideCell *cell = &f->cells[side_of(n)];
    while (cell->child)
        cell = &f->cells[cell->child + (at[cell->axis] >= cell->split)];
    return cell->axis;
}

float guide_field_chance(const GuideField *f, uint32_t region, bool is_training)
{
    const float training_chance = 0.5f;
    const GuideRegion *r = &f->regions[region];
    return is_training && r->is_known ? training_chance : r->chance;
}

float3 guide_field_sample(const GuideField *f, uint32_t region, float3 position, float2 u)
{
    const float below_one = 0x1.fffffep-1f;
    uint32_t q = f->regions[region].root;
    float2 low = f2(0.0f, 0.0f);
    float size = 1.0f;
    do {
        const GuideQuad *quad = &f->quads[q];
        float left = quad->share[0] + quad->share[2];
        uint32_t k = u.x >= left;
        u.x = minf(k ? (u.x - left) / (1.0f - left) : u.x / left, below_one);
        float column = quad->share[k] + quad->share[k + 2], lower = quad->share[k] / column;
        bool is_upper = u.y >= lower;
        u.y = minf(is_upper ? (u.y - lower) / (1.0f - lower) : u.y / lower, below_one);
        size *= 0.5f;
        low.x += (float)k * size;
        low.y += (float)is_upper * size;
        q = quad->child[k + 2 * (uint32_t)is_upper];
    } while (q);
    float3 direction = direction_of_square(f2(low.x + size * u.x, low.y + size * u.y));
    return parallax_leave(&f->regions[region].drawn, position, direction);
}

/* Moves a point of the square into the quadrant that it lies in, and scales it up. Returns the quadrant. */
static uint32_t enter_quadrant(float2 *p)
{
    uint32_t x = p->x >= 0.5f, y = p->y >= 0.5f;
    *p = f2(2.0f * p->x - (float)x, 2.0f * p->y - (float)y);
    return x + 2 * y;
}

float guide_field_density(const GuideField *f, uint32_t region, float3 position, float3 direction)
{
    float stretch;
    direction = parallax_enter(&f->regions[region].drawn, position, direction, &stretch);
    float2 p = square_of_direction(direction);
    float density = stretch * square_density(direction);
    uint32_t q = f->regions[region].root;
    do {
        const GuideQuad *quad = &f->quads[q];
        uint32_t k = enter_quadrant(&p);
        density *= 4.0f * quad->share[k];
        q = quad->child[k];
    } while (q);
    return density;
}

/* --- recording ----------------------------------------------------------------------------------- */

/* Rounds to a whole number of units, at most 2^40. */
static uint64_t units(float value, float to_units)
{
    const float most = 0x1p40f;
    float scaled = value * to_units;
    return scaled < most ? (uint64_t)(scaled + 0.5f) : (uint64_t)most;
}

/* Returns the square of a number of units, in other units. */
static uint64_t square_units(uint64_t light)
{
    const float most = 0x1p28f;
    float value = (float)light * 0x1p-20f;
    return (uint64_t)(minf(value * value, most) * 0x1p24f);
}

static void add(_Atomic uint64_t *sum, uint64_t value)
{
    if (value)
        atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

/* Returns 21 of the bits as a number of [-0.5, 0.5). */
static float part(uint64_t random, uint32_t shift)
{
    return (float)((random >> shift) & 0x1fffff) * 0x1p-21f - 0.5f;
}

/* Adds to the cell of a direction. The direction is blurred over the size of its cell, so that cells take from their
 * neighbours and the field does not depend on where their borders happen to lie [Mueller2019]. */
static void record_light(GuideField *f, uint32_t region, const GuideRecord *r, uint64_t light)
{
    float stretch;
    uint32_t root = f->regions[region].root;
    float3 direction =
        parallax_enter(&f->regions[region].taught, r->position, r->direction, &stretch);
    const float below_one = 0x1.fffffep-1f;
    float2 at = square_of_direction(direction), p = at;
    uint32_t q = root, k;
    float size = 1.0f;
    do {
        q = f->quads[q].child[enter_quadrant(&p)];
        size *= 0.5f;
    } while (q);
    q = root;
    p.x = clampf(at.x + size * part(r->random * 0x9e3779b97f4a7c15u, 0), 0.0f, below_one);
    p.y = clampf(at.y + size * part(r->random * 0x9e3779b97f4a7c15u, 21), 0.0f, below_one);
    for (k = enter_quadrant(&p); f->quads[q].child[k]; k = enter_quadrant(&p))
        q = f->quads[q].child[k];
    add(&f->sums[q].light[k], light);
    add(&f->sums[q].square[k], square_units(light));
}

/* Records the second moment that the estimate would have by each mixture: the square, times what was drawn over what
 * would be drawn. */
static void record_moments(GuideField *f, GuideTally *tally, const GuideRecord *r)
{
    float square = r->estimate * r->estimate;
    add(&tally->mixed, 1);
    for (uint32_t c = 0; c < GUIDE_CHANCES; ++c) {
        float chance = guide_chances[c] * r->share;
        float pdf = (1.0f - chance) * r->bsdf_pdf + chance * r->guide_pdf;
        float light = fabsf(r->estimate), logarithm = rt_log(pdf / r->bsdf_pdf);
        uint64_t size = units(light * fabsf(logarithm), f->to_units);
        add(&tally->moment[c], units(square * (r->pdf / pdf), f->to_units));
        add(&tally->likelihood[c], logarithm < 0.0f ? 0 - size : size);
    }
}

void guide_field_record(GuideField *f, const GuideRecord *r)
{
    float light = r->radiance / r->pdf;
    uint32_t region = guide_field_region(f, r->position, r->normal);
    GuideTally *tally = &f->tallies[region];
    if (!(r->pdf > 0.0f && r->bsdf_pdf > 0.0f && light >= 0.0f && isfinite(light) &&
          isfinite(r->estimate)))
        return;
    if (r->share > 0.0f)
        record_moments(f, tally, r);
    /* The place is blurred, too, but less: a narrow opening is seen in another direction from each place. */
    float3 blur = f3_scale(f->regions[region].size, 0.3f);
    float3 place = f3(r->position.x + blur.x * part(r->random, 0),
                      r->position.y + blur.y * part(r->random, 21),
                      r->position.z + blur.z * part(r->random, 42));
    region = guide_field_region(f, place, r->normal);
    uint64_t whole = units(light, f->to_units);
    if (whole == 0)
        return;
    GuideTally *place_tally = &f->tallies[region];
    add(&place_tally->records, 1);
    add(&place_tally->light, whole);
    if (r->distance_m < INFINITY)
        add(&place_tally->near,
            units(light * minf(f->desc.size.x / r->distance_m, NEAREST), f->to_units));
    record_light(f, region, r, whole);
}
