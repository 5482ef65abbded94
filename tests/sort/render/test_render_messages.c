/* The messages that a user reads when something is wrong: the program itself is run, and its words are compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/image/png_write.h"
#include "tests/sort/render/render_kit.h"

static void write_scene(const Kit *kit, const char *ssl, const char *material)
{
    kit_write_text(kit, "shaders/s.ssl", ssl);
    kit_write_floor(kit, 32, material, NULL);
}

static const char plain_ssl[] =
    "shader s(float roughness = 0.5, out closure surface)\n"
    "{\n    surface = make_closure<OrenNayar>(color(0.5), roughness, global_value<normal>);\n}\n";

static void test_messages_misspelt_parameter(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_scene(
        &kit, plain_ssl,
        "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"parameters\": {\"roughnes\": 0.5}}");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 1,
                    (const char *const[]){"scene.json", "materials[0].parameters.roughnes",
                                          "did you mean 'roughness'", "shaders/s.ssl", NULL});
    kit_end(&kit);
}

static void test_messages_parameter_of_another_type(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_scene(&kit, plain_ssl,
                "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"parameters\": {\"roughness\": "
                "[1, 0, 0]}}");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 1,
                    (const char *const[]){"materials[0].parameters.roughness",
                                          "is a float, and this is a float3", NULL});
    kit_end(&kit);
}

static void test_messages_type_error_in_ssl(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_scene(&kit,
                "shader s(out closure surface)\n{\n    float x = global_value<normal>;\n    "
                "surface = make_closure<Lambert>(color(x), global_value<normal>);\n}\n",
                "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\"}");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 1,
                    (const char *const[]){"shaders/s.ssl:3:15: error[S",
                                          "    float x = global_value<normal>;", "^~~~", NULL});
    kit_end(&kit);
}

/* Two entries of one file are compiled apart, and what is wrong with the file is said once. */
static void test_messages_of_a_file_are_said_once(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_scene(&kit,
                "float unused()\n{\n    float never = 1;\n    return 2;\n}\n"
                "shader s(out closure surface)\n{\n"
                "    surface = make_closure<Emission>(color(unused()));\n}\n"
                "shader t(out closure surface)\n{\n"
                "    surface = make_closure<Emission>(color(0.5 * unused()));\n}\n",
                "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"entry\": \"s\"},"
                "{\"name\": \"n\", \"shader\": \"shaders/s.ssl\", \"entry\": \"t\"}");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 0, (const char *const[]){"'never' is never used", NULL});
    const char *first = strstr(said.errors, "'never' is never used");
    assert_non_null(first);
    assert_null(strstr(first + 1, "'never' is never used"));
    kit_end(&kit);
}

static void test_messages_unknown_unit(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_scene(&kit, plain_ssl, "{\"name\": \"m\", \"shader\": \"unit:gltf_pbrr\"}");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 1, (const char *const[]){"gltf_pbrr", "did you mean 'gltf_pbr'", NULL});
    kit_end(&kit);
}

static void test_messages_truncated_package(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    char path[PATH_BYTES], *data;
    size_t size;
    Error err = {0};
    kit_begin(&kit);
    write_scene(&kit, plain_ssl, "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\"}");
    assert_int_equal(path_join(kit.package, "meshes/floor.bin", path, &err), STATUS_OK);
    assert_int_equal(file_read(path, 1 << 20, &data, &size, &err), STATUS_OK);
    assert_int_equal(file_write(path, data, size - 5, &err), STATUS_OK);
    mem_free(data);
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 1, (const char *const[]){"meshes[0].indices", "floor.bin", NULL});
    kit_end(&kit);
}

static const char textured_ssl[] =
    "texture2d paint;\nshader s(out closure surface)\n{\n    const float3 uvw = "
    "global_value<uvw>;\n"
    "    surface = make_closure<Emission>(texture2d_sample<paint>(uvw.x, uvw.y));\n}\n";

static void write_textured_scene(const Kit *kit, const char *file)
{
    StrBuf material = {0};
    strbuf_printf(&material,
                  "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"textures\": {\"paint\": "
                  "{\"file\": \"%s\"}}}",
                  file);
    write_scene(kit, textured_ssl, strbuf_text(&material));
    strbuf_free(&material);
}

static void write_textured(const Kit *kit)
{
    enum { SIDE = 256 };
    static uint8_t pixels[SIDE * SIDE * 3];
    char path[PATH_BYTES];
    Error err = {0};
    for (uint32_t i = 0; i < sizeof pixels; ++i)
        pixels[i] = (uint8_t)(i * 2654435761u >> 13);
    kit_write_text(kit, "textures/p.png", "");
    assert_int_equal(path_join(kit->package, "textures/p.png", path, &err), STATUS_OK);
    assert_int_equal(png_write(path, SIDE, SIDE, 3, pixels, &err), STATUS_OK);
    write_textured_scene(kit, "textures/p.png");
}

