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
    QUADS_A_REGION = 24,   /* that the limit has room for */
    FIRST_DEPTH = 3,       /* of the quadtree that first records fall into */
    GRID_CELLS_MAX = 4096, /* for each side */
    GRID_BYTES_MAX = sizeof(uint32_t) * GRID_CELLS_MAX * GUIDE_SIDES
};
#define MEAN_UNITS 0x1p20f /* of light, in the mean radiance to the next power of two */
#define NEAREST    256.0f  /* of distances that are told apart, in parts of the field's length */

/* --- memory ------------------------------------------------------------------------------------- */

Status guide_field_alloc(const GuideFieldDesc *desc, GuideField **out_field, Error *err)
{
    GuideField *f = MEM_NEW(GuideField);
    *out_field = NULL;
    ASSERT(desc->memory_bytes >= 1 << 20 && desc->radiance > 0.0f);
    if (!f)
        return error_set(err, STATUS_NO_MEMORY, "out of memory learning where light comes from");
    uint64_t room =
        (desc->memory_bytes - GRID_BYTES_MAX) / (REGION_BYTES + QUADS_A_REGION * QUAD_BYTES);
    f->desc = *desc;
    f->region_room = (uint32_t)(room < 1u << 24 ? room : 1u << 24);
    f->quad_room = f->region_room * QUADS_A_REGION;
    int exponent;
    (void)frexpf(desc->radiance, &exponent);
    f->to_units = ldexpf(MEAN_UNITS, -exponent);
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

/* Returns the cell in which a search for any place of a box goes on. Borders count as cut from a hundredth of the box inward, since
 * they have been rounded. */
static uint32_t cell_around(const GuideField *f, uint32_t cell, const float low[3],
                            const float size[3])
{
    for (;;) {
        const GuideCell *c = &f->cells[cell];
        if (!c->child)
            return cell;
        float at = (c->split - low[c->axis]) / size[c->axis];
        if (at > 0.01f && at < 0.99f)
            return cell;
        cell = c->child + (at < 0.5f);
    }
}

/* Makes the grid, which is finer than regions are in the mean: those of surfaces are smaller. Returns false when there is no memory. */
static bool make_grid(GuideField *f)
{
    GuideGrid *g = &f->grid;
    const float box_low[3] = {f->desc.low.x, f->desc.low.y, f->desc.low.z};
    float size[3] = {f->desc.size.x, f->desc.size.y, f->desc.size.z};
    uint32_t total = 1;
    *g = (GuideGrid){.count = {1, 1, 1}};
    while (total < GRID_CELLS_MAX && total < f->cell_count) {
        uint32_t axis = guide_longest_axis(f3(size[0], size[1], size[2]));
        size[axis] *= 0.5f;
        g->count[axis] *= 2;
        total *= 2;
    }
    for (uint32_t a = 0; a < 3; ++a)
        g->to_cells[a] = 1.0f / size[a];
    g->cells = MEM_ARRAY(uint32_t, (size_t)total *GUIDE_SIDES);
    if (!g->cells)
        return false;
    for (uint32_t i = 0; i < total * GUIDE_SIDES; ++i) {
        const uint32_t at[3] = {i % g->count[0], i / g->count[0] % g->count[1],
                                i / (g->count[0] * g->count[1]) % g->count[2]};
        float low[3];
        for (uint32_t a = 0; a < 3; ++a)
            low[a] = box_low[a] + (float)at[a] * size[a];
        g->cells[i] = cell_around(f, i / total, low, size);
    }
    return true;
}

static uint64_t grid_bytes(const GuideGrid *g)
{
    return sizeof *g->cells * GUIDE_SIDES * g->count[0] * g->count[1] * g->count[2];
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
    if (!f->sums || !f->tallies || !make_grid(f))
        return error_set(err, STATUS_NO_MEMORY, "out of memory learning where light comes from");
    f->stats.regions = f->region_count;
    f->stats.quads = f->quad_count;
    f->stats.bytes = f->cell_count * sizeof *f->cells + grid_bytes(&f->grid) +
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
    mem_free(f->grid.cells);
    mem_free(f);
}

/* Appends a quad of equal shares, with quads of equal shares below it down to `depth`. Returns its index. */
static uint32_t add_even_quads(GuideField *f, uint32_t depth)
{
    uint32_t q = f->quad_count++;
    ASSERT(f->quad_count <= f->quad_room);
    f->quads[q].left = f->quads[q].lower[0] = f->quads[q].lower[1] = 0.5f;
    for (uint32_t k = 0; k < 4; ++k)
        f->quads[q].child[k] = depth > 1 ? add_even_quads(f, depth - 1) : 0;
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

/* Returns which of `count` parts a coordinate lies in, the nearest one for those outside. */
static uint32_t grid_part(float at, uint32_t count)
{
    return (uint32_t)clampf(at, 0.0f, (float)count - 0.5f);
}

uint32_t guide_field_region(const GuideField *f, float3 p, float3 n)
{
    const float at[3] = {p.x, p.y, p.z};
    const GuideGrid *g = &f->grid;
    float3 from_low = f3_sub(p, f->desc.low);
    uint32_t x = grid_part(from_low.x * g->to_cells[0], g->count[0]);
    uint32_t y = grid_part(from_low.y * g->to_cells[1], g->count[1]);
    uint32_t z = grid_part(from_low.z * g->to_cells[2], g->count[2]);
    uint32_t place = ((side_of(n) * g->count[2] + z) * g->count[1] + y) * g->count[0] + x;
    const GuideCell *cell = &f->cells[g->cells[place]];
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

/* A walk down the quadtrees of a block of points, all of them level by level: steps of one point wait for each other. */
typedef struct Descent {
    uint32_t quad[SSL_BLOCK], x[SSL_BLOCK], y[SSL_BLOCK];
    alignas(64) WideRow ux, uy, size;
} Descent;

/* The spheres of the regions of a block. */
typedef struct Spheres {
    alignas(64) WideRow centre[3], radius;
} Spheres;

static void find_regions(const GuideField *f, const uint32_t region[SSL_BLOCK], uint16_t lanes,
                         Descent *d, Spheres *spheres)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        const GuideRegion *r = &f->regions[lanes >> k & 1 ? region[k] : 0];
        wide_set3(spheres->centre, k, r->drawn.centre);
        spheres->radius[k] = r->drawn.radius;
        d->quad[k] = r->root;
    }
}

static inline GuideSphere sphere_at(const Spheres *spheres, uint32_t k)
{
    return (GuideSphere){wide_get3(spheres->centre, k), spheres->radius[k]};
}

/* Goes one level down for each point of `left`, to the quadrant that its numbers choose. Returns those that are not at a leaf. */
static uint16_t draw_level(const GuideField *f, Descent *d, uint16_t left)
{
    const float below_one = 0x1.fffffep-1f;
    uint32_t below = 0;
    WIDE_EACH(k, left)
    {
        const GuideQuad *quad = &f->quads[d->quad[k]];
        ASSERT(quad->left > 0.0f && quad->left < 1.0f);
        uint32_t x = d->ux[k] >= quad->left;
        float lower = quad->lower[x], column = (float)x;
        uint32_t y = d->uy[k] >= lower;
        float row = (float)y;
        /* Products instead of choices: compilers make branches of those, which nothing predicts. */
        float ux = (d->ux[k] - column * quad->left) / guide_part(column, quad->left);
        float uy = (d->uy[k] - row * lower) / guide_part(row, lower);
        d->ux[k] = minf(ux, below_one), d->uy[k] = minf(uy, below_one);
        d->x[k] = 2 * d->x[k] + x, d->y[k] = 2 * d->y[k] + y;
        d->size[k] *= 0.5f;
        d->quad[k] = quad->child[x + 2 * y];
        below |= (uint32_t)(d->quad[k] != 0) << k;
    }
    return (uint16_t)below;
}

void guide_field_draw(const GuideField *f, const uint32_t region[SSL_BLOCK],
                      const WideRow position[3], const WideRow u[2], uint16_t lanes,
                      WideRow out_direction[3])
{
    Descent d;
    Spheres spheres;
    find_regions(f, region, lanes, &d, &spheres);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        d.ux[k] = u[0][k], d.uy[k] = u[1][k];
        d.x[k] = d.y[k] = 0;
        d.size[k] = 1.0f;
    }
    for (uint16_t left = lanes; left;)
        left = draw_level(f, &d, left);
    alignas(64) WideRow direction[3];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        GuideSphere sphere = sphere_at(&spheres, k);
        float2 at =
            f2(((float)d.x[k] + d.ux[k]) * d.size[k], ((float)d.y[k] + d.uy[k]) * d.size[k]);
        wide_set3(direction, k,
                  parallax_leave(&sphere, wide_get3(position, k), direction_of_square(at)));
    }
    WIDE_EACH(k, lanes) wide_set3(out_direction, k, wide_get3(direction, k));
}

