/* The Assimp importer on small models whose content is known: data/make_models.py. The sink here
 * keeps everything that it is told. */
#include "plugins/plugin_host.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEPT_MAX = 8, VERTICES_MAX = 8, TEXT_MAX = 256 };

typedef struct KeptMesh {
    char name[TEXT_MAX];
    uint32_t vertex_count, triangle_count, material, indices[3 * VERTICES_MAX];
    float positions[VERTICES_MAX][3], normals[VERTICES_MAX][3], tangents[VERTICES_MAX][4],
        uv[VERTICES_MAX][2], colors[VERTICES_MAX][4];
    bool has_normals, has_tangents, has_uv, has_colors;
} KeptMesh;

typedef struct KeptMaterial {
    char name[TEXT_MAX], base_color_path[TEXT_MAX];
    SortMaterial m; /* pointers in it are stale */
    unsigned char embedded[128];
} KeptMaterial;

typedef struct Kept {
    KeptMaterial materials[KEPT_MAX];
    KeptMesh meshes[KEPT_MAX];
    SortInstance instances[KEPT_MAX];
    char instance_names[KEPT_MAX][TEXT_MAX];
    SortCamera cameras[KEPT_MAX];
    SortLight lights[KEPT_MAX];
    uint32_t material_count, mesh_count, instance_count, camera_count, light_count;
    uint32_t fail_after; /* sink calls that succeed; 0: all */
    uint32_t calls;
    char warnings[4096], credit[TEXT_MAX];
} Kept;

static Kept kept;

static int open_file(void *data, const char *name)
{
    (void)data;
    return open(name, O_RDONLY | O_CLOEXEC);
}

static SortResult count_call(void)
{
    return ++kept.calls == kept.fail_after ? SORT_ERROR_SINK : SORT_OK;
}

static SortResult keep_material(void *sink, const SortMaterial *m, uint32_t *out_id)
{
    (void)sink;
    assert_in_range(kept.material_count, 0, KEPT_MAX - 1);
    KeptMaterial *k = &kept.materials[kept.material_count];
    snprintf(k->name, sizeof k->name, "%s", m->name);
    if (m->base_color_texture.path)
        snprintf(k->base_color_path, sizeof k->base_color_path, "%s", m->base_color_texture.path);
    if (m->base_color_texture.embedded)
        memcpy(k->embedded, m->base_color_texture.embedded,
               m->base_color_texture.embedded_bytes < sizeof k->embedded
                   ? m->base_color_texture.embedded_bytes
                   : sizeof k->embedded);
    k->m = *m;
    *out_id = kept.material_count++;
    return count_call();
}

static SortResult keep_mesh(void *sink, const SortMesh *m, uint32_t *out_id)
{
    (void)sink;
    assert_in_range(kept.mesh_count, 0, KEPT_MAX - 1);
    assert_in_range(m->vertex_count, 1, VERTICES_MAX);
    assert_true(m->material < kept.material_count);
    KeptMesh *k = &kept.meshes[kept.mesh_count];
    snprintf(k->name, sizeof k->name, "%s", m->name);
    k->vertex_count = m->vertex_count;
    k->triangle_count = m->triangle_count;
    k->material = m->material;
    memcpy(k->indices, m->indices, m->triangle_count * 3 * sizeof *m->indices);
    memcpy(k->positions, m->positions, m->vertex_count * 3 * sizeof(float));
    k->has_normals = m->normals != NULL;
    if (m->normals)
        memcpy(k->normals, m->normals, m->vertex_count * 3 * sizeof(float));
    k->has_tangents = m->tangents != NULL;
    if (m->tangents)
        memcpy(k->tangents, m->tangents, m->vertex_count * 4 * sizeof(float));
    k->has_uv = m->uv != NULL;
    if (m->uv)
        memcpy(k->uv, m->uv, m->vertex_count * 2 * sizeof(float));
    k->has_colors = m->colors != NULL;
    if (m->colors)
        memcpy(k->colors, m->colors, m->vertex_count * 4 * sizeof(float));
    *out_id = kept.mesh_count++;
    return count_call();
}

