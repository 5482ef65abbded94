#include "plugins/assimp/gltf_json.h"
#include "plugins/plugin_check.h"
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

typedef struct JsonPlace {
    bool is_glb;
    uint32_t offset, bytes;
    size_t tail_bytes; /* bytes of the file after the JSON */
} JsonPlace;

/* Finds the JSON in the file. GLB: 12 bytes of header, then chunks {length, type, data}. */
static SortResult find_json(FILE *file, JsonPlace *out, SortFailure *why)
{
    unsigned char head[GLB_HEADER_BYTES];
    size_t got = fread(head, 1, sizeof head, file);
    if (fseek(file, 0, SEEK_END) != 0)
        return fail(why, SORT_ERROR_OPEN, "cannot be read");
    long file_bytes = ftell(file);
    out->is_glb = got == sizeof head && memcmp(head, "glTF", 4) == 0;
    if (out->is_glb && u32_at(head + 4) != 2)
        return fail(why, SORT_ERROR_UNSUPPORTED, "GLB version %u; only 2 is supported",
                    u32_at(head + 4));
    if (out->is_glb && memcmp(head + 16, "JSON", 4) != 0)
        return fail(why, SORT_ERROR_FORMAT, "the first chunk of the GLB is not JSON");
    out->offset = out->is_glb ? GLB_HEADER_BYTES : 0;
    long bytes = out->is_glb ? (long)u32_at(head + 12) : file_bytes;
    if (bytes < 0 || bytes > JSON_BYTES_MAX)
        return fail(why, SORT_ERROR_FORMAT, "its JSON is larger than 1 GiB");
    if (file_bytes < bytes + (long)out->offset)
        return fail(why, SORT_ERROR_FORMAT, "its JSON is cut short");
    out->bytes = (uint32_t)bytes;
    out->tail_bytes = (size_t)(file_bytes - bytes - (long)out->offset);
    return SORT_OK;
}

/* Reads the JSON text. *out_text is owned by the caller (free). */
static SortResult read_text(FILE *file, const JsonPlace *place, char **out_text, SortFailure *why)
{
    char *text = malloc((size_t)place->bytes + 1);
    if (!text)
        return fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
    if (fseek(file, (long)place->offset, SEEK_SET) != 0 ||
        fread(text, 1, place->bytes, file) != place->bytes) {
        free(text);
        return fail(why, SORT_ERROR_OPEN, "cannot be read");
    }
    *out_text = text;
    return SORT_OK;
}

static SortResult load_json(const SortHostApi *api, const char *path, JsonPlace *out_place,
                            json_t **out_root, SortFailure *why)
{
    int fd = api->open_file(api->host, path);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    if (!file)
        return fail(why, SORT_ERROR_OPEN, "cannot be opened for reading");
    char *text = NULL;
    SortResult result = find_json(file, out_place, why);
    if (result == SORT_OK)
        result = read_text(file, out_place, &text, why);
    fclose(file);
    if (result != SORT_OK)
        return result;
    json_error_t error;
    *out_root = json_loadb(text, out_place->bytes, 0, &error);
    free(text);
    if (!*out_root)
        return fail(why, SORT_ERROR_FORMAT, "JSON, line %d, column %d: %s", error.line,
                    error.column, error.text);
    return SORT_OK;
}

/* --- extensions ---------------------------------------------------------------------------- */

static bool is_handled(const char *extension)
{
    static const char *const handled[] = {
        "KHR_materials_clearcoat", "KHR_materials_emissive_strength",
        "KHR_materials_ior",       "KHR_materials_sheen",
        "KHR_materials_specular",  "KHR_materials_transmission",
        "KHR_materials_unlit",     "KHR_materials_volume",
        "KHR_texture_transform",   "KHR_lights_punctual",
        "EXT_texture_webp",
    };
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; ++i)
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

/* Reads three numbers, or `otherwise` if they are missing or not three. */
static void triple_or(json_t *object, const char *field, float otherwise, float out[3])
{
    json_t *value = json_object_get(object, field);
    for (size_t i = 0; i < 3; ++i)
        out[i] = json_array_size(value) == 3 ? (float)json_number_value(json_array_get(value, i))
                                             : otherwise;
}

