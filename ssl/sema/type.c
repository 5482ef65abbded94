#include "ssl/sema/type.h"
#include "base/check.h"

#define BASIC(name, scalar_count, leaf_count)                                                      \
    [name] = {.kind = TYPE_BASIC, .basic = name, .scalars = scalar_count, .leaves = leaf_count}
static const Type basics[] = {
    BASIC(SSL_VOID, 0, 0),
    BASIC(SSL_BOOL, 1, 1),
    BASIC(SSL_INT, 1, 1),
    BASIC(SSL_FLOAT, 1, 1),
    BASIC(SSL_FLOAT2, 2, 2),
    BASIC(SSL_FLOAT3, 3, 3),
    BASIC(SSL_FLOAT4, 4, 4),
    BASIC(SSL_COLOR, 3, 3),
    BASIC(SSL_POINT, 3, 3),
    BASIC(SSL_VECTOR, 3, 3),
    BASIC(SSL_NORMAL, 3, 3),
    BASIC(SSL_MATRIX, 16, 16),
    BASIC(SSL_STRING, 0, 1), /* a number of StringIds */
    [SSL_CLOSURE] =
        {.kind = TYPE_BASIC, .basic = SSL_CLOSURE, .scalars = 1, .leaves = 1, .closures = 1},
    BASIC(SSL_TEXTURE2D, 0, 0),
};
const Type type_error = {.kind = TYPE_ERROR};

const Type *type_basic(SslType basic)
{
    ASSERT((uint32_t)basic < SORT_COUNT_OF(basics));
    return &basics[basic];
}

const Type *type_array(Arena *arena, const Type *element, uint32_t count)
{
    ASSERT(element->kind != TYPE_ERROR || count == 0);
    Type *t = ARENA_NEW(arena, Type);
    *t = (Type){.kind = TYPE_ARRAY,
                .element = element,
                .count = count,
                .scalars = element->scalars * count,
                .leaves = element->leaves,
                .nesting = element->nesting,
                .closures = element->closures * count};
    return t;
}

static SslType untagged(SslType basic)
{
    return basic >= SSL_COLOR && basic <= SSL_NORMAL ? SSL_FLOAT3 : basic;
}

bool type_same(const Type *a, const Type *b)
{
    for (; a->kind == TYPE_ARRAY && b->kind == TYPE_ARRAY; a = a->element, b = b->element)
        if (a->count != b->count)
            return false;
    if (a->kind == TYPE_ERROR || b->kind == TYPE_ERROR)
        return true;
    if (a->kind != b->kind)
        return false;
    return a->kind == TYPE_STRUCT ? a->decl == b->decl : untagged(a->basic) == untagged(b->basic);
}

bool type_is_unsized(const Type *t)
{
    return t->kind == TYPE_ARRAY && t->count == 0;
}

bool type_is(const Type *t, SslType basic)
{
    return t->kind == TYPE_BASIC && t->basic == basic;
}

bool type_is_error(const Type *t)
{
    return t->kind == TYPE_ERROR;
}

uint32_t type_lanes(const Type *t)
{
    if (t->kind != TYPE_BASIC || t->basic < SSL_FLOAT || t->basic > SSL_NORMAL)
        return 0;
    return t->scalars;
}

const Type *type_of_lanes(uint32_t lanes)
{
    ASSERT(lanes >= 1 && lanes <= 4);
    return type_basic((SslType)(SSL_FLOAT + (lanes - 1)));
}

bool type_is_number(const Type *t)
{
    return type_is(t, SSL_INT) || type_is(t, SSL_FLOAT);
}

const char *type_text(const Type *t, Arena *arena)
{
    switch (t->kind) {
    case TYPE_ERROR:
        return "?";
    case TYPE_BASIC:
        return ssl_type_name(t->basic);
    case TYPE_STRUCT:
        return t->decl->name;
    case TYPE_ARRAY:
        break;
    }
    const Type *element = t;
    const char *sizes = "";
    for (; element->kind == TYPE_ARRAY; element = element->element)
        sizes = element->count ? arena_printf(arena, "%s[%u]", sizes, element->count)
                               : arena_printf(arena, "%s[]", sizes);
    return arena_printf(arena, "%s%s", type_text(element, arena), sizes);
}
