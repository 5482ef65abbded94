/* libsort-ssl: the SORT Shading Language for other programs. Source text goes in, machine code for this CPU comes out, and
 * runs on batches of points with exact derivatives.
 *
 *   context ---> unit ---> program ---> params, batch ---> results
 *   (tables)    (checked   (compiled     (inputs)          (outputs with d/dx and d/dy, closures as lobes, faults)
 *                source)    by LLVM)
 *
 * The host declares in tables what shaders can read (globals, attributes) and make (closures). The language itself is
 * described in the manual (ssl-language.md), this library in embedding.md.
 *
 * Ownership. Every sort_ssl_..._create, _compile and _build gives the caller one handle, which is given back once with the
 * function that its type names (..._destroy); NULL is fine there. A handle keeps what it was made of, so the order in which
 * handles are given back does not matter. Pointers to text or numbers that a function returns live as long as the handle
 * they came from unless stated otherwise. Text that the host passes is copied.
 *
 * Errors. Functions that can fail return a SortSslStatus; with anything but SORT_SSL_OK they change nothing, set an out
 * handle to NULL, and describe the reason in *err unless err is NULL. NULL for a required argument, an index out of range
 * or a size_bytes that this library does not know is SORT_SSL_INVALID, never undefined behaviour; a handle that was given
 * back is the host's mistake. Nothing here prints, ends the process or installs a signal handler, with two exceptions: LLVM
 * ends the process when memory runs out while it compiles, and so does a failed internal check (a defect of the library,
 * named on standard error).
 *
 * Threads. A context, units and programs may be used by any number of threads at once; builds run in parallel. A
 * SortSslParams may be read by many batches at once, but not while it is changed. A SortSslBatch, a SortSslDiags and a
 * SortSslError belong to one thread at a time. There is no global state.
 *
 * Structs that may grow begin with size_bytes, which the caller sets to sizeof. Zero in any other field is its default.
 * Numbers below FLT_MIN in absolute value (subnormal) are zero in the language. */
#ifndef SORT_SSL_H
#define SORT_SSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SORT_SSL_BLOCK = 16,        /* points in a block: the last dimension of all arrays of a batch */
    SORT_SSL_ERROR_BYTES = 1536 /* of SortSslError.text */
};

/* UINT32_MAX: what functions return that look for a name and find none. */
#define SORT_SSL_NONE UINT32_MAX

typedef enum SortSslStatus {
    SORT_SSL_OK = 0,
    SORT_SSL_INVALID,     /* an argument that makes no sense */
    SORT_SSL_NOT_FOUND,   /* a name or file that is not there */
    SORT_SSL_IO,          /* the operating system refused or failed */
    SORT_SSL_FORMAT,      /* content that breaks its format */
    SORT_SSL_UNSUPPORTED, /* well-formed, but beyond what this build does */
    SORT_SSL_LIMIT,       /* past a limit that the text names */
    SORT_SSL_NO_MEMORY,
    SORT_SSL_SOURCE, /* the source was rejected: see the SortSslDiags */
    SORT_SSL_CANCELLED,
    SORT_SSL_INTERNAL /* a defect of the library that was caught */
} SortSslStatus;

/* The caller's; filled by a function that fails, else left alone. */
typedef struct SortSslError {
    SortSslStatus status;
    char text[SORT_SSL_ERROR_BYTES]; /* one sentence, safe to show; NUL-terminated */
} SortSslError;

typedef enum SortSslType {
    SORT_SSL_VOID,
    SORT_SSL_BOOL,
    SORT_SSL_INT,
    SORT_SSL_FLOAT,
    SORT_SSL_FLOAT2,
    SORT_SSL_FLOAT3,
    SORT_SSL_FLOAT4,
    SORT_SSL_COLOR, /* this and the next three: three floats */
    SORT_SSL_POINT,
    SORT_SSL_VECTOR,
    SORT_SSL_NORMAL,
    SORT_SSL_MATRIX, /* 16 floats, row by row */
    SORT_SSL_STRING,
    SORT_SSL_CLOSURE,
    SORT_SSL_TEXTURE2D,
    SORT_SSL_STRUCT, /* numbers of all members in the order of the source */
    SORT_SSL_ARRAY   /* numbers of all elements, one element after the other */
} SortSslType;

