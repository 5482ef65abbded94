/* The doors of the front end, and the writing of whole functions: a shader first, then what it calls, each
 * once, in the order in which it was met. */
#include "ssl/lower/lower.h"
#include "base/check.h"
#include "ssl/front/lex.h"
#include "ssl/lower/emit.h"

#include <stdio.h>
#include <string.h>

Span lower_span(Lowering *l, Span span)
{
    if (!span_is_library(span))
        return span;
    uint32_t index = span.file - LIBRARY_FILE;
    ASSERT(span.file < LIBRARY_END_FILE);
    if (!l->library_files[index]) {
        const EmbeddedText *source = stdlib_text(span.file);
        l->library_files[index] = diag_add_source(l->diags, stdlib_path(span.file, l->arena),
                                                  (Str){source->text, source->size_bytes});
    }
    span.file = l->library_files[index];
    return span;
}

/* --- functions --- */

static const Type *sized_type(Arena *arena, const Type *type, uint32_t array_size)
{
    return type_is_unsized(type) ? type_array(arena, type->element, array_size) : type;
}

/* Returns the types of the parameters that take values from a call. */
static uint32_t param_types(Arena *arena, const FuncDecl *f, uint32_t array_size, IrType *types)
{
    IrType *next = types;
    for (uint32_t i = 0; i < f->params.count; ++i)
        if (f->params.items[i]->direction != DIRECTION_OUT)
            next = leaf_types(sized_type(arena, f->params.items[i]->type, array_size), next);
    return (uint32_t)(next - types);
}

/* A shader's parameter: read from the block of parameters. */
static Value read_param(Emit *m, const Type *type, uint32_t param)
{
    IrValue *leaf = value_leaves(m, type);
    for (uint32_t i = 0; i < type->leaves; ++i) {
        IrKind kind = ir_kind(leaf_type(type, i));
        uint32_t count = leaf_elements(type, i);
        IrValue *element = ARENA_ARRAY(m->arena, IrValue, count);
        for (uint32_t k = 0; k < count; ++k)
            element[k] = ir_build_param_read(m->b, kind, param, leaf_scalar(type, i, k));
        leaf[i] = ir_is_array(leaf_type(type, i)) ? ir_build_array(m->b, kind, element, count)
                                                  : element[0];
    }
    return (Value){type, leaf};
}

/* Writes an output as the host and other units see it: its scalars, in the order of the source. */
static void put_output(Emit *m, const Type *type, const IrValue *leaf, IrValue *out)
{
    for (uint32_t i = 0; i < type->leaves; ++i)
        for (uint32_t k = 0; k < leaf_elements(type, i); ++k)
            out[leaf_scalar(type, i, k)] =
                ir_is_array(leaf_type(type, i))
                    ? ir_build2(m->b, IR_ARRAY_GET, leaf[i], ir_const_int(m->b, (int32_t)k))
                    : leaf[i];
}

static void declare_params(Emit *m, const FuncDecl *f)
{
    uint32_t next_value = 0, next_input = 0;
    for (uint32_t i = 0; i < f->params.count; ++i) {
        const VarDecl *param = f->params.items[i];
        Value v;
        lower_set_span(m, param->span);
        if (param->direction == DIRECTION_OUT) {
            v = value_zero(m, param->type);
        } else if (f->is_shader) {
            v = read_param(m, param->type, next_input++);
        } else {
            IrValue *leaf = value_leaves(m, param->type);
            for (uint32_t k = 0; k < param->type->leaves; ++k)
                leaf[k] = ir_build_param(m->b, next_value++);
            v = (Value){param->type, leaf};
            v = param->is_no_diff ? value_detached(m, v) : v;
        }
        m->slot_of[param->index] = slots_allocate(m, v);
    }
}

/* Returns the leaves of a variable as they are now. */
static const IrValue *variable(Emit *m, const Type *type, uint32_t slot, bool is_no_diff)
{
    Value v = {type, m->env.data + slot};
    return is_no_diff ? value_detached(m, v).leaf : v.leaf;
}

