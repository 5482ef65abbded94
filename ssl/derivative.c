#include "ssl/derivative.h"
#include "base/check.h"
#include "base/str.h"
#include "ssl/passes/derive.h"
#include "ssl/passes/pass.h"
#include <string.h>

/* An input or an output by its name, as the interface describes it. */
typedef struct Port {
    const char *name; /* in the names of what is added: "width", "global_value<uv>" */
    SslType type;
    const SslShape *shape;
    IrKernelInput value;
} Port;

typedef struct Derivation {
    IrModule *m;
    const SslDerivativeDesc *how;
    Error *err;
    Port *inputs, *outputs;
    uint32_t *output_rows;
    ARRAY(SslParamInfo) params;
    ARRAY(SslAttributeInfo) attributes;
    ARRAY(const char *) textures;
    ARRAY(uint32_t) texture_ids; /* empty: none is bound */
    ARRAY(SslOutputInfo) results;
    ARRAY(IrOutput) rows;
    ARRAY(IrKernelInput) seeds;
    uint32_t *noise; /* [input] 0, or 1 + the parameter by which it is shaken; NULL: none is */
    uint32_t noise_pixel, noise_seed;
    uint32_t result_count; /* numbers in `rows` */
} Derivation;

static IrKind kind_of(SslType type)
{
    return type == SSL_BOOL ? IR_BOOL : type == SSL_INT ? IR_INT : IR_FLOAT;
}

/* Describes a port whose place is known. A type none of whose numbers is a float has no derivative. */
static Status describe_port(Derivation *d, const char *what, Port *port)
{
    uint32_t count = ssl_value_scalars(port->type, port->shape);
    IrKind *kinds = ARENA_ARRAY(d->m->arena, IrKind, count);
    bool has_float = false;
    for (uint32_t i = 0; i < count; ++i) {
        kinds[i] = kind_of(ssl_value_kind(port->type, port->shape, i));
        has_float = has_float || kinds[i] == IR_FLOAT;
    }
    if (!has_float)
        return error_set(d->err, STATUS_INVALID, "%s '%s' is of type %s, which has no derivative",
                         what, port->name, ssl_value_name(port->type, port->shape));
    port->value.number_count = count;
    port->value.kinds = kinds;
    return STATUS_OK;
}

static Status not_found(Derivation *d, const char *what, const char *name)
{
    return error_set(d->err, STATUS_NOT_FOUND, "shader '%s' has no %s '%s'", d->m->info.name, what,
                     name);
}

/* --- inputs ------------------------------------------------------------------------------------- */

static Status find_param(Derivation *d, const char *name, Port *port)
{
    const SslUnitInfo *info = &d->m->info;
    uint32_t i = 0;
    while (i < info->param_count && strcmp(info->params[i].name, name) != 0)
        ++i;
    if (i == info->param_count)
        return not_found(d, "parameter", name);
    d->params.data[i].is_differentiated = true;
    *port = (Port){info->params[i].name,
                   info->params[i].type,
                   info->params[i].shape,
                   {.kind = IR_INPUT_PARAM, .index = i}};
    return describe_port(d, "parameter", port);
}

static Status find_global(Derivation *d, const char *name, Port *port)
{
    const IrModule *m = d->m;
    uint32_t i = 0;
    while (i < m->global_count && strcmp(m->globals[i].name, name) != 0)
        ++i;
    if (i == m->global_count)
        return error_set(d->err, STATUS_NOT_FOUND, "the host has no global '%s'", name);
    *port = (Port){
        .name = name, .type = m->globals[i].type, .value = {.kind = IR_INPUT_GLOBAL, .index = i}};
    TRY(describe_port(d, "global", port));
    port->name = arena_printf(m->arena, "global_value<%s>", name);
    return STATUS_OK;
}

static Status find_attribute(Derivation *d, const char *name, Port *port)
{
    const SslUnitInfo *info = &d->m->info;
    uint32_t i = 0;
    while (i < info->attribute_count && strcmp(info->attributes[i].name, name) != 0)
        ++i;
    if (i == info->attribute_count)
        return not_found(d, "attribute", name);
    *port = (Port){.name = name,
                   .type = info->attributes[i].type,
                   .value = {.kind = IR_INPUT_ATTRIBUTE, .index = i}};
    TRY(describe_port(d, "attribute", port));
    port->name = arena_printf(d->m->arena, "attribute<%s>", name);
    return STATUS_OK;
}

