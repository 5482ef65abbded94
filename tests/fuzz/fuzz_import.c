/* Fuzzes what lies between Assimp and a scene package: the importer plugin and the package writer. Assimp
 * itself, which runs in a child process because it can crash, is left out: aiImportFileExWithProperties is
 * replaced by a function that forges a scene from the input, valid as Assimp's own validation step
 * promises and with odd numbers, names and textures in it. The JSON of a glTF file, which the plugin
 * reads itself, is the first part of the input.
 *
 * No crash, no hang, no leak; and what is imported without an error is a package that scene_load takes. */
#include "base/arena.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "sort/import/import_sink.h"
#include "sort/package/scene_load.h"
#include "sort/scene/scene.h"
#include <assimp/cfileio.h>
#include <assimp/cimport.h>
#include <assimp/commonMetaData.h>
#include <assimp/material.h>
#include <assimp/scene.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* --- the input as a stream; past its end come zeros -------------------------------------------- */

typedef struct Stream {
    const uint8_t *data;
    size_t size, at;
    Arena *arena;
} Stream;

static Stream stream;

static uint32_t take(uint32_t limit)
{
    uint32_t byte = stream.at < stream.size ? stream.data[stream.at] : 0;
    ++stream.at;
    return byte % limit;
}

static float take_number(void)
{
    static const float numbers[] = {0,        1,         -1,     0.5f,   2,     -0.0f,
                                    3.4e38f,  -3.4e38f,  1e-38f, 1e-45f, 1e20f, (float)NAN,
                                    INFINITY, -INFINITY, 0.1f,   100};
    return numbers[take(SORT_COUNT_OF(numbers))];
}

static struct aiVector3D take_vector(void)
{
    struct aiVector3D v = {take_number(), take_number(), take_number()};
    return v;
}

static const char *take_name(void)
{
    static const char *const names[] = {
        "",         "0",        "1",           "2",    "-1",  "99999999999", "a/b",
        "..",       "a",        "*0",          "*1",   "*-1", "t.png",       "file:///t.png",
        "b%20.png", "c\\t.png", "\xff\xfe",    "a\nb", "%",   "%zz",         ".ssl",
        "\"",       "unit:x",   "a.<UDIM>.png"};
    return names[take(SORT_COUNT_OF(names))];
}

static void *make(size_t count, size_t size)
{
    void *p = arena_alloc(stream.arena, (count + 1) * size, 16);
    CHECK(p);
    memset(p, 0, (count + 1) * size);
    return p;
}
#define MAKE(type, count) ((type *)make(count, sizeof(type)))

static struct aiString string_of(const char *text)
{
    struct aiString s = {.length = (ai_uint32)strlen(text)};
    memcpy(s.data, text, s.length + 1);
    return s;
}

/* --- parts of a scene -------------------------------------------------------------------------- */

static struct aiVector3D *take_vectors(uint32_t count, bool is_there)
{
    if (!is_there)
        return NULL;
    struct aiVector3D *vectors = MAKE(struct aiVector3D, count);
    for (uint32_t i = 0; i < count; ++i)
        vectors[i] = take_vector();
    return vectors;
}

static struct aiMesh *take_mesh(uint32_t material_count)
{
    struct aiMesh *mesh = MAKE(struct aiMesh, 1);
    uint32_t parts = take(64), vertices = 1 + take(6), faces = 1 + take(4);
    mesh->mName = string_of(take_name());
    mesh->mPrimitiveTypes =
        parts & 1 ? aiPrimitiveType_TRIANGLE | aiPrimitiveType_LINE : aiPrimitiveType_TRIANGLE;
    mesh->mMaterialIndex = take(material_count);
    mesh->mNumVertices = vertices;
    mesh->mVertices = take_vectors(vertices, true);
    mesh->mNormals = take_vectors(vertices, parts & 2);
    mesh->mTangents = take_vectors(vertices, parts & 4);
    mesh->mBitangents = take_vectors(vertices, parts & 4);
    mesh->mTextureCoords[0] = take_vectors(vertices, parts & 8);
    mesh->mNumUVComponents[0] = 1 + take(3);
    if (parts & 16) {
        mesh->mColors[0] = MAKE(struct aiColor4D, vertices);
        for (uint32_t i = 0; i < vertices; ++i)
            mesh->mColors[0][i].r = take_number();
    }
    mesh->mNumFaces = faces;
    mesh->mFaces = MAKE(struct aiFace, faces);
    for (uint32_t i = 0; i < faces; ++i) {
        mesh->mFaces[i].mNumIndices = parts & 1 ? 2 + take(2) : 3;
        mesh->mFaces[i].mIndices = MAKE(unsigned, 3);
        for (uint32_t k = 0; k < mesh->mFaces[i].mNumIndices; ++k)
            mesh->mFaces[i].mIndices[k] = take(parts & 32 ? 255 : vertices);
    }
    return mesh;
}