static SortResult keep_instance(void *sink, const SortInstance *i)
{
    (void)sink;
    assert_in_range(kept.instance_count, 0, KEPT_MAX - 1);
    assert_true(i->mesh < kept.mesh_count);
    snprintf(kept.instance_names[kept.instance_count], TEXT_MAX, "%s", i->name);
    kept.instances[kept.instance_count++] = *i;
    return count_call();
}

static SortResult keep_camera(void *sink, const SortCamera *c)
{
    (void)sink;
    kept.cameras[kept.camera_count++] = *c;
    return count_call();
}

static SortResult keep_light(void *sink, const SortLight *l)
{
    (void)sink;
    kept.lights[kept.light_count++] = *l;
    return count_call();
}

static void keep_warning(void *sink, const char *text)
{
    (void)sink;
    size_t size = strlen(kept.warnings);
    snprintf(kept.warnings + size, sizeof kept.warnings - size, "%s\n", text);
}

static void keep_credit(void *sink, const char *text)
{
    (void)sink;
    snprintf(kept.credit, sizeof kept.credit, "%s", text);
}

static PluginHost *host;

static int set_up(void **state)
{
    (void)state;
    const PluginHostDesc desc = {.size_bytes = sizeof desc, .open_file = open_file};
    return plugin_host_create(&desc, &host, NULL) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    plugin_host_destroy(host);
    return 0;
}

