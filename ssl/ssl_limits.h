/* The limits of the language as constants. */
#ifndef SSL_SSL_LIMITS_H
#define SSL_SSL_LIMITS_H

enum {
#define SSL_LIMIT(name, value, text) name = (value),
#include "ssl/ssl_limits.inc"
#undef SSL_LIMIT
};

#endif
