/* Groups: several SSL units, wired to one another and linked into one unit.
 *
 *   SslGroupDesc, or JSON (docs/reference/ssl-groups.md) --ssl_group_link--> SslUnit --ssl_program_build--> one kernel
 *
 * Linking works on the IR, before the derivative passes, so that a wire becomes an ordinary value of one
 * function. A unit is checked once, however many groups use it. */
#ifndef SSL_SSL_GROUP_H
#define SSL_SSL_GROUP_H

#include "base/arena.h"
#include "base/json.h"
#include "ssl/ssl.h"

/* The description of a group. In each struct, `place` is the place in the host's own file, as
 * "nodes.mix.parameters.fac", which messages show; it may be NULL. Strings, arrays and units are borrowed for
 * the call. */
typedef struct SslGroupValue {
    const char *param; /* an input of the unit; "node.input" for an input inside a group */
    SslValue value;
    const char *place;
} SslGroupValue;

typedef struct SslGroupTexture {
    const char *texture; /* a handle of the unit; "node.handle" for a handle inside a group */
    uint32_t id;         /* chosen by the host; SslUnitInfo.texture_ids returns it */
    const char *place;
} SslGroupTexture;

typedef struct SslGroupAttribute {
    /* declared by the unit; "node.attribute" for an attribute inside a group */
    const char *attribute;
    const char *binds; /* becomes SslAttributeInfo.binds of the linked unit */
    const char *place;
} SslGroupAttribute;

/* One use of a unit, with parameters, textures and attributes of its own. A node names its unit by `unit`,
 * else by `group`, else by `shader`, `entry` and `shader_id`, from which SslGroupHost.find_unit finds it. */
typedef struct SslGroupNode {
    /* Unique in the group and without '.'. The name of a group's only node may be empty: its parameters and
     * textures then keep their names in the linked unit. */
    const char *name;
    const SslUnit *unit;              /* a compiled shader or a linked group, or NULL */
    const struct SslGroupDesc *group; /* linked once for all nodes that name it, or NULL */
    const char *shader, *entry;       /* used by find_unit and in messages */
    uint32_t shader_id;               /* used by find_unit; chosen by the host */
    const SslGroupValue *values;
    const SslGroupTexture *textures;
    const SslGroupAttribute *attributes;
    uint32_t value_count, texture_count, attribute_count;
    const char *place;
} SslGroupNode;

typedef struct SslGroupWire {
    const char *from_node;    /* NULL: the wire begins at the group's parameter `from` */
    const char *from;         /* an output of from_node */
    const char *to_node, *to; /* a node and one of its inputs */
    const char *place;
} SslGroupWire;

/* A parameter of the linked unit. */
typedef struct SslGroupParam {
    const char *name;
    /* SSL_VOID: the parameter has the type, default and metadata of the first input that it is wired to. */
    SslType type;
    bool has_default;
    SslValue default_value;
    const SslMetadata *metadata;
    uint32_t metadata_count;
    const char *place;
} SslGroupParam;

