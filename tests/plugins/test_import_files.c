/* Which files a scene file may name, and how: import_files.h on a tree of folders of its own.
 *
 *   work/secret.png, work/shared/rug.png
 *   work/model/scene.gltf, wood.png, "a b.png", "a%20b.png", Tex/Deep/Stone.PNG, 100%.png, link.png -> ../secret.png,
 *              in.png -> wood.png, up -> .., pipe (a FIFO), folder.png/
 *   work/link -> model, work/scene.gltf -> model/scene.gltf */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file.h"
#include "sort/import/import_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char work[PATH_BYTES];

static const char *in_work(const char *name)
{
    static char paths[4][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];
    assert_int_equal(path_join(work, name, path, NULL), STATUS_OK);
    return path;
}

static void put(const char *name)
{
    assert_int_equal(file_write(in_work(name), name, strlen(name), NULL), STATUS_OK);
}

static int set_up(void **state)
{
    (void)state;
    char made[PATH_BYTES];
    if (file_make_temp_directory("sort-import-files", made, NULL) != STATUS_OK ||
        !realpath(made, work))
        return -1;
    static const char *const folders[] = {"model/Tex/Deep", "model/folder.png", "shared/sub"};
    static const char *const files[] = {
        "secret.png",     "shared/rug.png",          "shared/sub/mat.png",      "model/scene.gltf",
        "model/wood.png", "model/a b.png",           "model/c%20d.png",         "model/c d.png",
        "model/100%.png", "model/h\xc3\xb6lz#?.png", "model/Tex/Deep/Stone.PNG"};
    for (size_t i = 0; i < SORT_COUNT_OF(folders); ++i)
        assert_int_equal(file_make_directories(in_work(folders[i]), NULL), STATUS_OK);
    for (size_t i = 0; i < SORT_COUNT_OF(files); ++i)
        put(files[i]);
    assert_int_equal(symlink("../secret.png", in_work("model/link.png")), 0);
    assert_int_equal(symlink("wood.png", in_work("model/in.png")), 0);
    assert_int_equal(symlink("..", in_work("model/up")), 0);
    assert_int_equal(symlink("model", in_work("link")), 0);
    assert_int_equal(symlink("model/scene.gltf", in_work("scene.gltf")), 0);
    assert_int_equal(mkfifo(in_work("model/pipe"), 0600), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    return file_remove_tree(work, NULL) != STATUS_OK;
}

static ImportFiles *open_source(const char *source, const char *texture_path)
{
    const ImportFilesDesc desc = {.size_bytes = sizeof desc,
                                  .source = source,
                                  .texture_paths = &texture_path,
                                  .texture_path_count = texture_path != NULL};
    ImportFiles *files;
    Error err = {0};
    if (import_files_create(&desc, &files, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
    return files;
}

/* `wanted`: below work; NULL: not there; "!": there, but not for us. */
static void expect(ImportFiles *files, const char *name, const char *wanted)
{
    char path[PATH_BYTES];
    Error err = {0};
    Status status = import_files_find(files, name, path, &err);
    if (!wanted && status != STATUS_NOT_FOUND)
        fail_msg("'%s' is '%s' (%s)", name, path, err.text);
    else if (wanted && wanted[0] == '!' && status != STATUS_INVALID)
        fail_msg("'%s' is '%s' (%s), and should be refused", name, path, err.text);
    else if (wanted && wanted[0] != '!' &&
             (status != STATUS_OK || strcmp(path, in_work(wanted)) != 0))
        fail_msg("'%s' is '%s' (%s), not '%s'", name, path, err.text, wanted);
    int fd;
    assert_int_equal(import_files_open(files, name, &fd, &err), status);
    assert_int_equal(fd >= 0, status == STATUS_OK);
    if (fd >= 0)
        close(fd);
}

/* What any of them says is the same from wherever the scene file is named. */
static void expect_the_rules(const char *source)
{
    ImportFiles *files = open_source(source, NULL);
    char absolute[PATH_BYTES + 64];
    assert_true(path_is_absolute(import_files_source(files)));
    expect(files, "wood.png", "model/wood.png");
    expect(files, "./wood.png", "model/wood.png");
    expect(files, "Tex/../wood.png", "model/wood.png");
    expect(files, "a b.png", "model/a b.png");
    expect(files, "a%20b.png", "model/a b.png");
    expect(files, "c%20d.png", "model/c%20d.png"); /* as it stands comes first */
    expect(files, "100%.png", "model/100%.png");
    expect(files, "100%25.png", "model/100%.png");
    expect(files, "h%C3%B6lz%23%3f.png", "model/h\xc3\xb6lz#?.png");
    expect(files, "h\xc3\xb6lz#?.png", "model/h\xc3\xb6lz#?.png");
    expect(files, "Tex\\Deep\\Stone.PNG", "model/Tex/Deep/Stone.PNG");
    expect(files, "tex\\deep\\stone.png", "model/Tex/Deep/Stone.PNG"); /* as Windows finds it */
    expect(files, "WOOD.PNG", "model/wood.png");
    expect(files, "C:\\work\\model\\wood.png", "model/wood.png");
    expect(files, "D:\\Art\\Tex\\Deep\\Stone.PNG", "model/Tex/Deep/Stone.PNG");
    expect(files, "/home/else/Tex/Deep/Stone.PNG", "model/Tex/Deep/Stone.PNG");
    expect(files, "file:///C:/else/wood.png", "model/wood.png");
    expect(files, "file://host/else/wood.png", "model/wood.png");
    expect(files, "//server/share/wood.png", "model/wood.png");
    snprintf(absolute, sizeof absolute, "%s/model/a b.png", work);
    expect(files, absolute, "model/a b.png");
    snprintf(absolute, sizeof absolute, "file://%s/model/a%%20b.png", work);
    expect(files, absolute, "model/a b.png");
    expect(files, "in.png", "model/wood.png"); /* a link that stays inside */

    expect(files, "../secret.png", "!");
    expect(files, "..\\secret.png", "!");
    expect(files, "%2e%2e/secret.png", "!");
    expect(files, "..%2fsecret.png", "!");
    expect(files, "Tex/../../secret.png", "!");
    expect(files, "link.png", "!");
    expect(files, "up/secret.png", "!");
    expect(files, "UP/SECRET.PNG", "!");
    expect(files, "../shared/rug.png", "!");
    expect(files, "/etc/passwd", "!");
    expect(files, "file:///etc/passwd", "!");
    expect(files, "/dev/zero", "!");
    expect(files, "/proc/self/environ", "!");
    expect(files, "pipe", "!");
    expect(files, "folder.png", NULL);
    expect(files, "none.png", NULL);
    expect(files, "", NULL);
    expect(files, "/", NULL);
    expect(files, "%", NULL);
    expect(files, "%00", NULL);
    expect(files, "a%00b", NULL);
    expect(files, "https://example.com/x.png", NULL);
    import_files_destroy(files);
}

static void test_import_files_from_anywhere(void **state)
{
    (void)state;
    expect_the_rules(in_work("model/scene.gltf"));
    expect_the_rules(in_work("link/scene.gltf"));
    expect_the_rules(in_work("shared/../model/./scene.gltf"));
    assert_int_equal(chdir(work), 0);
    expect_the_rules("model/scene.gltf");
    expect_the_rules("./link/scene.gltf");
    assert_int_equal(chdir(in_work("model")), 0);
    expect_the_rules("scene.gltf");
    assert_int_equal(chdir(in_work("shared/sub")), 0);
    expect_the_rules("../../model/scene.gltf");
}

static void test_import_files_of_a_link_to_the_scene(void **state)
{
    (void)state;
    ImportFiles *files = open_source(in_work("scene.gltf"), NULL); /* in work: so that is inside */
    expect(files, "wood.png", "model/wood.png");
    expect(files, "secret.png", "secret.png");
    import_files_destroy(files);
}

static void test_import_files_of_texture_paths(void **state)
{
    (void)state;
    ImportFiles *files = open_source(in_work("model/scene.gltf"), in_work("shared"));
    expect(files, "../shared/rug.png", "shared/rug.png");
    expect(files, "rug.png", "shared/rug.png");
    expect(files, "C:\\x\\RUG.png", "shared/rug.png");
    expect(files, "/elsewhere/sub/mat.png", "shared/sub/mat.png");
    expect(files, "wood.png", "model/wood.png");
    expect(files, "../secret.png", "!");
    import_files_destroy(files);
}

static void test_import_files_of_a_sound_size(void **state)
{
    (void)state;
    const char *path = in_work("model/huge.png");
    put("model/huge.png");
    ImportFiles *files = open_source(in_work("model/scene.gltf"), NULL);
    char found[PATH_BYTES];
    Error err = {0};
    assert_int_equal(truncate(path, (off_t)IMPORT_FILE_BYTES_MAX), 0);
    assert_int_equal(import_files_find(files, "huge.png", found, &err), STATUS_OK);
    assert_int_equal(truncate(path, (off_t)IMPORT_FILE_BYTES_MAX + 1), 0);
    assert_int_equal(import_files_find(files, "huge.png", found, &err), STATUS_LIMIT);
    assert_int_equal(unlink(path), 0);
    import_files_destroy(files);
}

static void test_import_files_need_a_regular_scene_file(void **state)
{
    (void)state;
    const char *const sources[] = {"model/pipe", "model", "none.gltf"};
    const Status wanted[] = {STATUS_FORMAT, STATUS_FORMAT, STATUS_NOT_FOUND};
    for (size_t i = 0; i < SORT_COUNT_OF(sources); ++i) {
        const ImportFilesDesc desc = {.size_bytes = sizeof desc, .source = in_work(sources[i])};
        ImportFiles *files;
        Error err = {0};
        assert_int_equal(import_files_create(&desc, &files, &err), wanted[i]);
        assert_null(files);
    }
}

static uint64_t told;

static void tell(void *data, uint64_t total_bytes)
{
    (void)data;
    told = total_bytes;
}

static void test_import_files_count_bytes(void **state)
{
    (void)state;
    const ImportFilesDesc desc = {
        .size_bytes = sizeof desc, .source = in_work("model/scene.gltf"), .allow = tell};
    ImportFiles *files;
    Error err = {0};
    int fd;
    assert_int_equal(import_files_create(&desc, &files, &err), STATUS_OK);
    assert_int_equal(told, strlen("model/scene.gltf"));
    assert_int_equal(import_files_open(files, "wood.png", &fd, &err), STATUS_OK);
    assert_int_equal(told, strlen("model/scene.gltf") + strlen("model/wood.png"));
    close(fd);
    assert_int_equal(import_files_open(files, "in.png", &fd, &err), STATUS_OK); /* the same */
    assert_int_equal(told, strlen("model/scene.gltf") + strlen("model/wood.png"));
    close(fd);
    import_files_destroy(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_files_from_anywhere),
        cmocka_unit_test(test_import_files_of_a_link_to_the_scene),
        cmocka_unit_test(test_import_files_of_texture_paths),
        cmocka_unit_test(test_import_files_of_a_sound_size),
        cmocka_unit_test(test_import_files_need_a_regular_scene_file),
        cmocka_unit_test(test_import_files_count_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
