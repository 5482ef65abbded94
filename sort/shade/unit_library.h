/* SORT's library of shader units (ssl/units/), which is part of the program: packages name them as
 * "unit:NAME". */
#ifndef SORT_SHADE_UNIT_LIBRARY_H
#define SORT_SHADE_UNIT_LIBRARY_H

#include "base/embedded.h"

/* "gltf_pbr" finds gltf_pbr.ssl; NULL: there is none. */
const EmbeddedText *unit_library_find(const char *name);
/* All of them; an entry without a name ends the table. */
const EmbeddedText *unit_library_all(void);
/* The unit whose name is nearest to a misspelt one, or NULL. */
const char *unit_library_suggest(const char *name, char out[256]);

#endif
