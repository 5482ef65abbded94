/* Materials as data: a shader or a group of shaders by name, parameter values, texture bindings. Whether
 * the shader has such parameters is for sort/shade to say, which compiles it. Shader sources and
 * textures that several materials or nodes name are one entry each. */
#include "sort/package/scene_parse.h"

#include "base/alloc.h"
#include "base/file.h"
#include "textures/texcache.h"
#include <stdio.h>
#include <string.h>

/* --- shaders -------------------------------------------------------------------------------- */

static Status read_shader(SceneParser *p, const JsonCursor *c, const char *file, Str *out_text,
                          Error *err)
{
    char *text;
    size_t size_bytes;
    if (!path_has_extension(file, ".ssl"))
        return json_fail(c, err, "'%.200s' is neither unit:NAME nor a file that ends in .ssl",
                         file);
    TRY(parse_at_field(
        c, package_read(p->package, file, SCENE_SHADER_BYTES_MAX, &text, &size_bytes, err), err));
    Status status = STATUS_OK;
    if (memchr(text, 0, size_bytes) || !str_is_utf8((Str){text, size_bytes}))
        status = json_fail(c, err, "'%s' is not UTF-8 text", file);
    else
        *out_text = (Str){arena_strndup(p->arena, text, size_bytes), size_bytes};
    mem_free(text);
    return status;
}

static Status parse_shader(SceneParser *p, const JsonCursor *c, uint32_t *out_shader, Error *err)
{
    static const char prefix[] = "unit:";
    const size_t prefix_bytes = sizeof prefix - 1;
    const char *text;
    bool is_new;
    TRY(json_as_string(c, &text, err));
    bool is_unit = strncmp(text, prefix, prefix_bytes) == 0;
    char *name = arena_strndup(p->arena, text, strlen(text));
    TRY(name_index_add(&p->shader_names, name, out_shader, &is_new, err));
    if (!is_new)
        return STATUS_OK;
    SceneShader shader = {.name = is_unit ? name + prefix_bytes : name, .is_unit = is_unit};
    if (is_unit && !str_is_identifier(shader.name))
        return json_fail(c, err, "'%.80s' cannot be the name of a unit", shader.name);
    if (!is_unit)
        TRY(read_shader(p, c, name, &shader.text, err));
    array_push(p->arena, &p->shaders, shader);
    return STATUS_OK;
}

/* --- textures ------------------------------------------------------------------------------- */

static const char no_file[] = ""; /* the path of what is missing */

typedef struct TextureFile {
    const char *name; /* as the package has it; of a UDIM set the pattern */
    uint32_t id;      /* into texture_paths */
    const char *path; /* on disk, a set's with its pattern; NULL: in the zip, and to be extracted */
} TextureFile;

static void queue_extract(SceneParser *p, const JsonCursor *c, const TextureFile *texture,
                          const char *file)
{
    char field[JSON_PATH_MAX];
    json_path(c, field);
    array_push(p->arena, &p->extracts,
               (TextureExtract){.file = file,
                                .texture = texture->name,
                                .field = arena_strndup(p->arena, field, strlen(field)),
                                .file_id = texture->id});
}

/* A file of a set obeys the same rules as any other. */
static Status check_set_member(SceneParser *p, const JsonCursor *c, const char *file, Error *err)
{
    uint64_t size_bytes;
    Error reason = {0};
    Status status = package_file_size(p->package, file, &size_bytes, NULL, &reason);
    return status == STATUS_OK ? STATUS_OK
                               : parse_refuse(c, status, err, "'%s': %s", file, reason.text);
}

/* Queues those of the zip's files that are of the set. */
static Status find_set_in_zip(SceneParser *p, const JsonCursor *c, const TextureFile *set,
                              bool *out_is_found, Error *err)
{
    bool is_present[TEX_UDIM_COUNT] = {false};
    *out_is_found = false;
    for (uint64_t i = 0; i < package_zip_count(p->package); ++i) {
        const char *name = package_zip_name(p->package, i);
        uint32_t index = name ? texcache_udim_index(set->name, name) : TEX_UDIM_COUNT;
        if (index == TEX_UDIM_COUNT || is_present[index])
            continue;
        is_present[index] = *out_is_found = true;
        TRY(check_set_member(p, c, name, err));
        queue_extract(p, c, set, arena_strndup(p->arena, name, strlen(name)));
    }
    return STATUS_OK;
}

static Status find_set_in_folder(SceneParser *p, const JsonCursor *c, TextureFile *set,
                                 bool *out_is_found, Error *err)
{
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    char path[PATH_BYTES];
    TRY(path_join(package_path(p->package), set->name, path, err));
    *out_is_found = texcache_udim_list(path, is_present, &count, NULL) == STATUS_OK;
    for (uint32_t i = 0; *out_is_found && i < TEX_UDIM_COUNT; ++i) {
        char member[PATH_BYTES];
        if (!is_present[i])
            continue;
        TRY(texcache_udim_path(set->name, i, member, sizeof member, err));
        TRY(check_set_member(p, c, member, err));
    }
    set->path = arena_strndup(p->arena, path, strlen(path));
    return STATUS_OK;
}

