/* SSL, the SORT Shading Language: a compiler from source text to machine code.
 *
 *   source --ssl_unit_compile--> SslUnit --ssl_program_build--> SslProgram --ssl_program_kernel--> code
 *            (verified IR)                 (derivative passes, specialised, LLVM)
 *
 * Several units can be linked into one larger unit (ssl/ssl_group.h).
 *
 * The language is independent of the renderer. When the host creates a context, it passes tables of the
 * globals that shaders may read and of the closures that they may make. No function here prints or exits.
 *
 * Threads: every function may be called from any thread, and builds run in parallel. One object must not be
 * released or destroyed while another thread still uses the same reference.
 * Lifetimes: units and programs are reference-counted; the context must outlive them. */
#ifndef SSL_H
#define SSL_H

#include "base/arena.h"
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
    SSL_NORMAL, /* color, point, vector and normal are float3 to the type checker; the tag serves tools */
    SSL_MATRIX,
    SSL_STRING,
    SSL_CLOSURE,
    SSL_TEXTURE2D,
    SSL_STRUCT, /* parameters and outputs only; an SslShape describes its members */
    SSL_ARRAY
} SslType;

/* Returns the number of scalars in a value of a basic type: 3 for SSL_COLOR; 0 for void, string, closure,
 * texture2d, struct and array. */
uint32_t ssl_type_scalars(SslType type);
/* Returns the type's name as source spells it: "float3". The string is static. */
const char *ssl_type_name(SslType type);

/* The layout of a struct or an array as a list of scalars, in the order of the source: member after member,
 * element after element. */
typedef struct SslShape {
    const char *name; /* for messages: "Ray", "float[4]" */
    /* Names and types of all members; two types are the same if their keys are equal. */
    const char *key;
    const SslType *kinds; /* [scalar_count] SSL_BOOL, SSL_INT or SSL_FLOAT */
    uint32_t scalar_count;
} SslShape;

/* Returns the number of scalars in a value. `shape` is read for structs and arrays only. */
uint32_t ssl_value_scalars(SslType type, const SslShape *shape);
/* Returns the kind of one scalar of a value: SSL_BOOL, SSL_INT or SSL_FLOAT. */
SslType ssl_value_kind(SslType type, const SslShape *shape, uint32_t scalar);
/* Returns the type's name for messages: "color", "float[4]". It lives as long as `shape`. */
const char *ssl_value_name(SslType type, const SslShape *shape);

/* --- scattering functions ------------------------------------------------------------------ */

/* The kinds of a lobe, as the words of its definition. */
enum {
    SSL_LOBE_REFLECTION = 1,   /* to the side where light comes from */
    SSL_LOBE_TRANSMISSION = 2, /* to the other side */
    SSL_LOBE_DIFFUSE = 4,
    SSL_LOBE_GLOSSY = 8,
    SSL_LOBE_DELTA = 16,       /* one direction, or a few: only `sample` finds them */
    SSL_LOBE_TRANSPARENT = 32, /* straight on, which is no bounce */
    SSL_LOBE_SUBSURFACE = 64,  /* into a body, with the medium that it gives */
    SSL_LOBE_FIBRE = 128,      /* all around, whatever the side of the normal */
    SSL_LOBE_BENT = 256, /* the normal bends so that mirror directions stay above the surface */
    /* Passes count its light as that, whatever the words above say. */
    SSL_LOBE_SEEN_AS_GLOSSY = 512,
    SSL_LOBE_SEEN_AS_TRANSMISSION = 1024,
    SSL_LOBE_RECIPROCAL = 2048, /* exchanging light and viewer changes nothing */
    SSL_LOBE_PORTAL = 4096,     /* a transparent one that leads elsewhere */
    SSL_LOBE_FIXED = 8192,      /* the normal does not bend, and bumps do not shadow */
    /* No word: sample reads the third random number, or may. */
    SSL_LOBE_THIRD = 16384
};

