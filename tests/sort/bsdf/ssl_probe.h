/* Functions of ssl/stdlib/bsdf at chosen arguments, for tests: by a bsdf whose albedo is what the function returns. */
#ifndef SORT_TESTS_SORT_BSDF_SSL_PROBE_H
#define SORT_TESTS_SORT_BSDF_SSL_PROBE_H

#include "base/vec.h"

typedef struct SslProbe SslProbe;

/* Compiles a probe. args: the declarations of its arguments, such as "float a, vector b"; value: an expression of type color.
 * One that does not compile ends the program. */
SslProbe *ssl_probe_create(const char *args, const char *value);
/* Returns the value; args: the numbers of all arguments in order. */
float3 ssl_probe_at(const SslProbe *probe, const float *args);
void ssl_probe_destroy(SslProbe *probe);

#endif
