/* Text files embedded in the program (made by cmake/embed.cmake). */
#ifndef SORT_BASE_EMBEDDED_H
#define SORT_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct EmbeddedText {
    const char *name;  /* "gltf_pbr.ssl"; NULL ends the table */
    const char *text;  /* NUL-terminated */
    size_t size_bytes; /* without the NUL */
} EmbeddedText;

#endif