/* Which of the three numbers that a quantity can carry: its value, or its derivative per step of one pixel to the right (x)
 * or down (y). What a "pixel" is, the host decides by the derivatives that it gives to globals. */
typedef enum SortSslShadow { SORT_SSL_VALUE, SORT_SSL_DDX, SORT_SSL_DDY } SortSslShadow;

/* The version of the library, "MAJOR.MINOR.PATCH". Static. */
const char *sort_ssl_version(void);

/* --- what the host declares --------------------------------------------------------------------- */

/* One row of what shaders read as global_value<name>. */
typedef struct SortSslGlobal {
    const char *name;
    SortSslType type; /* bool, int, float .. normal */
    bool has_derivs;  /* the host gives d/dx and d/dy of it; never for bool and int */
} SortSslGlobal;

/* One row of what shaders read as attribute<name> without declaring it. */
typedef struct SortSslAttribute {
    const char *name;
    SortSslType type; /* bool, int, float .. normal */
    bool has_derivs;  /* never for bool and int */
} SortSslAttribute;

typedef struct SortSslClosureArg {
    const char *name;
    SortSslType type; /* bool, int, float .. matrix, or closure */
} SortSslClosureArg;

enum {
    SORT_SSL_CLOSURE_EMISSION = 1,   /* kept in SORT_SSL_EMISSION programs */
    SORT_SSL_CLOSURE_TRANSPARENT = 2 /* kept in SORT_SSL_OPACITY programs */
};

/* One row of what shaders make with make_closure<name>(args). */
typedef struct SortSslClosure {
    const char *name;
    const SortSslClosureArg *args; /* [arg_count], at most 16 */
    uint32_t arg_count;
    uint32_t flags; /* SORT_SSL_CLOSURE_... */
} SortSslClosure;

typedef struct SortSslContextDesc {
    size_t size_bytes;            /* sizeof(SortSslContextDesc) */
    const SortSslGlobal *globals; /* [global_count], at most 64; copied, as are the next two */
    const SortSslClosure *closures;
    const SortSslAttribute *attributes;
    uint32_t global_count;
    uint32_t closure_count;   /* at most 1024 */
    uint32_t attribute_count; /* at most 32 */
    const char *
        cache_folder; /* where compiled kernels are kept on disk; created when missing; NULL: nowhere */
    const char *
        cpu; /* a baseline such as "x86-64-v3", for equal bits on unequal machines; NULL: this machine */
} SortSslContextDesc;

typedef struct SortSslContext SortSslContext; /* given back by sort_ssl_context_destroy */

/* Checks and copies the tables. desc may be NULL: no tables. Errors: INVALID (a table that makes no sense, a CPU that is
 * unknown), LIMIT, IO (the cache folder), NO_MEMORY. */
SortSslStatus sort_ssl_context_create(const SortSslContextDesc *desc, SortSslContext **out_context,
                                      SortSslError *err);
void sort_ssl_context_destroy(SortSslContext *ctx);

/* --- diagnostics --------------------------------------------------------------------------------- */

typedef enum SortSslSeverity {
    SORT_SSL_ERROR,
    SORT_SSL_WARNING,
    SORT_SSL_NOTE /* belongs to the diagnostic before it */
} SortSslSeverity;

typedef struct SortSslDiag {
    size_t size_bytes; /* sizeof(SortSslDiag) */
    SortSslSeverity severity;
    const char *code;      /* "S0207"; "" for notes */
    const char *file;      /* the name that was given to the source; "" when there is no place */
    uint32_t line, column; /* from 1; columns count characters; 0: no place */
    uint32_t end_line, end_column; /* behind the last character */
    const char *message;
    const char *label; /* what to write beside the place; "" for none */
} SortSslDiag;

/* What compiles had to say, in order. A list may be used for several. */
typedef struct SortSslDiags SortSslDiags; /* given back by sort_ssl_diags_destroy */

