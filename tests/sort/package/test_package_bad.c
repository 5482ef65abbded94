/* Bad packages: each is refused with file and field, and the words are compared. The descriptions stand
 * in packages/bad_descriptions.json, which check_schema.py reads as well. */
#include "sort/scene/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "sort/package/package.h"
#include "sort/package/package_names.h"
#include "sort/package/scene_load.h"
#include "tests/sort/package/package_kit.h"
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* --- bad descriptions ----------------------------------------------------------------------- */

/* A row of bad_descriptions.json: the first `find` of the good scene.json becomes `put`. */
typedef struct BadText {
    const char *find, *put, *status;
    const char *message; /* a part of it */
    bool is_structural;  /* the schema refuses it too */
} BadText;

static void read_row(JsonCursor *c, BadText *out_bad)
{
    Error err = {0};
    CHECK(json_as_object(c, &err) == STATUS_OK);
    CHECK(json_get_string(c, "find", JSON_REQUIRED, &out_bad->find, &err) == STATUS_OK);
    CHECK(json_get_string(c, "put", JSON_REQUIRED, &out_bad->put, &err) == STATUS_OK);
    CHECK(json_get_string(c, "status", JSON_REQUIRED, &out_bad->status, &err) == STATUS_OK);
    CHECK(json_get_string(c, "message", JSON_REQUIRED, &out_bad->message, &err) == STATUS_OK);
    CHECK(json_get_bool(c, "structural", JSON_REQUIRED, &out_bad->is_structural, &err) ==
          STATUS_OK);
    CHECK(json_finish(c, &err) == STATUS_OK);
}

static Status status_called(const char *name)
{
    for (Status status = STATUS_OK; status <= STATUS_INTERNAL; ++status) {
        if (strcmp(status_name(status), name) == 0)
            return status;
    }
    fail_msg("the test is wrong: no status '%s'", name);
    return STATUS_INTERNAL;
}

/* The good text with one replacement; owned by the caller. */
static char *replaced(const char *find, const char *put)
{
    const char *at = strstr(good_json, find);
    if (!at)
        fail_msg("the test is wrong: no '%s'", find);
    StrBuf b = {0};
    strbuf_append(&b, (Str){good_json, (size_t)(at - good_json)});
    strbuf_append_c(&b, put);
    strbuf_append_c(&b, at + strlen(find));
    CHECK(!b.failed);
    return b.data;
}

static void refuse_text(const BadText *bad)
{
    char message[KIT_MESSAGE_BYTES];
    Scene *scene;
    char *json = replaced(bad->find, bad->put);
    Status wanted = status_called(bad->status);
    package_kit_write("bad", "scene.json", json, strlen(json));
    Status status = package_kit_load(package_kit_path("bad"), NULL, &scene, message);
    scene_destroy(scene);
    package_kit_expect(bad->put, status, message, wanted, bad->message);
    /* A zip gives the same messages, but for a missing file. */
    ForgeEntry entries[GOOD_ENTRIES];
    package_kit_entries(json, strlen(json), quad_bin, quad_bin_bytes, entries);
    zip_forge(package_kit_path("bad.zip"), entries, GOOD_ENTRIES);
    status = package_kit_load(package_kit_path("bad.zip"), NULL, &scene, message);
    scene_destroy(scene);
    if (wanted == STATUS_NOT_FOUND || strstr(bad->message, ".file"))
        assert_int_not_equal(status, STATUS_OK);
    else
        package_kit_expect(bad->put, status, message, wanted, bad->message);
    mem_free(json);
}

