/* SSL, the SORT Shading Language: source text in, machine code out.
 *
 *   source --ssl_unit_compile--> SslUnit --ssl_program_build--> SslProgram --ssl_program_kernel--> code
 *            (verified IR)                 (derivative passes, specialised, LLVM)
 *
 * Units can be wired to one another, which gives a unit again: ssl/ssl_group.h.
 *
 * The host declares what shaders may read and make (globals, closures) as tables when it creates a
 * context; the language knows nothing of the renderer. Nothing here prints or exits.
 *
 * Threads: a context and everything made from it may be used from any thread, and builds run in
 * parallel. Lifetimes: units and programs are counted; the context must outlive them. */
#ifndef SSL_H
#define SSL_H

#include "base/diag.h"
#include "base/error.h"
#include "ssl/ssl_kernel.h"

typedef enum SslType {
    SSL_VOID,
    SSL_BOOL,
    SSL_INT,
    SSL_FLOAT,
    SSL_FLOAT2,
    SSL_FLOAT3,
    SSL_FLOAT4,
    SSL_COLOR,
    SSL_POINT,
    SSL_VECTOR,
    SSL_NORMAL, /* float3 to the type checker; tags for tools */
    SSL_MATRIX,
    SSL_STRING,
    SSL_CLOSURE,
    SSL_TEXTURE2D,
    SSL_STRUCT, /* of parameters and outputs; an SslShape says more */
    SSL_ARRAY
} SslType;

uint32_t
ssl_type_scalars(SslType type); /* 3 for SSL_COLOR; 0 for void, string, closure, texture2d */
const char *ssl_type_name(SslType type); /* as in source: "float3" */

/* What a struct or an array is made of: its numbers in the order of the source, members and elements
 * one after the other. */
typedef struct SslShape {
    const char *name;     /* "Ray", "float[4]": for people */
    const char *key;      /* equal for types that are the same: names and types of all members */
    const SslType *kinds; /* [scalar_count] SSL_BOOL, SSL_INT or SSL_FLOAT */
    uint32_t scalar_count;
} SslShape;

/* Numbers in a value; `shape` is looked at for structs and arrays only. */
uint32_t ssl_value_scalars(SslType type, const SslShape *shape);
/* SSL_BOOL, SSL_INT or SSL_FLOAT: what one of them is. */
SslType ssl_value_kind(SslType type, const SslShape *shape, uint32_t scalar);
const char *ssl_value_name(SslType type, const SslShape *shape); /* "color", "float[4]" */

/* --- what the host declares --------------------------------------------------------------- */

/* One row of `global_value<name>`. Rows take memory in order. Types: bool, int, float .. normal. */
typedef struct SslGlobalRow {
    const char *name;
    SslType type;
    bool has_derivs;         /* carries d/dx and d/dy per pixel; never for bool and int */
    const char *space, *doc; /* "world"; meaning and sign, for documents */
} SslGlobalRow;

typedef struct SslClosureArg {
    const char *name;
    SslType type; /* float, color, normal ... */
} SslClosureArg;

/* One row of `attribute<name>` that sources need not declare: what the host knows of any object (time,
 * random numbers, ray type ...). Types: bool, int, float .. normal. Sources may declare others: those
 * are for the material to bind. */
typedef struct SslAttributeRow {
    const char *name;
    SslType type;
    bool has_derivs; /* never for bool and int */
    const char *doc;
} SslAttributeRow;

enum {
    SSL_CLOSURE_EMISSION = 1,   /* kept in SSL_KERNEL_EMISSION programs */
    SSL_CLOSURE_TRANSPARENT = 2 /* kept in SSL_KERNEL_OPACITY programs */
};

typedef struct SslClosureRow {
    const char *name;
    const SslClosureArg *args;
    uint32_t arg_count;
    uint32_t flags;
    const char *doc, *citation;
} SslClosureRow;

enum { SSL_MAX_GLOBALS = 64, SSL_MAX_CLOSURE_ARGS = 16, SSL_MAX_CLOSURES = 64 };

typedef struct SslContextDesc {
    size_t size_bytes;           /* sizeof(SslContextDesc) */
    const SslGlobalRow *globals; /* borrowed: must outlive the context, as must all strings in it */
    const SslClosureRow *closures; /* borrowed */
    uint32_t global_count, closure_count;
    const SslAttributeRow *attributes; /* borrowed; may be NULL when there are none */
    uint32_t attribute_count;
    const char *cache_folder; /* object cache on disk; NULL: none. Created when missing */
    const char *cpu;          /* LLVM CPU name; NULL: this machine */
} SslContextDesc;

