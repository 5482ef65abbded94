/* In the map, rows run from v = 1 (up) to v = 0; in the table they are counted from above. Sums within a block are whole numbers
 * of 2^-16, so that the density of a cell is exactly the one with which it is drawn, and every cell has a chance. An entry
 * says where its row or cell begins; it ends where the next one begins, the last one at LATTICE. */
#include "sort/light/environment_table.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/bsdf/spectrum.h"
#include "sort/sampling/turn.h"
#include <string.h>

#define LATTICE (1u << 16)

/* Scattering gets so much of the mean luminance left to it; a cell keeps at least a part of its own light; and a uniform part
 * covers what a texture filter spreads into cells whose own mean is black (decision 0094 has the variances). */
static const double left_to_scattering = 0.5, kept = 0.35, uniform_share = 0.01;

/* A lobe whose density says that it covers this many cells on the equator blurs whatever is smaller than a cell. */
#define CELLS_OF_A_WIDE_LOBE 16.0

enum {
    BLOCK_WIDTH_MAX = ENVIRONMENT_TABLE_MAX_WIDTH / SKY_TREE_COLUMNS,
    BLOCK_HEIGHT_MAX = ENVIRONMENT_TABLE_MAX_HEIGHT / SKY_TREE_ROWS,
    BLOCK_SIDE_MAX = BLOCK_WIDTH_MAX > BLOCK_HEIGHT_MAX ? BLOCK_WIDTH_MAX : BLOCK_HEIGHT_MAX
};

/* Both arrays run through the blocks by rows, and through each block by rows. */
struct EnvironmentTable {
    uint32_t width, height;
    uint64_t per_width, per_height; /* per() */
    float3 mean;
    double unevenness;
    SkyTree tree;
    uint16_t *rows;  /* [SKY_TREE_COLUMNS * height] the rows of each block; in `sums` */
    uint16_t *cells; /* [width * height] the cells of each row of a block; in `sums` */
    /* [width * height] by cell, as pack_radiance does it; owned; NULL: not kept. */
    uint64_t *radiance;
    float suffices_pdf;
    alignas(SORT_CACHE_LINE) uint16_t sums[]; /* both arrays begin with a line */
};

/* --- places ------------------------------------------------------------------------------------------- */

/* The first of `cells` that is in part i of `parts` equal parts, rounded down. */
static uint32_t part_begin(uint32_t i, uint32_t parts, uint32_t cells)
{
    return i * cells / parts;
}

/* Returns 2^40 / cells rounded up, or 1 more: for numerators below 2^40 / cells its product with one has the quotient in front. */
static uint64_t per(uint32_t cells)
{
    return (1ull << 40) / cells + 1;
}

static uint32_t part_of(uint32_t cell, uint32_t parts, uint64_t per_cells)
{
    return (uint32_t)(((uint64_t)(cell + 1) * parts - 1) * per_cells >> 40);
}

typedef struct Block {
    uint32_t index, x, y, width, height; /* x, y: its first cell */
} Block;

static inline Block block_at(const EnvironmentTable *t, uint32_t index)
{
    uint32_t row = index / SKY_TREE_COLUMNS, column = index % SKY_TREE_COLUMNS;
    Block b = {.index = index,
               .x = part_begin(column, SKY_TREE_COLUMNS, t->width),
               .y = part_begin(row, SKY_TREE_ROWS, t->height)};
    b.width = part_begin(column + 1, SKY_TREE_COLUMNS, t->width) - b.x;
    b.height = part_begin(row + 1, SKY_TREE_ROWS, t->height) - b.y;
    return b;
}

static inline Block block_of(const EnvironmentTable *t, uint32_t x, uint32_t y)
{
    return block_at(t, part_of(y, SKY_TREE_ROWS, t->per_height) * SKY_TREE_COLUMNS +
                           part_of(x, SKY_TREE_COLUMNS, t->per_width));
}

