/* Builds one function, appending in order. Pure operations are folded (constants, identities that
 * hold bit for bit) and value-numbered as they are appended: the value that comes back may be an
 * older one. Scoped: what a region computed is not reused outside it. Constants stand at the start
 * of the body, each once, so the order of a function's instructions is that of the links, not of
 * the ids. */
#ifndef SSL_IR_IR_BUILD_H
#define SSL_IR_IR_BUILD_H

#include "ssl/ir/ir.h"

typedef struct IrBuilder IrBuilder;

/* Starts function `id` of the module (reserve ids first, so that calls can name what comes later).
 * The parameters are values 1 .. param_count. */
IrFuncId ir_reserve_func(IrModule *m);
IrBuilder *ir_build_begin(IrModule *m, IrFuncId id, const char *name, const IrType *params,
                          uint32_t param_count);
/* The function is a pass's new form of `like`: of its place in the source, and about its size. */
void ir_build_like(IrBuilder *b, const IrFunc *like);
/* Ends the body with YIELD of the results and installs the function in the module. */
void ir_build_end(IrBuilder *b, const IrValue *results, uint32_t result_count);

IrModule *ir_build_module(IrBuilder *b);
IrFunc *ir_build_func(IrBuilder *b);
IrValue ir_build_param(IrBuilder *b, uint32_t index);
void ir_build_span(IrBuilder *b, Span span); /* for what follows */
IrType ir_build_type(IrBuilder *b, IrValue v);

IrValue ir_const_bool(IrBuilder *b, bool x);
IrValue ir_const_int(IrBuilder *b, int32_t x);
IrValue ir_const_float(IrBuilder *b, float x);
/* True and the value when v is a constant of that kind. */
bool ir_is_const_bool(IrBuilder *b, IrValue v, bool *out_x);
bool ir_is_const_int(IrBuilder *b, IrValue v, int32_t *out_x);
bool ir_is_const_float(IrBuilder *b, IrValue v, float *out_x);

IrValue ir_build_global(IrBuilder *b, IrKind kind, uint32_t row, uint32_t shadow,
                        uint32_t component);
IrValue ir_build_attribute(IrBuilder *b, IrKind kind, uint32_t slot, uint32_t shadow,
                           uint32_t component);
IrValue ir_build_param_read(IrBuilder *b, IrKind kind, uint32_t param, uint32_t component);

/* Operations with one result whose type follows from the signature. */
IrValue ir_build1(IrBuilder *b, IrOp op, IrValue x);
IrValue ir_build2(IrBuilder *b, IrOp op, IrValue x, IrValue y);
IrValue ir_build3(IrBuilder *b, IrOp op, IrValue x, IrValue y, IrValue z);
IrValue ir_build_select(IrBuilder *b, IrValue cond, IrValue x, IrValue y);
IrValue ir_build_array(IrBuilder *b, IrKind kind, const IrValue *elements, uint32_t count);
/* The index made safe: BOUNDS, or the index itself when it is a constant in range. */
IrValue ir_build_bounds(IrBuilder *b, IrValue index, uint32_t count, uint32_t fault_site);
IrValue ir_build_closure(IrBuilder *b, uint32_t row, const IrValue *args, uint32_t arg_count);
IrValue ir_build_closure_scale(IrBuilder *b, IrValue closure, IrValue r, IrValue g, IrValue bl);
/* s t blur, or s t ds_dx dt_dx ds_dy dt_dy blur; out_rgba[4]. */
void ir_build_tex_auto(IrBuilder *b, uint32_t site, const IrValue coord[3], IrValue out_rgba[4]);
void ir_build_tex(IrBuilder *b, uint32_t site, const IrValue coord[7], IrValue out_rgba[4]);
void ir_build_tex_d(IrBuilder *b, uint32_t site, const IrValue coord[7], IrValue out_results[12]);
/* Result types are given because the callee may not be built yet. */
void ir_build_call(IrBuilder *b, IrFuncId callee, const IrValue *args, uint32_t arg_count,
                   const IrType *result_types, uint32_t result_count, IrValue *out_results);
/* Any instruction without regions, for passes that copy. */
void ir_build_inst(IrBuilder *b, IrOp op, uint64_t imm, uint32_t site, const IrValue *args,
                   uint32_t arg_count, const IrType *result_types, uint32_t result_count,
                   IrValue *out_results);

/* if: begin .. then-code .. else .. else-code .. end. With a constant condition the instruction is
 * still made; folding it is a pass's work. A result that both arms yield alike comes back as that
 * value. */
void ir_if_begin(IrBuilder *b, IrValue cond);
void ir_if_else(IrBuilder *b, const IrValue *then_results, uint32_t count);
void ir_if_end(IrBuilder *b, const IrValue *else_results, uint32_t count, IrValue *out_results);

/* loop: out_params are the state inside; end takes go_on and the next state. */
void ir_loop_begin(IrBuilder *b, uint32_t fault_site, const IrValue *init, uint32_t count,
                   IrValue *out_params);
void ir_loop_end(IrBuilder *b, IrValue go_on, const IrValue *next, uint32_t count,
                 IrValue *out_results);

uint32_t ir_add_fault_site(IrModule *m, SslFaultKind kind, Span span);
uint32_t ir_add_texture_site(IrModule *m, const SslTextureSite *site);

#endif
