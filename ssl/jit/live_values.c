#include "ssl/jit/live_values.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include <stdlib.h>

typedef struct LiveValue {
    LLVMValueRef value;
    uint32_t made, last; /* indices of instructions */
    uint32_t bytes;
} LiveValue;

static LLVMValueRef next_in_function(LLVMValueRef inst)
{
    LLVMValueRef next = LLVMGetNextInstruction(inst);
    LLVMBasicBlockRef block = LLVMGetInstructionParent(inst);
    while (!next && (block = LLVMGetNextBasicBlock(block)) != NULL)
        next = LLVMGetFirstInstruction(block);
    return next;
}

static LLVMValueRef first_in_function(LLVMValueRef function)
{
    LLVMBasicBlockRef entry = LLVMGetFirstBasicBlock(function);
    return entry ? LLVMGetFirstInstruction(entry) : NULL;
}

static int by_value(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const LiveValue *)a)->value;
    uintptr_t y = (uintptr_t)((const LiveValue *)b)->value;
    return (x > y) - (x < y);
}

static uint32_t list_values(LLVMValueRef function, LLVMTargetDataRef layout, LiveValue *values)
{
    uint32_t count = 0, index = 0;
    for (LLVMValueRef i = first_in_function(function); i; i = next_in_function(i), ++index) {
        LLVMTypeRef type = LLVMTypeOf(i);
        if (LLVMIsAAllocaInst(i) || LLVMGetTypeKind(type) == LLVMVoidTypeKind)
            continue; /* arrays are counted by their own limit */
        values[count++] = (LiveValue){.value = i,
                                      .made = index,
                                      .last = index,
                                      .bytes = (uint32_t)LLVMABISizeOfType(layout, type)};
    }
    qsort(values, count, sizeof *values, by_value);
    return count;
}

static void find_last_uses(LLVMValueRef function, LiveValue *values, uint32_t count)
{
    uint32_t index = 0;
    for (LLVMValueRef i = first_in_function(function); i; i = next_in_function(i), ++index) {
        int operands = LLVMGetNumOperands(i);
        for (int o = 0; o < operands; ++o) {
            LiveValue key = {.value = LLVMGetOperand(i, (unsigned)o)};
            LiveValue *found = bsearch(&key, values, count, sizeof *values, by_value);
            if (found && found->last < index)
                found->last = index;
        }
    }
}

typedef struct Change {
    int64_t count, bytes;
} Change;

static void add_up(LLVMValueRef function, const LiveValue *values, uint32_t count, Change *change,
                   LiveValues *out)
{
    int64_t now = 0, now_bytes = 0;
    uint32_t index = 0;
    for (uint32_t i = 0; i < count; ++i) {
        ++change[values[i].made].count;
        --change[values[i].last].count;
        change[values[i].made].bytes += values[i].bytes;
        change[values[i].last].bytes -= values[i].bytes;
    }
    for (LLVMValueRef i = first_in_function(function); i; i = next_in_function(i), ++index) {
        if (LLVMGetFirstInstruction(LLVMGetInstructionParent(i)) == i)
            out->into_blocks += (uint64_t)now;
        now += change[index].count;
        now_bytes += change[index].bytes;
        out->most = (uint64_t)now > out->most ? (uint64_t)now : out->most;
        out->most_bytes =
            (uint64_t)now_bytes > out->most_bytes ? (uint64_t)now_bytes : out->most_bytes;
    }
}

static bool count_in(LLVMValueRef function, LLVMTargetDataRef layout, LiveValues *out)
{
    uint32_t length = 0;
    for (LLVMValueRef i = first_in_function(function); i; i = next_in_function(i))
        ++length;
    if (!length)
        return true;
    LiveValue *values = MEM_ARRAY(LiveValue, length);
    Change *change = MEM_ARRAY(Change, length);
    bool has_memory = values && change;
    if (has_memory) {
        uint32_t count = list_values(function, layout, values);
        find_last_uses(function, values, count);
        add_up(function, values, count, change, out);
    }
    mem_free(change);
    mem_free(values);
    return has_memory;
}

bool live_values_count(LLVMModuleRef module, LLVMTargetDataRef layout, LiveValues *out)
{
    *out = (LiveValues){0};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (!count_in(f, layout, out))
            return false;
    return true;
}
