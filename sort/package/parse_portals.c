/* The section `portals`: where light of the environment comes in. */
#include "sort/package/scene_parse.h"

/* Solid angles of larger ones, seen from as near as a millimetre, lose their digits. */
static const double SIZE_MAX_M = 1e9;

static Status parse_portal(SceneParser *p, JsonCursor *c, ScenePortal *portal, Error *err)
{
    JsonCursor field;
    float size[2];
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->portal_names, &portal->name, err));
    TRY(parse_transform(c, JSON_REQUIRED, &field, &portal->portal_to_world, err));
    TRY(parse_rigid(&field, false, &portal->portal_to_world, err));
    TRY(json_get_any(c, "size", JSON_REQUIRED, &field, err));
    TRY(json_as_floats(&field, 0.0, SIZE_MAX_M, 2, size, err));
    if (!(size[0] > 0.0f && size[1] > 0.0f))
        return json_fail(&field, err, "must be above 0");
    portal->size_x_m = size[0], portal->size_y_m = size[1];
    return json_finish(c, err);
}

Status parse_portals(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "portals", JSON_OPTIONAL, SCENE_PORTALS_MAX, &array, &count, err));
    ScenePortal *portals = ARENA_ARRAY(p->arena, ScenePortal, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_portal(p, &c, &portals[i], err));
    }
    p->scene->portals = portals;
    p->scene->portal_count = count;
    return STATUS_OK;
}