static void add_property(struct aiMaterial *m, const char *key, unsigned type, unsigned index,
                         enum aiPropertyTypeInfo kind, const void *data, unsigned bytes)
{
    struct aiMaterialProperty *p = MAKE(struct aiMaterialProperty, 1);
    p->mKey = string_of(key);
    p->mSemantic = type;
    p->mIndex = index;
    p->mType = kind;
    p->mDataLength = bytes;
    p->mData = MAKE(char, bytes);
    memcpy(p->mData, data, bytes);
    m->mProperties[m->mNumProperties++] = p;
}

static void add_number(struct aiMaterial *m, const char *key, unsigned type, unsigned index)
{
    float numbers[5];
    unsigned count = 1 + take(5);
    for (unsigned i = 0; i < count; ++i)
        numbers[i] = take_number();
    add_property(m, key, type, index, aiPTI_Float, numbers, count * (unsigned)sizeof *numbers);
}

static void add_text(struct aiMaterial *m, const char *key, unsigned type, unsigned index,
                     const char *text)
{
    struct {
        uint32_t length;
        char text[64];
    } stored = {(uint32_t)strlen(text), {0}};
    memcpy(stored.text, text, stored.length + 1);
    add_property(m, key, type, index, aiPTI_String, &stored, 4 + stored.length + 1);
}

static void add_integer(struct aiMaterial *m, const char *key, unsigned type, unsigned index)
{
    int value = (int)take(256) - 2;
    add_property(m, key, type, index, aiPTI_Integer, &value, sizeof value);
}

static struct aiMaterial *take_material(void)
{
    enum { PROPERTIES_MAX = 32, TYPES = 20 };
    struct aiMaterial *m = MAKE(struct aiMaterial, 1);
    m->mProperties = MAKE(struct aiMaterialProperty *, PROPERTIES_MAX);
    m->mNumAllocated = PROPERTIES_MAX;
    for (uint32_t i = take(12); i > 0; --i) {
        unsigned type = 1 + take(TYPES);
        switch (take(16)) {
        case 0:
            add_text(m, AI_MATKEY_NAME, take_name());
            break;
        case 1:
            add_number(m, AI_MATKEY_BASE_COLOR);
            break;
        case 2:
            add_number(m, AI_MATKEY_COLOR_DIFFUSE);
            break;
        case 3:
            add_number(m, AI_MATKEY_COLOR_EMISSIVE);
            break;
        case 4:
            add_number(m, AI_MATKEY_METALLIC_FACTOR);
            break;
        case 5:
            add_number(m, AI_MATKEY_ROUGHNESS_FACTOR);
            break;
        case 6:
            add_number(m, AI_MATKEY_SHININESS);
            break;
        case 7:
            add_number(m, AI_MATKEY_OPACITY);
            break;
        case 8:
            add_number(m, AI_MATKEY_REFRACTI);
            break;
        case 9:
            add_number(m, AI_MATKEY_TRANSMISSION_FACTOR);
            break;
        case 10:
            add_integer(m, AI_MATKEY_TWOSIDED);
            break;
        case 11:
            add_number(m, AI_MATKEY_UVTRANSFORM(type, 0));
            break;
        case 12:
            add_integer(m, AI_MATKEY_MAPPINGMODE_U(type, 0));
            add_integer(m, AI_MATKEY_UVWSRC(type, 0));
            add_integer(m, AI_MATKEY_MAPPING(type, 0));
            break;
        default:
            add_text(m, AI_MATKEY_TEXTURE(type, 0), take_name());
            break;
        }
    }
    return m;
}

static struct aiTexture *take_texture(void)
{
    enum { SIDE_MAX = 5 };
    struct aiTexture *t = MAKE(struct aiTexture, 1);
    t->mHeight = take(SIDE_MAX);
    t->mWidth = take(SIDE_MAX);
    t->pcData = MAKE(struct aiTexel, SIDE_MAX * SIDE_MAX);
    t->pcData[0].b = (unsigned char)take(256);
    t->mFilename = string_of(take_name());
    static const char *const hints[] = {"", "png", "../../x", "jpg"};
    snprintf(t->achFormatHint, sizeof t->achFormatHint, "%s", hints[take(4)]);
    return t;
}

