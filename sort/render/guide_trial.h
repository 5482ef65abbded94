/* Whether a field of path guiding is worth its time. Private to sort/render. */
#ifndef SORT_RENDER_GUIDE_TRIAL_H
#define SORT_RENDER_GUIDE_TRIAL_H

#include "sort/render/render_state.h"

/* Renders a small picture of the frame with the field and without, twice each with other random numbers, so that their differences tell
 * the error of stratified samples. *out_left: error with the field over that without, of squares relative to the pixels'; 1 if
 * there is none. The training of the render has begun. Errors: memory; STATUS_CANCELLED. */
Status guide_trial(Render *r, const GuideField *field, double *out_left,
                   Error *err) SORT_MUST_CHECK;

#endif