/* In glTF v runs down and angles have the opposite sign: uv' = T R(-rotation) S uv. With v = 1 - v_gltf on both
 * sides, this is the same rotation counter-clockwise and another offset. */
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

static char *name_of(json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    return strdup(name ? name : "");
}

/* Warns of fields of extensions for which ssl/units/gltf_pbr.ssl has no parameter. Absorption matters only if
 * there is a distance. */
static void warn_of_lost_fields(json_t *material, GltfWarn warn, void *warn_data)
{
    static const struct {
        const char *extension, *field;
    } lost[] = {
        {"KHR_materials_clearcoat", "clearcoatTexture"},
        {"KHR_materials_clearcoat", "clearcoatRoughnessTexture"},
        {"KHR_materials_clearcoat", "clearcoatNormalTexture"},
        {"KHR_materials_sheen", "sheenColorTexture"},
        {"KHR_materials_sheen", "sheenRoughnessTexture"},
        {"KHR_materials_specular", "specularTexture"},
        {"KHR_materials_specular", "specularColorTexture"},
        {"KHR_materials_volume", "attenuationDistance"},
    };
    json_t *extensions = json_object_get(material, "extensions");
    const char *name = json_string_value(json_object_get(material, "name"));
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; ++i) {
        if (!json_object_get(json_object_get(extensions, lost[i].extension), lost[i].field))
            continue;
        char text[SORT_FAILURE_TEXT_MAX];
        snprintf(text, sizeof text, "material '%s': %s of %s is left out", name ? name : "",
                 lost[i].field, lost[i].extension);
        warn(warn_data, text);
    }
}

/* 0 means an infinite index: everything is reflected. */
static float read_ior(json_t *extension)
{
    const float enough = 1000.0f;
    float ior = number_or(extension, "ior", 1.5f);
    return ior == 0.0f ? enough : fmaxf(ior, 1.0f);
}

static void read_layers(json_t *extensions, GltfMaterial *m)
{
    json_t *clearcoat = json_object_get(extensions, "KHR_materials_clearcoat");
    json_t *sheen = json_object_get(extensions, "KHR_materials_sheen");
    json_t *specular = json_object_get(extensions, "KHR_materials_specular");
    json_t *volume = json_object_get(extensions, "KHR_materials_volume");
    m->clearcoat = number_or(clearcoat, "clearcoatFactor", 0);
    m->clearcoat_roughness = number_or(clearcoat, "clearcoatRoughnessFactor", 0);
    triple_or(sheen, "sheenColorFactor", 0, m->sheen_color);
    m->sheen_roughness = number_or(sheen, "sheenRoughnessFactor", 0);
    m->specular = number_or(specular, "specularFactor", 1);
    triple_or(specular, "specularColorFactor", 1, m->specular_color);
    m->has_volume = number_or(volume, "thicknessFactor", 0) > 0;
    m->is_unlit = json_object_get(extensions, "KHR_materials_unlit") != NULL;
}

static GltfMaterial read_material(json_t *material)
{
    json_t *pbr = json_object_get(material, "pbrMetallicRoughness");
    json_t *extensions = json_object_get(material, "extensions");
    json_t *emissive = json_object_get(extensions, "KHR_materials_emissive_strength");
    json_t *ior = json_object_get(extensions, "KHR_materials_ior");
    json_t *transmission = json_object_get(extensions, "KHR_materials_transmission");
    GltfMaterial m = {.name = name_of(material),
                      .emissive_strength = number_or(emissive, "emissiveStrength", 1),
                      .ior = read_ior(ior),
                      .transmission = number_or(transmission, "transmissionFactor", 0)};
    read_layers(extensions, &m);
    json_t *slots[GLTF_SLOT_COUNT] = {
        [GLTF_BASE_COLOR] = json_object_get(pbr, "baseColorTexture"),
        [GLTF_METALLIC_ROUGHNESS] = json_object_get(pbr, "metallicRoughnessTexture"),
        [GLTF_NORMAL] = json_object_get(material, "normalTexture"),
        [GLTF_OCCLUSION] = json_object_get(material, "occlusionTexture"),
        [GLTF_EMISSIVE] = json_object_get(material, "emissiveTexture"),
        [GLTF_TRANSMISSION] = json_object_get(transmission, "transmissionTexture"),
    };
    for (int slot = 0; slot < GLTF_SLOT_COUNT; ++slot)
        m.textures[slot] = read_texture(slots[slot]);
    return m;
}

