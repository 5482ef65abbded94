/* Units for the nodes of a group description that stands in a file: what "shader" means to the tools.
 *
 *   unit:NAME     a unit of SORT's library
 *   PATH.ssl      beside the description, else in one of the folders of -I
 *   nothing       the description's own file, if that is SSL (ssl-test)
 *
 * A unit is compiled once, however many nodes use it. */
#ifndef SORT_TOOLS_SSL_KIT_GROUP_UNITS_H
#define SORT_TOOLS_SSL_KIT_GROUP_UNITS_H

#include "ssl/ssl_group.h"

typedef struct GroupUnits GroupUnits;

typedef struct GroupUnitsDesc {
    SslContext *ctx;
    DiagList *diags;            /* where errors in units go */
    const char *path;           /* of the description; all borrowed */
    Str text;                   /* its SSL, if it is such a file; else empty */
    const char *const *folders; /* further ones */
    uint32_t folder_count;
} GroupUnitsDesc;

GroupUnits *group_units_create(const GroupUnitsDesc *desc); /* NULL when out of memory */
void group_units_destroy(GroupUnits *units);                /* NULL is fine */
/* As SslGroupHost.find_unit; data: a GroupUnits. */
Status group_units_find(void *data, const SslGroupNode *node, const SslUnit **out_unit);

#endif