static void test_package_bad_descriptions(void **state)
{
    (void)state;
    Error err = {0};
    JsonDoc *doc;
    JsonCursor root, row;
    assert_int_equal(
        json_read_file("tests/sort/packages/bad_descriptions.json", 1 << 20, &doc, &err),
        STATUS_OK);
    json_root(doc, &root);
    assert_int_equal(json_as_array(&root, &err), STATUS_OK);
    assert_true(json_count(&root) >= 200);
    package_kit_write_all("bad", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    for (uint32_t i = 0; i < json_count(&root); ++i) {
        BadText bad;
        json_at(&root, i, &row);
        read_row(&row, &bad);
        refuse_text(&bad);
    }
    json_destroy(doc);
}

/* --- bad arrays ----------------------------------------------------------------------------- */

/* Loads the good scene with `count` letters between `before` and `after` in place of `find`. */
static Status load_with_name(const char *find, const char *before, size_t count, const char *after,
                             char message[KIT_MESSAGE_BYTES])
{
    StrBuf put = {0};
    Scene *scene;
    strbuf_append_c(&put, before);
    for (size_t i = 0; i < count; ++i)
        strbuf_append_char(&put, 'n');
    strbuf_append_c(&put, after);
    CHECK(!put.failed);
    char *json = replaced(find, put.data);
    package_kit_write_all("names", json, strlen(json), quad_bin, quad_bin_bytes);
    Status status = package_kit_load(package_kit_path("names"), NULL, &scene, message);
    scene_destroy(scene);
    mem_free(json);
    strbuf_free(&put);
    return status;
}

static void test_package_entry_names_have_a_limit(void **state)
{
    (void)state;
    static const struct {
        const char *find, *before, *after, *place;
    } rows[] = {
        {"\"name\": \"Main\"", "\"name\": \"", "\"", "cameras[0].name"},
        {"\"paint\": {", "\"", "\": {", "meshes[1].attributes."},
    };
    char message[KIT_MESSAGE_BYTES];
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        Status status = load_with_name(rows[i].find, rows[i].before, SCENE_NAME_BYTES_MAX,
                                       rows[i].after, message);
        if (status != STATUS_OK)
            fail_msg("%s: %s", rows[i].place, message);
        status = load_with_name(rows[i].find, rows[i].before, SCENE_NAME_BYTES_MAX + 1,
                                rows[i].after, message);
        package_kit_expect(rows[i].place, status, message, STATUS_FORMAT,
                           "a name has 1 to 255 bytes");
    }
}

/* A path of `bytes` bytes, in components of at most `component` bytes. */
static Status check_file_name(size_t bytes, size_t component, Error *err)
{
    char file[2 * PACKAGE_FILE_NAME_BYTES_MAX];
    CHECK(bytes < sizeof file);
    for (size_t i = 0; i < bytes; ++i)
        file[i] = i % (component + 1) == component ? '/' : 'f';
    file[bytes] = '\0';
    *err = (Error){0};
    return package_check_name(file, err);
}

static void test_package_file_names_have_limits(void **state)
{
    (void)state;
    enum { LONGEST = PACKAGE_FILE_NAME_BYTES_MAX, PART = PACKAGE_COMPONENT_BYTES_MAX };
    Error err;
    assert_int_equal(check_file_name(LONGEST, 100, &err), STATUS_OK);
    assert_int_equal(check_file_name(LONGEST + 1, 100, &err), STATUS_FORMAT);
    assert_non_null(strstr(err.text, "the file name is longer than 1024 bytes"));
    assert_int_equal(check_file_name(PART, PART, &err), STATUS_OK);
    assert_int_equal(check_file_name(PART + 1, PART + 1, &err), STATUS_FORMAT);
    assert_non_null(strstr(err.text, "longer than 255 bytes"));
}