/* Multiplies densities by those of the quadrants that hold the points, and goes one level down for each point of `left`. shift: of
 * the bits of this level. */
static uint16_t density_level(const GuideField *f, Descent *d, uint32_t shift, uint16_t left,
                              WideRow density)
{
    uint32_t below = 0;
    WIDE_EACH(k, left)
    {
        const GuideQuad *quad = &f->quads[d->quad[k]];
        uint32_t x = d->x[k] >> shift & 1, y = d->y[k] >> shift & 1;
        density[k] *=
            4.0f * guide_part((float)x, quad->left) * guide_part((float)y, quad->lower[x]);
        d->quad[k] = quad->child[x + 2 * y];
        below |= (uint32_t)(d->quad[k] != 0) << k;
    }
    return (uint16_t)below;
}

void guide_field_densities(const GuideField *f, const uint32_t region[SSL_BLOCK],
                           const WideRow position[3], const WideRow direction[3], uint16_t lanes,
                           WideRow out_density)
{
    const float to_bits = (float)(1 << GUIDE_DEPTH_MAX);
    alignas(64) WideRow density;
    Descent d;
    Spheres spheres;
    find_regions(f, region, lanes, &d, &spheres);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        GuideSphere sphere = sphere_at(&spheres, k);
        float stretch;
        float3 seen =
            parallax_enter(&sphere, wide_get3(position, k), wide_get3(direction, k), &stretch);
        float2 at = square_of_direction(seen);
        density[k] = stretch * square_density(seen);
        d.x[k] = (uint32_t)(int32_t)(at.x * to_bits), d.y[k] = (uint32_t)(int32_t)(at.y * to_bits);
    }
    uint32_t shift = GUIDE_DEPTH_MAX;
    for (uint16_t left = lanes; left;) {
        ASSERT(shift > 0);
        left = density_level(f, &d, --shift, left, density);
    }
    WIDE_EACH(k, lanes) out_density[k] = density[k];
}

