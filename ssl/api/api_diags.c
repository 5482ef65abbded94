#include "base/alloc.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include <string.h>

SortSslStatus sort_ssl_diags_create(SortSslDiags **out_diags, SortSslError *err)
{
    if (!out_diags)
        return api_refuse_null(err, "out_diags");
    *out_diags = NULL;
    SortSslDiags *diags = MEM_NEW(SortSslDiags);
    if (diags)
        diags->list = diag_list_create();
    if (!diags || !diags->list) {
        mem_free(diags);
        return api_no_memory(err);
    }
    *out_diags = diags;
    return SORT_SSL_OK;
}

void sort_ssl_diags_destroy(SortSslDiags *diags)
{
    if (!diags)
        return;
    diag_list_destroy(diags->list);
    strbuf_free(&diags->text);
    mem_free(diags);
}

uint32_t sort_ssl_diags_count(const SortSslDiags *diags)
{
    return diags ? diag_count(diags->list) : 0;
}

uint32_t sort_ssl_diags_error_count(const SortSslDiags *diags)
{
    return diags ? diag_error_count(diags->list) : 0;
}

static void describe_diag(const DiagList *list, uint32_t index, SortSslDiag *all)
{
    const Diag *diag = diag_get(list, index);
    all->severity = (SortSslSeverity)diag->severity;
    all->code = diag->code;
    all->file = "";
    all->message = diag->message;
    all->label = diag->label ? diag->label : "";
    if (diag->span.file) {
        all->file = diag_source_name(list, diag->span.file);
        diag_position(list, diag->span.file, diag->span.begin, &all->line, &all->column);
        diag_position(list, diag->span.file, diag->span.end, &all->end_line, &all->end_column);
    }
}

SortSslStatus sort_ssl_diags_get(const SortSslDiags *diags, uint32_t index, SortSslDiag *out,
                                 SortSslError *err)
{
    CHECK_OUT(diags, out, SortSslDiag, err);
    TRY_SSL(api_check_index(index, diag_count(diags->list), "diagnostic", err));
    SortSslDiag all = {.size_bytes = out->size_bytes};
    describe_diag(diags->list, index, &all);
    memcpy(out, &all, out->size_bytes);
    return SORT_SSL_OK;
}

const char *sort_ssl_diags_text(SortSslDiags *diags)
{
    if (!diags)
        return "";
    strbuf_clear(&diags->text);
    diags->text.failed = false;
    diag_print(diags->list, &diags->text);
    return diags->text.failed ? "" : strbuf_text(&diags->text);
}

/* What a rejected source's error says: the first error from `first` on, else what *from says. */
SortSslStatus api_give_source_error(Status status, const DiagList *list, uint32_t first,
                                    const Error *from, SortSslError *err)
{
    for (uint32_t i = first; i < diag_count(list); ++i) {
        if (diag_get(list, i)->severity != DIAG_ERROR)
            continue;
        SortSslDiag diag = {.size_bytes = sizeof diag};
        describe_diag(list, i, &diag);
        if (!diag.line)
            return api_refuse(err, status, "error[%s]: %s", diag.code, diag.message);
        return api_refuse(err, status, "%s:%u:%u: error[%s]: %s", diag.file, diag.line, diag.column,
                          diag.code, diag.message);
    }
    if (*from->text)
        return api_give_error(status, from, err);
    return api_refuse(err, status,
                      status == STATUS_NO_MEMORY ? "out of memory" : "the source was rejected");
}