/* --- cameras, lights, nodes ---------------------------------------------------------------- */

static GltfCamera read_camera(json_t *camera)
{
    const char *type = json_string_value(json_object_get(camera, "type"));
    json_t *perspective = json_object_get(camera, "perspective");
    json_t *orthographic = json_object_get(camera, "orthographic");
    if (type && strcmp(type, "orthographic") == 0)
        return (GltfCamera){.is_orthographic = true,
                            .height_m = 2 * number_or(orthographic, "ymag", 1)};
    return (GltfCamera){.fov_y_rad = number_or(perspective, "yfov", 0),
                        .aspect = number_or(perspective, "aspectRatio", 0)};
}

/* KHR_lights_punctual uses candela and lux. */
static GltfLight read_light(json_t *light)
{
    const char *type = json_string_value(json_object_get(light, "type"));
    json_t *spot = json_object_get(light, "spot"), *color = json_object_get(light, "color");
    float intensity = number_or(light, "intensity", 1);
    GltfLight l = {.kind = SORT_LIGHT_POINT,
                   .inner_angle_rad = number_or(spot, "innerConeAngle", 0),
                   .outer_angle_rad = number_or(spot, "outerConeAngle", 0.785398163f)};
    if (type && strcmp(type, "spot") == 0)
        l.kind = SORT_LIGHT_SPOT;
    else if (type && strcmp(type, "directional") == 0)
        l.kind = SORT_LIGHT_DISTANT;
    for (size_t i = 0; i < 3; ++i)
        l.color[i] = intensity * (json_array_size(color) == 3
                                      ? (float)json_number_value(json_array_get(color, i))
                                      : 1.0f);
    return l;
}

/* Chooses the lumens of a watt. In glTF emission is in nits, and lights are in lux and candela, on the same
 * scale. Blender's exporter converts the watts of its lamps to lumens, 683 of them, but leaves the emission of
 * materials unchanged, unless it is set to write lamps without a unit, which is recognisable by numbers as
 * small as Blender's own. */
static float lumens_per_watt(json_t *root, const GltfInfo *info)
{
    const float blender = 683.0f, most_without_unit = 50.0f;
    const char *generator =
        json_string_value(json_object_get(json_object_get(root, "asset"), "generator"));
    float brightest = 0;
    for (int i = 0; i < info->light_count; ++i)
        for (int k = 0; k < 3; ++k)
            brightest = fmaxf(brightest, info->lights[i].color[k]);
    return generator && strstr(generator, "Blender") && brightest > most_without_unit ? blender : 1;
}

/* Reads `object`.`field` as an index below `count`. */
static int index_in(json_t *object, const char *field, int count)
{
    json_t *value = json_object_get(object, field);
    json_int_t index = json_integer_value(value);
    return json_is_integer(value) && index >= 0 && index < count ? (int)index : GLTF_NONE;
}

static GltfNode read_node(json_t *node, const GltfInfo *info)
{
    json_t *punctual = json_object_get(json_object_get(node, "extensions"), "KHR_lights_punctual");
    return (GltfNode){.name = name_of(node),
                      .camera = index_in(node, "camera", info->camera_count),
                      .light = index_in(punctual, "light", info->light_count)};
}

/* --- the tree of nodes --------------------------------------------------------------------- */

/* The tree of nodes. In glTF nodes form trees: nodes[].children names each node at most once, and
 * scenes[].nodes names only roots. Assimp follows children without checks, so thirty nodes that each name the
 * next one twice would become a thousand million, and a cycle would never end. */