typedef struct SslGroupOutput {
    const char *name;
    /* NULL: `output` names a parameter of the group, whose value is passed through */
    const char *node;
    const char *output; /* an output of the node */
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

/* Callbacks of the linker, called on its thread; each may be NULL. */
typedef struct SslGroupHost {
    size_t size_bytes; /* sizeof(SslGroupHost) */
    /* Finds the unit of a node that names neither `unit` nor `group`. *out_unit is borrowed until the linker
     * returns. STATUS_NOT_FOUND: there is no such unit, which the linker reports. STATUS_SOURCE: the unit has
     * errors, which the host has reported. */
    Status (*find_unit)(void *data, const SslGroupNode *node, const SslUnit **out_unit);
    /* Returns the span of a place in a source that the DiagList already has. If the span's file is 0, messages
     * show the place as text. */
    Span (*locate)(void *data, const char *place);
    void *data;
} SslGroupHost;

/* Links units into one.
 *
 * An input gets its value from a wire or from the group's parameter that is wired to it. An input without
 * either becomes the parameter "node.input" of the new unit; its default is the node's own value, else the
 * unit's default. A closure input without a wire is the null closure. A wire joins equal types or converts:
 * int to float, a number to a vector (all components), a color to float (luminance), another 3-vector to
 * float (mean). Nodes that no output needs are left out, with their parameters and textures.
 *
 * On success *out_unit is the caller's (ssl_unit_release); it holds references to the units that it is made
 * of. STATUS_SOURCE: *out_unit is NULL and `diags` has up to 20 errors S07xx more, each with node, port and
 * place. STATUS_NO_MEMORY is the only other error. `host` may be NULL. Any thread may call this, also while
 * others use the same units. */
Status ssl_group_link(SslContext *ctx, const SslGroupDesc *desc, const SslGroupHost *host,
                      DiagList *diags, SslUnit **out_unit) SORT_MUST_CHECK;

/* --- as JSON -------------------------------------------------------------------------------------- */

/* Reads descriptions from JSON. They are allocated in the arena, whose out-of-memory jump must be set. The form of a group
 * is the reader's, but the host's own files say what a shader or a texture is. The reader hands such a value to a
 * callback where it meets it, so that a mistake in it is told with its place and nothing of the JSON is kept. */
typedef struct SslGroupReader {
    size_t size_bytes; /* sizeof(SslGroupReader) */
    Arena *arena;
    /* Reads the "shader" of a node, which every node without a group must then have. NULL: shader_id is 0. */
    Status (*read_shader)(void *data, JsonCursor *value, uint32_t *out_id, Error *err);
    /* Reads one of a node's "textures". NULL: textures are skipped. */
    Status (*read_texture)(void *data, JsonCursor *value, uint32_t *out_id, Error *err);
    void *data;
    /* The groups that "group" may name; set by ssl_group_read_definitions. */
    SslGroupDesc *definitions;
    uint32_t definition_count;
} SslGroupReader;

/* Reads an object of groups by name into reader->definitions. The groups may name one another in any order.
 * This and the functions below fail with the error of the JSON, which names its place. */
Status ssl_group_read_definitions(SslGroupReader *reader, JsonCursor *object,
                                  Error *err) SORT_MUST_CHECK;
/* Reads one group; `name` is borrowed. This and the next function refuse a field that they do not know, unless
 * the caller has read it from the cursor before. */
Status ssl_group_read(const SslGroupReader *reader, JsonCursor *object, const char *name,
                      SslGroupDesc *out_desc, Error *err) SORT_MUST_CHECK;
/* Reads a node that stands outside a group, such as a material of a scene. Its "group" may be a name or a group
 * of its own, which is then called `group_name` (borrowed). The name of the node is empty. */
Status ssl_group_read_node(const SslGroupReader *reader, JsonCursor *object, const char *group_name,
                           SslGroupNode *out_node, Error *err) SORT_MUST_CHECK;

/* The JSON text of a group, as a part of a source that a DiagList has. */
typedef struct SslGroupText {
    const char *name; /* the name of the group, also for messages */
    Str json;         /* borrowed for the call */
    uint32_t file;    /* the source in the DiagList that contains `json` */
    uint32_t offset;  /* where `json` begins in that source, in bytes */
} SslGroupText;

typedef struct SslGroupFile SslGroupFile;
/* Reads a group's JSON text. Only the callbacks of `reader` are used, and it may be NULL. On success *out_file
 * is the caller's (ssl_group_file_destroy). STATUS_SOURCE: `diags` has an error S0723 more.
 * STATUS_NO_MEMORY is the only other error. */
Status ssl_group_file_read(const SslGroupText *text, const SslGroupReader *reader, DiagList *diags,
                           SslGroupFile **out_file) SORT_MUST_CHECK;
/* Returns the description, which lives as long as the file. */
const SslGroupDesc *ssl_group_file_desc(const SslGroupFile *file);
/* Calls ssl_group_link with messages that show places in the text. `diags` is the list of
 * ssl_group_file_read; `find_unit` is described at SslGroupHost. */
Status ssl_group_file_link(SslContext *ctx, const SslGroupFile *file,
                           Status (*find_unit)(void *data, const SslGroupNode *node,
                                               const SslUnit **out_unit),
                           void *data, DiagList *diags, SslUnit **out_unit) SORT_MUST_CHECK;
void ssl_group_file_destroy(SslGroupFile *file); /* NULL is allowed */

#endif
