/* Materials of a package: SortMaterial in the words of ssl/units/gltf_pbr.ssl, and its textures. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/path.h"
#include "sort/import/import_state.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 20, PARAMETERS_MAX = 48, BINDINGS_MAX = 8 };

/* --- textures ------------------------------------------------------------------------------ */

static Status copy_stream(FILE *in, FILE *out, const char *from, Error *err)
{
    char *buffer = mem_alloc(COPY_BYTES, 1);
    if (!buffer)
        return import_no_memory(err);
    size_t got;
    do {
        got = fread(buffer, 1, COPY_BYTES, in);
        fwrite(buffer, 1, got, out);
    } while (got == COPY_BYTES);
    mem_free(buffer);
    if (ferror(in))
        return error_set_at(err, STATUS_IO, from, "cannot be read to its end");
    return STATUS_OK;
}

static Status copy_file(ImportSink *sink, const char *from, const char *to, Error *err)
{
    int fd;
    FILE *out;
    TRY(import_files_open(sink->files, from, &fd, err));
    FILE *in = fdopen(fd, "rb");
    if (!in) {
        close(fd);
        return import_no_memory(err);
    }
    Status status = package_writer_open_file(sink->writer, to, &out, err);
    if (status == STATUS_OK) {
        status = copy_stream(in, out, from, err);
        Status closed = package_writer_close_file(out, to, status == STATUS_OK ? err : NULL);
        status = status == STATUS_OK ? closed : status;
    }
    fclose(in);
    return status;
}

static Status write_embedded(PackageWriter *w, const SortTextureRef *ref, const char *to,
                             Error *err)
{
    FILE *out;
    TRY(package_writer_open_file(w, to, &out, err));
    fwrite(ref->embedded, 1, ref->embedded_bytes, out);
    return package_writer_close_file(out, to, err);
}

/* The suffix that decoders go by: lower case letters and digits, with its dot. */
static void suffix_of(const SortTextureRef *ref, char out[16])
{
    const char *suffix = ref->path ? path_extension(ref->path) : ref->embedded_suffix;
    size_t size = 0;
    out[size++] = '.';
    for (const char *c = suffix ? suffix : ""; *c && size < 15; ++c) {
        char lower = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
        if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))
            out[size++] = lower;
    }
    out[size] = '\0';
}

/* A name for it in the package: its own, cleaned, behind a number. */
static const char *texture_file(ImportSink *sink, const SortTextureRef *ref, const char *material)
{
    char slug[PACKAGE_SLUG_MAX + 1], suffix[16], stem_text[PATH_BYTES];
    Str stem = ref->path ? path_stem(ref->path) : str_from(material);
    snprintf(stem_text, sizeof stem_text, "%.*s", STR_ARG(stem));
    package_slug(stem_text, slug);
    suffix_of(ref, suffix);
    return arena_printf(sink->arena, "textures/%04u_%s%s", sink->textures.count, slug, suffix);
}

static Hash128 key_of(const SortTextureRef *ref, const char *path)
{
    HashState h;
    hash128_begin(&h);
    hash128_update_u64(&h, (ref->path != NULL) + (uint64_t)(path != NULL));
    if (ref->path)
        hash128_update_text(&h, path ? path : ref->path);
    else
        hash128_update(&h, ref->embedded, ref->embedded_bytes);
    return hash128_end(&h);
}

/* Puts a texture into the package, unless it is there. One that the scene file names and that cannot be had is
 * noted, and gets a name in the package that nothing lies under. */
static Status store_texture(ImportSink *sink, const SortTextureRef *ref, const char *material,
                            const char **out_file, Error *err)
{
    char path[PATH_BYTES];
    Error why = {0};
    bool is_there = !ref->path || (sink->files && import_files_find(sink->files, ref->path, path,
                                                                    &why) == STATUS_OK);
    StoredTexture stored = {.key = key_of(ref, ref->path && is_there ? path : NULL)};
    for (uint32_t i = 0; i < sink->textures.count; ++i)
        if (hash128_equal(sink->textures.data[i].key, stored.key)) {
            *out_file = sink->textures.data[i].file;
            return STATUS_OK;
        }
    *out_file = stored.file = texture_file(sink, ref, material);
    if (!stored.file)
        return import_no_memory(err);
    if (is_there)
        TRY(ref->path ? copy_file(sink, path, stored.file, err)
                      : write_embedded(sink->writer, ref, stored.file, err));
    else
        import_note_missing(sink, material, "texture", ref->path,
                            sink->files ? why.text : "is not there");
    sink->texture_count += is_there;
    return array_push(sink->arena, &sink->textures, stored) ? STATUS_OK : import_no_memory(err);
}

/* --- materials ----------------------------------------------------------------------------- */

typedef enum ValueKind { VALUE_BOOL, VALUE_INT, VALUE_FLOATS } ValueKind;

