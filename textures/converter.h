/* Images become paged textures in processes of their own, since the libraries that decode them may crash, hang or
 * balloon. A process converts one image after the other; one that fails costs the image it was at, and the next
 * image gets a new one. */
#ifndef SORT_TEXTURES_CONVERTER_H
#define SORT_TEXTURES_CONVERTER_H

#include "textures/texcache.h"

typedef struct Converter Converter;

typedef struct ConverterDesc {
    size_t size_bytes; /* sizeof(ConverterDesc) */
    const char *const
        *command; /* NULL-terminated: a program that runs texcache_serve_converter; borrowed */
    uint64_t memory_limit_bytes; /* address space of the process; 0: none */
    uint32_t stall_ms; /* an image that gets no further for so long is given up; 0: two minutes */
    bool (*is_cancelled)(void *data); /* true: conversions end soon; NULL: never */
    void *data;
} ConverterDesc;

typedef struct ConverterWish {
    const char *source_path, *output_path;
    SortColorSpace color_space;
    uint32_t thread_count; /* 0: one a CPU */
} ConverterWish;

/* One thread at a time. No process is started yet. */
Status converter_create(const ConverterDesc *desc, Converter **out_converter,
                        Error *err) SORT_MUST_CHECK;
/* Ends the process. NULL is fine. */
void converter_destroy(Converter *c);
/* Converts one image. Errors are those of texcache_convert, or how the process ended: STATUS_FORMAT with "crashed",
 * "made no progress"; STATUS_CANCELLED; STATUS_NOT_FOUND and STATUS_IO: it cannot be started. */
Status converter_run(Converter *c, const ConverterWish *wish, Error *err) SORT_MUST_CHECK;

#endif