/* A UDIM set: in the package, where each of its files must lie, or in one of the folders of
 * --texture-path. The path keeps its pattern. */
static Status find_texture_set(SceneParser *p, const JsonCursor *c, TextureFile *set, Error *err)
{
    bool is_found = false, is_present[TEX_UDIM_COUNT];
    uint32_t count;
    char path[PATH_BYTES];
    TRY(package_is_zip(p->package) ? find_set_in_zip(p, c, set, &is_found, err)
                                   : find_set_in_folder(p, c, set, &is_found, err));
    for (uint32_t i = 0; !is_found && i < p->options->texture_path_count; ++i) {
        TRY(path_join(p->options->texture_paths[i], set->name, path, err));
        is_found = texcache_udim_list(path, is_present, &count, NULL) == STATUS_OK;
        set->path = arena_strndup(p->arena, path, strlen(path));
    }
    return is_found
               ? STATUS_OK
               : parse_refuse(c, STATUS_NOT_FOUND, err, "no file of the UDIM set '%s'", set->name);
}

/* The file on disk: in the folder, in the zip, or in one of the folders of --texture-path. */
static Status find_texture_file(SceneParser *p, const JsonCursor *c, TextureFile *file, Error *err)
{
    uint64_t size_bytes;
    char path[PATH_BYTES];
    Status status = package_file_size(p->package, file->name, &size_bytes, NULL, err);
    if (status == STATUS_OK && package_is_zip(p->package)) {
        queue_extract(p, c, file, file->name);
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        TRY(parse_at_field(c, package_extract(p->package, file->name, "", path, err), err));
        file->path = arena_strndup(p->arena, path, strlen(path));
        return STATUS_OK;
    }
    if (status != STATUS_NOT_FOUND)
        return parse_at_field(c, status, err);
    for (uint32_t i = 0; i < p->options->texture_path_count; ++i) {
        TRY(path_join(p->options->texture_paths[i], file->name, path, err));
        if (file_exists(path) && !file_is_directory(path)) {
            file->path = arena_strndup(p->arena, path, strlen(path));
            return STATUS_OK;
        }
    }
    if (p->options->texture_path_count == 0)
        return parse_refuse(c, STATUS_NOT_FOUND, err,
                            "no file '%s' in the package; --texture-path DIR looks there too, "
                            "--missing magenta renders without it",
                            file->name);
    return parse_refuse(c, STATUS_NOT_FOUND, err,
                        "no file '%s' in the package or the %u folders of --texture-path; "
                        "--missing magenta renders without it",
                        file->name, p->options->texture_path_count);
}

static void warn_of_missing(const SceneParser *p, const char *name)
{
    char text[PACKAGE_FILE_NAME_BYTES_MAX + 64];
    snprintf(text, sizeof text, "the texture '%s' is not there; it shows magenta", name);
    if (p->options->warn)
        p->options->warn(p->options->warn_data, text);
}

/* An id for the file; files of a zip are queued for extraction. */
static Status parse_texture_file(SceneParser *p, const JsonCursor *c, const char *name,
                                 uint32_t *out_id, Error *err)
{
    bool is_new;
    TextureFile file = {.name = name};
    TRY(parse_at_field(c, package_check_name(name, err), err));
    TRY(name_index_add(&p->texture_files, name, &file.id, &is_new, err));
    *out_id = file.id;
    if (!is_new)
        return STATUS_OK;
    Status status = texcache_is_udim(name) ? find_texture_set(p, c, &file, err)
                                           : find_texture_file(p, c, &file, err);
    if (status == STATUS_NOT_FOUND && p->options->missing == SCENE_MISSING_MAGENTA) {
        ++p->scene->missing_count;
        warn_of_missing(p, name);
        file.path = no_file;
        status = STATUS_OK;
    }
    TRY(status);
    array_push(p->arena, &p->texture_paths, file.path);
    return STATUS_OK;
}

static Status parse_wrap(JsonCursor *texture, SceneTexture *out_texture, Error *err)
{
    static const char *const wraps[] = {"file", "periodic", "clamp", "mirror", "black"};
    JsonCursor array, c;
    TRY(json_get_array(texture, "wrap", JSON_OPTIONAL, &array, err));
    if (!json_exists(&array))
        return STATUS_OK;
    if (json_count(&array) != 2)
        return json_fail(&array, err, "must be [u, v]");
    for (uint32_t k = 0; k < 2; ++k) {
        const char *name;
        uint32_t i = 0;
        json_at(&array, k, &c);
        TRY(json_as_string(&c, &name, err));
        while (i < SORT_COUNT_OF(wraps) && strcmp(name, wraps[i]) != 0)
            ++i;
        if (i == SORT_COUNT_OF(wraps)) {
            const char *near = suggest_nearest(name, wraps, SORT_COUNT_OF(wraps));
            return near
                       ? json_fail(&c, err, "unknown value '%.80s'; did you mean '%s'?", name, near)
                       : json_fail(&c, err,
                                   "unknown value '%.80s'; it must be one of 'file', 'periodic', "
                                   "'clamp', 'mirror', 'black'",
                                   name);
        }
        *(k == 0 ? &out_texture->wrap_u : &out_texture->wrap_v) = (SceneWrap)i;
    }
    return STATUS_OK;
}

