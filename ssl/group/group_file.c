/* Groups in a JSON text of their own. Messages show the place in that text. */
#include "base/json_span.h"
#include "ssl/memory_guard.h"
#include "ssl/report.h"
#include "ssl/ssl_group.h"
#include <stdio.h>
#include <stdlib.h>
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

/* Reports an error of the JSON reader, whose message begins with the place: a line and column, or a path. */
static void report_json(const SslGroupText *text, const Error *err, DiagList *diags)
{
    const char *message = err->text, *colon = strstr(err->text, ": ");
    Span span = {0};
    uint32_t begin, end;
    char path[ERROR_TEXT_MAX], line_text[16], column_text[16];
    if (sscanf(err->text, "line %15[0-9], column %15[0-9]: ", line_text, column_text) == 2) {
        unsigned long line = strtoul(line_text, NULL, 10), column = strtoul(column_text, NULL, 10);
        size_t at = 0;
        for (unsigned long i = 1; i < line && at < text->json.size_bytes; ++at)
            i += text->json.data[at] == '\n';
        at += column;
        at = at < text->json.size_bytes ? at : text->json.size_bytes;
        span = (Span){text->file, text->offset + (uint32_t)at, text->offset + (uint32_t)at};
        message = colon + 2;
    } else {
        (void)snprintf(path, sizeof path, "%.*s", colon ? (int)(colon - err->text) : 0, err->text);
        bool has_path = json_find_span(text->json, path, &begin, &end);
        if (has_path && colon)
            message = colon + 2;
        if (has_path || json_find_span(text->json, "", &begin, &end)) /* "" is the whole text */
            span = (Span){text->file, text->offset + begin, text->offset + end};
    }
    report(diags, GROUP_DESCRIPTION, span, message);
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