/* Returns the word of one of these kinds: "reflection"; NULL: there is no such kind. The string is static. */
const char *ssl_lobe_word(uint32_t kind);

/* --- tables of the host ------------------------------------------------------------------- */

/* A row of the globals table: a value that shaders read as `global_value<name>`. Rows lie in memory in the
 * order of the table. Allowed types: bool, int, and float up to normal. A float of the name SSL_SAMPLE_WIDTH is what [Filtered]
 * functions multiply pixels' derivatives by to have those of a sample: 1, or less with several samples a pixel. */
#define SSL_SAMPLE_WIDTH "sample_width"
typedef struct SslGlobalRow {
    const char *name;
    SslType type;
    bool has_derivs;   /* the host supplies d/dx and d/dy per pixel; never for bool and int */
    const char *space; /* for documents: the coordinate space, as "world" */
    const char *doc;   /* for documents: meaning, unit and sign */
} SslGlobalRow;

typedef struct SslClosureArg {
    const char *name;
    SslType type; /* float, color, normal ... */
} SslClosureArg;

/* A row of the attributes table: a value that the host supplies for every object (time, random numbers, ray
 * type ...), which sources read as `attribute<name>` without declaring it. Allowed types: bool, int, and
 * float up to normal. Attributes that a source declares itself are bound by the material. */
typedef struct SslAttributeRow {
    const char *name;
    SslType type;
    bool has_derivs; /* never for bool and int */
    const char *doc;
} SslAttributeRow;

enum {
    SSL_CLOSURE_EMISSION = 1,   /* SSL_KERNEL_EMISSION programs keep this closure */
    SSL_CLOSURE_TRANSPARENT = 2 /* SSL_KERNEL_OPACITY programs keep this closure */
};

/* A row of the closures table: a closure that shaders make with `make_closure<name>(...)`. */
typedef struct SslClosureRow {
    const char *name;
    const SslClosureArg *args;
    uint32_t arg_count;
    uint32_t flags; /* SSL_CLOSURE_* */
    const char *doc, *citation;
} SslClosureRow;

/* A row of the questions table: something that the host works out for a point from arguments, as shaders ask for it by
 * `ask_host<name>(...)`. Types of arguments and of the answer: bool, int, and float up to normal. Answers have no derivatives. */
typedef struct SslQuestionRow {
    const char *name;
    const SslClosureArg *args;
    uint32_t arg_count; /* 1 to SSL_MAX_CLOSURE_ARGS */
    SslType result;
    const char *doc;
} SslQuestionRow;

enum {
    SSL_MAX_GLOBALS = 64,
    SSL_MAX_CLOSURE_ARGS = 16,
    SSL_MAX_CLOSURES = 1024,
    SSL_MAX_QUESTIONS = 64
};

/* The tables, with all their strings, are borrowed and must outlive the context. */
typedef struct SslContextDesc {
    size_t size_bytes; /* sizeof(SslContextDesc) */
    const SslGlobalRow *globals;
    const SslClosureRow *closures;
    uint32_t global_count, closure_count;
    const SslAttributeRow *attributes; /* may be NULL if attribute_count is 0 */
    uint32_t attribute_count;
    const SslQuestionRow *questions; /* may be NULL if question_count is 0 */
    uint32_t question_count;
    const char *cache_folder; /* object cache on disk, created when missing; NULL: no cache */
    const char *cpu;          /* a name of ssl_baseline_cpus; NULL: this machine */
} SslContextDesc;

/* The place of each global inside a block, in floats from the block's start. A global takes
 * [component][SSL_BLOCK] floats for its value and, if it has derivatives, as many for ddx and again for ddy. */
typedef struct SslGlobalsLayout {
    uint32_t offset_floats[SSL_MAX_GLOBALS];
    uint32_t stride_bytes; /* size of a block; a multiple of 64 */
} SslGlobalsLayout;

