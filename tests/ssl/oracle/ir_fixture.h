/* What IR tests share: a module over small tables of globals, closures, parameters and textures,
 * one function to build, the pipeline, and evaluation at a point. */
#ifndef TESTS_SSL_IR_FIXTURE_H
#define TESTS_SSL_IR_FIXTURE_H

#include "ssl/ir/ir_build.h"
#include "ssl/passes/pipeline.h"
#include "tests/ssl/oracle/ir_eval.h"

enum { G_X1, G_X2, G_P, G_FLAT, G_INT, G_BOOL, G_COUNT }; /* globals; FLAT has no derivatives */
enum { C_LAMBERT, C_EMIT, C_CLEAR, C_COAT, C_COUNT };     /* closures */
enum { PARAM_FLAG, PARAM_INT, PARAM_K, PARAM_COLOR, PARAM_COUNT }; /* parameters */

typedef struct Fixture {
    Arena *arena;
    IrModule *module;
    IrBuilder *b;
    DiagList *diags;
    IrReport report;
    EvalPoint point;
} Fixture;

void fixture_begin(Fixture *f); /* and a builder for the entry */
void fixture_end(Fixture *f);
/* Another function of the module; the entry's builder stays open. */
IrFuncId fixture_func(Fixture *f, const char *name, const IrType *types, uint32_t count,
                      IrBuilder **out_builder);
/* Ends the entry: one float output for each value, or closure outputs for closures. Verifies. */
void fixture_outputs(Fixture *f, const IrValue *values, uint32_t count);
/* The pipeline; asserts success. NULL: defaults. */
void fixture_run(Fixture *f, const IrPipelineDesc *desc);
/* The module's text form, in the fixture's arena. */
const char *fixture_text(Fixture *f);
EvalResult fixture_eval(Fixture *f, EvalMode mode);
/* Output `index` of the module as it is, in the given mode. */
double fixture_value(Fixture *f, EvalMode mode, uint32_t index);

IrValue fixture_global(Fixture *f, uint32_t row, uint32_t component);
/* How many instructions of one kind the whole module has. */
uint32_t count_op(const IrModule *m, IrOp op);
/* How many reads of derivatives of any global. */
uint32_t count_shadow_reads(const IrModule *m, uint32_t shadow);
/* Identity ramp: r = s, g = t, b = s t, a = 1, with exact derivatives. */
void ramp_texture(void *data, const SslTextureSite *site, const double coord[7], double out[12]);

#endif
