/* LLVM's option for the section .stack_sizes is not in its C API. */
#include "ssl/jit/stack_sizes.h"
#include <llvm/Target/TargetMachine.h>

void jit_keep_stack_sizes(LLVMTargetMachineRef machine)
{
    reinterpret_cast<llvm::TargetMachine *>(machine)->Options.EmitStackSizeSection = true;
}
