/* Groups: SSL units wired to one another, which are a unit again.
 *
 *   SslGroupDesc, or JSON (docs/reference/ssl-groups.md) --ssl_group_link--> SslUnit --ssl_program_build--> one kernel
 *
 * Linked as IR, before the derivative passes: a wire is an ordinary value of one function. Units are
 * checked once, however many groups use them. */
#ifndef SSL_SSL_GROUP_H
#define SSL_SSL_GROUP_H

#include "base/arena.h"
#include "base/json.h"
#include "ssl/ssl.h"

/* `place` is where the host's description says it ("nodes.mix.parameters.fac"), or NULL: messages show
 * it. All strings and arrays are borrowed for the call, units too. */
typedef struct SslGroupValue {
    const char *param; /* an input of the unit; "node.input" for one inside a group */
    SslValue value;
    const char *place;
} SslGroupValue;

typedef struct SslGroupTexture {
    const char *texture; /* a handle of the unit; "node.handle" for one inside a group */
    uint32_t id;         /* the host's; comes back in SslUnitInfo.texture_ids */
    const char *place;
} SslGroupTexture;

typedef struct SslGroupAttribute {
    const char *attribute; /* that the unit declares; "node.attribute" for one inside a group */
    const char *binds;     /* SslAttributeInfo.binds of the linked unit */
    const char *place;
} SslGroupAttribute;

/* One use of a unit, with parameters, textures and attributes of its own. */
typedef struct SslGroupNode {
    const char
        *name; /* unique in the group; no '.' in it. May be empty if it is the only node: then its
                         parameters and textures keep their names */
    const SslUnit *unit;              /* a shader's or a group's; else NULL and: */
    const struct SslGroupDesc *group; /* linked once for all nodes that name it; else NULL and: */
    const char *shader, *entry;       /* for the host to find the unit by, and for messages */
    uint32_t shader_id;               /* the host's own */
    const SslGroupValue *values;
    const SslGroupTexture *textures;
    const SslGroupAttribute *attributes;
    uint32_t value_count, texture_count, attribute_count;
    const char *place;
} SslGroupNode;

typedef struct SslGroupWire {
    const char *from_node;    /* NULL: from the group's parameter `from` */
    const char *from;         /* an output of the node */
    const char *to_node, *to; /* an input */
    const char *place;
} SslGroupWire;

/* An input of the group as a unit. */
typedef struct SslGroupParam {
    const char *name;
    SslType
        type; /* SSL_VOID: that of the first input it is wired to, and its default and metadata */
    bool has_default;
    SslValue default_value;
    const SslMetadata *metadata;
    uint32_t metadata_count;
    const char *place;
} SslGroupParam;

typedef struct SslGroupOutput {
    const char *name;
    const char *node; /* NULL: the parameter `output` is handed through */
    const char *output;
    const char *place;
} SslGroupOutput;

typedef struct SslGroupDesc {
    size_t size_bytes; /* sizeof(SslGroupDesc) */
    const char *name;
    const SslGroupNode *nodes;
    const SslGroupWire *wires;
    const SslGroupParam *params;
    const SslGroupOutput *outputs;
    uint32_t node_count, wire_count, param_count, output_count;
    const char *place;
} SslGroupDesc;

/* What the linker asks the host while it links; functions may be NULL. */
typedef struct SslGroupHost {
    size_t size_bytes; /* sizeof(SslGroupHost) */
    /* The unit of a node that names neither `unit` nor `group`: borrowed for the call of the linker.
     * STATUS_NOT_FOUND: there is none, which the linker reports; STATUS_SOURCE: it has errors, which
     * the host has reported. */
    Status (*find_unit)(void *data, const SslGroupNode *node, const SslUnit **out_unit);
    /* Turns a place into a span of a source that the DiagList has already; with file 0, messages name the
     * place as text. */
    Span (*locate)(void *data, const char *place);
    void *data;
} SslGroupHost;