/* Computes the layout of `row_count` <= SSL_MAX_GLOBALS rows. */
void ssl_globals_layout(const SslGlobalRow *rows, uint32_t row_count, SslGlobalsLayout *out_layout);

typedef struct SslContext SslContext;
/* Checks the tables and loads the standard library. *out_context is the caller's (ssl_context_destroy).
 * Errors: a table that breaks a limit, an unknown CPU, a cache folder that is not private to this user, or
 * too little memory; *out_context is then NULL. */
Status ssl_context_create(const SslContextDesc *desc, SslContext **out_context,
                          Error *err) SORT_MUST_CHECK;
/* Returns the baselines that SslContextDesc.cpu may name, static and NULL-terminated. */
const char *const *ssl_baseline_cpus(void);
enum { SSL_CPU_CLASS_BYTES = 64 };
/* Writes the class of this machine: its CPU's model and a digest of its features. */
Status ssl_native_cpu_class(char out[SSL_CPU_CLASS_BYTES], Error *err) SORT_MUST_CHECK;
/* Returns the class of machines that the context compiles for: the baseline that `cpu` named, else the class
 * of this machine. The string is the context's. */
const char *ssl_context_cpu_class(const SslContext *ctx);
/* All units and programs of the context must have been released. NULL is allowed. */
void ssl_context_destroy(SslContext *ctx);

/* --- values ------------------------------------------------------------------------------- */

typedef struct SslValue {
    SslType type;
    union {
        bool b;
        int32_t i;
        float f[16]; /* float, vectors and matrix (row-major) */
        const char *s;
        struct
        { /* struct and array: all scalars in order, bools as 0 and 1; the list is borrowed */
            const double *list;
            uint32_t count;
        };
    };
} SslValue;

/* Returns whether a parameter of the type accepts the value. A float accepts an int, a 3-vector any other
 * 3-vector, and a struct or array any value with the right number of scalars. */
bool ssl_value_fits(const SslValue *value, SslType type, const SslShape *shape);

/* --- units: one checked shader of a source, as IR ------------------------------------------ */

typedef struct SslSource {
    const char *name;   /* for messages: the path as the user wrote it */
    Str text;           /* UTF-8; borrowed for the call */
    const char *shader; /* the name of the shader to compile; NULL if the source has only one */
} SslSource;

typedef struct SslMetadata {
    const char *name;
    SslValue value;
} SslMetadata;

typedef struct SslParamInfo {
    const char *name;
    SslType type;
    const SslShape *shape; /* NULL unless the type is a struct or array */
    /* If false, the host must set the parameter. A closure parameter without a wire is the null closure. */
    bool has_default;
    SslValue default_value;
    const SslMetadata *metadata;
    uint32_t metadata_count;
    Span span;
    bool is_differentiated; /* an input of a derivative: it is never a constant of the code */
} SslParamInfo;

typedef struct SslMetadataList {
    const SslMetadata *items;
    uint32_t count;
} SslMetadataList;

/* An attribute that the unit reads. One that the source declares is an input of the material, like a texture,
 * and the material may bind it to an attribute of another name. */
typedef struct SslAttributeInfo {
    const char *name;
    SslType type;
    bool has_derivs;
    bool is_declared; /* false: it is a row of the host's table */
    /* The attribute of the object to read unless the material binds another: the name in the source. In a
     * group, `name` is "node.attribute", and `binds` is still the plain name. */
    const char *binds;
    SslValue default_value; /* for points without the attribute; 0 if the source gives none */
    const SslMetadata *metadata;
    uint32_t metadata_count;
    Span span; /* the declaration */
} SslAttributeInfo;

typedef struct SslOutputInfo {
    const char *name;
    SslType type;
    const SslShape *shape; /* NULL unless the type is a struct or array */
    const SslMetadata *metadata;
    uint32_t metadata_count; /* 0 for the outputs of a group */
    /* A gradient that is zero whatever the inputs are: only comparisons and what else has no derivative read the input. */
    bool is_zero;
} SslOutputInfo;

