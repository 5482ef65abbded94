/* The inside of a RenderStore, for render.c. */
#ifndef SORT_RENDER_RENDER_STORED_H
#define SORT_RENDER_RENDER_STORED_H

#include "sort/accel/accel_store.h"
#include "sort/bsdf/closure_list.h"
#include "sort/render/render_store.h"

ArrayStore *render_store_arrays(RenderStore *store);

/* The built-in closures and a context for them, both the store's. The first call makes them; later ones with another folder or
 * CPU get NULL. */
Status render_store_context(RenderStore *store, const char *kernel_folder, const char *cpu,
                            ClosureList **out_closures, SslContext **out_ssl,
                            Error *err) SORT_MUST_CHECK;
/* In the same way: for this number of threads and class of CPUs. */
Status render_store_accel(RenderStore *store, uint32_t thread_count, const char *cpu_class,
                          AccelStore **out_accel, Error *err) SORT_MUST_CHECK;

#endif