static struct aiCamera *take_camera(void)
{
    struct aiCamera *c = MAKE(struct aiCamera, 1);
    c->mName = string_of(take_name());
    c->mPosition = take_vector();
    c->mLookAt = take_vector();
    c->mUp = take_vector();
    c->mHorizontalFOV = take_number();
    c->mAspect = take_number();
    c->mOrthographicWidth = take_number();
    return c;
}

static struct aiLight *take_light(void)
{
    struct aiLight *l = MAKE(struct aiLight, 1);
    l->mName = string_of(take_name());
    l->mType = (enum aiLightSourceType)take(6);
    l->mPosition = take_vector();
    l->mDirection = take_vector();
    l->mUp = take_vector();
    l->mColorDiffuse.r = take_number();
    l->mColorDiffuse.g = take_number();
    l->mAngleInnerCone = take_number();
    l->mAngleOuterCone = take_number();
    return l;
}

static struct aiNode *take_node(uint32_t mesh_count, uint32_t depth)
{
    struct aiNode *node = MAKE(struct aiNode, 1);
    node->mName = string_of(take_name());
    float *matrix = &node->mTransformation.a1;
    bool is_identity = take(2) == 0;
    for (int i = 0; i < 16; ++i)
        matrix[i] = is_identity ? (float)(i % 5 == 0) : take_number();
    node->mNumMeshes = mesh_count ? take(3) : 0;
    node->mMeshes = MAKE(unsigned, 3);
    for (uint32_t i = 0; i < node->mNumMeshes; ++i)
        node->mMeshes[i] = take(mesh_count);
    node->mNumChildren = depth < 4 ? take(3) : 0;
    node->mChildren = MAKE(struct aiNode *, 3);
    for (uint32_t i = 0; i < node->mNumChildren; ++i)
        node->mChildren[i] = take_node(mesh_count, depth + 1);
    return node;
}

static struct aiMetadata *take_metadata(void)
{
    static const char *const keys[] = {"UnitScaleFactor", "UpAxis", "UpAxisSign",
                                       AI_METADATA_SOURCE_COPYRIGHT};
    struct aiMetadata *m = MAKE(struct aiMetadata, 1);
    m->mNumProperties = take(5);
    m->mKeys = MAKE(struct aiString, 5);
    m->mValues = MAKE(struct aiMetadataEntry, 5);
    for (uint32_t i = 0; i < m->mNumProperties; ++i) {
        static const enum aiMetadataType types[] = {AI_INT32, AI_FLOAT, AI_DOUBLE, AI_AISTRING};
        m->mKeys[i] = string_of(keys[take(SORT_COUNT_OF(keys))]);
        m->mValues[i].mType = types[take(SORT_COUNT_OF(types))];
        struct aiString text = string_of(take_name());
        double number = (double)take_number();
        float single = (float)number;
        int32_t integer = (int32_t)take(256) - 2;
        void *data = MAKE(struct aiString, 1);
        switch (m->mValues[i].mType) {
        case AI_INT32:
            memcpy(data, &integer, sizeof integer);
            break;
        case AI_FLOAT:
            memcpy(data, &single, sizeof single);
            break;
        case AI_DOUBLE:
            memcpy(data, &number, sizeof number);
            break;
        default:
            memcpy(data, &text, sizeof text);
            break;
        }
        m->mValues[i].mData = data;
    }
    return m;
}

#define TAKE_LIST(list, count, limit, type, one)                                                   \
    do {                                                                                           \
        (count) = take(limit);                                                                     \
        (list) = MAKE(type *, limit);                                                              \
        for (uint32_t k_ = 0; k_ < (count); ++k_)                                                  \
            (list)[k_] = one;                                                                      \
    } while (0)

/* In Assimp's place. */
const struct aiScene *aiImportFileExWithProperties(const char *path, unsigned flags,
                                                   struct aiFileIO *io,
                                                   const struct aiPropertyStore *properties)
{
    SORT_UNUSED(flags);
    SORT_UNUSED(properties);
    if (io) { /* what the plugin shows in the file's place */
        char piece[64];
        struct aiFile *file = io->OpenProc(io, path, "rb");
        CHECK(file);
        struct aiFile *materials = io->OpenProc(io, take(2) ? "s.mtl" : "t.png", "rb");
        if (materials)
            io->CloseProc(io, materials);
        while (file->ReadProc(file, piece, 1, sizeof piece) == sizeof piece) {
        }
        io->CloseProc(io, file);
    }
    struct aiScene *s = MAKE(struct aiScene, 1);
    TAKE_LIST(s->mMaterials, s->mNumMaterials, 3, struct aiMaterial, take_material());
    if (s->mNumMaterials == 0)
        s->mMaterials[s->mNumMaterials++] = take_material();
    TAKE_LIST(s->mMeshes, s->mNumMeshes, 4, struct aiMesh, take_mesh(s->mNumMaterials));
    TAKE_LIST(s->mTextures, s->mNumTextures, 3, struct aiTexture, take_texture());
    TAKE_LIST(s->mCameras, s->mNumCameras, 3, struct aiCamera, take_camera());
    TAKE_LIST(s->mLights, s->mNumLights, 3, struct aiLight, take_light());
    s->mMetaData = take_metadata();
    s->mRootNode = take_node(s->mNumMeshes, 0);
    return s;
}