static inline uint16_t *rows_of(const EnvironmentTable *t, const Block *b)
{
    return t->rows + (size_t)b->y * SKY_TREE_COLUMNS +
           (size_t)(b->index % SKY_TREE_COLUMNS) * b->height;
}

/* The first cell of a row of a block. */
static inline uint32_t first_cell(const EnvironmentTable *t, const Block *b, uint32_t row)
{
    return b->y * t->width + b->x * b->height + row * b->width;
}

/* --- creation ----------------------------------------------------------------------------------------- */

uint32_t environment_table_side(uint32_t texels, uint32_t most)
{
    uint32_t side = texels;
    ASSERT(texels > 0 && most >= 4);
    while (side < most / 4)
        side *= 2;
    while (side > most)
        side = (side + 1) / 2;
    return side;
}

static float non_negative(float x)
{
    return isfinite(x) && x > 0.0f ? x : 0.0f;
}

/* The part of the sphere's area, out of 1, that row `y` of `height` covers. */
static double row_share(uint32_t y, uint32_t height)
{
    return 0.5 * (turn_unit(TURN_PI * y / height).re - turn_unit(TURN_PI * (y + 1) / height).re);
}

/* The mean over a cell of what is interpolated linearly between its middle and those of its neighbours. */
static float cell_mean(float before, float at, float after)
{
    return 0.75f * at + 0.125f * (before + after);
}

/* Lookups interpolate between cells, so that a small sun shines into the cells around its own: each cell weighs what
 * is seen in it. Rows end in one another, columns at the poles. `above`: room for a row. */
static void weigh_as_interpolated(float *weights, float *above, uint32_t width, uint32_t height)
{
    for (uint32_t y = 0; y < height; ++y) {
        float *w = &weights[(size_t)y * width];
        float first = w[0], before = w[width - 1];
        for (uint32_t x = 0; x < width; ++x) {
            float at = w[x];
            w[x] = cell_mean(before, at, x + 1 < width ? w[x + 1] : first);
            before = at;
        }
    }
    memcpy(above, weights, width * sizeof *above);
    for (uint32_t y = 0; y < height; ++y) {
        float *w = &weights[(size_t)y * width];
        const float *below = y + 1 < height ? w + width : w;
        for (uint32_t x = 0; x < width; ++x) {
            float at = w[x];
            w[x] = cell_mean(above[x], at, below[x]);
            above[x] = at;
        }
    }
}

/* Packs a colour into three whole numbers of 18 bits and their common exponent. */
static uint64_t pack_radiance(float3 c)
{
    int exponent;
    float most = f3_max_component(c);
    if (!(most > 0x1p-90f))
        return 0;
    (void)frexpf(most, &exponent);
    double scale = ldexp(1.0, 18 - exponent), largest = (double)((1 << 18) - 1);
    uint64_t x = (uint64_t)fmin((double)c.x * scale + 0.5, largest);
    uint64_t y = (uint64_t)fmin((double)c.y * scale + 0.5, largest);
    uint64_t z = (uint64_t)fmin((double)c.z * scale + 0.5, largest);
    return x | y << 18 | z << 36 | (uint64_t)(exponent + 128) << 54;
}

static inline float3 unpack_radiance(uint64_t packed)
{
    const uint32_t mask = (1 << 18) - 1;
    union {
        uint32_t bits;
        float value;
    } scale = {.bits = ((uint32_t)(packed >> 54) - 128 - 18 + 127) << 23};
    if (packed == 0)
        return f3_splat(0.0f);
    return f3_scale(f3((float)((uint32_t)packed & mask), (float)((uint32_t)(packed >> 18) & mask),
                       (float)((uint32_t)(packed >> 36) & mask)),
                    scale.value);
}

