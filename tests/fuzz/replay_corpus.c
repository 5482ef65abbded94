/* Runs a fuzzer's one function over files, without libFuzzer: what once crashed, hung or leaked is tried in
 * every build. Arguments: files and folders. */
#include "base/alloc.h"
#include "base/file.h"
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { FILE_MAX_BYTES = 64 << 20 };

static uint32_t replayed;

static Status replay(const char *path, Arena *arena, Error *err)
{
    if (!file_is_directory(path)) {
        char *data = NULL;
        size_t size = 0;
        TRY(file_read(path, FILE_MAX_BYTES, &data, &size, err));
        (void)LLVMFuzzerTestOneInput((const uint8_t *)data, size);
        mem_free(data);
        ++replayed;
        return STATUS_OK;
    }
    const char *const *names;
    uint32_t count;
    TRY(file_list_directory(path, arena, &names, &count, err));
    for (uint32_t i = 0; i < count; ++i) {
        char joined[PATH_BYTES];
        TRY(path_join(path, names[i], joined, err));
        TRY(replay(joined, arena, err));
    }
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    Error err = {0};
    Arena *arena = arena_create(0, 0);
    Status status = arena ? STATUS_OK : STATUS_NO_MEMORY;
    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc && status == STATUS_OK; ++i)
        status = replay(argv[i], arena, &err);
    arena_destroy(arena);
    if (status != STATUS_OK || replayed == 0) {
        (void)fprintf(stderr, "replay: %s\n", replayed ? err.text : "nothing to replay");
        return 1;
    }
    (void)printf("%u inputs\n", replayed);
    return 0;
}
