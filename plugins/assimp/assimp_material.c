/* Converts an aiMaterial to a SortMaterial.
 *
 * glTF is metal-rough already; properties that Assimp does not expose come from gltf_json. Other formats
 * are mapped: the diffuse colour becomes the base colour, a Phong exponent a roughness, opacity below 1
 * blends, and metallic and roughness factors are used if the format has them (MTL's Pm and Pr). */
#include "plugins/assimp/assimp_import.h"
#include <assimp/GltfMaterial.h>
#include <assimp/material.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTURES_MAX = 7 };

/* Data that the SortTextureRefs of a material point to until the sink has copied it. */
typedef struct TextureStore {
    struct aiString names[TEXTURES_MAX];
    unsigned char *images[TEXTURES_MAX]; /* owned: embedded texels encoded as a file */
    uint32_t count;
} TextureStore;

/* --- embedded images ----------------------------------------------------------------------- */

static const char *last_component(const char *name)
{
    const char *last = name;
    for (const char *c = name; *c; ++c)
        if (*c == '/' || *c == '\\')
            last = c + 1;
    return last;
}

/* Finds an embedded texture: "*3" is texture 3; FBX gives the name of a file that it also embeds. */
static const struct aiTexture *embedded_texture(const struct aiScene *scene, const char *name)
{
    if (name[0] == '*') {
        long index = strtol(name + 1, NULL, 10);
        return index >= 0 && index < (long)scene->mNumTextures ? scene->mTextures[index] : NULL;
    }
    for (unsigned i = 0; i < scene->mNumTextures; ++i)
        if (scene->mTextures[i]->mFilename.length > 0 &&
            strcmp(scene->mTextures[i]->mFilename.data, name) == 0)
            return scene->mTextures[i];
    /* by file name only, since the path is that of another machine */
    for (unsigned i = 0; i < scene->mNumTextures; ++i)
        if (scene->mTextures[i]->mFilename.length > 0 &&
            strcmp(last_component(scene->mTextures[i]->mFilename.data), last_component(name)) == 0)
            return scene->mTextures[i];
    return NULL;
}

/* Encodes plain texels, b g r a from the top row, as a 32-bit TGA file. */
static unsigned char *tga_from_texels(const struct aiTexture *texture, size_t *out_bytes)
{
    enum { TGA_HEADER_BYTES = 18, TRUE_COLOR = 2, TOP_DOWN_8_ALPHA = 0x28 };
    unsigned width = texture->mWidth, height = texture->mHeight;
    if (width > 65535 || height > 65535)
        return NULL;
    size_t texel_bytes = (size_t)width * height * sizeof *texture->pcData;
    unsigned char *file = calloc(1, TGA_HEADER_BYTES + texel_bytes);
    if (!file)
        return NULL;
    file[2] = TRUE_COLOR;
    file[12] = (unsigned char)(width & 255);
    file[13] = (unsigned char)(width >> 8);
    file[14] = (unsigned char)(height & 255);
    file[15] = (unsigned char)(height >> 8);
    file[16] = 32;
    file[17] = TOP_DOWN_8_ALPHA;
    memcpy(file + TGA_HEADER_BYTES, texture->pcData, texel_bytes);
    *out_bytes = TGA_HEADER_BYTES + texel_bytes;
    return file;
}