enum { SSL_TEXTURE_UNBOUND = UINT32_MAX };

/* The interface of a unit. Everything lives as long as the unit. */
typedef struct SslUnitInfo {
    const char *name; /* the name of the shader or group */
    const SslParamInfo *params;
    const SslOutputInfo *outputs;
    const char *const *textures; /* names of the file-scope texture2d handles, by slot */
    /* [texture_count] host ids that a group's description binds, or SSL_TEXTURE_UNBOUND. NULL: no texture
     * is bound. */
    const uint32_t *texture_ids;
    const SslMetadata *metadata;             /* the shader's own */
    const SslMetadataList *texture_metadata; /* [texture_count]; NULL: no texture has metadata */
    /* The declared attributes in the order of the source, then the rows of the host's table that are read. */
    const SslAttributeInfo *attributes;
    uint32_t param_count, output_count, texture_count, metadata_count, attribute_count;
} SslUnitInfo;

typedef struct SslUnit SslUnit;
/* Compiles one shader to verified IR. On success *out_unit is the caller's (ssl_unit_release), and `diags` may
 * have got warnings. STATUS_SOURCE: *out_unit is NULL and `diags` has at least one error more.
 * STATUS_NO_MEMORY is the only other error. */
Status ssl_unit_compile(SslContext *ctx, const SslSource *src, DiagList *diags,
                        SslUnit **out_unit) SORT_MUST_CHECK;
/* Returns the unit's interface, which lives as long as the unit. */
const SslUnitInfo *ssl_unit_info(const SslUnit *unit);
/* Drops one reference; the last one frees the unit. NULL is allowed. */
void ssl_unit_release(SslUnit *unit);

/* Adds a reference and returns the unit. */
SslUnit *ssl_unit_retain(SslUnit *unit);

/* --- derivatives of units ------------------------------------------------------------------- */

typedef enum SslInputKind {
    SSL_INPUT_PARAM,
    SSL_INPUT_GLOBAL,
    SSL_INPUT_ATTRIBUTE,
    SSL_INPUT_TEXTURE /* the texels of a texture */
} SslInputKind;

typedef struct SslDerivativeInput {
    SslInputKind kind;
    const char *name;
} SslDerivativeInput;

/* A derivative of outputs by inputs. Both need floats among their numbers; closures have no derivative. */
typedef struct SslDerivativeDesc {
    size_t size_bytes; /* sizeof(SslDerivativeDesc) */
    bool is_backward;
    const SslDerivativeInput *inputs;
    const char *const *outputs; /* backward: float and its vectors only */
    uint32_t input_count, output_count;
    uint32_t direction_count; /* forward: 1 to 4; 0 is 1 */
    /* Backward: edges count. The gradient is that of the shader's mean over the pixels around the point, whose sizes are the
     * derivatives of the globals and attributes by x and y: what a comparison or a rounding changes between neighbouring pixels
     * has a derivative. Without derivatives of globals there are no edges. */
    bool has_edges;
    /* Neither forward nor backward: finds where has_edges counts something. */
    bool marks_edges;
    /* [input_count]: floats of this input, a parameter, are shaken, by numbers that differ from pixel to pixel, so that a choice that comes
     * out the same at all pixels has edges, too. NULL: none is. [Yang2022 7.2] */
    const bool *has_noise;
} SslDerivativeDesc;

