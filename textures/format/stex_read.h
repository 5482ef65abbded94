/* Reading .stex files through a descriptor. Everything read is checked before it is believed: no
 * content of a file leads to more than a refusal. Any thread; reads are positioned (pread), so a
 * descriptor may be shared. */
#ifndef SORT_TEXTURES_FORMAT_STEX_READ_H
#define SORT_TEXTURES_FORMAT_STEX_READ_H

#include "textures/format/stex_format.h"
#include <sys/types.h>

/* What all reading goes through: pread(), or for tests a function that fails, stutters or is slow.
 * NULL: pread() again. Set while nothing is read. */
typedef ssize_t (*StexPread)(int fd, void *out, size_t size_bytes, off_t offset);
void stex_replace_pread(StexPread function);

/* Which file it is and whether it was written to: changes at least when the content does. */
typedef struct StexStamp {
    uint64_t device, inode, size_bytes;
    int64_t modified_ns, changed_ns;
} StexStamp;
/* False: the file cannot be examined. */
bool stex_stamp(int fd, StexStamp *out_stamp);
bool stex_stamps_equal(const StexStamp *a, const StexStamp *b);
/* The same by path; false: *out_errno. */
bool stex_stamp_at(const char *path, StexStamp *out_stamp, int *out_errno);
/* Whether the path leads to the file of this stamp, whatever was written to it. */
bool stex_is_at_path(const StexStamp *stamp, const char *path);

/* Opens for reading, close-on-exec. Folders and other things that are no regular files are refused.
 * On success *out_fd is the caller's (stex_close). */
Status stex_open(const char *path, int *out_fd, Error *err) SORT_MUST_CHECK;
void stex_close(int fd);

/* Reads and checks the header page. The file must be long enough to hold all in front of the tile
 * payloads; *out_file_bytes is its actual size, which is below header.file_bytes when it was cut. */
Status stex_read_header(int fd, const char *path, StexHeader *out_header, uint64_t *out_file_bytes,
                        Error *err) SORT_MUST_CHECK;
/* Why a tile cannot be had. `error_number` is errno for the two first ones. */
typedef enum TileFault {
    TILE_FAULT_NONE,
    TILE_FAULT_OPEN,
    TILE_FAULT_READ,
    TILE_FAULT_REPLACED,      /* the file is another one than was opened */
    TILE_FAULT_TRUNCATED,     /* the file ends before the payload does */
    TILE_FAULT_INDEX,         /* record with a wrong check sum, or nonsense in it */
    TILE_FAULT_CHECKSUM,      /* payload */
    TILE_FAULT_DECOMPRESSION, /* zlib refused, or gave another size */
    TILE_FAULT_DECODER        /* of a foreign file: `text` says why */
} TileFault;
enum { TILE_FAILURE_TEXT_MAX = 160 };

typedef struct TileFailure {
    TileFault fault;
    int error_number;
    uint64_t offset; /* in the file */
    uint32_t expected_crc, found_crc;
    char text[TILE_FAILURE_TEXT_MAX];
} TileFailure;

/* Storage that may work again: worth another try. */
bool stex_failure_is_transient(const TileFailure *failure);

/* False: *out_failure says why. out_tail: header->tail_bytes. */
bool stex_check_tail(int fd, const StexHeader *h, void *out_tail,
                     TileFailure *out_failure) SORT_MUST_CHECK;
/* The same with an Error. */
Status stex_read_tail(int fd, const char *path, const StexHeader *h, void *out_tail,
                      Error *err) SORT_MUST_CHECK;
/* Any bytes of the file; false: they cannot be had. */
bool stex_read_bytes(int fd, void *out, size_t size_bytes, uint64_t offset) SORT_MUST_CHECK;
/* Whether a record that was read is that of this tile, and makes sense. */
bool stex_check_record(const StexHeader *h, uint64_t tile, const StexTile *record,
                       TileFailure *out_failure) SORT_MUST_CHECK;
bool stex_read_record(int fd, const StexHeader *h, uint64_t tile, StexTile *out_record,
                      TileFailure *out_failure) SORT_MUST_CHECK;

/* One a thread: an inflate state and room for a compressed tile. */
typedef struct StexInflater StexInflater;
StexInflater *stex_inflater_create(void); /* NULL when out of memory */
void stex_inflater_destroy(StexInflater *z);
enum { STEX_INFLATER_BYTES = 80 * 1024 }; /* what one takes, rounded up, for accounts */

/* The payload of a tile that is not constant, into out_texels (stex_tile_bytes). */
bool stex_read_payload(int fd, const StexHeader *h, const StexTile *record, StexInflater *z,
                       void *out_texels, TileFailure *out_failure) SORT_MUST_CHECK;

/* The same from stored bytes that were read already. */
bool stex_unpack_payload(const StexHeader *h, const StexTile *record, uint8_t *stored,
                         StexInflater *z, void *out_texels,
                         TileFailure *out_failure) SORT_MUST_CHECK;

/* "checksum mismatch at byte 8192: expected 0x1234abcd, found 0x0badf00d". Returns `out`. */
const char *stex_failure_text(const TileFailure *failure, char *out, size_t out_bytes);

#endif