static void lower_function(Lowering *l, FuncInstance instance)
{
    const FuncDecl *f = instance.func;
    Emit m = {.lowering = l, .arena = l->arena, .func = f, .array_size = instance.array_size};
    uint32_t param_leaves = 0, result_leaves = f->return_type->leaves;
    for (uint32_t i = 0; i < f->params.count; ++i)
        param_leaves += f->params.items[i]->type->leaves;
    IrType *types = ARENA_ARRAY(l->arena, IrType, param_leaves);
    uint32_t type_count = f->is_shader ? 0 : param_types(l->arena, f, instance.array_size, types);
    m.b = ir_build_begin(l->module, instance.id, sema_func_name(f, l->arena), types, type_count);
    ir_build_func(m.b)->span = lower_span(l, f->span);
    ir_build_func(m.b)->is_library = f->is_library;
    ir_build_func(m.b)->is_filtered = f->is_filtered;
    /* one of a fused module differs from that of others */
    ir_build_func(m.b)->origin = f->is_library && !f->is_sized && !l->module->is_fused ? f : NULL;
    m.slot_of = ARENA_ARRAY(l->arena, uint32_t, f->local_count);
    for (uint32_t i = 0; i < f->local_count; ++i)
        m.slot_of[i] = NO_SLOT;
    IrValue no = ir_const_bool(m.b, false);
    m.returned = slots_allocate(&m, (Value){type_basic(SSL_BOOL), &no});
    m.result = slots_allocate(&m, value_zero(&m, f->return_type));
    declare_params(&m, f);

    Sequence body = {f->body->list.items, f->body->list.count, NULL};
    lower_sequence(&m, &body);

    Span end = {f->body->span.file, f->body->span.end - 1, f->body->span.end};
    lower_set_span(&m, end);
    ARRAY(IrValue) results = {0};
    const IrValue *result = variable(&m, f->return_type, m.result, f->is_no_diff);
    for (uint32_t i = 0; i < result_leaves; ++i)
        array_push(l->arena, &results, result[i]);
    for (uint32_t i = 0; i < f->params.count; ++i) {
        const VarDecl *param = f->params.items[i];
        const Type *type = param->type;
        if (param->direction == DIRECTION_IN)
            continue;
        const IrValue *leaf = variable(&m, type, m.slot_of[param->index], param->is_no_diff);
        uint32_t count = f->is_shader ? type->scalars : type->leaves;
        array_reserve(l->arena, &results, results.count + count);
        if (f->is_shader)
            put_output(&m, type, leaf, results.data + results.count);
        else
            memcpy(results.data + results.count, leaf, count * sizeof *leaf);
        results.count += count;
    }
    ir_build_end(m.b, results.data, results.count);
}

/* --- what the module says about the shader --- */

static SslType port_type(const Type *type)
{
    return type->kind == TYPE_STRUCT  ? SSL_STRUCT
           : type->kind == TYPE_ARRAY ? SSL_ARRAY
                                      : type->basic;
}

/* Appends what each number of a value is. */
static SslType *put_kinds(const Type *type, SslType *out)
{
    if (type->kind == TYPE_STRUCT)
        for (uint32_t i = 0; i < type->decl->members.count; ++i)
            out = put_kinds(type->decl->members.items[i]->type, out);
    for (uint32_t i = 0; type->kind == TYPE_ARRAY && i < type->count; ++i)
        out = put_kinds(type->element, out);
    for (uint32_t i = 0; type->kind == TYPE_BASIC && i < type->scalars; ++i)
        *out++ = type->basic == SSL_BOOL || type->basic == SSL_INT ? type->basic : SSL_FLOAT;
    return out;
}

/* The name of a type, tags of vectors left out as type_same does. */
static const char *untagged_name(const Type *type, Arena *arena)
{
    if (type->kind == TYPE_ARRAY)
        return arena_printf(arena, "%s[%u]", untagged_name(type->element, arena), type->count);
    if (type->kind == TYPE_BASIC)
        return type_lanes(type) ? ssl_type_name(type_of_lanes(type_lanes(type))->basic)
                                : ssl_type_name(type->basic);
    if (!type->decl->generic)
        return type->decl->name;
    const char *text = type->decl->generic->name;
    for (const Binding *b = type->decl->bindings; b; b = b->next)
        text = arena_printf(arena, "%s%s%s%s", text, b == type->decl->bindings ? "<" : ", ",
                            untagged_name(b->type, arena), b->next ? "" : ">");
    return text;
}

/* The type spelt out down to its numbers. */
static const char *type_key(const Type *type, Arena *arena)
{
    if (type->kind == TYPE_ARRAY)
        return arena_printf(arena, "%s[%u]", type_key(type->element, arena), type->count);
    if (type->kind == TYPE_BASIC)
        return untagged_name(type, arena);
    const char *text = arena_printf(arena, "struct %s{", untagged_name(type, arena));
    for (uint32_t i = 0; i < type->decl->members.count; ++i) {
        const VarDecl *member = type->decl->members.items[i];
        text = arena_printf(arena, "%s%s %s;", text, type_key(member->type, arena), member->name);
    }
    return arena_printf(arena, "%s}", text);
}

