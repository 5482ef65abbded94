#include "ssl/jit/code_size.h"

#include <stdbool.h>
#include <string.h>

enum { CALL_SIZE = 2, LANES_SIZE = 32 };

static uint64_t call_size(LLVMValueRef call)
{
    static const char gather[] = "llvm.masked.gather", scatter[] = "llvm.masked.scatter";
    size_t length;
    const char *name = LLVMGetValueName2(LLVMGetCalledValue(call), &length);
    bool moves_lanes = strncmp(name, gather, sizeof gather - 1) == 0 ||
                       strncmp(name, scatter, sizeof scatter - 1) == 0;
    return moves_lanes ? LANES_SIZE : CALL_SIZE;
}

uint64_t code_size(LLVMModuleRef module)
{
    uint64_t size = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                size += LLVMGetInstructionOpcode(i) == LLVMCall ? call_size(i) : 1;
    return size;
}
