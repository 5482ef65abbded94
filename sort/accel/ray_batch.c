/* Memory of the batches. */
#include "base/cast.h"
#include "sort/accel/accel.h"

/* A column is a cache line longer than its entries: a power of two of them would place entry i of all columns in one set of the
 * first cache, which has fewer ways than there are columns. */
static void *column(Arena *arena, uint32_t capacity, size_t bytes)
{
    size_t line = SORT_CACHE_LINE / bytes;
    return arena_alloc_array(arena, size_align(capacity, ACCEL_PACKET) + line, bytes,
                             SORT_CACHE_LINE);
}

static Status no_memory(uint32_t capacity, Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for a batch of %u rays", capacity);
}

Status ray_batch_create(Arena *arena, uint32_t capacity, RayBatch *out_batch, Error *err)
{
    *out_batch = (RayBatch){.capacity = capacity};
    float **columns[] = {
        &out_batch->origin[0],    &out_batch->origin[1],    &out_batch->origin[2],
        &out_batch->direction[0], &out_batch->direction[1], &out_batch->direction[2],
        &out_batch->t_min,        &out_batch->t_max,        &out_batch->time};
    for (size_t i = 0; i < SORT_COUNT_OF(columns); ++i) {
        if (!(*columns[i] = column(arena, capacity, sizeof(float))))
            return no_memory(capacity, err);
    }
    out_batch->has_past = column(arena, capacity, sizeof(bool));
    out_batch->past = column(arena, capacity, sizeof(RayPast));
    return out_batch->has_past && out_batch->past ? STATUS_OK : no_memory(capacity, err);
}

Status hit_batch_create(Arena *arena, uint32_t capacity, HitBatch *out_batch, Error *err)
{
    *out_batch = (HitBatch){.capacity = capacity};
    out_batch->shape = column(arena, capacity, sizeof(uint32_t));
    out_batch->triangle = column(arena, capacity, sizeof(uint32_t));
    float **columns[] = {&out_batch->t, &out_batch->b1, &out_batch->b2};
    bool is_complete = out_batch->shape && out_batch->triangle;
    for (size_t i = 0; i < SORT_COUNT_OF(columns); ++i) {
        *columns[i] = column(arena, capacity, sizeof(float));
        is_complete = is_complete && *columns[i];
    }
    return is_complete ? STATUS_OK : no_memory(capacity, err);
}

Status shadow_batch_create(Arena *arena, uint32_t capacity, ShadowBatch *out_batch, Error *err)
{
    *out_batch = (ShadowBatch){.capacity = capacity};
    TRY(ray_batch_create(arena, capacity, &out_batch->rays, err));
    TRY(hit_batch_create(arena, capacity, &out_batch->hits, err));
    out_batch->state = column(arena, capacity, sizeof(uint8_t));
    out_batch->is_alone = column(arena, capacity, sizeof(bool));
    out_batch->open_sets = column(arena, capacity, sizeof(uint64_t));
    return out_batch->state && out_batch->is_alone && out_batch->open_sets
               ? STATUS_OK
               : no_memory(capacity, err);
}
