#include "tools/sort_render/render_frames.h"

#include "base/check.h"
#include "base/file.h"
#include <string.h>

enum { NAMES = 9 };

/* The names that frames have of their own, the scene's first. */
typedef struct FrameNames {
    const char **fields[NAMES]; /* in the command */
    const char *options[NAMES]; /* what they are called */
    const char *templates[NAMES];
    char texts[NAMES][PATH_BYTES];
} FrameNames;

static void names_begin(RenderCommand *c, FrameNames *n)
{
    *n = (FrameNames){.fields = {&c->scene, &c->output.exr, &c->output.png, &c->output.partial,
                                 &c->stats, &c->checkpoint, &c->render.trace_path, &c->probe_out,
                                 &c->watch},
                      .options = {"SCENE", "-o", "--png", "--partial", "--stats", "--checkpoint",
                                  "--trace", "--probe-out", "--watch"}};
    for (int i = 0; i < NAMES; ++i)
        n->templates[i] = *n->fields[i];
}

static void names_end(FrameNames *n)
{
    for (int i = 0; i < NAMES; ++i)
        *n->fields[i] = n->templates[i];
}

/* False when the path is too long. */
static bool expand(const char *name, uint32_t frame, char out[PATH_BYTES])
{
    size_t size = 0;
    while (*name) {
        size_t digits = strspn(name, "#"), room = PATH_BYTES - size;
        int added =
            digits ? snprintf(out + size, room, "%0*u", (int)(digits < 32 ? digits : 32), frame)
                   : snprintf(out + size, room, "%c", *name);
        if (added < 0 || (size_t)added >= room)
            return false;
        size += (size_t)added;
        name += digits ? digits : 1;
    }
    return true;
}

static Status names_set(RenderCommand *c, FrameNames *n, uint32_t frame, Error *err)
{
    for (int i = 0; i < NAMES; ++i) {
        if (!n->templates[i])
            continue;
        n->texts[i][0] = '\0';
        if (!expand(n->templates[i], frame, n->texts[i]))
            return error_set_at(err, STATUS_LIMIT, n->templates[i], "the path is too long");
        *n->fields[i] = n->texts[i];
    }
    ASSERT(frame <= INT32_MAX);
    c->render.has_frame = true;
    c->render.frame = (int32_t)frame;
    return STATUS_OK;
}

static Status check_names(const RenderCommand *c, const FrameNames *n, Error *err)
{
    if (!strchr(c->scene, '#'))
        return error_set_at(err, STATUS_INVALID, c->scene,
                            "--frame needs a scene with # for the number, such as shot.####.zip");
    for (int i = 1; i < NAMES && c->frames.last - c->frames.first >= c->frames.step; ++i)
        if (n->templates[i] && strcmp(n->templates[i], "-") != 0 && !strchr(n->templates[i], '#'))
            return error_set_at(err, STATUS_INVALID, n->templates[i],
                                "every frame would be written there: %s needs # for the number",
                                n->options[i]);
    return STATUS_OK;
}

Status frames_check(RenderCommand *c, Error *err)
{
    FrameNames names;
    names_begin(c, &names);
    TRY(check_names(c, &names, err));
    FileClaims claims = {0};
    Status status = STATUS_OK;
    for (uint32_t k = c->frames.first; k <= c->frames.last && status == STATUS_OK;
         k += c->frames.step) {
        status = names_set(c, &names, k, err);
        if (status == STATUS_OK && !file_exists(c->scene))
            status = error_set_at(err, STATUS_NOT_FOUND, c->scene,
                                  "there is no such file or folder, for frame %u", k);
        if (status == STATUS_OK)
            status = render_command_claim(c, &claims, err);
        if (status == STATUS_OK)
            status = render_command_check_places(c, err);
    }
    file_claims_free(&claims);
    names_end(&names);
    return status;
}

static bool replaces_something(const FrameNames *n)
{
    for (int i = 1; i < NAMES; ++i)
        if (*n->fields[i] && strcmp(*n->fields[i], "-") != 0 && file_exists(*n->fields[i]))
            return true;
    return false;
}

/* Claims the outputs of all frames first, since an earlier frame may read a file that a later one writes. */
static Status claim_all(RenderCommand *c, FrameNames *names, const FrameSteps *steps, Error *err)
{
    FileClaims claims = {0};
    Status status = STATUS_OK;
    bool is_replacing = false;
    for (int step = 0; step < 2; ++step)
        for (uint32_t k = c->frames.first; k <= c->frames.last && status == STATUS_OK;
             k += c->frames.step) {
            status = names_set(c, names, k, err);
            if (status == STATUS_OK)
                status = step == 0 ? render_command_claim(c, &claims, err)
                                   : steps->claim(c, is_replacing, &claims, err);
            is_replacing |= replaces_something(names);
        }
    file_claims_free(&claims);
    return status;
}

int frames_render(RenderCommand *c, const FrameSteps *steps)
{
    Error err = {0};
    FrameNames names;
    int worst = EXIT_DONE;
    names_begin(c, &names);
    if (claim_all(c, &names, steps, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_USAGE);
    ASSERT(c->frames.step > 0 && c->frames.first <= c->frames.last);
    for (uint32_t k = c->frames.first; k <= c->frames.last; k += c->frames.step) {
        if (names_set(c, &names, k, &err) != STATUS_OK)
            return tool_fail(&err, EXIT_FAILED);
        if (!c->is_quiet)
            fprintf(stderr, "frame %u: %s\n", k, c->scene);
        int code = steps->render(c);
        if (code != EXIT_DONE && code != EXIT_DAMAGED)
            return code;
        worst = code == EXIT_DAMAGED ? code : worst;
    }
    names_end(&names);
    return worst;
}
