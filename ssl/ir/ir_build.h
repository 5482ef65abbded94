/* The builder of one function. Instructions are appended in program order.
 *
 * Pure operations are simplified on the way: constants and identities that hold bit for bit are folded, and
 * value numbering returns an existing value if one computes the same. A value that a region computed is
 * reused only inside that region. Each constant stands once, at the start of the body, so instructions are
 * ordered by their links and not by their ids. */
#ifndef SSL_IR_IR_BUILD_H
#define SSL_IR_IR_BUILD_H

#include "ssl/ir/ir.h"

typedef struct IrBuilder IrBuilder;

/* Reserves the id of a function that is built later, so that calls can name it before. */
IrFuncId ir_reserve_func(IrModule *m);
/* Starts function `id`, which must have been reserved. Its parameters are the values 1 .. param_count. */
IrBuilder *ir_build_begin(IrModule *m, IrFuncId id, const char *name, const IrType *params,
                          uint32_t param_count);
/* Says that the function replaces `like`: it takes over the place in the source, and reserves room for about
 * as many instructions. */
void ir_build_like(IrBuilder *b, const IrFunc *like);
/* Ends the body with YIELD of the results and installs the function in the module. */
void ir_build_end(IrBuilder *b, const IrValue *results, uint32_t result_count);

IrModule *ir_build_module(IrBuilder *b);
IrFunc *ir_build_func(IrBuilder *b);
IrValue ir_build_param(IrBuilder *b, uint32_t index);
void ir_build_span(IrBuilder *b, Span span); /* the span of the instructions appended from now on */
IrType ir_build_type(IrBuilder *b, IrValue v);

IrValue ir_const_bool(IrBuilder *b, bool x);
IrValue ir_const_int(IrBuilder *b, int32_t x);
IrValue ir_const_float(IrBuilder *b, float x);
/* These return whether `v` is a constant of the kind, and its value. */
bool ir_is_const_bool(IrBuilder *b, IrValue v, bool *out_x);
bool ir_is_const_int(IrBuilder *b, IrValue v, int32_t *out_x);
bool ir_is_const_float(IrBuilder *b, IrValue v, float *out_x);

IrValue ir_build_global(IrBuilder *b, IrKind kind, uint32_t row, uint32_t shadow,
                        uint32_t component);
IrValue ir_build_attribute(IrBuilder *b, IrKind kind, uint32_t slot, uint32_t shadow,
                           uint32_t component);
/* Reads an element of a table of the module, at an index in its range. */
IrValue ir_build_table(IrBuilder *b, uint32_t table, IrValue index);
IrValue ir_build_param_read(IrBuilder *b, IrKind kind, uint32_t param, uint32_t component);

/* These append an operation with one result, whose type follows from the signature in ir_ops.inc. */
IrValue ir_build1(IrBuilder *b, IrOp op, IrValue x);
IrValue ir_build2(IrBuilder *b, IrOp op, IrValue x, IrValue y);
IrValue ir_build3(IrBuilder *b, IrOp op, IrValue x, IrValue y, IrValue z);
IrValue ir_build_select(IrBuilder *b, IrValue cond, IrValue x, IrValue y);
/* A SELECT of a tangent or an adjoint, and 0 where it is infinite or NaN: one of x and y. derive_plain.c takes it out. */
IrValue ir_build_guard(IrBuilder *b, IrValue cond, IrValue x, IrValue y);
IrValue ir_build_array(IrBuilder *b, IrKind kind, const IrValue *elements, uint32_t count);
/* Appends BOUNDS, which clamps the index to [0, count) and records a fault if it had to. A constant index in
 * range is returned as it is. */
IrValue ir_build_bounds(IrBuilder *b, IrValue index, uint32_t count, uint32_t fault_site);
/* Appends DDX or DDY for the width of a footprint. */
IrValue ir_build_step(IrBuilder *b, IrOp op, IrValue x);
/* Appends DETACH of a float or an array of floats. */
IrValue ir_build_detach(IrBuilder *b, IrValue v);
IrValue ir_build_closure(IrBuilder *b, uint32_t row, const IrValue *args, uint32_t arg_count);
/* Returns a closure without lobes. */
IrValue ir_build_closure_zero(IrBuilder *b);
IrValue ir_build_closure_scale(IrBuilder *b, IrValue closure, IrValue r, IrValue g, IrValue bl);
/* Texture lookups. Three coordinates are s t blur; seven are s t ds_dx dt_dx ds_dy dt_dy blur. The twelve results
 * of TEX_D are rgba, d_ds rgba, d_dt rgba. */
void ir_build_tex_auto(IrBuilder *b, uint32_t site, const IrValue coord[3], IrValue out_rgba[4]);
void ir_build_tex(IrBuilder *b, uint32_t site, const IrValue coord[7], IrValue out_rgba[4]);
void ir_build_tex_auto_d(IrBuilder *b, uint32_t site, const IrValue coord[3],
                         IrValue out_results[12]);
void ir_build_tex_d(IrBuilder *b, uint32_t site, const IrValue coord[7], IrValue out_results[12]);
/* Appends a call. The result types are parameters because the callee may not be built yet. */
/* Puts question `row` of the host's table. */
void ir_build_ask(IrBuilder *b, uint32_t row, const IrValue *args, uint32_t arg_count,
                  const IrType *result_types, uint32_t result_count, IrValue *out_results);
void ir_build_call(IrBuilder *b, IrFuncId callee, const IrValue *args, uint32_t arg_count,
                   const IrType *result_types, uint32_t result_count, IrValue *out_results);
/* An instruction to append. */
typedef struct IrNewInst {
    IrOp op;
    uint32_t site;
    uint64_t imm;
    const IrValue *args;
    const IrType *types; /* [result_count] */
    uint32_t arg_count, result_count;
} IrNewInst;
/* Appends any instruction without regions; passes copy with it. */
void ir_build_inst(IrBuilder *b, const IrNewInst *inst, IrValue *out_results);

/* An IF is built by begin, the code of `then`, else, the code of `else`, end. A constant condition is left for a
 * pass to fold. If both arms yield the same value, that value is returned as the result. */
void ir_if_begin(IrBuilder *b, IrValue cond);
void ir_if_else(IrBuilder *b, const IrValue *then_results, uint32_t count);
void ir_if_end(IrBuilder *b, const IrValue *else_results, uint32_t count, IrValue *out_results);

/* A LOOP is built by begin, the code of the body, end. out_params[count] are the state inside the body; end takes
 * go_on (bool) and the next state. */
void ir_loop_begin(IrBuilder *b, uint32_t fault_site, const IrValue *init, uint32_t count,
                   IrValue *out_params);
void ir_loop_end(IrBuilder *b, IrValue go_on, const IrValue *next, uint32_t count,
                 IrValue *out_results);

uint32_t ir_add_fault_site(IrModule *m, SslFaultKind kind, Span span);
uint32_t ir_add_texture_site(IrModule *m, const SslTextureSite *site);

#endif