static SortResult import(const char *name, uint32_t fail_after, SortFailure *why)
{
    static const SortSceneSink sink = {.size_bytes = sizeof sink,
                                       .material = keep_material,
                                       .mesh = keep_mesh,
                                       .instance = keep_instance,
                                       .camera = keep_camera,
                                       .light = keep_light,
                                       .warning = keep_warning,
                                       .credit = keep_credit};
    kept = (Kept){.fail_after = fail_after};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA_DIR, name);
    const SortSceneImporter *importer;
    Error err = {0};
    if (plugin_host_importer_for(host, path, &importer, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return importer->import(plugin_host_importer_api(host, importer), path, &sink, why);
}

static void import_well(const char *name)
{
    SortFailure why = {{0}};
    if (import(name, 0, &why) != SORT_OK)
        fail_msg("%s: %s", name, why.text);
}

static void expect_numbers(const char *what, const float *got, const float *wanted, int count,
                           float tolerance)
{
    for (int i = 0; i < count; ++i)
        if (!(fabsf(got[i] - wanted[i]) <= tolerance))
            fail_msg("%s[%d] is %g, not %g", what, i, (double)got[i], (double)wanted[i]);
}

static void expect_warning(const char *words)
{
    if (!strstr(kept.warnings, words))
        fail_msg("'%s' is not in '%s'", words, kept.warnings);
}

static const KeptMesh *mesh_with_uv(void)
{
    for (uint32_t i = 0; i < kept.mesh_count; ++i)
        if (kept.meshes[i].has_uv)
            return &kept.meshes[i];
    fail_msg("no mesh has uv");
    return NULL;
}

/* --- glTF ---------------------------------------------------------------------------------- */

static void test_assimp_gltf_shares_meshes_between_instances(void **state)
{
    (void)state;
    import_well("scene.gltf");
    assert_int_equal(kept.mesh_count, 2); /* two primitives */
    assert_int_equal(kept.instance_count, 4);
    assert_int_equal(kept.material_count, 2);
    /* left: translate(10,0,0) scale(2) translate(-1,0,0) */
    assert_string_equal(kept.instance_names[0], "left");
    expect_numbers("left", kept.instances[0].transform,
                   (float[16]){2, 0, 0, 8, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1}, 16, 1e-5f);
    /* right: then a quarter turn around y, which takes x to -z */
    assert_string_equal(kept.instance_names[2], "right");
    expect_numbers("right", kept.instances[2].transform,
                   (float[16]){0, 0, 2, 12, 0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 0, 1}, 16, 1e-5f);
    assert_int_equal(kept.instances[0].mesh, kept.instances[2].mesh);
    assert_string_equal(kept.credit, "2024 A. Modeller, CC0");
}

static void test_assimp_gltf_uv_have_v_up(void **state)
{
    (void)state;
    import_well("scene.gltf");
    const KeptMesh *m = mesh_with_uv();
    assert_int_equal(m->vertex_count, 4);
    assert_int_equal(m->triangle_count, 2);
    for (uint32_t i = 0; i < 4; ++i) {
        /* the square is [-1, 1]^2, and the image lies on it upright */
        float wanted[2] = {0.5f * (m->positions[i][0] + 1), 0.5f * (m->positions[i][1] + 1)};
        expect_numbers("uv", m->uv[i], wanted, 2, 1e-6f);
        expect_numbers("normal", m->normals[i], (float[3]){0, 0, 1}, 3, 1e-6f);
        /* x is u, and with +1 the bitangent is cross(z, x) = y: v */
        expect_numbers("tangent", m->tangents[i], (float[4]){1, 0, 0, 1}, 4, 1e-6f);
    }
    assert_true(m->has_normals && m->has_tangents);
}

static void test_assimp_gltf_material(void **state)
{
    (void)state;
    import_well("scene.gltf");
    const KeptMaterial *k = &kept.materials[mesh_with_uv()->material];
    const SortMaterial *m = &k->m;
    assert_string_equal(k->name, "painted");
    expect_numbers("base", m->base_color, (float[4]){0.5f, 0.6f, 0.7f, 0.8f}, 4, 1e-6f);
    float values[] = {m->metallic,     m->roughness,    m->ior,
                      m->normal_scale, m->alpha_cutoff, m->emission_strength};
    expect_numbers("values", values, (float[]){0.3f, 0.4f, 1.33f, 0.5f, 0.25f, 1}, 6, 1e-6f);
    assert_int_equal(m->alpha_mode, 1);
    assert_true(m->is_double_sided);
    assert_string_equal(k->base_color_path, "corner%20colors.png"); /* the host finds it */
    assert_int_equal(m->base_color_texture.color_space, SORT_COLOR_SRGB);
    assert_int_equal(m->base_color_texture.wrap_u, 1);
    assert_int_equal(m->base_color_texture.wrap_v, 2);
    assert_int_equal(m->metallic_texture.channel, 2);
    assert_int_equal(m->roughness_texture.channel, 1);
    assert_int_equal(m->normal_texture.color_space, SORT_COLOR_RAW);
    assert_null(m->emission_texture.path);
    /* Without a transform the image lies as it is. */
    expect_numbers("scale", m->normal_texture.uv_scale, (float[2]){1, 1}, 2, 0);
    expect_numbers("offset", m->normal_texture.uv_offset, (float[2]){0, 0}, 2, 1e-6f);

    const KeptMaterial *glowing = &kept.materials[1 - mesh_with_uv()->material];
    assert_string_equal(glowing->name, "glowing");
    expect_numbers("emission", glowing->m.emission, (float[3]){1, 0.5f, 0}, 3, 1e-6f);
    assert_true(glowing->m.emission_strength == 7.0f);
}

/* KHR_texture_transform on both sides: glTF's own formula with v down, and ours with v up. */
static void test_assimp_gltf_texture_transform_agrees_with_the_extension(void **state)
{
    (void)state;
    import_well("scene.gltf");
    const SortTextureRef *t = &kept.materials[mesh_with_uv()->material].m.base_color_texture;
    const float c = cosf(0.5f), s = sinf(0.5f);
    static const float points[][2] = {{0, 0}, {1, 0}, {0, 1}, {0.3f, 0.8f}};
    for (size_t i = 0; i < 4; ++i) {
        float u = points[i][0], v_down = points[i][1];
        float wanted[2] = {0.1f + c * 3 * u + s * 2 * v_down,
                           1 - (0.2f - s * 3 * u + c * 2 * v_down)};
        float rc = cosf(t->uv_rotation_rad), rs = sinf(t->uv_rotation_rad);
        float x = t->uv_scale[0] * u, y = t->uv_scale[1] * (1 - v_down);
        float got[2] = {t->uv_offset[0] + rc * x - rs * y, t->uv_offset[1] + rs * x + rc * y};
        expect_numbers("uv", got, wanted, 2, 1e-5f);
    }
}

static void test_assimp_gltf_camera_and_lights(void **state)
{
    (void)state;
    import_well("scene.gltf");
    assert_int_equal(kept.camera_count, 2);
    expect_numbers("second camera",
                   (float[3]){kept.cameras[1].transform[3], kept.cameras[1].fov_y_rad,
                              kept.lights[3].transform[3]},
                   (float[3]){1, 0.8f, 1}, 3, 1e-6f);
    const SortCamera *c = &kept.cameras[0];
    expect_numbers("camera", c->transform,
                   (float[16]){1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 5, 0, 0, 0, 1}, 16, 1e-5f);
    expect_numbers("angle", &c->fov_y_rad, (float[1]){0.8f}, 1, 1e-5f);
    expect_numbers("aspect", &c->aspect, (float[1]){2}, 1, 1e-5f);
    assert_int_equal(kept.light_count, 4);
    const SortLight *bulb = &kept.lights[0], *spot = &kept.lights[1], *sun = &kept.lights[2];
    assert_int_equal(bulb->kind, SORT_LIGHT_POINT);
    expect_numbers("bulb", bulb->color, (float[3]){683, 341.5f, 170.75f}, 3, 1e-2f); /* cd */
    expect_numbers("scale", &bulb->lumens_per_watt, (float[1]){1}, 1, 0);
    expect_numbers("bulb at", &bulb->transform[7], (float[1]){3}, 1, 1e-5f);
    assert_int_equal(spot->kind, SORT_LIGHT_SPOT);
    expect_numbers("spot", spot->color, (float[3]){1366, 1366, 1366}, 3, 1e-2f);
    expect_numbers("inner", &spot->inner_angle_rad, (float[1]){0.25f}, 1, 1e-5f);
    expect_numbers("outer", &spot->outer_angle_rad, (float[1]){0.5f}, 1, 1e-5f);
    /* turned by -90 degrees around x, -z points down: the light's z is up */
    expect_numbers("spot z",
                   (float[3]){spot->transform[2], spot->transform[6], spot->transform[10]},
                   (float[3]){0, 1, 0}, 3, 1e-5f);
    assert_int_equal(sun->kind, SORT_LIGHT_DISTANT);
    expect_numbers("sun", sun->color, (float[3]){2049, 2049, 2049}, 3, 1e-2f); /* lx */
}

static void test_assimp_gltf_names_what_it_leaves_out(void **state)
{
    (void)state;
    import_well("scene.gltf");
    expect_warning("the extension KHR_materials_iridescence is not supported");
    assert_null(strstr(kept.warnings, "KHR_texture_transform"));
    SortFailure why = {{0}};
    assert_int_equal(import("draco.gltf", 0, &why), SORT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "requires the extension KHR_draco_mesh_compression"));
}