/* Keeps the radiance of a row of cells, if all of it is light. */
static void keep_radiance(EnvironmentTable *t, uint32_t y, const float3 *colors)
{
    for (uint32_t x = 0; x < t->width && t->radiance; ++x) {
        float3 c = colors[x];
        bool is_light = c.x >= 0.0f && c.y >= 0.0f && c.z >= 0.0f && isfinite(c.x + c.y + c.z);
        Block b = block_of(t, x, y);
        if (is_light) {
            t->radiance[first_cell(t, &b, y - b.y) + (x - b.x)] = pack_radiance(c);
        } else {
            mem_free(t->radiance);
            t->radiance = NULL;
        }
    }
}

/* Reads the map into luminances. colors: room for a row. Returns in *out_luminance the mean over the sphere. */
static Status read_map(const EnvironmentTableDesc *desc, EnvironmentTable *t, float3 *colors,
                       float *out_luminances, double *out_luminance, Error *err)
{
    double sum[3] = {0, 0, 0}, luminance_sum = 0;
    for (uint32_t y = 0; y < t->height; ++y) {
        float v_high = 1.0f - (float)y / (float)t->height;
        float v_low = 1.0f - (float)(y + 1) / (float)t->height;
        TRY(desc->row(desc->data, t->width, v_low, v_high, colors, err));
        keep_radiance(t, y, colors);
        double share = row_share(y, t->height) / t->width;
        for (uint32_t x = 0; x < t->width; ++x) {
            float3 c =
                f3(non_negative(colors[x].x), non_negative(colors[x].y), non_negative(colors[x].z));
            float luminance = spectrum_luminance(spectrum_from_rgb(c));
            out_luminances[(size_t)y * t->width + x] = luminance;
            sum[0] += share * (double)c.x, sum[1] += share * (double)c.y;
            sum[2] += share * (double)c.z, luminance_sum += share * (double)luminance;
        }
    }
    t->mean = f3((float)sum[0], (float)sum[1], (float)sum[2]);
    *out_luminance = luminance_sum;
    return STATUS_OK;
}

/* Returns the part of the light that is brighter than the mean luminance. */
static double unevenness(const EnvironmentTableDesc *desc, const float *luminances, double mean)
{
    double above = 0.0, all = 0.0;
    for (uint32_t y = 0; y < desc->height; ++y) {
        double share = row_share(y, desc->height);
        for (uint32_t x = 0; x < desc->width; ++x) {
            double light = (double)luminances[(size_t)y * desc->width + x];
            above += share * fmax(light - mean, 0.0);
            all += share * light;
        }
    }
    return all > 0.0 ? above / all : 0.0;
}

/* Makes importances of luminances. They are relative to the mean, so that neither dim nor bright maps leave the range of float. */
static void weigh(const EnvironmentTableDesc *desc, float *weights, double mean)
{
    double scale = mean > 0.0 ? 1.0 / mean : 0.0, left = desc->is_alone ? 0.0 : left_to_scattering;
    for (size_t i = 0; i < (size_t)desc->width * desc->height; ++i) {
        double light = fmin((double)weights[i] * scale, 1e30);
        weights[i] = (float)(fmax(light - left, kept * light) + uniform_share);
    }
}

/* Each weight gets one point of the lattice; the rest is shared out in proportion. */
static void share_lattice(const double *weights, uint32_t count, uint16_t *out_begin)
{
    double total = 0.0, sum = 0.0;
    for (uint32_t i = 0; i < count; ++i)
        total += weights[i];
    ASSERT(count > 0 && count <= BLOCK_SIDE_MAX && total > 0.0);
    double share = (double)(LATTICE - count) / total;
    for (uint32_t i = 0; i < count; ++i) {
        out_begin[i] = (uint16_t)(i + (uint32_t)(sum * share + 0.5));
        sum += weights[i];
    }
}

