/* The interpreter of IR (oracle/ir_eval.h) behind the kernel ABI: what a kernel must do, the obvious way.
 * Tests run it beside the machine code on the same batch and compare the result blocks. */
#ifndef TESTS_IR_ORACLE_H
#define TESTS_IR_ORACLE_H

#include "ssl/codegen/kernel_layout.h"

void ir_oracle_run(const IrModule *m, const KernelLayout *layout, const SslBatch *batch);

#endif