typedef struct Parameter {
    const char *name; /* static */
    ValueKind kind;
    uint32_t count; /* of numbers; 1: not an array */
    float values[4];
} Parameter;

typedef struct Binding {
    const char *handle; /* static */
    const char *file;
    const char *color_space, *wrap_u, *wrap_v; /* static */
} Binding;

/* The fields of an entry, in their order. */
typedef struct Material {
    const char *name;
    Parameter parameters[PARAMETERS_MAX];
    Binding bindings[BINDINGS_MAX];
    uint32_t parameter_count, binding_count;
    bool lights_scene;
} Material;

static void set_values(Material *m, const char *name, ValueKind kind, const float *values,
                       uint32_t count)
{
    CHECK(m->parameter_count < PARAMETERS_MAX);
    Parameter *p = &m->parameters[m->parameter_count++];
    *p = (Parameter){.name = name, .kind = kind, .count = count};
    memcpy(p->values, values, count * sizeof *values);
}

static void set_float(Material *m, const char *name, float value)
{
    set_values(m, name, VALUE_FLOATS, &value, 1);
}

static void set_int(Material *m, const char *name, int value)
{
    set_values(m, name, VALUE_INT, &(float){(float)value}, 1);
}

static void set_true(Material *m, const char *name)
{
    set_values(m, name, VALUE_BOOL, &(float){1}, 1);
}

static bool has_texture(const SortTextureRef *ref)
{
    return ref->path || (ref->embedded && ref->embedded_bytes > 0);
}

static bool has_uv_transform(const SortTextureRef *ref)
{
    return has_texture(ref) &&
           (ref->uv_scale[0] != 1 || ref->uv_scale[1] != 1 || ref->uv_offset[0] != 0 ||
            ref->uv_offset[1] != 0 || ref->uv_rotation_rad != 0);
}

static bool is_same_image(const SortTextureRef *a, const SortTextureRef *b)
{
    if (a->path)
        return b->path && strcmp(a->path, b->path) == 0;
    return !b->path && a->embedded == b->embedded && a->embedded_bytes == b->embedded_bytes;
}

static bool is_same_texture(const SortTextureRef *a, const SortTextureRef *b)
{
    return has_texture(a) && is_same_image(a, b) && a->uv_scale[0] == b->uv_scale[0] &&
           a->uv_scale[1] == b->uv_scale[1] && a->uv_offset[0] == b->uv_offset[0] &&
           a->uv_offset[1] == b->uv_offset[1] && a->uv_rotation_rad == b->uv_rotation_rad &&
           a->wrap_u == b->wrap_u && a->wrap_v == b->wrap_v;
}

/* The names that one texture of gltf_pbr.ssl goes by. */
typedef struct TextureNames {
    const char *handle, *has, *uv, *rotation;
} TextureNames;

/* Binds the texture and sets its bool and its transform; nothing if there is no texture. */
static Status bind(ImportSink *sink, Material *m, const SortTextureRef *ref, TextureNames names,
                   bool has_transforms, bool *out_is_bound, Error *err)
{
    static const char *const spaces[] = {[SORT_COLOR_UNKNOWN] = "auto",
                                         [SORT_COLOR_SRGB] = "srgb",
                                         [SORT_COLOR_LINEAR] = "linear",
                                         [SORT_COLOR_RAW] = "raw"};
    static const char *const wraps[] = {"periodic", "clamp", "mirror"};
    *out_is_bound = false;
    if (!has_texture(ref))
        return STATUS_OK;
    const char *file = NULL;
    TRY(store_texture(sink, ref, m->name, &file, err));
    CHECK(m->binding_count < BINDINGS_MAX);
    m->bindings[m->binding_count++] =
        (Binding){.handle = names.handle,
                  .file = file,
                  .color_space = spaces[(unsigned)ref->color_space & 3],
                  .wrap_u = wraps[ref->wrap_u % 3],
                  .wrap_v = wraps[ref->wrap_v % 3]};
    set_true(m, names.has);
    if (has_transforms) {
        const float given[5] = {ref->uv_scale[0], ref->uv_scale[1], ref->uv_offset[0],
                                ref->uv_offset[1], ref->uv_rotation_rad};
        const float identity[5] = {1, 1, 0, 0, 0};
        bool is_finite = import_all_finite(given, SORT_COUNT_OF(given));
        if (!is_finite)
            log_warning(sink->log,
                        "material '%s': the transform of a texture is broken, and is left out",
                        m->name);
        set_values(m, names.uv, VALUE_FLOATS, is_finite ? given : identity, 4);
        set_float(m, names.rotation, is_finite ? given[4] : 0.0f);
    }
    *out_is_bound = true;
    return STATUS_OK;
}