/* Where each global lies inside a block, in floats from its start: value [component][SSL_BLOCK], then
 * ddx, then ddy, the latter only when has_derivs. */
typedef struct SslGlobalsLayout {
    uint32_t offset_floats[SSL_MAX_GLOBALS];
    uint32_t stride_bytes;
} SslGlobalsLayout;

void ssl_globals_layout(const SslGlobalRow *rows, uint32_t row_count, SslGlobalsLayout *out_layout);

typedef struct SslContext SslContext;
Status ssl_context_create(const SslContextDesc *desc, SslContext **out_context,
                          Error *err) SORT_MUST_CHECK;
/* The baselines that SslContextDesc.cpu may name; NULL-terminated. */
const char *const *ssl_baseline_cpus(void);
enum { SSL_CPU_CLASS_BYTES = 64 };
/* The class of this machine as it is. */
Status ssl_native_cpu_class(char out[SSL_CPU_CLASS_BYTES], Error *err) SORT_MUST_CHECK;
/* The class of machines that kernels are made for: the baseline that `cpu` named, else this machine's model and a
 * digest of its features. Borrowed: ctx. */
const char *ssl_context_cpu_class(const SslContext *ctx);
void ssl_context_destroy(SslContext *ctx); /* all units and programs released */

/* --- values ------------------------------------------------------------------------------- */

typedef struct SslValue {
    SslType type;
    union {
        bool b;
        int32_t i;
        float f[16]; /* float .. matrix (row-major) */
        const char *s;
        struct { /* struct, array: all numbers in order; bools are 0 and 1; borrowed */
            const double *list;
            uint32_t count;
        };
    };
} SslValue;

/* True if a parameter of that type takes the value: ints for floats, any 3-vector for another, and for
 * structs and arrays any value of as many numbers. */
bool ssl_value_fits(const SslValue *value, SslType type, const SslShape *shape);

/* --- units: one shader of one source, checked, as IR -------------------------------------- */

typedef struct SslSource {
    const char *name;   /* for messages: a path as the user wrote it */
    Str text;           /* UTF-8; borrowed for the call */
    const char *shader; /* which shader of the file; NULL: the only one */
} SslSource;

typedef struct SslMetadata {
    const char *name;
    SslValue value;
} SslMetadata;

typedef struct SslParamInfo {
    const char *name;
    SslType type;
    const SslShape *shape; /* of a struct or array; else NULL */
    bool
        has_default; /* without one, the host must set it; a closure without a wire is the null closure */
    SslValue default_value;
    const SslMetadata *metadata;
    uint32_t metadata_count;
    Span span;
} SslParamInfo;

typedef struct SslMetadataList {
    const SslMetadata *items;
    uint32_t count;
} SslMetadataList;

/* What `attribute<name>` reads: an input of the material, like a texture, if the source declares it; then
 * the material may bind it to an attribute of another name. */
typedef struct SslAttributeInfo {
    const char *name;
    SslType type;
    bool has_derivs;
    bool is_declared; /* false: a row of the host's table */
    const char
        *binds; /* what it means unless the material says otherwise: its name in the source; in a
                               group, `name` has that of the node before it */
    SslValue default_value; /* of points that do not have it; 0 when the source gives none */
    const SslMetadata *metadata;
    uint32_t metadata_count;
    Span span; /* of the declaration */
} SslAttributeInfo;

typedef struct SslOutputInfo {
    const char *name;
    SslType type;
    const SslShape *shape; /* of a struct or array; else NULL */
    const SslMetadata *metadata;
    uint32_t metadata_count; /* 0 for the outputs of a group */
} SslOutputInfo;

enum { SSL_TEXTURE_UNBOUND = UINT32_MAX };

typedef struct SslUnitInfo {
    const char *name; /* the shader's, or the group's */
    const SslParamInfo *params;
    const SslOutputInfo *outputs;
    const char *const *textures; /* names of the file-scope texture2d handles, by slot */
    const uint32_t *texture_ids; /* [texture_count] what a group's description binds, or
                                    SSL_TEXTURE_UNBOUND; NULL: nothing */
    const SslMetadata *metadata; /* of the shader itself */
    const SslMetadataList *texture_metadata; /* [texture_count]; NULL: none have any */
    /* The declared ones in the order of the source, then those rows of the host's table that are read. */
    const SslAttributeInfo *attributes;
    uint32_t param_count, output_count, texture_count, metadata_count, attribute_count;
} SslUnitInfo;