static const SortMaterial *material_called(const char *name)
{
    for (uint32_t i = 0; i < kept.material_count; ++i)
        if (strcmp(kept.materials[i].name, name) == 0)
            return &kept.materials[i].m;
    fail_msg("no material is called '%s'", name);
    return NULL;
}

static void test_assimp_gltf_layers_of_materials(void **state)
{
    (void)state;
    import_well("layers.gltf");
    assert_int_equal(kept.material_count, 6);
    const SortMaterial *m = material_called("lacquer");
    float lacquer[] = {m->clearcoat,         m->clearcoat_roughness, m->specular,
                       m->specular_color[0], m->specular_color[1],   m->specular_color[2]};
    expect_numbers("lacquer", lacquer, (float[]){0.75f, 0.2f, 0.5f, 1, 0.5f, 0.25f}, 6, 1e-6f);
    expect_warning("material 'lacquer': clearcoatTexture of KHR_materials_clearcoat is left out");
    m = material_called("cloth");
    expect_numbers("sheen", m->sheen_color, (float[]){0.1f, 0.2f, 0.3f}, 3, 1e-6f);
    float cloth[] = {m->sheen_roughness, m->clearcoat, m->specular, m->specular_color[0],
                     m->specular_color[2]};
    expect_numbers("cloth", cloth, (float[]){0.6f, 0, 1, 1, 1}, 5, 1e-6f);
    m = material_called("pane");
    expect_numbers("pane", (float[]){m->transmission, m->ior}, (float[]){0.9f, 1.45f}, 2, 1e-6f);
    assert_true(m->is_thin_walled);
    m = material_called("block");
    expect_numbers("block", &m->transmission, (float[]){1}, 1, 1e-6f);
    assert_false(m->is_thin_walled);
    expect_warning("material 'block': attenuationDistance of KHR_materials_volume is left out");
    assert_true(material_called("sign")->is_unlit);
    assert_false(m->is_unlit);
    assert_true(material_called("mirror")->ior >= 1000);
}

