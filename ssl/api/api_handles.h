/* The handles of the public API. A handle that others are made from is counted, and lives as long as they do. */
#ifndef SORT_SSL_API_HANDLES_H
#define SORT_SSL_API_HANDLES_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"
#include "ssl/api/sort_ssl.h"
#include "ssl/ssl.h"
#include <stdatomic.h>

struct SortSslContext {
    _Atomic uint32_t holders;
    Arena *arena; /* the context itself, and the copies of its tables */
    SslContext *ssl;
    const SslGlobalRow *globals;
    const SslClosureRow *closures;
    uint32_t global_count;
    SslGlobalsLayout layout;
};

struct SortSslUnit {
    SortSslContext *ctx; /* held */
    SslUnit *ssl;
};

struct SortSslProgram {
    _Atomic uint32_t holders;
    SortSslContext *ctx; /* held */
    SslProgram *ssl;
};

struct SortSslParams {
    SortSslProgram *program; /* held */
    bool *is_set;            /* [param_count] */
    void *block;
};

struct SortSslBatch {
    SortSslProgram *program; /* held */
    uint32_t point_count, block_count;
    void *globals, *attributes, *result;
    uint16_t *live;
    uint32_t *textures; /* [texture_count] the identity */
    /* Runs check the inputs: the host has had a pointer to floats, or wrote a derivative that is not finite. Floats that it wrote as
     * arrays have been flushed. */
    bool is_unchecked;
};

struct SortSslDiags {
    DiagList *list;
    StrBuf text;
};

SortSslContext *api_hold_context(SortSslContext *ctx);
SortSslProgram *api_hold_program(const SortSslProgram *program);

/* Fills *err with the first error of the list from `first` on; with what *from says when there is none. */
SortSslStatus api_give_source_error(Status status, const DiagList *list, uint32_t first,
                                    const Error *from, SortSslError *err);

/* Returns how many numbers a lobe's arguments have; *out_kind, unless NULL, becomes the type of number `number`. */
uint32_t api_lobe_numbers(const SortSslProgram *program, uint32_t lobe, uint32_t number,
                          SslType *out_kind);

/* Return where a line of SSL_BLOCK numbers lies: in any blocks of a batch, in a global, in an attribute. */
float *api_line(void *blocks, uint32_t stride_bytes, uint32_t block, size_t offset_bytes,
                uint32_t line);
float *api_global_line(const SortSslBatch *batch, uint32_t block, uint32_t row, uint32_t line);
float *api_attribute_line(const SortSslBatch *batch, uint32_t block, uint32_t attribute,
                          uint32_t line);
/* As sort_ssl_batch_global and sort_ssl_batch_attribute, for the library's own writing. */
float *api_batch_global(const SortSslBatch *batch, uint32_t block, uint32_t row,
                        SortSslShadow shadow, uint32_t component);
float *api_batch_attribute(const SortSslBatch *batch, uint32_t block, uint32_t attribute,
                           SortSslShadow shadow, uint32_t component);

#endif
