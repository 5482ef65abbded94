/* Groups in a JSON text of their own. Messages show the place in that text. */
#include "base/json_span.h"
#include "ssl/memory_guard.h"
#include "ssl/report.h"
#include "ssl/ssl_group.h"
#include <stdio.h>
#include <string.h>

struct SslGroupFile {
    Arena *arena; /* owned; has everything, also the file itself */
    SslGroupDesc desc;
    Str json; /* for the places of messages */
    uint32_t file, offset;
};

typedef struct Reading {
    const SslGroupText *text;
    const SslGroupReader *reader;
    JsonDoc *doc;
    Arena *arena;
    SslGroupFile *file;
    Error err;
} Reading;

static Status read_file(void *data)
{
    Reading *r = data;
    SslGroupReader reader = {.size_bytes = sizeof reader, .arena = r->arena};
    JsonCursor root, definitions;
    uint32_t version;
    if (r->reader) {
        reader.read_shader = r->reader->read_shader;
        reader.read_texture = r->reader->read_texture;
        reader.data = r->reader->data;
    }
    SslGroupFile *file = r->file = ARENA_NEW(r->arena, SslGroupFile);
    file->arena = r->arena;
    file->file = r->text->file;
    file->offset = r->text->offset;
    file->json = (Str){arena_strndup(r->arena, r->text->json.data, r->text->json.size_bytes),
                       r->text->json.size_bytes};
    TRY(json_root_object(r->doc, &root, &r->err));
    TRY(json_get_u32(&root, "ssl_group", JSON_OPTIONAL, 1, 1, &version, &r->err));
    TRY(json_get_object(&root, "groups", JSON_OPTIONAL, &definitions, &r->err));
    if (json_exists(&definitions))
        TRY(ssl_group_read_definitions(&reader, &definitions, &r->err));
    return ssl_group_read(&reader, &root,
                          arena_strndup(r->arena, r->text->name, strlen(r->text->name)),
                          &file->desc, &r->err);
}

static Span locate(const SslGroupFile *file, const char *place)
{
    uint32_t begin, end;
    if (!json_find_span(file->json, place, &begin, &end))
        return (Span){0};
    return (Span){file->file, file->offset + begin, file->offset + end};
}

/* Reports an error of the JSON reader at its place: an offset, or the path of a value. */
static void report_json(const SslGroupText *text, const Error *err, DiagList *diags)
{
    const char *message = err->text;
    uint32_t begin = 0, end = 0;
    bool is_found = err->has_offset;
    if (is_found) {
        begin = end = err->offset < text->json.size_bytes ? (uint32_t)err->offset
                                                          : (uint32_t)text->json.size_bytes;
    } else if (err->place_bytes) {
        char path[ERROR_TEXT_MAX];
        (void)snprintf(path, sizeof path, "%.*s", (int)err->place_bytes - 2, err->text);
        is_found = json_find_span(text->json, path, &begin, &end);
    }
    if (is_found)
        message += err->place_bytes;
    else
        is_found = json_find_span(text->json, "", &begin, &end); /* all of it */
    Span span = {text->file, text->offset + begin, text->offset + end};
    report(diags, GROUP_DESCRIPTION, is_found ? span : (Span){0}, message);
}

Status ssl_group_file_read(const SslGroupText *text, const SslGroupReader *reader, DiagList *diags,
                           SslGroupFile **out_file)
{
    *out_file = NULL;
    Reading r = {.text = text, .reader = reader, .arena = arena_create(0, 0)};
    Status status = STATUS_NO_MEMORY;
    if (r.arena)
        status = json_parse(text->name, text->json, &r.doc, &r.err);
    if (status == STATUS_OK)
        status = memory_guard_run(r.arena, NULL, read_file, &r);
    if (status != STATUS_OK && status != STATUS_NO_MEMORY) {
        report_json(text, &r.err, diags);
        status = STATUS_SOURCE;
    }
    json_destroy(r.doc);
    if (status == STATUS_OK)
        *out_file = r.file;
    else
        arena_destroy(r.arena);
    return status;
}

const SslGroupDesc *ssl_group_file_desc(const SslGroupFile *file)
{
    return &file->desc;
}

typedef struct FileHost {
    const SslGroupFile *file;
    Status (*find_unit)(void *data, const SslGroupNode *node, const SslUnit **out_unit);
    void *data;
} FileHost;

static Status find_for_file(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    const FileHost *host = data;
    return host->find_unit(host->data, node, out_unit);
}

static Span locate_in_file(void *data, const char *place)
{
    const FileHost *host = data;
    return locate(host->file, place);
}

Status ssl_group_file_link(SslContext *ctx, const SslGroupFile *file,
                           Status (*find_unit)(void *data, const SslGroupNode *node,
                                               const SslUnit **out_unit),
                           void *data, DiagList *diags, SslUnit **out_unit)
{
    FileHost in_file = {file, find_unit, data};
    const SslGroupHost host = {.size_bytes = sizeof host,
                               .find_unit = find_unit ? find_for_file : NULL,
                               .locate = locate_in_file,
                               .data = &in_file};
    return ssl_group_link(ctx, &file->desc, &host, diags, out_unit);
}

void ssl_group_file_destroy(SslGroupFile *file)
{
    if (file)
        arena_destroy(file->arena); /* also frees the file itself */
}
