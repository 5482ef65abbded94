/* Requests are sorted by file and offset, so that equal ones stand together. A job reads neighbouring arrays of one file, some
 * JOB_BYTES of them, or all arrays of one zip entry (which has to be inflated as a whole).
 *
 * Nothing is allocated for an array before the file was found to hold its bytes, and before all
 * arrays together were found to fit: a small package cannot make the renderer take much memory. */
#include "sort/package/package_array.h"

#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/thread.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { JOB_BYTES = 1 << 20 }; /* opening a file takes as long as reading some ten thousand bytes */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are used as they lie in files");

size_t package_array_type_bytes(ArrayType type)
{
    return type == ARRAY_UINT16 ? 2 : 4;
}

const char *package_array_field(const ArrayRequest *request, char out[PACKAGE_ARRAY_FIELD_BYTES])
{
    if (request->set < 0)
        snprintf(out, PACKAGE_ARRAY_FIELD_BYTES, "%s[%u].%s", request->section, request->index,
                 request->field);
    else
        snprintf(out, PACKAGE_ARRAY_FIELD_BYTES, "%s[%u].%s[%d]", request->section, request->index,
                 request->field, request->set);
    return out;
}

/* Returns the size of the inflated data; request sizes were checked against PACKAGE_ARRAY_BYTES_MAX. */
static size_t array_bytes(const ArrayRequest *r)
{
    return (size_t)r->count * r->components * package_array_type_bytes(r->type);
}

/* A job that failed leaves its error here, if no earlier request did. */
typedef struct FirstFailure {
    Mutex mutex;
    bool has_failed;
    uint32_t request;
    Status status;
    Error error;
} FirstFailure;

typedef struct Loader {
    Package *package;
    ArrayStore *store; /* NULL: none */
    ArrayRequest *requests;
    uint32_t *order;     /* requests by file, offset ... */
    uint32_t *job_first; /* [job_count + 1] index into order */
    FirstFailure *failure;
} Loader;

/* about: what stands between the field and the text. */
static void report_about(Loader *loader, uint32_t request, const char *about, Status status,
                         const Error *error)
{
    const ArrayRequest *r = &loader->requests[request];
    char field[PACKAGE_ARRAY_FIELD_BYTES];
    FirstFailure *f = loader->failure;
    ASSERT(status != STATUS_OK);
    mutex_lock(&f->mutex);
    if (!f->has_failed || request < f->request) {
        f->has_failed = true;
        f->request = request;
        f->status = status;
        error_set(&f->error, status, "%s: %s%s", package_array_field(r, field), about, error->text);
    }
    mutex_unlock(&f->mutex);
}

/* An error of the content of a file, which does not name it. */
static void report_content(Loader *loader, uint32_t request, Status status, const Error *error)
{
    char about[PACKAGE_FILE_NAME_BYTES_MAX + 8];
    snprintf(about, sizeof about, "'%s': ", loader->requests[request].file);
    report_about(loader, request, about, status, error);
}

/* An error of a file that cannot be had, which names it. */
static void report_file(Loader *loader, uint32_t request, Status status, const Error *error)
{
    report_about(loader, request, "", status, error);
}

/* --- order ---------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* 0: the same bytes, read the same way. */
static int compare_content(const ArrayRequest *a, const ArrayRequest *b)
{
    int c = strcmp(a->file, b->file);
    c = c ? c : compare_u64(a->offset_bytes, b->offset_bytes);
    c = c ? c : compare_u64(a->count, b->count);
    c = c ? c : compare_u64(a->stored_bytes, b->stored_bytes);
    c = c ? c : compare_u64(a->type, b->type);
    c = c ? c : compare_u64(a->components, b->components);
    return c ? c : compare_u64(a->is_zlib, b->is_zlib);
}

typedef struct OrderItem {
    const ArrayRequest *request;
    uint32_t index;
} OrderItem;

static int compare_items(const void *pa, const void *pb)
{
    const OrderItem *a = pa, *b = pb;
    int c = compare_content(a->request, b->request);
    return c ? c : compare_u64(a->index, b->index);
}

static Status sort_requests(const ArrayRequest *requests, uint32_t count, uint32_t *out_order,
                            Error *err)
{
    OrderItem *items = MEM_ARRAY(OrderItem, count);
    if (!items)
        return error_set(err, STATUS_NO_MEMORY, "no memory to sort %u arrays", count);
    for (uint32_t i = 0; i < count; ++i)
        items[i] = (OrderItem){&requests[i], i};
    qsort(items, count, sizeof *items, compare_items);
    for (uint32_t i = 0; i < count; ++i)
        out_order[i] = items[i].index;
    mem_free(items);
    return STATUS_OK;
}

