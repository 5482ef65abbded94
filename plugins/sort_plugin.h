/* The C ABI between SORT and its plugins: image decoders and scene importers.
 *
 * A plugin is a shared library with one exported symbol, sort_plugin_entry. It includes this header and
 * nothing else of SORT. The host checks the ABI number first, then reads only as much of each struct
 * as its size_bytes says. Plugins run in a child process (`texcache make`, `sort-render` importing),
 * because their libraries can crash or exhaust memory; the renderer itself never loads one.
 * docs/reference/plugin-abi.md describes how to write one.
 *
 * The ABI number changes when a struct changes in the middle or a rule changes its meaning. Fields
 * appended at the end of a struct with a size_bytes keep it.
 *
 * Threads: the entry is called once for each host. Distinct SortImage objects may be used from distinct
 * threads at the same time; one SortImage from one thread at a time; import() from one thread at a
 * time, and it calls the sink from that thread. Strings are UTF-8. */
#ifndef SORT_PLUGIN_H
#define SORT_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SORT_PLUGIN_ABI = 1, SORT_FAILURE_TEXT_MAX = 512 };

typedef enum SortResult {
    SORT_OK = 0,
    SORT_ERROR_OPEN,        /* cannot be opened or read */
    SORT_ERROR_FORMAT,      /* broken content */
    SORT_ERROR_UNSUPPORTED, /* well-formed, but not handled: `why` names the feature */
    SORT_ERROR_NO_MEMORY,
    SORT_ERROR_CANCELLED,
    SORT_ERROR_SINK /* the host's sink refused; the host has the reason */
} SortResult;

typedef struct SortFailure {
    char text[SORT_FAILURE_TEXT_MAX];
} SortFailure;

typedef enum SortLogLevel {
    SORT_LOG_DEBUG,
    SORT_LOG_INFO,
    SORT_LOG_WARNING,
    SORT_LOG_ERROR
} SortLogLevel;

typedef struct SortHostApi {
    size_t size_bytes;
    uint32_t abi;
    void *host; /* to be passed to each function below */
    void (*log)(void *host, SortLogLevel level, const char *text); /* any thread */
    bool (*cancelled)(void *host); /* any thread; poll in long loops */
    /* Appended. Importers open the files that the scene file names, and the scene file itself, only in this
     * way: the host looks for them, and denies access to files that do not belong to the scene. `name` is as in
     * the scene file, or made from the path passed to import(). Returns a descriptor for reading, which the
     * importer closes; -1 if the file is missing or may not be read. Called on the thread of import(). NULL:
     * the host opens nothing. */
    int (*open_file)(void *host, const char *name);
} SortHostApi;

/* --- image decoders ----------------------------------------------------------------------- */

typedef enum SortTexelType {
    SORT_TEXEL_U8,
    SORT_TEXEL_U16,
    SORT_TEXEL_HALF,
    SORT_TEXEL_FLOAT
} SortTexelType;

typedef enum SortColorSpace {
    SORT_COLOR_UNKNOWN, /* the file does not say */
    SORT_COLOR_SRGB,
    SORT_COLOR_LINEAR,
    SORT_COLOR_RAW /* data, not colour */
} SortColorSpace;

/* How the picture continues outside [0, 1]. */
typedef enum SortWrap {
    SORT_WRAP_UNKNOWN, /* the file does not say */
    SORT_WRAP_PERIODIC,
    SORT_WRAP_CLAMP,
    SORT_WRAP_MIRROR,
    SORT_WRAP_BLACK
} SortWrap;

typedef struct SortLevelInfo {
    size_t size_bytes;      /* set by the caller before the call, as for every out struct */
    uint32_t width, height; /* the display window */
    uint32_t channel_count; /* 1 to 4 (more are dropped by the decoder; it says so) */
    SortTexelType type;     /* the native type, rounded up to one of these */
    uint32_t tile_width, tile_height; /* 0 when stored by rows */
    uint32_t level_count, subimage_count;
    SortColorSpace color_space;
    int32_t alpha_channel;   /* index, or -1 */
    bool is_premultiplied;   /* alpha already in the colour */
    const char *format_name; /* "png", "openexr" ...; valid as long as the image */
    SortWrap wrap_s, wrap_t; /* along rows, and along columns */
} SortLevelInfo;

