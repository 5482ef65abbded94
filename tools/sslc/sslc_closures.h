/* The closures that a file's shaders may make beside the built-in ones: those that it defines, and those of other sources that
 * would be in one scene with it. */
#ifndef SORT_TOOLS_SSLC_SSLC_CLOSURES_H
#define SORT_TOOLS_SSLC_SSLC_CLOSURES_H

#include "tools/sslc/sslc_program.h"

/* Lists them in file->closures. Sources in file->beside, in the file's own folder and in file->folders are searched for bsdfs
 * that the file's shaders make and do not define. What a scene could not have is told in a warning, and left out. */
Status sslc_list_closures(SslcFile *file, Error *err) SORT_MUST_CHECK;

#endif