static void test_package_bad_arrays(void **state)
{
    (void)state;
    const float nan_value = NAN, infinite = INFINITY, long_normal = 2.0f, half = 0.5f;
    const uint32_t four = 4, huge = 0xffffffffu;
    const struct {
        size_t at;
        const void *bytes;
        const char *message;
    } cases[] = {
        {QUAD_POSITIONS + 4, &nan_value,
         "meshes[0].positions: 'meshes/quad.bin': element 0 is not finite"},
        {QUAD_POSITIONS + 44, &infinite,
         "meshes[0].positions: 'meshes/quad.bin': element 3 is not finite"},
        {QUAD_INDICES + 8, &four,
         "meshes[0].indices: triangle 0 names vertex 4, but the mesh has 4"},
        {QUAD_INDICES + 20, &huge, "meshes[0].indices: triangle 1 names vertex 4294967295"},
        {QUAD_NORMALS + 8, &long_normal,
         "meshes[0].normals: the normal of vertex 0 is neither of unit"},
        {QUAD_NORMALS + 0, &nan_value,
         "meshes[0].normals: 'meshes/quad.bin': element 0 is not finite"},
        {QUAD_TANGENTS + 12, &half, "meshes[0].tangents: the tangent of vertex 0"},
        {QUAD_TANGENTS + 16, &half, "meshes[0].tangents: the tangent of vertex 1"},
        {QUAD_UV + 28, &nan_value, "meshes[0].uv[0]: 'meshes/quad.bin': element 3 is not finite"},
        {QUAD_SLOTS + 4, &huge, "meshes[0].material_indices: 'meshes/quad.bin'"},
        {QUAD_SLOTS + 8, &huge, "meshes[0].material_indices: 'meshes/quad.bin'"}, /* its checksum */
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        unsigned char broken[sizeof quad_bin];
        char message[2048];
        Scene *scene;
        memcpy(broken, quad_bin, sizeof broken);
        memcpy(broken + cases[i].at, cases[i].bytes, 4);
        package_kit_write_all("arrays", good_json, good_json_bytes, broken, quad_bin_bytes);
        for (uint32_t threads = 1; threads <= 4; ++threads) {
            SceneLoadOptions options = {.size_bytes = sizeof options, .thread_count = threads};
            Status status = package_kit_load(package_kit_path("arrays"), &options, &scene, message);
            package_kit_expect(cases[i].message, status, message, STATUS_FORMAT, cases[i].message);
        }
        ForgeEntry entries[GOOD_ENTRIES];
        package_kit_entries(good_json, good_json_bytes, broken, quad_bin_bytes, entries);
        zip_forge(package_kit_path("arrays.zip"), entries, GOOD_ENTRIES);
        Status status = package_kit_load(package_kit_path("arrays.zip"), NULL, &scene, message);
        package_kit_expect(cases[i].message, status, message, STATUS_FORMAT, cases[i].message);
    }
    /* Cut off at every length. */
    for (size_t size = 0; size < quad_bin_bytes; ++size) {
        char message[2048];
        Scene *scene;
        package_kit_write("arrays", "meshes/quad.bin", quad_bin, size);
        Status status = package_kit_load(package_kit_path("arrays"), NULL, &scene, message);
        package_kit_expect("cut", status, message, STATUS_FORMAT, "meshes[0].");
    }
}