typedef struct NodeTree {
    json_t *nodes;
    int count;
    int *parents; /* owned; [count], or GLTF_NONE */
    int *depths;  /* owned; [count]; 0 if not yet known */
} NodeTree;

/* Formats a node for messages: "'name' (nodes[3])". Returns `out`. */
static const char *node_text(const NodeTree *t, int node, char out[128])
{
    const char *name =
        json_string_value(json_object_get(json_array_get(t->nodes, (size_t)node), "name"));
    ASSERT(node >= 0 && node < t->count);
    snprintf(out, 128, "'%.80s' (nodes[%d])", name ? name : "", node);
    return out;
}

static int node_index(const NodeTree *t, json_t *value)
{
    json_int_t index = json_integer_value(value);
    return json_is_integer(value) && index >= 0 && index < t->count ? (int)index : GLTF_NONE;
}

static SortResult find_parents(NodeTree *t, SortFailure *why)
{
    char child_text[128], first[128], second[128];
    for (int i = 0; i < t->count; ++i) {
        size_t k;
        json_t *value;
        json_array_foreach(json_object_get(json_array_get(t->nodes, (size_t)i), "children"), k,
                           value)
        {
            int child = node_index(t, value);
            if (child == GLTF_NONE)
                return fail(why, SORT_ERROR_FORMAT, "node %s: a child of it is not there",
                            node_text(t, i, first));
            if (t->parents[child] != GLTF_NONE)
                return fail(why, SORT_ERROR_FORMAT,
                            "node %s is a child of %s and of %s: nodes of glTF are trees",
                            node_text(t, child, child_text), node_text(t, t->parents[child], first),
                            node_text(t, i, second));
            t->parents[child] = i;
        }
    }
    return SORT_OK;
}

/* Finds a node's depth below its root, and those of the nodes above it, so that the total time is linear. */
static SortResult find_depth(NodeTree *t, int node, SortFailure *why)
{
    char text[128];
    int above = 0, top = node;
    ASSERT(node >= 0 && node < t->count);
    while (t->parents[top] != GLTF_NONE && t->depths[top] == 0) {
        top = t->parents[top];
        if (++above > t->count)
            return fail(why, SORT_ERROR_FORMAT, "node %s is below itself: nodes of glTF are trees",
                        node_text(t, node, text));
    }
    int depth = above + (t->depths[top] ? t->depths[top] : 1);
    if (depth > GLTF_NODE_DEPTH_MAX)
        return fail(why, SORT_ERROR_UNSUPPORTED, "node %s: nodes are nested more than %d deep",
                    node_text(t, node, text), (int)GLTF_NODE_DEPTH_MAX);
    for (; t->depths[node] == 0; node = t->parents[node]) {
        ASSERT(depth >= 1);
        t->depths[node] = depth--;
        if (t->parents[node] == GLTF_NONE)
            break;
    }
    return SORT_OK;
}

static SortResult check_roots(const NodeTree *t, json_t *root, SortFailure *why)
{
    char text[128];
    size_t i, k;
    json_t *scene, *value;
    bool *is_root = calloc((size_t)t->count + 1, sizeof *is_root);
    if (!is_root)
        return fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
    SortResult result = SORT_OK;
    ASSERT(t->count == 0 || t->depths[t->count - 1] > 0);
    json_array_foreach(json_object_get(root, "scenes"), i, scene)
    {
        memset(is_root, 0, (size_t)t->count * sizeof *is_root);
        json_array_foreach(json_object_get(scene, "nodes"), k, value)
        {
            int node = node_index(t, value);
            if (node == GLTF_NONE || result != SORT_OK)
                continue;
            if (is_root[node] || t->parents[node] != GLTF_NONE)
                result = fail(
                    why, SORT_ERROR_FORMAT, "node %s is in a scene %s: nodes of glTF are trees",
                    node_text(t, node, text), is_root[node] ? "twice" : "and below another node");
            is_root[node] = true;
        }
    }
    free(is_root);
    return result;
}

