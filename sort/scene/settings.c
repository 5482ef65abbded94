#include "sort/scene/settings.h"

#include "base/check.h"
#include "sort/film/film.h"
#include <float.h>
#include <math.h>

enum { HASHED = 1, APART = 0, FREE = 0 };

const SceneSettingRow scene_setting_rows[SETTING_COUNT] = {
#define SETTING(kind, field, min, max, initial, identity, option, value, help)                     \
    {#field,                                                                                       \
     SETTING_##kind,                                                                               \
     offsetof(SceneSettings, field),                                                               \
     min,                                                                                          \
     max,                                                                                          \
     initial,                                                                                      \
     identity,                                                                                     \
     option,                                                                                       \
     value,                                                                                        \
     help},
#include "sort/scene/settings.inc"
#undef SETTING
};
_Static_assert(SETTING_COUNT <= 32, "SceneSettingsChange.given has a bit for each setting");

static void *value_of(const SceneSettingRow *row, SceneSettings *s)
{
    return (char *)s + row->offset;
}

/* `value` is in the row's range. */
static void store(const SceneSettingRow *row, double value, SceneSettings *s)
{
    ASSERT(value >= row->min && value <= row->max);
    void *to = value_of(row, s);
    if (row->kind == SETTING_U32)
        *(uint32_t *)to = (uint32_t)value;
    else if (row->kind == SETTING_FLOAT)
        *(float *)to = (float)value;
    else
        *(bool *)to = value != 0.0;
}

static double load(const SceneSettingRow *row, const SceneSettings *s)
{
    const void *from = (const char *)s + row->offset;
    return row->kind == SETTING_U32     ? *(const uint32_t *)from
           : row->kind == SETTING_FLOAT ? (double)*(const float *)from
                                        : *(const bool *)from;
}

SceneSettings scene_settings_default(void)
{
    SceneSettings s = {
        .width_px = 1280,
        .height_px = 720,
        .guiding = SCENE_GUIDING_AUTO,
        .caustics = SCENE_CAUSTICS_AUTO,
        .mist = {.start_m = 5.0f, .depth_m = 25.0f, .falloff = SCENE_MIST_QUADRATIC}};
    for (uint32_t i = 0; i < SETTING_COUNT; ++i)
        store(&scene_setting_rows[i], scene_setting_rows[i].initial, &s);
    return s;
}

/* --- scene.json -------------------------------------------------------------------------------- */

static Status parse_row(JsonCursor *settings, const SceneSettingRow *row, SceneSettings *s,
                        Error *err)
{
    void *to = value_of(row, s);
    if (row->kind == SETTING_U32)
        return json_get_u32(settings, row->field, JSON_OPTIONAL, (uint32_t)row->min,
                            (uint32_t)row->max, to, err);
    if (row->kind == SETTING_FLOAT)
        return json_get_float(settings, row->field, JSON_OPTIONAL, row->min, (double)FLT_MAX, to,
                              err);
    return json_get_bool(settings, row->field, JSON_OPTIONAL, to, err);
}