/* Pixels [x, x+width) x [y, y+height) of a level, row-major, channels interleaved, native type. Pixels
 * of the display window that the file's data window does not cover are zero. */
typedef struct SortRegion {
    uint32_t subimage, level;
    uint32_t x, y, width, height;
} SortRegion;

typedef struct SortImage SortImage;

typedef struct SortImageDecoder {
    size_t size_bytes;
    const char *name;            /* "openimageio" */
    const char *const *suffixes; /* lower case, no dot, NULL-terminated */
    SortResult (*open)(const SortHostApi *api, const char *path, SortImage **out_image,
                       SortFailure *why);
    SortResult (*level)(SortImage *image, uint32_t subimage, uint32_t level,
                        SortLevelInfo *out_info, SortFailure *why);
    /* Reads a region. out_texels: width * height * channel_count * texel bytes; out_bytes is checked. */
    SortResult (*read)(SortImage *image, const SortRegion *region, void *out_texels,
                       size_t out_bytes, SortFailure *why);
    void (*close)(SortImage *image);
} SortImageDecoder;

/* --- scene importers ---------------------------------------------------------------------- */

/* Everything in a Sort* struct handed to the sink is borrowed for the call: the sink copies.
 * Metres, right-handed, y up; linear Rec. 709 colour. Matrices are row-major, column vectors:
 * p' = M p. A mesh names a material that was sent before, an instance a mesh that was sent before.
 * When the sink returns SORT_ERROR_SINK the importer stops and returns it. */

typedef struct SortMesh {
    size_t size_bytes;
    const char *name;
    uint32_t vertex_count, triangle_count;
    const float *positions;  /* [vertex_count][3] */
    const float *normals;    /* [vertex_count][3], or NULL */
    const float *tangents;   /* [vertex_count][4], w = handedness, or NULL */
    const float *uv;         /* [vertex_count][2], or NULL; v up, origin at the lower left */
    const float *colors;     /* [vertex_count][4] linear, not premultiplied, or NULL */
    const uint32_t *indices; /* [triangle_count][3] */
    uint32_t material;       /* id from sink->material */
} SortMesh;

typedef struct SortTextureRef {
    const char *path; /* as the scene file has it: the host looks for it. NULL: none or embedded */
    const void *embedded; /* encoded file bytes (png, jpeg ...), or NULL */
    size_t embedded_bytes;
    const char *embedded_suffix; /* "png" */
    SortColorSpace color_space;
    float uv_scale[2], uv_offset[2],
        uv_rotation_rad;     /* KHR_texture_transform; 1 1, 0 0, 0 when absent */
    uint32_t wrap_u, wrap_v; /* 0 periodic, 1 clamp, 2 mirror */
    int32_t channel;         /* which channel a scalar reads; -1: all */
} SortTextureRef;

/* The metal-rough model of glTF 2.0, which OBJ/MTL and FBX are mapped to. A texture multiplies its
 * value. Set every field: zero is a value, not a default. */
typedef struct SortMaterial {
    size_t size_bytes;
    const char *name;
    float base_color[4], metallic, roughness, emission[3], emission_strength;
    float ior, transmission, normal_scale, occlusion_strength, alpha_cutoff;
    uint32_t alpha_mode; /* 0 opaque, 1 mask, 2 blend */
    bool is_double_sided;
    SortTextureRef base_color_texture, metallic_texture, roughness_texture, normal_texture,
        emission_texture, occlusion_texture, transmission_texture;
    /* Appended; an importer whose size_bytes ends before them gets a material without these layers. */
    float specular, specular_color[3]; /* of the dielectric: KHR_materials_specular; 1, (1 1 1) */
    float clearcoat, clearcoat_roughness;
    float sheen_color[3], sheen_roughness;
    /* the surface is a thin sheet that transmits, without a volume behind it */
    bool is_thin_walled;
    bool is_unlit;          /* shows its base colour independent of lighting: KHR_materials_unlit */
    bool has_vertex_colors; /* the vertex colours of a mesh multiply its base colour and alpha */
} SortMaterial;