/* Moves a point of the square into the quadrant that it lies in, and scales it up. Returns the quadrant. */
static uint32_t enter_quadrant(float2 *p)
{
    uint32_t x = p->x >= 0.5f, y = p->y >= 0.5f;
    *p = f2(2.0f * p->x - (float)x, 2.0f * p->y - (float)y);
    return x + 2 * y;
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
    float value = (float)light / MEAN_UNITS;
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
 * would be drawn. The first of the mixtures is the surface's own sampling. Squares are of estimates relative to the mean radiance. */
static void record_moments(GuideField *f, GuideTally *tally, const GuideRecord *r)
{
    float relative = r->estimate * f->to_units / MEAN_UNITS, square = relative * relative;
    add(&tally->mixed, 1);
    if (r->estimate == 0.0f)
        return;
    add(&tally->moment[0], units(square * (r->pdf / r->bsdf_pdf), MEAN_UNITS));
    for (uint32_t c = 1; c < GUIDE_CHANCES; ++c) {
        float chance = guide_chances[c] * r->share;
        float pdf = (1.0f - chance) * r->bsdf_pdf + chance * r->guide_pdf;
        float light = fabsf(r->estimate), logarithm = rt_log(pdf / r->bsdf_pdf);
        uint64_t size = units(light * fabsf(logarithm), f->to_units);
        add(&tally->moment[c], units(square * (r->pdf / pdf), MEAN_UNITS));
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