/* Errors: NO_MEMORY. */
SortSslStatus sort_ssl_diags_create(SortSslDiags **out_diags, SortSslError *err);
void sort_ssl_diags_destroy(SortSslDiags *diags);
uint32_t sort_ssl_diags_count(
    const SortSslDiags *diags); /* kept: at most 20 errors and 100 warnings, and their notes */
uint32_t sort_ssl_diags_error_count(const SortSslDiags *diags); /* all errors, kept or not */
/* Fills *out. Errors: INVALID. */
SortSslStatus sort_ssl_diags_get(const SortSslDiags *diags, uint32_t index, SortSslDiag *out,
                                 SortSslError *err);
/* All of it for people, with the source lines and carets under the places. Lives until the next call with this list, or
 * until memory is out: "" then. */
const char *sort_ssl_diags_text(SortSslDiags *diags);

/* --- units: one shader, checked ------------------------------------------------------------------- */

typedef struct SortSslSource {
    size_t size_bytes;  /* sizeof(SortSslSource) */
    const char *name;   /* for messages, such as a path; NULL: "source" */
    const char *text;   /* UTF-8, text_bytes of it */
    size_t text_bytes;  /* at most 4 MiB */
    const char *shader; /* which shader of the source; NULL: the only one */
} SortSslSource;

typedef struct SortSslUnit SortSslUnit; /* given back by sort_ssl_unit_destroy */

/* Checks a source. Diagnostics (warnings on success, too) are appended to `diags`, which may be NULL. Errors: SOURCE (err has
 * the first diagnostic), LIMIT, NO_MEMORY. */
SortSslStatus sort_ssl_unit_compile(SortSslContext *ctx, const SortSslSource *source,
                                    SortSslDiags *diags, SortSslUnit **out_unit, SortSslError *err);
void sort_ssl_unit_destroy(SortSslUnit *unit);

typedef struct SortSslUnitInfo {
    size_t size_bytes; /* sizeof(SortSslUnitInfo) */
    const char *name;  /* the shader's */
    uint32_t param_count, output_count, texture_count, attribute_count;
} SortSslUnitInfo;

typedef struct SortSslParam {
    size_t size_bytes; /* sizeof(SortSslParam) */
    const char *name;
    const char *type_name; /* as in source: "color", "float[4]" */
    SortSslType type;
    uint32_t number_count;    /* numbers in a value; 0 for string and closure */
    bool has_default;         /* without one the host must set it */
    const char *default_text; /* of a string with a default, else NULL */
} SortSslParam;

typedef struct SortSslOutput {
    size_t size_bytes; /* sizeof(SortSslOutput) */
    const char *name;
    const char *type_name;
    SortSslType type;
    uint32_t number_count; /* 0 for a closure, which comes as lobes */
} SortSslOutput;

typedef struct SortSslAttributeInfo {
    size_t size_bytes; /* sizeof(SortSslAttributeInfo) */
    const char *name;
    SortSslType type;
    bool has_derivs;
    bool is_declared; /* by the source; false: a row of the host's table */
} SortSslAttributeInfo;

/* Each fills *out (whose size_bytes is set). Errors: INVALID. */
SortSslStatus sort_ssl_unit_info(const SortSslUnit *unit, SortSslUnitInfo *out, SortSslError *err);
SortSslStatus sort_ssl_unit_param(const SortSslUnit *unit, uint32_t index, SortSslParam *out,
                                  SortSslError *err);
SortSslStatus sort_ssl_unit_output(const SortSslUnit *unit, uint32_t index, SortSslOutput *out,
                                   SortSslError *err);
SortSslStatus sort_ssl_unit_attribute(const SortSslUnit *unit, uint32_t index,
                                      SortSslAttributeInfo *out, SortSslError *err);
/* The numbers of a parameter's default into out_numbers[count], where count is its number_count; booleans are 0 and 1.
 * Errors: INVALID, NOT_FOUND (there is no default). */
SortSslStatus sort_ssl_unit_param_default(const SortSslUnit *unit, uint32_t index,
                                          double *out_numbers, uint32_t count, SortSslError *err);