/* Makes of a unit the unit that computes a derivative of it. It is used like any other; its interface is that of the unit
 * with these changes, where X is the name of a parameter, "global_value<NAME>", "attribute<NAME>" or "texture2d<NAME>":
 *
 *   forward    further inputs: "tangent(X)" of each input X, a parameter for a parameter, a texture, whose texels are tangents, for a
 *              texture, and else an attribute, 0 at first; outputs: those of the list, then "tangent(OUTPUT)" of each. With several
 *              directions, which textures do not have, "tangent2(X)" and "tangent2(OUTPUT)" and so on follow, input and output for
 *              input and output
 *   backward   further attributes: "adjoint(OUTPUT)", 0 at first. Outputs: "gradient(X)" of each input alone: at each point the
 *              gradient of the sum of all numbers of these outputs times their adjoints. ssl_sum.h adds them up. That of a texture is a
 *              float4, by a color that is added to all texels; what single texels get, the kernel hands to
 *              SslServices.tex_adjoint lookup by lookup, and ssl_texel_sum.h adds up
 *   marking    outputs: those of the list, then an int "edges()". Points that are a pixel apart and have one and the same number there have no
 *              edge between them: their gradients with and without edges are the same. It costs little more than the outputs
 *
 * If an input has noise: further parameters "noise(X)", like X, 0 at first, and "seed()", an int; a further attribute, float2
 * "pixel()", whole numbers that differ from pixel to pixel, with derivatives. Wherever X is read it is X + u noise(X), where u is
 * drawn from -0.5 to 0.5 for each pixel, seed and number, and is the same in all units of one shader with the same inputs.
 *
 * Of a group, too, whose parameters and textures are called "node.X". The rules are those of fwd_diff and bwd_diff, and functions need no mark. A gradient that overflows is infinite or NaN; a
 * tangent is then 0. `diags` may get errors S08xx (STATUS_SOURCE). Other errors are in `err`: STATUS_NOT_FOUND, STATUS_INVALID
 * (no derivative; nothing given, or twice), STATUS_UNSUPPORTED (a texture in several directions, a derivative, a group with one),
 * STATUS_NO_MEMORY.
 * The caller owns *out_unit. */
Status ssl_unit_differentiate(const SslUnit *unit, const SslDerivativeDesc *how, DiagList *diags,
                              SslUnit **out_unit, Error *err) SORT_MUST_CHECK;

/* Appends the names of the shaders of a source to `out`, in order, each followed by '\n'. `src->shader` is not
 * read. STATUS_SOURCE: `diags` has at least one error more. */
Status ssl_source_shaders(SslContext *ctx, const SslSource *src, DiagList *diags,
                          StrBuf *out) SORT_MUST_CHECK;

enum { SSL_MAX_BSDF_LOBES = 8 };

/* A scattering function that a source defines. Its shaders are NAME.prepare, NAME.eval (unless all lobes are deltas) and
 * NAME.sample, which ssl_unit_compile finds by these names; the rows that they read and write are described in
 * docs/reference/bsdf-programs.md. */
typedef struct SslBsdfInfo {
    char name[64];
    bool is_layer; /* it has an argument that is a closure, which it covers */
    uint32_t lobe_count;
    uint32_t lobe_flags[SSL_MAX_BSDF_LOBES]; /* SSL_LOBE_* */
} SslBsdfInfo;

/* Lists the scattering functions of a source, at most `room`. STATUS_SOURCE: `diags` has at least one error more. */
Status ssl_source_bsdfs(SslContext *ctx, const SslSource *src, DiagList *diags, SslBsdfInfo *out,
                        uint32_t room, uint32_t *out_count) SORT_MUST_CHECK;

/* Describes a scattering function as a closure that shaders may make: a row for SslContextDesc.closures. Its texts lie in the
 * arena. STATUS_SOURCE as above; STATUS_NOT_FOUND: the source has none of that name. */
Status ssl_source_closure(SslContext *ctx, const SslSource *src, const char *name, DiagList *diags,
                          Arena *arena, SslClosureRow *out_row) SORT_MUST_CHECK;

/* --- programs: a unit specialised and compiled to a kernel ---------------------------------- */

typedef enum SslKernelKind {
    SSL_KERNEL_SHADE, /* all outputs */
    SSL_KERNEL_OPACITY, /* only the closures flagged SSL_CLOSURE_TRANSPARENT, and the code that they need */
    SSL_KERNEL_EMISSION /* only the closures flagged SSL_CLOSURE_EMISSION, and the code that they need */
} SslKernelKind;

