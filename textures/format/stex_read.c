#include "textures/format/stex_read.h"
#include "base/alloc.h"
#include "base/crc32c.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

struct StexInflater {
    z_stream stream;
    uint8_t stored[STEX_TILE_BYTES_MAX], residuals[STEX_TILE_BYTES_MAX];
};
_Static_assert(sizeof(StexInflater) + (size_t)44 * 1024 <= STEX_INFLATER_BYTES,
               "zlib documents 32 KiB of window and about 7 KiB of state");

static _Atomic(StexPread) pread_replacement;

void stex_replace_pread(StexPread function)
{
    atomic_store(&pread_replacement, function);
}

/* Reads exactly `size_bytes`. Returns 0, an errno value, or -1 at the end of the file. */
static int read_fully(int fd, void *out, size_t size_bytes, uint64_t offset)
{
    StexPread replacement = atomic_load_explicit(&pread_replacement, memory_order_relaxed);
    char *at = out;
    while (size_bytes > 0) {
        ssize_t got = replacement ? replacement(fd, at, size_bytes, (off_t)offset)
                                  : pread(fd, at, size_bytes, (off_t)offset);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        if (got == 0)
            return -1;
        at += got;
        offset += (uint64_t)got;
        size_bytes -= (size_t)got;
    }
    return 0;
}

Status stex_open(const char *path, int *out_fd, Error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_set_at(err, errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_IO,
                            path, "cannot be opened: %s", strerror(errno));
    }
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return error_set_at(err, STATUS_FORMAT, path, "is not a regular file");
    }
    *out_fd = fd;
    return STATUS_OK;
}

void stex_close(int fd)
{
    close(fd);
}

static int64_t time_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static StexStamp stamp_of(const struct stat *info)
{
    return (StexStamp){.device = info->st_dev,
                       .inode = info->st_ino,
                       .size_bytes = (uint64_t)info->st_size,
                       .modified_ns = time_ns(info->st_mtim),
                       .changed_ns = time_ns(info->st_ctim)};
}

bool stex_stamp(int fd, StexStamp *out_stamp)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return false;
    *out_stamp = stamp_of(&info);
    return true;
}

bool stex_stamp_at(const char *path, StexStamp *out_stamp, int *out_errno)
{
    struct stat info;
    *out_errno = stat(path, &info) == 0 ? 0 : errno;
    if (*out_errno == 0)
        *out_stamp = stamp_of(&info);
    return *out_errno == 0;
}

bool stex_stamps_equal(const StexStamp *a, const StexStamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

bool stex_is_at_path(const StexStamp *stamp, const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_dev == stamp->device && info.st_ino == stamp->inode;
}

/* Checks that every field that follows from width, height and format has the value that stex_layout() computes. */
static bool layout_matches(const StexHeader *h)
{
    StexHeader expected = *h;
    if (!stex_layout(&expected))
        return false;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): it has floats, but no padding */
    return memcmp(&expected, h, sizeof expected) == 0;
}

/* Checks that the notes have the form that a conversion writes: lines that are not empty, since each becomes a
 * warning of a render. */
static bool notes_in_form(const char notes[TEX_NOTES_BYTES])
{
    return memchr(notes, '\0', TEX_NOTES_BYTES) && notes[0] != '\n' && !strstr(notes, "\n\n");
}

static bool is_finite_color(const float rgba[4])
{
    return isfinite(rgba[0]) && isfinite(rgba[1]) && isfinite(rgba[2]) && isfinite(rgba[3]);
}

static bool fields_in_range(const StexHeader *h)
{
    return h->width >= 1 && h->width <= STEX_SIZE_MAX && h->height >= 1 &&
           h->height <= STEX_SIZE_MAX && h->channel_count >= 1 && h->channel_count <= 4 &&
           h->texel_type <= SORT_TEXEL_FLOAT && h->color_space <= SORT_COLOR_RAW &&
           h->wrap_s >= TEX_WRAP_PERIODIC && h->wrap_s <= TEX_WRAP_BLACK &&
           h->wrap_t >= TEX_WRAP_PERIODIC && h->wrap_t <= TEX_WRAP_BLACK &&
           notes_in_form(h->notes) && is_finite_color(h->average_rgba) &&
           (h->flags & ~(uint32_t)STEX_FLAGS_ALL) == 0;
}

