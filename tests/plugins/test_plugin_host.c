/* The plugin host against plugins that are broken in one way each (faulty_plugin.c). */
#include "base/alloc.h"
#include "plugins/plugin_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* TEST_PLUGIN_DIR: a folder for each fault, one plugin in it. */
static PluginHost *host_of(const char *const *folders, uint32_t count, PluginHostDesc desc)
{
    desc.size_bytes = sizeof desc;
    desc.folders = folders;
    desc.folder_count = count;
    desc.only_these_folders = true;
    PluginHost *host = NULL;
    assert_int_equal(plugin_host_create(&desc, &host, NULL), STATUS_OK);
    return host;
}

static void expect_refusal(const char *folder, const char *words)
{
    const char *folders[] = {folder};
    PluginHost *host = host_of(folders, 1, (PluginHostDesc){0});
    const SortImageDecoder *decoder = (const void *)1;
    Error err = {0};
    assert_int_equal(plugin_host_decoder_for(host, "a.faulty", &decoder, &err), STATUS_UNSUPPORTED);
    assert_null(decoder);
    if (!strstr(err.text, words))
        fail_msg("'%s' is not in '%s'", words, err.text);
    assert_string_equal(err.path, "a.faulty");
    plugin_host_destroy(host);
}

static void test_plugin_host_refuses_what_is_broken(void **state)
{
    (void)state;
    expect_refusal(TEST_PLUGIN_DIR "/abi", "was built for plugin ABI 99, this program has ABI 1");
    expect_refusal(TEST_PLUGIN_DIR "/null", "refused to run here");
    expect_refusal(TEST_PLUGIN_DIR "/no_open", "lacks a function");
    expect_refusal(TEST_PLUGIN_DIR "/empty", "neither a decoder nor an importer");
    expect_refusal(TEST_PLUGIN_DIR "/small", "size_bytes is too small");
    expect_refusal(TEST_PLUGIN_DIR "/no_entry", "does not export sort_plugin_entry");
    expect_refusal(TEST_PLUGIN_DIR "/not_a_library", "cannot be loaded");
    expect_refusal(TEST_PLUGIN_DIR "/nowhere",
                   "none was found; looked in " TEST_PLUGIN_DIR "/nowhere");
}

typedef struct Heard {
    char plugin[64], text[512];
    SortLogLevel level;
    uint32_t count;
    bool is_cancelled;
} Heard;

static void hear(void *data, SortLogLevel level, const char *plugin, const char *text)
{
    Heard *heard = data;
    snprintf(heard->plugin, sizeof heard->plugin, "%s", plugin);
    snprintf(heard->text, sizeof heard->text, "%s", text);
    heard->level = level;
    ++heard->count;
}

static bool is_cancelled(void *data)
{
    return ((Heard *)data)->is_cancelled;
}