typedef struct SslUnit SslUnit;
/* On success *out_unit is the caller's (ssl_unit_release). STATUS_SOURCE: *out_unit is NULL and diags
 * holds at least one error. Warnings may be added on success too. */
Status ssl_unit_compile(SslContext *ctx, const SslSource *src, DiagList *diags,
                        SslUnit **out_unit) SORT_MUST_CHECK;
const SslUnitInfo *ssl_unit_info(const SslUnit *unit); /* lives as long as the unit */
void ssl_unit_release(SslUnit *unit);                  /* NULL is fine */

/* One holder more; returns the unit. */
SslUnit *ssl_unit_retain(SslUnit *unit);

/* Names of the shaders of a source, in order, appended to `out` separated by '\n'. */
Status ssl_source_shaders(SslContext *ctx, const SslSource *src, DiagList *diags,
                          StrBuf *out) SORT_MUST_CHECK;

/* --- programs: a unit specialised and compiled to a kernel ---------------------------------- */

typedef enum SslKernelKind {
    SSL_KERNEL_SHADE,   /* all outputs */
    SSL_KERNEL_OPACITY, /* only closures flagged transparent, and what they need */
    SSL_KERNEL_EMISSION /* only closures flagged emission, and what they need */
} SslKernelKind;

typedef struct SslConstant {
    const char *param;
    SslValue value;
} SslConstant;

/* Zero means default. bool, int, float and string parameters listed in `constants` are baked into the
 * code, and what they switch off disappears; strings are always baked, at their default if not listed. Hosts list switches, and floats that are exactly 0 or 1
 * (mostly weights of closures); other floats and colours stay data, so that materials share kernels. */
typedef struct SslBuildDesc {
    size_t size_bytes;
    SslKernelKind kind;
    const SslConstant *constants;
    uint32_t constant_count;
    uint32_t llvm_level; /* 0: the default, nearly O2; 1: O0, 2: O1, 3: O2, 4: O3 */
    /* Also bakes what is not listed, at its default: bools, ints, and floats that are exactly 0 or 1. For a
     * group these are its nodes' own values. */
    bool bake_switches;
    /* Points computed at once: 1, 4, 8 or 16; 0: what suits the CPU. Results are the same. */
    uint32_t lanes;
    bool without_derivatives; /* every derivative is zero: to measure what they cost */
    bool merged_summaries;    /* one derivative clone a function instead of one a signature */
    bool output_derivatives;  /* for tools: fills SslProgramInfo.outputs_ddx and outputs_ddy */
} SslBuildDesc;

typedef struct SslParamSlot {
    uint32_t
        offset_bytes; /* in the parameter block; 4 bytes a number: floats, ints, bools as int32 */
    bool is_used;     /* false: baked or dead */
} SslParamSlot;

typedef struct SslTextureSite {
    uint32_t texture;   /* slot */
    const char *filter; /* option strings as written; NULL: default */
    const char *wrap_s, *wrap_t;
    bool has_missing_color;
    float missing_color[4];
    int32_t channel; /* first channel, default 0 */
    Span span;
} SslTextureSite;

/* One closure term. Offsets from the start of a result block. */
typedef struct SslLobeSlot {
    uint32_t closure;       /* row */
    uint32_t output;        /* which closure output it belongs to */
    int32_t parent;         /* slot that it is an argument of; -1: none */
    uint32_t mask_offset;   /* uint16_t: bit i: lane i has it */
    uint32_t weight_offset; /* float[3][SSL_BLOCK] */
    uint32_t args_offset;   /* float[scalars of all args][SSL_BLOCK], in the row's order */
} SslLobeSlot;

typedef struct SslOutputSlot {
    uint32_t offset; /* float (or int32) [scalars][SSL_BLOCK]; unused for closures */
} SslOutputSlot;

/* Where an attribute lies in a block of attributes, in bytes from its start: value [component][SSL_BLOCK],
 * ints and bools as int32, then ddx and ddy if they are wanted. What is not read has no room. */
typedef struct SslAttributeSlot {
    bool is_used, wants_derivs, wants_existence;
    uint32_t offset_bytes;
    uint32_t existence_offset_bytes; /* int32 [SSL_BLOCK]: 1 if the point has the attribute */
} SslAttributeSlot;