static void test_assimp_glb_brings_embedded_images(void **state)
{
    (void)state;
    import_well("scene.glb");
    assert_int_equal(kept.instance_count, 4);
    const KeptMaterial *k = &kept.materials[mesh_with_uv()->material];
    assert_null(k->m.base_color_texture.path);
    assert_string_equal(k->m.base_color_texture.embedded_suffix, "png");
    assert_memory_equal(k->embedded, "\x89PNG\r\n\x1a\n", 8);
    assert_true(k->m.base_color_texture.embedded_bytes > 60);
}

static void test_assimp_refuses_broken_files_with_words(void **state)
{
    (void)state;
    SortFailure why = {{0}};
    assert_int_equal(import("broken.gltf", 0, &why), SORT_ERROR_FORMAT);
    assert_non_null(strstr(why.text, "JSON, line 2"));
    assert_int_equal(import("cut.glb", 0, &why), SORT_ERROR_FORMAT);
    assert_non_null(strstr(why.text, "cut short"));
    assert_int_equal(import("no_such.obj", 0, &why), SORT_ERROR_OPEN);
    assert_string_equal(why.text, "cannot be opened for reading");
}

static void test_assimp_stops_when_the_sink_refuses(void **state)
{
    (void)state;
    import_well("scene.gltf");
    uint32_t calls = kept.calls;
    for (uint32_t n = 1; n <= calls; ++n) {
        SortFailure why = {{0}};
        assert_int_equal(import("scene.gltf", n, &why), SORT_ERROR_SINK);
        assert_int_equal(kept.calls, n);
    }
}

/* --- others -------------------------------------------------------------------------------- */

