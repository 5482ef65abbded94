/* Nothing that decides a pixel may be missing from what tells films apart: every setting and every value of a package is
 * changed in turn. */
#include "sort/scene/scene_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "sort/film/film.h"
#include "sort/package/scene_load.h"
#include "sort/render/render.h"
#include "tests/sort/package/package_kit.h"
#include "tests/sort/render/render_kit.h"

/* --- settings ----------------------------------------------------------------------------------- */

/* Another value of the row's range than `value`. */
static double other_value(const SceneSettingRow *row, double value)
{
    double other = row->kind == SETTING_BOOL ? 1.0 - value : value / 2.0 + 1.0;
    other = row->kind == SETTING_U32 ? floor(other) : other;
    return other == value ? value + 1.0 : other;
}

static bool is_equal(const SceneSettingRow *row, const SceneSettings *a, const SceneSettings *b)
{
    size_t bytes = row->kind == SETTING_BOOL ? sizeof(bool) : 4;
    return memcmp((const char *)a + row->offset, (const char *)b + row->offset, bytes) == 0;
}

static void test_scene_settings_are_read_by_their_rows(void **state)
{
    (void)state;
    Error err = {0};
    const SceneSettings initial = scene_settings_default();
    for (uint32_t i = 0; i < SETTING_COUNT; ++i) {
        const SceneSettingRow *row = &scene_setting_rows[i];
        double values[] = {row->min, row->kind == SETTING_FLOAT ? 0.25 : row->max,
                           other_value(row, row->initial)};
        for (uint32_t k = 0; k < SORT_COUNT_OF(values); ++k) {
            char text[128];
            JsonDoc *doc;
            JsonCursor root;
            SceneSettings read = scene_settings_default(), given = scene_settings_default();
            SceneSettingsChange change = {0};
            if (row->kind == SETTING_BOOL)
                snprintf(text, sizeof text, "{\"%s\": %s}", row->field,
                         values[k] != 0 ? "true" : "false");
            else
                snprintf(text, sizeof text, "{\"%s\": %.10g}", row->field, values[k]);
            assert_int_equal(json_parse("settings", str_from(text), &doc, &err), STATUS_OK);
            assert_int_equal(json_root_object(doc, &root, &err), STATUS_OK);
            assert_int_equal(scene_settings_parse(&root, &read, &err), STATUS_OK);
            assert_int_equal(json_finish(&root, &err), STATUS_OK);
            assert_int_equal(scene_settings_change(&change, (SceneSettingId)i, values[k], &err),
                             STATUS_OK);
            scene_settings_apply(&change, &given);
            assert_true(is_equal(row, &read, &given));
            assert_false(k == 2 && is_equal(row, &read, &initial));
            json_destroy(doc);
        }
        SceneSettingsChange change = {0};
        assert_int_equal(scene_settings_change(&change, (SceneSettingId)i, row->min - 1, &err),
                         STATUS_INVALID);
        assert_int_equal(scene_settings_change(&change, (SceneSettingId)i, (double)NAN, &err),
                         STATUS_INVALID);
        if (row->kind != SETTING_FLOAT) {
            assert_int_equal(scene_settings_change(&change, (SceneSettingId)i, row->max + 1, &err),
                             STATUS_INVALID);
            assert_int_equal(scene_settings_change(&change, (SceneSettingId)i, 0.5, &err),
                             STATUS_INVALID);
        }
        assert_int_equal(change.given, 0);
    }
}

static FilmIdentity identity_of(const RenderOptions *options)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render;
    assert_int_equal(render_create(options, &render, &diagnostics, &err), STATUS_OK);
    FilmIdentity identity = film_desc(render_film(render))->identity;
    render_destroy(render);
    strbuf_free(&diagnostics);
    return identity;
}

static void test_scene_settings_tell_films_apart(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    kit_write_floor(
        &kit, 8, "{\"name\": \"m\", \"shader\": \"unit:diffuse_bsdf\", \"parameters\": {}}", NULL);
    RenderOptions options = kit_options(&kit);
    FilmIdentity before = identity_of(&options);
    for (uint32_t i = 0; i < SETTING_COUNT; ++i) {
        const SceneSettingRow *row = &scene_setting_rows[i];
        Error err = {0};
        options = kit_options(&kit);
        /* The kit's scene has a depth of its own: neither it nor the default may be met by chance. */
        double value = row->kind == SETTING_BOOL ? 1.0 : 37.0;
        assert_int_equal(scene_settings_change(&options.settings, (SceneSettingId)i, value, &err),
                         STATUS_OK);
        FilmIdentity after = identity_of(&options);
        bool is_decisive = !hash128_equal(before.scene, after.scene);
        bool is_apart =
            before.nominal_samples != after.nominal_samples || before.seed != after.seed;
        bool is_free = i == SETTING_film_exposure; /* the only one: sums do not know of it */
        if (is_decisive != row->is_decisive || is_decisive + is_apart + is_free != 1)
            fail_msg("%s: hashed %d, in a field of its own %d, free %d", row->field, is_decisive,
                     is_apart, is_free);
    }
    kit_end(&kit);
}

/* --- scenes ------------------------------------------------------------------------------------- */

enum { DEPTH_MAX = 32, FIELD_BYTES = 64 };