void aiReleaseImport(const struct aiScene *scene)
{
    SORT_UNUSED(scene); /* the arena's */
}

/* --- one import ------------------------------------------------------------------------------- */

static char root[64];

static void clean_up(void)
{
    Status status = file_remove_tree(root, NULL);
    SORT_UNUSED(status);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    SORT_UNUSED(argc);
    SORT_UNUSED(argv);
    snprintf(root, sizeof root, "/tmp/fuzz-import-%ld", (long)getpid());
    CHECK(atexit(clean_up) == 0);
    CHECK(file_make_directories(root, NULL) == STATUS_OK);
    char path[PATH_BYTES];
    CHECK(path_join(root, "t.png", path, NULL) == STATUS_OK);
    FILE *out = fopen(path, "wb");
    CHECK(out && fputs("x", out) >= 0 && fclose(out) == 0);
    return 0;
}

static void drop_log(void *host, SortLogLevel level, const char *text)
{
    SORT_UNUSED(host);
    SORT_UNUSED(level);
    SORT_UNUSED(text);
}

static bool never(void *host)
{
    SORT_UNUSED(host);
    return false;
}

static int open_file(void *host, const char *name)
{
    int fd;
    Error ignored = {0};
    Status status = import_files_open(host, name, &fd, &ignored);
    SORT_UNUSED(status);
    return fd;
}

static void must_load(const char *folder)
{
    const SceneLoadOptions options = {
        .size_bytes = sizeof options, .thread_count = 1, .missing = SCENE_MISSING_MAGENTA};
    Scene *scene;
    Error err = {0};
    Status status = scene_load(folder, &options, &scene, &err);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "imported, but: %s\n", err.text);
        abort();
    }
    scene_destroy(scene);
}

static void import(const char *path, const char *folder)
{
    const ImportFilesDesc files_desc = {.size_bytes = sizeof files_desc, .source = path};
    ImportFiles *files;
    Error err = {0};
    CHECK(import_files_create(&files_desc, &files, &err) == STATUS_OK);
    const SortHostApi api = {.size_bytes = sizeof api,
                             .abi = SORT_PLUGIN_ABI,
                             .host = files,
                             .log = drop_log,
                             .cancelled = never,
                             .open_file = open_file};
    const ImportSinkDesc desc = {.size_bytes = sizeof desc,
                                 .folder = folder,
                                 .source = path,
                                 .files = files,
                                 .missing = SCENE_MISSING_MAGENTA};
    ImportSink *sink;
    SortFailure why = {{0}};
    CHECK(import_sink_create(&desc, &sink, &err) == STATUS_OK);
    const SortSceneImporter *importer = sort_plugin_entry(&api)->importer;
    SortResult result =
        importer->import(&api, import_files_source(files), import_sink_callbacks(sink), &why);
    bool is_whole = import_sink_status(sink, &err) == STATUS_OK && result == SORT_OK &&
                    import_sink_finish(sink, NULL, &err) == STATUS_OK;
    CHECK(is_whole || why.text[0] || err.text[0]);
    import_sink_destroy(sink);
    import_files_destroy(files);
    if (is_whole) {
        must_load(folder);
        CHECK(file_remove_tree(folder, &err) == STATUS_OK);
    }
}

/* Which kind of file; how many bytes of it (two); the file; the scene. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[PATH_BYTES], folder[PATH_BYTES];
    if (size < 3)
        return 0;
    size_t text = (size_t)data[1] | (size_t)data[2] << 8;
    text = text < size - 3 ? text : size - 3;
    const char *name = data[0] % 3 == 0 ? "s.gltf" : data[0] % 3 == 1 ? "s.glb" : "s.obj";
    CHECK(path_join(root, name, path, NULL) == STATUS_OK);
    CHECK(path_join(root, "package", folder, NULL) == STATUS_OK);
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(data + 3, 1, text, out) == text && fclose(out) == 0);
    stream = (Stream){data + 3 + text, size - 3 - text, 0, arena_create(0, 0)};
    CHECK(stream.arena);
    import(path, folder);
    arena_destroy(stream.arena);
    return 0;
}
