/* Scene importer on the Assimp C API.
 *
 * Assimp reads the file into its own scene; this file walks the nodes and passes used objects to the
 * sink: a mesh (and its material) at the first node that uses it, then an instance for each use. World
 * transforms are products down the tree, in double precision, with the file's unit and up axis at the
 * root (FBX leaves both to the reader; Collada and glTF arrive in metres, y up). */
#include "plugins/assimp/assimp_import.h"
#include "plugins/assimp/assimp_io.h"
#include "plugins/assimp/ply_check.h"
#include <assimp/cimport.h>
#include <assimp/commonMetaData.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/version.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NODE_DEPTH_MAX = 1024 };

void assimp_warn(const AssimpImport *import, const char *format, ...)
{
    char text[SORT_FAILURE_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    import->sink->warning(import->sink->sink, text);
}

SortResult assimp_fail(const AssimpImport *import, SortResult result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(import->why->text, sizeof import->why->text, format, args);
    va_end(args);
    return result;
}

/* --- transforms ---------------------------------------------------------------------------- */

typedef struct Matrix {
    double m[4][4]; /* row, column; p' = M p */
} Matrix;

typedef struct Vector {
    double x, y, z;
} Vector;

static Matrix matrix_identity(void)
{
    return (Matrix){{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
}

static Matrix matrix_mul(const Matrix *a, const Matrix *b)
{
    Matrix out = {{{0}}};
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k)
            for (int j = 0; j < 4; ++j)
                out.m[i][j] += a->m[i][k] * b->m[k][j];
    return out;
}

static Matrix matrix_of_node(const struct aiNode *node)
{
    ai_real values[16];
    _Static_assert(sizeof values == sizeof node->mTransformation,
                   "rows of four, one after another");
    memcpy(values, &node->mTransformation, sizeof values);
    Matrix out;
    for (int i = 0; i < 16; ++i)
        out.m[i / 4][i % 4] = (double)values[i];
    return out;
}

static void matrix_store(const Matrix *a, float out[16])
{
    for (int i = 0; i < 16; ++i)
        out[i] = (float)a->m[i / 4][i % 4];
}

static Vector vector_of(struct aiVector3D v)
{
    return (Vector){(double)v.x, (double)v.y, (double)v.z};
}

static Vector transform_vector(const Matrix *a, Vector v)
{
    return (Vector){a->m[0][0] * v.x + a->m[0][1] * v.y + a->m[0][2] * v.z,
                    a->m[1][0] * v.x + a->m[1][1] * v.y + a->m[1][2] * v.z,
                    a->m[2][0] * v.x + a->m[2][1] * v.y + a->m[2][2] * v.z};
}

static Vector cross(Vector a, Vector b)
{
    return (Vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static double length(Vector a)
{
    return sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
}

/* Normalises a vector. Returns false if it has no direction. */
static bool normalize(Vector *a)
{
    double size = length(*a);
    if (!(size > 1e-12) || !isfinite(size))
        return false;
    *a = (Vector){a->x / size, a->y / size, a->z / size};
    return true;
}

/* Builds a frame at `position` that looks along `forward` with -z, with y as near to `up` as possible;
 * right-handed, without scale. `position`, `forward` and `up` are in the space of `world`. */
static bool look_frame(const Matrix *world, struct aiVector3D position, struct aiVector3D forward,
                       struct aiVector3D up, float out[16])
{
    Vector z = transform_vector(world, vector_of(forward));
    Vector y = transform_vector(world, vector_of(up));
    if (!normalize(&z))
        return false;
    z = (Vector){-z.x, -z.y, -z.z};
    /* The vectors are unit, so that a small product means that they are nearly parallel. */
    Vector x = normalize(&y) ? cross(y, z) : (Vector){0, 0, 0};
    if (length(x) < 1e-6 || !normalize(&x)) {
        /* up is parallel to the view, or missing */
        x = fabs(z.x) < 0.9 ? cross(z, (Vector){1, 0, 0}) : cross(z, (Vector){0, 1, 0});
        normalize(&x);
    }
    y = cross(z, x);
    ASSERT(fabs(length(x) - 1) < 1e-6 && fabs(length(y) - 1) < 1e-6);
    Vector p = transform_vector(world, vector_of(position));
    Matrix frame = {{{x.x, y.x, z.x, p.x + world->m[0][3]},
                     {x.y, y.y, z.y, p.y + world->m[1][3]},
                     {x.z, y.z, z.z, p.z + world->m[2][3]},
                     {0, 0, 0, 1}}};
    matrix_store(&frame, out);
    return true;
}

/* --- unit and up axis ---------------------------------------------------------------------- */

static const struct aiMetadataEntry *metadata(const struct aiScene *scene, const char *key)
{
    const struct aiMetadata *data = scene->mMetaData;
    for (unsigned i = 0; data && i < data->mNumProperties; ++i)
        if (strcmp(data->mKeys[i].data, key) == 0)
            return &data->mValues[i];
    return NULL;
}

static int metadata_int(const struct aiScene *scene, const char *key, int otherwise)
{
    const struct aiMetadataEntry *entry = metadata(scene, key);
    if (!entry || entry->mType != AI_INT32)
        return otherwise;
    int32_t value;
    memcpy(&value, entry->mData, sizeof value);
    return value;
}

static double metadata_number(const struct aiScene *scene, const char *key, double otherwise)
{
    const struct aiMetadataEntry *entry = metadata(scene, key);
    if (entry && entry->mType == AI_DOUBLE) {
        double value;
        memcpy(&value, entry->mData, sizeof value);
        return value;
    }
    if (entry && entry->mType == AI_FLOAT) {
        float value;
        memcpy(&value, entry->mData, sizeof value);
        return (double)value;
    }
    return otherwise;
}

/* FBX metadata give the up axis (0, 1, 2, and a sign) and the centimetres of a unit. */
static Matrix root_transform(const struct aiScene *scene)
{
    Matrix root = matrix_identity();
    double scale = metadata_number(scene, "UnitScaleFactor", 100.0) / 100.0;
    if (!(scale > 0) || !isfinite(scale))
        scale = 1;
    int up = metadata_int(scene, "UpAxis", 1);
    int sign = metadata_int(scene, "UpAxisSign", 1) < 0 ? -1 : 1;
    if (up == 2)
        root = (Matrix){{{1, 0, 0, 0}, {0, 0, sign, 0}, {0, -sign, 0, 0}, {0, 0, 0, 1}}};
    else if (up == 0)
        root = (Matrix){{{0, -sign, 0, 0}, {sign, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            root.m[i][j] *= scale;
    return root;
}

/* --- cameras and lights -------------------------------------------------------------------- */

static const struct aiVector3D origin, along_minus_z = {0, 0, -1}, along_y = {0, 1, 0};

static SortResult send_camera(AssimpImport *import, const struct aiCamera *camera,
                              const Matrix *world)
{
    SortCamera out = {.size_bytes = sizeof out,
                      .name = camera->mName.data,
                      .aspect = camera->mAspect,
                      .is_orthographic = camera->mOrthographicWidth > 0};
    if (!look_frame(world, camera->mPosition, camera->mLookAt, camera->mUp, out.transform)) {
        assimp_warn(import, "camera '%s' looks nowhere and is left out", camera->mName.data);
        return SORT_OK;
    }
    /* Assimp stores the horizontal angle. If the aspect ratio is not given, the common 16:9 is assumed. */
    float aspect = camera->mAspect > 0 ? camera->mAspect : 16.0f / 9.0f;
    if (out.is_orthographic)
        out.height_m = 2.0f * camera->mOrthographicWidth / aspect;
    else
        out.fov_y_rad = 2.0f * atanf(tanf(0.5f * camera->mHorizontalFOV) / aspect);
    return import->sink->camera(import->sink->sink, &out);
}

static SortResult send_light(AssimpImport *import, const struct aiLight *light, const Matrix *world)
{
    SortLight out = {
        .size_bytes = sizeof out,
        .name = light->mName.data,
        .color = {light->mColorDiffuse.r, light->mColorDiffuse.g, light->mColorDiffuse.b}};
    switch (light->mType) {
    case aiLightSource_POINT:
        out.kind = SORT_LIGHT_POINT;
        break;
    case aiLightSource_SPOT: /* Assimp stores full angles */
        out.kind = SORT_LIGHT_SPOT;
        out.inner_angle_rad = 0.5f * light->mAngleInnerCone;
        out.outer_angle_rad = 0.5f * light->mAngleOuterCone;
        break;
    case aiLightSource_DIRECTIONAL:
        out.kind = SORT_LIGHT_DISTANT;
        break;
    case aiLightSource_AMBIENT:
    case aiLightSource_AREA:
    case aiLightSource_UNDEFINED:
    case _aiLightSource_Force32Bit:
        assimp_warn(import, "light '%s' is of a kind that is not supported, and is left out",
                    light->mName.data);
        return SORT_OK;
    }
    struct aiVector3D direction = out.kind == SORT_LIGHT_POINT ? along_minus_z : light->mDirection;
    if (!look_frame(world, light->mPosition, direction, light->mUp, out.transform)) {
        assimp_warn(import, "light '%s' shines nowhere and is left out", light->mName.data);
        return SORT_OK;
    }
    return import->sink->light(import->sink->sink, &out);
}

/* Sends a camera or light, which Assimp keeps in separate lists and attaches to a node by name. */
static SortResult send_attached(AssimpImport *import, const struct aiNode *node,
                                const Matrix *world)
{
    const struct aiScene *scene = import->scene;
    SortResult result = SORT_OK;
    for (unsigned i = 0; result == SORT_OK && i < scene->mNumCameras; ++i)
        if (strcmp(scene->mCameras[i]->mName.data, node->mName.data) == 0)
            result = send_camera(import, scene->mCameras[i], world);
    for (unsigned i = 0; result == SORT_OK && i < scene->mNumLights; ++i)
        if (strcmp(scene->mLights[i]->mName.data, node->mName.data) == 0)
            result = send_light(import, scene->mLights[i], world);
    return result;
}

/* Sends the camera and light of a glTF node, which refers to them by index; both look along -z of the node. */
static SortResult send_gltf_attached(AssimpImport *import, const GltfNode *node,
                                     const Matrix *world)
{
    SortCamera camera = {.size_bytes = sizeof camera, .name = node->name};
    SortLight light = {.size_bytes = sizeof light, .name = node->name};
    if (node->camera == GLTF_NONE && node->light == GLTF_NONE)
        return SORT_OK;
    if (!look_frame(world, origin, along_minus_z, along_y, camera.transform)) {
        assimp_warn(import, "node '%s' has no direction; its camera or light is left out",
                    node->name);
        return SORT_OK;
    }
    memcpy(light.transform, camera.transform, sizeof light.transform);
    SortResult result = SORT_OK;
    if (node->camera != GLTF_NONE) {
        const GltfCamera *c = &import->gltf.cameras[node->camera];
        camera.is_orthographic = c->is_orthographic;
        camera.fov_y_rad = c->fov_y_rad;
        camera.height_m = c->height_m;
        camera.aspect = c->aspect;
        result = import->sink->camera(import->sink->sink, &camera);
    }
    if (result == SORT_OK && node->light != GLTF_NONE) {
        const GltfLight *l = &import->gltf.lights[node->light];
        light.kind = l->kind;
        light.lumens_per_watt = import->gltf.lumens_per_watt;
        memcpy(light.color, l->color, sizeof light.color);
        light.inner_angle_rad = l->inner_angle_rad;
        light.outer_angle_rad = l->outer_angle_rad;
        result = import->sink->light(import->sink->sink, &light);
    }
    return result;
}

/* --- nodes --------------------------------------------------------------------------------- */

static SortResult send_instances(AssimpImport *import, const struct aiNode *node, const char *name,
                                 const Matrix *world)
{
    SortInstance out = {.size_bytes = sizeof out, .name = name};
    matrix_store(world, out.transform);
    for (unsigned i = 0; i < node->mNumMeshes; ++i) {
        SortResult result = assimp_mesh(import, node->mMeshes[i], &out.mesh);
        if (result == SORT_OK && out.mesh != ASSIMP_NO_ID)
            result = import->sink->instance(import->sink->sink, &out);
        if (result != SORT_OK)
            return result;
    }
    return SORT_OK;
}

static SortResult walk(AssimpImport *import, const struct aiNode *node, const Matrix *parent,
                       int depth)
{
    if (depth > NODE_DEPTH_MAX)
        return assimp_fail(import, SORT_ERROR_UNSUPPORTED, "nodes are nested more than %d deep",
                           (int)NODE_DEPTH_MAX);
    if (import->api->cancelled(import->api->host))
        return assimp_fail(import, SORT_ERROR_CANCELLED, "cancelled");
    Matrix local = matrix_of_node(node);
    Matrix world = matrix_mul(parent, &local);
    int index = gltf_index_of_name(node->mName.data, import->gltf.node_count);
    const GltfNode *gltf = index == GLTF_NONE ? NULL : &import->gltf.nodes[index];
    SortResult result = send_instances(import, node, gltf ? gltf->name : node->mName.data, &world);
    if (result == SORT_OK)
        result =
            gltf ? send_gltf_attached(import, gltf, &world) : send_attached(import, node, &world);
    for (unsigned i = 0; result == SORT_OK && i < node->mNumChildren; ++i)
        result = walk(import, node->mChildren[i], &world, depth + 1);
    return result;
}

/* --- import -------------------------------------------------------------------------------- */

/* Reports missing material libraries: an OBJ file without its materials looks wrong, but Assimp does not report
 * it. */
static SortResult tell_missing(const AssimpImport *import, const AssimpIo *io)
{
    const SortSceneSink *sink = import->sink;
    bool can_tell = sink->size_bytes >= offsetof(SortSceneSink, missing) + sizeof sink->missing;
    if (io->has_materials || !io->missing[0] || !can_tell || !sink->missing)
        return SORT_OK;
    return sink->missing(sink->sink, "library of materials", io->missing);
}

static SortResult read_file(AssimpImport *import)
{
    AssimpIo io;
    assimp_io_init(&io, import->api, import->path, import->is_gltf ? &import->gltf : NULL);
    struct aiPropertyStore *properties = aiCreatePropertyStore();
    aiSetImportPropertyInteger(properties, AI_CONFIG_PP_SBP_REMOVE,
                               aiPrimitiveType_POINT | aiPrimitiveType_LINE);
    unsigned steps =
        aiProcess_Triangulate | aiProcess_SortByPType | aiProcess_ValidateDataStructure;
    if (!import->is_gltf) /* glTF vertices are already shared */
        steps |= aiProcess_JoinIdenticalVertices;
    import->scene = aiImportFileExWithProperties(import->path, steps, &io.io, properties);
    aiReleasePropertyStore(properties);
    return import->scene ? tell_missing(import, &io) : SORT_OK;
}

static uint32_t *no_ids(unsigned count)
{
    uint32_t *ids = malloc(((size_t)count + 1) * sizeof *ids);
    for (unsigned i = 0; ids && i < count; ++i)
        ids[i] = ASSIMP_NO_ID;
    return ids;
}

static SortResult send_scene(AssimpImport *import)
{
    const struct aiScene *scene = import->scene;
    import->material_ids = no_ids(scene->mNumMaterials);
    import->mesh_ids = no_ids(scene->mNumMeshes);
    if (!import->material_ids || !import->mesh_ids)
        return assimp_fail(import, SORT_ERROR_NO_MEMORY, "out of memory");
    if (scene->mNumLights > 0)
        assimp_warn(import, "lights of this format have no unit; their numbers are taken as W/sr");
    if (scene->mNumAnimations > 0)
        assimp_warn(import, "animations are left out");
    const struct aiMetadataEntry *copyright = metadata(scene, AI_METADATA_SOURCE_COPYRIGHT);
    if (copyright && copyright->mType == AI_AISTRING)
        import->sink->credit(import->sink->sink, ((const struct aiString *)copyright->mData)->data);
    Matrix root = root_transform(scene);
    return walk(import, scene->mRootNode, &root, 0);
}

static SortResult fail_by_assimp(const AssimpImport *import)
{
    const char *text = aiGetErrorString();
    if (strstr(text, "bad_alloc") || strstr(text, "bad array new length"))
        return assimp_fail(import, SORT_ERROR_NO_MEMORY,
                           "asks for more memory than a file of its size may have");
    return assimp_fail(import, SORT_ERROR_FORMAT, "%s", text);
}

static void warn_by_name(void *import, const char *text)
{
    assimp_warn(import, "%s", text);
}

/* Checks for defects that Assimp does not report, or reports too late. */
static SortResult look_into(const AssimpImport *import)
{
    const char *dot = strrchr(import->path, '.');
    int fd = import->api->open_file(import->api->host, import->path);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    if (!file)
        return assimp_fail(import, SORT_ERROR_OPEN, "cannot be opened for reading");
    bool is_ply = dot && strcasecmp(dot, ".ply") == 0;
    SortResult result = is_ply ? ply_check(file, import->why) : SORT_OK;
    fclose(file);
    return result;
}

static SortResult import_file(const SortHostApi *api, const char *path, const SortSceneSink *sink,
                              SortFailure *why)
{
    AssimpImport import = {
        .api = api, .sink = sink, .why = why, .path = path, .is_gltf = gltf_is_gltf(path)};
    SortResult result = look_into(&import);
    if (result == SORT_OK && import.is_gltf)
        result = gltf_info_read(api, path, warn_by_name, &import, &import.gltf, why);
    if (result == SORT_OK)
        result = read_file(&import);
    if (result == SORT_OK && !(import.scene && import.scene->mRootNode))
        result = fail_by_assimp(&import);
    if (result == SORT_OK)
        result = send_scene(&import);
    free(import.material_ids);
    free(import.mesh_ids);
    gltf_info_free(&import.gltf);
    aiReleaseImport(import.scene);
    return result;
}

/* --- entry --------------------------------------------------------------------------------- */

static const char *const suffixes[] = {"gltf", "glb", "obj", "ply", "stl", "fbx", "dae",
                                       "3ds",  "off", "x",   "lwo", "ac",  NULL};

static const SortSceneImporter importer = {.size_bytes = sizeof(SortSceneImporter),
                                           .name = "assimp",
                                           .suffixes = suffixes,
                                           .import = import_file};

const SortPlugin *sort_plugin_entry(const SortHostApi *api)
{
    static char version[32];
    static SortPlugin plugin = {.size_bytes = sizeof(SortPlugin),
                                .abi = SORT_PLUGIN_ABI,
                                .name = "assimp",
                                .version = version,
                                .importer = &importer};
    bool opens_files = api->size_bytes >= offsetof(SortHostApi, open_file) + sizeof api->open_file;
    if (api->abi != SORT_PLUGIN_ABI || !opens_files || !api->open_file) {
        api->log(api->host, SORT_LOG_ERROR, "this plugin was built for another SORT");
        return NULL;
    }
    snprintf(version, sizeof version, "%u.%u.%u", aiGetVersionMajor(), aiGetVersionMinor(),
             aiGetVersionPatch());
    return &plugin;
}
