#include "base/alloc.h"
#include "sort/film/film_record.h"
#include <string.h>

Status film_set_note(Film *film, FilmNote note, const char *text, Error *err)
{
    size_t bytes = strlen(text) + 1;
    char *copy = mem_alloc(bytes, 1);
    if (!copy)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the notes of a film");
    memcpy(copy, text, bytes);
    mem_free(film->notes[note]);
    film->notes[note] = copy;
    return STATUS_OK;
}

const char *film_note(const Film *film, FilmNote note)
{
    return film->notes[note] ? film->notes[note] : "";
}