Status stex_read_header(int fd, const char *path, StexHeader *out_header, uint64_t *out_file_bytes,
                        Error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return error_set_at(err, STATUS_IO, path, "cannot be examined: %s", strerror(errno));
    uint64_t file_bytes = (uint64_t)info.st_size;
    uint8_t page[STEX_PAGE_BYTES] = {0};
    size_t readable = file_bytes < sizeof page ? (size_t)file_bytes : sizeof page;
    int failure = read_fully(fd, page, readable, 0);
    if (failure > 0)
        return error_set_at(err, STATUS_IO, path, "cannot be read: %s", strerror(failure));

    StexHeader h;
    memcpy(&h, page, sizeof h);
    size_t magic_bytes = readable < sizeof h.magic ? readable : sizeof h.magic;
    if (readable == 0 || memcmp(h.magic, STEX_MAGIC, magic_bytes) != 0) {
        return error_set_at(err, STATUS_FORMAT, path,
                            "is not a paged texture (%" PRIu64 " bytes, no STEX signature)",
                            file_bytes);
    }
    if (readable < sizeof page || failure != 0) {
        return error_set_at(
            err, STATUS_FORMAT, path,
            "is truncated inside its header: it needs %d bytes, the file has %" PRIu64,
            STEX_PAGE_BYTES, file_bytes);
    }
    if (h.version < STEX_VERSION_OLDEST || h.version > STEX_VERSION) {
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "is of format version %" PRIu32
                            "; this program reads versions %d to %d",
                            h.version, STEX_VERSION_OLDEST, STEX_VERSION);
    }
    memset(page + offsetof(StexHeader, header_crc), 0, sizeof h.header_crc);
    uint32_t crc = crc32c(0, page, sizeof page);
    if (crc != h.header_crc) {
        return error_set_at(err, STATUS_FORMAT, path,
                            "has a damaged header: checksum 0x%08" PRIx32 " expected, 0x%08" PRIx32
                            " found",
                            h.header_crc, crc);
    }
    if (!fields_in_range(&h) || !layout_matches(&h))
        return error_set_at(err, STATUS_FORMAT, path, "has a header that contradicts itself");
    if (file_bytes < h.data_offset) {
        return error_set_at(err, STATUS_FORMAT, path,
                            "is truncated inside its tables: they need %" PRIu64
                            " bytes, the file has %" PRIu64,
                            h.data_offset, file_bytes);
    }
    *out_header = h;
    *out_file_bytes = file_bytes;
    return STATUS_OK;
}

static bool fail(TileFailure *out, TileFault fault, int error_number, uint64_t offset)
{
    *out = (TileFailure){.fault = fault, .error_number = error_number, .offset = offset};
    return false;
}

/* Reads exactly `size_bytes`, and distinguishes a read error from the end of the file. */
static bool read_piece(int fd, void *out, size_t size_bytes, uint64_t offset, TileFailure *failure)
{
    int error_number = read_fully(fd, out, size_bytes, offset);
    if (error_number > 0)
        return fail(failure, TILE_FAULT_READ, error_number, offset);
    if (error_number < 0)
        return fail(failure, TILE_FAULT_TRUNCATED, 0, offset);
    return true;
}

bool stex_read_bytes(int fd, void *out, size_t size_bytes, uint64_t offset)
{
    return read_fully(fd, out, size_bytes, offset) == 0;
}

bool stex_failure_is_transient(const TileFailure *failure)
{
    if (failure->fault == TILE_FAULT_READ)
        return true;
    if (failure->fault != TILE_FAULT_OPEN)
        return false;
    switch (failure->error_number) {
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ESTALE:
    case ETIMEDOUT:
        return true;
    default:
        return false;
    }
}

bool stex_check_tail(int fd, const StexHeader *h, void *out_tail, TileFailure *out_failure)
{
    if (!read_piece(fd, out_tail, (size_t)h->tail_bytes, h->tail_offset, out_failure))
        return false;
    uint32_t crc = crc32c(0, out_tail, (size_t)h->tail_bytes);
    if (crc == h->tail_crc)
        return true;
    fail(out_failure, TILE_FAULT_CHECKSUM, 0, h->tail_offset);
    out_failure->expected_crc = h->tail_crc;
    out_failure->found_crc = crc;
    return false;
}

Status stex_read_tail(int fd, const char *path, const StexHeader *h, void *out_tail, Error *err)
{
    TileFailure failure;
    if (stex_check_tail(fd, h, out_tail, &failure))
        return STATUS_OK;
    char reason[256];
    return error_set_at(err, failure.fault == TILE_FAULT_READ ? STATUS_IO : STATUS_FORMAT, path,
                        "the small levels cannot be had: %s",
                        stex_failure_text(&failure, reason, sizeof reason));
}

static uint64_t record_offset(const StexHeader *h, uint64_t tile)
{
    return h->index_offset + tile * sizeof(StexTile);
}

bool stex_check_record(const StexHeader *h, uint64_t tile, const StexTile *record,
                       TileFailure *out_failure)
{
    uint32_t crc = stex_record_crc(record, tile);
    uint32_t tile_bytes = stex_tile_bytes(h);
    bool is_constant = (record->flags & STEX_TILE_CONSTANT) != 0;
    bool is_compressed = (record->flags & STEX_TILE_ZLIB) != 0;
    PredictShape shape = stex_tile_shape(h);
    uint32_t method = stex_tile_method(record);
    bool has_sense =
        (record->flags & ~(uint32_t)STEX_TILE_FLAGS_ALL) == 0 && !(is_constant && is_compressed) &&
        (method == 0 || (h->version > 1 && is_compressed && predict_is_method(&shape, method))) &&
        (is_constant || is_compressed || record->stored_bytes == tile_bytes) &&
        record->stored_bytes <= tile_bytes && (is_constant || record->offset >= h->data_offset) &&
        record->offset <= h->file_bytes && record->stored_bytes <= h->file_bytes - record->offset;
    if (crc != record->record_crc || !has_sense) {
        fail(out_failure, TILE_FAULT_INDEX, 0, record_offset(h, tile));
        out_failure->expected_crc = record->record_crc;
        out_failure->found_crc = crc;
        return false;
    }
    return true;
}

