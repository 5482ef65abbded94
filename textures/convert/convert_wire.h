/* The messages between a renderer and its converter processes, through a socket: one request at a time.
 *
 *   renderer (converter.c)                      converter process (convert_serve.c)
 *   ConvertRequest, source path, output path  ---->  converts the image
 *   ConvertMessage, any number of times       <----  progress
 *   ConvertMessage                            <----  success, or the error
 *
 * As with decode_wire.h, both ends belong to the same program, and answers are checked nevertheless. */
#ifndef SORT_TEXTURES_CONVERT_CONVERT_WIRE_H
#define SORT_TEXTURES_CONVERT_CONVERT_WIRE_H

#include "base/path.h"
#include "textures/texcache.h"

enum { CONVERT_VERSION = 2 };

typedef struct ConvertRequest {
    uint32_t version;
    uint32_t color_space; /* SortColorSpace */
    uint32_t thread_count;
    uint32_t source_bytes,
        output_bytes; /* lengths of the paths that follow without terminators; below PATH_BYTES */
} ConvertRequest;

typedef enum ConvertKind { CONVERT_PROGRESS = 1, CONVERT_DONE } ConvertKind;

typedef struct ConvertMessage {
    uint32_t kind;             /* ConvertKind */
    uint32_t status;           /* DONE: a Status */
    char path[ERROR_PATH_MAX]; /* DONE with an error: the file that it concerns */
    char text[ERROR_TEXT_MAX]; /* DONE with an error: its text */
} ConvertMessage;

#endif
