#include "sort/scene/array_store.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"

enum { BUCKETS_MIN = 64 };

typedef struct StoredArray {
    Hash128 content, name;
    bool has_name;
    size_t size_bytes;
    void *data; /* owned */
    uint32_t holder_count;
    struct StoredArray *next_by_content, *next_by_place, *next_by_name;
} StoredArray;

struct ArrayStore {
    Mutex lock;
    StoredArray **by_content, **by_place, **by_name; /* owned: [bucket_count] lists */
    uint32_t bucket_count, count;
    uint64_t size_bytes;
};

static StoredArray **content_bucket(const ArrayStore *s, Hash128 content)
{
    return &s->by_content[hash128_low64(content) % s->bucket_count];
}

static StoredArray **place_bucket(const ArrayStore *s, const void *data)
{
    return &s->by_place[hash_mix64((uintptr_t)data) % s->bucket_count];
}

static StoredArray **name_bucket(const ArrayStore *s, Hash128 name)
{
    return &s->by_name[hash128_low64(name) % s->bucket_count];
}

static void link_name(ArrayStore *s, StoredArray *a)
{
    if (!a->has_name)
        return;
    StoredArray **name = name_bucket(s, a->name);
    a->next_by_name = *name;
    *name = a;
}

static void unlink_name(ArrayStore *s, const StoredArray *a)
{
    if (!a->has_name)
        return;
    StoredArray **at = name_bucket(s, a->name);
    while (*at != a)
        at = &(*at)->next_by_name;
    *at = a->next_by_name;
}

static void link_array(ArrayStore *s, StoredArray *a)
{
    StoredArray **content = content_bucket(s, a->content), **place = place_bucket(s, a->data);
    a->next_by_content = *content;
    a->next_by_place = *place;
    *content = *place = a;
    link_name(s, a);
}

/* Makes room for one more. Returns false if there is no memory. */
static bool grow(ArrayStore *s)
{
    if (s->count < s->bucket_count)
        return true;
    ArrayStore larger = {.bucket_count = s->bucket_count ? 2 * s->bucket_count : BUCKETS_MIN};
    larger.by_content = MEM_ARRAY(StoredArray *, larger.bucket_count);
    larger.by_place = MEM_ARRAY(StoredArray *, larger.bucket_count);
    larger.by_name = MEM_ARRAY(StoredArray *, larger.bucket_count);
    if (!larger.by_content || !larger.by_place || !larger.by_name) {
        mem_free((void *)larger.by_content);
        mem_free((void *)larger.by_place);
        mem_free((void *)larger.by_name);
        return false;
    }
    for (uint32_t b = 0; b < s->bucket_count; ++b)
        for (StoredArray *a = s->by_place[b], *next; a; a = next) {
            next = a->next_by_place;
            link_array(&larger, a);
        }
    mem_free((void *)s->by_content);
    mem_free((void *)s->by_place);
    mem_free((void *)s->by_name);
    s->by_content = larger.by_content;
    s->by_place = larger.by_place;
    s->by_name = larger.by_name;
    s->bucket_count = larger.bucket_count;
    return true;
}

Status array_store_create(ArrayStore **out_store, Error *err)
{
    *out_store = MEM_NEW(ArrayStore);
    if (!*out_store)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    mutex_init(&(*out_store)->lock);
    return STATUS_OK;
}

void array_store_destroy(ArrayStore *s)
{
    if (!s)
        return;
    ASSERT(s->count == 0);
    mem_free((void *)s->by_content);
    mem_free((void *)s->by_place);
    mem_free((void *)s->by_name);
    mutex_destroy(&s->lock);
    mem_free(s);
}

/* Under the lock. NULL: there is none. */
static StoredArray *find_content(const ArrayStore *s, Hash128 content, size_t size_bytes)
{
    StoredArray *a = s->bucket_count > 0 ? *content_bucket(s, content) : NULL;
    while (a && !(a->size_bytes == size_bytes && hash128_equal(a->content, content)))
        a = a->next_by_content;
    return a;
}

/* Under the lock. */
static StoredArray *find_place(const ArrayStore *s, const void *data)
{
    StoredArray *a = *place_bucket(s, data);
    while (a->data != data)
        a = a->next_by_place;
    return a;
}

void *array_store_take(ArrayStore *s, void *data, size_t size_bytes)
{
    Hash128 content = hash128(data, size_bytes);
    mutex_lock(&s->lock);
    StoredArray *a = find_content(s, content, size_bytes), *added = NULL;
    if (!a && grow(s) && (added = MEM_NEW(StoredArray)) != NULL) {
        *added = (StoredArray){.content = content, .size_bytes = size_bytes, .data = data};
        link_array(s, added);
        ++s->count;
        s->size_bytes += size_bytes;
    }
    StoredArray *found = a ? a : added;
    if (found)
        ++found->holder_count;
    mutex_unlock(&s->lock);
    if (a)
        mem_free(data);
    return found ? found->data : NULL;
}

void array_store_name(ArrayStore *s, const void *data, Hash128 name)
{
    mutex_lock(&s->lock);
    StoredArray *a = find_place(s, data);
    unlink_name(s, a);
    a->name = name;
    a->has_name = true;
    link_name(s, a);
    mutex_unlock(&s->lock);
}

void *array_store_find(ArrayStore *s, Hash128 name)
{
    mutex_lock(&s->lock);
    StoredArray *a = s->bucket_count > 0 ? *name_bucket(s, name) : NULL;
    while (a && !hash128_equal(a->name, name))
        a = a->next_by_name;
    if (a)
        ++a->holder_count;
    mutex_unlock(&s->lock);
    return a ? a->data : NULL;
}

void array_store_retain(ArrayStore *s, const void *data)
{
    mutex_lock(&s->lock);
    StoredArray *a = find_place(s, data);
    ASSERT(a->holder_count > 0);
    ++a->holder_count;
    mutex_unlock(&s->lock);
}

static void unlink_array(ArrayStore *s, const StoredArray *a)
{
    StoredArray **at = content_bucket(s, a->content);
    while (*at != a)
        at = &(*at)->next_by_content;
    *at = a->next_by_content;
    at = place_bucket(s, a->data);
    while (*at != a)
        at = &(*at)->next_by_place;
    *at = a->next_by_place;
    unlink_name(s, a);
    --s->count;
    s->size_bytes -= a->size_bytes;
}

void array_store_release(ArrayStore *s, const void *data)
{
    if (!data)
        return;
    mutex_lock(&s->lock);
    StoredArray *a = find_place(s, data);
    ASSERT(a->holder_count > 0);
    bool is_last = --a->holder_count == 0;
    if (is_last)
        unlink_array(s, a);
    mutex_unlock(&s->lock);
    if (is_last) {
        mem_free(a->data);
        mem_free(a);
    }
}

ArrayStoreStats array_store_stats(ArrayStore *s)
{
    mutex_lock(&s->lock);
    ArrayStoreStats stats = {.array_count = s->count, .size_bytes = s->size_bytes};
    mutex_unlock(&s->lock);
    return stats;
}