/* Fills the tables of a block. directions: [width] of the longitudes of cells, east and north. */
static SkyBlock make_block(EnvironmentTable *t, const Block *b, const float *weights,
                           const Complex *directions)
{
    SkyBlock sum = {0};
    double rows[BLOCK_SIDE_MAX], cells[BLOCK_SIDE_MAX];
    for (uint32_t j = 0; j < b->height; ++j) {
        uint32_t y = b->y + j;
        double share = row_share(y, t->height), row = 0.0, east = 0.0, north = 0.0;
        Complex latitude = turn_unit(TURN_PI * (y + 0.5) / t->height);
        for (uint32_t i = 0; i < b->width; ++i) {
            double w = share * (double)weights[(size_t)y * t->width + b->x + i];
            cells[i] = w;
            row += w;
            east += w * directions[b->x + i].re, north += w * directions[b->x + i].im;
        }
        rows[j] = row;
        sum.weight += row;
        sum.moment[0] += east * latitude.im;
        sum.moment[1] += row * latitude.re;
        sum.moment[2] += north * latitude.im;
        share_lattice(cells, b->width, t->cells + first_cell(t, b, j));
    }
    share_lattice(rows, b->height, rows_of(t, b));
    return sum;
}

/* The parts of the direction of each column of cells along x and z, as environment_direction has them. */
static void fill_directions(uint32_t width, Complex *out)
{
    for (uint32_t x = 0; x < width; ++x) {
        Complex turn = turn_unit(2.0 * TURN_PI * (x + 0.5) / width); /* half a turn ahead */
        out[x] = (Complex){turn.im, -turn.re};
    }
}

static void make_blocks(EnvironmentTable *t, const float *weights, const Complex *directions)
{
    SkyBlock blocks[SKY_TREE_BLOCKS] = {0};
    for (uint32_t i = 0; i < SKY_TREE_BLOCKS; ++i) {
        Block b = block_at(t, i);
        if (b.width > 0 && b.height > 0)
            blocks[i] = make_block(t, &b, weights, directions);
    }
    sky_tree_build(blocks, &t->tree);
}

static EnvironmentTable *allocate(uint32_t width, uint32_t height)
{
    size_t rows = (size_t)SKY_TREE_COLUMNS * height, cells = (size_t)width * height;
    EnvironmentTable *t = mem_alloc_aligned(
        sizeof(EnvironmentTable) + (rows + cells) * sizeof(uint16_t), SORT_CACHE_LINE);
    if (!t)
        return NULL;
    t->width = width, t->height = height;
    t->per_width = per(width), t->per_height = per(height);
    t->rows = t->sums, t->cells = t->sums + rows;
    t->radiance = NULL;
    t->suffices_pdf = (float)((double)cells / (2.0 * TURN_PI * TURN_PI * CELLS_OF_A_WIDE_LOBE));
    return t;
}

/* What is needed while a table is made. */
typedef struct Scratch {
    float *weights, *above;
    float3 *colors;
    Complex *directions;
} Scratch;

static Status fill(const EnvironmentTableDesc *desc, Scratch *s, EnvironmentTable *t, Error *err)
{
    uint32_t width = desc->width;
    double mean;
    s->weights = MEM_ARRAY(float, (size_t)width * desc->height);
    s->above = MEM_ARRAY(float, width);
    s->colors = MEM_ARRAY(float3, width);
    s->directions = MEM_ARRAY(Complex, width);
    if (t && desc->keeps_radiance)
        t->radiance = MEM_ARRAY(uint64_t, (size_t)width * desc->height);
    if (!t || !s->weights || !s->above || !s->colors || !s->directions ||
        (desc->keeps_radiance && !t->radiance))
        return error_set(err, STATUS_NO_MEMORY, "no memory for an environment table of %u x %u",
                         width, desc->height);
    TRY(read_map(desc, t, s->colors, s->weights, &mean, err));
    if (!t->radiance)
        weigh_as_interpolated(s->weights, s->above, width, desc->height);
    t->unevenness = desc->is_alone ? 1.0 : unevenness(desc, s->weights, mean);
    weigh(desc, s->weights, mean);
    fill_directions(width, s->directions);
    make_blocks(t, s->weights, s->directions);
    return STATUS_OK;
}