/* Links units into one. An input gets its value from a wire, else from the group's parameter that is
 * wired to it, else it becomes the parameter "node.input" of the new unit, whose default is the node's
 * own value, else the unit's default. A closure without a wire is the null closure. Types on a wire are
 * equal, or int to float, a number to a vector (all components), a color to float (luminance), another
 * 3-vector to float (mean). Nodes that no output needs are left out, with their parameters and textures
 * ("node.handle").
 *
 * STATUS_SOURCE: *out_unit is NULL and diags holds errors S07xx, up to 20, each with node, port and place.
 * STATUS_NO_MEMORY. *out_unit is the caller's (ssl_unit_release); it holds the units it is made of. Any
 * thread; the units may be used by others meanwhile. `host` may be NULL. */
Status ssl_group_link(SslContext *ctx, const SslGroupDesc *desc, const SslGroupHost *host,
                      DiagList *diags, SslUnit **out_unit) SORT_MUST_CHECK;

/* --- as JSON -------------------------------------------------------------------------------------- */

/* Reads descriptions out of JSON into memory of an arena, whose out-of-memory jump is set. */
typedef struct SslGroupReader {
    size_t size_bytes; /* sizeof(SslGroupReader) */
    Arena *arena;
    /* A node's "shader", which it must have then; NULL: shader_id stays 0. */
    Status (*read_shader)(void *data, JsonCursor *value, uint32_t *out_id, Error *err);
    /* One of a node's "textures"; NULL: they are read over. */
    Status (*read_texture)(void *data, JsonCursor *value, uint32_t *out_id, Error *err);
    void *data;
    SslGroupDesc *definitions; /* what "group" may name; set by ssl_group_read_definitions */
    uint32_t definition_count;
} SslGroupReader;

/* The object of groups by name, which may name one another in any order. Errors: the JSON's. */
Status ssl_group_read_definitions(SslGroupReader *reader, JsonCursor *object,
                                  Error *err) SORT_MUST_CHECK;
/* One group; `name` is borrowed. Fields that a group does not have are refused, but for those that the
 * caller asked for before. */
Status ssl_group_read(const SslGroupReader *reader, JsonCursor *object, const char *name,
                      SslGroupDesc *out_desc, Error *err) SORT_MUST_CHECK;
/* The definition that the string names. */
Status ssl_group_read_name(const SslGroupReader *reader, const JsonCursor *value,
                           const SslGroupDesc **out_desc, Error *err) SORT_MUST_CHECK;
/* The fields "parameters" and "textures" of a node, or of whatever looks like one. */
Status ssl_group_read_values(const SslGroupReader *reader, JsonCursor *node,
                             const SslGroupValue **out_values, uint32_t *out_count,
                             Error *err) SORT_MUST_CHECK;
Status ssl_group_read_textures(const SslGroupReader *reader, JsonCursor *node,
                               const SslGroupTexture **out_textures, uint32_t *out_count,
                               Error *err) SORT_MUST_CHECK;

/* A description in a text of its own. */
typedef struct SslGroupText {
    const char *name; /* for messages, and of the group */
    Str json;         /* borrowed for the call */
    uint32_t file;    /* the source of the DiagList that `json` stands in */
    uint32_t offset;  /* where it begins there, in bytes */
} SslGroupText;

typedef struct SslGroupFile SslGroupFile;
/* `reader` says what to do with shaders and textures; its arena and definitions are not looked at; NULL:
 * nothing. STATUS_SOURCE: diags holds an error S0723. *out_file is the caller's. */
Status ssl_group_file_read(const SslGroupText *text, const SslGroupReader *reader, DiagList *diags,
                           SslGroupFile **out_file) SORT_MUST_CHECK;
const SslGroupDesc *ssl_group_file_desc(const SslGroupFile *file); /* lives as long as the file */
/* As ssl_group_link, with places in the text. diags: the list that it was read with. `find_unit` as in
 * SslGroupHost. */
Status ssl_group_file_link(SslContext *ctx, const SslGroupFile *file,
                           Status (*find_unit)(void *data, const SslGroupNode *node,
                                               const SslUnit **out_unit),
                           void *data, DiagList *diags, SslUnit **out_unit) SORT_MUST_CHECK;
void ssl_group_file_destroy(SslGroupFile *file); /* NULL is fine */

#endif
