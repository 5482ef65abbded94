/* The binary arrays of a package: what ARRAY in docs/reference/scene-package.md describes, read into memory.
 *
 * All arrays of a scene are asked for first and then read together, in parallel. Equal requests are
 * read once and share their memory. */
#ifndef SORT_PACKAGE_PACKAGE_ARRAY_H
#define SORT_PACKAGE_PACKAGE_ARRAY_H

#include "sort/package/package.h"
#include "sort/scene/array_store.h"

typedef enum ArrayType { ARRAY_FLOAT32, ARRAY_UINT32, ARRAY_UINT16, ARRAY_TYPE_COUNT } ArrayType;

#define PACKAGE_ARRAY_BYTES_MAX ((uint64_t)1 << 36) /* one array, inflated */

/* Behind the data there are this many zero bytes (Embree reads 16 at the last vertex). */
enum { PACKAGE_ARRAY_PADDING_BYTES = 16, PACKAGE_ARRAY_FIELD_BYTES = 64 };

typedef struct ArrayRequest {
    const char *file; /* borrowed */
    uint64_t offset_bytes, count;
    uint64_t stored_bytes; /* with zlib: length of the stream; else the size of the data */
    ArrayType type;
    uint32_t components;
    bool is_zlib;
    /* Whose it is, for messages: "section[index].field", and "[set]" behind it unless -1. */
    const char *section;
    uint32_t index;
    const char *field;
    int32_t set;
    uint32_t tag, mesh; /* the caller's own */
    /* Out: 64-byte aligned; shared between equal requests. */
    void *data;
} ArrayRequest;

size_t package_array_type_bytes(ArrayType type);
/* "meshes[3].uv[0]" */
const char *package_array_field(const ArrayRequest *request, char out[PACKAGE_ARRAY_FIELD_BYTES]);

/* How arrays are read. */
typedef struct ArrayReading {
    uint64_t max_bytes;    /* what all of them together may take; 0: the machine's memory */
    uint32_t thread_count; /* 0: one a CPU */
    ArrayStore *store;     /* borrowed: holds the arrays; NULL: none */
} ArrayReading;

typedef struct ArrayBlocks {
    void **blocks; /* owned, and each of them: mem_free, or held once in the store */
    uint32_t count;
    uint64_t size_bytes;
} ArrayBlocks;

/* Reads all. Floats are checked to be finite. On failure, *err names file and field of the first request (in the order
 * given) that cannot be had, whatever the number of threads; nothing is kept. */
Status package_arrays_read(Package *package, ArrayRequest *requests, uint32_t count,
                           const ArrayReading *how, ArrayBlocks *out_blocks,
                           Error *err) SORT_MUST_CHECK;

#endif