/* The value that a parameter is specialised to; `param` is its name. */
typedef struct SslConstant {
    const char *param;
    SslValue value;
} SslConstant;

/* Where a program with rows finds a value: number `row` and the following of a list, one for each scalar. */
typedef struct SslRowPlace {
    uint16_t list, row;
} SslRowPlace;

typedef struct SslRows {
    const SslRowPlace *params; /* [SslUnitInfo.param_count] */
    const SslRowPlace
        *outputs; /* [SslUnitInfo.output_count + 1]; the last one is of the fault words */
} SslRows;

/* The options of a build; a field that is zero has its default.
 *
 * The bool, int, float and string parameters in `constants` become constants of the code, and code that they
 * switch off is removed. Strings are always constants, with their default value if they are not listed. A host
 * should list switches, and floats that are exactly 0 or 1 (mostly weights of closures); other floats and
 * colours are better left as data, so that materials share kernels. */
typedef struct SslBuildDesc {
    size_t size_bytes; /* sizeof(SslBuildDesc) */
    SslKernelKind kind;
    const SslConstant *constants;
    uint32_t constant_count;
    uint32_t llvm_level; /* 0: the default, nearly O2; 1: O0, 2: O1, 3: O2, 4: O3 */
    /* Parameters that are not listed become constants too, with their default value, if they are bools, ints,
     * or floats that are exactly 0 or 1. In a group, the default is the value that the node sets. */
    bool bake_switches;
    /* The number of points computed at once: 1, 4, 8 or 16; 0 selects what suits the CPU. Results have equal
     * bits at every width. */
    uint32_t lanes;
    /* Every derivative is zero; for measurements of what derivatives cost. */
    bool without_derivatives;
    bool merged_summaries;   /* one derivative clone per function instead of one per signature */
    bool output_derivatives; /* for tools: fills SslProgramInfo.outputs_ddx and outputs_ddy */
    /* Not NULL: the kernel computes one block of points, each of which has parameters and outputs of its own, in rows at
     * these places (SslBatch.params). Parameters have no derivatives. The unit must have no closure among its outputs. */
    const SslRows *rows;
    const char *symbol; /* the kernel's symbol in dumps of machine code; NULL: "kernel" */
    bool
        without_code; /* for tools that only read SslProgramInfo: nothing is compiled, and there is no kernel */
} SslBuildDesc;

typedef struct SslParamSlot {
    /* The place in the parameter block. A scalar takes 4 bytes: a float, an int, or a bool as int32. */
    uint32_t offset_bytes;
    bool is_used; /* false: the parameter became a constant, or nothing reads it */
} SslParamSlot;

/* The options of one texture call in the source. */
typedef struct SslTextureSite {
    uint32_t texture; /* slot: index into SslUnitInfo.textures */
    /* As written in the source; NULL: the default. The same holds for wrap_s, wrap_t. */
    const char *filter;
    const char *wrap_s, *wrap_t;
    bool has_missing_color;
    float missing_color[4];
    int32_t channel; /* the first channel that the call reads; default 0 */
    Span span;
} SslTextureSite;

/* The place of one closure term in a result block. Offsets are in bytes from the block's start. */
typedef struct SslLobeSlot {
    uint32_t closure;       /* row of the closures table */
    uint32_t output;        /* index of the closure output that the term belongs to */
    int32_t parent;         /* slot of the closure that has the term as an argument; -1: none */
    uint32_t mask_offset;   /* uint16_t: bit i says that lane i has the term */
    uint32_t weight_offset; /* float[3][SSL_BLOCK] */
    uint32_t args_offset;   /* float[scalars of all arguments][SSL_BLOCK], in the row's order */
} SslLobeSlot;

