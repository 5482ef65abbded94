/* An index of open textures by content: a binary trie of hashes.
 *
 *   bit 0 of the key   0 /   \ 1
 *   bit 1            0/ \1   0/ \1        every node holds an entry of its own
 *
 * Nodes lie in the textures, so that the index takes no memory besides theirs and never grows in one step. Keys
 * are content hashes (base/hash.h): equal keys are equal things, and their bits are as good as random, so that n entries
 * are about log2(n) deep. Entries of one key are allowed; any of them is found. The caller's lock guards all. */
#ifndef SORT_TEXTURES_CACHE_TEX_INDEX_H
#define SORT_TEXTURES_CACHE_TEX_INDEX_H

#include "base/hash.h"

typedef struct TexIndexNode {
    Hash128 key;
    void *owner; /* borrowed: the result of a search */
    struct TexIndexNode *children[2];
} TexIndexNode;

/* Adds a node; a NULL *root is an empty index. The caller has set node->key and node->owner, and the node stays
 * in place until it is removed. */
void cache_index_add(TexIndexNode **root, TexIndexNode *node);
void cache_index_remove(TexIndexNode **root, TexIndexNode *node);
/* Returns the owner of a node with this key, or NULL if there is none. */
void *cache_index_find(const TexIndexNode *root, Hash128 key);

#endif