static SortResult check_tree(json_t *root, int node_count, SortFailure *why)
{
    NodeTree t = {.nodes = json_object_get(root, "nodes"), .count = node_count};
    t.parents = malloc(((size_t)node_count + 1) * sizeof *t.parents);
    t.depths = calloc((size_t)node_count + 1, sizeof *t.depths);
    if (!t.parents || !t.depths) {
        free(t.parents);
        free(t.depths);
        return fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
    }
    for (int i = 0; i < node_count; ++i)
        t.parents[i] = GLTF_NONE;
    SortResult result = find_parents(&t, why);
    for (int i = 0; result == SORT_OK && i < node_count; ++i)
        result = find_depth(&t, i, why);
    if (result == SORT_OK)
        result = check_roots(&t, root, why);
    free(t.parents);
    free(t.depths);
    return result;
}

/* --- the whole ----------------------------------------------------------------------------- */

/* Returns an array and its length. An array longer than INT_MAX is treated as empty. */
static json_t *section(json_t *root, const char *name, int *out_count)
{
    json_t *array = json_object_get(root, name);
    size_t count = json_array_size(array);
    *out_count = count > INT_MAX / 2 ? 0 : (int)count;
    return array;
}

static SortResult read_sections(json_t *root, GltfWarn warn, void *warn_data, GltfInfo *info,
                                SortFailure *why)
{
    json_t *punctual = json_object_get(json_object_get(root, "extensions"), "KHR_lights_punctual");
    json_t *materials = section(root, "materials", &info->material_count);
    json_t *cameras = section(root, "cameras", &info->camera_count);
    json_t *lights = section(punctual, "lights", &info->light_count);
    json_t *nodes = section(root, "nodes", &info->node_count);
    info->materials = calloc((size_t)info->material_count + 1, sizeof *info->materials);
    info->cameras = calloc((size_t)info->camera_count + 1, sizeof *info->cameras);
    info->lights = calloc((size_t)info->light_count + 1, sizeof *info->lights);
    info->nodes = calloc((size_t)info->node_count + 1, sizeof *info->nodes);
    bool ok = info->materials && info->cameras && info->lights && info->nodes;
    for (int i = 0; ok && i < info->material_count; ++i) {
        info->materials[i] = read_material(json_array_get(materials, (size_t)i));
        warn_of_lost_fields(json_array_get(materials, (size_t)i), warn, warn_data);
        ok = info->materials[i].name != NULL;
    }
    for (int i = 0; ok && i < info->camera_count; ++i)
        info->cameras[i] = read_camera(json_array_get(cameras, (size_t)i));
    for (int i = 0; ok && i < info->light_count; ++i)
        info->lights[i] = read_light(json_array_get(lights, (size_t)i));
    if (ok)
        info->lumens_per_watt = lumens_per_watt(root, info);
    for (int i = 0; ok && i < info->node_count; ++i) {
        info->nodes[i] = read_node(json_array_get(nodes, (size_t)i), info);
        ok = info->nodes[i].name != NULL;
    }
    return ok ? SORT_OK : fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
}

static bool rename_all(json_t *objects)
{
    size_t i;
    json_t *object;
    json_array_foreach(objects, i, object)
    {
        char name[32];
        snprintf(name, sizeof name, "%zu", i);
        if (json_is_object(object) && json_object_set_new(object, "name", json_string(name)) != 0)
            return false;
    }
    return true;
}

static void put_u32(char *out, size_t value)
{
    for (int i = 0; i < 4; ++i)
        out[i] = (char)(value >> (8 * i) & 255);
}

/* Gives a texture whose image is named by an extension (WebP, KTX2, DDS) that image, so that it is decoded or
 * refused by name, and one without any image a name that does not exist. Assimp would omit both without a
 * message. */
