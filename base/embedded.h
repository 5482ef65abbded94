/* Text files that are part of the program (cmake/embed.cmake makes them). */
#ifndef SORT_BASE_EMBEDDED_H
#define SORT_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct EmbeddedText {
    const char *name;  /* "gltf_pbr.ssl"; NULL ends the table */
    const char *text;  /* NUL-terminated */
    size_t size_bytes; /* without the NUL */
} EmbeddedText;

#endif