/* glTF packs both into one image, green and blue; others keep them apart. */
static Status bind_metal_rough(ImportSink *sink, Material *m, const SortMaterial *s,
                               bool has_transforms, Error *err)
{
    const SortTextureRef *metallic = &s->metallic_texture, *roughness = &s->roughness_texture;
    TextureNames packed = {"metallic_roughness_texture", "has_metallic_roughness_texture",
                           "metallic_uv", "metallic_uv_rotation"};
    TextureNames metal = {"metallic_texture", "has_metallic_texture", "metallic_uv",
                          "metallic_uv_rotation"};
    TextureNames rough = {"roughness_texture", "has_roughness_texture", "roughness_uv",
                          "roughness_uv_rotation"};
    bool is_bound;
    if (is_same_texture(metallic, roughness) && metallic->channel == 2 && roughness->channel == 1)
        return bind(sink, m, metallic, packed, has_transforms, &is_bound, err);
    TRY(bind(sink, m, metallic, metal, has_transforms, &is_bound, err));
    if (is_bound && metallic->channel > 0)
        set_int(m, "metallic_channel", metallic->channel > 2 ? 2 : metallic->channel);
    TRY(bind(sink, m, roughness, rough, has_transforms, &is_bound, err));
    if (is_bound && roughness->channel > 0)
        set_int(m, "roughness_channel", roughness->channel > 2 ? 2 : roughness->channel);
    return STATUS_OK;
}

static Status set_emission(ImportSink *sink, Material *m, const SortMaterial *s,
                           bool has_transforms, Error *err)
{
    float brightest = fmaxf(s->emission[0], fmaxf(s->emission[1], s->emission[2]));
    if (!(brightest * s->emission_strength > 0.0f))
        return STATUS_OK;
    /* a map may well be black but for a lamp on a dial */
    m->lights_scene = !has_texture(&s->emission_texture);
    set_values(m, "emission", VALUE_FLOATS, s->emission, 3);
    set_float(m, "emission_strength", s->emission_strength);
    TextureNames names = {"emission_texture", "has_emission_texture", "emission_uv",
                          "emission_uv_rotation"};
    bool is_bound;
    return bind(sink, m, &s->emission_texture, names, has_transforms, &is_bound, err);
}

static bool has_finite_values(const SortMaterial *s)
{
    float values[] = {s->metallic,     s->roughness,           s->emission_strength, s->ior,
                      s->transmission, s->normal_scale,        s->alpha_cutoff,      s->specular,
                      s->clearcoat,    s->clearcoat_roughness, s->sheen_roughness};
    return import_all_finite(s->base_color, 4) && import_all_finite(s->emission, 3) &&
           import_all_finite(s->specular_color, 3) && import_all_finite(s->sheen_color, 3) &&
           import_all_finite(values, SORT_COUNT_OF(values));
}

static bool is_black(const float color[3])
{
    return color[0] == 0.0f && color[1] == 0.0f && color[2] == 0.0f;
}

static bool is_white(const float color[3])
{
    return color[0] == 1.0f && color[1] == 1.0f && color[2] == 1.0f;
}

/* Sets the layers over the dielectric. */
static void set_layers(Material *m, const SortMaterial *s)
{
    if (s->specular != 1.0f)
        set_float(m, "specular", s->specular);
    if (!is_white(s->specular_color))
        set_values(m, "specular_color", VALUE_FLOATS, s->specular_color, 3);
    if (s->clearcoat > 0.0f) {
        set_float(m, "clearcoat", s->clearcoat);
        set_float(m, "clearcoat_roughness", s->clearcoat_roughness);
    }
    if (!is_black(s->sheen_color)) {
        set_true(m, "has_sheen");
        set_values(m, "sheen_color", VALUE_FLOATS, s->sheen_color, 3);
        set_float(m, "sheen_roughness", s->sheen_roughness);
    }
}

/* An unlit surface is one that reflects nothing and emits its base colour. The base colour's texture
 * stays where it is too, for its alpha. */
static void make_unlit(SortMaterial *s)
{
    memcpy(s->emission, s->base_color, sizeof s->emission);
    s->emission_texture = s->base_color_texture;
    s->emission_strength = 1;
    memset(s->base_color, 0, sizeof s->emission);
    s->metallic = s->specular = s->transmission = s->clearcoat = 0;
    s->roughness = 1;
    memset(s->sheen_color, 0, sizeof s->sheen_color);
    s->normal_texture = (SortTextureRef){0};
    s->metallic_texture = s->roughness_texture = s->normal_texture;
}

/* SortMaterial in the words of ssl/units/gltf_pbr.ssl; what equals the unit's default is not
 * written. */
