/* The public API of libsort-ssl in terms of the internal one: it checks what hosts give and counts who holds a handle. No logic
 * of the language is here. */
#include "ssl/api/sort_ssl.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/thread.h"
#include "ssl/ssl.h"
#include "ssl/ssl_limits.h"
#include <fenv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is " #theirs)
SAME(SORT_SSL_OK, STATUS_OK); SAME(SORT_SSL_INVALID, STATUS_INVALID); SAME(SORT_SSL_NOT_FOUND, STATUS_NOT_FOUND);
SAME(SORT_SSL_IO, STATUS_IO); SAME(SORT_SSL_FORMAT, STATUS_FORMAT); SAME(SORT_SSL_UNSUPPORTED, STATUS_UNSUPPORTED);
SAME(SORT_SSL_LIMIT, STATUS_LIMIT); SAME(SORT_SSL_NO_MEMORY, STATUS_NO_MEMORY); SAME(SORT_SSL_SOURCE, STATUS_SOURCE);
SAME(SORT_SSL_CANCELLED, STATUS_CANCELLED); SAME(SORT_SSL_INTERNAL, STATUS_INTERNAL);
SAME(SORT_SSL_VOID, SSL_VOID); SAME(SORT_SSL_BOOL, SSL_BOOL); SAME(SORT_SSL_INT, SSL_INT); SAME(SORT_SSL_FLOAT, SSL_FLOAT);
SAME(SORT_SSL_FLOAT2, SSL_FLOAT2); SAME(SORT_SSL_FLOAT3, SSL_FLOAT3); SAME(SORT_SSL_FLOAT4, SSL_FLOAT4);
SAME(SORT_SSL_COLOR, SSL_COLOR); SAME(SORT_SSL_POINT, SSL_POINT); SAME(SORT_SSL_VECTOR, SSL_VECTOR);
SAME(SORT_SSL_NORMAL, SSL_NORMAL); SAME(SORT_SSL_MATRIX, SSL_MATRIX); SAME(SORT_SSL_STRING, SSL_STRING);
SAME(SORT_SSL_CLOSURE, SSL_CLOSURE); SAME(SORT_SSL_TEXTURE2D, SSL_TEXTURE2D); SAME(SORT_SSL_STRUCT, SSL_STRUCT);
SAME(SORT_SSL_ARRAY, SSL_ARRAY);
SAME(SORT_SSL_CLOSURE_EMISSION, SSL_CLOSURE_EMISSION); SAME(SORT_SSL_CLOSURE_TRANSPARENT, SSL_CLOSURE_TRANSPARENT);
SAME(SORT_SSL_ERROR, DIAG_ERROR); SAME(SORT_SSL_WARNING, DIAG_WARNING); SAME(SORT_SSL_NOTE, DIAG_NOTE);
SAME(SORT_SSL_SHADE, SSL_KERNEL_SHADE); SAME(SORT_SSL_OPACITY, SSL_KERNEL_OPACITY);
SAME(SORT_SSL_EMISSION, SSL_KERNEL_EMISSION);
SAME(SORT_SSL_FAULT_INDEX, SSL_FAULT_INDEX); SAME(SORT_SSL_FAULT_LOOP, SSL_FAULT_LOOP);
SAME(SORT_SSL_FAULT_RECURSION, SSL_FAULT_RECURSION); SAME(SORT_SSL_FAULT_CLOSURES, SSL_FAULT_CLOSURES);
SAME(SORT_SSL_BLOCK, SSL_BLOCK);
/* clang-format on */

enum { DEFAULT_LOOP_BUDGET = 1 << 20, DEFAULT_STACK_BYTES = 1 << 18, TYPE_COUNT = SSL_ARRAY + 1 };

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
};

struct SortSslDiags {
    DiagList *list;
    StrBuf text;
};

const char *sort_ssl_version(void)
{
    return SORT_VERSION;
}

/* --- errors and sizes ----------------------------------------------------------------------- */

static SortSslStatus give_error(Status status, const Error *from, SortSslError *err)
{
    if (status != STATUS_OK && err) {
        err->status = (SortSslStatus)status;
        (void)error_format(from, err->text, sizeof err->text);
    }
    return (SortSslStatus)status;
}

SORT_PRINTF(3, 4)
static SortSslStatus refuse(SortSslError *err, Status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        char text[SORT_SSL_ERROR_BYTES];
        (void)vsnprintf(text, sizeof text, format, args);
        va_end(args);
        err->status = (SortSslStatus)status;
        (void)str_printable(str_from(text), err->text, sizeof err->text);
    }
    return (SortSslStatus)status;
}

static SortSslStatus refuse_null(SortSslError *err, const char *what)
{
    return refuse(err, STATUS_INVALID, "%s is NULL", what);
}

static SortSslStatus no_memory(SortSslError *err)
{
    return refuse(err, STATUS_NO_MEMORY, "out of memory");
}

/* A struct of the host's, whose first member is its size, as this library knows it. `least`: of the first version that had
 * the struct. A later host's struct is refused: what it asks for would be left out. */
static SortSslStatus check_size(const void *given, size_t least, size_t ours, const char *type,
                                SortSslError *err)
{
    size_t size_bytes;
    memcpy(&size_bytes, given, sizeof size_bytes);
    if (size_bytes >= least && size_bytes <= ours)
        return SORT_SSL_OK;
    return refuse(err, STATUS_INVALID,
                  "size_bytes of %s is %zu; this library (%s) knows %zu to %zu", type, size_bytes,
                  SORT_VERSION, least, ours);
}

#define TRY_SSL(expression)                                                                        \
    do {                                                                                           \
        SortSslStatus try_ssl = (expression);                                                      \
        if (try_ssl != SORT_SSL_OK)                                                                \
            return try_ssl;                                                                        \
    } while (0)

