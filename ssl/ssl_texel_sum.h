/* Exact sums at many places, of which few may be touched and which may be more than fit into memory: gradients by the texels of textures,
 * which SslServices.tex_adjoint adds up. What a place is, the host says.
 *
 * A number is rounded once, to a multiple of 2^-64, and from there on all is integer addition, as in ssl_sum.h: a sum has the same
 * bits for any order, any number of threads with sums of their own that are merged, and any budget.
 *
 * Places lie in pages. A page takes memory from when it is touched; when all memory that the budget leaves is taken, a page that was
 * not used lately goes to a file without a name. One thread at a time uses a sum. */
#ifndef SSL_TEXEL_SUM_H
#define SSL_TEXEL_SUM_H

#include "base/error.h"

typedef struct SslTexelSum SslTexelSum;

typedef struct SslTexelSumDesc {
    size_t size_bytes;     /* sizeof(SslTexelSumDesc) */
    uint64_t place_count;  /* 1 to 2^40 */
    uint64_t budget_bytes; /* all memory of the sum, tables included; 0: 256 MiB */
    const char
        *folder; /* for the file; NULL: there is none, and what exceeds the budget is refused */
} SslTexelSumDesc;

/* The smallest budget of sums at so many places, of tables and two pages, and the one with which all pages fit. */
uint64_t ssl_texel_sum_least(uint64_t place_count);
uint64_t ssl_texel_sum_most(uint64_t place_count);
/* Sums of nothing. The caller owns *out. STATUS_LIMIT: the budget is too small; the text says what would
 * do. STATUS_INVALID: the count. */
Status ssl_texel_sum_create(const SslTexelSumDesc *desc, SslTexelSum **out,
                            Error *err) SORT_MUST_CHECK;
void ssl_texel_sum_destroy(SslTexelSum *sum); /* NULL is allowed */
void ssl_texel_sum_clear(SslTexelSum *sum);

/* Adds numbers to places `first` and so on. STATUS_INVALID: one of them is infinite or NaN, or 2^24 or more in absolute value;
 * STATUS_LIMIT: the budget, without a folder, or more than 2^38 numbers; STATUS_IO. A part may have been added if memory or the file is
 * what failed, else nothing. */
Status ssl_texel_sum_add(SslTexelSum *sum, uint64_t first, const float *numbers, uint32_t count,
                         Error *err) SORT_MUST_CHECK;
/* Adds a sum of as many places, which may have to bring its pages into memory. Errors as above; part of it may have been added. */
Status ssl_texel_sum_merge(SslTexelSum *sum, SslTexelSum *other, Error *err) SORT_MUST_CHECK;
/* Writes the sums at places `first` and so on, each rounded once to a double. STATUS_IO. */
Status ssl_texel_sum_read(SslTexelSum *sum, uint64_t first, uint64_t count, double *out_sums,
                          Error *err) SORT_MUST_CHECK;

typedef struct SslTexelSumStats {
    uint64_t bytes, budget_bytes; /* memory that is taken, and may be */
    uint64_t pages;               /* that were touched */
    uint64_t writes, reads;       /* of pages, to and from the file */
} SslTexelSumStats;
SslTexelSumStats ssl_texel_sum_stats(const SslTexelSum *sum);

#endif
