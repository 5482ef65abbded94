/* How much code keeps in registers and on the stack at once, from its IR: far less work than assigning registers, which
 * takes minutes for tens of thousands of values. */
#ifndef SSL_JIT_LIVE_VALUES_H
#define SSL_JIT_LIVE_VALUES_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>

/* A value is alive from where it is made to its last use below, in the order in which instructions stand; one that a loop
 * keeps for its next turn is counted up to there only. Arrays are not counted. */
typedef struct LiveValues {
    uint64_t most;        /* at once, in any function */
    uint64_t most_bytes;  /* the same; code may take less, since cheap values are made again */
    uint64_t into_blocks; /* the sum of what is alive where a block begins, over all blocks */
} LiveValues;

/* false: out of memory. */
bool live_values_count(LLVMModuleRef module, LLVMTargetDataRef layout, LiveValues *out);

#endif
