#include "tools/sslc/sslc_closures.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "sort/bsdf/closure_sources.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct Sources {
    ARRAY(SslSource) list; /* with texts in the arena */
    Arena *arena;
    Error *err;
} Sources;

static Status no_memory(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "out of memory");
}

/* --- texts -------------------------------------------------------------------------------------- */

static bool is_same_text(Str a, Str b)
{
    return a.size_bytes == b.size_bytes && memcmp(a.data, b.data, a.size_bytes) == 0;
}

static bool contains(Str text, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= text.size_bytes; ++i)
        if (memcmp(text.data + i, word, length) == 0)
            return true;
    return false;
}

/* Finds the next make_closure<Name> from *at on. */
static bool next_made(Str text, size_t *at, Str *out_name)
{
    static const char word[] = "make_closure";
    for (; *at + sizeof word <= text.size_bytes; ++*at) {
        if (memcmp(text.data + *at, word, sizeof word - 1) != 0)
            continue;
        size_t begin = *at + sizeof word - 1, end;
        while (begin < text.size_bytes &&
               (isspace((unsigned char)text.data[begin]) || text.data[begin] == '<'))
            ++begin;
        for (end = begin; end < text.size_bytes &&
                          (isalnum((unsigned char)text.data[end]) || text.data[end] == '_');)
            ++end;
        ASSERT(begin <= end && end <= text.size_bytes);
        *at = end;
        *out_name = (Str){text.data + begin, end - begin};
        return true;
    }
    return false;
}

static bool makes(Str text, const char *name)
{
    size_t at = 0;
    Str made;
    while (next_made(text, &at, &made))
        if (str_equal_c(made, name))
            return true;
    return false;
}

/* Lists the bsdfs of a source; one with errors has none: whoever compiles it tells of them. */
static uint32_t list_bsdfs(const SslSource *source, SslBsdfInfo out[SSL_MAX_CLOSURES])
{
    uint32_t count = 0;
    DiagList *diags = diag_list_create();
    if (!diags || ssl_source_bsdfs(NULL, source, diags, out, SSL_MAX_CLOSURES, &count) != STATUS_OK)
        count = 0;
    diag_list_destroy(diags);
    return count;
}

static bool defines(const SslSource *source, const char *name)
{
    SslBsdfInfo infos[SSL_MAX_CLOSURES];
    uint32_t count = list_bsdfs(source, infos);
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(infos[i].name, name) == 0)
            return true;
    return false;
}

/* Returns whether the file makes a closure that neither is built in nor is defined there. */
static bool lacks_closures(const SslcFile *file)
{
    const SslSource own = {.name = file->path, .text = {file->text, file->size_bytes}};
    size_t at = 0;
    Str made;
    while (next_made(own.text, &at, &made)) {
        char name[sizeof((SslBsdfInfo *)0)->name];
        if (made.size_bytes == 0 || made.size_bytes >= sizeof name)
            continue;
        (void)snprintf(name, sizeof name, "%.*s", STR_ARG(made));
        if (closure_find(name) == closure_count && !defines(&own, name))
            return true;
    }
    return false;
}

/* --- other sources ------------------------------------------------------------------------------ */

/* Adds a source with bsdfs, or one that a group may have as a unit. A text that is there already is the file itself or a copy; what cannot be read is no source. */
static Status add_source(Sources *s, const char *path, const SslcFile *file)
{
    char *data;
    size_t size;
    if (!path_has_extension(path, ".ssl") ||
        file_read(path, SSLC_SOURCE_MAX_BYTES, &data, &size, NULL) != STATUS_OK)
        return STATUS_OK;
    Str text = {data, size};
    bool is_new = (contains(text, "bsdf") || sslc_is_group(file)) &&
                  !is_same_text(text, (Str){file->text, file->size_bytes});
    for (uint32_t i = 0; i < s->list.count; ++i)
        is_new = is_new && !is_same_text(text, s->list.data[i].text);
    SslSource source = {.name = arena_strndup(s->arena, path, strlen(path)),
                        .text = {is_new ? arena_strndup(s->arena, data, size) : NULL, size}};
    mem_free(data);
    if (!is_new)
        return STATUS_OK;
    return source.name && source.text.data && array_push(s->arena, &s->list, source)
               ? STATUS_OK
               : no_memory(s->err);
}