typedef struct SslOutputSlot {
    /* In bytes from the start of a result block: float or int32 [scalars][SSL_BLOCK]. Unused for closures. */
    uint32_t offset;
} SslOutputSlot;

/* The place of an attribute in a block of attributes. Its value is [component][SSL_BLOCK], ints and bools as
 * int32; ddx and ddy follow if wants_derivs. Attributes that the kernel does not read take no room. */
typedef struct SslAttributeSlot {
    bool is_used, wants_derivs, wants_existence;
    uint32_t offset_bytes; /* from the start of the block */
    /* int32 [SSL_BLOCK]: 1 if the point has the attribute, else 0 */
    uint32_t existence_offset_bytes;
} SslAttributeSlot;

typedef struct SslBuildTimes {
    double ir_ms, llvm_ir_ms, optimise_ms, codegen_ms, link_ms;
    bool from_cache;
} SslBuildTimes;

typedef struct SslProgramInfo {
    const SslUnitInfo *unit;
    const SslParamSlot *params;  /* [unit->param_count] */
    const bool *texture_is_used; /* [unit->texture_count] it is looked up */
    const bool
        *texels_have_adjoints;    /* [unit->texture_count] the kernel calls tex_adjoint for it */
    const SslOutputSlot *outputs; /* [unit->output_count] */
    /* [unit->output_count] d/dx and d/dy of each output, or NULL unless SslBuildDesc.output_derivatives. An
     * offset of 0 stands for an output without derivatives (int, closure ...). */
    const SslOutputSlot *outputs_ddx, *outputs_ddy;
    const SslLobeSlot *lobes;
    const SslTextureSite *texture_sites;
    const SslAttributeSlot *attributes; /* [unit->attribute_count] */
    uint32_t attributes_stride_bytes;   /* size of a block; 0: the kernel reads no attribute */
    uint32_t lobe_count, texture_site_count;
    uint32_t params_bytes, result_stride_bytes;
    uint32_t fault_offset; /* in a result block: uint32_t[SSL_BLOCK], 0 or 1 + fault site */
    uint32_t fault_site_count;
    /* Bit i of globals_value: the kernel reads the value of row i; of globals_derivs: its derivatives. */
    uint64_t globals_value, globals_derivs;
    uint64_t questions; /* bit i: the kernel asks row i of the host's questions */
    uint32_t values,
        values_shadowed; /* scalar values, and those among them that carry d/dx or d/dy */
    uint32_t ir_instructions;
    /* Instructions that the derivative analyses visited; SSL_MAX_VISITS is their limit. */
    uint64_t visits;
    SslBuildTimes times;
} SslProgramInfo;

typedef struct SslProgram SslProgram;
/* Specialises a unit and compiles it, or loads the code from the object cache; the call blocks meanwhile.
 * Programs with equal IR share one kernel. On success *out_program is the caller's (ssl_program_release); it
 * holds a reference to the unit. STATUS_SOURCE: `diags` has at least one error more. Other errors are in `err`:
 * a constant that does not fit its parameter, a limit, too little memory, or a defect (STATUS_INTERNAL). */
Status ssl_program_build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how,
                         DiagList *diags, SslProgram **out_program, Error *err) SORT_MUST_CHECK;
/* A unit with its constants, as far as kernels of all kinds share the work of the compiler. Immutable. */
typedef struct SslSpecialised SslSpecialised;
/* Specialises a unit for several kinds of kernels, whose programs come sooner so than by ssl_program_build each. kind, lanes,
 * llvm_level, rows, symbol and without_code of `how` do not matter. On success *out is the caller's (ssl_specialised_destroy);
 * it holds a reference to the unit. Errors as of ssl_program_build. */
Status ssl_unit_specialise(const SslUnit *unit, const SslBuildDesc *how, DiagList *diags,
                           SslSpecialised **out, Error *err) SORT_MUST_CHECK;
/* As ssl_program_build of the unit, with equal results. What was said while specialising it is not said again, nor is its
 * time counted. `how`: as given to ssl_unit_specialise, but for what does not matter there. Any thread may call it. */
