/* Derivatives of a shader's outputs as additional outputs, so that tools can show and test them without a change of
 * the source. */
#ifndef SSL_OUTPUT_DERIVS_H
#define SSL_OUTPUT_DERIVS_H

#include "ssl/ir/ir.h"

/* Wraps the entry of a lowered module. For each output with derivatives, in order, the two rows ddx and ddy are
 * appended to the table of outputs. */
void output_derivs_add(IrModule *m);
/* Returns whether outputs of this type have derivatives. */
bool output_derivs_exist(SslType type);

#endif