Status environment_table_create(const EnvironmentTableDesc *desc, EnvironmentTable **out_table,
                                Error *err)
{
    *out_table = NULL;
    CHECK(desc->width > 0 && desc->width <= ENVIRONMENT_TABLE_MAX_WIDTH);
    CHECK(desc->height > 0 && desc->height <= ENVIRONMENT_TABLE_MAX_HEIGHT);
    EnvironmentTable *table = allocate(desc->width, desc->height);
    Scratch scratch = {0};
    Status status = fill(desc, &scratch, table, err);
    mem_free(scratch.weights);
    mem_free(scratch.above);
    mem_free(scratch.colors);
    mem_free(scratch.directions);
    if (status == STATUS_OK)
        *out_table = table;
    else
        environment_table_destroy(table);
    return status;
}

void environment_table_destroy(EnvironmentTable *table)
{
    if (!table)
        return;
    mem_free(table->radiance);
    mem_free(table);
}

double environment_table_unevenness(const EnvironmentTable *table)
{
    return table->unevenness;
}

float3 environment_table_mean(const EnvironmentTable *table)
{
    return table->mean;
}

bool environment_table_suffices(const EnvironmentTable *table, float lobe_pdf)
{
    return table->radiance && lobe_pdf < table->suffices_pdf;
}

float3 environment_table_radiance(const EnvironmentTable *table, uint32_t cell)
{
    ASSERT(table->radiance && cell < table->width * table->height);
    return unpack_radiance(table->radiance[cell]);
}

uint32_t environment_table_width(const EnvironmentTable *table)
{
    return table->width;
}

uint32_t environment_table_height(const EnvironmentTable *table)
{
    return table->height;
}

/* --- drawing ------------------------------------------------------------------------------------------ */

/* The last of `count` entries that is not above `point`. */
static inline uint32_t find(const uint16_t *begin, uint32_t count, uint32_t point)
{
    uint32_t low = 0;
    while (count > 1) {
        uint32_t half = count / 2;
        low += begin[low + half] <= point ? half : 0;
        count -= half;
    }
    return low;
}

/* Asks for so many numbers, of at most two lines. */
static inline void prefetch_numbers(const uint16_t *begin, uint32_t count)
{
    SORT_PREFETCH(begin);
    SORT_PREFETCH(begin + count - 1);
}

static inline void prefetch_cell(const EnvironmentTable *t, uint32_t cell)
{
    SORT_PREFETCH(&t->cells[cell]);
    if (t->radiance)
        SORT_PREFETCH(&t->radiance[cell]);
}

static inline uint32_t points_of(const uint16_t *begin, uint32_t count, uint32_t i)
{
    return (i + 1 < count ? begin[i + 1] : LATTICE) - begin[i];
}

/* A coordinate within entry i, which holds u, of entries that stand for cells first, first + 1 ... of `cells`; it is less
 * by a unit in the last place where rounding would put it into the next cell. */
static inline float place(const uint16_t *begin, uint32_t count, uint32_t i, float u,
                          uint32_t first, uint32_t cells)
{
    float inside = (u * (float)LATTICE - (float)begin[i]) / (float)points_of(begin, count, i);
    float x = ((float)(first + i) + inside) / (float)cells;
    if ((uint32_t)(x * (float)cells) > first + i)
        x *= 1.0f - 0x1p-23f;
    return minf(x, 0x1.fffffep-1f);
}

/* The probability of an entry that has so many points of a table. */
static inline float share_of(uint32_t points)
{
    return (float)points * 0x1p-16f;
}

/* Density per unit of the map's area of a cell that is drawn with this probability. */
static inline float density(const EnvironmentTable *t, float probability)
{
    return probability * (float)t->height * (float)t->width;
}

