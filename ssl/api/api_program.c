/* Programs: a unit built into a kernel, and what that reads and makes. */
#include "base/alloc.h"
#include "base/cast.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/api/api_value.h"
#include <string.h>

static SortSslStatus take_constant(const SslUnitInfo *unit, const SortSslConstant *from,
                                   SslConstant *out, SortSslError *err)
{
    if (!from->name)
        return api_refuse_null(err, "name of a SortSslConstant");
    uint32_t at = 0;
    while (at < unit->param_count && strcmp(unit->params[at].name, from->name) != 0)
        ++at;
    if (at == unit->param_count)
        return api_refuse(err, STATUS_NOT_FOUND, "shader '%s' has no parameter '%s'", unit->name,
                          from->name);
    SslType type = unit->params[at].type;
    if ((type == SSL_STRING) != (from->text != NULL))
        return api_refuse(err, STATUS_INVALID, "parameter '%s' is a %s: its constant %s",
                          from->name, ssl_type_name(type),
                          from->text ? "has no text" : "needs a text");
    out->param = unit->params[at].name;
    if (type == SSL_STRING) {
        out->value = (SslValue){.type = type, .s = from->text};
        return SORT_SSL_OK;
    }
    if (type != SSL_FLOAT && !api_is_discrete(type))
        return api_refuse(
            err, STATUS_INVALID,
            "parameter '%s' is a %s; only bool, int, float and string parameters are baked",
            from->name, ssl_value_name(type, unit->params[at].shape));
    TRY_SSL(api_check_number(from->name, type, from->number, err));
    out->value = api_make_value(type, &from->number, 1);
    return SORT_SSL_OK;
}

static SortSslStatus check_build(const SortSslBuildDesc *how, SortSslError *err)
{
    if ((uint32_t)how->kind > SORT_SSL_EMISSION)
        return api_refuse(err, STATUS_INVALID, "%d is no SortSslKind", (int)how->kind);
    if (how->llvm_level > 4)
        return api_refuse(err, STATUS_INVALID, "an LLVM level of %u; 0 to 4 are possible",
                          how->llvm_level);
    if (how->lanes != 0 && how->lanes != 1 && how->lanes != 4 && how->lanes != 8 &&
        how->lanes != 16)
        return api_refuse(err, STATUS_INVALID, "%u lanes; 0, 1, 4, 8 and 16 are possible",
                          how->lanes);
    if (how->constant_count && !how->constants)
        return api_refuse_null(err,
                               "constants of a SortSslBuildDesc whose constant_count is not 0");
    return SORT_SSL_OK;
}

static SortSslStatus build(const SortSslUnit *unit, const SortSslBuildDesc *how,
                           const SslConstant *constants, DiagList *list, SortSslProgram *program,
                           SortSslError *err)
{
    uint32_t first = diag_count(list);
    Error error = {0};
    ASSERT((uint32_t)how->kind <= SSL_KERNEL_EMISSION);
    SslBuildDesc desc = {.size_bytes = sizeof desc,
                         .kind = (SslKernelKind)how->kind,
                         .constants = constants,
                         .constant_count = how->constant_count,
                         .llvm_level = how->llvm_level,
                         .bake_switches = how->bake_switches,
                         .lanes = how->lanes,
                         .output_derivatives = how->output_derivs};
    Status status =
        ssl_program_build(unit->ctx->ssl, unit->ssl, &desc, list, &program->ssl, &error);
    return status == STATUS_OK ? SORT_SSL_OK
                               : api_give_source_error(status, list, first, &error, err);
}

SortSslStatus sort_ssl_program_build(const SortSslUnit *unit, const SortSslBuildDesc *how,
                                     SortSslDiags *diags, SortSslProgram **out_program,
                                     SortSslError *err)
{
    if (!out_program)
        return api_refuse_null(err, "out_program");
    *out_program = NULL;
    if (!unit)
        return api_refuse_null(err, "unit");
    SortSslBuildDesc own = {.size_bytes = sizeof own};
    if (how)
        TAKE(&own, how, SortSslBuildDesc, err);
    TRY_SSL(check_build(&own, err));
    SslConstant *constants = MEM_ARRAY(SslConstant, own.constant_count);
    SortSslProgram *program = MEM_NEW(SortSslProgram);
    DiagList *list = diags ? diags->list : diag_list_create();
    SortSslStatus status = constants && program && list ? SORT_SSL_OK : api_no_memory(err);
    for (uint32_t i = 0; i < own.constant_count && status == SORT_SSL_OK; ++i)
        status = take_constant(ssl_unit_info(unit->ssl), &own.constants[i], &constants[i], err);
    if (status == SORT_SSL_OK)
        status = build(unit, &own, constants, list, program, err);
    if (status == SORT_SSL_OK) {
        atomic_init(&program->holders, 1);
        program->ctx = api_hold_context(unit->ctx);
        *out_program = program;
    } else {
        mem_free(program);
    }
    mem_free(constants);
    if (!diags)
        diag_list_destroy(list);
    return status;
}