static Status add_folder(Sources *s, const char *folder, const SslcFile *file)
{
    const char *const *names;
    uint32_t count;
    if (file_list_directory(folder, s->arena, &names, &count, NULL) != STATUS_OK)
        return STATUS_OK;
    for (uint32_t i = 0; i < count; ++i) {
        char path[PATH_BYTES];
        TRY(path_join(folder, names[i], path, s->err));
        TRY(add_source(s, path, file));
    }
    return STATUS_OK;
}

static Status find_sources(Sources *s, const SslcFile *file)
{
    const char *own = arena_printf(s->arena, "%.*s", STR_ARG(path_dirname(file->path)));
    if (!own)
        return no_memory(s->err);
    for (uint32_t i = 0; file->beside && i < file->beside->list.count; ++i)
        TRY(add_source(s, file->beside->list.data[i], file));
    TRY(add_folder(s, own, file));
    for (uint32_t i = 0; file->folders && i < file->folders->count; ++i)
        TRY(add_folder(s, file->folders->items[i], file));
    return STATUS_OK;
}

/* --- the list ----------------------------------------------------------------------------------- */

/* Returns whether a shader of the file, or of a unit that the group names, makes the closure. */
static bool is_made(const SslcFile *file, const Sources *others, const char *name)
{
    const Str own = {file->text, file->size_bytes};
    if (!sslc_is_group(file))
        return makes(own, name);
    for (uint32_t i = 0; i < others->list.count; ++i)
        if (contains(own, path_basename(others->list.data[i].name)) &&
            makes(others->list.data[i].text, name))
            return true;
    return false;
}

static bool is_wanted(const SslcFile *file, const Sources *others, const SslSource *source)
{
    SslBsdfInfo infos[SSL_MAX_CLOSURES];
    const SslSource own = {.name = file->path, .text = {file->text, file->size_bytes}};
    uint32_t count = list_bsdfs(source, infos);
    for (uint32_t i = 0; i < count; ++i)
        if (is_made(file, others, infos[i].name) &&
            (sslc_is_group(file) || !defines(&own, infos[i].name)))
            return true;
    return false;
}

static bool is_built_in(const SslcFile *file)
{
    for (const EmbeddedText *text = closure_sources; text->name; ++text)
        if (is_same_text((Str){text->text, text->size_bytes}, (Str){file->text, file->size_bytes}))
            return true;
    return false;
}

Status sslc_list_closures(SslcFile *file, Error *err)
{
    Sources found = {.arena = file->arena, .err = err}, chosen = found;
    const Str text = {file->text, file->size_bytes};
    if (is_built_in(file))
        return STATUS_OK;
    if (sslc_is_group(file) || lacks_closures(file))
        TRY(find_sources(&found, file));
    if (!sslc_is_group(file))
        array_push(file->arena, &chosen.list, ((SslSource){.name = file->path, .text = text}));
    for (uint32_t i = 0; i < found.list.count; ++i)
        if (is_wanted(file, &found, &found.list.data[i]) &&
            !array_push(file->arena, &chosen.list, found.list.data[i]))
            return no_memory(err);
    Status status = closure_list_create(chosen.list.data, chosen.list.count, &file->closures, err);
    if (status == STATUS_OK)
        closure_list_describe(file->closures, &file->tables);
    if (status != STATUS_INVALID && status != STATUS_LIMIT)
        return status;
    (void)fprintf(stderr, "%s: warning: %s\n", err->path, err->text);
    return STATUS_OK;
}