/* A row of a block. */
typedef struct Row {
    Block block;
    uint32_t row, cells; /* cells: its first one */
} Row;

/* Finds the row of a block that holds u, and asks for the memory of its cells. */
static inline Row draw_row(const EnvironmentTable *t, const Block *b, float u)
{
    Row r = {.block = *b, .row = find(rows_of(t, b), b->height, (uint32_t)(u * (float)LATTICE))};
    r.cells = first_cell(t, b, r.row);
    prefetch_numbers(&t->cells[r.cells], b->width);
    return r;
}

/* Draws a place in a row by what is left of u. probability: of the block. */
static inline void draw_place(const EnvironmentTable *t, const Row *r, float2 u, float probability,
                              EnvironmentPlace *out)
{
    const Block *b = &r->block;
    const uint16_t *rows = rows_of(t, b), *cells = t->cells + r->cells;
    uint32_t i = find(cells, b->width, (uint32_t)(u.x * (float)LATTICE));
    out->cell = r->cells + i;
    prefetch_cell(t, out->cell);
    out->pdf = density(t, probability * share_of(points_of(rows, b->height, r->row)) *
                              share_of(points_of(cells, b->width, i)));
    float down = place(rows, b->height, r->row, u.y, b->y, t->height);
    out->uv = f2(place(cells, b->width, i, u.x, b->x, t->width), 1.0f - down);
}

/* All lanes take a step before one of them takes the next, so that what it reads is on its way. */
void environment_table_draw(const EnvironmentTable *table, const SkyFacings *facings,
                            const WideRow u[2], uint16_t lanes,
                            EnvironmentPlace out_places[SSL_BLOCK])
{
    SkyDraws draws;
    Row rows[SSL_BLOCK];
    memcpy(draws.u, u, sizeof draws.u);
    sky_tree_sample(&table->tree, facings, lanes, &draws);
    WIDE_EACH(k, lanes)
    {
        rows[k].block = block_at(table, draws.block[k]);
        ASSERT(rows[k].block.width > 0 && rows[k].block.height > 0);
        prefetch_numbers(rows_of(table, &rows[k].block), rows[k].block.height);
    }
    WIDE_EACH(k, lanes) rows[k] = draw_row(table, &rows[k].block, draws.u[1][k]);
    WIDE_EACH(k, lanes)
    draw_place(table, &rows[k], f2(draws.u[0][k], draws.u[1][k]), draws.probability[k],
               &out_places[k]);
}

static inline uint32_t cell_index(float x, uint32_t count)
{
    return (uint32_t)clampf(x * (float)count, 0.0f, (float)(count - 1));
}

void environment_table_find(const EnvironmentTable *table, const SkyFacings *facings,
                            uint16_t lanes, EnvironmentPlace places[SSL_BLOCK])
{
    SkyDraws draws;
    float of_row[SSL_BLOCK];
    bool is_last[SSL_BLOCK];
    WIDE_EACH(k, lanes)
    {
        uint32_t x = cell_index(places[k].uv.x, table->width);
        uint32_t y = cell_index(1.0f - places[k].uv.y, table->height);
        Block b = block_of(table, x, y);
        uint32_t row = y - b.y, column = x - b.x;
        places[k].cell = first_cell(table, &b, row) + column;
        prefetch_cell(table, places[k].cell);
        draws.block[k] = b.index;
        is_last[k] = column + 1 == b.width;
        of_row[k] = share_of(points_of(rows_of(table, &b), b.height, row));
    }
    sky_tree_probability(&table->tree, facings, lanes, &draws);
    WIDE_EACH(k, lanes)
    {
        const uint16_t *begin = table->cells + places[k].cell;
        uint32_t end = is_last[k] ? LATTICE : begin[1];
        float probability = draws.probability[k] * of_row[k];
        places[k].pdf = density(table, probability * share_of(end - begin[0]));
    }
}
