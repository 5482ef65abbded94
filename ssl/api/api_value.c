#include "ssl/api/api_value.h"
#include "ssl/api/api_check.h"
#include <float.h>
#include <string.h>

bool api_is_discrete(SslType type)
{
    return type == SSL_BOOL || type == SSL_INT;
}

SortSslStatus api_check_number(const char *name, SslType kind, double x, SortSslError *err)
{
    if (kind == SSL_BOOL && x != 0.0 && x != 1.0)
        return api_refuse(err, STATUS_INVALID, "'%s': %g is no bool (0 or 1)", name, x);
    if (kind == SSL_INT && !(x >= INT32_MIN && x <= INT32_MAX && x == (double)(int32_t)x))
        return api_refuse(err, STATUS_INVALID, "'%s': %g is no int", name, x);
    if (kind == SSL_FLOAT && !(x >= -(double)FLT_MAX && x <= (double)FLT_MAX))
        return api_refuse(err, STATUS_INVALID, "'%s': %g is not in the range of a float", name, x);
    return SORT_SSL_OK;
}

SslValue api_make_value(SslType type, const double *numbers, uint32_t count)
{
    SslValue value = {.type = type};
    if (type == SSL_STRUCT || type == SSL_ARRAY) {
        value.list = numbers;
        value.count = count;
    } else if (type == SSL_BOOL) {
        value.b = numbers[0] != 0.0;
    } else if (type == SSL_INT) {
        value.i = (int32_t)numbers[0];
    } else {
        for (uint32_t i = 0; i < count; ++i)
            value.f[i] = (float)numbers[i];
    }
    return value;
}