static bool same_as_before(const Loader *l, uint32_t i)
{
    return i > 0 && compare_content(&l->requests[l->order[i - 1]], &l->requests[l->order[i]]) == 0;
}

static bool same_file_as_before(const Loader *l, uint32_t i)
{
    return i > 0 && strcmp(l->requests[l->order[i - 1]].file, l->requests[l->order[i]].file) == 0;
}

/* --- reading -------------------------------------------------------------------------------- */

static Status inflate_array(PackageFile *file, const ArrayRequest *r, size_t size_bytes, Error *err)
{
    enum { PIECE_BYTES = 1 << 17 };
    unsigned char *piece = MEM_ARRAY(unsigned char, PIECE_BYTES);
    z_stream z = {0};
    if (!piece || inflateInit(&z) != Z_OK) {
        mem_free(piece);
        return error_set(err, STATUS_NO_MEMORY, "no memory to inflate");
    }
    Status status = STATUS_OK;
    uint64_t read_bytes = 0;
    size_t written_bytes = 0;
    unsigned char *out = r->data;
    int code = Z_OK;
    while (status == STATUS_OK && code != Z_STREAM_END) {
        if (z.avail_in == 0 && read_bytes < r->stored_bytes) {
            uint64_t left = r->stored_bytes - read_bytes;
            z.avail_in = left < PIECE_BYTES ? (uInt)left : PIECE_BYTES;
            z.next_in = piece;
            status = package_file_read(file, r->offset_bytes + read_bytes, z.avail_in, piece, err);
            read_bytes += z.avail_in;
            if (status != STATUS_OK)
                break;
        }
        /* At the end of the array one byte more is offered, to see a stream that goes on. */
        unsigned char beyond;
        size_t room = size_bytes - written_bytes;
        uInt offered = room == 0 ? 1 : room < ((size_t)1 << 30) ? (uInt)room : (uInt)1 << 30;
        z.next_out = room == 0 ? &beyond : out + written_bytes;
        z.avail_out = offered;
        code = inflate(&z, Z_NO_FLUSH);
        uInt made = offered - z.avail_out;
        if (room == 0 && made > 0)
            status = error_set(err, STATUS_FORMAT,
                               "inflates to more than the %zu bytes of %llu elements", size_bytes,
                               (unsigned long long)r->count);
        else
            written_bytes += made;
        if (status != STATUS_OK || code == Z_STREAM_END)
            break;
        if (code == Z_MEM_ERROR)
            status = error_set(err, STATUS_NO_MEMORY, "no memory to inflate");
        else if (code != Z_OK && code != Z_BUF_ERROR)
            status = error_set(err, STATUS_FORMAT, "is not a valid zlib stream: %s",
                               z.msg ? z.msg : "unknown reason");
        else if (z.avail_in == 0 && read_bytes == r->stored_bytes && made == 0)
            status = error_set(err, STATUS_FORMAT, "the zlib stream of %llu bytes is cut off",
                               (unsigned long long)r->stored_bytes);
    }
    if (status == STATUS_OK && written_bytes != size_bytes)
        status = error_set(err, STATUS_FORMAT, "inflates to %zu bytes; %llu elements are %zu",
                           written_bytes, (unsigned long long)r->count, size_bytes);
    if (status == STATUS_OK && z.total_in != r->stored_bytes)
        status = error_set(err, STATUS_FORMAT,
                           "stored_bytes is %llu, but the zlib stream ends after %lu",
                           (unsigned long long)r->stored_bytes, z.total_in);
    inflateEnd(&z);
    mem_free(piece);
    return status;
}

static Status check_finite(const ArrayRequest *r, Error *err)
{
    const float *f = r->data;
    size_t count = (size_t)r->count * r->components;
    for (size_t i = 0; i < count; ++i) {
        if (!isfinite(f[i]))
            return error_set(err, STATUS_FORMAT, "element %zu is not finite", i / r->components);
    }
    return STATUS_OK;
}

static Status read_array(PackageFile *file, ArrayRequest *r, Error *err)
{
    size_t size_bytes = array_bytes(r);
    r->data = mem_alloc_aligned(
        size_align(size_bytes + PACKAGE_ARRAY_PADDING_BYTES, SORT_CACHE_LINE), SORT_CACHE_LINE);
    if (!r->data)
        return error_set(err, STATUS_NO_MEMORY, "no memory for its %zu bytes", size_bytes);
    memset((char *)r->data + size_bytes, 0, PACKAGE_ARRAY_PADDING_BYTES);
    TRY(r->is_zlib ? inflate_array(file, r, size_bytes, err)
                   : package_file_read(file, r->offset_bytes, size_bytes, r->data, err));
    return r->type == ARRAY_FLOAT32 ? check_finite(r, err) : STATUS_OK;
}

