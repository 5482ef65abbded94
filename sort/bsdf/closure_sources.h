/* The sources of the closures in SSL, a file each (sort/bsdf/closures). Constant data: any thread. */
#ifndef SORT_BSDF_CLOSURE_SOURCES_H
#define SORT_BSDF_CLOSURE_SOURCES_H

#include "base/embedded.h"

extern const EmbeddedText closure_sources[]; /* ends with a name that is NULL */

#endif
