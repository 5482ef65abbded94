/* The choice for scenes that name a texture which does not exist, cannot be read or is damaged. */
#ifndef SORT_SCENE_SCENE_MISSING_H
#define SORT_SCENE_SCENE_MISSING_H

typedef enum SceneMissing {
    SCENE_MISSING_ERROR,  /* it is refused, and all that is missing is named */
    SCENE_MISSING_MAGENTA /* the texture is magenta everywhere, with a warning that names it */
} SceneMissing;

#endif