/* What an array is in a file of this identity; false: the file says nothing. */
static bool name_array(const PackageFile *file, const ArrayRequest *r, Hash128 *out_name)
{
    HashState h;
    hash128_begin(&h);
    if (!package_file_identify(file, &h))
        return false;
    hash128_update_u64(&h, r->offset_bytes);
    hash128_update_u64(&h, r->stored_bytes);
    hash128_update_u64(&h, r->count);
    hash128_update_u64(&h, (uint64_t)r->type << 8 | (uint64_t)r->components << 1 | r->is_zlib);
    *out_name = hash128_end(&h);
    return true;
}

/* Reads an array into the store, unless it has it; without a store as read_array. A read that failed leaves no data. */
static Status read_stored(ArrayStore *store, PackageFile *file, ArrayRequest *r, Error *err)
{
    Hash128 name;
    if (!store)
        return read_array(file, r, err);
    bool has_name = name_array(file, r, &name);
    r->data = has_name ? array_store_find(store, name) : NULL;
    if (r->data)
        return STATUS_OK;
    Status status = read_array(file, r, err);
    void *stored = status == STATUS_OK ? array_store_take(store, r->data, array_bytes(r)) : NULL;
    if (!stored) {
        mem_free(r->data);
        r->data = NULL;
        return status != STATUS_OK ? status
                                   : error_set(err, STATUS_NO_MEMORY, "no memory to keep it");
    }
    r->data = stored;
    if (has_name)
        array_store_name(store, stored, name);
    return STATUS_OK;
}

static void run_job(void *data, uint32_t job)
{
    Loader *l = data;
    uint32_t first = l->job_first[job], end = l->job_first[job + 1];
    uint64_t used_bytes = 0;
    ASSERT(first < end);
    for (uint32_t i = first; i < end; ++i) {
        const ArrayRequest *r = &l->requests[l->order[i]];
        uint64_t r_end = r->offset_bytes + r->stored_bytes;
        used_bytes = r_end > used_bytes ? r_end : used_bytes;
    }
    Error error = {0};
    PackageFile *file;
    Status status =
        package_file_open(l->package, l->requests[l->order[first]].file, used_bytes, &file, &error);
    if (status != STATUS_OK) {
        report_file(l, l->order[first], status, &error);
        return;
    }
    for (uint32_t i = first; i < end; ++i) {
        if (same_as_before(l, i)) {
            ASSERT(i > first); /* equal requests belong to one job */
            l->requests[l->order[i]].data = l->requests[l->order[i - 1]].data;
            continue;
        }
        status = read_stored(l->store, file, &l->requests[l->order[i]], &error);
        if (status != STATUS_OK)
            report_content(l, l->order[i], status, &error);
    }
    package_file_close(file);
}

/* --- all of them ---------------------------------------------------------------------------- */

/* All zlib streams together: of a zip by its size, since they may be deflated once more in it. */
static Status check_growth(const Package *package, uint64_t inflated_bytes, uint64_t stored_bytes,
                           Error *err)
{
    uint64_t limit =
        package_growth_limit(package_is_zip(package) ? package_zip_bytes(package) : stored_bytes);
    if (inflated_bytes > limit)
        return error_set(err, STATUS_LIMIT,
                         "the compressed mesh arrays inflate to %llu bytes, more than %d times "
                         "their size and 64 MiB: if that is meant, store them without compression",
                         (unsigned long long)inflated_bytes, PACKAGE_GROWTH_RATIO_MAX);
    return STATUS_OK;
}

static Status check_request(const ArrayRequest *r, uint64_t file_bytes, Error *err)
{
    if (r->offset_bytes > file_bytes || r->stored_bytes > file_bytes - r->offset_bytes)
        return error_set(err, STATUS_FORMAT,
                         "the file has %llu bytes, too few for %llu from byte %llu on",
                         (unsigned long long)file_bytes, (unsigned long long)r->stored_bytes,
                         (unsigned long long)r->offset_bytes);
    if (r->is_zlib &&
        array_bytes(r) > r->stored_bytes * PACKAGE_INFLATE_RATIO_MAX + PACKAGE_INFLATE_SLACK_BYTES)
        return error_set(err, STATUS_LIMIT,
                         "claims to inflate from %llu to %zu bytes: no zlib stream does",
                         (unsigned long long)r->stored_bytes, array_bytes(r));
    return STATUS_OK;
}

/* Sizes against the files and the machine, in the order of the requests; what differs between
 * neighbours of `order` is counted. */
