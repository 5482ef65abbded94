/* Value numbering: a hash table that finds a visible pure instruction by what it computes. Private to the
 * builder. All memory comes from the arena. */
#ifndef SSL_IR_IR_NUMBERING_H
#define SSL_IR_IR_NUMBERING_H

#include "ssl/ir/ir.h"

/* A description of what an instruction computes. Instructions with equal keys have equal results. */
typedef struct IrKey {
    IrOp op;
    IrType type; /* the type of the first result */
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
/* Returns the instruction of `f` that computes `key`, or 0. */
IrInstId numbering_find(const Numbering *n, const IrFunc *f, const IrKey *key, uint64_t hash);
/* Adds an instruction; the table must not have one with the same key. */
void numbering_add(Numbering *n, Arena *arena, uint64_t hash, IrInstId inst);
/* Removes all entries but the first `count`. */
void numbering_pop_to(Numbering *n, uint32_t count);

#endif
