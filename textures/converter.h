/* Converts images to paged textures in separate processes, since the libraries that decode them may crash, hang
 * or use up memory. A process converts one image after the other. If it fails, only the current image is lost,
 * and the next image gets a new process. */
#ifndef SORT_TEXTURES_CONVERTER_H
#define SORT_TEXTURES_CONVERTER_H

#include "textures/texcache.h"

typedef struct Converter Converter;

typedef struct ConverterDesc {
    size_t size_bytes; /* sizeof(ConverterDesc) */
    /* NULL-terminated command line of a program that runs texcache_serve_converter; borrowed */
    const char *const *command;
    uint64_t memory_limit_bytes; /* limit of the process's address space; 0: none */
    uint32_t stall_ms; /* a conversion without progress for this long is given up; 0: two minutes */
    bool (*is_cancelled)(void *data); /* returns true to make conversions end soon; NULL: never */
    void *data;
} ConverterDesc;

typedef struct ConverterWish {
    const char *source_path, *output_path;
    SortColorSpace color_space;
    uint32_t thread_count; /* 0: one for each CPU */
} ConverterWish;

/* Creates a converter without starting a process. One thread at a time may use it. On success *out_converter is
 * the caller's (converter_destroy). Errors: STATUS_NO_MEMORY. */
Status converter_create(const ConverterDesc *desc, Converter **out_converter,
                        Error *err) SORT_MUST_CHECK;
/* Ends the process. `c` may be NULL. */
void converter_destroy(Converter *c);
/* Converts one image. Errors: those of texcache_convert; STATUS_FORMAT if the process "crashed" or "made no
 * progress"; STATUS_CANCELLED; STATUS_NOT_FOUND or STATUS_IO if the process cannot be started. */
Status converter_run(Converter *c, const ConverterWish *wish, Error *err) SORT_MUST_CHECK;

#endif
