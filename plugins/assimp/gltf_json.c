#include "plugins/assimp/gltf_json.h"
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { JSON_BYTES_MAX = 1 << 30, GLB_HEADER_BYTES = 20 };

__attribute__((format(printf, 3, 4))) static SortResult fail(SortFailure *why, SortResult result,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return result;
}

bool gltf_is_gltf(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcasecmp(dot, ".gltf") == 0 || strcasecmp(dot, ".glb") == 0);
}

/* --- the JSON text: the whole file, or the first chunk of a GLB ----------------------------- */

static uint32_t u32_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Where the JSON lies in the file. GLB: 12 bytes of header, then chunks {length, type, data}. */
static SortResult find_json(FILE *file, uint32_t *out_offset, uint32_t *out_bytes, SortFailure *why)
{
    unsigned char head[GLB_HEADER_BYTES];
    size_t got = fread(head, 1, sizeof head, file);
    if (got == sizeof head && memcmp(head, "glTF", 4) == 0) {
        if (u32_at(head + 4) != 2)
            return fail(why, SORT_ERROR_UNSUPPORTED, "GLB version %u; only 2 is supported",
                        u32_at(head + 4));
        if (memcmp(head + 16, "JSON", 4) != 0)
            return fail(why, SORT_ERROR_FORMAT, "the first chunk of the GLB is not JSON");
        *out_offset = GLB_HEADER_BYTES;
        *out_bytes = u32_at(head + 12);
        return SORT_OK;
    }
    if (fseek(file, 0, SEEK_END) != 0)
        return fail(why, SORT_ERROR_OPEN, "cannot be read");
    long size = ftell(file);
    *out_offset = 0;
    *out_bytes = size < 0 || size > JSON_BYTES_MAX ? UINT32_MAX : (uint32_t)size;
    return SORT_OK;
}

static SortResult load_json(const char *path, json_t **out_root, SortFailure *why)
{
    *out_root = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(why, SORT_ERROR_OPEN, "cannot be opened for reading");
    uint32_t offset = 0, bytes = 0;
    char *text = NULL;
    SortResult result = find_json(file, &offset, &bytes, why);
    if (result == SORT_OK && bytes > JSON_BYTES_MAX)
        result = fail(why, SORT_ERROR_FORMAT, "its JSON is larger than 1 GiB");
    if (result == SORT_OK && !(text = malloc((size_t)bytes + 1)))
        result = fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
    if (result == SORT_OK &&
        (fseek(file, (long)offset, SEEK_SET) != 0 || fread(text, 1, bytes, file) != bytes))
        result = fail(why, SORT_ERROR_FORMAT, "its JSON is cut short");
    if (result == SORT_OK) {
        json_error_t error;
        *out_root = json_loadb(text, bytes, 0, &error);
        if (!*out_root)
            result = fail(why, SORT_ERROR_FORMAT, "JSON, line %d, column %d: %s", error.line,
                          error.column, error.text);
    }
    free(text);
    fclose(file);
    return result;
}

/* --- extensions ---------------------------------------------------------------------------- */

static bool is_handled(const char *extension)
{
    static const char *const handled[] = {
        "KHR_materials_emissive_strength", "KHR_materials_ior",   "KHR_materials_transmission",
        "KHR_texture_transform",           "KHR_lights_punctual",
    };
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++)
        if (strcmp(extension, handled[i]) == 0)
            return true;
    return false;
}

static SortResult check_extensions(json_t *root, GltfWarn warn, void *warn_data, SortFailure *why)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(root, "extensionsRequired"), i, item)
    {
        const char *name = json_string_value(item);
        if (name && !is_handled(name))
            return fail(why, SORT_ERROR_UNSUPPORTED,
                        "the file requires the extension %s, which is not supported", name);
    }
    json_array_foreach(json_object_get(root, "extensionsUsed"), i, item)
    {
        const char *name = json_string_value(item);
        if (!name || is_handled(name))
            continue;
        char text[SORT_FAILURE_TEXT_MAX];
        snprintf(text, sizeof text, "the extension %s is not supported; what it says is left out",
                 name);
        warn(warn_data, text);
    }
    return SORT_OK;
}

/* Assimp names a light or a camera after the last node that uses it, and so loses the others. */
static void warn_of_shared(json_t *root, const char *what, GltfWarn warn, void *warn_data)
{
    enum { TRACKED_MAX = 1024 };
    uint32_t uses[TRACKED_MAX] = {0};
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(root, "nodes"), i, node)
    {
        json_t *holder = node;
        if (strcmp(what, "light") == 0)
            holder = json_object_get(json_object_get(node, "extensions"), "KHR_lights_punctual");
        json_t *index = json_object_get(holder, what);
        json_int_t id = json_integer_value(index);
        if (json_is_integer(index) && id >= 0 && id < TRACKED_MAX)
            uses[id]++;
    }
    for (uint32_t id = 0; id < TRACKED_MAX; id++) {
        if (uses[id] < 2)
            continue;
        char text[SORT_FAILURE_TEXT_MAX];
        snprintf(text, sizeof text, "%s %u is used by %u nodes; only one of them is kept", what, id,
                 uses[id]);
        warn(warn_data, text);
    }
}

