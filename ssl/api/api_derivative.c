/* Derivatives of units. */
#include "base/alloc.h"
#include "base/check.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"

_Static_assert((int)SORT_SSL_INPUT_TEXTURE == (int)SSL_INPUT_TEXTURE, "kinds are handed on");

static SortSslStatus check_names(const SortSslDerivativeDesc *how, SortSslError *err)
{
    if ((how->input_count && !how->inputs) || (how->output_count && !how->outputs))
        return api_refuse_null(err, "inputs or outputs of a SortSslDerivativeDesc");
    for (uint32_t i = 0; i < how->input_count; ++i) {
        if (!how->inputs[i].name)
            return api_refuse_null(err, "name of a SortSslInput");
        if ((uint32_t)how->inputs[i].kind > SORT_SSL_INPUT_TEXTURE)
            return api_refuse(err, STATUS_INVALID, "%d is no SortSslInputKind",
                              (int)how->inputs[i].kind);
    }
    for (uint32_t i = 0; i < how->output_count; ++i)
        if (!how->outputs[i])
            return api_refuse_null(err, "an output of a SortSslDerivativeDesc");
    return SORT_SSL_OK;
}

static SortSslStatus differentiate(const SortSslUnit *unit, const SortSslDerivativeDesc *how,
                                   SslDerivativeInput *inputs, DiagList *list, SortSslUnit *made,
                                   SortSslError *err)
{
    for (uint32_t i = 0; i < how->input_count; ++i) {
        ASSERT((uint32_t)how->inputs[i].kind <= SSL_INPUT_TEXTURE);
        inputs[i] = (SslDerivativeInput){(SslInputKind)how->inputs[i].kind, how->inputs[i].name};
    }
    const SslDerivativeDesc desc = {.size_bytes = sizeof desc,
                                    .is_backward = how->is_backward,
                                    .has_edges = how->has_edges,
                                    .inputs = inputs,
                                    .outputs = how->outputs,
                                    .input_count = how->input_count,
                                    .output_count = how->output_count,
                                    .direction_count = how->direction_count};
    uint32_t first = diag_count(list);
    Error error = {0};
    Status status = ssl_unit_differentiate(unit->ssl, &desc, list, &made->ssl, &error);
    return status == STATUS_OK ? SORT_SSL_OK
                               : api_give_source_error(status, list, first, &error, err);
}

SortSslStatus sort_ssl_unit_differentiate(const SortSslUnit *unit, const SortSslDerivativeDesc *how,
                                          SortSslDiags *diags, SortSslUnit **out_unit,
                                          SortSslError *err)
{
    if (!out_unit)
        return api_refuse_null(err, "out_unit");
    *out_unit = NULL;
    if (!unit || !how)
        return api_refuse_null(err, unit ? "how" : "unit");
    SortSslDerivativeDesc own = {0};
    TAKE(&own, how, SortSslDerivativeDesc, err);
    TRY_SSL(check_names(&own, err));
    SslDerivativeInput *inputs = MEM_ARRAY(SslDerivativeInput, own.input_count);
    SortSslUnit *made = MEM_NEW(SortSslUnit);
    DiagList *list = diags ? diags->list : diag_list_create();
    SortSslStatus status = inputs && made && list
                               ? differentiate(unit, &own, inputs, list, made, err)
                               : api_no_memory(err);
    if (status == SORT_SSL_OK) {
        made->ctx = api_hold_context(unit->ctx);
        *out_unit = made;
    } else {
        mem_free(made);
    }
    mem_free(inputs);
    if (!diags)
        diag_list_destroy(list);
    return status;
}

bool sort_ssl_unit_output_is_zero(const SortSslUnit *unit, uint32_t index)
{
    return unit && index < ssl_unit_info(unit->ssl)->output_count &&
           ssl_unit_info(unit->ssl)->outputs[index].is_zero;
}