/* What has derivatives is a color that is added to all texels; those of single texels the host makes. */
static Status find_texture(Derivation *d, const char *name, Port *port)
{
    const SslUnitInfo *info = &d->m->info;
    uint32_t i = 0;
    while (i < info->texture_count && strcmp(info->textures[i], name) != 0)
        ++i;
    const char *nearest = suggest_nearest(name, info->textures, info->texture_count);
    if (i == info->texture_count)
        return error_set(d->err, STATUS_NOT_FOUND, "shader '%s' has no texture '%s'%s%s%s",
                         info->name, name, nearest ? "; did you mean '" : "",
                         nearest ? nearest : "", nearest ? "'?" : "");
    *port =
        (Port){.name = name, .type = SSL_FLOAT4, .value = {.kind = IR_INPUT_TEXTURE, .index = i}};
    TRY(describe_port(d, "texture", port));
    port->name = arena_printf(d->m->arena, "texture2d<%s>", name);
    return STATUS_OK;
}

static Status find_input(Derivation *d, const SslDerivativeInput *input, Port *port)
{
    switch (input->kind) {
    case SSL_INPUT_PARAM:
        return find_param(d, input->name, port);
    case SSL_INPUT_GLOBAL:
        return find_global(d, input->name, port);
    case SSL_INPUT_ATTRIBUTE:
        return find_attribute(d, input->name, port);
    case SSL_INPUT_TEXTURE:
        return find_texture(d, input->name, port);
    }
    return error_set(d->err, STATUS_INVALID, "%d is no SslInputKind", (int)input->kind);
}

static Status find_inputs(Derivation *d)
{
    const SslDerivativeDesc *how = d->how;
    if (how->input_count == 0)
        return error_set(d->err, STATUS_INVALID, "a derivative needs an input");
    for (uint32_t i = 0; i < how->input_count; ++i) {
        TRY(find_input(d, &how->inputs[i], &d->inputs[i]));
        for (uint32_t k = 0; k < i; ++k)
            if (d->inputs[k].value.kind == d->inputs[i].value.kind &&
                d->inputs[k].value.index == d->inputs[i].value.index)
                return error_set(d->err, STATUS_INVALID, "input '%s' is given twice",
                                 how->inputs[i].name);
    }
    return STATUS_OK;
}

/* --- outputs ------------------------------------------------------------------------------------ */

static Status find_output(Derivation *d, const char *name, uint32_t *out_row, Port *port)
{
    const SslUnitInfo *info = &d->m->info;
    uint32_t i = 0;
    while (i < info->output_count && strcmp(info->outputs[i].name, name) != 0)
        ++i;
    if (i == info->output_count)
        return not_found(d, "output", name);
    *out_row = i;
    *port = (Port){.name = info->outputs[i].name,
                   .type = info->outputs[i].type,
                   .shape = info->outputs[i].shape};
    TRY(describe_port(d, "output", port));
    if (d->how->is_backward && (port->type < SSL_FLOAT || port->type > SSL_NORMAL))
        return error_set(d->err, STATUS_UNSUPPORTED,
                         "output '%s' is of type %s; adjoints are those of float and its vectors",
                         name, ssl_value_name(port->type, port->shape));
    return STATUS_OK;
}

static Status find_outputs(Derivation *d)
{
    const SslDerivativeDesc *how = d->how;
    if (how->output_count == 0)
        return error_set(d->err, STATUS_INVALID, "a derivative needs an output");
    for (uint32_t i = 0; i < how->output_count; ++i) {
        TRY(find_output(d, how->outputs[i], &d->output_rows[i], &d->outputs[i]));
        for (uint32_t k = 0; k < i; ++k)
            if (d->output_rows[k] == d->output_rows[i])
                return error_set(d->err, STATUS_INVALID, "output '%s' is given twice",
                                 how->outputs[i]);
    }
    return STATUS_OK;
}

/* --- the interface ------------------------------------------------------------------------------ */

static void add_result(Derivation *d, const char *name, const Port *port)
{
    IrModule *m = d->m;
    array_push(m->arena, &d->results,
               ((SslOutputInfo){.name = name, .type = port->type, .shape = port->shape}));
    array_push(m->arena, &d->rows,
               ((IrOutput){name, port->type, d->result_count, port->value.number_count}));
    d->result_count += port->value.number_count;
}

/* Adds an attribute that the host binds, one value for each point. */
static void add_seed_attribute(Derivation *d, const char *name, const Port *port)
{
    IrModule *m = d->m;
    IrKernelInput seed = port->value;
    seed.kind = IR_INPUT_ATTRIBUTE;
    seed.index = d->attributes.count;
    array_push(m->arena, &d->attributes,
               ((SslAttributeInfo){.name = name,
                                   .type = port->type,
                                   .is_declared = true,
                                   .binds = name,
                                   .default_value = {.type = port->type}}));
    array_push(m->arena, &d->seeds, seed);
}