/* The name of a texture2d handle of the source; NULL: there is none of that index. */
const char *sort_ssl_unit_texture(const SortSslUnit *unit, uint32_t index);
/* The index of that name, or SORT_SSL_NONE. */
uint32_t sort_ssl_unit_find_param(const SortSslUnit *unit, const char *name);
uint32_t sort_ssl_unit_find_output(const SortSslUnit *unit, const char *name);
uint32_t sort_ssl_unit_find_attribute(const SortSslUnit *unit, const char *name);

/* --- derivatives of units: by parameters and other inputs -------------------------------------------- */

typedef enum SortSslInputKind {
    SORT_SSL_INPUT_PARAM,
    SORT_SSL_INPUT_GLOBAL,
    SORT_SSL_INPUT_ATTRIBUTE,
    SORT_SSL_INPUT_TEXTURE /* the texels of a texture */
} SortSslInputKind;

typedef struct SortSslInput {
    SortSslInputKind kind;
    const char *name;
} SortSslInput;

typedef struct SortSslDerivativeDesc {
    size_t size_bytes; /* sizeof(SortSslDerivativeDesc) */
    bool is_backward;
    const SortSslInput
        *inputs; /* [input_count] by which derivatives are taken: floats are among their numbers */
    const char *const *outputs; /* [output_count] of which; backward: float and its vectors */
    uint32_t input_count, output_count;
    uint32_t direction_count; /* forward: 1 to 4; 0 is 1 */
    /* Backward: edges count. The gradient is that of the shader's mean over the pixels around the point, whose sizes are the
     * derivatives of the globals and attributes by x and y: what a comparison or a rounding changes between neighbouring pixels
     * has a derivative. Without derivatives of globals there are no edges. */
    bool has_edges;
} SortSslDerivativeDesc;

/* Makes of a unit the unit that computes a derivative of it, by the rules of fwd_diff and bwd_diff (ssl-derivatives.md), where
 * functions need no mark. It is built and run like any other; parameters that are inputs are never baked. Its interface is
 * that of the unit with these changes, where X is the name of a parameter, "global_value<NAME>", "attribute<NAME>", or
 * "texture2d<NAME>":
 *
 *   forward    further inputs: "tangent(X)" of each input X, a parameter for a parameter, a texture, whose texels are tangents, for a
 *              texture, and else an attribute, 0 at first; outputs: those of the list, then "tangent(OUTPUT)" of each. With several
 *              directions, which textures do not have, "tangent2(X)" and "tangent2(OUTPUT)" and so on follow
 *   backward   further attributes: "adjoint(OUTPUT)", 0 at first. Outputs: "gradient(X)" of each input alone: at each point the
 *              gradient of the sum of all numbers of these outputs times their adjoints. That of a texture is a float4, by a color that is
 *              added to all texels; what single texels get, the host adds up in SortSslRunDesc.texture_adjoint
 *
 * A gradient that overflows is infinite or NaN; a tangent is then 0. Errors: SOURCE (a derivative is not possible: err has the
 * first diagnostic), NOT_FOUND (a name), INVALID (no derivative; nothing given, or twice), UNSUPPORTED (a texture in several
 * directions, or a unit that is a derivative), NO_MEMORY. */
SortSslStatus sort_ssl_unit_differentiate(const SortSslUnit *unit, const SortSslDerivativeDesc *how,
                                          SortSslDiags *diags, SortSslUnit **out_unit,
                                          SortSslError *err);
/* Whether an output is a gradient that is zero whatever the inputs are: only comparisons and the like read the input. False
 * when out of range. */
bool sort_ssl_unit_output_is_zero(const SortSslUnit *unit, uint32_t index);

/* --- programs: a unit compiled to machine code ------------------------------------------------------ */

typedef enum SortSslKind {
    SORT_SSL_SHADE,   /* all outputs */
    SORT_SSL_OPACITY, /* only closures flagged TRANSPARENT, and what they need */
    SORT_SSL_EMISSION /* only closures flagged EMISSION, and what they need */
} SortSslKind;

/* A parameter of type bool, int, float or string that is baked into the code: what it switches off is gone. */
typedef struct SortSslConstant {
    const char *name;
    double number;    /* bool, int and float */
    const char *text; /* string; else NULL */
} SortSslConstant;

