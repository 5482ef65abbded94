/* sort-render merge: adds partial results. */
#include "tools/render_command.h"

/* Adds one partial file to *sum, which is NULL before the first. */
static Status add_part(const char *path, Film **sum, Error *err)
{
    Film *film;
    TRY(film_read_partial(path, &film, err));
    if (!*sum) {
        *sum = film;
        return STATUS_OK;
    }
    Status status = film_merge(*sum, film, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    film_destroy(film);
    return status;
}

int merge_main(int argc, char **argv)
{
    MergeCommand command;
    Error err = {0};
    Film *sum = NULL;
    int code;
    if (!merge_command_parse(argc, argv, &command, &code))
        return code;
    Status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < command.part_count; ++i)
        status = add_part(command.parts[i], &sum, &err);
    if (status == STATUS_OK)
        status = output_command_write(&command.output, sum, &err);
    film_destroy(sum);
    return status == STATUS_OK ? EXIT_DONE : command_fail(&err, EXIT_FAILED);
}