static const SslShape *port_shape(const Type *type, Arena *arena)
{
    if (type->kind == TYPE_BASIC)
        return NULL;
    SslType *kinds = ARENA_ARRAY(arena, SslType, type->scalars);
    put_kinds(type, kinds);
    SslShape *shape = ARENA_NEW(arena, SslShape);
    *shape = (SslShape){.name = type_text(type, arena),
                        .key = type_key(type, arena),
                        .kinds = kinds,
                        .scalar_count = type->scalars};
    return shape;
}

static SslValue default_list(Arena *arena, const SslShape *shape, const Constant *c)
{
    double *list = ARENA_ARRAY(arena, double, shape->scalar_count);
    for (uint32_t i = 0; i < shape->scalar_count; ++i)
        list[i] = shape->kinds[i] == SSL_BOOL  ? (double)c->scalars[i].b
                  : shape->kinds[i] == SSL_INT ? (double)c->scalars[i].i
                                               : (double)c->scalars[i].f;
    return (SslValue){.list = list, .count = shape->scalar_count};
}

static SslValue default_value(Arena *arena, const Type *type, const SslShape *shape,
                              const Constant *c)
{
    SslValue v = {.type = port_type(type)};
    if (!c)
        return v;
    if (shape) {
        v = default_list(arena, shape, c);
        v.type = port_type(type);
    } else if (type_is(type, SSL_STRING))
        v.s = c->text;
    else if (type_is(type, SSL_BOOL))
        v.b = c->scalars[0].b;
    else if (type_is(type, SSL_INT))
        v.i = c->scalars[0].i;
    else
        for (uint32_t i = 0; i < type->scalars; ++i)
            v.f[i] = c->scalars[i].f;
    return v;
}

static const SslMetadata *copy_metadata(Arena *arena, const MetadataList *list)
{
    SslMetadata *items = ARENA_ARRAY(arena, SslMetadata, list->count);
    for (uint32_t i = 0; i < list->count; ++i)
        items[i] = (SslMetadata){.name = list->items[i].name, .value = list->items[i].constant};
    return items;
}

/* --- attributes --- */

uint32_t lower_attribute_slot(Lowering *l, uint32_t index, bool is_declared)
{
    if (is_declared)
        return index;
    if (!l->host_attributes[index]) {
        const SslAttributeRow *row = &l->tables->attributes[index];
        array_push(l->arena, &l->attributes,
                   (SslAttributeInfo){.name = row->name,
                                      .binds = row->name,
                                      .type = row->type,
                                      .has_derivs = row->has_derivs,
                                      .default_value = {.type = row->type}});
        l->host_attributes[index] = l->attributes.count;
    }
    return l->host_attributes[index] - 1;
}

static void declare_attributes(Lowering *l, const Ast *ast)
{
    l->host_attributes = ARENA_ARRAY(l->arena, uint32_t, l->tables->attribute_count);
    for (uint32_t i = 0; i < ast->attributes.count; ++i) {
        const VarDecl *var = ast->attributes.data[i];
        SslAttributeInfo info = {.name = var->name,
                                 .binds = var->name,
                                 .type = var->type->basic,
                                 .has_derivs = type_lanes(var->type) > 0,
                                 .is_declared = true,
                                 .default_value =
                                     default_value(l->arena, var->type, NULL, var->constant),
                                 .metadata = copy_metadata(l->arena, &var->metadata),
                                 .metadata_count = var->metadata.count,
                                 .span = var->span};
        array_push(l->arena, &l->attributes, info);
    }
}

static SslParamInfo param_info(Arena *arena, const VarDecl *param)
{
    const SslShape *shape = port_shape(param->type, arena);
    return (SslParamInfo){.name = param->name,
                          .type = port_type(param->type),
                          .shape = shape,
                          .has_default = param->init != NULL,
                          .default_value =
                              default_value(arena, param->type, shape, param->constant),
                          .metadata = copy_metadata(arena, &param->metadata),
                          .metadata_count = param->metadata.count,
                          .span = param->span};
}