/* The one converted texture in the kit's cache folder. */
static void find_converted(const Kit *kit, char out[PATH_BYTES])
{
    Error err = {0};
    Arena *arena = arena_create(0, 0);
    const char *const *names;
    uint32_t count;
    char folder[PATH_BYTES];
    assert_int_equal(path_join(kit->cache, "textures", folder, &err), STATUS_OK);
    assert_int_equal(file_list_directory(folder, arena, &names, &count, &err), STATUS_OK);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (!str_ends_with(str_from(names[i]), STR_LIT(".stex")))
            continue;
        assert_int_equal(path_join(folder, names[i], out, &err), STATUS_OK);
        ++found;
    }
    assert_int_equal(found, 1);
    arena_destroy(arena);
}

/* A conversion of the renderer's own is made anew (decision 0077); a converted file that the scene names is not. */
static void test_messages_corrupted_tile(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    char path[PATH_BYTES], *data;
    size_t size;
    Error err = {0};
    kit_begin(&kit);
    write_textured(&kit);
    kit_run(&kit, (const char *const[]){"--mip-mode", "off", NULL}, &said);
    kit_assert_says(&said, 0, (const char *const[]){"rendered in", NULL});
    find_converted(&kit, path);
    assert_int_equal(file_read(path, 1 << 30, &data, &size, &err), STATUS_OK);
    for (size_t part = 1; part < 4; ++part) /* levels are interleaved: one of them is of level 0 */
        data[size / 4 * part] ^= 1;
    assert_int_equal(file_write(path, data, size, &err), STATUS_OK);
    kit_write(&kit, "textures/p.stex", data, size);
    mem_free(data);
    kit_run(&kit, (const char *const[]){"--mip-mode", "off", NULL}, &said);
    kit_assert_says(&said, 0,
                    (const char *const[]){"textures/p.png", ".stex", "damaged", "made anew", NULL});
    write_textured_scene(&kit, "textures/p.stex");
    kit_run(&kit, (const char *const[]){"--mip-mode", "off", NULL}, &said);
    kit_assert_says(
        &said, 3,
        (const char *const[]){".stex", "level", "tile", "checksum", "could not be read", NULL});
    kit_end(&kit);
}

static void test_messages_unbound_texture(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_scene(&kit, textured_ssl, "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\"}");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 1,
                    (const char *const[]){"materials[0].textures.paint", "must be bound", NULL});
    kit_end(&kit);
}

static void test_messages_not_an_image(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_textured(&kit);
    kit_write_text(&kit, "textures/p.png", "this is no picture");
    kit_run(&kit, NULL, &said);
    kit_assert_says(
        &said, 1,
        (const char *const[]){"textures/p.png", "material 'm'", "cannot be converted", NULL});
    kit_end(&kit);
}

static void test_messages_options(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_scene(&kit, plain_ssl, "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\"}");
    kit_run(&kit, (const char *const[]){"--thread", "2", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"--thread", "did you mean '--threads'", NULL});
    kit_run(&kit, (const char *const[]){"--camera", "x", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"no camera 'x'", NULL});
    kit_run(&kit, (const char *const[]){"--png", "/nonexistent/x.png", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"/nonexistent/x.png", "cannot create", NULL});
    kit_run_program("sort-render", (const char *const[]){"/nonexistent/scene", "-o", "x.exr", NULL},
                    &said);
    kit_assert_says(&said, 2, (const char *const[]){"/nonexistent/scene", "no such file", NULL});
    kit_run(&kit, (const char *const[]){"--samples", "3:2", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"3:2", NULL});
    kit_run(&kit, (const char *const[]){"--texture-memory", "2K", NULL}, &said);
    kit_assert_says(&said, 2,
                    (const char *const[]){"texture memory of 2048 bytes is too small", NULL});
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_misspelt_parameter),
        cmocka_unit_test(test_messages_parameter_of_another_type),
        cmocka_unit_test(test_messages_type_error_in_ssl),
        cmocka_unit_test(test_messages_of_a_file_are_said_once),
        cmocka_unit_test(test_messages_unknown_unit),
        cmocka_unit_test(test_messages_truncated_package),
        cmocka_unit_test(test_messages_corrupted_tile),
        cmocka_unit_test(test_messages_unbound_texture),
        cmocka_unit_test(test_messages_not_an_image),
        cmocka_unit_test(test_messages_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
