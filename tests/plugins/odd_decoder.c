/* A decoder of files "*.odd" whose first word says what becomes of them: "good" is a picture of 4 x 4 texels of
 * 1, "nan" the same with a texel that is no number, "slow" takes a fifth of a second, "crash" ends the process, "hang"
 * never returns, "words" says something first, "silent" nothing, "essay" too much, "pry" fails with words that tell what
 * it could do that a decoder has no need of. */
#include "plugins/sort_plugin.h"
#include <arpa/inet.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct SortImage {
    char word[16];
};

static bool can_open(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (file)
        fclose(file);
    return file != NULL;
}

static bool can_run(void)
{
    static char program[] = "/bin/true";
    char *const arguments[] = {program, NULL}, *const environment[] = {NULL};
    pid_t child;
    return posix_spawn(&child, program, NULL, NULL, arguments, environment) == 0;
}

/* Nobody listens there, which is told only to those who may ask. */
static bool can_connect(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(1),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool can = connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 || errno != EACCES;
    close(fd);
    return can;
}

/* What a library that a file took over might try. */
static SortResult pry(const char *path, SortFailure *why)
{
    char beside[4096], above[4096];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) : 0;
    (void)snprintf(beside, sizeof beside, "%.*s/planted", folder, path);
    (void)snprintf(above, sizeof above, "%.*s/../secret", folder, path);
    (void)snprintf(why->text, sizeof why->text, "pried:%s%s%s%s%s%s",
                   can_open(path, "r") ? " read the image," : "",
                   can_open("/etc/passwd", "r") ? " read /etc/passwd," : "",
                   can_open(above, "r") ? " read above the image," : "",
                   can_open(beside, "w") ? " wrote beside it," : "", can_run() ? " ran," : "",
                   can_connect() ? " connected," : "");
    return SORT_ERROR_FORMAT;
}

static SortResult open_image(const SortHostApi *api, const char *path, SortImage **out_image,
                             SortFailure *why)
{
    FILE *file = fopen(path, "rb");
    SortImage *image = calloc(1, sizeof *image);
    *out_image = NULL;
    if (!file || !image || fscanf(file, "%15s", image->word) != 1) {
        (void)snprintf(why->text, sizeof why->text, "there is no word in it");
        free(image);
        if (file)
            fclose(file);
        return SORT_ERROR_FORMAT;
    }
    fclose(file);
    if (strcmp(image->word, "pry") == 0) {
        free(image);
        return pry(path, why);
    }
    if (strcmp(image->word, "crash") == 0)
        abort();
    while (strcmp(image->word, "hang") == 0)
        pause();
    if (strcmp(image->word, "slow") == 0)
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    if (strcmp(image->word, "words") == 0)
        api->log(api->host, SORT_LOG_WARNING, "this picture is odd");
    if (strcmp(image->word, "silent") == 0)
        api->log(api->host, SORT_LOG_WARNING, "");
    char essay[3001];
    memset(essay, 'y', sizeof essay - 1);
    essay[sizeof essay - 1] = '\0';
    if (strcmp(image->word, "essay") == 0)
        api->log(api->host, SORT_LOG_WARNING, essay);
    *out_image = image;
    return SORT_OK;
}

static SortResult level(SortImage *image, uint32_t subimage, uint32_t number,
                        SortLevelInfo *out_info, SortFailure *why)
{
    (void)image, (void)subimage, (void)number, (void)why;
    *out_info = (SortLevelInfo){.size_bytes = sizeof *out_info,
                                .width = 4,
                                .height = 4,
                                .channel_count = 1,
                                .type = SORT_TEXEL_FLOAT,
                                .level_count = 1,
                                .subimage_count = 1,
                                .alpha_channel = -1,
                                .format_name = "odd"};
    return SORT_OK;
}

static SortResult read_texels(SortImage *image, const SortRegion *region, void *out_texels,
                              size_t out_bytes, SortFailure *why)
{
    float *texels = out_texels;
    (void)region, (void)why;
    for (size_t i = 0; i < out_bytes / sizeof *texels; ++i)
        texels[i] = 1.0f;
    if (strcmp(image->word, "nan") == 0)
        memset(texels + 5, 0xff, sizeof *texels);
    return SORT_OK;
}

static void close_image(SortImage *image)
{
    free(image);
}

static const char *const suffixes[] = {"odd", NULL};
static const SortImageDecoder decoder = {.size_bytes = sizeof decoder,
                                         .name = "odd",
                                         .suffixes = suffixes,
                                         .open = open_image,
                                         .level = level,
                                         .read = read_texels,
                                         .close = close_image};

const SortPlugin *sort_plugin_entry(const SortHostApi *api)
{
    static const SortPlugin plugin = {.size_bytes = sizeof plugin,
                                      .abi = SORT_PLUGIN_ABI,
                                      .name = "odd",
                                      .version = "1.0",
                                      .decoder = &decoder};
    (void)api;
    return &plugin;
}
