/* Decimal text to the nearest float, whatever the process's locale. */
#ifndef SSL_FRONT_DECIMAL_H
#define SSL_FRONT_DECIMAL_H

#include "base/str.h"

/* `text`: digits with at most one '.' and an optional exponent e[+-]digits; at least one digit before the
 * exponent; at most SSL_MAX_NUMBER_BYTES. Rounds to nearest, ties to even; tiny values become subnormal or
 * 0. False: larger than the largest float. */
bool decimal_to_float(Str text, float *out_value);

#endif
