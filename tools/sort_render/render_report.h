/* What a render met that did not stop it, in words. */
#ifndef SORT_TOOLS_SORT_RENDER_RENDER_REPORT_H
#define SORT_TOOLS_SORT_RENDER_RENDER_REPORT_H

#include "sort/render/render.h"

/* Appends a line for each kind of failure of the last run: faults of shaders, samples that are no numbers, textures that
 * are missing or damaged. Returns whether the picture is damaged. */
bool render_report(const Render *render, StrBuf *out);

#endif
