/* A group on its way from the description to IR, what the files of the linker share:
 *
 *   SslGroupDesc --group_resolve--> nodes with units, every input with its source; or diagnostics
 *                --group_emit-----> a unit: IR, parameters, textures, sources
 */
#ifndef SSL_GROUP_GROUP_H
#define SSL_GROUP_GROUP_H

#include "ssl/context.h"
#include "ssl/ir/ir_build.h"
#include "ssl/report.h"
#include "ssl/ssl_group.h"
#include "ssl/ssl_limits.h"

/* How a wire's value becomes what the input wants; docs/reference/ssl-groups.md has the table. */
typedef enum GroupConversion {
    GROUP_CONVERT_NEVER, /* the types do not go together */
    GROUP_CONVERT_NOTHING,
    GROUP_CONVERT_NUMBER,    /* int to float */
    GROUP_CONVERT_SPLAT,     /* a number to all components */
    GROUP_CONVERT_LUMINANCE, /* color to float */
    GROUP_CONVERT_MEAN       /* another 3-vector to float */
} GroupConversion;

/* What a port carries. */
typedef struct GroupType {
    SslType type;
    const SslShape *shape;
} GroupType;

GroupConversion group_conversion(GroupType from, GroupType to);
/* `from`: the source's values; `out`: one a number of `to`. */
void group_convert(IrBuilder *b, GroupType from, GroupType to, const IrValue *from_values,
                   IrValue *out);
/* Values that hold one, closures and strings included. */
uint32_t group_type_values(GroupType t);
IrKind group_type_kind(GroupType t, uint32_t value);
/* "a color"; "an int" */
const char *group_type_text(GroupType t, Arena *arena);

enum { GROUP_NONE = UINT32_MAX };

/* Where an input gets its value from: the first of these that is there. */
typedef struct GroupInput {
    uint32_t node, output;      /* wire; GROUP_NONE: none */
    uint32_t param;             /* the group's; GROUP_NONE: none */
    const SslGroupValue *value; /* the node's own; NULL: the unit's default */
} GroupInput;

typedef struct GroupNode {
    const SslGroupNode *desc;
    SslUnit *unit; /* held by whoever resolved it */
    const SslUnitInfo *info;
    GroupInput *inputs; /* [info->param_count] */
    uint32_t *textures; /* [info->texture_count] host ids */
    const char **binds; /* [info->attribute_count] what each attribute is bound to */
} GroupNode;

typedef struct GroupParam {
    const SslGroupParam *desc;
    GroupType type;
    uint32_t first_node, first_input; /* that it is wired to; GROUP_NONE: nothing */
} GroupParam;

typedef struct GroupOutput {
    const SslGroupOutput *desc;
    uint32_t node, output; /* node GROUP_NONE: `output` is a parameter */
    GroupType type;
} GroupOutput;

/* For sorting. */
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

/* `nodes[].unit` is there, or NULL where that was reported. Fills in the rest. STATUS_SOURCE after a
 * report. */
Status group_resolve(Group *g) SORT_MUST_CHECK;

/* group_names.c: what can be said before units are known. */
void group_check_names(Group *g);
void group_sort_names(GroupName *names, uint32_t count);

/* group_lookup.c. GROUP_NONE: not there; group_find_node has reported it. */
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

/* Fills in unit->module, fault, sources, parts; `unit` has its context and arena. */
Status group_emit(const Group *g, SslUnit *unit) SORT_MUST_CHECK;

/* complain(g, place, NAME, arguments...): as report(), with the span or the text of the place. */
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