/* A little zlib that claims to be, or becomes, a lot. */
static void test_package_array_bombs(void **state)
{
    (void)state;
    enum { REAL = 1 << 20 };
    unsigned char *zeros = MEM_ARRAY(unsigned char, REAL), *small = MEM_ARRAY(unsigned char, REAL);
    assert_non_null(zeros);
    assert_non_null(small);
    uLongf small_bytes = REAL;
    assert_int_equal(compress2(small, &small_bytes, zeros, REAL, 9), Z_OK);
    const char *camera = "{\"sort_package\": 1, \"cameras\": [{\"name\": \"C\", \"fov_y_degrees\": "
                         "40, \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1]}], ";
    const struct {
        uint32_t vertices;
        Status status;
        const char *message;
    } cases[] = {
        {2147483647, STATUS_LIMIT, "meshes[0].positions: 'b.bin': claims to inflate from"},
        {REAL / 12 - 1, STATUS_FORMAT, "meshes[0].positions: 'b.bin': inflates to more than"},
        {REAL / 12 + 9, STATUS_FORMAT, "meshes[0].positions: 'b.bin': inflates to 1048576 bytes"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        char message[2048];
        Scene *scene;
        StrBuf json = {0};
        strbuf_printf(
            &json,
            "%s\"meshes\": [{\"name\": \"M\", \"vertex_count\": %u, \"triangle_count\": 1,"
            " \"positions\": {\"file\": \"b.bin\", \"type\": \"float32\", \"components\":"
            " 3, \"count\": %u, \"compression\": \"zlib\", \"stored_bytes\": %lu},"
            " \"indices\": {\"file\": \"i.bin\", \"type\": \"uint32\", \"components\": 3,"
            " \"count\": 1}}]}",
            camera, cases[i].vertices, cases[i].vertices, small_bytes);
        package_kit_write("bomb", "scene.json", json.data, json.size_bytes);
        package_kit_write("bomb", "b.bin", small, small_bytes);
        package_kit_write("bomb", "i.bin", zeros, 12);
        Status status = package_kit_load(package_kit_path("bomb"), NULL, &scene, message);
        package_kit_expect("bomb", status, message, cases[i].status, cases[i].message);
        strbuf_free(&json);
    }
    /* Honest, but more than there is room for. */
    char message[2048];
    Scene *scene;
    SceneLoadOptions options = {.size_bytes = sizeof options, .array_bytes_max = 100};
    package_kit_write_all("good", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    Status status = package_kit_load(package_kit_path("good"), &options, &scene, message);
    package_kit_expect("room", status, message, STATUS_LIMIT, "the mesh arrays take 322 bytes");
    mem_free(zeros);
    mem_free(small);
}

/* --- bad folders and zips ------------------------------------------------------------------- */

static void test_package_bad_folders(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    assert_int_equal(package_kit_load(package_kit_path("no such"), NULL, &scene, message),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "no such file or folder"));
    assert_int_equal(file_make_directories(package_kit_path("empty"), NULL), STATUS_OK);
    assert_int_equal(package_kit_load(package_kit_path("empty"), NULL, &scene, message),
                     STATUS_FORMAT);
    assert_non_null(strstr(message, "there is no scene.json"));
    package_kit_write("", "note.txt", "hello", 5);
    assert_int_equal(package_kit_load(package_kit_path("note.txt"), NULL, &scene, message),
                     STATUS_FORMAT);
    assert_non_null(strstr(message, "neither a folder, nor a scene.json, nor a zip"));
    package_kit_write("", "void.zip", "", 0);
    assert_int_equal(package_kit_load(package_kit_path("void.zip"), NULL, &scene, message),
                     STATUS_FORMAT);
    package_kit_write("", "fake.zip", "PK\003\004 and no more", 16);
    assert_int_equal(package_kit_load(package_kit_path("fake.zip"), NULL, &scene, message),
                     STATUS_FORMAT);
    assert_non_null(strstr(message, "cannot be read as a zip"));

    /* Links that lead out; links that stay are fine. */
    package_kit_write("", "secret.bin", quad_bin, quad_bin_bytes);
    package_kit_write_all("links", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    assert_int_equal(
        rename(package_kit_path("links/meshes/quad.bin"), package_kit_path("links/real.bin")), 0);
    assert_int_equal(symlink("../real.bin", package_kit_path("links/meshes/quad.bin")), 0);
    assert_int_equal(package_kit_load(package_kit_path("links"), NULL, &scene, message), STATUS_OK);
    scene_destroy(scene);
    assert_int_equal(file_remove(package_kit_path("links/meshes/quad.bin"), NULL), STATUS_OK);
    assert_int_equal(symlink("../../secret.bin", package_kit_path("links/meshes/quad.bin")), 0);
    Status status = package_kit_load(package_kit_path("links"), NULL, &scene, message);
    package_kit_expect("link", status, message, STATUS_FORMAT,
                       "meshes[0].positions: 'meshes/quad.bin': refused");
    assert_non_null(strstr(message, "symbolic link leads outside"));
    /* A pipe in place of a file must not hang. */
    assert_int_equal(file_remove(package_kit_path("links/meshes/quad.bin"), NULL), STATUS_OK);
    assert_int_equal(mkfifo(package_kit_path("links/meshes/quad.bin"), 0600), 0);
    status = package_kit_load(package_kit_path("links"), NULL, &scene, message);
    package_kit_expect("pipe", status, message, STATUS_FORMAT,
                       "meshes[0].positions: 'meshes/quad.bin' is not a plain file");
    /* Links that form a loop in place of a texture: the message names the field and the file. */
    package_kit_write_all("loop", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    assert_int_equal(file_remove(package_kit_path("loop/textures/a.png"), NULL), STATUS_OK);
    assert_int_equal(symlink("b.png", package_kit_path("loop/textures/a.png")), 0);
    assert_int_equal(symlink("a.png", package_kit_path("loop/textures/b.png")), 0);
    status = package_kit_load(package_kit_path("loop"), NULL, &scene, message);
    package_kit_expect("loop", status, message, STATUS_IO,
                       "groups.Layer.nodes.base.textures.image.file");
    assert_non_null(strstr(message, "'textures/a.png'"));
    assert_non_null(strstr(message, strerror(ELOOP)));
    /* A shader that is not text. */
    package_kit_write_all("binary", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    package_kit_write("binary", "shaders/board.ssl", "sha\0der", 7);
    status = package_kit_load(package_kit_path("binary"), NULL, &scene, message);
    package_kit_expect("text", status, message, STATUS_FORMAT,
                       "materials[1].shader: 'shaders/board.ssl' is not");
    package_kit_write("binary", "shaders/board.ssl", "\xff\xfe", 2);
    status = package_kit_load(package_kit_path("binary"), NULL, &scene, message);
    package_kit_expect("text", status, message, STATUS_FORMAT, "is not UTF-8 text");
}

static void test_package_bad_zips(void **state)
{
    (void)state;
    ForgeEntry good[GOOD_ENTRIES], e[GOOD_ENTRIES];
    char message[2048];
    Scene *scene;
    const char *path = package_kit_path("forged.zip");
    package_kit_entries(good_json, good_json_bytes, quad_bin, quad_bin_bytes, good);
    enum { JSON, QUAD, SHADER, TEXTURE, SKY };
    const struct {
        uint32_t entry;
        ForgeEntry lie;
        Status status;
        const char *message;
    } cases[] = {
        {QUAD, {.unix_mode = 0120777}, STATUS_FORMAT, "is a link or no plain file"},
        {TEXTURE, {.unix_mode = 0120777}, STATUS_FORMAT, "is a link or no plain file"},
        {QUAD, {.flags = 1}, STATUS_UNSUPPORTED, "'meshes/quad.bin' in the zip is encrypted"},
        {QUAD, {.method = 12}, STATUS_UNSUPPORTED, "uses compression method 12"},
        {SKY, {.method = 12}, STATUS_UNSUPPORTED, "environment.image.file"},
        {QUAD, {.claimed_crc = 0x12345678}, STATUS_FORMAT, "damaged in the zip"},
        {SHADER, {.claimed_crc = 0x12345678}, STATUS_FORMAT, "materials[1].shader"},
        {SKY, {.claimed_crc = 0x12345678}, STATUS_FORMAT, "environment.image.file"},
        {QUAD, {.claimed_size = 400}, STATUS_FORMAT, "damaged in the zip"},
        {QUAD, {.claimed_size = 220}, STATUS_FORMAT, "meshes[0]"},
        {QUAD, {.claimed_size = 0xfffffff0u}, STATUS_LIMIT, "claims to inflate"},
        {JSON, {.claimed_size = 0xfffffff0u}, STATUS_LIMIT, "claims to inflate"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        memcpy(e, good, sizeof e);
        ForgeEntry *lie = &e[cases[i].entry];
        lie->claimed_crc = cases[i].lie.claimed_crc;
        lie->claimed_size = cases[i].lie.claimed_size;
        lie->method = cases[i].lie.method;
        lie->flags = cases[i].lie.flags;
        lie->unix_mode = cases[i].lie.unix_mode;
        zip_forge(path, e, GOOD_ENTRIES);
        Status status = package_kit_load(path, NULL, &scene, message);
        if (status != cases[i].status || !strstr(message, cases[i].message))
            fail_msg("case %zu: %s: %s", i, status_name(status), message);
    }

    /* The folder zipped instead of its content. */
    memcpy(e, good, sizeof e);
    e[JSON].name = "chess/scene.json";
    zip_forge(path, e, GOOD_ENTRIES);
    assert_int_equal(package_kit_load(path, NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(
        strstr(message, "holds 'chess/scene.json'; a package has scene.json at its root"));
    zip_forge(path, good + 1, GOOD_ENTRIES - 1);
    assert_int_equal(package_kit_load(path, NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(strstr(message, "there is no scene.json"));

    /* One name twice, of which programs take either; and a size that is said to stand in a field that is not there. */
    memcpy(e, good, sizeof e);
    e[SKY].name = e[SHADER].name;
    zip_forge(path, e, GOOD_ENTRIES);
    assert_int_equal(package_kit_load(path, NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(strstr(message, "it holds two files of the name 'shaders/board.ssl'"));
    memcpy(e, good, sizeof e);
    e[QUAD].claimed_size = 0xffffffffu;
    zip_forge(path, e, GOOD_ENTRIES);
    assert_int_equal(package_kit_load(path, NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(strstr(message, "cannot be read as a zip: Zip archive inconsistent"));

    /* Cut off anywhere. */
    char *bytes;
    size_t size_bytes;
    zip_forge(path, good, GOOD_ENTRIES);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size_bytes, NULL), STATUS_OK);
    for (size_t size = 0; size < size_bytes; size += 1 + size / 7) {
        package_kit_write("", "cut.zip", bytes, size);
        assert_int_not_equal(package_kit_load(package_kit_path("cut.zip"), NULL, &scene, message),
                             STATUS_OK);
    }
    mem_free(bytes);
}

/* Many names for the same bytes: each honest alone, together more than the zip can hold. */
static void test_package_overlapping_zip_bomb(void **state)
{
    (void)state;
    enum { COPIES = 256, BYTES = 1 << 20 };
    char *zeros = MEM_ARRAY(char, BYTES);
    ForgeEntry *entries = MEM_ARRAY(ForgeEntry, COPIES + 1);
    char(*names)[32] = mem_alloc(COPIES, sizeof *names);
    assert_true(zeros && entries && names);
    StrBuf json = {0};
    strbuf_append_c(&json,
                    "{\"sort_package\": 1, \"cameras\": [{\"name\": \"C\", \"fov_y_degrees\":"
                    " 40, \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1]}],"
                    " \"materials\": [{\"name\": \"M\", \"shader\": \"unit:u\","
                    " \"textures\": {");
    for (uint32_t i = 0; i < COPIES; ++i) {
        snprintf(names[i], sizeof names[i], "textures/%u.png", i);
        strbuf_printf(&json, "%s\"t%u\": {\"file\": \"%s\"}", i ? ", " : "", i, names[i]);
        entries[i + 1] = (ForgeEntry){.name = names[i],
                                      .data = zeros,
                                      .size_bytes = BYTES,
                                      .is_deflated = true,
                                      .repeats_of = i ? 2 : 0};
    }
    strbuf_append_c(&json, "}}]}");
    entries[0] = (ForgeEntry){.name = "scene.json",
                              .data = json.data,
                              .size_bytes = json.size_bytes,
                              .is_deflated = true};
    zip_forge(package_kit_path("overlap.zip"), entries, COPIES + 1);
    char message[2048];
    Scene *scene;
    Status status = package_kit_load(package_kit_path("overlap.zip"), NULL, &scene, message);
    /* libzip may notice that local headers disagree before we count. */
    if (status == STATUS_LIMIT)
        assert_non_null(strstr(message, "the zip inflates to more than"));
    else
        assert_int_equal(status, STATUS_FORMAT);
    strbuf_free(&json);
    mem_free(zeros);
    mem_free(entries);
    mem_free(names);
}

/* Portals are put there by hand, so a number beyond that is a mistake. */
static void test_package_portals_are_limited(void **state)
{
    (void)state;
    char message[KIT_MESSAGE_BYTES];
    for (uint32_t count = 1024; count <= 1025; ++count) {
        Scene *scene;
        StrBuf json = {0};
        strbuf_append_c(&json, "{\"sort_package\": 1, \"cameras\": [{\"name\": \"C\", "
                               "\"fov_y_degrees\": 40, \"transform\": [1,0,0,0, 0,1,0,0, "
                               "0,0,1,4, 0,0,0,1]}], \"portals\": [");
        for (uint32_t i = 0; i < count; ++i)
            strbuf_printf(&json,
                          "%s{\"name\": \"%u\", \"size\": [1, 1], \"transform\": [1,0,0,0, "
                          "0,1,0,0, 0,0,1,0, 0,0,0,1]}",
                          i ? ", " : "", i);
        strbuf_append_c(&json, "]}");
        package_kit_write("portals", "scene.json", json.data, json.size_bytes);
        Status status = package_kit_load(package_kit_path("portals"), NULL, &scene, message);
        if (count == 1024) {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(scene->portal_count, 1024);
            scene_destroy(scene);
        } else {
            package_kit_expect("portals", status, message, STATUS_LIMIT,
                               "portals: has 1025 entries; at most 1024 are read");
        }
        strbuf_free(&json);
    }
}

/* Honest streams of 1,000 to 1: each entry is what it says, and all of them are too much. */
static void test_package_growth_is_limited(void **state)
{
    (void)state;
    enum { COUNT = 20, BYTES = 12 * 700000 };
    char *zeros = MEM_ARRAY(char, BYTES), message[2048];
    unsigned char *small = MEM_ARRAY(unsigned char, BYTES);
    uLongf small_bytes = BYTES;
    assert_int_equal(compress2(small, &small_bytes, (unsigned char *)zeros, BYTES, 9), Z_OK);
    static const char camera[] = "{\"sort_package\": 1, \"cameras\": [{\"name\": \"C\", "
                                 "\"fov_y_degrees\": 40, \"transform\": [1,0,0,0, 0,1,0,0, "
                                 "0,0,1,4, 0,0,0,1]}], \"meshes\": [";
    for (int is_zlib = 0; is_zlib < 2; ++is_zlib) {
        ForgeEntry entries[COUNT + 1];
        char names[COUNT][32];
        StrBuf json = {0};
        strbuf_append_c(&json, camera);
        for (uint32_t i = 0; i < COUNT; ++i) {
            snprintf(names[i], sizeof names[i], "%u.bin", i);
            strbuf_printf(&json,
                          "%s{\"name\": \"m%u\", \"vertex_count\": %d, \"triangle_count\": 1, "
                          "\"positions\": {\"file\": \"%s\", \"type\": \"float32\", "
                          "\"components\": 3, \"count\": %d",
                          i ? ", " : "", i, BYTES / 12, names[i], BYTES / 12);
            if (is_zlib)
                strbuf_printf(&json, ", \"compression\": \"zlib\", \"stored_bytes\": %lu",
                              small_bytes);
            strbuf_append_c(&json, "}, \"indices\": {\"file\": \"0.bin\", \"type\": "
                                   "\"uint32\", \"components\": 3, \"count\": 1}}");
            entries[i + 1] = (ForgeEntry){.name = names[i],
                                          .data = is_zlib ? (const char *)small : zeros,
                                          .size_bytes = is_zlib ? small_bytes : BYTES,
                                          .is_deflated = true};
            package_kit_write("growth", names[i], small, small_bytes);
        }
        strbuf_append_c(&json, "]}");
        entries[0] = (ForgeEntry){.name = "scene.json",
                                  .data = json.data,
                                  .size_bytes = json.size_bytes,
                                  .is_deflated = true};
        zip_forge(package_kit_path("growth.zip"), entries, COUNT + 1);
        Scene *scene;
        Status status = package_kit_load(package_kit_path("growth.zip"), NULL, &scene, message);
        package_kit_expect("zip", status, message, STATUS_LIMIT,
                           is_zlib ? "the compressed mesh arrays inflate to"
                                   : "the zip inflates to more than");
        if (is_zlib) {
            package_kit_write("growth", "scene.json", json.data, json.size_bytes);
            status = package_kit_load(package_kit_path("growth"), NULL, &scene, message);
            package_kit_expect("folder", status, message, STATUS_LIMIT,
                               "the compressed mesh arrays inflate to");
        }
        strbuf_free(&json);
    }
    mem_free(zeros);
    mem_free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package_bad_descriptions),
        cmocka_unit_test(test_package_entry_names_have_a_limit),
        cmocka_unit_test(test_package_file_names_have_limits),
        cmocka_unit_test(test_package_bad_arrays),
        cmocka_unit_test(test_package_array_bombs),
        cmocka_unit_test(test_package_bad_folders),
        cmocka_unit_test(test_package_bad_zips),
        cmocka_unit_test(test_package_overlapping_zip_bomb),
        cmocka_unit_test(test_package_portals_are_limited),
        cmocka_unit_test(test_package_growth_is_limited),
    };
    return cmocka_run_group_tests(tests, package_kit_begin, package_kit_end);
}