Status parse_texture(SceneParser *p, JsonCursor *texture, bool has_wrap, uint32_t *out_texture,
                     Error *err)
{
    static const char *const spaces[] = {"auto", "srgb", "linear", "raw"};
    static const SceneColorSpace values[] = {SCENE_COLOR_AUTO, SCENE_COLOR_SRGB, SCENE_COLOR_LINEAR,
                                             SCENE_COLOR_RAW};
    JsonCursor c;
    const char *text;
    uint32_t space = 0, file_id;
    TRY(json_as_object(texture, err));
    TRY(json_get_any(texture, "file", JSON_REQUIRED, &c, err));
    TRY(json_as_string(&c, &text, err));
    char *file = arena_strndup(p->arena, text, strlen(text));
    TRY(parse_texture_file(p, &c, file, &file_id, err));
    TRY(json_get_choice(texture, "color_space", JSON_OPTIONAL, spaces, SORT_COUNT_OF(spaces),
                        &space, err));
    SceneTexture t = {.name = file,
                      .path = p->texture_paths.data[file_id],
                      .is_missing = p->texture_paths.data[file_id] == no_file,
                      .color_space = values[space]};
    if (has_wrap) {
        TRY(parse_wrap(texture, &t, err));
    } else { /* around the horizon, and not over the poles */
        t.wrap_u = SCENE_WRAP_PERIODIC;
        t.wrap_v = SCENE_WRAP_CLAMP;
    }
    TRY(json_finish(texture, err));

    /* ':' is in no file name. */
    bool is_new;
    char *key = arena_printf(p->arena, "%s:%d:%d:%d", file, t.color_space, t.wrap_u, t.wrap_v);
    TRY(name_index_add(&p->texture_keys, key, out_texture, &is_new, err));
    if (is_new) {
        array_push(p->arena, &p->textures, t);
        array_push(p->arena, &p->texture_file, file_id);
    }
    return STATUS_OK;
}

/* --- materials ------------------------------------------------------------------------------ */

static Status read_node_shader(void *data, JsonCursor *value, uint32_t *out_id, Error *err)
{
    return parse_shader(data, value, out_id, err);
}

static Status read_node_texture(void *data, JsonCursor *value, uint32_t *out_id, Error *err)
{
    return parse_texture(data, value, true, out_id, err);
}

static Status parse_material(SceneParser *p, JsonCursor *c, SceneMaterial *out_material, Error *err)
{
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->material_names, &out_material->name, err));
    TRY(json_get_bool(c, "shadows_bumps", JSON_OPTIONAL, &out_material->shadows_bumps, err));
    TRY(json_get_bool(c, "soft_bump_shadows", JSON_OPTIONAL, &out_material->soft_bump_shadows,
                      err));
    TRY(json_get_bool(c, "keeps_radiance", JSON_OPTIONAL, &out_material->keeps_radiance, err));
    return ssl_group_read_node(&p->groups, c, out_material->name, &out_material->node, err);
}

static Status parse_groups(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor object;
    p->groups = (SslGroupReader){.size_bytes = sizeof p->groups,
                                 .arena = p->arena,
                                 .read_shader = read_node_shader,
                                 .read_texture = read_node_texture,
                                 .data = p};
    TRY(json_get_object(root, "groups", JSON_OPTIONAL, &object, err));
    if (json_exists(&object))
        TRY(ssl_group_read_definitions(&p->groups, &object, err));
    p->scene->groups = p->groups.definitions;
    p->scene->group_count = p->groups.definition_count;
    return STATUS_OK;
}

Status parse_materials(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    TRY(parse_groups(p, root, err));
    TRY(json_get_array(root, "materials", JSON_OPTIONAL, &array, err));
    uint32_t count = json_exists(&array) ? json_count(&array) : 0;
    if (count > SCENE_SECTION_MAX)
        return parse_refuse(&array, STATUS_LIMIT, err, "has %u entries; at most %d are read", count,
                            SCENE_SECTION_MAX);
    SceneMaterial *materials = ARENA_ARRAY(p->arena, SceneMaterial, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_material(p, &c, &materials[i], err));
    }
    p->scene->materials = materials;
    p->scene->material_count = count;
    return STATUS_OK;
}