typedef struct SortSslBuildDesc {
    size_t size_bytes; /* sizeof(SortSslBuildDesc) */
    SortSslKind kind;
    const SortSslConstant
        *constants; /* [constant_count]; strings without one are baked at their default */
    uint32_t constant_count;
    uint32_t llvm_level; /* 0: what suits; 1 to 4: -O0 to -O3 */
    uint32_t
        lanes; /* points computed at once: 1, 4, 8 or 16; 0: what suits the CPU. Results are the same */
    bool
        bake_switches; /* also bakes bools, ints, and floats that are exactly 0 or 1, at their defaults */
    bool output_derivs; /* outputs have d/dx and d/dy, too */
} SortSslBuildDesc;

typedef struct SortSslProgram SortSslProgram; /* given back by sort_ssl_program_destroy */

/* Compiles. Blocks for milliseconds to seconds. how may be NULL: defaults; diags may be NULL. Programs whose code is equal
 * share it. Errors: INVALID, NOT_FOUND (a constant's name), SOURCE or LIMIT (too large a kernel), NO_MEMORY, INTERNAL. */
SortSslStatus sort_ssl_program_build(const SortSslUnit *unit, const SortSslBuildDesc *how,
                                     SortSslDiags *diags, SortSslProgram **out_program,
                                     SortSslError *err);
void sort_ssl_program_destroy(SortSslProgram *program);

typedef struct SortSslProgramInfo {
    size_t size_bytes; /* sizeof(SortSslProgramInfo) */
    uint32_t lobe_count, texture_site_count;
    double build_ms;
    bool from_cache; /* the machine code was found in memory or in the cache folder */
} SortSslProgramInfo;

/* A closure term that a point may have. A point has those in whose mask its bit is set, and its closure is the sum of
 * weight times closure over all whose parent is -1. */
typedef struct SortSslLobe {
    size_t size_bytes;  /* sizeof(SortSslLobe) */
    uint32_t closure;   /* row of the host's table */
    uint32_t output;    /* the closure output that it belongs to */
    int32_t parent;     /* the lobe that it is an argument of; -1: none */
    uint32_t arg_count; /* numbers of all arguments, in the order of the row; closures have none */
} SortSslLobe;

/* A place in the source where a texture is looked up, with the options that stand there. */
typedef struct SortSslTextureSite {
    size_t size_bytes;           /* sizeof(SortSslTextureSite) */
    uint32_t texture;            /* index in the unit */
    const char *filter;          /* as written; "": not given */
    const char *wrap_s, *wrap_t; /* likewise */
    bool has_missing_color;
    float missing_color[4];
    int32_t channel;  /* the first channel that is wanted; default 0 */
    const char *file; /* "" and 0, 0: in the standard library */
    uint32_t line, column;
} SortSslTextureSite;

/* Each fills *out (whose size_bytes is set). Errors: INVALID. */
SortSslStatus sort_ssl_program_info(const SortSslProgram *program, SortSslProgramInfo *out,
                                    SortSslError *err);
SortSslStatus sort_ssl_program_lobe(const SortSslProgram *program, uint32_t index, SortSslLobe *out,
                                    SortSslError *err);
SortSslStatus sort_ssl_program_texture_site(const SortSslProgram *program, uint32_t index,
                                            SortSslTextureSite *out, SortSslError *err);
/* Whether the code reads the value (or, for DDX and DDY, derivatives) of a row of the host's globals; what it does not read
 * need not be filled. */
bool sort_ssl_program_reads_global(const SortSslProgram *program, uint32_t row,
                                   SortSslShadow shadow);

/* --- parameters: the uniform inputs of a program ---------------------------------------------------- */

typedef struct SortSslParams SortSslParams; /* given back by sort_ssl_params_destroy */

/* All parameters at their defaults. Errors: INVALID, NO_MEMORY. */
SortSslStatus sort_ssl_params_create(const SortSslProgram *program, SortSslParams **out_params,
                                     SortSslError *err);
void sort_ssl_params_destroy(SortSslParams *params);
/* Sets a parameter to numbers[count]; booleans are 0 and 1, ints whole numbers. No effect where it was baked. Errors:
 * NOT_FOUND, INVALID (wrong count; not whole; out of range; a string or closure). */
