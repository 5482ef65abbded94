#include "sort/render/render_stored.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/path.h"
#include "sort/shade/ssl_tables.h"
#include <stdio.h>
#include <string.h>

enum { CPU_BYTES = 64 };

struct RenderStore {
    ArrayStore *arrays;
    ClosureList *closures;
    SslContext *ssl;
    char kernel_folder[PATH_BYTES], cpu[CPU_BYTES]; /* of ssl */
    AccelStore *accel;
    uint32_t thread_count; /* of accel */
    char cpu_class[CPU_BYTES];
};

Status render_store_create(RenderStore **out_store, Error *err)
{
    RenderStore *store = MEM_NEW(RenderStore);
    *out_store = NULL;
    if (!store)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    Status status = array_store_create(&store->arrays, err);
    if (status != STATUS_OK) {
        mem_free(store);
        return status;
    }
    *out_store = store;
    return STATUS_OK;
}

void render_store_destroy(RenderStore *store)
{
    if (!store)
        return;
    accel_store_destroy(store->accel);
    ssl_context_destroy(store->ssl);
    closure_list_destroy(store->closures);
    array_store_destroy(store->arrays);
    mem_free(store);
}

ArrayStore *render_store_arrays(RenderStore *store)
{
    return store->arrays;
}

static Status make_context(RenderStore *store, const char *kernel_folder, const char *cpu,
                           Error *err)
{
    TRY(closure_list_create(NULL, 0, &store->closures, err));
    SslContextDesc desc = {.size_bytes = sizeof desc, .cache_folder = kernel_folder, .cpu = cpu};
    ssl_tables_describe(&desc);
    closure_list_describe(store->closures, &desc);
    TRY(ssl_context_create(&desc, &store->ssl, err));
    TRY(closure_list_build(store->closures, store->ssl, 1, NULL, err));
    snprintf(store->kernel_folder, sizeof store->kernel_folder, "%s", kernel_folder);
    snprintf(store->cpu, sizeof store->cpu, "%s", cpu ? cpu : "");
    return STATUS_OK;
}

Status render_store_context(RenderStore *store, const char *kernel_folder, const char *cpu,
                            ClosureList **out_closures, SslContext **out_ssl, Error *err)
{
    *out_closures = NULL;
    *out_ssl = NULL;
    ASSERT(kernel_folder);
    if (!store->ssl) {
        Status status = make_context(store, kernel_folder, cpu, err);
        if (status != STATUS_OK) {
            ssl_context_destroy(store->ssl);
            closure_list_destroy(store->closures);
            store->ssl = NULL;
            store->closures = NULL;
            return status;
        }
    }
    if (strcmp(store->kernel_folder, kernel_folder) != 0 || strcmp(store->cpu, cpu ? cpu : "") != 0)
        return STATUS_OK;
    *out_closures = store->closures;
    *out_ssl = store->ssl;
    return STATUS_OK;
}

Status render_store_accel(RenderStore *store, uint32_t thread_count, const char *cpu_class,
                          AccelStore **out_accel, Error *err)
{
    *out_accel = NULL;
    if (!store->accel) {
        TRY(accel_store_create(store->arrays, thread_count, cpu_class, &store->accel, err));
        store->thread_count = thread_count;
        snprintf(store->cpu_class, sizeof store->cpu_class, "%s", cpu_class);
    }
    if (store->thread_count == thread_count && strcmp(store->cpu_class, cpu_class) == 0)
        *out_accel = store->accel;
    return STATUS_OK;
}

RenderStoreStats render_store_stats(RenderStore *store)
{
    ArrayStoreStats arrays = array_store_stats(store->arrays);
    RenderStoreStats stats = {.array_count = arrays.array_count, .array_bytes = arrays.size_bytes};
    if (store->accel) {
        AccelStoreStats accel = accel_store_stats(store->accel);
        stats.mesh_count = accel.mesh_count;
        stats.built_meshes = accel.built_count;
    }
    return stats;
}