static bool give_sources(json_t *root)
{
    size_t i;
    json_t *texture;
    json_array_foreach(json_object_get(root, "textures"), i, texture)
    {
        const char *extension;
        json_t *value, *images = json_object_get(root, "images");
        json_t *source = json_object_get(texture, "source");
        if (json_is_integer(source) || !json_is_object(texture))
            continue;
        json_object_foreach(json_object_get(texture, "extensions"), extension, value)
        {
            source = json_object_get(value, "source");
            if (json_is_integer(source))
                break;
        }
        if (json_is_integer(source)) {
            if (json_object_set_new(texture, "source", json_integer(json_integer_value(source))) !=
                0)
                return false;
            continue;
        }
        if (!json_is_array(images)) {
            images = json_array();
            if (json_object_set_new(root, "images", images) != 0)
                return false;
        }
        json_int_t last = (json_int_t)json_array_size(images);
        if (json_array_append_new(images, json_pack("{s:s}", "uri", "(the file names no image)")) !=
                0 ||
            json_object_set_new(texture, "source", json_integer(last)) != 0)
            return false;
    }
    return true;
}

/* Writes the text that Assimp reads: the JSON with new names and without cameras and lights, for a GLB file
 * with its header. */
static SortResult write_text(json_t *root, bool is_glb, size_t tail_bytes, GltfInfo *info,
                             SortFailure *why)
{
    size_t i, head = is_glb ? GLB_HEADER_BYTES : 0;
    json_t *node;
    json_object_del(root, "cameras");
    json_array_foreach(json_object_get(root, "nodes"), i, node) json_object_del(node, "camera");
    json_object_del(json_object_get(root, "extensions"), "KHR_lights_punctual");
    json_array_foreach(json_object_get(root, "nodes"), i, node)
        json_object_del(json_object_get(node, "extensions"), "KHR_lights_punctual");
    bool ok = rename_all(json_object_get(root, "nodes")) &&
              rename_all(json_object_get(root, "materials")) && give_sources(root);
    char *json = ok ? json_dumps(root, JSON_COMPACT) : NULL;
    size_t size = json ? strlen(json) : 0, padded = (size + 3) & ~(size_t)3;
    info->text = json ? malloc(head + padded) : NULL;
    if (info->text) {
        memset(info->text + head + size, ' ', padded - size);
        memcpy(info->text + head, json, size);
        info->text_bytes = head + padded;
    }
    if (info->text && is_glb) {
        memcpy(info->text, "glTF", 4);
        put_u32(info->text + 4, 2);
        put_u32(info->text + 8, info->text_bytes + tail_bytes);
        put_u32(info->text + 12, padded);
        memcpy(info->text + 16, "JSON", 4);
    }
    free(json);
    return info->text ? SORT_OK : fail(why, SORT_ERROR_NO_MEMORY, "out of memory");
}

SortResult gltf_info_read(const SortHostApi *api, const char *path, GltfWarn warn, void *warn_data,
                          GltfInfo *out_info, SortFailure *why)
{
    *out_info = (GltfInfo){.tail_offset = -1};
    JsonPlace place = {0};
    json_t *root = NULL;
    SortResult result = load_json(api, path, &place, &root, why);
    if (result != SORT_OK)
        return result;
    if (place.is_glb)
        out_info->tail_offset = (int64_t)place.offset + place.bytes;
    result = check_extensions(root, warn, warn_data, why);
    if (result == SORT_OK)
        result = read_sections(root, warn, warn_data, out_info, why);
    if (result == SORT_OK)
        result = check_tree(root, out_info->node_count, why);
    if (result == SORT_OK)
        result = write_text(root, place.is_glb, place.tail_bytes, out_info, why);
    json_decref(root);
    return result;
}

void gltf_info_free(GltfInfo *info)
{
    for (int i = 0; info->materials && i < info->material_count; ++i)
        free(info->materials[i].name);
    for (int i = 0; info->nodes && i < info->node_count; ++i)
        free(info->nodes[i].name);
    free(info->materials);
    free(info->cameras);
    free(info->lights);
    free(info->nodes);
    free(info->text);
    *info = (GltfInfo){.tail_offset = -1};
}

int gltf_index_of_name(const char *name, int count)
{
    char *end;
    long index = strtol(name, &end, 10);
    return end != name && *end == '\0' && index >= 0 && index < count ? (int)index : GLTF_NONE;
}
