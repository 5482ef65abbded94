/* A host for kernels without a renderer: points whose globals are written by hand, textures that are
 * formulas with known derivatives, or pictures, and a record of the lookups made. For sslc, ssl-test and
 * benchmarks.
 *
 * One thread a GridHost. Point i is lane i % 16 of block i / 16. */
#ifndef SORT_TOOLS_SSL_KIT_GRID_HOST_H
#define SORT_TOOLS_SSL_KIT_GRID_HOST_H

#include "ssl/ssl.h"
#include "ssl/ssl_texel_sum.h"
#include "textures/tex_picture.h"

/* Analytic textures, r g b a as functions of s and t. They are defined on the whole plane: wrap and
 * filter options, footprint and blur do not change them; `channel` shifts. */
typedef enum GridTextureKind {
    GRID_RAMP,     /* s, t, s + t, 1 */
    GRID_CONSTANT, /* value */
    GRID_CHECKER,  /* 1 or 0 in squares of 1 / count; alpha 1; derivatives 0 */
    GRID_WAVE      /* sin(2 pi s), cos(2 pi t), s t, s */
} GridTextureKind;

typedef struct GridTexture {
    GridTextureKind kind;
    float value[4];
    float count; /* GRID_CHECKER: squares a unit */
} GridTexture;

/* "ramp", "wave", "checker 8", "constant 0.5 0.25 1 1" (three or four numbers). */
Status grid_texture_parse(const char *text, GridTexture *out_texture, Error *err) SORT_MUST_CHECK;

void grid_texture_sample(const GridTexture *texture, float s, float t, float out_rgba[4]);

typedef struct GridLookup {
    uint32_t point, texture, site;
    float coord[7];
} GridLookup;

typedef struct GridHost GridHost;

/* Result and globals for point_count points; globals are zero, but SSL_SAMPLE_WIDTH is 1, all textures ramps, parameters at their
 * defaults. `p` is held. `rows`: the context's globals, borrowed. */
Status grid_host_create(SslProgram *p, const SslGlobalRow *rows, uint32_t row_count,
                        uint32_t point_count, GridHost **out_host, Error *err) SORT_MUST_CHECK;
/* Makes a host of points without results: they are copied from, or run for sums (grid_sum.h). */
Status grid_host_create_points(SslProgram *p, const SslGlobalRow *rows, uint32_t row_count,
                               uint32_t point_count, GridHost **out_host,
                               Error *err) SORT_MUST_CHECK;
void grid_host_destroy(GridHost *h); /* NULL is fine */

/* One scalar of a global: shadow 0 value, 1 ddx, 2 ddy (only where the row has derivatives). */
float *grid_host_global(GridHost *h, uint32_t row, uint32_t shadow, uint32_t component,
                        uint32_t point);
/* Sets one shadow of a global at all points, from a value of the row's type. */
void grid_host_set_global(GridHost *h, uint32_t row, uint32_t shadow, const SslValue *value);
/* One scalar of an attribute; NULL if the program does not read it. Until it is given a value, every point
 * has its default and no attribute. */
float *grid_host_attribute(GridHost *h, uint32_t slot, uint32_t shadow, uint32_t component,
                           uint32_t point);
void grid_host_set_attribute(GridHost *h, uint32_t slot, uint32_t shadow, const SslValue *value);
void grid_host_attribute_exists(GridHost *h, uint32_t slot, bool exists);
/* Gives point `to` of a host what the kernel reads of point `from` of another host of the same program. Several threads may
 * write to different points. */
void grid_host_copy_point(GridHost *h, uint32_t to, const GridHost *other, uint32_t from);
/* Says which points of a block exist: bit i stands for point 16 block + i. At first all do. */
void grid_host_set_live(GridHost *h, uint32_t block, uint16_t lanes);
void grid_host_set_texture(GridHost *h, uint32_t slot, const GridTexture *texture);
/* Makes a picture, which is borrowed, the texture of a slot; NULL: the one that grid_host_set_texture set. */
void grid_host_set_picture(GridHost *h, uint32_t slot, const TexPicture *picture);

/* What the services of a batch get. The adjoints of lookups in pictures go to sums over their places. */
typedef struct GridCaller {
    GridHost *host;
    SslTexelSum *const *texels; /* [texture_count] NULL: they are not wanted */
    Error err;                  /* of the first addition that failed */
} GridCaller;
/* The caller of the batches that the functions below run and give. */
GridCaller *grid_host_caller(GridHost *h);

void *grid_host_params(GridHost *h); /* for ssl_params_set */
void grid_host_set_loop_budget(GridHost *h, uint32_t budget);
/* For recursive calls; 256 KiB when it is not called. */
void grid_host_set_stack(GridHost *h, uint32_t bytes);
/* Records only the lookups of this point; without this call those of all points are recorded. */
void grid_host_watch(GridHost *h, uint32_t point);
#define GRID_WATCH_NONE (UINT32_MAX - 1)

/* Clears the record and shades all points. As in render threads subnormal numbers become zero, and in this
 * thread they stay so. */
void grid_host_run(GridHost *h);

/* Shades some blocks. With GRID_WATCH_NONE several threads may shade blocks of one host that do not overlap. */
void grid_host_run_blocks(GridHost *h, uint32_t first, uint32_t count);
/* Some blocks as a batch of their own. */
SslBatch grid_host_part(const GridHost *h, uint32_t first, uint32_t count);

/* What the kernel ran on, for ssl_sum_add. It lives as long as the host. */
const SslBatch *grid_host_batch(const GridHost *h);

/* Results of the last run. `slot`: an output or one of its derivatives, from SslProgramInfo. */
uint32_t grid_host_word(const GridHost *h, SslOutputSlot slot, uint32_t component, uint32_t point);
/* Those of `count` points from the first of a block on. */
void grid_host_words(const GridHost *h, SslOutputSlot slot, uint32_t component, uint32_t first,
                     uint32_t count, uint32_t *out_words);
float grid_host_float(const GridHost *h, SslOutputSlot slot, uint32_t component, uint32_t point);
uint32_t grid_host_fault(const GridHost *h, uint32_t point); /* 0, or 1 + site */
bool grid_host_has_lobe(const GridHost *h, uint32_t lobe, uint32_t point);
float grid_host_lobe_weight(const GridHost *h, uint32_t lobe, uint32_t component, uint32_t point);
/* Scalar `index` of the lobe's arguments, all in a row. */
float grid_host_lobe_arg(const GridHost *h, uint32_t lobe, uint32_t index, uint32_t point);
/* Lookups in the order they were made; at most GRID_LOOKUPS_MAX are kept, all are counted. */
enum { GRID_LOOKUPS_MAX = 4096 };
const GridLookup *grid_host_lookups(const GridHost *h, uint32_t *out_kept, uint64_t *out_count);

#endif
