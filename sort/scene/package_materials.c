/* Materials of a package: SortMaterial in the words of ssl/units/gltf_pbr.ssl, and its textures. */
#include "base/alloc.h"
#include "base/check.h"
#include "sort/scene/package_writer.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { COPY_BYTES = 1 << 20 };

/* --- textures ------------------------------------------------------------------------------ */

static Status copy_stream(FILE *in, FILE *out, const char *from, Error *err)
{
    char *buffer = mem_alloc(COPY_BYTES, 1);
    if (!buffer)
        return package_no_memory(err);
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

static Status copy_file(const PackageWriter *w, const char *from, const char *to, Error *err)
{
    FILE *in = fopen(from, "rb");
    if (!in)
        return error_set_at(err, STATUS_IO, from, "cannot be read: %s", strerror(errno));
    FILE *out;
    Status status = package_open_part(w, to, &out, err);
    if (status == STATUS_OK) {
        status = copy_stream(in, out, from, err);
        Status closed = package_close_part(out, to, status == STATUS_OK ? err : NULL);
        status = status == STATUS_OK ? closed : status;
    }
    fclose(in);
    return status;
}

static Status write_embedded(const PackageWriter *w, const SortTextureRef *ref, const char *to,
                             Error *err)
{
    FILE *out;
    TRY(package_open_part(w, to, &out, err));
    fwrite(ref->embedded, 1, ref->embedded_bytes, out);
    return package_close_part(out, to, err);
}

/* The suffix that decoders go by: lower case letters and digits, with its dot. */
static void suffix_of(const SortTextureRef *ref, char out[16])
{
    const char *suffix = ref->path ? path_extension(ref->path) : ref->embedded_suffix;
    size_t size = 0;
    out[size++] = '.';
    for (const char *c = suffix ? suffix : ""; *c && size < 15; c++) {
        char lower = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
        if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))
            out[size++] = lower;
    }
    out[size] = '\0';
}

/* Puts a texture into the package, unless it is there. *out_file: NULL when it cannot be read, which
 * has been said. */
static Status store_texture(PackageWriter *w, const SortTextureRef *ref, const char *material,
                            const char **out_file, Error *err)
{
    char path[PATH_BYTES] = "";
    StoredTexture stored = {0};
    if (ref->path)
        TRY(path_join(w->source_folder, ref->path, path, err));
    stored.key =
        ref->path ? hash128(path, strlen(path)) : hash128(ref->embedded, ref->embedded_bytes);
    for (uint32_t i = 0; i < w->textures.count; i++)
        if (hash128_equal(w->textures.data[i].key, stored.key)) {
            *out_file = w->textures.data[i].file;
            return STATUS_OK;
        }
    char slug[PACKAGE_SLUG_MAX + 1], suffix[16], stem_text[PATH_BYTES];
    Str stem = ref->path ? path_stem(path) : str_from(material);
    snprintf(stem_text, sizeof stem_text, "%.*s", STR_ARG(stem));
    package_slug(stem_text, slug);
    suffix_of(ref, suffix);
    char *file = arena_printf(w->arena, "textures/%04u_%s%s", w->textures.count, slug, suffix);
    if (!file)
        return package_no_memory(err);
    stored.file = file;
    Error why = {0};
    Status status = ref->path ? copy_file(w, path, file, &why) : write_embedded(w, ref, file, &why);
    if (status != STATUS_OK && ref->path && strcmp(why.path, path) == 0) {
        log_warning(w->log, "material '%s': texture %s %s; it is left out", material, path,
                    why.text);
        stored.file = NULL;
    } else if (status != STATUS_OK) {
        if (err)
            *err = why;
        return status;
    }
    w->texture_count += stored.file != NULL;
    *out_file = stored.file;
    return array_push(w->arena, &w->textures, stored) ? STATUS_OK : package_no_memory(err);
}

/* --- materials ----------------------------------------------------------------------------- */

static void set_values(PackageMaterial *m, const char *name, PackageValueKind kind,
                       const float *values, uint32_t count)
{
    CHECK(m->parameter_count < PACKAGE_PARAMETERS_MAX);
    PackageParameter *p = &m->parameters[m->parameter_count++];
    *p = (PackageParameter){.name = name, .kind = kind, .count = count};
    memcpy(p->values, values, count * sizeof *values);
}