/* Determines the suffix from the first bytes, since hints in files are sometimes wrong or missing. */
static const char *suffix_of_bytes(const unsigned char *bytes, size_t size, const char *hint)
{
    if (size >= 4 && memcmp(bytes, "\x89PNG", 4) == 0)
        return "png";
    if (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        return "jpg";
    if (size >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0)
        return "webp";
    return hint[0] ? hint : "bin";
}

static bool use_embedded(const struct aiTexture *texture, TextureStore *store, SortTextureRef *out)
{
    if (texture->mHeight > 0) {
        store->images[store->count] = tga_from_texels(texture, &out->embedded_bytes);
        out->embedded = store->images[store->count];
        out->embedded_suffix = "tga";
        return out->embedded != NULL;
    }
    out->embedded = texture->pcData;
    out->embedded_bytes = texture->mWidth;
    out->embedded_suffix = suffix_of_bytes((const unsigned char *)texture->pcData, texture->mWidth,
                                           texture->achFormatHint);
    return out->embedded != NULL && out->embedded_bytes > 0;
}

/* --- texture references -------------------------------------------------------------------- */

static uint32_t wrap_of(enum aiTextureMapMode mode)
{
    return mode == aiTextureMapMode_Clamp || mode == aiTextureMapMode_Decal ? 1
           : mode == aiTextureMapMode_Mirror                                ? 2
                                                                            : 0;
}

/* A requested texture of a material. */
typedef struct Wanted {
    const char *what; /* its name in messages */
    enum aiTextureType type;
    GltfSlot slot;
    SortColorSpace color_space;
    int32_t channel;
} Wanted;

/* Reads the texture transform. Assimp's transform rotates about the middle of the image and is used only for
 * formats other than glTF. */
static void place_texture(const AssimpImport *import, const struct aiMaterial *material,
                          const GltfMaterial *gltf, Wanted wanted, SortTextureRef *out)
{
    out->uv_scale[0] = out->uv_scale[1] = 1;
    if (gltf) {
        const GltfTexture *t = &gltf->textures[wanted.slot];
        memcpy(out->uv_scale, t->scale, sizeof t->scale);
        memcpy(out->uv_offset, t->offset, sizeof t->offset);
        out->uv_rotation_rad = t->rotation_rad;
        return;
    }
    struct aiUVTransform t;
    unsigned count = sizeof t / sizeof(float);
    if (import->is_gltf || aiGetMaterialFloatArray(material, AI_MATKEY_UVTRANSFORM(wanted.type, 0),
                                                   (ai_real *)&t, &count) != aiReturn_SUCCESS)
        return;
    float c = cosf(t.mRotation), s = sinf(t.mRotation);
    out->uv_scale[0] = t.mScaling.x;
    out->uv_scale[1] = t.mScaling.y;
    out->uv_rotation_rad = t.mRotation;
    out->uv_offset[0] = t.mTranslation.x + 0.5f - 0.5f * c + 0.5f * s;
    out->uv_offset[1] = t.mTranslation.y + 0.5f - 0.5f * s - 0.5f * c;
}

/* Reads a texture reference; leaves *out empty if the material has no such texture or it cannot be used. */
static void read_texture(const AssimpImport *import, const struct aiMaterial *material,
                         const char *material_name, const GltfMaterial *gltf, Wanted wanted,
                         TextureStore *store, SortTextureRef *out)
{
    *out = (SortTextureRef){.uv_scale = {1, 1}, .channel = -1};
    struct aiString name;
    enum aiTextureMapping mapping = aiTextureMapping_UV;
    unsigned uv_set = 0, flags = 0;
    enum aiTextureMapMode wrap[3] = {aiTextureMapMode_Wrap, aiTextureMapMode_Wrap,
                                     aiTextureMapMode_Wrap};
    if (aiGetMaterialTexture(material, wanted.type, 0, &name, &mapping, &uv_set, NULL, NULL, wrap,
                             &flags) != aiReturn_SUCCESS ||
        name.length == 0)
        return;
    SortTextureRef ref = {.color_space = wanted.color_space,
                          .wrap_u = wrap_of(wrap[0]),
                          .wrap_v = wrap_of(wrap[1]),
                          .channel = wanted.channel};
    const struct aiTexture *embedded = embedded_texture(import->scene, name.data);
    if (!embedded || !use_embedded(embedded, store, &ref)) {
        store->names[store->count] = name;
        ref.path = store->names[store->count].data;
    }
    if (gltf)
        uv_set = (unsigned)gltf->textures[wanted.slot].uv_set;
    if (uv_set != 0)
        assimp_warn(import, "material '%s': the %s texture asks for uv set %u; it gets set 0",
                    material_name, wanted.what, uv_set);
    if (mapping != aiTextureMapping_UV)
        assimp_warn(import, "material '%s': the %s texture asks for a projection; it gets uv set 0",
                    material_name, wanted.what);
    if (flags & aiTextureFlags_Invert)
        assimp_warn(import, "material '%s': the %s texture should be inverted; it is not",
                    material_name, wanted.what);
    place_texture(import, material, gltf, wanted, &ref);
    ++store->count;
    *out = ref;
}

/* --- values -------------------------------------------------------------------------------- */

static float float_or(const struct aiMaterial *m, const char *key, unsigned type, unsigned index,
                      float otherwise)
{
    ai_real value;
    unsigned count = 1;
    bool found = aiGetMaterialFloatArray(m, key, type, index, &value, &count) == aiReturn_SUCCESS;
    return found && isfinite(value) ? value : otherwise;
}

/* Reads a colour. Returns false, with *out unchanged, if the material does not specify it. */
static bool get_color(const struct aiMaterial *m, const char *key, unsigned type, unsigned index,
                      float out[4])
{
    struct aiColor4D c;
    if (aiGetMaterialColor(m, key, type, index, &c) != aiReturn_SUCCESS || !isfinite(c.r) ||
        !isfinite(c.g) || !isfinite(c.b))
        return false;
    out[0] = c.r;
    out[1] = c.g;
    out[2] = c.b;
    out[3] = c.a;
    return true;
}

/* Converts a Phong exponent to the roughness of a GGX highlight of the same width, with alpha = roughness^2
 * [Walter2007, section 5.2]: alpha^2 = 2 / (n + 2). */
static float roughness_of_exponent(float exponent)
{
    float roughness = powf(2.0f / (fmaxf(exponent, 0.0f) + 2.0f), 0.25f);
    ASSERT(roughness >= 0.0f && roughness <= 1.0f);
    return roughness;
}

static void read_gltf_values(const struct aiMaterial *m, const GltfMaterial *gltf,
                             SortMaterial *out)
{
    out->metallic = float_or(m, AI_MATKEY_METALLIC_FACTOR, 1);
    out->roughness = float_or(m, AI_MATKEY_ROUGHNESS_FACTOR, 1);
    out->normal_scale = float_or(m, AI_MATKEY_GLTF_TEXTURE_SCALE(aiTextureType_NORMALS, 0), 1);
    out->occlusion_strength =
        float_or(m, AI_MATKEY_GLTF_TEXTURE_STRENGTH(aiTextureType_LIGHTMAP, 0), 1);
    out->alpha_cutoff = float_or(m, AI_MATKEY_GLTF_ALPHACUTOFF, 0.5f);
    struct aiString mode;
    if (aiGetMaterialString(m, AI_MATKEY_GLTF_ALPHAMODE, &mode) == aiReturn_SUCCESS)
        out->alpha_mode = strcmp(mode.data, "MASK") == 0    ? 1
                          : strcmp(mode.data, "BLEND") == 0 ? 2
                                                            : 0;
    if (gltf) {
        out->emission_strength = gltf->emissive_strength;
        out->ior = gltf->ior;
        out->transmission = gltf->transmission;
        out->specular = gltf->specular;
        memcpy(out->specular_color, gltf->specular_color, sizeof out->specular_color);
        out->clearcoat = gltf->clearcoat;
        out->clearcoat_roughness = gltf->clearcoat_roughness;
        memcpy(out->sheen_color, gltf->sheen_color, sizeof out->sheen_color);
        out->sheen_roughness = gltf->sheen_roughness;
        out->is_thin_walled = !gltf->has_volume;
        out->is_unlit = gltf->is_unlit;
    }
}

static void read_other_values(const struct aiMaterial *m, SortMaterial *out)
{
    float exponent = float_or(m, AI_MATKEY_SHININESS, 0);
    out->metallic = float_or(m, AI_MATKEY_METALLIC_FACTOR, 0);
    out->roughness = float_or(m, AI_MATKEY_ROUGHNESS_FACTOR, roughness_of_exponent(exponent));
    float ior = float_or(m, AI_MATKEY_REFRACTI, 1.5f);
    /* MTL files contain 1, and some exporters write 0, if the index is unspecified */
    out->ior = ior > 1.0f ? ior : 1.5f;
    out->transmission = float_or(m, AI_MATKEY_TRANSMISSION_FACTOR, 0);
    float opacity = float_or(m, AI_MATKEY_OPACITY, 1);
    out->base_color[3] = opacity;
    out->alpha_mode = opacity < 1.0f ? 2 : 0;
}

static void read_values(const struct aiMaterial *m, const AssimpImport *import,
                        const GltfMaterial *gltf, SortMaterial *out)
{
    float base[4] = {0.8f, 0.8f, 0.8f, 1}, emission[4] = {0};
    if (!get_color(m, AI_MATKEY_BASE_COLOR, base))
        get_color(m, AI_MATKEY_COLOR_DIFFUSE, base);
    get_color(m, AI_MATKEY_COLOR_EMISSIVE, emission);
    memcpy(out->base_color, base, sizeof base);
    memcpy(out->emission, emission, sizeof out->emission);
    out->emission_strength = out->normal_scale = out->occlusion_strength = 1;
    out->alpha_cutoff = 0.5f;
    out->ior = 1.5f;
    out->specular = out->specular_color[0] = out->specular_color[1] = out->specular_color[2] = 1;
    int two_sided = 0;
    unsigned count = 1;
    aiGetMaterialIntegerArray(m, AI_MATKEY_TWOSIDED, &two_sided, &count);
    out->is_double_sided = two_sided != 0;
    if (import->is_gltf)
        read_gltf_values(m, gltf, out);
    else
        read_other_values(m, out);
}

/* Vertex colours of glTF multiply the base colour. In a file with colours and no material, such as PLY, they
 * are the base colour. In other materials their purpose is unknown. */
static void read_vertex_colors(const AssimpImport *import, uint32_t index, const char *name,
                               SortMaterial *out)
{
    bool is_made_up = !import->is_gltf && (!name[0] || strcmp(name, AI_DEFAULT_MATERIAL_NAME) == 0);
    for (unsigned i = 0; i < import->scene->mNumMeshes; ++i) {
        const struct aiMesh *mesh = import->scene->mMeshes[i];
        if (mesh->mMaterialIndex == index && mesh->mColors[0])
            out->has_vertex_colors = import->is_gltf || is_made_up;
    }
    if (out->has_vertex_colors && is_made_up)
        out->base_color[0] = out->base_color[1] = out->base_color[2] = 1;
}

static void read_textures(const AssimpImport *import, const struct aiMaterial *m,
                          const GltfMaterial *gltf, TextureStore *store, SortMaterial *out)
{
    const int32_t metallic = import->is_gltf ? 2 : 0, roughness = import->is_gltf ? 1 : 0;
    const struct {
        SortTextureRef *out;
        Wanted wanted;
    } rows[] = {
        {&out->base_color_texture,
         {"base colour", aiTextureType_BASE_COLOR, GLTF_BASE_COLOR, SORT_COLOR_SRGB, -1}},
        {&out->metallic_texture,
         {"metallic", aiTextureType_METALNESS, GLTF_METALLIC_ROUGHNESS, SORT_COLOR_RAW, metallic}},
        {&out->roughness_texture,
         {"roughness", aiTextureType_DIFFUSE_ROUGHNESS, GLTF_METALLIC_ROUGHNESS, SORT_COLOR_RAW,
          roughness}},
        {&out->normal_texture, {"normal", aiTextureType_NORMALS, GLTF_NORMAL, SORT_COLOR_RAW, -1}},
        {&out->emission_texture,
         {"emission", aiTextureType_EMISSIVE, GLTF_EMISSIVE, SORT_COLOR_SRGB, -1}},
        {&out->occlusion_texture,
         {"occlusion", aiTextureType_LIGHTMAP, GLTF_OCCLUSION, SORT_COLOR_RAW, 0}},
        {&out->transmission_texture,
         {"transmission", aiTextureType_TRANSMISSION, GLTF_TRANSMISSION, SORT_COLOR_RAW, 0}},
    };
    _Static_assert(sizeof rows / sizeof rows[0] == TEXTURES_MAX, "one store entry a texture");
    for (int i = 0; i < TEXTURES_MAX; ++i) {
        Wanted wanted = rows[i].wanted;
        if (wanted.type == aiTextureType_BASE_COLOR &&
            aiGetMaterialTextureCount(m, wanted.type) == 0)
            wanted.type = aiTextureType_DIFFUSE;
        read_texture(import, m, out->name, gltf, wanted, store, rows[i].out);
    }
    /* Ke of MTL is black by default, even beside a map_Ke. */
    bool has_emission_map = out->emission_texture.path || out->emission_texture.embedded;
    bool is_black = out->emission[0] <= 0 && out->emission[1] <= 0 && out->emission[2] <= 0;
    if (!import->is_gltf && has_emission_map && is_black)
        out->emission[0] = out->emission[1] = out->emission[2] = 1;
}

/* Warns of textures that the metal-rough model does not support. */
static void warn_of_lost_textures(const AssimpImport *import, const struct aiMaterial *m,
                                  const char *name)
{
    static const struct {
        enum aiTextureType type;
        const char *what;
    } lost[] = {
        {aiTextureType_SPECULAR, "specular"},         {aiTextureType_SHININESS, "shininess"},
        {aiTextureType_HEIGHT, "bump or height"},     {aiTextureType_OPACITY, "opacity"},
        {aiTextureType_DISPLACEMENT, "displacement"}, {aiTextureType_REFLECTION, "reflection"}};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; ++i)
        if (aiGetMaterialTextureCount(m, lost[i].type) > 0)
            assimp_warn(import, "material '%s': its %s texture is left out", name, lost[i].what);
}

