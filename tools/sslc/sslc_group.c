/* Groups as files of sslc: a description in JSON, its units beside it, in the library, or in folders that
 * the user names. Textures of nodes are formulas, as --texture takes them; other descriptions of textures,
 * such as those of scene packages, are read over. */
#include "base/path.h"
#include "tools/ssl_kit/group_units.h"
#include "tools/sslc/sslc_program.h"
#include <string.h>

bool sslc_is_group(const SslcFile *file)
{
    return path_has_extension(file->path, ".json");
}

static Status read_texture(void *data, JsonCursor *value, uint32_t *out_id, Error *err)
{
    SslcFile *file = data;
    const char *text;
    if (json_kind(value) != JSON_KIND_STRING)
        return STATUS_OK;
    TRY(json_as_string(value, &text, err));
    text = arena_strndup(file->arena, text, strlen(text));
    *out_id = file->textures.count;
    return text && array_push(file->arena, &file->textures, text)
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, "out of memory");
}

Status sslc_link(SslcFile *file, DiagList *diags, SslUnit **out_unit)
{
    const Str json = {file->text, file->size_bytes};
    const GroupUnitsDesc desc = {.ctx = file->ctx,
                                 .diags = diags,
                                 .path = file->path,
                                 .folders = file->folders ? file->folders->items : NULL,
                                 .folder_count = file->folders ? file->folders->count : 0};
    const SslGroupReader reader = {
        .size_bytes = sizeof reader, .read_texture = read_texture, .data = file};
    const SslGroupText text = {
        .name = file->path, .json = json, .file = diag_add_source(diags, file->path, json)};
    SslGroupFile *group = NULL;
    GroupUnits *units = group_units_create(&desc);
    *out_unit = NULL;
    Status status = units ? ssl_group_file_read(&text, &reader, diags, &group) : STATUS_NO_MEMORY;
    if (status == STATUS_OK)
        status = ssl_group_file_link(file->ctx, group, group_units_find, units, diags, out_unit);
    ssl_group_file_destroy(group);
    group_units_destroy(units);
    return status;
}
