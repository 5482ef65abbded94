/* Conversion of decimal text to the nearest float, independent of the process's locale. */
#ifndef SSL_FRONT_DECIMAL_H
#define SSL_FRONT_DECIMAL_H

#include "base/str.h"

/* Converts `text`, which consists of digits with at most one '.' and an optional exponent e[+-]digits. It has at least
 * one digit before the exponent and at most SSL_MAX_NUMBER_BYTES. The result is rounded to nearest, ties to even;
 * tiny values become subnormal or 0. Returns false if the number exceeds the largest float. */
bool decimal_to_float(Str text, float *out_value);

#endif