static Status parse_resolution(JsonCursor *settings, SceneSettings *s, Error *err)
{
    JsonCursor c;
    TRY(json_get_array(settings, "resolution", JSON_OPTIONAL, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    if (json_count(&c) != 2)
        return json_fail(&c, err, "must be [width, height]");
    for (uint32_t k = 0; k < 2; ++k) {
        JsonCursor element;
        int64_t value;
        json_at(&c, k, &element);
        TRY(json_as_int(&element, 1, FILM_MAX_SIDE_PX, &value, err));
        *(k == 0 ? &s->width_px : &s->height_px) = (uint32_t)value;
    }
    return STATUS_OK;
}

static Status parse_mist(JsonCursor *settings, SceneMist *mist, Error *err)
{
    static const char *const falloffs[] = {"linear", "quadratic", "inverse_quadratic"};
    JsonCursor c;
    uint32_t falloff = mist->falloff;
    TRY(json_get_object(settings, "mist", JSON_OPTIONAL, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    TRY(json_get_float(&c, "start_m", JSON_OPTIONAL, 0.0, (double)FLT_MAX, &mist->start_m, err));
    TRY(json_get_float(&c, "depth_m", JSON_OPTIONAL, 0.0, (double)FLT_MAX, &mist->depth_m, err));
    TRY(json_get_choice(&c, "falloff", JSON_OPTIONAL, falloffs, SORT_COUNT_OF(falloffs), &falloff,
                        err));
    mist->falloff = (SceneMistFalloff)falloff;
    return json_finish(&c, err);
}

const char *const scene_guiding_names[] = {"off", "on", "auto", NULL};

static Status parse_guiding(JsonCursor *settings, SceneGuiding *guiding, Error *err)
{
    uint32_t choice = *guiding;
    TRY(json_get_choice(settings, "guiding", JSON_OPTIONAL, scene_guiding_names,
                        SORT_COUNT_OF(scene_guiding_names) - 1, &choice, err));
    *guiding = (SceneGuiding)choice;
    return STATUS_OK;
}

const char *const scene_caustics_names[] = {"flags", "auto", "all", NULL};

static Status parse_caustics(JsonCursor *settings, SceneCaustics *caustics, Error *err)
{
    uint32_t choice = *caustics;
    TRY(json_get_choice(settings, "caustics", JSON_OPTIONAL, scene_caustics_names,
                        SORT_COUNT_OF(scene_caustics_names) - 1, &choice, err));
    *caustics = (SceneCaustics)choice;
    return STATUS_OK;
}

static Status parse_moment(JsonCursor *settings, SceneSettings *s, Error *err)
{
    JsonCursor c;
    int64_t frame = 0;
    TRY(json_get_any(settings, "frame", JSON_OPTIONAL, &c, err));
    s->has_frame = json_exists(&c);
    if (s->has_frame)
        TRY(json_as_int(&c, INT32_MIN, INT32_MAX, &frame, err));
    s->frame = (int32_t)frame;
    return json_get_float(settings, "frames_per_second", JSON_OPTIONAL, 0.001, 100000.0, &s->fps,
                          err);
}

Status scene_settings_parse(JsonCursor *settings, SceneSettings *s, Error *err)
{
    for (uint32_t i = 0; i < SETTING_COUNT; ++i)
        TRY(parse_row(settings, &scene_setting_rows[i], s, err));
    TRY(parse_resolution(settings, s, err));
    TRY(parse_mist(settings, &s->mist, err));
    TRY(parse_guiding(settings, &s->guiding, err));
    TRY(parse_caustics(settings, &s->caustics, err));
    return parse_moment(settings, s, err);
}

/* --- identity and change ------------------------------------------------------------------------ */

/* Floats have nine digits, which tell all of them apart; counts have ten at most. */
static void list_number(StrBuf *out, const char *name, double value)
{
    value += 0.0; /* -0 is 0 */
    strbuf_printf(out, "%s %.10g\n", name, value);
}

void scene_settings_list(const SceneSettings *s, StrBuf *out)
{
    for (uint32_t i = 0; i < SETTING_COUNT; ++i)
        if (scene_setting_rows[i].is_decisive)
            list_number(out, scene_setting_rows[i].field, load(&scene_setting_rows[i], s));
    list_number(out, "mist.start_m", (double)s->mist.start_m);
    list_number(out, "mist.depth_m", (double)s->mist.depth_m);
    strbuf_printf(out, "mist.falloff %d\n", (int)s->mist.falloff);
    strbuf_printf(out, "guiding %s\n", scene_guiding_names[s->guiding]);
    strbuf_printf(out, "caustics %s\n", scene_caustics_names[s->caustics]);
}

Status scene_settings_change(SceneSettingsChange *change, SceneSettingId id, double value,
                             Error *err)
{
    const SceneSettingRow *row = &scene_setting_rows[id];
    if (!(value >= row->min && value <= row->max))
        return error_set(err, STATUS_INVALID, "must be between %.9g and %.9g", row->min, row->max);
    if (row->kind != SETTING_FLOAT && value != floor(value))
        return error_set(err, STATUS_INVALID, "%.9g is not an integer", value);
    store(row, value, &change->values);
    change->given |= 1u << id;
    return STATUS_OK;
}

void scene_settings_apply(const SceneSettingsChange *change, SceneSettings *s)
{
    for (uint32_t i = 0; i < SETTING_COUNT; ++i)
        if (change->given >> i & 1)
            store(&scene_setting_rows[i], load(&scene_setting_rows[i], &change->values), s);
}
