/* An estimate of register pressure from LLVM IR. It is far cheaper than register allocation, which takes minutes for
 * tens of thousands of values, and tells beforehand whether that would happen. */
#ifndef SSL_JIT_LIVE_VALUES_H
#define SSL_JIT_LIVE_VALUES_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>

/* A value counts as live from its definition to its last use, in the textual order of instructions. Uses in the next
 * turn of a loop are not counted, nor are arrays. */
typedef struct LiveValues {
    uint64_t most; /* the largest number of values that are live at once, over all functions */
    /* The corresponding number of bytes; code may need less, because cheap values are recomputed. */
    uint64_t most_bytes;
    /* The sum over all basic blocks of the values that are live at their start. */
    uint64_t into_blocks;
} LiveValues;

/* Returns false if it runs out of memory. */
bool live_values_count(LLVMModuleRef module, LLVMTargetDataRef layout, LiveValues *out);

#endif
