/* What the cache and its decoder processes say to each other, through a socket: one request, one answer.
 *
 *   cache (decode_client.c)                       decoder process (decode_serve.c)
 *   DecodeRequest, path            ------------>  opens the file, or finds it open
 *   DecodeAnswer, DecodeFile or texels  <-------  or why not
 *
 * Both ends are the same program's, started by the same user: structs travel as they are. What a
 * decoder process says is checked all the same, since the libraries in it may have gone astray. */
#ifndef SORT_TEXTURES_CONVERT_DECODE_WIRE_H
#define SORT_TEXTURES_CONVERT_DECODE_WIRE_H

#include "base/path.h"
#include "textures/format/stex_read.h"

enum { DECODE_VERSION = 2 };

typedef enum DecodeKind { DECODE_DESCRIBE = 1, DECODE_READ } DecodeKind;

typedef struct DecodeRequest {
    uint32_t version, kind;
    uint32_t path_bytes;                 /* that follow, without an end */
    uint32_t level, x, y, width, height; /* READ */
    StexStamp stamp;                     /* READ: of the file that was described */
} DecodeRequest;

/* A file that holds levels of detail in tiles. */
typedef struct DecodeFile {
    StexStamp stamp;
    SortLevelInfo info; /* of level 0; pointers in it mean nothing */
    uint32_t widths[TEX_MAX_LEVELS], heights[TEX_MAX_LEVELS]; /* info.level_count of them */
} DecodeFile;

typedef enum DecodeResult {
    DECODE_OK,
    DECODE_NO_FILE,  /* error_number */
    DECODE_REPLACED, /* not the file of the stamp */
    DECODE_REFUSED,  /* DESCRIBE: nothing that can be read tile by tile; `text` */
    DECODE_FAILED    /* `text` */
} DecodeResult;

typedef struct DecodeAnswer {
    uint32_t result; /* DecodeResult */
    int32_t error_number;
    uint64_t bytes; /* that follow; DESCRIBE: a DecodeFile */
    char text[TILE_FAILURE_TEXT_MAX];
} DecodeAnswer;

#endif