static void describe_shader(IrModule *m, const FuncDecl *shader, const Ast *ast)
{
    ARRAY(SslParamInfo) params = {0};
    ARRAY(SslOutputInfo) outputs = {0};
    ARRAY(const char *) textures = {0};
    ARRAY(SslMetadataList) texture_metadata = {0};
    uint32_t result = 0;
    for (uint32_t i = 0; i < shader->params.count; ++i) {
        const VarDecl *param = shader->params.items[i];
        SslType type = port_type(param->type);
        if (param->direction == DIRECTION_IN) {
            array_push(m->arena, &params, param_info(m->arena, param));
            continue;
        }
        array_push(m->arena, &outputs,
                   (SslOutputInfo){.name = param->name,
                                   .type = type,
                                   .shape = port_shape(param->type, m->arena),
                                   .metadata = copy_metadata(m->arena, &param->metadata),
                                   .metadata_count = param->metadata.count});
        array_push(m->arena, &m->outputs,
                   (IrOutput){param->name, type, result, param->type->scalars});
        result += param->type->scalars;
    }
    for (uint32_t i = 0; i < ast->textures.count; ++i) {
        const MetadataList *list = &ast->textures.data[i]->metadata;
        array_push(m->arena, &textures, ast->textures.data[i]->name);
        array_push(m->arena, &texture_metadata,
                   (SslMetadataList){copy_metadata(m->arena, list), list->count});
    }
    m->info = (SslUnitInfo){.name = shader->name,
                            .params = params.data,
                            .outputs = outputs.data,
                            .textures = textures.data,
                            .texture_metadata = texture_metadata.data,
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
                        .attributes = tables->attributes,
                        .questions = tables->questions,
                        .global_count = tables->global_count,
                        .closure_count = tables->closure_count,
                        .attribute_count = tables->attribute_count,
                        .question_count = tables->question_count};
}

/* Adds the source to `diags`. */
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

/* Parses and checks a source; *out_file is its number in `diags`. */
static Status check_source(const StdLib *lib, const SemaTables *tables, const SslSource *src,
                           Arena *arena, DiagList *diags, Module **out_module, uint32_t *out_file)
{
    SemaSource source;
    const Module *library;
    uint32_t errors_before = diag_error_count(diags);
    TRY(add_source(src, diags, &source));
    TRY(stdlib_module_for(lib, src->text, &library));
    *out_module = sema_check(library, tables, &source, 1, arena, diags);
    *out_file = source.file;
    return diag_error_count(diags) > errors_before ? STATUS_SOURCE : STATUS_OK;
}

/* Parses a source, unchecked, without any library. */
static Status parse_alone(const SslSource *src, Arena *arena, DiagList *diags, Module **out_module)
{
    SemaSource source;
    uint32_t errors_before = diag_error_count(diags);
    TRY(add_source(src, diags, &source));
    *out_module = sema_parse(NULL, &source, 1, arena, diags);
    return diag_error_count(diags) > errors_before ? STATUS_SOURCE : STATUS_OK;
}

/* Fills l->module with the shader and what it calls. */
static Status lower_module(Lowering *l, const Module *checked, const FuncDecl *shader,
                           uint32_t file)
{
    l->library_files = ARENA_ARRAY(l->arena, uint32_t, LIBRARY_END_FILE - LIBRARY_FILE);
    l->module->globals = l->tables->globals;
    l->module->closures = l->tables->closures;
    l->module->questions = l->tables->questions;
    l->module->global_count = l->tables->global_count;
    l->module->closure_count = l->tables->closure_count;
    l->module->question_count = l->tables->question_count;
    l->module->source_file = file;
    l->module->is_fused = shader->is_fused;
    describe_shader(l->module, shader, checked->ast);
    declare_attributes(l, checked->ast);
    l->module->entry = lower_func_id(l, shader, 0);
    for (uint32_t i = 0; i < l->queue.count && !l->has_failed; ++i)
        lower_function(l, l->queue.data[i]);
    if (l->is_out_of_memory)
        return STATUS_NO_MEMORY;
    if (l->has_failed)
        return STATUS_SOURCE;
    l->module->info.attributes = l->attributes.data;
    l->module->info.attribute_count = l->attributes.count;
    if (l->module->derivatives.count > 0)
        return STATUS_OK; /* ir_derive completes the module */
    ir_mark_recursion(l->module);
    Error err = {0};
    if (ir_verify(l->module, &err) != STATUS_OK) {
        report(l->diags, INTERNAL, shader->span, err.text);
        return STATUS_SOURCE;
    }
    return STATUS_OK;
}

