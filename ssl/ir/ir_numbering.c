#include "ssl/ir/ir_numbering.h"
#include "base/check.h"
#include "base/hash.h"
#include <string.h>

uint64_t numbering_hash(const IrKey *k)
{
    uint64_t h = hash_mix64(k->imm ^ (uint64_t)k->op << 48 ^ (uint64_t)k->site << 20 ^
                            (uint64_t)k->type << 58);
    for (uint32_t i = 0; i < k->arg_count; ++i)
        h = hash_mix64(h + k->args[i]);
    return h;
}

static void grow(Numbering *n, Arena *arena)
{
    uint32_t wanted = n->entries.capacity * 2;
    n->bucket_count = n->bucket_count ? n->bucket_count * 4 : 64;
    while (n->bucket_count < wanted)
        n->bucket_count *= 2;
    n->buckets = ARENA_ARRAY(arena, uint32_t, n->bucket_count);
    for (uint32_t i = 0; i < n->entries.count; ++i) {
        uint32_t *bucket = &n->buckets[n->entries.data[i].hash & (n->bucket_count - 1)];
        n->entries.data[i].next = *bucket;
        *bucket = i + 1;
    }
}

void numbering_add(Numbering *n, Arena *arena, uint64_t hash, IrInstId inst)
{
    if (n->entries.count >= n->bucket_count / 2)
        grow(n, arena);
    uint32_t *bucket = &n->buckets[hash & (n->bucket_count - 1)];
    array_push(arena, &n->entries, (NumberEntry){hash, inst, *bucket});
    *bucket = n->entries.count;
}

/* Entries are removed in the reverse order of their addition, so each is the head of its bucket. */
void numbering_pop_to(Numbering *n, uint32_t count)
{
    ASSERT(count <= n->entries.count);
    while (n->entries.count > count) {
        const NumberEntry *e = &n->entries.data[--n->entries.count];
        n->buckets[e->hash & (n->bucket_count - 1)] = e->next;
    }
}

static bool computes(const IrFunc *f, const IrInst *inst, const IrKey *k)
{
    return inst->op == k->op && inst->imm == k->imm && inst->site == k->site &&
           ir_type(f, inst->result_first) == k->type && inst->arg_count == k->arg_count &&
           (k->arg_count == 0 ||
            memcmp(ir_args(f, inst), k->args, k->arg_count * sizeof *k->args) == 0);
}

IrInstId numbering_find(const Numbering *n, const IrFunc *f, const IrKey *key, uint64_t hash)
{
    if (n->bucket_count == 0)
        return 0;
    uint32_t e = n->buckets[hash & (n->bucket_count - 1)];
    while (e) {
        const NumberEntry *entry = &n->entries.data[e - 1];
        if (entry->hash == hash && computes(f, ir_inst(f, entry->inst), key))
            return entry->inst;
        e = entry->next;
    }
    return 0;
}
