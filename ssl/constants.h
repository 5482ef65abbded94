/* The constants that a program is specialised to: those that the host lists, after a check; strings, as numbers; and
 * switches at their defaults, if the host requests it. */
#ifndef SSL_CONSTANTS_H
#define SSL_CONSTANTS_H

#include "ssl/context.h"

/* Collects the constants. *out_constants is allocated in `arena`, whose out-of-memory jump must be set.
 * STATUS_INVALID: a constant names no parameter, or does not fit it. */
Status constants_bind(const SslUnit *unit, const SslBuildDesc *how, Arena *arena,
                      const SslConstant **out_constants, uint32_t *out_count,
                      Error *err) SORT_MUST_CHECK;

#endif
