/* The state and the functions that the files of the group linker share. Private to group/.
 *
 *   SslGroupDesc --group_resolve--> nodes with units, and the source of every input; or diagnostics
 *                --group_emit-----> a unit: IR, parameters, textures, sources
 */
#ifndef SSL_GROUP_GROUP_H
#define SSL_GROUP_GROUP_H

#include "ssl/context.h"
#include "ssl/ir/ir_build.h"
#include "ssl/report.h"
#include "ssl/ssl_group.h"
#include "ssl/ssl_limits.h"

/* The conversion of a wire's value to the type of the input; docs/reference/ssl-groups.md has the table. */
typedef enum GroupConversion {
    GROUP_CONVERT_NEVER,     /* the types cannot be joined by a wire */
    GROUP_CONVERT_NOTHING,   /* the types are equal */
    GROUP_CONVERT_NUMBER,    /* int to float */
    GROUP_CONVERT_SPLAT,     /* a number to all components */
    GROUP_CONVERT_LUMINANCE, /* color to float */
    GROUP_CONVERT_MEAN       /* another 3-vector to float */
} GroupConversion;

/* The type of a port. */
typedef struct GroupType {
    SslType type;
    const SslShape *shape;
} GroupType;

GroupConversion group_conversion(GroupType from, GroupType to);
/* Converts the values of a source of type `from` to `out`, one value per scalar of `to`. */
void group_convert(IrBuilder *b, GroupType from, GroupType to, const IrValue *from_values,
                   IrValue *out);
/* Returns the number of IR values that hold a value of the type; a closure or a string takes one. */
uint32_t group_type_values(GroupType t);
IrKind group_type_kind(GroupType t, uint32_t value);
/* "a color"; "an int" */
const char *group_type_text(GroupType t, Arena *arena);

enum { GROUP_NONE = UINT32_MAX };

/* The source of an input's value: the first of these that is present. */
typedef struct GroupInput {
    uint32_t node, output;      /* where the wire begins; GROUP_NONE: there is no wire */
    uint32_t param;             /* a parameter of the group; GROUP_NONE: none */
    const SslGroupValue *value; /* the node's own value; NULL: the unit's default applies */
} GroupInput;

typedef struct GroupNode {
    const SslGroupNode *desc;
    SslUnit *unit; /* held by whoever resolved it */
    const SslUnitInfo *info;
    GroupInput *inputs; /* [info->param_count] */
    uint32_t *textures; /* [info->texture_count] host ids */
    const char **binds; /* [info->attribute_count] names that the attributes are bound to */
} GroupNode;

typedef struct GroupParam {
    const SslGroupParam *desc;
    GroupType type;
    uint32_t first_node, first_input; /* the first input that it is wired to; GROUP_NONE: none */
} GroupParam;

typedef struct GroupOutput {
    const SslGroupOutput *desc;
    uint32_t node, output; /* node GROUP_NONE: `output` is a parameter */
    GroupType type;
} GroupOutput;

/* An entry of a list of names that is sorted. */
typedef struct GroupName {
    const char *name, *place;
    uint32_t index;
} GroupName;

typedef struct Group {
    const SslGroupDesc *desc;
    const SslGroupHost *host;
    Arena *arena; /* its out-of-memory jump is set */
    DiagList *diags;
    GroupNode *nodes; /* [desc->node_count] */
    GroupName *nodes_by_name;
    GroupParam *params;   /* [desc->param_count] */
    GroupOutput *outputs; /* [desc->output_count] */
    uint32_t *order;      /* nodes that an output needs, sources before targets */
    uint32_t order_count;
} Group;

/* Fills in the group. The caller has set `nodes[].unit`, with NULL for a node without a unit, which it has
 * reported. STATUS_SOURCE: `diags` has an error more. */
Status group_resolve(Group *g) SORT_MUST_CHECK;

/* group_names.c: checks names and limits, for which units need not be known. */
void group_check_names(Group *g);
void group_sort_names(GroupName *names, uint32_t count);

/* group_lookup.c: the find functions return GROUP_NONE if the name does not exist; group_find_node reports it. */
void group_index_nodes(Group *g); /* before group_find_node */
uint32_t group_find_node(Group *g, const char *name, const char *place);
uint32_t group_find_input(const SslUnitInfo *info, const char *name);
uint32_t group_find_output(const SslUnitInfo *info, const char *name);
uint32_t group_find_param(const Group *g, const char *name);
void group_unknown_input(Group *g, const GroupNode *node, const char *name, const char *place);
void group_unknown_output(Group *g, const GroupNode *node, const char *name, const char *place);
void group_unknown_param(Group *g, const char *name, const char *place);
const char *group_name_of(const GroupNode *node);

/* group_order.c: fills in `order`. */
void group_find_order(Group *g);

/* Fills in module, fault, sources and parts of `unit`, which has its context and arena. */
Status group_emit(const Group *g, SslUnit *unit) SORT_MUST_CHECK;

/* complain(g, place, NAME, arguments...) reports as report() does, at the place's span or with its text. */
#define complain(g, place, name, ...)                                                              \
    group_complain((g), (place), SSL_DIAG_##name, (const char *const[]){__VA_ARGS__},              \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
void group_complain(Group *g, const char *place, SslDiag diag, const char *const *args,
                    size_t arg_count);

static inline GroupType group_param_type(const SslParamInfo *p)
{
    return (GroupType){p->type, p->shape};
}
static inline GroupType group_output_type(const SslOutputInfo *o)
{
    return (GroupType){o->type, o->shape};
}

#endif