static void test_plugin_host_finds_the_good_one_and_passes_messages(void **state)
{
    (void)state;
    const char *folders[] = {TEST_PLUGIN_DIR "/abi", TEST_PLUGIN_DIR "/good"};
    Heard heard = {0};
    PluginHost *host = host_of(
        folders, 2, (PluginHostDesc){.data = &heard, .log = hear, .cancelled = is_cancelled});
    const SortImageDecoder *decoder, *again;
    Error err = {0};
    assert_int_equal(plugin_host_decoder_for(host, "dir.x/PICTURE.FaUlTy", &decoder, &err),
                     STATUS_OK);
    assert_int_equal(heard.count, 1); /* about the one with the wrong ABI */
    assert_int_equal(heard.level, SORT_LOG_WARNING);
    assert_non_null(strstr(heard.plugin, "sort_plugin_decoder_abi"));
    assert_int_equal(plugin_host_decoder_for(host, "b.faulty", &again, &err), STATUS_OK);
    assert_ptr_equal(decoder, again);
    assert_int_equal(heard.count, 1);

    SortImage *image;
    SortFailure why = {{0}};
    const SortHostApi *api = plugin_host_decoder_api(host, decoder);
    SortResult result = decoder->open(api, "b.faulty", &image, &why);
    assert_string_equal(heard.plugin, "faulty");
    assert_string_equal(heard.text, "asked to open");
    assert_int_equal(plugin_error(result, &why, "b.faulty", &err), STATUS_FORMAT);
    assert_string_equal(err.text, "this decoder opens nothing");
    assert_string_equal(err.path, "b.faulty");
    heard.is_cancelled = true;
    result = decoder->open(api, "b.faulty", &image, &why);
    assert_int_equal(plugin_error(result, &why, "b.faulty", &err), STATUS_CANCELLED);

    assert_int_equal(plugin_host_decoder_for(host, "b.txt", &again, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no image decoder plugin handles '.txt' files"));
    assert_non_null(strstr(err.text, "faulty 1.0 is loaded"));
    assert_int_equal(plugin_host_decoder_for(host, "dir.faulty/b", &again, &err),
                     STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no suffix"));
    plugin_host_destroy(host);
}

static void test_plugin_host_loads_only_the_kind_that_is_asked_for(void **state)
{
    (void)state;
    const char *folders[] = {TEST_PLUGIN_DIR "/abi", TEST_PLUGIN_DIR "/crash"};
    Heard heard = {0};
    PluginHost *host = host_of(folders, 2, (PluginHostDesc){.data = &heard, .log = hear});
    const SortSceneImporter *importer;
    assert_int_equal(plugin_host_importer_for(host, "a.crash", &importer, NULL), STATUS_OK);
    assert_int_equal(heard.count, 0);
    const PluginInfo *infos;
    assert_int_equal(plugin_host_list(host, &infos), 2);
    assert_int_equal(heard.count, 1);
    assert_non_null(strstr(infos[0].failure, "plugin ABI 99"));
    assert_null(infos[1].failure);
    assert_string_equal(infos[1].name, "faulty");
    assert_ptr_equal(infos[1].importer, importer);
    plugin_host_destroy(host);
}

static void test_plugin_host_looks_where_the_environment_says(void **state)
{
    (void)state;
    setenv("SORT_PLUGIN_PATH", ":" TEST_PLUGIN_DIR "/nowhere::" TEST_PLUGIN_DIR "/good", 1);
    PluginHost *host;
    const SortImageDecoder *decoder;
    assert_int_equal(plugin_host_create(NULL, &host, NULL), STATUS_OK);
    assert_int_equal(plugin_host_decoder_for(host, "a.faulty", &decoder, NULL), STATUS_OK);
    plugin_host_destroy(host);
    unsetenv("SORT_PLUGIN_PATH");
}

static void test_plugin_error_keeps_the_sinks_own_words(void **state)
{
    (void)state;
    Error err = {0};
    assert_int_equal(plugin_error(SORT_OK, NULL, "x", &err), STATUS_OK);
    assert_int_equal(err.code, STATUS_OK);
    error_set(&err, STATUS_LIMIT, "mine");
    assert_int_equal(plugin_error(SORT_ERROR_SINK, NULL, "x", &err), STATUS_LIMIT);
    assert_string_equal(err.text, "mine");
    assert_int_equal(plugin_error(SORT_ERROR_UNSUPPORTED, NULL, NULL, &err), STATUS_UNSUPPORTED);
    assert_int_equal(plugin_error((SortResult)77, NULL, NULL, &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.text, "77"));
}

static void test_plugin_host_survives_each_failed_allocation(void **state)
{
    (void)state;
    const char *folders[] = {TEST_PLUGIN_DIR "/abi", TEST_PLUGIN_DIR "/good"};
    PluginHostDesc desc = {.size_bytes = sizeof desc,
                           .folders = folders,
                           .folder_count = 2,
                           .only_these_folders = true};
    Status status = STATUS_NO_MEMORY;
    uint32_t n = 0;
    while (status == STATUS_NO_MEMORY && n < 1000) {
        PluginHost *host = NULL;
        const SortImageDecoder *decoder;
        mem_fail_nth(++n);
        status = plugin_host_create(&desc, &host, NULL);
        if (status == STATUS_OK)
            status = plugin_host_decoder_for(host, "a.faulty", &decoder, NULL);
        mem_fail_nth(0);
        if (host && status == STATUS_NO_MEMORY) /* the host can be asked again */
            assert_int_equal(plugin_host_decoder_for(host, "a.faulty", &decoder, NULL), STATUS_OK);
        plugin_host_destroy(host);
    }
    assert_int_equal(status, STATUS_OK);
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin_host_refuses_what_is_broken),
        cmocka_unit_test(test_plugin_host_finds_the_good_one_and_passes_messages),
        cmocka_unit_test(test_plugin_host_loads_only_the_kind_that_is_asked_for),
        cmocka_unit_test(test_plugin_host_looks_where_the_environment_says),
        cmocka_unit_test(test_plugin_error_keeps_the_sinks_own_words),
        cmocka_unit_test(test_plugin_host_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