Status lower_shader(const StdLib *lib, const LowerTables *tables, const SslSource *src,
                    Arena *arena, DiagList *diags, IrModule **out_module)
{
    SemaTables own_tables = sema_tables(tables);
    Module *m;
    uint32_t file;
    *out_module = NULL;
    TRY(check_source(lib, &own_tables, src, arena, diags, &m, &file));
    const FuncDecl *shader = sema_find_shader(m, src->shader, file, arena, diags);
    if (!shader)
        return STATUS_SOURCE;
    Lowering l = {.arena = arena,
                  .diags = diags,
                  .tables = &own_tables,
                  .strings = lib->strings,
                  .is_of_bsdf = shader->is_of_bsdf,
                  .module = ir_module_create(arena),
                  .func_ids = ARENA_ARRAY(arena, IrFuncId, m->func_count)};
    TRY(lower_module(&l, m, shader, file));
    *out_module = l.module;
    return STATUS_OK;
}

Status lower_list_shaders(const SslSource *src, Arena *arena, DiagList *diags, StrBuf *out)
{
    Module *m;
    TRY(parse_alone(src, arena, diags, &m));
    for (uint32_t i = 0; i < m->ast->funcs.count; ++i)
        if (m->ast->funcs.data[i]->is_shader && !m->ast->funcs.data[i]->is_of_bsdf)
            strbuf_printf(out, "%s\n", m->ast->funcs.data[i]->name);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

Status lower_list_bsdfs(const SslSource *src, Arena *arena, DiagList *diags, SslBsdfInfo *out,
                        uint32_t room, uint32_t *out_count)
{
    Module *m;
    *out_count = 0;
    TRY(parse_alone(src, arena, diags, &m));
    for (uint32_t i = 0; i < m->ast->bsdfs.count && *out_count < room; ++i) {
        const BsdfDecl *decl = m->ast->bsdfs.data[i];
        SslBsdfInfo *info = &out[(*out_count)++];
        *info = (SslBsdfInfo){.is_layer = decl->is_layer, .lobe_count = decl->lobes.count};
        snprintf(info->name, sizeof info->name, "%s", decl->name);
        for (uint32_t k = 0; k < decl->lobes.count; ++k)
            info->lobe_flags[k] = decl->lobes.data[k].flags;
    }
    return STATUS_OK;
}

static const char *copy_text(Arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

static const char *copy_string_metadata(const BsdfDecl *decl, const char *name, Arena *arena)
{
    for (uint32_t i = 0; i < decl->metadata.count; ++i) {
        const Metadata *m = &decl->metadata.items[i];
        if (strcmp(m->name, name) == 0 && m->value->kind == EXPR_STRING)
            return copy_text(arena, m->value->name);
    }
    return copy_text(arena, "");
}

static Status describe_closure(const BsdfDecl *decl, Arena *arena, SslClosureRow *out)
{
    SslClosureArg *args = ARENA_ARRAY(arena, SslClosureArg, decl->args.count);
    *out = (SslClosureRow){.name = copy_text(arena, decl->name),
                           .args = args,
                           .arg_count = decl->args.count,
                           .doc = copy_string_metadata(decl, "doc", arena),
                           .citation = copy_string_metadata(decl, "cite", arena)};
    bool is_good = args && out->name && out->doc && out->citation;
    for (uint32_t i = 0; is_good && i < decl->args.count; ++i) {
        const VarDecl *arg = decl->args.items[i];
        args[i] = (SslClosureArg){copy_text(arena, arg->name), arg->type_name->basic};
        is_good = args[i].name != NULL;
    }
    /* Shadow rays go straight on, so portals are not transparent to them. */
    const uint32_t elsewhere = SSL_LOBE_TRANSPARENT | SSL_LOBE_PORTAL;
    for (uint32_t k = 0; k < decl->lobes.count; ++k)
        if ((decl->lobes.data[k].flags & elsewhere) == SSL_LOBE_TRANSPARENT)
            out->flags |= SSL_CLOSURE_TRANSPARENT;
    return is_good ? STATUS_OK : STATUS_NO_MEMORY;
}

Status lower_bsdf_closure(const SslSource *src, const char *name, Arena *arena, DiagList *diags,
                          Arena *keep, SslClosureRow *out)
{
    SemaSource source;
    uint32_t errors_before = diag_error_count(diags);
    TRY(add_source(src, diags, &source));
    Module *m = sema_parse(NULL, &source, 1, arena, diags);
    if (diag_error_count(diags) > errors_before)
        return STATUS_SOURCE;
    for (uint32_t i = 0; i < m->ast->bsdfs.count; ++i)
        if (strcmp(m->ast->bsdfs.data[i]->name, name) == 0)
            return describe_closure(m->ast->bsdfs.data[i], keep, out);
    return STATUS_NOT_FOUND;
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
    SemaTables own_tables = sema_tables(tables);
    Module *m;
    uint32_t file;
    TRY(check_source(lib, &own_tables, src, arena, diags, &m, &file));
    ast_print(m->ast, out);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}
