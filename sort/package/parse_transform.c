/* Transforms of scene.json: one, or keys over the shutter; and those of the frames beside. */
#include "sort/package/scene_parse.h"
#include "sort/scene/motion.h"

#include <float.h>
#include <string.h>

static Status as_transform(const JsonCursor *c, mat4 *out_transform, Error *err)
{
    float m[16];
    TRY(json_as_floats(c, -(double)FLT_MAX, (double)FLT_MAX, 16, m, err));
    memcpy(out_transform->m, m, sizeof m);
    if (!mat4_is_affine(*out_transform))
        return json_fail(c, err, "the last row must be 0 0 0 1");
    return STATUS_OK;
}

/* Leaves *out_transform alone when the field is optional and absent. */
Status parse_transform(JsonCursor *object, JsonNeed need, JsonCursor *out_cursor,
                       mat4 *out_transform, Error *err)
{
    TRY(json_get_any(object, "transform", need, out_cursor, err));
    if (!json_exists(out_cursor))
        return STATUS_OK;
    return as_transform(out_cursor, out_transform, err);
}

/* Axes at right angles, made exact. Those of a camera have any length and may be left-handed; others have length 1 and are
 * right-handed. Numbers written with four digits pass. */
Status parse_rigid(const JsonCursor *c, bool is_camera, mat4 *transform, Error *err)
{
    const float tolerance = 1e-3f;
    float3 axis[3];
    for (int k = 0; k < 3; ++k) {
        axis[k] = f3(transform->m[0][k], transform->m[1][k], transform->m[2][k]);
        float length = f3_length(axis[k]);
        if (!(length > 0.0f) || !isfinite(length))
            return json_fail(c, err, "axis %c has no usable length", "xyz"[k]);
        if (!is_camera && fabsf(length - 1.0f) > tolerance)
            return json_fail(c, err,
                             "axis %c has length %g; only rotation and translation are "
                             "allowed here",
                             "xyz"[k], (double)length);
        axis[k] = f3_scale(axis[k], 1.0f / length);
    }
    if (fabsf(f3_dot(axis[0], axis[1])) > tolerance ||
        fabsf(f3_dot(axis[1], axis[2])) > tolerance || fabsf(f3_dot(axis[2], axis[0])) > tolerance)
        return json_fail(c, err, "the axes must be at right angles");
    bool mirrors = f3_dot(f3_cross(axis[0], axis[1]), axis[2]) < 0.0f;
    if (mirrors && !is_camera)
        return json_fail(c, err, "the axes must be right-handed: this transform mirrors");
    float hand = mirrors ? -1.0f : 1.0f;
    axis[1] = f3_scale(f3_normalize(f3_cross(axis[2], axis[0])), hand);
    axis[0] = f3_scale(f3_cross(axis[1], axis[2]), hand);
    for (int k = 0; k < 3; ++k) {
        transform->m[0][k] = axis[k].x;
        transform->m[1][k] = axis[k].y;
        transform->m[2][k] = axis[k].z;
    }
    return STATUS_OK;
}

/* The keys of `motion`, if there is one; then there must be no `transform`. */
static Status parse_keys(SceneParser *p, JsonCursor *object, JsonCursor *out_motion,
                         mat4 **out_keys, uint32_t *out_count, Error *err)
{
    JsonCursor single;
    *out_count = 0;
    TRY(json_get_array(object, "motion", JSON_OPTIONAL, out_motion, err));
    if (!json_exists(out_motion))
        return STATUS_OK;
    TRY(json_get_any(object, "transform", JSON_OPTIONAL, &single, err));
    if (json_exists(&single))
        return json_fail(&single, err, "there is a 'motion' already: give one of the two");
    *out_count = json_count(out_motion);
    if (*out_count < 2 || *out_count > SCENE_KEYS_MAX)
        return json_fail(out_motion, err, "must have 2 to %d keys", SCENE_KEYS_MAX);
    *out_keys = ARENA_ARRAY(p->arena, mat4, *out_count);
    for (uint32_t i = 0; i < *out_count; ++i) {
        JsonCursor key;
        json_at(out_motion, i, &key);
        TRY(as_transform(&key, &(*out_keys)[i], err));
    }
    return STATUS_OK;
}

Status parse_instance_transform(SceneParser *p, JsonCursor *object, SceneInstance *instance,
                                Error *err)
{
    JsonCursor c;
    mat4 *keys, transform = mat4_identity();
    uint32_t count;
    TRY(parse_keys(p, object, &c, &keys, &count, err));
    if (count > 0)
        return scene_instance_set_motion(instance, keys, count)
                   ? STATUS_OK
                   : json_fail(&c, err,
                               "the object is flat at some time between two keys, or has no "
                               "inverse; keys that turn by less than 120 degrees prevent that");
    TRY(parse_transform(object, JSON_OPTIONAL, &c, &transform, err));
    if (!scene_instance_set_transform(instance, transform) ||
        !mat4_is_finite(instance->world_to_object))
        return json_fail(&c, err, "has no inverse: it flattens the object");
    return STATUS_OK;
}

Status parse_camera_transform(SceneParser *p, JsonCursor *object, SceneCamera *camera, Error *err)
{
    JsonCursor c, key;
    mat4 *keys;
    uint32_t count;
    TRY(parse_keys(p, object, &c, &keys, &count, err));
    if (count == 0) {
        TRY(parse_transform(object, JSON_REQUIRED, &c, &camera->camera_to_world, err));
        return parse_rigid(&c, true, &camera->camera_to_world, err);
    }
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&c, i, &key);
        TRY(parse_rigid(&key, true, &keys[i], err));
        if (i > 0 && (mat4_determinant3(keys[i - 1]) < 0.0f) != (mat4_determinant3(keys[i]) < 0.0f))
            return json_fail(&key, err,
                             "mirrors, and the key before does not, or the other way round");
        if (i > 0 && !(motion_turn_cosine(&keys[i - 1], &keys[i]) > MOTION_TURN_COSINE_MIN))
            return json_fail(&key, err, "turns by 120 degrees or more; add keys between");
    }
    camera->keys = keys;
    camera->key_count = count;
    camera->camera_to_world = motion_rigid(keys, count, 0.5f);
    return STATUS_OK;
}

Status parse_neighbours(JsonCursor *object, JsonCursor out_fields[2], bool *out_has, Error *err)
{
    TRY(json_get_any(object, "previous", JSON_OPTIONAL, &out_fields[SCENE_PREVIOUS], err));
    TRY(json_get_any(object, "next", JSON_OPTIONAL, &out_fields[SCENE_NEXT], err));
    *out_has = json_exists(&out_fields[SCENE_PREVIOUS]);
    if (*out_has != json_exists(&out_fields[SCENE_NEXT]))
        return json_fail(&out_fields[*out_has ? SCENE_PREVIOUS : SCENE_NEXT], err,
                         "there is no '%s': give both or none", *out_has ? "next" : "previous");
    return STATUS_OK;
}

Status parse_neighbour_transforms(SceneParser *p, JsonCursor *object, const mat4 **out_transforms,
                                  Error *err)
{
    JsonCursor fields[2];
    bool has;
    TRY(parse_neighbours(object, fields, &has, err));
    if (!has)
        return STATUS_OK;
    mat4 *transforms = ARENA_ARRAY(p->arena, mat4, 2);
    for (int k = 0; k < 2; ++k)
        TRY(as_transform(&fields[k], &transforms[k], err));
    *out_transforms = transforms;
    return STATUS_OK;
}
