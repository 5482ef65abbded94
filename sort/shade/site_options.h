/* The options of a texture call in source, as the texture cache takes them. */
#ifndef SORT_SHADE_SITE_OPTIONS_H
#define SORT_SHADE_SITE_OPTIONS_H

#include "ssl/ssl.h"
#include "textures/texcache.h"

/* Puts what is named at a call site in place of what `options` has from the material or the render. */
void site_options_apply(const SslTextureSite *site, TexOptions *options);

#endif