static void set_float(PackageMaterial *m, const char *name, float value)
{
    set_values(m, name, PACKAGE_FLOATS, &value, 1);
}

static void set_int(PackageMaterial *m, const char *name, int value)
{
    set_values(m, name, PACKAGE_INT, &(float){(float)value}, 1);
}

static void set_true(PackageMaterial *m, const char *name)
{
    set_values(m, name, PACKAGE_BOOL, &(float){1}, 1);
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
static Status bind(PackageWriter *w, PackageMaterial *m, const SortTextureRef *ref,
                   TextureNames names, bool has_transforms, bool *out_is_bound, Error *err)
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
    TRY(store_texture(w, ref, m->name, &file, err));
    if (!file)
        return STATUS_OK;
    CHECK(m->binding_count < PACKAGE_BINDINGS_MAX);
    m->bindings[m->binding_count++] =
        (PackageBinding){.handle = names.handle,
                         .file = file,
                         .color_space = spaces[(unsigned)ref->color_space & 3],
                         .wrap_u = wraps[ref->wrap_u % 3],
                         .wrap_v = wraps[ref->wrap_v % 3]};
    set_true(m, names.has);
    if (has_transforms) {
        const float given[5] = {ref->uv_scale[0], ref->uv_scale[1], ref->uv_offset[0],
                                ref->uv_offset[1], ref->uv_rotation_rad};
        const float identity[5] = {1, 1, 0, 0, 0};
        bool is_finite = package_all_finite(given, SORT_COUNT_OF(given));
        if (!is_finite)
            log_warning(w->log,
                        "material '%s': the transform of a texture is broken, and is left out",
                        m->name);
        set_values(m, names.uv, PACKAGE_FLOATS, is_finite ? given : identity, 4);
        set_float(m, names.rotation, is_finite ? given[4] : 0.0f);
    }
    *out_is_bound = true;
    return STATUS_OK;
}

/* glTF packs both into one image, green and blue; others keep them apart. */
static Status bind_metal_rough(PackageWriter *w, PackageMaterial *m, const SortMaterial *s,
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
        return bind(w, m, metallic, packed, has_transforms, &is_bound, err);
    TRY(bind(w, m, metallic, metal, has_transforms, &is_bound, err));
    if (is_bound && metallic->channel > 0)
        set_int(m, "metallic_channel", metallic->channel > 2 ? 2 : metallic->channel);
    TRY(bind(w, m, roughness, rough, has_transforms, &is_bound, err));
    if (is_bound && roughness->channel > 0)
        set_int(m, "roughness_channel", roughness->channel > 2 ? 2 : roughness->channel);
    return STATUS_OK;
}

static Status set_emission(PackageWriter *w, PackageMaterial *m, const SortMaterial *s,
                           bool has_transforms, Error *err)
{
    float brightest = fmaxf(s->emission[0], fmaxf(s->emission[1], s->emission[2]));
    if (!(brightest * s->emission_strength > 0.0f))
        return STATUS_OK;
    /* a map may well be black but for a lamp on a dial */
    m->lights_scene = !has_texture(&s->emission_texture);
    set_values(m, "emission", PACKAGE_FLOATS, s->emission, 3);
    set_float(m, "emission_strength", s->emission_strength);
    TextureNames names = {"emission_texture", "has_emission_texture", "emission_uv",
                          "emission_uv_rotation"};
    bool is_bound;
    return bind(w, m, &s->emission_texture, names, has_transforms, &is_bound, err);
}

static bool has_finite_values(const SortMaterial *s)
{
    float values[] = {s->metallic,     s->roughness,           s->emission_strength, s->ior,
                      s->transmission, s->normal_scale,        s->alpha_cutoff,      s->specular,
                      s->clearcoat,    s->clearcoat_roughness, s->sheen_roughness};
    return package_all_finite(s->base_color, 4) && package_all_finite(s->emission, 3) &&
           package_all_finite(s->specular_color, 3) && package_all_finite(s->sheen_color, 3) &&
           package_all_finite(values, SORT_COUNT_OF(values));
}

static bool is_black(const float color[3])
{
    return color[0] == 0.0f && color[1] == 0.0f && color[2] == 0.0f;
}

static bool is_white(const float color[3])
{
    return color[0] == 1.0f && color[1] == 1.0f && color[2] == 1.0f;
}

