/* A unit as the only node of a group, which is to be the unit. */
#include "base/check.h"
#include "ssl/ssl_group.h"
#include "tests/ssl/random/random_check.h"

enum { OUTPUTS_MAX = 32 };

RandomVerdict random_group_of(SslContext *ctx, const SslUnit *unit, StrBuf *report,
                              SslUnit **out_group)
{
    const SslUnitInfo *info = ssl_unit_info(unit);
    const SslGroupNode node = {.name = "", .unit = unit};
    SslGroupOutput outputs[OUTPUTS_MAX];
    CHECK(info->output_count <= OUTPUTS_MAX);
    for (uint32_t i = 0; i < info->output_count; ++i)
        outputs[i] = (SslGroupOutput){
            .name = info->outputs[i].name, .node = "", .output = info->outputs[i].name};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = info->name,
                               .nodes = &node,
                               .outputs = outputs,
                               .node_count = 1,
                               .output_count = info->output_count};
    Error err = {0};
    DiagList *diags = diag_list_create();
    CHECK(diags);
    Status status = ssl_group_link(ctx, &desc, NULL, diags, out_group);
    RandomVerdict verdict =
        status == STATUS_OK ? RANDOM_GOOD : random_refuse(diags, &err, status, report);
    diag_list_destroy(diags);
    return verdict;
}
