/* --frame A..B:STEP: a sequence of scenes, each rendered as if it had been given alone. In SCENE and in the names of files to
 * write each run of '#' stands for the frame's number, with at least as many digits. */
#ifndef SORT_TOOLS_SORT_RENDER_RENDER_FRAMES_H
#define SORT_TOOLS_SORT_RENDER_RENDER_FRAMES_H

#include "tools/sort_render/render_command.h"

/* Before any work: the scene's name has a '#', so have those of all files where there are several frames, every frame's
 * scene is there, and no frame writes what another one writes or reads as its scene. */
Status frames_check(RenderCommand *c, Error *err) SORT_MUST_CHECK;

/* The two steps of a frame; the command that they get has the frame's file names. */
typedef struct FrameSteps {
    /* All files that the scene is read from become inputs. is_replacing: some output of some frame is there already. */
    Status (*claim)(RenderCommand *c, bool is_replacing, FileClaims *claims, Error *err);
    int (*render)(RenderCommand *c);
} FrameSteps;

/* Claims all files of all frames, so that no frame goes over what a later one reads, then calls `render` for each, with the frame's names in *c. Ends with the first frame that fails or is interrupted;
 * returns its exit code, else EXIT_DAMAGED if one was damaged, else EXIT_DONE. */
int frames_render(RenderCommand *c, const FrameSteps *steps);

#endif
