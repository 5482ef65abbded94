/* Makes many distinct large textures, for scripts/bench-textures.
 *
 * make_large_textures FOLDER SIZE CHANNELS COUNT FIRST: FOLDER/tFIRST.stex ... */
#include "base/path.h"
#include "base/thread.h"
#include "tests/bench/formula_texture.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Job {
    const char *folder;
    uint32_t size, channel_count, first;
    _Atomic bool has_failed;
} Job;

static void make_one(void *data, uint32_t index)
{
    Job *job = data;
    char name[32], path[PATH_BYTES];
    Error err = {0};
    if (atomic_load(&job->has_failed))
        return;
    snprintf(name, sizeof name, "t%u.stex", job->first + index);
    if (path_join(job->folder, name, path, &err) != STATUS_OK ||
        formula_texture_write(path, job->size, job->channel_count, job->first + index, &err) !=
            STATUS_OK) {
        fprintf(stderr, "make_large_textures: %s: %s\n", name, err.text);
        atomic_store(&job->has_failed, true);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "make_large_textures FOLDER SIZE CHANNELS COUNT FIRST\n");
        return 2;
    }
    Job job = {.folder = argv[1],
               .size = (uint32_t)strtoul(argv[2], NULL, 10),
               .channel_count = (uint32_t)strtoul(argv[3], NULL, 10),
               .first = (uint32_t)strtoul(argv[5], NULL, 10)};
    parallel_for(0, (uint32_t)strtoul(argv[4], NULL, 10), make_one, &job);
    return job.has_failed ? 1 : 0;
}
