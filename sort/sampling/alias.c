/* An alias table: n cells of equal chance, each split between its own item and one other [Vose1991]. */
#include "sort/sampling/alias.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/vec.h"

typedef struct AliasCell {
    float own;      /* part of the cell that is its own item's */
    uint32_t other; /* the item that has the rest */
    float pmf;      /* of the own item, over all cells */
} AliasCell;

struct AliasTable {
    uint32_t count;
    AliasCell cells[];
};

static Status sum_weights(const float *weights, uint32_t count, double *out_sum, Error *err)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; ++i) {
        if (!isfinite(weights[i]) || weights[i] < 0.0f)
            return error_set(err, STATUS_INVALID, "weight %u of a discrete distribution is %g", i,
                             (double)weights[i]);
        sum += (double)weights[i];
    }
    if (!(sum > 0.0))
        return error_set(err, STATUS_INVALID, "all %u weights of a discrete distribution are zero",
                         count);
    *out_sum = sum;
    return STATUS_OK;
}

/* Splits the cells. `scaled`: weight * count / sum, used up; `work`: room for count items, holding the items
 * below 1 from the front and the others from the back. */
static void split_cells(AliasTable *t, double *scaled, uint32_t *work)
{
    uint32_t small = 0, large = t->count, heaviest = 0;
    for (uint32_t i = 0; i < t->count; ++i) {
        if (scaled[i] > scaled[heaviest])
            heaviest = i;
        if (scaled[i] < 1.0)
            work[small++] = i;
        else
            work[--large] = i;
    }
    uint32_t large_end = t->count;
    while (small > 0 && large < large_end) {
        uint32_t s = work[--small], l = work[large];
        t->cells[s].own = (float)scaled[s];
        t->cells[s].other = l;
        scaled[l] -= 1.0 - scaled[s];
        if (scaled[l] < 1.0) {
            ++large;
            work[small++] = l;
        }
    }
    /* Items that rounding left over are full but for rounding. An item of weight zero must stay out. */
    while (large < large_end)
        t->cells[work[large++]].own = 1.0f;
    while (small > 0) {
        uint32_t s = work[--small];
        t->cells[s].own = t->cells[s].pmf > 0.0f ? 1.0f : 0.0f;
        t->cells[s].other = heaviest;
    }
}

Status alias_create(const float *weights, uint32_t count, AliasTable **out_table, Error *err)
{
    *out_table = NULL;
    double sum = 0.0;
    TRY(sum_weights(weights, count, &sum, err));
    AliasTable *t = mem_alloc(1, sizeof(AliasTable) + (size_t)count * sizeof(AliasCell));
    double *scaled = MEM_ARRAY(double, count);
    uint32_t *work = MEM_ARRAY(uint32_t, count);
    if (!t || !scaled || !work) {
        mem_free(t);
        mem_free(scaled);
        mem_free(work);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a distribution of %u items", count);
    }
    t->count = count;
    for (uint32_t i = 0; i < count; ++i) {
        t->cells[i].pmf = (float)((double)weights[i] / sum);
        t->cells[i].other = i;
        scaled[i] = (double)weights[i] * count / sum;
    }
    split_cells(t, scaled, work);
    mem_free(scaled);
    mem_free(work);
    *out_table = t;
    return STATUS_OK;
}

void alias_destroy(AliasTable *t)
{
    mem_free(t);
}

uint32_t alias_sample(const AliasTable *t, float u, float *out_pmf, float *out_u_left)
{
    ASSERT(u >= 0.0f && u < 1.0f);
    double place = (double)u * t->count;
    uint32_t i = (uint32_t)place;
    float rest = (float)(place - i);
    const AliasCell *cell = &t->cells[i];
    bool is_own = rest < cell->own;
    float left = is_own ? rest / cell->own : (rest - cell->own) / (1.0f - cell->own);
    uint32_t item = is_own ? i : cell->other;
    if (out_pmf)
        *out_pmf = t->cells[item].pmf;
    if (out_u_left)
        *out_u_left = minf(left, 0x1.fffffep-1f);
    return item;
}

float alias_pmf(const AliasTable *t, uint32_t item)
{
    ASSERT(item < t->count);
    return t->cells[item].pmf;
}

uint32_t alias_count(const AliasTable *t)
{
    return t->count;
}