/* `own` becomes what the host gave; what its version does not have stays zero. */
#define TAKE(own, given, type, err)                                                                \
    do {                                                                                           \
        TRY_SSL(check_size(given, sizeof(type), sizeof(type), #type, err));                        \
        memcpy(own, given, (given)->size_bytes);                                                   \
    } while (0)

/* Fills an out struct as far as the host's version has it. `...`: initialisers of all members but the size. */
#define GIVE(out, type, ...)                                                                       \
    do {                                                                                           \
        type give_all = {.size_bytes = (out)->size_bytes, __VA_ARGS__};                            \
        memcpy(out, &give_all, (out)->size_bytes);                                                 \
    } while (0)

#define CHECK_OUT(from, out, type, err)                                                            \
    do {                                                                                           \
        if (!(from) || !(out))                                                                     \
            return refuse_null(err, !(from) ? #from : #out);                                       \
        TRY_SSL(check_size(out, sizeof(type), sizeof(type), #type, err));                          \
    } while (0)

static SortSslStatus check_index(uint32_t index, uint32_t count, const char *what,
                                 SortSslError *err)
{
    if (index < count)
        return SORT_SSL_OK;
    return refuse(err, STATUS_INVALID, "there is no %s %u; there are %u", what, index, count);
}

static bool is_discrete(SslType type)
{
    return type == SSL_BOOL || type == SSL_INT;
}

/* --- context -------------------------------------------------------------------------------- */

static SortSslStatus check_row(const char *name, SortSslType type, const char *table, uint32_t row,
                               SortSslError *err)
{
    if (!name || !*name)
        return refuse(err, STATUS_INVALID, "row %u of the table of %s has no name", row, table);
    if ((uint32_t)type >= TYPE_COUNT)
        return refuse(err, STATUS_INVALID, "row %u ('%s') of the table of %s: %d is no SortSslType",
                      row, name, table, (int)type);
    return SORT_SSL_OK;
}

static SortSslStatus check_rows(const SortSslContextDesc *desc, SortSslError *err)
{
    if ((desc->global_count && !desc->globals) || (desc->closure_count && !desc->closures) ||
        (desc->attribute_count && !desc->attributes))
        return refuse_null(err, "a table of SortSslContextDesc whose count is not 0");
    if (desc->global_count > SSL_MAX_GLOBALS || desc->closure_count > SSL_MAX_CLOSURES ||
        desc->attribute_count > SSL_MAX_ATTRIBUTES)
        return refuse(err, STATUS_LIMIT,
                      "%u globals, %u closures, %u attributes; at most %d, %d and %d are possible",
                      desc->global_count, desc->closure_count, desc->attribute_count,
                      SSL_MAX_GLOBALS, SSL_MAX_CLOSURES, SSL_MAX_ATTRIBUTES);
    for (uint32_t i = 0; i < desc->global_count; i++)
        TRY_SSL(check_row(desc->globals[i].name, desc->globals[i].type, "globals", i, err));
    for (uint32_t i = 0; i < desc->attribute_count; i++)
        TRY_SSL(
            check_row(desc->attributes[i].name, desc->attributes[i].type, "attributes", i, err));
    for (uint32_t i = 0; i < desc->closure_count; i++) {
        const SortSslClosure *row = &desc->closures[i];
        TRY_SSL(check_row(row->name, SORT_SSL_CLOSURE, "closures", i, err));
        if (row->arg_count > SSL_MAX_CLOSURE_ARGS)
            return refuse(err, STATUS_LIMIT, "closure '%s' has %u arguments; at most %d", row->name,
                          row->arg_count, SSL_MAX_CLOSURE_ARGS);
        if (row->arg_count && !row->args)
            return refuse_null(err, "args of a SortSslClosure whose arg_count is not 0");
        for (uint32_t j = 0; j < row->arg_count; j++)
            TRY_SSL(
                check_row(row->args[j].name, row->args[j].type, "a closure's arguments", j, err));
        if (row->flags & ~(uint32_t)(SSL_CLOSURE_EMISSION | SSL_CLOSURE_TRANSPARENT))
            return refuse(err, STATUS_INVALID, "closure '%s' has unknown flags", row->name);
    }
    return SORT_SSL_OK;
}

static const char *copy_name(Arena *arena, const char *name, bool *ok)
{
    const char *copy = arena_strndup(arena, name, strlen(name));
    *ok &= copy != NULL;
    return copy;
}

static bool copy_closures(Arena *arena, const SortSslContextDesc *desc, SslClosureRow *rows)
{
    bool ok = true;
    for (uint32_t i = 0; i < desc->closure_count && ok; i++) {
        const SortSslClosure *from = &desc->closures[i];
        SslClosureArg *args = ARENA_ARRAY(arena, SslClosureArg, from->arg_count);
        if (!args)
            return false;
        for (uint32_t j = 0; j < from->arg_count; j++)
            args[j] = (SslClosureArg){copy_name(arena, from->args[j].name, &ok),
                                      (SslType)from->args[j].type};
        rows[i] = (SslClosureRow){.name = copy_name(arena, from->name, &ok),
                                  .args = args,
                                  .arg_count = from->arg_count,
                                  .flags = from->flags,
                                  .doc = "",
                                  .citation = ""};
    }
    return ok;
}

/* The tables as the compiler has them, in the arena. False: out of memory. */
static bool copy_tables(Arena *arena, const SortSslContextDesc *desc, SslContextDesc *out)
{
    bool ok = true;
    SslGlobalRow *globals = ARENA_ARRAY(arena, SslGlobalRow, desc->global_count);
    SslClosureRow *closures = ARENA_ARRAY(arena, SslClosureRow, desc->closure_count);
    SslAttributeRow *attributes = ARENA_ARRAY(arena, SslAttributeRow, desc->attribute_count);
    if (!globals || !closures || !attributes || !copy_closures(arena, desc, closures))
        return false;
    for (uint32_t i = 0; i < desc->global_count; i++)
        globals[i] = (SslGlobalRow){.name = copy_name(arena, desc->globals[i].name, &ok),
                                    .type = (SslType)desc->globals[i].type,
                                    .has_derivs = desc->globals[i].has_derivs,
                                    .space = "",
                                    .doc = ""};
    for (uint32_t i = 0; i < desc->attribute_count; i++)
        attributes[i] = (SslAttributeRow){.name = copy_name(arena, desc->attributes[i].name, &ok),
                                          .type = (SslType)desc->attributes[i].type,
                                          .has_derivs = desc->attributes[i].has_derivs,
                                          .doc = ""};
    *out = (SslContextDesc){.size_bytes = sizeof *out,
                            .globals = globals,
                            .closures = closures,
                            .attributes = attributes,
                            .global_count = desc->global_count,
                            .closure_count = desc->closure_count,
                            .attribute_count = desc->attribute_count,
                            .cache_folder = desc->cache_folder,
                            .cpu = desc->cpu};
    return ok;
}

SortSslStatus sort_ssl_context_create(const SortSslContextDesc *desc, SortSslContext **out_context,
                                      SortSslError *err)
{
    if (!out_context)
        return refuse_null(err, "out_context");
    *out_context = NULL;
    SortSslContextDesc own = {.size_bytes = sizeof own};
    if (desc)
        TAKE(&own, desc, SortSslContextDesc, err);
    TRY_SSL(check_rows(&own, err));
    Arena *arena = arena_create(0, 0);
    SortSslContext *ctx = arena ? ARENA_NEW(arena, SortSslContext) : NULL;
    SslContextDesc tables;
    if (!ctx || !copy_tables(arena, &own, &tables)) {
        arena_destroy(arena);
        return no_memory(err);
    }
    Error error = {0};
    Status status = ssl_context_create(&tables, &ctx->ssl, &error);
    if (status != STATUS_OK) {
        arena_destroy(arena);
        return give_error(status, &error, err);
    }
    atomic_init(&ctx->holders, 1);
    ctx->arena = arena;
    ctx->globals = tables.globals;
    ctx->closures = tables.closures;
    ctx->global_count = tables.global_count;
    ssl_globals_layout(ctx->globals, ctx->global_count, &ctx->layout);
    *out_context = ctx;
    return SORT_SSL_OK;
}

static SortSslContext *hold_context(SortSslContext *ctx)
{
    atomic_fetch_add_explicit(&ctx->holders, 1, memory_order_relaxed);
    return ctx;
}

void sort_ssl_context_destroy(SortSslContext *ctx)
{
    if (!ctx || atomic_fetch_sub_explicit(&ctx->holders, 1, memory_order_acq_rel) != 1)
        return;
    ssl_context_destroy(ctx->ssl);
    arena_destroy(ctx->arena); /* the context itself is in it */
}

/* --- diagnostics ---------------------------------------------------------------------------- */

SortSslStatus sort_ssl_diags_create(SortSslDiags **out_diags, SortSslError *err)
{
    if (!out_diags)
        return refuse_null(err, "out_diags");
    *out_diags = NULL;
    SortSslDiags *diags = MEM_NEW(SortSslDiags);
    if (diags)
        diags->list = diag_list_create();
    if (!diags || !diags->list) {
        mem_free(diags);
        return no_memory(err);
    }
    *out_diags = diags;
    return SORT_SSL_OK;
}

void sort_ssl_diags_destroy(SortSslDiags *diags)
{
    if (!diags)
        return;
    diag_list_destroy(diags->list);
    strbuf_free(&diags->text);
    mem_free(diags);
}

uint32_t sort_ssl_diags_count(const SortSslDiags *diags)
{
    return diags ? diag_count(diags->list) : 0;
}

uint32_t sort_ssl_diags_error_count(const SortSslDiags *diags)
{
    return diags ? diag_error_count(diags->list) : 0;
}

static void describe_diag(const DiagList *list, uint32_t index, SortSslDiag *all)
{
    const Diag *diag = diag_get(list, index);
    all->severity = (SortSslSeverity)diag->severity;
    all->code = diag->code;
    all->file = "";
    all->message = diag->message;
    all->label = diag->label ? diag->label : "";
    if (diag->span.file) {
        all->file = diag_source_name(list, diag->span.file);
        diag_position(list, diag->span.file, diag->span.begin, &all->line, &all->column);
        diag_position(list, diag->span.file, diag->span.end, &all->end_line, &all->end_column);
    }
}

SortSslStatus sort_ssl_diags_get(const SortSslDiags *diags, uint32_t index, SortSslDiag *out,
                                 SortSslError *err)
{
    CHECK_OUT(diags, out, SortSslDiag, err);
    TRY_SSL(check_index(index, diag_count(diags->list), "diagnostic", err));
    SortSslDiag all = {.size_bytes = out->size_bytes};
    describe_diag(diags->list, index, &all);
    memcpy(out, &all, out->size_bytes);
    return SORT_SSL_OK;
}

const char *sort_ssl_diags_text(SortSslDiags *diags)
{
    if (!diags)
        return "";
    strbuf_clear(&diags->text);
    diags->text.failed = false;
    diag_print(diags->list, &diags->text);
    return diags->text.failed ? "" : strbuf_text(&diags->text);
}

/* What a rejected source's error says: the first error from `first` on, else what *from says. */
static SortSslStatus give_source_error(Status status, const DiagList *list, uint32_t first,
                                       const Error *from, SortSslError *err)
{
    for (uint32_t i = first; i < diag_count(list); i++) {
        if (diag_get(list, i)->severity != DIAG_ERROR)
            continue;
        SortSslDiag diag = {.size_bytes = sizeof diag};
        describe_diag(list, i, &diag);
        if (!diag.line)
            return refuse(err, status, "error[%s]: %s", diag.code, diag.message);
        return refuse(err, status, "%s:%u:%u: error[%s]: %s", diag.file, diag.line, diag.column,
                      diag.code, diag.message);
    }
    if (*from->text)
        return give_error(status, from, err);
    return refuse(err, status,
                  status == STATUS_NO_MEMORY ? "out of memory" : "the source was rejected");
}

/* --- units ---------------------------------------------------------------------------------- */

SortSslStatus sort_ssl_unit_compile(SortSslContext *ctx, const SortSslSource *source,
                                    SortSslDiags *diags, SortSslUnit **out_unit, SortSslError *err)
{
    if (!out_unit)
        return refuse_null(err, "out_unit");
    *out_unit = NULL;
    if (!ctx || !source)
        return refuse_null(err, ctx ? "source" : "ctx");
    SortSslSource own = {0};
    TAKE(&own, source, SortSslSource, err);
    if (!own.text && own.text_bytes)
        return refuse_null(err, "text of the SortSslSource");
    const char *name = own.name ? own.name : "source";
    if (own.text_bytes > SSL_MAX_SOURCE_BYTES)
        return refuse(err, STATUS_LIMIT, "%s: a source of %zu bytes; at most %d are possible", name,
                      own.text_bytes, SSL_MAX_SOURCE_BYTES);
    SortSslUnit *unit = MEM_NEW(SortSslUnit);
    DiagList *list = diags ? diags->list : diag_list_create();
    uint32_t first = list ? diag_count(list) : 0;
    Status status = STATUS_NO_MEMORY;
    if (unit && list)
        status = ssl_unit_compile(ctx->ssl,
                                  &(SslSource){.name = name,
                                               .text = {own.text ? own.text : "", own.text_bytes},
                                               .shader = own.shader},
                                  list, &unit->ssl);
    SortSslStatus result = (SortSslStatus)status;
    if (status == STATUS_OK) {
        unit->ctx = hold_context(ctx);
        *out_unit = unit;
    } else {
        mem_free(unit);
        result = list ? give_source_error(status, list, first, &(Error){0}, err) : no_memory(err);
    }
    if (!diags)
        diag_list_destroy(list);
    return result;
}

void sort_ssl_unit_destroy(SortSslUnit *unit)
{
    if (!unit)
        return;
    ssl_unit_release(unit->ssl);
    sort_ssl_context_destroy(unit->ctx);
    mem_free(unit);
}

SortSslStatus sort_ssl_unit_info(const SortSslUnit *unit, SortSslUnitInfo *out, SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslUnitInfo, err);
    const SslUnitInfo *info = ssl_unit_info(unit->ssl);
    GIVE(out, SortSslUnitInfo, .name = info->name, .param_count = info->param_count,
         .output_count = info->output_count, .texture_count = info->texture_count,
         .attribute_count = info->attribute_count);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_param(const SortSslUnit *unit, uint32_t index, SortSslParam *out,
                                  SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslParam, err);
    TRY_SSL(check_index(index, ssl_unit_info(unit->ssl)->param_count, "parameter", err));
    const SslParamInfo *info = &ssl_unit_info(unit->ssl)->params[index];
    bool is_text = info->has_default && info->type == SSL_STRING;
    GIVE(out, SortSslParam, .name = info->name,
         .type_name = ssl_value_name(info->type, info->shape), .type = (SortSslType)info->type,
         .number_count = ssl_value_scalars(info->type, info->shape),
         .has_default = info->has_default, .default_text = is_text ? info->default_value.s : NULL);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_output(const SortSslUnit *unit, uint32_t index, SortSslOutput *out,
                                   SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslOutput, err);
    TRY_SSL(check_index(index, ssl_unit_info(unit->ssl)->output_count, "output", err));
    const SslOutputInfo *info = &ssl_unit_info(unit->ssl)->outputs[index];
    GIVE(out, SortSslOutput, .name = info->name,
         .type_name = ssl_value_name(info->type, info->shape), .type = (SortSslType)info->type,
         .number_count = ssl_value_scalars(info->type, info->shape));
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_attribute(const SortSslUnit *unit, uint32_t index,
                                      SortSslAttributeInfo *out, SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslAttributeInfo, err);
    TRY_SSL(check_index(index, ssl_unit_info(unit->ssl)->attribute_count, "attribute", err));
    const SslAttributeInfo *info = &ssl_unit_info(unit->ssl)->attributes[index];
    GIVE(out, SortSslAttributeInfo, .name = info->name, .type = (SortSslType)info->type,
         .has_derivs = info->has_derivs, .is_declared = info->is_declared);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_param_default(const SortSslUnit *unit, uint32_t index,
                                          double *out_numbers, uint32_t count, SortSslError *err)
{
    if (!unit || !out_numbers)
        return refuse_null(err, unit ? "out_numbers" : "unit");
    TRY_SSL(check_index(index, ssl_unit_info(unit->ssl)->param_count, "parameter", err));
    const SslParamInfo *info = &ssl_unit_info(unit->ssl)->params[index];
    uint32_t numbers = ssl_value_scalars(info->type, info->shape);
    if (count != numbers || numbers == 0)
        return refuse(err, STATUS_INVALID, "parameter '%s' is a %s of %u numbers, not of %u",
                      info->name, ssl_value_name(info->type, info->shape), numbers, count);
    if (!info->has_default)
        return refuse(err, STATUS_NOT_FOUND, "parameter '%s' has no default", info->name);
    const SslValue *value = &info->default_value;
    bool is_list = value->type == SSL_STRUCT || value->type == SSL_ARRAY;
    for (uint32_t i = 0; i < count; i++)
        out_numbers[i] = is_list                   ? value->list[i]
                         : value->type == SSL_BOOL ? (double)value->b
                         : value->type == SSL_INT  ? (double)value->i
                                                   : (double)value->f[i];
    return SORT_SSL_OK;
}

const char *sort_ssl_unit_texture(const SortSslUnit *unit, uint32_t index)
{
    const SslUnitInfo *info = unit ? ssl_unit_info(unit->ssl) : NULL;
    return info && index < info->texture_count ? info->textures[index] : NULL;
}

#define FIND(unit, table, name)                                                                    \
    do {                                                                                           \
        const SslUnitInfo *find_in = unit ? ssl_unit_info(unit->ssl) : NULL;                       \
        for (uint32_t i = 0; find_in && name && i < find_in->table##_count; i++)                   \
            if (strcmp(find_in->table##s[i].name, name) == 0)                                      \
                return i;                                                                          \
        return SORT_SSL_NONE;                                                                      \
    } while (0)

uint32_t sort_ssl_unit_find_param(const SortSslUnit *unit, const char *name)
{
    FIND(unit, param, name);
}

uint32_t sort_ssl_unit_find_output(const SortSslUnit *unit, const char *name)
{
    FIND(unit, output, name);
}

uint32_t sort_ssl_unit_find_attribute(const SortSslUnit *unit, const char *name)
{
    FIND(unit, attribute, name);
}

/* --- values --------------------------------------------------------------------------------- */

/* Whether the number can be stored in a scalar of that kind as it is, but for rounding to float. */
static SortSslStatus check_number(const char *param, SslType kind, double x, SortSslError *err)
{
    if (kind == SSL_BOOL && x != 0.0 && x != 1.0)
        return refuse(err, STATUS_INVALID, "parameter '%s': %g is no bool (0 or 1)", param, x);
    if (kind == SSL_INT && !(x >= INT32_MIN && x <= INT32_MAX && x == (double)(int32_t)x))
        return refuse(err, STATUS_INVALID, "parameter '%s': %g is no int", param, x);
    if (kind == SSL_FLOAT && !(x >= -(double)FLT_MAX && x <= (double)FLT_MAX))
        return refuse(err, STATUS_INVALID, "parameter '%s': %g is not in the range of a float",
                      param, x);
    return SORT_SSL_OK;
}

/* `numbers` have been checked; structs and arrays borrow them. */
static SslValue make_value(SslType type, const double *numbers, uint32_t count)
{
    SslValue value = {.type = type};
    if (type == SSL_STRUCT || type == SSL_ARRAY) {
        value.list = numbers;
        value.count = count;
    } else if (type == SSL_BOOL) {
        value.b = numbers[0] != 0.0;
    } else if (type == SSL_INT) {
        value.i = (int32_t)numbers[0];
    } else {
        for (uint32_t i = 0; i < count; i++)
            value.f[i] = (float)numbers[i];
    }
    return value;
}

/* --- programs ------------------------------------------------------------------------------- */

static SortSslStatus take_constant(const SslUnitInfo *unit, const SortSslConstant *from,
                                   SslConstant *out, SortSslError *err)
{
    if (!from->name)
        return refuse_null(err, "name of a SortSslConstant");
    uint32_t at = 0;
    while (at < unit->param_count && strcmp(unit->params[at].name, from->name) != 0)
        at++;
    if (at == unit->param_count)
        return refuse(err, STATUS_NOT_FOUND, "shader '%s' has no parameter '%s'", unit->name,
                      from->name);
    SslType type = unit->params[at].type;
    if ((type == SSL_STRING) != (from->text != NULL))
        return refuse(err, STATUS_INVALID, "parameter '%s' is a %s: its constant %s", from->name,
                      ssl_type_name(type), from->text ? "has no text" : "needs a text");
    out->param = unit->params[at].name;
    if (type == SSL_STRING) {
        out->value = (SslValue){.type = type, .s = from->text};
        return SORT_SSL_OK;
    }
    if (type != SSL_FLOAT && !is_discrete(type))
        return refuse(
            err, STATUS_INVALID,
            "parameter '%s' is a %s; only bool, int, float and string parameters are baked",
            from->name, ssl_value_name(type, unit->params[at].shape));
    TRY_SSL(check_number(from->name, type, from->number, err));
    out->value = make_value(type, &from->number, 1);
    return SORT_SSL_OK;
}

static SortSslStatus check_build(const SortSslBuildDesc *how, SortSslError *err)
{
    if ((uint32_t)how->kind > SORT_SSL_EMISSION)
        return refuse(err, STATUS_INVALID, "%d is no SortSslKind", (int)how->kind);
    if (how->llvm_level > 4)
        return refuse(err, STATUS_INVALID, "an LLVM level of %u; 0 to 4 are possible",
                      how->llvm_level);
    if (how->lanes != 0 && how->lanes != 1 && how->lanes != 4 && how->lanes != 8 &&
        how->lanes != 16)
        return refuse(err, STATUS_INVALID, "%u lanes; 0, 1, 4, 8 and 16 are possible", how->lanes);
    if (how->constant_count && !how->constants)
        return refuse_null(err, "constants of a SortSslBuildDesc whose constant_count is not 0");
    return SORT_SSL_OK;
}

static SortSslStatus build(const SortSslUnit *unit, const SortSslBuildDesc *how,
                           const SslConstant *constants, DiagList *list, SortSslProgram *program,
                           SortSslError *err)
{
    uint32_t first = diag_count(list);
    Error error = {0};
    SslBuildDesc desc = {.size_bytes = sizeof desc,
                         .kind = (SslKernelKind)how->kind,
                         .constants = constants,
                         .constant_count = how->constant_count,
                         .llvm_level = how->llvm_level,
                         .bake_switches = how->bake_switches,
                         .lanes = how->lanes,
                         .output_derivatives = how->output_derivs};
    Status status =
        ssl_program_build(unit->ctx->ssl, unit->ssl, &desc, list, &program->ssl, &error);
    return status == STATUS_OK ? SORT_SSL_OK : give_source_error(status, list, first, &error, err);
}

SortSslStatus sort_ssl_program_build(const SortSslUnit *unit, const SortSslBuildDesc *how,
                                     SortSslDiags *diags, SortSslProgram **out_program,
                                     SortSslError *err)
{
    if (!out_program)
        return refuse_null(err, "out_program");
    *out_program = NULL;
    if (!unit)
        return refuse_null(err, "unit");
    SortSslBuildDesc own = {.size_bytes = sizeof own};
    if (how)
        TAKE(&own, how, SortSslBuildDesc, err);
    TRY_SSL(check_build(&own, err));
    SslConstant *constants = MEM_ARRAY(SslConstant, own.constant_count);
    SortSslProgram *program = MEM_NEW(SortSslProgram);
    DiagList *list = diags ? diags->list : diag_list_create();
    SortSslStatus status = constants && program && list ? SORT_SSL_OK : no_memory(err);
    for (uint32_t i = 0; i < own.constant_count && status == SORT_SSL_OK; i++)
        status = take_constant(ssl_unit_info(unit->ssl), &own.constants[i], &constants[i], err);
    if (status == SORT_SSL_OK)
        status = build(unit, &own, constants, list, program, err);
    if (status == SORT_SSL_OK) {
        atomic_init(&program->holders, 1);
        program->ctx = hold_context(unit->ctx);
        *out_program = program;
    } else {
        mem_free(program);
    }
    mem_free(constants);
    if (!diags)
        diag_list_destroy(list);
    return status;
}

static SortSslProgram *hold_program(const SortSslProgram *program)
{
    SortSslProgram *held = (SortSslProgram *)(uintptr_t)program; /* only its count changes */
    atomic_fetch_add_explicit(&held->holders, 1, memory_order_relaxed);
    return held;
}

void sort_ssl_program_destroy(SortSslProgram *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->holders, 1, memory_order_acq_rel) != 1)
        return;
    ssl_program_release(program->ssl);
    sort_ssl_context_destroy(program->ctx);
    mem_free(program);
}

SortSslStatus sort_ssl_program_info(const SortSslProgram *program, SortSslProgramInfo *out,
                                    SortSslError *err)
{
    CHECK_OUT(program, out, SortSslProgramInfo, err);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    const SslBuildTimes *t = &info->times;
    GIVE(out, SortSslProgramInfo, .lobe_count = info->lobe_count,
         .texture_site_count = info->texture_site_count,
         .build_ms = t->ir_ms + t->llvm_ir_ms + t->optimise_ms + t->codegen_ms + t->link_ms,
         .from_cache = t->from_cache);
    return SORT_SSL_OK;
}

/* The numbers of a lobe's arguments; *out_kind, unless NULL, is what number `number` is. */
static uint32_t lobe_numbers(const SortSslProgram *program, uint32_t lobe, uint32_t number,
                             SslType *out_kind)
{
    const SslClosureRow *row =
        &program->ctx->closures[ssl_program_info(program->ssl)->lobes[lobe].closure];
    uint32_t count = 0;
    for (uint32_t i = 0; i < row->arg_count; i++) {
        uint32_t next = count + ssl_type_scalars(row->args[i].type);
        if (out_kind && number >= count && number < next)
            *out_kind = ssl_value_kind(row->args[i].type, NULL, number - count);
        count = next;
    }
    return count;
}

SortSslStatus sort_ssl_program_lobe(const SortSslProgram *program, uint32_t index, SortSslLobe *out,
                                    SortSslError *err)
{
    CHECK_OUT(program, out, SortSslLobe, err);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    TRY_SSL(check_index(index, info->lobe_count, "lobe", err));
    const SslLobeSlot *slot = &info->lobes[index];
    GIVE(out, SortSslLobe, .closure = slot->closure, .output = slot->output, .parent = slot->parent,
         .arg_count = lobe_numbers(program, index, 0, NULL));
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_program_texture_site(const SortSslProgram *program, uint32_t index,
                                            SortSslTextureSite *out, SortSslError *err)
{
    CHECK_OUT(program, out, SortSslTextureSite, err);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    TRY_SSL(check_index(index, info->texture_site_count, "texture site", err));
    const SslTextureSite *site = &info->texture_sites[index];
    SortSslTextureSite all = {.size_bytes = out->size_bytes,
                              .texture = site->texture,
                              .filter = site->filter ? site->filter : "",
                              .wrap_s = site->wrap_s ? site->wrap_s : "",
                              .wrap_t = site->wrap_t ? site->wrap_t : "",
                              .has_missing_color = site->has_missing_color,
                              .channel = site->channel};
    memcpy(all.missing_color, site->missing_color, sizeof all.missing_color);
    ssl_texture_site_place(program->ssl, index, &all.file, &all.line, &all.column);
    memcpy(out, &all, out->size_bytes);
    return SORT_SSL_OK;
}

bool sort_ssl_program_reads_global(const SortSslProgram *program, uint32_t row,
                                   SortSslShadow shadow)
{
    if (!program || row >= program->ctx->global_count)
        return false;
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    return (shadow == SORT_SSL_VALUE ? info->globals_value : info->globals_derivs) >> row & 1;
}

/* --- parameters ----------------------------------------------------------------------------- */

SortSslStatus sort_ssl_params_create(const SortSslProgram *program, SortSslParams **out_params,
                                     SortSslError *err)
{
    if (!out_params)
        return refuse_null(err, "out_params");
    *out_params = NULL;
    if (!program)
        return refuse_null(err, "program");
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    SortSslParams *params = MEM_NEW(SortSslParams);
    if (params) {
        params->is_set = MEM_ARRAY(bool, info->unit->param_count);
        params->block = mem_alloc(info->params_bytes, 1);
        params->program = hold_program(program);
    }
    if (!params || !params->is_set || !params->block) {
        sort_ssl_params_destroy(params);
        return no_memory(err);
    }
    ssl_params_init(program->ssl, params->block);
    for (uint32_t i = 0; i < info->unit->param_count; i++)
        params->is_set[i] =
            info->unit->params[i].has_default || !info->params[i].is_used ||
            ssl_value_scalars(info->unit->params[i].type, info->unit->params[i].shape) == 0;
    *out_params = params;
    return SORT_SSL_OK;
}

void sort_ssl_params_destroy(SortSslParams *params)
{
    if (!params)
        return;
    sort_ssl_program_destroy(params->program);
    mem_free(params->is_set);
    mem_free(params->block);
    mem_free(params);
}

SortSslStatus sort_ssl_params_set(SortSslParams *params, const char *name, const double *numbers,
                                  uint32_t count, SortSslError *err)
{
    if (!params || !name || !numbers)
        return refuse_null(err, !params ? "params" : !name ? "name" : "numbers");
    const SslUnitInfo *unit = ssl_program_info(params->program->ssl)->unit;
    uint32_t at = 0;
    while (at < unit->param_count && strcmp(unit->params[at].name, name) != 0)
        at++;
    if (at == unit->param_count)
        return refuse(err, STATUS_NOT_FOUND, "shader '%s' has no parameter '%s'", unit->name, name);
    const SslParamInfo *info = &unit->params[at];
    uint32_t wanted = ssl_value_scalars(info->type, info->shape);
    const char *type = ssl_value_name(info->type, info->shape);
    if (wanted == 0)
        return refuse(err, STATUS_INVALID, "parameter '%s' is a %s, which is not set by numbers",
                      name, type);
    if (count != wanted)
        return refuse(err, STATUS_INVALID, "parameter '%s' is a %s of %u numbers, not of %u", name,
                      type, wanted, count);
    for (uint32_t i = 0; i < count; i++)
        TRY_SSL(check_number(name, ssl_value_kind(info->type, info->shape, i), numbers[i], err));
    SslValue value = make_value(info->type, numbers, count);
    Error error = {0};
    Status status = ssl_params_set(params->program->ssl, params->block, at, &value, &error);
    if (status == STATUS_OK)
        params->is_set[at] = true;
    return give_error(status, &error, err);
}

/* --- batches: memory ------------------------------------------------------------------------ */

/* Zeroed, for blocks; kernels read whole lines of the cache. */
static void *allocate_blocks(uint32_t block_count, uint32_t stride_bytes)
{
    size_t bytes = (size_t)block_count * stride_bytes + SORT_CACHE_LINE;
    void *memory = mem_alloc_aligned(bytes, SORT_CACHE_LINE);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

static float *line_of(void *blocks, uint32_t stride_bytes, uint32_t block, size_t offset_bytes,
                      uint32_t line)
{
    char *at = (char *)blocks + (size_t)block * stride_bytes + offset_bytes;
    return (float *)(void *)at + (size_t)line * SSL_BLOCK;
}

/* Attributes that the host does not fill have their defaults. */
static void fill_attributes(SortSslBatch *batch)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    for (uint32_t i = 0; i < info->unit->attribute_count; i++) {
        const SslAttributeInfo *attribute = &info->unit->attributes[i];
        const SslValue *value = &attribute->default_value;
        uint32_t count = info->attributes[i].is_used ? ssl_type_scalars(attribute->type) : 0;
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t point = 0; point < batch->block_count * SSL_BLOCK; point++) {
                float number = ssl_flushed(value->f[k]);
                int32_t word = attribute->type == SSL_BOOL ? value->b : value->i;
                const void *from =
                    is_discrete(attribute->type) ? (const void *)&word : (const void *)&number;
                memcpy(line_of(batch->attributes, info->attributes_stride_bytes, point / SSL_BLOCK,
                               info->attributes[i].offset_bytes, k) +
                           point % SSL_BLOCK,
                       from, sizeof number);
            }
    }
}

SortSslStatus sort_ssl_batch_create(const SortSslProgram *program, uint32_t point_count,
                                    SortSslBatch **out_batch, SortSslError *err)
{
    if (!out_batch)
        return refuse_null(err, "out_batch");
    *out_batch = NULL;
    if (!program)
        return refuse_null(err, "program");
    if (point_count == 0 || point_count > UINT32_MAX - SSL_BLOCK)
        return refuse(err, STATUS_INVALID, "a batch of %u points", point_count);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    SortSslBatch *batch = MEM_NEW(SortSslBatch);
    if (!batch)
        return no_memory(err);
    uint32_t blocks = (point_count + SSL_BLOCK - 1) / SSL_BLOCK;
    batch->program = hold_program(program);
    batch->point_count = point_count;
    batch->block_count = blocks;
    batch->globals = allocate_blocks(blocks, program->ctx->layout.stride_bytes);
    batch->attributes = allocate_blocks(blocks, info->attributes_stride_bytes);
    batch->result = allocate_blocks(blocks, info->result_stride_bytes);
    batch->live = MEM_ARRAY(uint16_t, blocks);
    batch->textures = MEM_ARRAY(uint32_t, info->unit->texture_count);
    if (!batch->globals || !batch->attributes || !batch->result || !batch->live ||
        !batch->textures) {
        sort_ssl_batch_destroy(batch);
        return no_memory(err);
    }
    for (uint32_t i = 0; i < point_count; i++)
        batch->live[i / SSL_BLOCK] = (uint16_t)(batch->live[i / SSL_BLOCK] | 1u << i % SSL_BLOCK);
    for (uint32_t i = 0; i < info->unit->texture_count; i++)
        batch->textures[i] = i;
    fill_attributes(batch);
    *out_batch = batch;
    return SORT_SSL_OK;
}

void sort_ssl_batch_destroy(SortSslBatch *batch)
{
    if (!batch)
        return;
    sort_ssl_program_destroy(batch->program);
    mem_free(batch->globals);
    mem_free(batch->attributes);
    mem_free(batch->result);
    mem_free(batch->live);
    mem_free(batch->textures);
    mem_free(batch);
}

/* --- batches: inputs ------------------------------------------------------------------------ */

static float *global_line(const SortSslBatch *batch, uint32_t block, uint32_t row, uint32_t line)
{
    const SslGlobalsLayout *layout = &batch->program->ctx->layout;
    return line_of(batch->globals, layout->stride_bytes, block,
                   (size_t)layout->offset_floats[row] * sizeof(float), line);
}

static bool has_global(const SortSslBatch *batch, uint32_t block, uint32_t row)
{
    return batch && block < batch->block_count && row < batch->program->ctx->global_count;
}

float *sort_ssl_batch_global(SortSslBatch *batch, uint32_t block, uint32_t row,
                             SortSslShadow shadow, uint32_t component)
{
    if (!has_global(batch, block, row) || (uint32_t)shadow > SORT_SSL_DDY)
        return NULL;
    const SslGlobalRow *global = &batch->program->ctx->globals[row];
    uint32_t count = ssl_type_scalars(global->type);
    if (component >= count || is_discrete(global->type) ||
        (shadow != SORT_SSL_VALUE && !global->has_derivs))
        return NULL;
    return global_line(batch, block, row, (uint32_t)shadow * count + component);
}

int32_t *sort_ssl_batch_global_int(SortSslBatch *batch, uint32_t block, uint32_t row)
{
    if (!has_global(batch, block, row) || !is_discrete(batch->program->ctx->globals[row].type))
        return NULL;
    return (int32_t *)(void *)global_line(batch, block, row, 0);
}

static float *attribute_line(const SortSslBatch *batch, uint32_t block, uint32_t attribute,
                             uint32_t line)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return line_of(batch->attributes, info->attributes_stride_bytes, block,
                   info->attributes[attribute].offset_bytes, line);
}

/* NULL: there is no such attribute or block. */
static const SslAttributeSlot *find_attribute(const SortSslBatch *batch, uint32_t block,
                                              uint32_t attribute)
{
    if (!batch || block >= batch->block_count)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return attribute < info->unit->attribute_count ? &info->attributes[attribute] : NULL;
}

static SslType attribute_type(const SortSslBatch *batch, uint32_t attribute)
{
    return ssl_program_info(batch->program->ssl)->unit->attributes[attribute].type;
}

float *sort_ssl_batch_attribute(SortSslBatch *batch, uint32_t block, uint32_t attribute,
                                SortSslShadow shadow, uint32_t component)
{
    const SslAttributeSlot *slot = find_attribute(batch, block, attribute);
    if (!slot || (uint32_t)shadow > SORT_SSL_DDY || !slot->is_used ||
        (shadow != SORT_SSL_VALUE && !slot->wants_derivs))
        return NULL;
    SslType type = attribute_type(batch, attribute);
    uint32_t count = ssl_type_scalars(type);
    if (component >= count || is_discrete(type))
        return NULL;
    return attribute_line(batch, block, attribute, (uint32_t)shadow * count + component);
}

int32_t *sort_ssl_batch_attribute_int(SortSslBatch *batch, uint32_t block, uint32_t attribute)
{
    const SslAttributeSlot *slot = find_attribute(batch, block, attribute);
    if (!slot || !slot->is_used || !is_discrete(attribute_type(batch, attribute)))
        return NULL;
    return (int32_t *)(void *)attribute_line(batch, block, attribute, 0);
}

int32_t *sort_ssl_batch_attribute_exists(SortSslBatch *batch, uint32_t block, uint32_t attribute)
{
    const SslAttributeSlot *slot = find_attribute(batch, block, attribute);
    if (!slot || !slot->wants_existence)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return (int32_t *)(void *)line_of(batch->attributes, info->attributes_stride_bytes, block,
                                      slot->existence_offset_bytes, 0);
}

SortSslStatus sort_ssl_batch_set_live(SortSslBatch *batch, uint32_t point, bool is_live,
                                      SortSslError *err)
{
    if (!batch)
        return refuse_null(err, "batch");
    TRY_SSL(check_index(point, batch->point_count, "point", err));
    uint32_t bit = 1u << point % SSL_BLOCK, mask = batch->live[point / SSL_BLOCK];
    batch->live[point / SSL_BLOCK] = (uint16_t)(is_live ? mask | bit : mask & ~bit);
    return SORT_SSL_OK;
}

/* --- batches: running ----------------------------------------------------------------------- */

/* Makes what kernels may be given of what a host wrote: subnormal numbers become zero, derivatives that are not finite are
 * refused. */
static SortSslStatus check_lines(float *line, uint32_t line_count, uint32_t deriv_first,
                                 uint32_t live, const char *name, uint32_t block, SortSslError *err)
{
    for (uint32_t i = 0; i < line_count; i++, line += SSL_BLOCK)
        for (uint32_t lane = 0; lane < SSL_BLOCK; lane++) {
            if (!(live >> lane & 1))
                continue;
            if (i >= deriv_first && !isfinite(line[lane]))
                return refuse(err, STATUS_INVALID, "a derivative of '%s' at point %u is not finite",
                              name, block * SSL_BLOCK + lane);
            line[lane] = ssl_flushed(line[lane]);
        }
    return SORT_SSL_OK;
}

static SortSslStatus check_inputs(SortSslBatch *batch, SortSslError *err)
{
    const SortSslContext *ctx = batch->program->ctx;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    for (uint32_t block = 0; block < batch->block_count; block++) {
        for (uint32_t row = 0; row < ctx->global_count; row++) {
            const SslGlobalRow *global = &ctx->globals[row];
            bool derivs = info->globals_derivs >> row & 1;
            if (is_discrete(global->type) || !(derivs || info->globals_value >> row & 1))
                continue;
            uint32_t count = ssl_type_scalars(global->type);
            TRY_SSL(check_lines(global_line(batch, block, row, 0), derivs ? 3 * count : count,
                                count, batch->live[block], global->name, block, err));
        }
        for (uint32_t i = 0; i < info->unit->attribute_count; i++) {
            const SslAttributeInfo *attribute = &info->unit->attributes[i];
            if (!info->attributes[i].is_used || is_discrete(attribute->type))
                continue;
            uint32_t count = ssl_type_scalars(attribute->type);
            TRY_SSL(check_lines(attribute_line(batch, block, i, 0),
                                info->attributes[i].wants_derivs ? 3 * count : count, count,
                                batch->live[block], attribute->name, block, err));
        }
    }
    return SORT_SSL_OK;
}

/* What a kernel's texture calls reach. */
typedef struct Run {
    SortSslTextureLookup texture_lookup;
    void *user;
} Run;

static void look_up(SslHost *host, const SslTexCall *call)
{
    const Run *run = (const Run *)(const void *)host;
    SortSslTextureCall out = {.size_bytes = sizeof out,
                              .texture = call->texture,
                              .site = call->site,
                              .first_point = call->block * SSL_BLOCK + call->lane_first,
                              .lane_count = call->lane_count,
                              .lane_mask = call->lane_mask,
                              .with_derivs = (call->flags & SSL_TEX_WANT_DERIVS) != 0,
                              .coord = call->coord,
                              .result = call->result};
    run->texture_lookup(run->user, &out);
}

static SortSslStatus check_run(const SortSslBatch *batch, const SortSslRunDesc *desc,
                               const SortSslParams *params, SortSslError *err)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    if (params->program != batch->program)
        return refuse(err, STATUS_INVALID, "the parameters are those of another program");
    for (uint32_t i = 0; i < info->unit->param_count; i++)
        if (!params->is_set[i])
            return refuse(err, STATUS_INVALID, "parameter '%s' has no default and was not set",
                          info->unit->params[i].name);
    if (info->texture_site_count && !desc->texture_lookup)
        return refuse(err, STATUS_INVALID, "shader '%s' looks up textures: texture_lookup is NULL",
                      info->unit->name);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_batch_run(SortSslBatch *batch, const SortSslRunDesc *desc, SortSslError *err)
{
    if (!batch)
        return refuse_null(err, "batch");
    SortSslRunDesc own = {.size_bytes = sizeof own};
    if (desc)
        TAKE(&own, desc, SortSslRunDesc, err);
    SortSslParams *defaults = NULL;
    if (!own.params)
        TRY_SSL(sort_ssl_params_create(batch->program, &defaults, err));
    const SortSslParams *params = own.params ? own.params : defaults;
    SortSslStatus status = check_run(batch, &own, params, err);
    if (status == SORT_SSL_OK)
        status = check_inputs(batch, err);
    if (status == SORT_SSL_OK) {
        Run run = {own.texture_lookup, own.user};
        SslServices services = {sizeof services, look_up};
        SslBatch points = {.globals = batch->globals,
                           .attributes = batch->attributes,
                           .live = batch->live,
                           .result = batch->result,
                           .params = params->block,
                           .textures = batch->textures,
                           .services = &services,
                           .host = (SslHost *)(void *)&run,
                           .block_count = batch->block_count,
                           .loop_budget = own.loop_budget ? own.loop_budget : DEFAULT_LOOP_BUDGET,
                           .stack_bytes = own.stack_bytes ? own.stack_bytes : DEFAULT_STACK_BYTES};
        fenv_t modes;
        (void)fegetenv(&modes);
        (void)fesetenv(FE_DFL_ENV);
        thread_flush_denormals();
        ssl_program_kernel(batch->program->ssl)(&points);
        (void)fesetenv(&modes);
    }
    sort_ssl_params_destroy(defaults);
    return status;
}

/* --- batches: results ----------------------------------------------------------------------- */

static const float *result_line(const SortSslBatch *batch, uint32_t block, uint32_t offset_bytes,
                                uint32_t line)
{
    return line_of(batch->result, ssl_program_info(batch->program->ssl)->result_stride_bytes, block,
                   offset_bytes, line);
}

/* Where a number of an output lies and what it is. NULL: it is not there. */
static const float *find_output(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                SortSslShadow shadow, uint32_t number, SslType *out_kind)
{
    if (!batch || block >= batch->block_count || (uint32_t)shadow > SORT_SSL_DDY)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    if (output >= info->unit->output_count)
        return NULL;
    const SslOutputInfo *what = &info->unit->outputs[output];
    if (number >= ssl_value_scalars(what->type, what->shape))
        return NULL;
    *out_kind = ssl_value_kind(what->type, what->shape, number);
    const SslOutputSlot *slots = shadow == SORT_SSL_VALUE ? info->outputs
                                 : shadow == SORT_SSL_DDX ? info->outputs_ddx
                                                          : info->outputs_ddy;
    if (!slots || (shadow != SORT_SSL_VALUE && !slots[output].offset))
        return NULL;
    return result_line(batch, block, slots[output].offset, number);
}

const float *sort_ssl_batch_output(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                   SortSslShadow shadow, uint32_t number)
{
    SslType kind = SSL_VOID;
    const float *line = find_output(batch, block, output, shadow, number, &kind);
    return kind == SSL_FLOAT ? line : NULL;
}

const int32_t *sort_ssl_batch_output_int(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                         uint32_t number)
{
    SslType kind = SSL_VOID;
    const float *line = find_output(batch, block, output, SORT_SSL_VALUE, number, &kind);
    return is_discrete(kind) ? (const int32_t *)(const void *)line : NULL;
}

/* NULL: there is no such block or lobe. */
static const SslLobeSlot *find_lobe(const SortSslBatch *batch, uint32_t block, uint32_t lobe)
{
    if (!batch || block >= batch->block_count)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return lobe < info->lobe_count ? &info->lobes[lobe] : NULL;
}

uint32_t sort_ssl_batch_lobe_mask(const SortSslBatch *batch, uint32_t block, uint32_t lobe)
{
    const SslLobeSlot *slot = find_lobe(batch, block, lobe);
    uint16_t mask = 0;
    if (slot)
        memcpy(&mask, result_line(batch, block, slot->mask_offset, 0), sizeof mask);
    return slot ? mask & batch->live[block] : 0;
}

const float *sort_ssl_batch_lobe_weight(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                        uint32_t component)
{
    const SslLobeSlot *slot = find_lobe(batch, block, lobe);
    return slot && component < 3 ? result_line(batch, block, slot->weight_offset, component) : NULL;
}

static const float *find_lobe_arg(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                  uint32_t number, SslType *out_kind)
{
    const SslLobeSlot *slot = find_lobe(batch, block, lobe);
    if (!slot || number >= lobe_numbers(batch->program, lobe, number, out_kind))
        return NULL;
    return result_line(batch, block, slot->args_offset, number);
}

const float *sort_ssl_batch_lobe_arg(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                     uint32_t number)
{
    SslType kind = SSL_VOID;
    const float *line = find_lobe_arg(batch, block, lobe, number, &kind);
    return kind == SSL_FLOAT ? line : NULL;
}

const int32_t *sort_ssl_batch_lobe_arg_int(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                           uint32_t number)
{
    SslType kind = SSL_VOID;
    const float *line = find_lobe_arg(batch, block, lobe, number, &kind);
    return is_discrete(kind) ? (const int32_t *)(const void *)line : NULL;
}

bool sort_ssl_batch_fault(const SortSslBatch *batch, uint32_t point, SortSslFault *out)
{
    if (!batch || point >= batch->point_count ||
        !(batch->live[point / SSL_BLOCK] >> point % SSL_BLOCK & 1))
        return false;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    uint32_t site;
    memcpy(&site, result_line(batch, point / SSL_BLOCK, info->fault_offset, 0) + point % SSL_BLOCK,
           sizeof site);
    if (site == 0 || site > info->fault_site_count)
        return false;
    if (out && check_size(out, sizeof *out, sizeof *out, "SortSslFault", NULL) == SORT_SSL_OK) {
        SslFaultInfo fault;
        ssl_fault_describe(batch->program->ssl, site - 1, &fault);
        GIVE(out, SortSslFault, .kind = (SortSslFaultKind)fault.kind, .file = fault.source_name,
             .line = fault.line, .column = fault.column, .text = fault.text);
    }
    return true;
}
