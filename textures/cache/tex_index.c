#include "textures/cache/tex_index.h"

#include "base/check.h"

/* Returns which child of a node at this depth leads to the key. Entries with equal keys form a list below the
 * last bit. */
static uint32_t branch(const Hash128 *key, uint32_t depth)
{
    uint32_t byte = depth / 8;
    return byte < sizeof key->bytes ? (uint32_t)key->bytes[byte] >> depth % 8 & 1u : 0;
}

void cache_index_add(TexIndexNode **root, TexIndexNode *node)
{
    for (uint32_t depth = 0; *root; ++depth)
        root = &(*root)->children[branch(&node->key, depth)];
    node->children[0] = node->children[1] = NULL;
    *root = node;
}

void *cache_index_find(const TexIndexNode *root, Hash128 key)
{
    for (uint32_t depth = 0; root && !hash128_equal(root->key, key); ++depth)
        root = root->children[branch(&key, depth)];
    return root ? root->owner : NULL;
}

void cache_index_remove(TexIndexNode **root, TexIndexNode *node)
{
    TexIndexNode **at = root;
    for (uint32_t depth = 0; *at != node; ++depth) {
        CHECK(*at);
        at = &(*at)->children[branch(&node->key, depth)];
    }
    /* A leaf from below replaces the node: the leaf's key begins with all the bits that lead here. */
    TexIndexNode **leaf = at;
    while ((*leaf)->children[0] || (*leaf)->children[1])
        leaf = &(*leaf)->children[(*leaf)->children[0] ? 0 : 1];
    TexIndexNode *moved = *leaf;
    *leaf = NULL;
    if (moved == node)
        return;
    moved->children[0] = node->children[0];
    moved->children[1] = node->children[1];
    *at = moved;
}