static void test_assimp_obj_maps_mtl_to_metal_rough(void **state)
{
    (void)state;
    import_well("quad.obj");
    assert_int_equal(kept.mesh_count, 2); /* the line is dropped */
    assert_int_equal(kept.material_count, 2);
    const KeptMesh *quad = &kept.meshes[kept.meshes[0].triangle_count == 2 ? 0 : 1];
    assert_int_equal(quad->vertex_count, 4);
    assert_int_equal(quad->triangle_count, 2);
    for (uint32_t i = 0; i < 4; ++i)
        expect_numbers(
            "uv", quad->uv[i],
            (float[2]){0.5f * (quad->positions[i][0] + 1), 0.5f * (quad->positions[i][1] + 1)}, 2,
            1e-6f);
    const KeptMaterial *k = &kept.materials[quad->material];
    assert_string_equal(k->name, "plain");
    expect_numbers("base", k->m.base_color, (float[4]){0.2f, 0.4f, 0.6f, 0.5f}, 4, 1e-6f);
    /* Ns 98: alpha = sqrt(2 / 100), roughness its square root */
    float values[] = {k->m.metallic, k->m.roughness, k->m.ior};
    expect_numbers("values", values, (float[]){0, powf(0.02f, 0.25f), 1.3f}, 3, 1e-5f);
    assert_int_equal(k->m.alpha_mode, 2);
    assert_string_equal(k->base_color_path, "corner colors.png");
    const KeptMaterial *lamp = &kept.materials[1 - quad->material];
    expect_numbers("lamp", lamp->m.emission, (float[3]){2, 3, 4}, 3, 1e-6f);
    assert_string_equal(lamp->base_color_path, "missing.png"); /* the host will not find it */
    expect_warning("material 'lamp': its bump or height texture is left out");
}

static void test_assimp_reads_ply_and_stl(void **state)
{
    (void)state;
    import_well("tri.ply");
    assert_int_equal(kept.mesh_count, 1);
    assert_int_equal(kept.meshes[0].vertex_count, 3);
    assert_false(kept.meshes[0].has_normals);
    assert_true(kept.meshes[0].has_colors);
    expect_numbers("red", kept.meshes[0].colors[0], (float[4]){1, 0, 0, 1}, 4, 1e-3f);
    import_well("tri.stl");
    assert_int_equal(kept.mesh_count, 1);
    assert_int_equal(kept.meshes[0].triangle_count, 1);
    expect_numbers("corner", kept.meshes[0].positions[1], (float[3]){2, 0, 0}, 3, 0);
}

/* A corner 10 inches up in a file that counts in inches and has z up. */
static void test_assimp_turns_units_and_axes(void **state)
{
    (void)state;
    static const char *const names[] = {"zup.fbx", "zup.dae"};
    for (size_t n = 0; n < 2; ++n) {
        import_well(names[n]);
        assert_int_equal(kept.instance_count, 1);
        const float *m = kept.instances[0].transform;
        const float wanted[3][3] = {{0, 0, 0}, {0.254f, 0, 0}, {0, 0.254f, 0}};
        for (uint32_t i = 0; i < 3; ++i) {
            const float *p = kept.meshes[0].positions[kept.meshes[0].indices[i]];
            float world[3];
            for (int k = 0; k < 3; ++k)
                world[k] =
                    m[4 * k] * p[0] + m[4 * k + 1] * p[1] + m[4 * k + 2] * p[2] + m[4 * k + 3];
            expect_numbers(names[n], world, wanted[i], 3, 1e-5f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assimp_gltf_shares_meshes_between_instances),
        cmocka_unit_test(test_assimp_gltf_uv_have_v_up),
        cmocka_unit_test(test_assimp_gltf_material),
        cmocka_unit_test(test_assimp_gltf_texture_transform_agrees_with_the_extension),
        cmocka_unit_test(test_assimp_gltf_camera_and_lights),
        cmocka_unit_test(test_assimp_gltf_names_what_it_leaves_out),
        cmocka_unit_test(test_assimp_gltf_layers_of_materials),
        cmocka_unit_test(test_assimp_glb_brings_embedded_images),
        cmocka_unit_test(test_assimp_refuses_broken_files_with_words),
        cmocka_unit_test(test_assimp_stops_when_the_sink_refuses),
        cmocka_unit_test(test_assimp_obj_maps_mtl_to_metal_rough),
        cmocka_unit_test(test_assimp_reads_ply_and_stl),
        cmocka_unit_test(test_assimp_turns_units_and_axes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