SortSslStatus sort_ssl_params_set(SortSslParams *params, const char *name, const double *numbers,
                                  uint32_t count, SortSslError *err);

/* --- running ------------------------------------------------------------------------------------------ */

/* Points with their inputs and results, in blocks of SORT_SSL_BLOCK: point i is lane i % 16 of block i / 16. */
typedef struct SortSslBatch SortSslBatch; /* given back by sort_ssl_batch_destroy */

/* At first globals are zero, attributes have the defaults of the source, and all results are zero. point_count: at least 1.
 * Errors: INVALID, NO_MEMORY. */
SortSslStatus sort_ssl_batch_create(const SortSslProgram *program, uint32_t point_count,
                                    SortSslBatch **out_batch, SortSslError *err);
void sort_ssl_batch_destroy(SortSslBatch *batch);

/* The 16 lanes of one component of a global, to be written before a run. NULL: out of range, no derivatives, or a bool or
 * int (for those the second form; booleans are 0 and 1). Valid as long as the batch. */
float *sort_ssl_batch_global(SortSslBatch *batch, uint32_t block, uint32_t row,
                             SortSslShadow shadow, uint32_t component);
int32_t *sort_ssl_batch_global_int(SortSslBatch *batch, uint32_t block, uint32_t row);
/* The 16 lanes of one component of an attribute of the unit, like those of a global. NULL also: the code does not read it. */
float *sort_ssl_batch_attribute(SortSslBatch *batch, uint32_t block, uint32_t attribute,
                                SortSslShadow shadow, uint32_t component);
int32_t *sort_ssl_batch_attribute_int(SortSslBatch *batch, uint32_t block, uint32_t attribute);
/* 1 where the point has the attribute, else 0 (as at first). NULL: the code does not ask. */
int32_t *sort_ssl_batch_attribute_exists(SortSslBatch *batch, uint32_t block, uint32_t attribute);
/* Sets a global, or an attribute of the unit, at all points at once: component c of point i is numbers[i * components + c], and
 * count is point_count times components. Floats are rounded, booleans are 0 and 1, ints whole numbers. An attribute is there at
 * all points then. No effect on what the code does not read. Errors: INVALID (count; a number that the type does not have; no
 * derivatives). */
SortSslStatus sort_ssl_batch_write_global(SortSslBatch *batch, uint32_t row, SortSslShadow shadow,
                                          const double *numbers, size_t count, SortSslError *err);
SortSslStatus sort_ssl_batch_write_attribute(SortSslBatch *batch, uint32_t attribute,
                                             SortSslShadow shadow, const double *numbers,
                                             size_t count, SortSslError *err);
/* Switches a point off or on; points that are off are neither read nor written. All are on at first. */
SortSslStatus sort_ssl_batch_set_live(SortSslBatch *batch, uint32_t point, bool is_live,
                                      SortSslError *err);

/* A lookup of one texture for some lanes of one block. All arrays have lane_count columns; only the lanes of lane_mask are
 * wanted, and the others are neither read nor written. coord and result are as libsort-texcache has them. */
typedef struct SortSslTextureCall {
    size_t size_bytes;    /* sizeof(SortSslTextureCall), set by the library */
    uint32_t texture;     /* index in the unit */
    uint32_t site;        /* index of a SortSslTextureSite: options */
    uint32_t first_point; /* of lane 0 */
    uint32_t lane_count;  /* 1, 4, 8 or 16 */
    uint32_t lane_mask;   /* bit i: lane i */
    bool with_derivs;     /* the result has 12 rows */
    const float *coord;   /* [7][lane_count]: s, t, ds/dx, dt/dx, ds/dy, dt/dy, blur */
    /* [4][lane_count]: r g b a; with_derivs [12]: rgba, d rgba/ds, d rgba/dt. Of texture_adjoint: the adjoints of these, which are
     * only read. */
    float *result;
} SortSslTextureCall;

/* Fills call->result; may block. Called by the thread that runs, which flushes subnormal numbers to zero meanwhile. The
 * stack that is left is that of the caller of sort_ssl_batch_run, less at most 96 KiB and SortSslRunDesc.stack_bytes. Must
 * return: no exception or jump may leave it. */