bool stex_read_record(int fd, const StexHeader *h, uint64_t tile, StexTile *out_record,
                      TileFailure *out_failure)
{
    return read_piece(fd, out_record, sizeof *out_record, record_offset(h, tile), out_failure) &&
           stex_check_record(h, tile, out_record, out_failure);
}

StexInflater *stex_inflater_create(void)
{
    StexInflater *z = MEM_NEW(StexInflater);
    if (z && inflateInit(&z->stream) != Z_OK) {
        mem_free(z);
        z = NULL;
    }
    return z;
}

void stex_inflater_destroy(StexInflater *z)
{
    if (!z)
        return;
    inflateEnd(&z->stream);
    mem_free(z);
}

bool stex_unpack_payload(const StexHeader *h, const StexTile *record, uint8_t *stored,
                         StexInflater *z, void *out_texels, TileFailure *out_failure)
{
    uint32_t tile_bytes = stex_tile_bytes(h);
    uint32_t crc = crc32c(0, stored, record->stored_bytes);
    if (crc != record->payload_crc) {
        fail(out_failure, TILE_FAULT_CHECKSUM, 0, record->offset);
        out_failure->expected_crc = record->payload_crc;
        out_failure->found_crc = crc;
        return false;
    }
    if (record->flags & STEX_TILE_ZLIB) {
        uint32_t method = stex_tile_method(record);
        uint8_t *inflated = method ? z->residuals : out_texels;
        inflateReset(&z->stream);
        z->stream.next_in = stored;
        z->stream.avail_in = record->stored_bytes;
        z->stream.next_out = inflated;
        z->stream.avail_out = tile_bytes;
        if (inflate(&z->stream, Z_FINISH) != Z_STREAM_END || z->stream.avail_out != 0)
            return fail(out_failure, TILE_FAULT_DECOMPRESSION, 0, record->offset);
        if (method) {
            PredictShape shape = stex_tile_shape(h);
            unpredict_tile(&shape, method, z->residuals, out_texels);
        }
    } else if (stored != out_texels) {
        memcpy(out_texels, stored, tile_bytes);
    }
    return true;
}

bool stex_read_payload(int fd, const StexHeader *h, const StexTile *record, StexInflater *z,
                       void *out_texels, TileFailure *out_failure)
{
    void *stored = record->flags & STEX_TILE_ZLIB ? z->stored : out_texels;
    return read_piece(fd, stored, record->stored_bytes, record->offset, out_failure) &&
           stex_unpack_payload(h, record, stored, z, out_texels, out_failure);
}

const char *stex_failure_text(const TileFailure *failure, char *out, size_t out_bytes)
{
    switch (failure->fault) {
    case TILE_FAULT_NONE:
        snprintf(out, out_bytes, "no failure");
        break;
    case TILE_FAULT_OPEN:
        snprintf(out, out_bytes, "the file cannot be opened again: %s",
                 strerror(failure->error_number));
        break;
    case TILE_FAULT_READ:
        snprintf(out, out_bytes, "read error at byte %" PRIu64 ": %s", failure->offset,
                 strerror(failure->error_number));
        break;
    case TILE_FAULT_REPLACED:
        snprintf(out, out_bytes, "the file was replaced on disk since it was opened");
        break;
    case TILE_FAULT_TRUNCATED:
        snprintf(out, out_bytes,
                 "the file is truncated: it ends before or in the data at byte %" PRIu64,
                 failure->offset);
        break;
    case TILE_FAULT_INDEX:
        if (failure->expected_crc == failure->found_crc) {
            snprintf(out, out_bytes, "the index record at byte %" PRIu64 " contradicts the header",
                     failure->offset);
            break;
        }
        snprintf(out, out_bytes,
                 "damaged index record at byte %" PRIu64 ": expected checksum 0x%08" PRIx32
                 ", found 0x%08" PRIx32,
                 failure->offset, failure->expected_crc, failure->found_crc);
        break;
    case TILE_FAULT_CHECKSUM:
        snprintf(out, out_bytes,
                 "checksum mismatch at byte %" PRIu64 ": expected 0x%08" PRIx32
                 ", found 0x%08" PRIx32,
                 failure->offset, failure->expected_crc, failure->found_crc);
        break;
    case TILE_FAULT_DECOMPRESSION:
        snprintf(out, out_bytes, "the data at byte %" PRIu64 " cannot be decompressed",
                 failure->offset);
        break;
    case TILE_FAULT_DECODER:
        snprintf(out, out_bytes, "%s", failure->text);
        break;
    }
    return out;
}
