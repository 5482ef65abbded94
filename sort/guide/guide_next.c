/* The field that records teach: regions with many records are cut in two, cells with much light in four. */
#include "sort/guide/guide_state.h"

#include "base/check.h"
#include <math.h>

enum {
    /* In records of equal light (weight_of): */
    RECORDS_OF_A_REGION = 100, /* before it is cut */
    RECORDS_TO_LEARN = 8,      /* fewer leave a region what it knew */
    RECORDS_OF_A_CELL = 4,     /* before a cell of directions is cut */
    EVEN_RECORDS = 2,          /* that each node is given beside its own, in equal shares */
    CELLS_DEPTH_MAX = 40
};
#define CELL_SHARE   0.01 /* of a region's light, above which a cell is cut */
#define LEAST_RADIUS 0.7f /* of a region's sphere, in diagonals of the region */

typedef struct Teacher {
    const GuideField *from;
    GuideField *to;
} Teacher;

static uint64_t read(const _Atomic uint64_t *sum)
{
    return atomic_load_explicit(sum, memory_order_relaxed);
}

/* What was recorded in a quadrant, or in a part of one: below a leaf of the field that is learned from, it is even. */
typedef struct Found {
    double light, square;
} Found;

/* Returns how many records of equal light would say as much as those of a quadrant: few if some brought most of it. */
static double weight_of(Found found)
{
    const double from_units = 0x1p16; /* (2^20)^2 / 2^24 */
    return found.square > 0.0  ? found.light * found.light / (found.square * from_units)
           : found.light > 0.0 ? 1e6
                               : 0.0;
}

static void accumulate(Found *sum, Found part)
{
    sum->light += part.light;
    sum->square += part.square;
}

static Found quadrant_found(const GuideField *f, uint32_t q, uint32_t k)
{
    const GuideSums *sums = &f->sums[q];
    Found found = {(double)read(&sums->light[k]), (double)read(&sums->square[k])};
    uint32_t child = f->quads[q].child[k];
    for (uint32_t c = 0; child && c < 4; ++c)
        accumulate(&found, quadrant_found(f, child, c));
    return found;
}

static Found quad_found(const GuideField *f, uint32_t q)
{
    Found found = {0.0, 0.0};
    for (uint32_t k = 0; k < 4; ++k)
        accumulate(&found, quadrant_found(f, q, k));
    return found;
}

static uint32_t copy_quad(const Teacher *t, uint32_t old)
{
    GuideField *to = t->to;
    uint32_t q = to->quad_count++;
    to->quads[q] = t->from->quads[old];
    for (uint32_t k = 0; k < 4; ++k) {
        bool has_room = to->quad_count + (to->region_room - to->region_count) < to->quad_room;
        uint32_t below = t->from->quads[old].child[k];
        to->stats.is_full |= below && !has_room;
        to->quads[q].child[k] = below && has_room ? copy_quad(t, below) : 0;
    }
    return q;
}

/* A node to be made: what was recorded in it, and the node of the old field at its place. */
typedef struct NewQuad {
    Found found;
    uint32_t old; /* if has_old */
    bool has_old;
    uint32_t depth;
} NewQuad;

static float inside_unit(double share)
{
    return clampf((float)share, 0x1p-24f, 1.0f - 0x1p-24f);
}

/* Appends a node and those below it, in a region whose light is `all`, and returns its index. Where few records brought light,
 * shares are drawn towards equal ones, since rare records of much light would take all. */
static uint32_t add_quad(const Teacher *t, NewQuad node, double all)
{
    GuideField *to = t->to;
    uint32_t q = to->quad_count++;
    ASSERT(q < to->quad_room);
    double weight = weight_of(node.found), shares[4];
    for (uint32_t k = 0; k < 4; ++k) {
        Found part = {0.25 * node.found.light, 0.25 * node.found.square};
        if (node.has_old)
            part = quadrant_found(t->from, node.old, k);
        double share = node.found.light > 0.0 ? part.light / node.found.light : 0.25;
        shares[k] = (share * weight + 0.25 * EVEN_RECORDS) / (weight + EVEN_RECORDS);
        uint32_t below = node.has_old ? t->from->quads[node.old].child[k] : 0;
        bool is_cut = part.light > CELL_SHARE * all && weight_of(part) >= RECORDS_OF_A_CELL &&
                      node.depth < GUIDE_DEPTH_MAX;
        /* Regions to come need a quad each. */
        bool has_room = to->quad_count + (to->region_room - to->region_count) < to->quad_room;
        to->stats.is_full |= is_cut && !has_room;
        to->quads[q].child[k] =
            is_cut && has_room
                ? add_quad(t, (NewQuad){part, below, below != 0, node.depth + 1}, all)
                : 0;
    }
    to->quads[q].left = inside_unit(shares[0] + shares[2]);
    for (uint32_t x = 0; x < 2; ++x)
        to->quads[q].lower[x] = inside_unit(shares[x] / (shares[x] + shares[x + 2]));
    return q;
}

/* Returns the chance with the least second moment; one half where that is not known. */
static float best_chance(const GuideTally *tally, GuideStats *stats)
{
    uint32_t best = 0;
    if (read(&tally->mixed) == 0)
        return 0.5f;
    for (uint32_t c = 1; c < GUIDE_CHANCES; ++c)
        if ((int64_t)read(&tally->likelihood[c]) > (int64_t)read(&tally->likelihood[best]))
            best = c;
    stats->unguided += (double)read(&tally->moment[0]);
    stats->guided += (double)read(&tally->moment[best]);
    return guide_chances[best];
}