typedef void (*SortSslTextureLookup)(void *user, const SortSslTextureCall *call);

typedef struct SortSslRunDesc {
    size_t size_bytes;                   /* sizeof(SortSslRunDesc) */
    const SortSslParams *params;         /* of the batch's program; NULL: all defaults */
    SortSslTextureLookup texture_lookup; /* needed if the program has texture sites */
    void *user;                          /* handed to texture_lookup */
    uint32_t loop_budget; /* turns of loops and recursive calls that one point may take; 0: 2^20 */
    uint32_t stack_bytes; /* of the stack, for recursive shaders; 0: 256 KiB */
    /* The transpose of texture_lookup, needed by derivatives by texels: adds to the gradient of each texel that the lookup blends the
     * adjoint of the result times the texel's weight in it (SortSslTexelSum). */
    SortSslTextureLookup texture_adjoint;
} SortSslRunDesc;

/* Runs the program on all points that are live; desc may be NULL. A point's results depend on its inputs alone, to the bit:
 * not on the other points, nor on lanes, nor on the floating-point modes of the calling thread, which are restored. Inputs
 * that are subnormal become zero in place. Errors: INVALID (a parameter without a value; no texture_lookup or texture_adjoint; a
 * derivative that is not finite, for which nothing runs). */
SortSslStatus sort_ssl_batch_run(SortSslBatch *batch, const SortSslRunDesc *desc,
                                 SortSslError *err);

/* The 16 lanes of one number of an output, after a run. Derivatives need SortSslBuildDesc.output_derivs. NULL: out of range,
 * none, or of type bool or int (for those the second form). */
const float *sort_ssl_batch_output(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                   SortSslShadow shadow, uint32_t number);
const int32_t *sort_ssl_batch_output_int(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                         uint32_t number);
/* An output at all points at once: number n of point i goes to out_numbers[i * number_count + n], and count is point_count times
 * number_count. Errors: INVALID (count; a closure; no derivatives). */
SortSslStatus sort_ssl_batch_read_output(const SortSslBatch *batch, uint32_t output,
                                         SortSslShadow shadow, double *out_numbers, size_t count,
                                         SortSslError *err);
/* Bit i: lane i of the block has the lobe. 0 when out of range. */
uint32_t sort_ssl_batch_lobe_mask(const SortSslBatch *batch, uint32_t block, uint32_t lobe);
/* The 16 lanes of a lobe's weight (component 0 to 2: r, g, b) or of a number of its arguments; only those of its mask have
 * one. NULL: out of range, or for the second form an argument of type bool or int, which the third has. */
const float *sort_ssl_batch_lobe_weight(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                        uint32_t component);
const float *sort_ssl_batch_lobe_arg(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                     uint32_t number);
const int32_t *sort_ssl_batch_lobe_arg_int(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                           uint32_t number);

typedef enum SortSslFaultKind {
    SORT_SSL_FAULT_INDEX,     /* an array index out of range; the nearest element was taken */
    SORT_SSL_FAULT_LOOP,      /* loop_budget ran out */
    SORT_SSL_FAULT_RECURSION, /* loop_budget or stack_bytes ran out in a recursive call */
    SORT_SSL_FAULT_CLOSURES,  /* a closure grew beyond what it has room for */
    SORT_SSL_FAULT_TAPE /* a loop that bwd_diff walks back took more turns than it has room for */
} SortSslFaultKind;

/* The first thing that went wrong at a point; its results are defined all the same. */
typedef struct SortSslFault {
    size_t size_bytes; /* sizeof(SortSslFault) */
    SortSslFaultKind kind;
    const char *file; /* "" and 0, 0: in the standard library */
    uint32_t line, column;
    const char *text;
} SortSslFault;

/* After a run: true if something went wrong at that point, which *out (may be NULL) describes. */
bool sort_ssl_batch_fault(const SortSslBatch *batch, uint32_t point, SortSslFault *out);

/* The first point from `from_point` on with a fault, or SORT_SSL_NONE. */
uint32_t sort_ssl_batch_next_fault(const SortSslBatch *batch, uint32_t from_point);