/* Adds a parameter, one value for all points. It is zero until it is set. */
static void add_seed_param(Derivation *d, const char *name, const Port *port)
{
    IrModule *m = d->m;
    IrKernelInput seed = port->value;
    seed.kind = IR_INPUT_PARAM;
    seed.index = d->params.count;
    SslValue zero = {.type = port->type};
    if (port->shape) {
        zero.list = ARENA_ARRAY(m->arena, double, seed.number_count);
        zero.count = seed.number_count;
    }
    array_push(m->arena, &d->params,
               ((SslParamInfo){.name = name,
                               .type = port->type,
                               .shape = port->shape,
                               .has_default = true,
                               .default_value = zero,
                               .is_differentiated = true}));
    array_push(m->arena, &d->seeds, seed);
}

/* Adds a texture, whose texels are tangents. */
static void add_seed_texture(Derivation *d, const char *name, const Port *port)
{
    IrKernelInput seed = port->value;
    seed.index = d->textures.count;
    array_push(d->m->arena, &d->textures, name);
    if (d->m->info.texture_ids)
        array_push(d->m->arena, &d->texture_ids, (uint32_t)SSL_TEXTURE_UNBOUND);
    array_push(d->m->arena, &d->seeds, seed);
}

/* Adds what inputs with noise read. */
static Status add_noise(Derivation *d)
{
    const SslDerivativeDesc *how = d->how;
    Arena *arena = d->m->arena;
    for (uint32_t i = 0; i < how->input_count && how->has_noise; ++i) {
        const Port *port = &d->inputs[i];
        if (!how->has_noise[i])
            continue;
        if (how->inputs[i].kind != SSL_INPUT_PARAM)
            return error_set(d->err, STATUS_INVALID,
                             "input '%s' cannot have noise: only parameters can",
                             how->inputs[i].name);
        if (!d->noise)
            d->noise = ARENA_ARRAY(arena, uint32_t, how->input_count);
        d->noise[i] = d->params.count + 1;
        add_seed_param(d, arena_printf(arena, "noise(%s)", port->name), port);
        --d->seeds.count; /* it is no tangent */
    }
    if (!d->noise)
        return STATUS_OK;
    d->noise_seed = d->params.count;
    array_push(arena, &d->params,
               ((SslParamInfo){.name = "seed()",
                               .type = SSL_INT,
                               .has_default = true,
                               .default_value = {.type = SSL_INT},
                               .is_differentiated = true}));
    d->noise_pixel = d->attributes.count;
    array_push(arena, &d->attributes,
               ((SslAttributeInfo){.name = "pixel()",
                                   .type = SSL_FLOAT2,
                                   .has_derivs = true,
                                   .is_declared = true,
                                   .binds = "pixel()",
                                   .default_value = {.type = SSL_FLOAT2}}));
    return STATUS_OK;
}

/* "tangent(width)", and from the second direction on "tangent2(width)". */
static const char *tangent_name(Derivation *d, uint32_t direction, const Port *port)
{
    return direction == 0 ? arena_printf(d->m->arena, "tangent(%s)", port->name)
                          : arena_printf(d->m->arena, "tangent%u(%s)", direction + 1, port->name);
}

static void describe_forward(Derivation *d, uint32_t direction_count)
{
    const SslDerivativeDesc *how = d->how;
    for (uint32_t i = 0; i < how->output_count; ++i)
        add_result(d, d->outputs[i].name, &d->outputs[i]);
    for (uint32_t k = 0; k < direction_count; ++k) {
        for (uint32_t i = 0; i < how->input_count; ++i) {
            const Port *port = &d->inputs[i];
            if (port->value.kind == IR_INPUT_PARAM)
                add_seed_param(d, tangent_name(d, k, port), port);
            else if (port->value.kind == IR_INPUT_TEXTURE)
                add_seed_texture(d, tangent_name(d, k, port), port);
            else
                add_seed_attribute(d, tangent_name(d, k, port), port);
        }
        for (uint32_t i = 0; i < how->output_count; ++i)
            add_result(d, tangent_name(d, k, &d->outputs[i]), &d->outputs[i]);
    }
}

static void describe_backward(Derivation *d)
{
    Arena *arena = d->m->arena;
    for (uint32_t i = 0; i < d->how->output_count; ++i)
        add_seed_attribute(d, arena_printf(arena, "adjoint(%s)", d->outputs[i].name),
                           &d->outputs[i]);
    for (uint32_t i = 0; i < d->how->input_count; ++i)
        add_result(d, arena_printf(arena, "gradient(%s)", d->inputs[i].name), &d->inputs[i]);
}

static void describe_marks(Derivation *d)
{
    for (uint32_t i = 0; i < d->how->output_count; ++i)
        add_result(d, d->outputs[i].name, &d->outputs[i]);
    const Port mark = {.type = SSL_INT, .value = {.number_count = 1}};
    add_result(d, "edges()", &mark);
}

