#include "tools/sort_render/serve_command.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/package/scene_load.h"

static const char *const kind_names[] = {"load", "render", "stop", "quit"};
_Static_assert(SORT_COUNT_OF(kind_names) == SERVE_MISTAKE, "each kind has a name");

static Status read_options(JsonCursor *root, ServeCommand *c, Error *err)
{
    JsonCursor array;
    TRY(json_get_array(root, "options", JSON_OPTIONAL, &array, err));
    uint32_t count = json_exists(&array) ? json_count(&array) : 0;
    if (count > SERVE_OPTIONS_MAX)
        return json_fail(&array, err, "has %u entries; there may be %d", count, SERVE_OPTIONS_MAX);
    for (uint32_t i = 0; i < count; ++i) {
        JsonCursor option;
        json_at(&array, i, &option);
        TRY(json_as_string(&option, &c->options[i], err));
    }
    c->option_count = count;
    return STATUS_OK;
}

static Status read_camera(JsonCursor *root, ServeCommand *c, Error *err)
{
    JsonCursor camera;
    TRY(json_get_object(root, "camera", JSON_OPTIONAL, &camera, err));
    if (!json_exists(&camera))
        return STATUS_OK;
    c->arena = arena_create(0, 0);
    if (!c->arena)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a camera");
    c->has_camera = true;
    return scene_parse_camera(c->arena, &camera, &c->camera, err);
}

/* A scene is the first argument of a command line, where it shall not look like an option. */
static Status read_scene(JsonCursor *root, ServeCommand *c, Error *err)
{
    JsonCursor scene;
    TRY(json_get_any(root, "scene", JSON_REQUIRED, &scene, err));
    TRY(json_as_string(&scene, &c->scene, err));
    if (c->scene[0] == '\0')
        return json_fail(&scene, err, "is empty");
    return c->scene[0] == '-' ? json_fail(&scene, err, "begins with '-': write './%s'", c->scene)
                              : STATUS_OK;
}

static Status read_fields(ServeCommand *c, Error *err)
{
    JsonCursor root;
    uint32_t kind;
    TRY(json_root_object(c->doc, &root, err));
    TRY(json_get_int(&root, "id", JSON_OPTIONAL, 0, (int64_t)1 << 53, &c->id, err));
    TRY(json_get_choice(&root, "command", JSON_REQUIRED, kind_names, SORT_COUNT_OF(kind_names),
                        &kind, err));
    if (kind == SERVE_LOAD) {
        TRY(read_scene(&root, c, err));
        TRY(json_get_bool(&root, "is_edited", JSON_OPTIONAL, &c->is_edited, err));
    }
    if (kind == SERVE_LOAD || kind == SERVE_RENDER)
        TRY(read_options(&root, c, err));
    if (kind == SERVE_RENDER) {
        TRY(read_camera(&root, c, err));
        TRY(json_get_string(&root, "pixels", JSON_OPTIONAL, &c->pixels, err));
    }
    TRY(json_finish(&root, err));
    c->kind = (ServeKind)kind;
    return STATUS_OK;
}

ServeCommand *serve_command_mistake(const Error *reason)
{
    ServeCommand *c = MEM_NEW(ServeCommand);
    ASSERT(reason->code != STATUS_OK);
    if (c)
        *c = (ServeCommand){.kind = SERVE_MISTAKE, .id = SERVE_NO_ID, .error = *reason};
    return c;
}

ServeCommand *serve_command_read(Str line)
{
    ServeCommand *c = MEM_NEW(ServeCommand);
    if (!c)
        return NULL;
    c->id = SERVE_NO_ID;
    Status status = json_parse("command", line, &c->doc, &c->error);
    if (status == STATUS_OK)
        status = read_fields(c, &c->error);
    if (status != STATUS_OK)
        c->kind = SERVE_MISTAKE;
    return c;
}

void serve_command_destroy(ServeCommand *c)
{
    if (!c)
        return;
    json_destroy(c->doc);
    arena_destroy(c->arena);
    mem_free(c);
}