/* --- exact sums ---------------------------------------------------------------------------------------- */

/* The sum of the results of points, as of the gradients of "backward" units: exact integer addition of numbers that are
 * rounded once, to a multiple of 2^-64. So it has the same bits for any order of points and batches and any number of threads
 * that have sums of their own. One thread at a time uses a sum. */
typedef struct SortSslSum SortSslSum; /* given back by sort_ssl_sum_destroy */

/* A sum of nothing, of all float numbers of all outputs of a program. Errors: INVALID, NO_MEMORY. */
SortSslStatus sort_ssl_sum_create(const SortSslProgram *program, SortSslSum **out_sum,
                                  SortSslError *err);
void sort_ssl_sum_destroy(SortSslSum *sum);
/* Adds the results of a run at points that are live. What cannot be summed is refused, and the sum stays as it was. Errors:
 * INVALID (a batch of another program; with the first point: a number is infinite or NaN or at least 2^31 in absolute value, an
 * adjoint is not finite, the point has a fault), LIMIT (more than 2^31 - 1 points). */
SortSslStatus sort_ssl_sum_add(SortSslSum *sum, const SortSslBatch *batch, SortSslError *err);
/* Adds another sum of the same program. Errors: INVALID, LIMIT. */
SortSslStatus sort_ssl_sum_merge(SortSslSum *sum, const SortSslSum *other, SortSslError *err);
/* The sum of a number of an output, rounded once; 0 for bools and ints. Errors: INVALID. */
SortSslStatus sort_ssl_sum_value(const SortSslSum *sum, uint32_t output, uint32_t number,
                                 double *out_value, SortSslError *err);

/* --- exact sums by texel ------------------------------------------------------------------------------- */

/* Sums at many places, of which few may be touched and which may be more than fit into memory: gradients of texels. What a place is,
 * the host says: such as (row * width + column) * 4 + channel. Exact as SortSslSum is. Places lie in pages, which take memory from when
 * they are touched; what exceeds the budget goes to a file. One thread at a time uses a sum. */
typedef struct SortSslTexelSum SortSslTexelSum; /* given back by sort_ssl_texel_sum_destroy */

typedef struct SortSslTexelSumDesc {
    size_t size_bytes;     /* sizeof(SortSslTexelSumDesc) */
    uint64_t place_count;  /* 1 to 2^40 */
    uint64_t budget_bytes; /* all memory of the sum; 0: 256 MiB */
    const char *folder;    /* for a file without a name; NULL: what exceeds the budget is refused */
} SortSslTexelSumDesc;

/* Sums of nothing. Errors: INVALID (the count), LIMIT (a budget that is too small for the tables; the text says what would do),
 * NO_MEMORY. */
SortSslStatus sort_ssl_texel_sum_create(const SortSslTexelSumDesc *desc, SortSslTexelSum **out_sum,
                                        SortSslError *err);
void sort_ssl_texel_sum_destroy(SortSslTexelSum *sum);
/* Adds `numbers_each` numbers to the places from places[i] on, for each i below place_count, [place_count][numbers_each] in all. After an
 * error a part may have been added. Errors: INVALID (a place that is none; a number that is infinite or NaN or at least 2^24 in
 * absolute value), LIMIT (the budget, without a folder; more than 2^38 numbers), IO, NO_MEMORY. */
SortSslStatus sort_ssl_texel_sum_add(SortSslTexelSum *sum, const uint64_t *places,
                                     uint32_t place_count, const float *numbers,
                                     uint32_t numbers_each, SortSslError *err);
/* Adds another sum of as many places, which may read and write its file, too. Errors: INVALID, LIMIT, IO, NO_MEMORY. */
SortSslStatus sort_ssl_texel_sum_merge(SortSslTexelSum *sum, SortSslTexelSum *other,
                                       SortSslError *err);
/* The sums at places first_place and so on, each rounded once. Errors: INVALID, IO, NO_MEMORY. */
SortSslStatus sort_ssl_texel_sum_read(SortSslTexelSum *sum, uint64_t first_place, uint64_t count,
                                      double *out_values, SortSslError *err);

#ifdef __cplusplus
}
#endif
#endif
