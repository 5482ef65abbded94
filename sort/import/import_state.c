#include "sort/import/import_state.h"
#include "sort/package/package_names.h"
#include "sort/scene/scene.h"
#include <math.h>
#include <stdio.h>

const char *const import_light_units_names[] = {"auto", "nits", "watts", NULL};

Status import_no_memory(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "out of memory");
}

void import_note_missing(ImportSink *s, const char *material, const char *what, const char *name,
                         const char *why)
{
    enum { SAID_MAX = 20 };
    char place[SCENE_NAME_BYTES_MAX + 32] = "";
    if (material)
        snprintf(place, sizeof place, "material '%s': ", material);
    if (s->missing_count++ < SAID_MAX)
        log_message(s->log, s->missing == SCENE_MISSING_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING,
                    "%s%s '%.400s' %s", place, what, name ? name : "", why);
}

bool import_is_in_reach(const mat4 *camera_to_world)
{
    bool is_near = mat4_is_finite(*camera_to_world);
    for (int k = 0; k < 3; ++k)
        is_near = is_near && fabsf(camera_to_world->m[k][3]) < 0.5f * SCENE_REACH_MAX_M;
    return is_near;
}

void import_write_transform(JsonWriter *json, const mat4 *transform)
{
    json_write_floats(json, "transform", &transform->m[0][0], 16);
}
