/* The settings of a render: what a package says (`settings` of scene.json), and what a user says instead. Single values are
 * rows of settings.inc, from which the code here is made. Plain data, for any thread. */
#ifndef SORT_SCENE_SETTINGS_H
#define SORT_SCENE_SETTINGS_H

#include "base/json.h"
#include "base/str.h"

typedef enum SceneMistFalloff {
    SCENE_MIST_LINEAR,
    SCENE_MIST_QUADRATIC,
    SCENE_MIST_INVERSE_QUADRATIC /* the root */
} SceneMistFalloff;

/* The layer `mist` is 0 up to start_m from the camera, and 1 from depth_m further on. */
typedef struct SceneMist {
    float start_m, depth_m;
    SceneMistFalloff falloff;
} SceneMist;

/* Whether directions are drawn by a field that paths teach. */
typedef enum SceneGuiding {
    SCENE_GUIDING_OFF,
    SCENE_GUIDING_ON,
    SCENE_GUIDING_AUTO /* where what was learned first says that it pays */
} SceneGuiding;
extern const char *const scene_guiding_names[]; /* by SceneGuiding; NULL at the end */

/* What throws caustics that paths of light look for: instances with flags alone; without any flags all that are smooth, if a trial
 * finds that it pays; or all of these in any case. */
typedef enum SceneCaustics {
    SCENE_CAUSTICS_FLAGS,
    SCENE_CAUSTICS_AUTO,
    SCENE_CAUSTICS_ALL
} SceneCaustics;
extern const char *const scene_caustics_names[]; /* by SceneCaustics; NULL at the end */

#define SETTING_TYPE_U32   uint32_t
#define SETTING_TYPE_FLOAT float
#define SETTING_TYPE_BOOL  bool

typedef struct SceneSettings {
#define SETTING(kind, field, min, max, initial, identity, option, value, help)                     \
    SETTING_TYPE_##kind field;
#include "sort/scene/settings.inc"
#undef SETTING
    uint32_t width_px, height_px;
    uint32_t camera; /* the one to render, unless another is asked for */
    SceneMist mist;
    SceneGuiding guiding;
    SceneCaustics caustics;
    /* The moment that the scene shows, for the picture's metadata: no pixel depends on it. */
    bool has_frame;
    int32_t frame; /* its number in a sequence */
    float fps;     /* frames a second; 0: not known */
} SceneSettings;

typedef enum SceneSettingId {
#define SETTING(kind, field, min, max, initial, identity, option, value, help) SETTING_##field,
#include "sort/scene/settings.inc"
#undef SETTING
    SETTING_COUNT
} SceneSettingId;

typedef enum SceneSettingKind { SETTING_U32, SETTING_FLOAT, SETTING_BOOL } SceneSettingKind;

typedef struct SceneSettingRow {
    const char *field;
    SceneSettingKind kind;
    size_t offset; /* in SceneSettings */
    double min, max, initial;
    bool is_decisive; /* part of the list below */
    const char *option, *value_name, *help;
} SceneSettingRow;

extern const SceneSettingRow scene_setting_rows[SETTING_COUNT];

/* Returns the settings of a package that names none. */
SceneSettings scene_settings_default(void);

/* Reads all fields of `settings` but `camera`, which names something of the scene; those that are not there stay as they are. */
Status scene_settings_parse(JsonCursor *settings, SceneSettings *s, Error *err) SORT_MUST_CHECK;

/* Appends what decides the light of a pixel and is not in FilmIdentity by itself: a line each, "name value". */
void scene_settings_list(const SceneSettings *s, StrBuf *out);

/* Values that take the place of a package's. Zero-initialised: none. */
typedef struct SceneSettingsChange {
    uint32_t given; /* bit (1 << SceneSettingId) */
    SceneSettings values;
} SceneSettingsChange;

/* The value must lie in the row's range; NaN does not. Booleans are 0 and 1. */
Status scene_settings_change(SceneSettingsChange *change, SceneSettingId id, double value,
                             Error *err) SORT_MUST_CHECK;
void scene_settings_apply(const SceneSettingsChange *change, SceneSettings *s);

/* Gives one value, for code that knows the row: SETTING_SET(options.settings, samples, 16). */
#define SETTING_SET(change, field_, value_)                                                        \
    ((change).given |= 1u << SETTING_##field_, (change).values.field_ = (value_))

#endif
