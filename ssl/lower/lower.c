/* The doors of the front end, and the writing of whole functions: a shader first, then what it calls, each
 * once, in the order in which it was met. */
#include "ssl/lower/lower.h"
#include "base/check.h"
#include "ssl/front/lex.h"
#include "ssl/lower/emit.h"

#include <string.h>

Span lower_span(Lowering *l, Span span)
{
    if (!span_is_library(span))
        return span;
    uint32_t index = span.file - LIBRARY_FILE;
    if (!l->library_files[index]) {
        const EmbeddedText *source = &stdlib_sources[index];
        l->library_files[index] =
            diag_add_source(l->diags, arena_printf(l->arena, "stdlib/%s", source->name),
                            (Str){source->text, source->size_bytes});
    }
    span.file = l->library_files[index];
    return span;
}

/* --- functions --- */

/* Types of the parameters that a call passes values for. */
static uint32_t param_types(const FuncDecl *f, IrType *types)
{
    IrType *next = types;
    for (uint32_t i = 0; i < f->params.count; i++)
        if (f->params.items[i]->direction != DIRECTION_OUT)
            next = leaf_types(f->params.items[i]->type, next);
    return (uint32_t)(next - types);
}

/* A shader's parameter: read from the block of parameters. */
static Value read_param(Emit *m, const Type *type, uint32_t param)
{
    IrValue *leaf = value_leaves(m, type);
    for (uint32_t i = 0; i < type->leaves; i++)
        leaf[i] = ir_build_param_read(m->b, ir_kind(leaf_type(type, i)), param, i);
    return (Value){type, leaf};
}

static void declare_params(Emit *m, const FuncDecl *f)
{
    uint32_t next_value = 0, next_input = 0;
    for (uint32_t i = 0; i < f->params.count; i++) {
        const VarDecl *param = f->params.items[i];
        Value v;
        lower_set_span(m, param->span);
        if (param->direction == DIRECTION_OUT) {
            v = value_zero(m, param->type);
        } else if (f->is_shader) {
            v = read_param(m, param->type, next_input++);
        } else {
            IrValue *leaf = value_leaves(m, param->type);
            for (uint32_t k = 0; k < param->type->leaves; k++)
                leaf[k] = ir_build_param(m->b, next_value++);
            v = (Value){param->type, leaf};
        }
        m->slot_of[param->index] = slots_allocate(m, v);
    }
}

static void lower_function(Lowering *l, const FuncDecl *f)
{
    Emit m = {.lowering = l, .arena = l->arena, .func = f};
    uint32_t param_leaves = 0, result_leaves = f->return_type->leaves;
    for (uint32_t i = 0; i < f->params.count; i++)
        param_leaves += f->params.items[i]->type->leaves;
    IrType *types = ARENA_ARRAY(l->arena, IrType, param_leaves);
    uint32_t type_count = f->is_shader ? 0 : param_types(f, types);
    m.b = ir_build_begin(l->module, lower_func_id(l, f), f->name, types, type_count);
    ir_build_func(m.b)->span = lower_span(l, f->span);
    m.slot_of = ARENA_ARRAY(l->arena, uint32_t, f->local_count);
    for (uint32_t i = 0; i < f->local_count; i++)
        m.slot_of[i] = NO_SLOT;
    IrValue no = ir_const_bool(m.b, false);
    m.returned = slots_allocate(&m, (Value){type_basic(SSL_BOOL), &no});
    m.result = slots_allocate(&m, value_zero(&m, f->return_type));
    declare_params(&m, f);

    Sequence body = {f->body->list.items, f->body->list.count, NULL};
    lower_sequence(&m, &body);

    ARRAY(IrValue) results = {0};
    for (uint32_t i = 0; i < result_leaves; i++)
        array_push(l->arena, &results, m.env.data[m.result + i]);
    for (uint32_t i = 0; i < f->params.count; i++) {
        const VarDecl *param = f->params.items[i];
        for (uint32_t k = 0; k < param->type->leaves && param->direction != DIRECTION_IN; k++)
            array_push(l->arena, &results, m.env.data[m.slot_of[param->index] + k]);
    }
    Span end = {f->body->span.file, f->body->span.end - 1, f->body->span.end};
    lower_set_span(&m, end);
    ir_build_end(m.b, results.data, results.count);
}

/* --- what the module says about the shader --- */

static SslValue default_value(const Type *type, const Constant *c)
{
    SslValue v = {.type = type->basic};
    if (!c)
        return v;
    if (type_is(type, SSL_BOOL))
        v.b = c->scalars[0].b;
    else if (type_is(type, SSL_INT))
        v.i = c->scalars[0].i;
    else
        for (uint32_t i = 0; i < type->scalars; i++)
            v.f[i] = c->scalars[i].f;
    return v;
}