typedef struct SortInstance {
    size_t size_bytes;
    const char *name;
    uint32_t mesh; /* id from sink->mesh */
    float transform[16];
} SortInstance;

typedef struct SortCamera {
    size_t size_bytes;
    const char *name;
    float transform[16]; /* camera to world; looks along -z, y up */
    bool is_orthographic;
    float fov_y_rad; /* perspective */
    float height_m;  /* orthographic: full height of the view */
    float aspect;    /* width / height; 0: unspecified */
} SortCamera;

typedef enum SortLightKind { SORT_LIGHT_POINT, SORT_LIGHT_SPOT, SORT_LIGHT_DISTANT } SortLightKind;

typedef struct SortLight {
    size_t size_bytes;
    const char *name;
    SortLightKind kind;
    float transform[16]; /* shines along -z */
    float color[3];      /* point, spot: intensity W/sr; distant: irradiance W/m2 */
    float inner_angle_rad, outer_angle_rad; /* spot, half angles */
    /* Appended. 0: color is radiometric, as above. Otherwise it is in candela or lux, and this is the number of
     * lumens that the file's writer used for a watt, relative to the file's emission: 1 if emission is in nits,
     * 683 if it is radiance. */
    float lumens_per_watt;
} SortLight;

typedef struct SortSceneSink {
    size_t size_bytes;
    void *sink;
    SortResult (*material)(void *sink, const SortMaterial *m, uint32_t *out_id);
    SortResult (*mesh)(void *sink, const SortMesh *m, uint32_t *out_id);
    SortResult (*instance)(void *sink, const SortInstance *i);
    SortResult (*camera)(void *sink, const SortCamera *c);
    SortResult (*light)(void *sink, const SortLight *l);
    /* Reports a feature of the file that this importer cannot import; shown to the user. */
    void (*warning)(void *sink, const char *text);
    /* Reports an author, a copyright or a licence that the file names; it is stored with the scene. */
    void (*credit)(void *sink, const char *text);
    /* Appended. Reports a missing file without which the scene looks different, such as a material library. The
     * user decides whether the import continues. */
    SortResult (*missing)(void *sink, const char *what, const char *name);
} SortSceneSink;

typedef struct SortSceneImporter {
    size_t size_bytes;
    const char *name;
    const char *const *suffixes; /* lower case, no dot, NULL-terminated */
    SortResult (*import)(const SortHostApi *api, const char *path, const SortSceneSink *sink,
                         SortFailure *why);
} SortSceneImporter;

/* --- entry -------------------------------------------------------------------------------- */

typedef struct SortPlugin {
    size_t size_bytes;
    uint32_t abi; /* SORT_PLUGIN_ABI */
    const char *name, *version;
    const SortImageDecoder *decoder;   /* or NULL */
    const SortSceneImporter *importer; /* or NULL */
} SortPlugin;

/* The one exported symbol. Its result is valid until the process ends; `api` only as long as the host that
 * passes it, so do not keep it in a static: open() and import() receive one. NULL: the plugin cannot run here
 * (it logs why). */
typedef const SortPlugin *(*SortPluginEntry)(const SortHostApi *api);
#define SORT_PLUGIN_ENTRY_NAME "sort_plugin_entry"
#if defined(__GNUC__)
#    define SORT_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#    define SORT_PLUGIN_EXPORT
#endif
SORT_PLUGIN_EXPORT const SortPlugin *sort_plugin_entry(const SortHostApi *api);

#ifdef __cplusplus
}
#endif
#endif