/* What lies over and on the dielectric. */
static void set_layers(PackageMaterial *m, const SortMaterial *s)
{
    if (s->specular != 1.0f)
        set_float(m, "specular", s->specular);
    if (!is_white(s->specular_color))
        set_values(m, "specular_color", PACKAGE_FLOATS, s->specular_color, 3);
    if (s->clearcoat > 0.0f) {
        set_float(m, "clearcoat", s->clearcoat);
        set_float(m, "clearcoat_roughness", s->clearcoat_roughness);
    }
    if (!is_black(s->sheen_color)) {
        set_true(m, "has_sheen");
        set_values(m, "sheen_color", PACKAGE_FLOATS, s->sheen_color, 3);
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
static Status fill_material(PackageWriter *w, PackageMaterial *m, const SortMaterial *s, Error *err)
{
    const SortTextureRef *all[] = {&s->base_color_texture, &s->metallic_texture,
                                   &s->roughness_texture,  &s->normal_texture,
                                   &s->emission_texture,   &s->transmission_texture};
    bool has_transforms = false, is_bound;
    for (size_t i = 0; i < SORT_COUNT_OF(all); i++)
        has_transforms = has_transforms || has_uv_transform(all[i]);
    if (has_transforms)
        set_true(m, "has_uv_transforms");
    set_values(m, "base_color", PACKAGE_FLOATS, s->base_color, 3);
    set_float(m, "metallic", s->metallic);
    set_float(m, "roughness", s->roughness);
    if (s->ior != 1.5f)
        set_float(m, "ior", s->ior);
    if (s->has_vertex_colors)
        set_true(m, s->is_unlit ? "has_vertex_emission" : "has_vertex_colors");
    set_layers(m, s);
    TRY(bind(w, m, &s->base_color_texture,
             (TextureNames){"base_color_texture", "has_base_color_texture", "base_color_uv",
                            "base_color_uv_rotation"},
             has_transforms, &is_bound, err));
    TRY(bind_metal_rough(w, m, s, has_transforms, err));
    TRY(bind(
        w, m, &s->normal_texture,
        (TextureNames){"normal_texture", "has_normal_texture", "normal_uv", "normal_uv_rotation"},
        has_transforms, &is_bound, err));
    if (is_bound && s->normal_scale != 1.0f)
        set_float(m, "normal_scale", s->normal_scale);
    if (s->transmission > 0.0f) {
        set_float(m, "transmission", s->transmission);
        if (s->is_thin_walled)
            set_true(m, "thin_walled");
        TRY(bind(w, m, &s->transmission_texture,
                 (TextureNames){"transmission_texture", "has_transmission_texture",
                                "transmission_uv", "transmission_uv_rotation"},
                 has_transforms, &is_bound, err));
    }
    TRY(set_emission(w, m, s, has_transforms, err));
    if (s->alpha_mode == 1 || s->alpha_mode == 2) {
        set_int(m, "alpha_mode", (int)s->alpha_mode);
        set_float(m, "alpha", s->base_color[3]);
        set_float(m, "alpha_cutoff", s->alpha_cutoff);
    }
    return STATUS_OK;
}

Status package_add_material(PackageWriter *w, const SortMaterial *given, uint32_t *out_id,
                            Error *err)
{
    /* an importer of before may know fewer fields */
    SortMaterial material = {.specular = 1, .specular_color = {1, 1, 1}};
    memcpy(&material, given,
           given->size_bytes < sizeof material ? given->size_bytes : sizeof material);
    const SortMaterial *s = &material;
    PackageRecords *r = &w->records;
    if (r->materials.count >= PACKAGE_OBJECTS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d materials", (int)PACKAGE_OBJECTS_MAX);
    PackageMaterial record = {.shader = "unit:gltf_pbr"};
    record.name =
        package_unique_name(w, &w->material_names, s->name, "material", r->materials.count);
    if (!record.name)
        return package_no_memory(err);
    if (!has_finite_values(s))
        return error_set(err, STATUS_FORMAT, "material '%s': a value is not finite", record.name);
    if (material.is_unlit)
        make_unlit(&material);
    TRY(fill_material(w, &record, s, err));
    *out_id = r->materials.count;
    return array_push(w->arena, &r->materials, record) ? STATUS_OK : package_no_memory(err);
}