static const SslMetadata *copy_metadata(Arena *arena, const MetadataList *list)
{
    SslMetadata *items = ARENA_ARRAY(arena, SslMetadata, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        items[i] = (SslMetadata){.name = list->items[i].name, .value = list->items[i].constant};
    return items;
}

static SslParamInfo param_info(Arena *arena, const VarDecl *param)
{
    return (SslParamInfo){.name = param->name,
                          .type = param->type->basic,
                          .has_default = param->init != NULL,
                          .default_value = default_value(param->type, param->constant),
                          .metadata = copy_metadata(arena, &param->metadata),
                          .metadata_count = param->metadata.count,
                          .span = param->span};
}

static void describe_shader(IrModule *m, const FuncDecl *shader, const Ast *ast)
{
    ARRAY(SslParamInfo) params = {0};
    ARRAY(SslOutputInfo) outputs = {0};
    ARRAY(const char *) textures = {0};
    uint32_t result = 0;
    for (uint32_t i = 0; i < shader->params.count; i++) {
        const VarDecl *param = shader->params.items[i];
        SslType type = param->type->basic;
        if (param->direction == DIRECTION_IN) {
            array_push(m->arena, &params, param_info(m->arena, param));
            continue;
        }
        array_push(m->arena, &outputs, (SslOutputInfo){param->name, type});
        array_push(m->arena, &m->outputs,
                   (IrOutput){param->name, type, result, param->type->leaves});
        result += param->type->leaves;
    }
    for (uint32_t i = 0; i < ast->textures.count; i++)
        array_push(m->arena, &textures, ast->textures.data[i]->name);
    m->info = (SslUnitInfo){.name = shader->name,
                            .params = params.data,
                            .outputs = outputs.data,
                            .textures = textures.data,
                            .metadata = copy_metadata(m->arena, &shader->metadata),
                            .param_count = params.count,
                            .output_count = outputs.count,
                            .texture_count = textures.count,
                            .metadata_count = shader->metadata.count};
}

/* --- doors --- */

static SemaTables sema_tables(const LowerTables *tables)
{
    return (SemaTables){.globals = tables->globals,
                        .closures = tables->closures,
                        .global_count = tables->global_count,
                        .closure_count = tables->closure_count};
}

/* Adds the source to diags. */
static Status add_source(const SslSource *src, DiagList *diags, SemaSource *out_source)
{
    if (report_is_full(diags))
        return STATUS_SOURCE;
    if (src->text.size_bytes > UINT32_MAX)
        return STATUS_LIMIT;
    uint32_t file = diag_add_source(diags, src->name ? src->name : "source", src->text);
    *out_source = (SemaSource){src->text, file};
    return file > 0 ? STATUS_OK : STATUS_NO_MEMORY;
}

static Status lower_module(const SemaTables *tables, const Module *checked, const FuncDecl *shader,
                           uint32_t file, Arena *arena, DiagList *diags, IrModule **out_module)
{
    Lowering l = {.arena = arena,
                  .diags = diags,
                  .tables = tables,
                  .module = ir_module_create(arena),
                  .func_ids = ARENA_ARRAY(arena, IrFuncId, checked->func_count)};
    uint32_t library_count = 0;
    while (stdlib_sources[library_count].name)
        library_count++;
    l.library_files = ARENA_ARRAY(arena, uint32_t, library_count);
    l.module->globals = tables->globals;
    l.module->closures = tables->closures;
    l.module->global_count = tables->global_count;
    l.module->closure_count = tables->closure_count;
    l.module->source_file = file;
    describe_shader(l.module, shader, checked->ast);
    l.module->entry = lower_func_id(&l, shader);
    for (uint32_t i = 0; i < l.queue.count && !l.has_failed; i++)
        lower_function(&l, l.queue.data[i]);
    if (l.has_failed)
        return STATUS_SOURCE;
    ir_mark_recursion(l.module);
    Error err = {0};
    if (ir_verify(l.module, &err) != STATUS_OK) {
        report(diags, INTERNAL, shader->span, err.text);
        return STATUS_SOURCE;
    }
    *out_module = l.module;
    return STATUS_OK;
}

Status lower_shader(const StdLib *lib, const LowerTables *tables, const SslSource *src,
                    Arena *arena, DiagList *diags, IrModule **out_module)
{
    SemaSource source;
    SemaTables own_tables = sema_tables(tables);
    uint32_t errors_before = diag_error_count(diags);
    *out_module = NULL;
    TRY(add_source(src, diags, &source));
    Module *m = sema_check(lib->module, &own_tables, &source, 1, arena, diags);
    if (diag_error_count(diags) > errors_before)
        return STATUS_SOURCE;
    const FuncDecl *shader = sema_find_shader(m, src->shader, source.file, arena, diags);
    if (!shader)
        return STATUS_SOURCE;
    return lower_module(&own_tables, m, shader, source.file, arena, diags, out_module);
}

Status lower_list_shaders(const SslSource *src, Arena *arena, DiagList *diags, StrBuf *out)
{
    SemaSource source;
    uint32_t errors_before = diag_error_count(diags);
    TRY(add_source(src, diags, &source));
    Module *m = sema_parse(NULL, &source, 1, arena, diags);
    if (diag_error_count(diags) > errors_before)
        return STATUS_SOURCE;
    for (uint32_t i = 0; i < m->ast->funcs.count; i++)
        if (m->ast->funcs.data[i]->is_shader)
            strbuf_printf(out, "%s\n", m->ast->funcs.data[i]->name);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

Status lower_dump_tokens(const SslSource *src, Arena *arena, DiagList *diags, StrBuf *out)
{
    SemaSource source;
    Names names;
    uint32_t errors_before = diag_error_count(diags);
    TRY(add_source(src, diags, &source));
    names_init(&names, arena, NULL);
    TokenList tokens = lex(source.text, source.file, &names, arena, diags);
    lex_print(&tokens, diags, out);
    if (out->failed)
        return STATUS_NO_MEMORY;
    return diag_error_count(diags) > errors_before ? STATUS_SOURCE : STATUS_OK;
}

Status lower_dump_ast(const StdLib *lib, const LowerTables *tables, const SslSource *src,
                      Arena *arena, DiagList *diags, StrBuf *out)
{
    SemaSource source;
    SemaTables own_tables = sema_tables(tables);
    uint32_t errors_before = diag_error_count(diags);
    TRY(add_source(src, diags, &source));
    Module *m = sema_check(lib->module, &own_tables, &source, 1, arena, diags);
    if (diag_error_count(diags) > errors_before)
        return STATUS_SOURCE;
    ast_print(m->ast, out);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}