Status ssl_specialised_build(const SslSpecialised *special, const SslBuildDesc *how,
                             DiagList *diags, SslProgram **out_program, Error *err) SORT_MUST_CHECK;
/* NULL is allowed. Programs stay. */
void ssl_specialised_destroy(SslSpecialised *special);

/* Returns what the host needs to call the kernel. It lives as long as the program. */
const SslProgramInfo *ssl_program_info(const SslProgram *p);
/* Returns the kernel, which may be called from any thread while the program is held; NULL if it was built without code. */
SslKernelFn ssl_program_kernel(const SslProgram *p);
/* Adds a reference and returns the program. */
SslProgram *ssl_program_retain(SslProgram *p);
/* Drops one reference; the last one frees the program and its code. NULL is allowed. */
void ssl_program_release(SslProgram *p);

/* Writes the default of every parameter into `block`, which has info->params_bytes bytes. */
void ssl_params_init(const SslProgram *p, void *block);
/* Writes one parameter, an index into SslUnitInfo.params, into `block`. An int converts to float, and a float
 * vector or a list to a struct or array of as many scalars. STATUS_INVALID: the value does not fit the type, or
 * the parameter is a string, which is always a constant of the code. */
Status ssl_params_set(const SslProgram *p, void *block, uint32_t param, const SslValue *value,
                      Error *err) SORT_MUST_CHECK;

typedef enum SslFaultKind {
    SSL_FAULT_INDEX,
    SSL_FAULT_LOOP,
    SSL_FAULT_RECURSION,
    SSL_FAULT_CLOSURES,
    SSL_FAULT_TAPE
} SslFaultKind;
/* A fault that a kernel can record, with its place in the source. Strings live as long as the program. */
typedef struct SslFaultInfo {
    SslFaultKind kind;
    Span span;
    const char *source_name;
    uint32_t line, column; /* from 1 */
    const char *text;      /* "array index out of range" */
} SslFaultInfo;
/* Describes fault site `site` < info->fault_site_count: the fault word of a result block, minus 1. */
void ssl_fault_describe(const SslProgram *p, uint32_t site, SslFaultInfo *out_info);
/* Returns the place of texture site `site` in its source. *out_source lives as long as the program's unit. For
 * calls in the standard library, which have no place, it is "" and line and column are 0. */
void ssl_texture_site_place(const SslProgram *p, uint32_t site, const char **out_source,
                            uint32_t *out_line, uint32_t *out_column);

/* --- text of the compiler's stages ---------------------------------------------------------- */

typedef enum SslDumpStage {
    SSL_DUMP_TOKENS,
    SSL_DUMP_AST,
    SSL_DUMP_FILTER,    /* what [Filtered] functions filter, and what not */
    SSL_DUMP_IR,        /* before the passes */
    SSL_DUMP_IR_PASSES, /* after each pass */
    SSL_DUMP_IR_FINAL,
    SSL_DUMP_LLVM,
    SSL_DUMP_LLVM_OPTIMISED,
    SSL_DUMP_ASM,
    SSL_DUMP_OBJECT /* an object file that a linker takes, in the machine's format */
} SslDumpStage;

/* Both functions compile again and append the text of `stage` to `out`. ssl_unit_dump takes a compiled unit and
 * the stages from SSL_DUMP_FILTER on; ssl_dump takes a source and any stage. Errors are those of ssl_unit_compile
 * and ssl_program_build. */
Status ssl_unit_dump(const SslUnit *unit, const SslBuildDesc *how, SslDumpStage stage,
                     DiagList *diags, StrBuf *out, Error *err) SORT_MUST_CHECK;
Status ssl_dump(SslContext *ctx, const SslSource *src, const SslBuildDesc *how, SslDumpStage stage,
                DiagList *diags, StrBuf *out, Error *err) SORT_MUST_CHECK;

#endif
