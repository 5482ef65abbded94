/* Value numbering: which pure instructions are in sight, found by what they compute. Private to the
 * builder; memory is the arena's. */
#ifndef SSL_IR_IR_NUMBERING_H
#define SSL_IR_IR_NUMBERING_H

#include "ssl/ir/ir.h"

/* What an instruction computes: equal keys, equal values. */
typedef struct IrKey {
    IrOp op;
    IrType type; /* of the first result */
    uint64_t imm;
    uint32_t site;
    uint32_t arg_count;
    const IrValue *args;
} IrKey;

typedef struct NumberEntry {
    uint64_t hash;
    IrInstId inst;
    uint32_t next; /* entry + 1 in the same bucket; 0: last */
} NumberEntry;

typedef struct Numbering {
    uint32_t *buckets; /* entry + 1 */
    uint32_t bucket_count;
    ARRAY(NumberEntry) entries;
} Numbering;

uint64_t numbering_hash(const IrKey *key);
/* The instruction of `f` that computes `key`, or 0. */
IrInstId numbering_find(const Numbering *n, const IrFunc *f, const IrKey *key, uint64_t hash);
/* `inst` must not be found yet. */
void numbering_add(Numbering *n, Arena *arena, uint64_t hash, IrInstId inst);
/* Forgets all entries but the first `count`. */
void numbering_pop_to(Numbering *n, uint32_t count);

#endif