SortSslProgram *api_hold_program(const SortSslProgram *program)
{
    SortSslProgram *held = cast_away_const(program); /* only its count changes */
    atomic_fetch_add_explicit(&held->holders, 1, memory_order_relaxed);
    return held;
}

void sort_ssl_program_destroy(SortSslProgram *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->holders, 1, memory_order_acq_rel) != 1)
        return;
    ssl_program_release(program->ssl);
    sort_ssl_context_destroy(program->ctx);
    mem_free(program);
}

SortSslStatus sort_ssl_program_info(const SortSslProgram *program, SortSslProgramInfo *out,
                                    SortSslError *err)
{
    CHECK_OUT(program, out, SortSslProgramInfo, err);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    const SslBuildTimes *t = &info->times;
    GIVE(out, SortSslProgramInfo, .lobe_count = info->lobe_count,
         .texture_site_count = info->texture_site_count,
         .build_ms = t->ir_ms + t->llvm_ir_ms + t->optimise_ms + t->codegen_ms + t->link_ms,
         .from_cache = t->from_cache);
    return SORT_SSL_OK;
}

/* The numbers of a lobe's arguments; *out_kind, unless NULL, is what number `number` is. */
uint32_t api_lobe_numbers(const SortSslProgram *program, uint32_t lobe, uint32_t number,
                          SslType *out_kind)
{
    const SslClosureRow *row =
        &program->ctx->closures[ssl_program_info(program->ssl)->lobes[lobe].closure];
    uint32_t count = 0;
    for (uint32_t i = 0; i < row->arg_count; ++i) {
        uint32_t next = count + ssl_type_scalars(row->args[i].type);
        if (out_kind && number >= count && number < next)
            *out_kind = ssl_value_kind(row->args[i].type, NULL, number - count);
        count = next;
    }
    return count;
}

SortSslStatus sort_ssl_program_lobe(const SortSslProgram *program, uint32_t index, SortSslLobe *out,
                                    SortSslError *err)
{
    CHECK_OUT(program, out, SortSslLobe, err);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    TRY_SSL(api_check_index(index, info->lobe_count, "lobe", err));
    const SslLobeSlot *slot = &info->lobes[index];
    GIVE(out, SortSslLobe, .closure = slot->closure, .output = slot->output, .parent = slot->parent,
         .arg_count = api_lobe_numbers(program, index, 0, NULL));
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_program_texture_site(const SortSslProgram *program, uint32_t index,
                                            SortSslTextureSite *out, SortSslError *err)
{
    CHECK_OUT(program, out, SortSslTextureSite, err);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    TRY_SSL(api_check_index(index, info->texture_site_count, "texture site", err));
    const SslTextureSite *site = &info->texture_sites[index];
    SortSslTextureSite all = {.size_bytes = out->size_bytes,
                              .texture = site->texture,
                              .filter = site->filter ? site->filter : "",
                              .wrap_s = site->wrap_s ? site->wrap_s : "",
                              .wrap_t = site->wrap_t ? site->wrap_t : "",
                              .has_missing_color = site->has_missing_color,
                              .channel = site->channel};
    memcpy(all.missing_color, site->missing_color, sizeof all.missing_color);
    ssl_texture_site_place(program->ssl, index, &all.file, &all.line, &all.column);
    memcpy(out, &all, out->size_bytes);
    return SORT_SSL_OK;
}

bool sort_ssl_program_reads_global(const SortSslProgram *program, uint32_t row,
                                   SortSslShadow shadow)
{
    if (!program || row >= program->ctx->global_count)
        return false;
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    return (shadow == SORT_SSL_VALUE ? info->globals_value : info->globals_derivs) >> row & 1;
}