typedef struct SslBuildTimes {
    double ir_ms, llvm_ir_ms, optimise_ms, codegen_ms, link_ms;
    bool from_cache;
} SslBuildTimes;

typedef struct SslProgramInfo {
    const SslUnitInfo *unit;
    const SslParamSlot *params;   /* [unit->param_count] */
    const bool *texture_is_used;  /* [unit->texture_count] */
    const SslOutputSlot *outputs; /* [unit->output_count] */
    /* Where d/dx and d/dy of each output are, if asked for; offset 0: it has none (int, closure ...). */
    const SslOutputSlot *outputs_ddx, *outputs_ddy;
    const SslLobeSlot *lobes;
    const SslTextureSite *texture_sites;
    const SslAttributeSlot *attributes; /* [unit->attribute_count] */
    uint32_t attributes_stride_bytes;   /* of a block; 0: none is read */
    uint32_t lobe_count, texture_site_count;
    uint32_t params_bytes, result_stride_bytes;
    uint32_t fault_offset; /* uint32_t[SSL_BLOCK]: 0, or 1 + fault site */
    uint32_t fault_site_count;
    uint64_t globals_value, globals_derivs; /* bit = row: what the kernel reads */
    uint32_t values,
        values_shadowed; /* derivative report: scalar values, and those that carry d/dx or d/dy */
    uint32_t ir_instructions;
    uint64_t visits; /* instructions that the search for derivatives looked at: SSL_MAX_VISITS */
    SslBuildTimes times;
} SslProgramInfo;

typedef struct SslProgram SslProgram;
/* Blocking: derivative passes, specialisation, LLVM (or the object cache). Programs whose IR is equal
 * share one kernel. *out_program is the caller's. */
Status ssl_program_build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how,
                         DiagList *diags, SslProgram **out_program, Error *err) SORT_MUST_CHECK;
const SslProgramInfo *ssl_program_info(const SslProgram *p);
SslKernelFn ssl_program_kernel(const SslProgram *p); /* valid while p is held */
SslProgram *ssl_program_retain(SslProgram *p);
void ssl_program_release(SslProgram *p); /* NULL is fine; code is freed with the last holder */

/* `block` has info->params_bytes. Init writes the defaults; set checks the type: int converts to float, a
 * float vector or a list to a struct or array of as many numbers. */
void ssl_params_init(const SslProgram *p, void *block);
Status ssl_params_set(const SslProgram *p, void *block, uint32_t param, const SslValue *value,
                      Error *err) SORT_MUST_CHECK;

typedef enum SslFaultKind {
    SSL_FAULT_INDEX,
    SSL_FAULT_LOOP,
    SSL_FAULT_RECURSION,
    SSL_FAULT_CLOSURES
} SslFaultKind;
typedef struct SslFaultInfo {
    SslFaultKind kind;
    Span span;
    const char *source_name; /* lives as long as the program */
    uint32_t line, column;
    const char *text; /* "array index out of range" */
} SslFaultInfo;
void ssl_fault_describe(const SslProgram *p, uint32_t site, SslFaultInfo *out_info);
/* Where in a source a texture call stands. *out_source lives as long as the program's unit; it is "" when the place
 * is not known (calls in the standard library), and line and column are 0 then. */
void ssl_texture_site_place(const SslProgram *p, uint32_t site, const char **out_source,
                            uint32_t *out_line, uint32_t *out_column);

/* --- looking inside ------------------------------------------------------------------------ */

typedef enum SslDumpStage {
    SSL_DUMP_TOKENS,
    SSL_DUMP_AST,
    SSL_DUMP_IR,        /* as lowered */
    SSL_DUMP_IR_PASSES, /* after each pass */
    SSL_DUMP_IR_FINAL,
    SSL_DUMP_LLVM,
    SSL_DUMP_LLVM_OPTIMISED,
    SSL_DUMP_ASM
} SslDumpStage;

/* Compiles anew, appending the text of `stage` to `out`. The first form: SSL_DUMP_IR and later, of a unit
 * that is there. */
Status ssl_unit_dump(const SslUnit *unit, const SslBuildDesc *how, SslDumpStage stage,
                     DiagList *diags, StrBuf *out, Error *err) SORT_MUST_CHECK;
Status ssl_dump(SslContext *ctx, const SslSource *src, const SslBuildDesc *how, SslDumpStage stage,
                DiagList *diags, StrBuf *out, Error *err) SORT_MUST_CHECK;

#endif
