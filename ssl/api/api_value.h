/* A host's numbers as values of the language. */
#ifndef SORT_SSL_API_VALUE_H
#define SORT_SSL_API_VALUE_H

#include "ssl/api/sort_ssl.h"
#include "ssl/ssl.h"

/* Returns true for bool and int, which have no derivatives. */
bool api_is_discrete(SslType type);

/* Checks that a scalar of type `kind` can hold the number as it is, but for rounding to float. */
SortSslStatus api_check_number(const char *name, SslType kind, double x, SortSslError *err);

/* `numbers` have been checked; structs and arrays borrow them. */
SslValue api_make_value(SslType type, const double *numbers, uint32_t count);

#endif
