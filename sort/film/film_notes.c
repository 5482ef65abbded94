/* The notes of a film: the scene's name, a NUL, the credits one a line, a NUL. */
#include "base/alloc.h"
#include "sort/film/film_record.h"
#include <string.h>

static char *append(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

Status film_set_notes(Film *film, const char *scene_name, const char *const *credits,
                      uint32_t credit_count, Error *err)
{
    size_t bytes = strlen(scene_name) + 2;
    for (uint32_t i = 0; i < credit_count; ++i)
        bytes += strlen(credits[i]) + 1;
    char *notes = mem_alloc(bytes, 1);
    if (!notes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the notes of a film");
    char *at = append(notes, scene_name);
    *at++ = '\0';
    for (uint32_t i = 0; i < credit_count; ++i) {
        if (i > 0)
            *at++ = '\n';
        at = append(at, credits[i]);
    }
    *at++ = '\0';
    mem_free(film->notes);
    film->notes = notes;
    film->notes_bytes = (size_t)(at - notes);
    return STATUS_OK;
}

const char *film_scene_name(const Film *film)
{
    return film->notes ? film->notes : "";
}

const char *film_credits(const Film *film)
{
    return film->notes ? film->notes + strlen(film->notes) + 1 : "";
}