/* --- materials ----------------------------------------------------------------------------- */

static float number_or(json_t *object, const char *field, float otherwise)
{
    json_t *value = json_object_get(object, field);
    double number = json_number_value(value);
    return json_is_number(value) && isfinite(number) ? (float)number : otherwise;
}

static void pair_or(json_t *object, const char *field, float a, float b, float out[2])
{
    json_t *value = json_object_get(object, field);
    bool is_pair = json_array_size(value) == 2;
    out[0] = is_pair ? (float)json_number_value(json_array_get(value, 0)) : a;
    out[1] = is_pair ? (float)json_number_value(json_array_get(value, 1)) : b;
}

/* glTF counts v down and turns the other way: uv' = T R(-rotation) S uv there. With v = 1 - v_gltf on
 * both sides, that is the same rotation counter-clockwise and another offset. */
static GltfTexture read_texture(json_t *info)
{
    json_t *transform =
        json_object_get(json_object_get(info, "extensions"), "KHR_texture_transform");
    GltfTexture t = {.uv_set = (int)json_integer_value(json_object_get(info, "texCoord"))};
    float offset[2];
    pair_or(transform, "offset", 0, 0, offset);
    pair_or(transform, "scale", 1, 1, t.scale);
    t.rotation_rad = number_or(transform, "rotation", 0);
    if (json_is_integer(json_object_get(transform, "texCoord")))
        t.uv_set = (int)json_integer_value(json_object_get(transform, "texCoord"));
    t.offset[0] = offset[0] + t.scale[1] * sinf(t.rotation_rad);
    t.offset[1] = 1 - offset[1] - t.scale[1] * cosf(t.rotation_rad);
    return t;
}

static GltfMaterial read_material(json_t *material)
{
    json_t *pbr = json_object_get(material, "pbrMetallicRoughness");
    json_t *extensions = json_object_get(material, "extensions");
    json_t *emissive = json_object_get(extensions, "KHR_materials_emissive_strength");
    json_t *ior = json_object_get(extensions, "KHR_materials_ior");
    json_t *transmission = json_object_get(extensions, "KHR_materials_transmission");
    GltfMaterial m = {.emissive_strength = number_or(emissive, "emissiveStrength", 1),
                      .ior = number_or(ior, "ior", 1.5f),
                      .transmission = number_or(transmission, "transmissionFactor", 0)};
    json_t *slots[GLTF_SLOT_COUNT] = {
        [GLTF_BASE_COLOR] = json_object_get(pbr, "baseColorTexture"),
        [GLTF_METALLIC_ROUGHNESS] = json_object_get(pbr, "metallicRoughnessTexture"),
        [GLTF_NORMAL] = json_object_get(material, "normalTexture"),
        [GLTF_OCCLUSION] = json_object_get(material, "occlusionTexture"),
        [GLTF_EMISSIVE] = json_object_get(material, "emissiveTexture"),
        [GLTF_TRANSMISSION] = json_object_get(transmission, "transmissionTexture"),
    };
    for (int slot = 0; slot < GLTF_SLOT_COUNT; slot++)
        m.textures[slot] = read_texture(slots[slot]);
    return m;
}

SortResult gltf_info_read(const char *path, GltfWarn warn, void *warn_data, GltfInfo *out_info,
                          SortFailure *why)
{
    *out_info = (GltfInfo){0};
    json_t *root;
    SortResult result = load_json(path, &root, why);
    if (result != SORT_OK)
        return result;
    result = check_extensions(root, warn, warn_data, why);
    json_t *materials = json_object_get(root, "materials");
    size_t count = json_array_size(materials);
    if (result == SORT_OK && count > 0) {
        out_info->materials = calloc(count, sizeof *out_info->materials);
        if (!out_info->materials)
            result = fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
    }
    if (result == SORT_OK) {
        warn_of_shared(root, "light", warn, warn_data);
        warn_of_shared(root, "camera", warn, warn_data);
        for (size_t i = 0; i < count; i++)
            out_info->materials[i] = read_material(json_array_get(materials, i));
        out_info->material_count = (uint32_t)count;
    }
    json_decref(root);
    return result;
}

void gltf_info_free(GltfInfo *info)
{
    free(info->materials);
    *info = (GltfInfo){0};
}
