#include "sort/accel/accel_stored.h"

#include "base/alloc.h"
#include "base/check.h"

enum { BUCKETS = 4096 };

struct StoredMesh {
    Hash128 key;
    RTCScene scene;
    TrianglePairs pairs; /* owned */
    const void **arrays; /* owned; each is held in the ArrayStore */
    uint32_t array_count, use_count;
    uint32_t rough_triangles; /* 0: it is not rough */
    StoredMesh *next;
};

struct AccelStore {
    ArrayStore *arrays; /* borrowed */
    AccelDevice device;
    Mutex lock;
    StoredMesh *buckets[BUCKETS];
    AccelStoreStats stats;
};

Status accel_store_create(ArrayStore *arrays, uint32_t thread_count, const char *cpu_class,
                          AccelStore **out_store, Error *err)
{
    AccelStore *store = MEM_NEW(AccelStore);
    *out_store = NULL;
    if (!store)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the ray accelerator");
    store->arrays = arrays;
    mutex_init(&store->lock);
    Status status = accel_device_open(&store->device, thread_count, cpu_class, err);
    if (status != STATUS_OK) {
        accel_store_destroy(store);
        return status;
    }
    *out_store = store;
    return STATUS_OK;
}

void accel_store_destroy(AccelStore *store)
{
    if (!store)
        return;
    ASSERT(store->stats.mesh_count == 0);
    accel_device_close(&store->device);
    mutex_destroy(&store->lock);
    mem_free(store);
}

AccelDevice *accel_store_device(AccelStore *store)
{
    return &store->device;
}

AccelStoreStats accel_store_stats(AccelStore *store)
{
    mutex_lock(&store->lock);
    AccelStoreStats stats = store->stats;
    mutex_unlock(&store->lock);
    return stats;
}

/* Places in memory stand for contents: whoever has the key holds the arrays. */
Hash128 accel_store_key(const SceneMesh *mesh, const SceneInstance *instance, bool in_pairs)
{
    HashState h;
    ASSERT(!mesh->curves);
    hash128_begin(&h);
    hash128_update_u64(&h, (uint64_t)mesh->vertex_count << 32 | mesh->triangle_count);
    hash128_update_u64(&h, (uintptr_t)mesh->indices);
    hash128_update_u64(&h, (uintptr_t)mesh->positions);
    hash128_update_u64(&h, (uint64_t)mesh->later_count << 1 | in_pairs);
    for (uint32_t k = 0; k < mesh->later_count; ++k)
        hash128_update_u64(&h, (uintptr_t)mesh->later[k].positions);
    hash128_update_u64(&h, instance ? 1 + (uint64_t)instance->key_count : 0);
    if (instance)
        hash128_update(&h, &instance->object_to_world, sizeof instance->object_to_world);
    for (uint32_t k = 0; instance && k < instance->key_count; ++k)
        hash128_update(&h, &instance->keys[k], sizeof instance->keys[k]);
    return hash128_end(&h);
}

static StoredMesh **bucket_of(AccelStore *store, Hash128 key)
{
    return &store->buckets[hash128_low64(key) % BUCKETS];
}

/* Under the lock. */
static StoredMesh *use(AccelStore *store, Hash128 key)
{
    StoredMesh *m = *bucket_of(store, key);
    while (m && !hash128_equal(m->key, key))
        m = m->next;
    if (m)
        ++m->use_count;
    return m;
}

StoredMesh *accel_store_find(AccelStore *store, Hash128 key)
{
    mutex_lock(&store->lock);
    StoredMesh *m = use(store, key);
    mutex_unlock(&store->lock);
    return m;
}

static void stored_destroy(const AccelStore *store, StoredMesh *m)
{
    rtcReleaseScene(m->scene);
    triangle_pairs_free(&m->pairs);
    for (uint32_t i = 0; i < m->array_count; ++i)
        array_store_release(store->arrays, m->arrays[i]);
    mem_free((void *)m->arrays);
    mem_free(m);
}

/* Holds the arrays of the mesh, and takes the pairs and the scene. Returns NULL if there is no memory. */
static StoredMesh *stored_create(const AccelStore *store, Hash128 key, const SceneMesh *mesh,
                                 TrianglePairs *pairs, RTCScene scene)
{
    StoredMesh *m = MEM_NEW(StoredMesh);
    const void **arrays = MEM_ARRAY(const void *, (size_t)mesh->later_count + 2);
    if (!m || !arrays) {
        rtcReleaseScene(scene);
        triangle_pairs_free(pairs);
        mem_free((void *)arrays);
        mem_free(m);
        return NULL;
    }
    *m =
        (StoredMesh){.key = key, .scene = scene, .pairs = *pairs, .arrays = arrays, .use_count = 1};
    *pairs = (TrianglePairs){0};
    arrays[m->array_count++] = mesh->indices;
    arrays[m->array_count++] = mesh->positions;
    for (uint32_t k = 0; k < mesh->later_count; ++k)
        arrays[m->array_count++] = mesh->later[k].positions;
    for (uint32_t i = 0; i < m->array_count; ++i)
        array_store_retain(store->arrays, arrays[i]);
    return m;
}

StoredMesh *accel_store_add(AccelStore *store, Hash128 key, const SceneMesh *mesh,
                            TrianglePairs *pairs, RTCScene scene, bool is_rough)
{
    StoredMesh *made = stored_create(store, key, mesh, pairs, scene);
    if (!made)
        return NULL;
    made->rough_triangles = is_rough ? mesh->triangle_count : 0;
    mutex_lock(&store->lock);
    StoredMesh *other = use(store, key);
    if (!other) {
        made->next = *bucket_of(store, key);
        *bucket_of(store, key) = made;
        ++store->stats.mesh_count;
    }
    ++store->stats.built_count;
    mutex_unlock(&store->lock);
    if (!other)
        return made;
    stored_destroy(store, made);
    return other;
}

RTCScene accel_stored_scene(const StoredMesh *stored)
{
    return stored->scene;
}

uint32_t accel_stored_rough_triangles(const StoredMesh *stored)
{
    return stored ? stored->rough_triangles : 0;
}

void accel_store_refine(AccelStore *store, StoredMesh *m, RTCScene scene)
{
    ASSERT(m->rough_triangles > 0);
    rtcReleaseScene(m->scene);
    m->scene = scene;
    m->rough_triangles = 0;
    mutex_lock(&store->lock);
    ++store->stats.built_count;
    mutex_unlock(&store->lock);
}

const uint32_t *accel_stored_pairs(const StoredMesh *stored)
{
    return stored->pairs.triangles;
}

void accel_store_release(AccelStore *store, StoredMesh *m)
{
    if (!m)
        return;
    mutex_lock(&store->lock);
    ASSERT(m->use_count > 0);
    bool is_last = --m->use_count == 0;
    if (is_last) {
        StoredMesh **at = bucket_of(store, m->key);
        while (*at != m)
            at = &(*at)->next;
        *at = m->next;
        --store->stats.mesh_count;
    }
    mutex_unlock(&store->lock);
    if (is_last)
        stored_destroy(store, m);
}