static Status check_requests(Loader *l, uint32_t count, uint64_t max_bytes, Error *err)
{
    uint64_t total_bytes = 0, inflated_bytes = 0, stored_bytes = 0, file_bytes = 0;
    bool has_size = false; /* file_bytes is of the file before */
    for (uint32_t i = 0; i < count; ++i) {
        if (same_as_before(l, i))
            continue;
        Error error = {0};
        const ArrayRequest *r = &l->requests[l->order[i]];
        Status status = STATUS_OK;
        if (!has_size || !same_file_as_before(l, i))
            status = package_file_size(l->package, r->file, &file_bytes, NULL, &error);
        has_size = status == STATUS_OK;
        if (!has_size) {
            report_file(l, l->order[i], status, &error);
            continue;
        }
        status = check_request(r, file_bytes, &error);
        if (status != STATUS_OK) {
            report_content(l, l->order[i], status, &error);
        } else {
            total_bytes += array_bytes(r);
            inflated_bytes += r->is_zlib ? array_bytes(r) : 0;
            stored_bytes += r->is_zlib ? r->stored_bytes : 0;
        }
    }
    if (l->failure->has_failed)
        return l->failure->status;
    TRY(check_growth(l->package, inflated_bytes, stored_bytes, err));
    if (max_bytes == 0)
        max_bytes = mem_machine_bytes();
    if (total_bytes > max_bytes)
        return error_set(
            err, STATUS_LIMIT,
            "the mesh arrays take %llu bytes; there is room for %llu, by the machine's "
            "memory and the size of the package",
            (unsigned long long)total_bytes, (unsigned long long)max_bytes);
    return STATUS_OK;
}

/* Divides the order among jobs. Returns how many there are. */
static uint32_t divide_jobs(Loader *l, uint32_t count)
{
    uint32_t job_count = 0;
    uint64_t job_bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
        bool is_full = job_bytes >= JOB_BYTES && !package_is_zip(l->package);
        if (!same_file_as_before(l, i) || (is_full && !same_as_before(l, i))) {
            l->job_first[job_count++] = i;
            job_bytes = 0;
        }
        job_bytes += array_bytes(&l->requests[l->order[i]]);
    }
    ASSERT(job_count <= count);
    l->job_first[job_count] = count;
    return job_count;
}

static void free_data(Loader *l, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        ArrayRequest *r = &l->requests[l->order[i]];
        if (same_as_before(l, i))
            continue;
        if (l->store)
            array_store_release(l->store, r->data);
        else
            mem_free(r->data);
    }
    for (uint32_t i = 0; i < count; ++i)
        l->requests[i].data = NULL;
}

static Status collect_blocks(Loader *l, uint32_t count, ArrayBlocks *out_blocks, Error *err)
{
    out_blocks->blocks = MEM_ARRAY(void *, count);
    if (!out_blocks->blocks)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u arrays", count);
    for (uint32_t i = 0; i < count; ++i) {
        if (same_as_before(l, i))
            continue;
        const ArrayRequest *r = &l->requests[l->order[i]];
        out_blocks->blocks[out_blocks->count++] = r->data;
        out_blocks->size_bytes += array_bytes(r);
    }
    return STATUS_OK;
}

Status package_arrays_read(Package *package, ArrayRequest *requests, uint32_t count,
                           const ArrayReading *how, ArrayBlocks *out_blocks, Error *err)
{
    *out_blocks = (ArrayBlocks){0};
    if (count == 0)
        return STATUS_OK;
    FirstFailure failure = {0};
    mutex_init(&failure.mutex);
    Loader l = {.package = package, .store = how->store, .requests = requests, .failure = &failure};
    l.order = MEM_ARRAY(uint32_t, count);
    l.job_first = MEM_ARRAY(uint32_t, (size_t)count + 1);
    Status status = STATUS_OK;
    if (!l.order || !l.job_first)
        status = error_set(err, STATUS_NO_MEMORY, "no memory to read %u arrays", count);
    if (status == STATUS_OK)
        status = sort_requests(requests, count, l.order, err);
    if (status == STATUS_OK)
        status = check_requests(&l, count, how->max_bytes, err);
    if (status == STATUS_OK) {
        parallel_for(how->thread_count, divide_jobs(&l, count), run_job, &l);
        status = failure.has_failed ? failure.status : collect_blocks(&l, count, out_blocks, err);
        if (status != STATUS_OK)
            free_data(&l, count);
    }
    if (failure.has_failed && err)
        *err = failure.error;
    mutex_destroy(&failure.mutex);
    mem_free(l.order);
    mem_free(l.job_first);
    return status;
}