static Status fill_material(ImportSink *sink, Material *m, const SortMaterial *s, Error *err)
{
    const SortTextureRef *all[] = {&s->base_color_texture, &s->metallic_texture,
                                   &s->roughness_texture,  &s->normal_texture,
                                   &s->emission_texture,   &s->transmission_texture};
    bool has_transforms = false, is_bound;
    for (size_t i = 0; i < SORT_COUNT_OF(all); ++i)
        has_transforms = has_transforms || has_uv_transform(all[i]);
    if (has_transforms)
        set_true(m, "has_uv_transforms");
    set_values(m, "base_color", VALUE_FLOATS, s->base_color, 3);
    set_float(m, "metallic", s->metallic);
    set_float(m, "roughness", s->roughness);
    if (s->ior != 1.5f)
        set_float(m, "ior", s->ior);
    if (s->has_vertex_colors)
        set_true(m, s->is_unlit ? "has_vertex_emission" : "has_vertex_colors");
    set_layers(m, s);
    TRY(bind(sink, m, &s->base_color_texture,
             (TextureNames){"base_color_texture", "has_base_color_texture", "base_color_uv",
                            "base_color_uv_rotation"},
             has_transforms, &is_bound, err));
    TRY(bind_metal_rough(sink, m, s, has_transforms, err));
    TRY(bind(
        sink, m, &s->normal_texture,
        (TextureNames){"normal_texture", "has_normal_texture", "normal_uv", "normal_uv_rotation"},
        has_transforms, &is_bound, err));
    if (is_bound && s->normal_scale != 1.0f)
        set_float(m, "normal_scale", s->normal_scale);
    if (s->transmission > 0.0f) {
        set_float(m, "transmission", s->transmission);
        if (s->is_thin_walled)
            set_true(m, "thin_walled");
        TRY(bind(sink, m, &s->transmission_texture,
                 (TextureNames){"transmission_texture", "has_transmission_texture",
                                "transmission_uv", "transmission_uv_rotation"},
                 has_transforms, &is_bound, err));
    }
    TRY(set_emission(sink, m, s, has_transforms, err));
    if (s->alpha_mode == 1 || s->alpha_mode == 2) {
        set_int(m, "alpha_mode", (int)s->alpha_mode);
        set_float(m, "alpha", s->base_color[3]);
        set_float(m, "alpha_cutoff", s->alpha_cutoff);
    }
    return STATUS_OK;
}

static void write_parameter(JsonWriter *json, const Parameter *p)
{
    ASSERT(p->count >= 1 && p->count <= SORT_COUNT_OF(p->values));
    if (p->kind == VALUE_BOOL)
        json_write_bool(json, p->name, p->values[0] != 0.0f);
    else if (p->kind == VALUE_INT)
        json_write_i64(json, p->name, (int64_t)p->values[0]);
    else if (p->count == 1)
        json_write_float(json, p->name, p->values[0]);
    else
        json_write_floats(json, p->name, p->values, p->count);
}

static void write_binding(JsonWriter *json, const Binding *b)
{
    json_write_object(json, b->handle);
    json_write_string(json, "file", b->file);
    json_write_string(json, "color_space", b->color_space);
    json_write_array(json, "wrap");
    json_write_string(json, NULL, b->wrap_u);
    json_write_string(json, NULL, b->wrap_v);
    json_write_end(json);
    json_write_end(json);
}

static void write_material(JsonWriter *json, const Material *m)
{
    json_write_string(json, "shader", "unit:gltf_pbr");
    json_write_object(json, "parameters");
    for (uint32_t i = 0; i < m->parameter_count; ++i)
        write_parameter(json, &m->parameters[i]);
    json_write_end(json);
    json_write_object(json, "textures");
    for (uint32_t i = 0; i < m->binding_count; ++i)
        write_binding(json, &m->bindings[i]);
    json_write_end(json);
}

Status import_add_material(ImportSink *sink, const SortMaterial *given, uint32_t *out_id,
                           Error *err)
{
    /* an importer of before may know fewer fields */
    SortMaterial s = {.specular = 1, .specular_color = {1, 1, 1}};
    memcpy(&s, given, given->size_bytes < sizeof s ? given->size_bytes : sizeof s);
    Material m = {0};
    JsonWriter *json = package_writer_begin(sink->writer, PACKAGE_MATERIALS, s.name, &m.name);
    Status status = STATUS_OK;
    if (!has_finite_values(&s))
        status = error_set(err, STATUS_FORMAT, "material '%s': a value is not finite", m.name);
    if (s.is_unlit)
        make_unlit(&s);
    if (status == STATUS_OK)
        status = fill_material(sink, &m, &s, err);
    write_material(json, &m);
    package_writer_end(sink->writer);
    TRY(status);
    *out_id = sink->materials.count;
    ImportedMaterial material = {m.name, m.lights_scene};
    return array_push(sink->arena, &sink->materials, material) ? STATUS_OK : import_no_memory(err);
}