/* Fields of a package that decide no pixel, or that a film knows in another way: the view of the camera is hashed as it is
 * used, and ranges of a group's inputs are for people. */
static bool is_apart(const char *section, const char *field)
{
    static const char *const fields[] = {"sort_package", "samples", "seed",
                                         "resolution",   "frame",   "frames_per_second",
                                         "min",          "max",     "film_exposure"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(fields); ++i)
        if (strcmp(field, fields[i]) == 0)
            return true;
    return strcmp(section, "cameras") == 0 || strcmp(section, "extras") == 0;
}

static bool load_hash(const char *json, size_t bytes, Hash128 *out_hash)
{
    char message[KIT_MESSAGE_BYTES];
    Scene *scene;
    package_kit_write_all("identity", json, bytes, quad_bin, quad_bin_bytes);
    SceneLoadOptions options = {.size_bytes = sizeof options};
    if (package_kit_load(package_kit_path("identity"), &options, &scene, message) != STATUS_OK)
        return false;
    HashState h;
    Hash128 content = scene_hash(scene);
    hash128_begin(&h);
    hash128_update(&h, &content, sizeof content);
    StrBuf settings = {0};
    scene_settings_list(&scene->settings, &settings); /* as in the identity of a film */
    hash128_update_text(&h, strbuf_text(&settings));
    strbuf_free(&settings);
    *out_hash = hash128_end(&h);
    scene_destroy(scene);
    return true;
}

/* Other texts for a scalar: some of them fit its range. Returns how many. */
static uint32_t other_texts(const char *text, size_t bytes, char out[4][64])
{
    char old[64];
    if (bytes >= sizeof old)
        return 0;
    snprintf(old, sizeof old, "%.*s", (int)bytes, text);
    if (strcmp(old, "true") == 0 || strcmp(old, "false") == 0) {
        snprintf(out[0], 64, "%s", old[0] == 't' ? "false" : "true");
        return 1;
    }
    double value = strtod(old, NULL);
    bool is_whole = !strpbrk(old, ".eE");
    const double others[] = {value + 1, value - 1, value + 0.125, value * 0.75};
    uint32_t count = value == 0.0 ? 3 : 4;
    for (uint32_t i = 0; i < count; ++i)
        snprintf(out[i], 64, is_whole && i < 2 ? "%.0f" : "%.9g", others[i]);
    return count;
}

/* True if one of the texts makes a sound package of another hash, or none of them a sound package at all (which is
 * counted). */
static bool is_seen(const char *json, size_t bytes, size_t begin, size_t end, Hash128 before,
                    uint32_t *unsound)
{
    char texts[4][64];
    uint32_t count = other_texts(json + begin, end - begin, texts);
    bool is_sound = false, is_different = false;
    for (uint32_t i = 0; i < count && !is_different; ++i) {
        StrBuf changed = {0};
        Hash128 after;
        strbuf_append(&changed, (Str){json, begin});
        strbuf_append_c(&changed, texts[i]);
        strbuf_append(&changed, (Str){json + end, bytes - end});
        bool is_loaded = load_hash(changed.data, changed.size_bytes, &after);
        is_sound = is_sound || is_loaded;
        is_different = is_loaded && !hash128_equal(before, after);
        strbuf_free(&changed);
    }
    *unsound += !is_sound;
    return is_different || !is_sound;
}

static size_t skip_string(const char *json, size_t i)
{
    for (++i; json[i] != '"'; ++i)
        i += json[i] == '\\';
    return i + 1;
}

static void test_scene_values_tell_scenes_apart(void **state)
{
    (void)state;
    char fields[DEPTH_MAX][FIELD_BYTES] = {{0}};
    uint32_t depth = 0, changed = 0, unsound = 0, unseen = 0;
    Hash128 before;
    assert_true(load_hash(good_json, good_json_bytes, &before));
    for (size_t i = 0; i < good_json_bytes;) {
        char c = good_json[i];
        if (c == '{' || c == '[') {
            assert_true(++depth < DEPTH_MAX);
            memcpy(fields[depth], fields[depth - 1], FIELD_BYTES);
        }
        depth -= c == '}' || c == ']';
        if (c == '"') {
            size_t end = skip_string(good_json, i);
            if (good_json[end] == ':')
                snprintf(fields[depth], FIELD_BYTES, "%.*s", (int)(end - i - 2), good_json + i + 1);
            i = end;
        } else if (strchr("-0123456789tf", c) && c) {
            size_t end = i + strcspn(good_json + i, ",]} \n");
            if (!is_apart(fields[1], fields[depth])) {
                ++changed;
                if (!is_seen(good_json, good_json_bytes, i, end, before, &unsound)) {
                    print_error("%s ... %s: %.*s\n", fields[1], fields[depth], (int)(end - i),
                                good_json + i);
                    ++unseen;
                }
            }
            i = end;
        } else {
            ++i;
        }
    }
    print_message("%u values changed, %u of them could only be made unsound\n", changed, unsound);
    assert_true(changed - unsound >
                70); /* most others are elements of matrices, which must stay rotations */
    assert_int_equal(unseen, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene_settings_are_read_by_their_rows),
        cmocka_unit_test(test_scene_settings_tell_films_apart),
        cmocka_unit_test(test_scene_values_tell_scenes_apart),
    };
    return cmocka_run_group_tests(tests, package_kit_begin, package_kit_end);
}