SortResult assimp_material(AssimpImport *import, uint32_t index, uint32_t *out_id)
{
    SortResult result = SORT_OK;
    if (import->material_ids[index] == ASSIMP_NO_ID) {
        const struct aiMaterial *m = import->scene->mMaterials[index];
        struct aiString name = {0};
        aiGetMaterialString(m, AI_MATKEY_NAME, &name);
        int gltf_index = gltf_index_of_name(name.data, import->gltf.material_count);
        const GltfMaterial *gltf =
            gltf_index == GLTF_NONE ? NULL : &import->gltf.materials[gltf_index];
        SortMaterial out = {.size_bytes = sizeof out, .name = gltf ? gltf->name : name.data};
        TextureStore *store = calloc(1, sizeof *store);
        if (!store)
            return assimp_fail(import, SORT_ERROR_NO_MEMORY, "out of memory");
        read_values(m, import, gltf, &out);
        read_vertex_colors(import, index, name.data, &out);
        read_textures(import, m, gltf, store, &out);
        if (!import->is_gltf)
            warn_of_lost_textures(import, m, out.name);
        result = import->sink->material(import->sink->sink, &out, &import->material_ids[index]);
        for (uint32_t i = 0; i < TEXTURES_MAX; ++i)
            free(store->images[i]);
        free(store);
    }
    *out_id = import->material_ids[index];
    return result;
}