/* Copies the parts of the interface that change. */
static void copy_interface(Derivation *d)
{
    const SslUnitInfo *info = &d->m->info;
    Arena *arena = d->m->arena;
    d->inputs = ARENA_ARRAY(arena, Port, d->how->input_count);
    d->outputs = ARENA_ARRAY(arena, Port, d->how->output_count);
    d->output_rows = ARENA_ARRAY(arena, uint32_t, d->how->output_count);
    for (uint32_t i = 0; i < info->param_count; ++i)
        array_push(arena, &d->params, info->params[i]);
    for (uint32_t i = 0; i < info->attribute_count; ++i)
        array_push(arena, &d->attributes, info->attributes[i]);
    for (uint32_t i = 0; i < info->texture_count; ++i)
        array_push(arena, &d->textures, info->textures[i]);
    for (uint32_t i = 0; i < info->texture_count && info->texture_ids; ++i)
        array_push(arena, &d->texture_ids, info->texture_ids[i]);
}

/* Puts the textures of tangents, which have no metadata, behind those of the shader. */
static void set_textures(Derivation *d)
{
    SslUnitInfo *info = &d->m->info;
    if (info->texture_metadata) {
        SslMetadataList *metadata = ARENA_ARRAY(d->m->arena, SslMetadataList, d->textures.count);
        memcpy(metadata, info->texture_metadata, info->texture_count * sizeof *metadata);
        info->texture_metadata = metadata;
    }
    info->textures = d->textures.data;
    info->texture_ids = d->texture_ids.data;
    info->texture_count = d->textures.count;
}

/* A derivative in several directions is built from one in the first, whose textures it would look up. */
static Status check_directions(const Derivation *d, uint32_t directions)
{
    for (uint32_t i = 0; i < d->how->input_count; ++i)
        if (directions > 1 && d->how->inputs[i].kind == SSL_INPUT_TEXTURE)
            return error_set(d->err, STATUS_UNSUPPORTED,
                             "texture '%s' in %u directions: with a texture as input one direction "
                             "is possible; take one derivative for each",
                             d->how->inputs[i].name, directions);
    return STATUS_OK;
}

Status derivative_take(IrModule *m, const SslDerivativeDesc *how, DiagList *diags, Error *err)
{
    Derivation d = {.m = m, .how = how, .err = err};
    uint32_t directions = how->direction_count ? how->direction_count : 1;
    if (directions > DERIVE_DIRECTIONS_MAX || (how->is_backward && directions != 1))
        return error_set(err, STATUS_INVALID, "%u directions; %s", directions,
                         how->is_backward ? "backward derivatives have none"
                                          : "1 to 4 are possible");
    if (how->has_edges && !how->is_backward)
        return error_set(err, STATUS_INVALID, "edges count in backward derivatives only");
    if (how->marks_edges && how->is_backward)
        return error_set(err, STATUS_INVALID,
                         "a derivative is backward or marks edges: for both take two units");
    TRY(check_directions(&d, directions));
    copy_interface(&d);
    TRY(find_inputs(&d));
    TRY(find_outputs(&d));
    TRY(add_noise(&d));
    if (how->is_backward)
        describe_backward(&d);
    else if (how->marks_edges)
        describe_marks(&d);
    else
        describe_forward(&d, directions);
    IrKernelInput *inputs = ARENA_ARRAY(m->arena, IrKernelInput, how->input_count);
    for (uint32_t i = 0; i < how->input_count; ++i)
        inputs[i] = d.inputs[i].value;
    m->info.params = d.params.data;
    m->info.param_count = d.params.count;
    m->info.attributes = d.attributes.data;
    m->info.attribute_count = d.attributes.count;
    set_textures(&d);
    const IrKernelDerivative kernel = {.is_backward = how->is_backward,
                                       .marks_edges = how->marks_edges,
                                       .has_edges = how->has_edges,
                                       .direction_count = directions,
                                       .inputs = inputs,
                                       .input_count = how->input_count,
                                       .outputs = d.output_rows,
                                       .output_count = how->output_count,
                                       .seeds = d.seeds.data,
                                       .noise = d.noise,
                                       .noise_pixel = d.noise_pixel,
                                       .noise_seed = d.noise_seed,
                                       .rows = d.rows.data,
                                       .row_count = d.rows.count,
                                       .out_is_flat =
                                           ARENA_ARRAY(m->arena, bool, how->input_count)};
    TRY(ir_derive_kernel(m, &kernel, diags, err));
    for (uint32_t i = 0; i < how->input_count && how->is_backward; ++i)
        d.results.data[i].is_zero = kernel.out_is_flat[i];
    m->info.outputs = d.results.data;
    m->info.output_count = d.results.count;
    return STATUS_OK;
}
