/* Reads .stex files through a descriptor. All content is validated before use; no content of a file has a worse
 * effect than an error.
 *
 * Thread rule: any thread. Reads are positioned (pread), so a descriptor may be shared. */
#ifndef SORT_TEXTURES_FORMAT_STEX_READ_H
#define SORT_TEXTURES_FORMAT_STEX_READ_H

#include "textures/format/stex_format.h"
#include <sys/types.h>

/* The function that performs all reads: pread(), or for tests one that fails, reads in pieces or is slow. NULL
 * restores pread(). Set it only while nothing is read. */
typedef ssize_t (*StexPread)(int fd, void *out, size_t size_bytes, off_t offset);
void stex_replace_pread(StexPread function);

/* Identifies a file and its state: the stamp changes whenever the content does, and possibly more often. */
typedef struct StexStamp {
    uint64_t device, inode, size_bytes;
    int64_t modified_ns, changed_ns;
} StexStamp;
/* Returns false if the file cannot be examined. */
bool stex_stamp(int fd, StexStamp *out_stamp);
bool stex_stamps_equal(const StexStamp *a, const StexStamp *b);
/* Gets the stamp of the file at `path`. Returns false on failure, with errno in *out_errno. */
bool stex_stamp_at(const char *path, StexStamp *out_stamp, int *out_errno);
/* Returns whether the path leads to the file of this stamp, even if the file was written to since. */
bool stex_is_at_path(const StexStamp *stamp, const char *path);

/* Opens a file for reading, close-on-exec. Folders and other non-regular files are refused. On success *out_fd
 * is the caller's (stex_close). */
Status stex_open(const char *path, int *out_fd, Error *err) SORT_MUST_CHECK;
void stex_close(int fd);

/* Reads and validates the header page. The file must be long enough for everything in front of the tile
 * payloads. *out_file_bytes is its actual size, which is below header.file_bytes if the file was truncated. */
Status stex_read_header(int fd, const char *path, StexHeader *out_header, uint64_t *out_file_bytes,
                        Error *err) SORT_MUST_CHECK;
/* The reason why a tile cannot be loaded. `error_number` holds errno for the first two. */
typedef enum TileFault {
    TILE_FAULT_NONE,
    TILE_FAULT_OPEN,
    TILE_FAULT_READ,
    TILE_FAULT_REPLACED,      /* the file is not the one that was opened */
    TILE_FAULT_TRUNCATED,     /* the file ends before the payload does */
    TILE_FAULT_INDEX,         /* the record has a wrong check sum, or invalid fields */
    TILE_FAULT_CHECKSUM,      /* the payload has a wrong check sum */
    TILE_FAULT_DECOMPRESSION, /* zlib failed, or produced another size */
    TILE_FAULT_DECODER        /* a decoder failed on a foreign file: `text` says why */
} TileFault;
enum { TILE_FAILURE_TEXT_MAX = 160 };

typedef struct TileFailure {
    TileFault fault;
    int error_number;
    uint64_t offset; /* offset in the file */
    uint32_t expected_crc, found_crc;
    char text[TILE_FAILURE_TEXT_MAX];
} TileFailure;

/* Returns whether another try is worthwhile, because the storage may recover. */
bool stex_failure_is_transient(const TileFailure *failure);

/* Reads and checks the tail into out_tail, which holds header->tail_bytes. Returns false on failure;
 * *out_failure holds the reason. */
bool stex_check_tail(int fd, const StexHeader *h, void *out_tail,
                     TileFailure *out_failure) SORT_MUST_CHECK;
/* Reads and checks the tail; failures are reported as an Error. */
Status stex_read_tail(int fd, const char *path, const StexHeader *h, void *out_tail,
                      Error *err) SORT_MUST_CHECK;
/* Reads any bytes of the file. Returns false if they cannot be read. */
bool stex_read_bytes(int fd, void *out, size_t size_bytes, uint64_t offset) SORT_MUST_CHECK;
/* Validates a record that was read: it must be the record of this tile, and consistent. */
bool stex_check_record(const StexHeader *h, uint64_t tile, const StexTile *record,
                       TileFailure *out_failure) SORT_MUST_CHECK;
bool stex_read_record(int fd, const StexHeader *h, uint64_t tile, StexTile *out_record,
                      TileFailure *out_failure) SORT_MUST_CHECK;

/* A thread's inflate state and buffer for a compressed tile. */
typedef struct StexInflater StexInflater;
StexInflater *stex_inflater_create(void); /* NULL when out of memory */
void stex_inflater_destroy(StexInflater *z);
enum { STEX_INFLATER_BYTES = 80 * 1024 }; /* the size of an inflater, rounded up, for the budget */

/* Reads the payload of a tile that is not constant into out_texels (stex_tile_bytes). Returns false on failure;
 * *out_failure holds the reason. */
bool stex_read_payload(int fd, const StexHeader *h, const StexTile *record, StexInflater *z,
                       void *out_texels, TileFailure *out_failure) SORT_MUST_CHECK;

/* Unpacks a payload from stored bytes that were already read. */
bool stex_unpack_payload(const StexHeader *h, const StexTile *record, uint8_t *stored,
                         StexInflater *z, void *out_texels,
                         TileFailure *out_failure) SORT_MUST_CHECK;

/* Formats a failure, such as "checksum mismatch at byte 8192: expected 0x1234abcd, found 0x0badf00d". Returns
 * `out`. */
const char *stex_failure_text(const TileFailure *failure, char *out, size_t out_bytes);

#endif
