/* Derivatives of a shader's outputs as outputs of their own, so that tools can show and test them
 * without a change of the source. */
#ifndef SSL_OUTPUT_DERIVS_H
#define SSL_OUTPUT_DERIVS_H

#include "ssl/ir/ir.h"

/* Wraps the entry of a lowered module: behind each float output `o` come ddx(o) and then ddy(o), in the
 * table of outputs after all that was there, two rows for each output that has them, in order. */
void output_derivs_add(IrModule *m);
bool output_derivs_exist(SslType type); /* for outputs of this type */

#endif