typedef struct Box {
    float3 low, size;
} Box;

/* Returns the sphere of a region to come, as far away as light was in the one that it is a part of. */
static GuideSphere sphere_of(const Teacher *t, uint32_t old, Box box)
{
    const GuideTally *tally = &t->from->tallies[old];
    const GuideSphere *from = &t->from->regions[old].taught;
    double light = (double)read(&tally->light), near = (double)read(&tally->near);
    float radius = near > 0.0 ? (float)((double)t->from->desc.size.x * light / near) : from->radius;
    GuideSphere s = {f3_add(box.low, f3_scale(box.size, 0.5f)), radius};
    if (radius > 0.0f)
        s.radius = maxf(radius, LEAST_RADIUS * f3_length(box.size));
    return s;
}

static void add_region(const Teacher *t, uint32_t old, float chance, Box box, uint32_t cell)
{
    GuideField *to = t->to;
    const GuideRegion *from = &t->from->regions[old];
    Found found = quad_found(t->from, from->root);
    bool learns = weight_of(found) >= RECORDS_TO_LEARN;
    uint32_t region = to->region_count++;
    to->cells[cell] = (GuideCell){.axis = region};
    uint32_t root = learns ? add_quad(t, (NewQuad){found, from->root, true, 1}, found.light)
                           : copy_quad(t, from->root);
    to->regions[region] = (GuideRegion){.root = root,
                                        .chance = learns ? chance : from->chance,
                                        .is_known = learns || from->is_known,
                                        .size = box.size,
                                        .drawn = learns ? from->taught : from->drawn,
                                        .taught = sphere_of(t, old, box)};
}

static float coordinate(float3 v, uint32_t axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static void set_coordinate(float3 *v, uint32_t axis, float value)
{
    *(axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z) = value;
}

/* Sets the cell `at` to region `old` of the old field, or to as many parts of it as its records allow. */
static void add_parts(const Teacher *t, uint32_t old, float chance, Box box, double records,
                      uint32_t at, uint32_t depth, uint32_t *pending)
{
    GuideField *to = t->to;
    uint32_t axis = guide_longest_axis(box.size);
    float half = 0.5f * coordinate(box.size, axis), low = coordinate(box.low, axis);
    bool is_cut = records > RECORDS_OF_A_REGION && depth < CELLS_DEPTH_MAX && low + half > low;
    bool has_room = to->region_count + *pending + 1 <= to->region_room;
    to->stats.is_full |= is_cut && !has_room;
    if (!is_cut || !has_room) {
        --*pending;
        add_region(t, old, chance, box, at);
        return;
    }
    ++*pending;
    uint32_t child = to->cell_count;
    to->cell_count += 2;
    to->cells[at] = (GuideCell){.child = child, .axis = axis, .split = low + half};
    set_coordinate(&box.size, axis, half);
    add_parts(t, old, chance, box, 0.5 * records, child, depth + 1, pending);
    set_coordinate(&box.low, axis, low + half);
    add_parts(t, old, chance, box, 0.5 * records, child + 1, depth + 1, pending);
}

/* Copies the cell `from` of the old field to cell `at`, with cuts below. pending: the regions that are still to come. */
static void add_cells(const Teacher *t, uint32_t from, Box box, uint32_t at, uint32_t depth,
                      uint32_t *pending)
{
    const GuideCell *cell = &t->from->cells[from];
    GuideField *to = t->to;
    if (!cell->child) {
        const GuideTally *tally = &t->from->tallies[cell->axis];
        float chance = best_chance(tally, &to->stats);
        to->stats.records += read(&tally->records);
        add_parts(t, cell->axis, chance, box,
                  weight_of(quad_found(t->from, t->from->regions[cell->axis].root)), at, depth,
                  pending);
        return;
    }
    uint32_t child = to->cell_count;
    to->cell_count += 2;
    to->cells[at] = (GuideCell){.child = child, .axis = cell->axis, .split = cell->split};
    float low = coordinate(box.low, cell->axis), size = coordinate(box.size, cell->axis);
    set_coordinate(&box.size, cell->axis, cell->split - low);
    add_cells(t, cell->child, box, child, depth + 1, pending);
    set_coordinate(&box.low, cell->axis, cell->split);
    set_coordinate(&box.size, cell->axis, low + size - cell->split);
    add_cells(t, cell->child + 1, box, child + 1, depth + 1, pending);
}

Status guide_field_next(const GuideField *field, GuideField **out_field, Error *err)
{
    GuideField *to;
    *out_field = NULL;
    TRY(guide_field_alloc(&field->desc, &to, err));
    const Teacher teacher = {field, to};
    uint32_t pending = field->region_count;
    for (uint32_t side = 0; side < GUIDE_SIDES; ++side)
        add_cells(&teacher, side, (Box){field->desc.low, field->desc.size}, side, 0, &pending);
    ASSERT(pending == 0 && to->region_count <= to->region_room && to->quad_count <= to->quad_room);
    Status status = guide_field_close(to, err);
    if (status != STATUS_OK) {
        guide_field_destroy(to);
        return status;
    }
    *out_field = to;
    return STATUS_OK;
}
