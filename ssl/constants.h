/* What a program is specialised with: the constants that the host lists, checked; strings as numbers;
 * switches at their defaults, if the host asks for it. */
#ifndef SSL_CONSTANTS_H
#define SSL_CONSTANTS_H

#include "ssl/context.h"

/* *out_constants is allocated in `arena`, whose out-of-memory jump is set. */
Status constants_bind(const SslUnit *unit, const SslBuildDesc *how, Arena *arena,
                      const SslConstant **out_constants, uint32_t *out_count,
                      Error *err) SORT_MUST_CHECK;

#endif
