/* The messages between the cache and its decoder processes, through a socket: one request, one answer.
 *
 *   cache (decode_client.c)                       decoder process (decode_serve.c)
 *   DecodeRequest, path            ------------>  opens the file, or finds it open
 *   DecodeAnswer, DecodeFile or texels  <-------  or the reason of failure
 *
 * Both ends belong to the same program, started by the same user, so structs are sent as they lie in
 * memory. Answers are checked nevertheless, since the libraries in a decoder process may corrupt it. */
#ifndef SORT_TEXTURES_CONVERT_DECODE_WIRE_H
#define SORT_TEXTURES_CONVERT_DECODE_WIRE_H

#include "base/path.h"
#include "textures/format/stex_read.h"

enum { DECODE_VERSION = 2 };

typedef enum DecodeKind { DECODE_DESCRIBE = 1, DECODE_READ } DecodeKind;

typedef struct DecodeRequest {
    uint32_t version, kind;
    uint32_t path_bytes;                 /* bytes of the path that follows without a terminator */
    uint32_t level, x, y, width, height; /* used by READ */
    /* used by READ: the stamp of the file that was described */
    StexStamp stamp;
} DecodeRequest;

/* A file with mip levels in tiles. */
typedef struct DecodeFile {
    StexStamp stamp;
    SortLevelInfo info; /* level 0; its pointers are meaningless */
    uint32_t widths[TEX_MAX_LEVELS], heights[TEX_MAX_LEVELS]; /* [info.level_count] */
} DecodeFile;

typedef enum DecodeResult {
    DECODE_OK,
    DECODE_NO_FILE,  /* cannot be opened; error_number says why */
    DECODE_REPLACED, /* not the file of the request's stamp */
    DECODE_REFUSED,  /* DESCRIBE: the file cannot be read tile by tile; `text` says why */
    DECODE_FAILED    /* `text` says why */
} DecodeResult;

typedef struct DecodeAnswer {
    uint32_t result; /* DecodeResult */
    int32_t error_number;
    uint64_t bytes; /* bytes that follow; for DESCRIBE a DecodeFile */
    char text[TILE_FAILURE_TEXT_MAX];
} DecodeAnswer;

#endif
