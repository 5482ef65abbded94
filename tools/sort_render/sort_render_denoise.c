/* sort-render denoise: a picture that was rendered with --denoising-data, without its noise. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/image/exr_read.h"
#include "base/image/exr_write.h"
#include "base/image/png_write.h"
#include "tools/sort_render/render_command.h"
#include <stdio.h>
#include <string.h>

typedef struct DenoiseCommand {
    OutputCommand output;
    CliTextList plugin_paths;
    CliResult args;
} DenoiseCommand;

static bool parse(DenoiseCommand *c, int argc, char **argv, int *out_code)
{
    OutputCommand *o = &c->output;
    /* One option a line. */
    /* clang-format off */
    const CliOption options[] = {
        {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &o->output, .value_name = "FILE.exr", .help = "the layers of the picture, and the layer denoised; FILE.png: as with --png"},
        OUTPUT_COMMAND_DENOISER_OPTIONS(o),
        {.name = "plugin-path", .kind = CLI_TEXT_LIST, .is_folder = true, .out = &c->plugin_paths, .value_name = "DIR", .help = "folder to search for plugins; may be repeated"},
        {.name = "png", .kind = CLI_TEXT, .out = &o->png, .value_name = "FILE.png", .help = "a quick view of the denoised picture"},
        {.name = "exposure", .kind = CLI_FLOAT, .out = &o->exposure, .min = -64, .max = 64, .value_name = "STOPS", .help = "exposure of the PNG"},
        {.name = "view", .kind = CLI_CHOICE, .out = &o->curve, .choices = view_curve_names, .value_name = "CURVE", .help = "tone curve of the PNG"},
        {.name = "threads", .short_name = 't', .kind = CLI_U32, .out = &o->denoiser.thread_count, .min = 1, .max = 1024, .value_name = "N", .help = "worker threads; by default one per CPU"},
    };
    /* clang-format on */
    static const char *const examples[] = {
        "sort-render scene -o noisy.exr --spp 32 --denoising-data",
        "render a picture with what denoising takes",
        "sort-render denoise noisy.exr -o clean.exr --png clean.png", "add the layer denoised",
        NULL};
    const CliProgram program = {
        .name = "sort-render denoise",
        .usage = "[options] PICTURE.exr -o OUT.exr",
        .summary = "Removes the noise of a picture that was rendered with --denoising-data. The "
                   "result is a layer of its own, with the bits that --denoise gives.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 1, "PICTURE"),
        .examples = examples};
    return tool_parse(&program, argc, argv, &c->args, out_code);
}

static Status check_files(DenoiseCommand *c, Error *err)
{
    FileClaims claims = {0};
    c->output.denoises = true;
    c->output.denoiser.plugin_folders = c->plugin_paths.items;
    c->output.denoiser.plugin_folder_count = c->plugin_paths.count;
    TRY(output_command_sort(&c->output, err));
    Status status = output_command_claim(&c->output, &claims, err);
    if (status == STATUS_OK)
        status = file_claim_input(&claims, "the picture", c->args.args[0], err);
    file_claims_free(&claims);
    return status == STATUS_OK ? output_command_check(&c->output, err) : status;
}

/* Copies the channels of a layer, NULL: of the picture, side by side into out. */
static Status interleave(const ExrImage *image, const char *path, const char *layer,
                         const char *suffixes, float *out, Error *err)
{
    size_t count = (size_t)image->width * image->height, channels = strlen(suffixes);
    ASSERT(count > 0 && channels > 0);
    for (size_t c = 0; c < channels; ++c) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s%s%c", layer ? layer : "", layer ? "." : "",
                       suffixes[c]);
        const ExrImageChannel *channel = exr_image_channel(image, name);
        if (!channel)
            return error_set_at(err, STATUS_INVALID, path,
                                "has no channel %s: render it with --denoising-data", name);
        for (size_t i = 0; i < count; ++i)
            out[i * channels + c] = channel->data[i];
    }
    return STATUS_OK;
}

static bool has_layer(const ExrImage *image, const char *layer, const char *suffixes)
{
    for (; *suffixes; ++suffixes) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s.%c", layer, *suffixes);
        if (!exr_image_channel(image, name))
            return false;
    }
    return true;
}

/* Returns the layer that holds an AOV. Open Image Denoise does with what there is, such as the guides of the first surface;
 * NULL: nothing. */
static const char *find_layer(const ExrImage *image, FilmAov aov, const RenderDenoiser *denoiser)
{
    const FilmAovInfo *info = film_aov_info(aov);
    const char *other = aov == FILM_AOV_DENOISING_ALBEDO   ? "albedo"
                        : aov == FILM_AOV_DENOISING_NORMAL ? "normal"
                                                           : "";
    if (!denoiser->is_oidn || has_layer(image, info->name, info->suffixes))
        return info->name;
    return has_layer(image, other, info->suffixes) ? other : NULL;
}

/* Makes the denoised picture of what the layers hold; *out_rgba is the caller's. */
static Status denoise(const ExrImage *image, const char *path, const RenderDenoiser *denoiser,
                      float **out_rgba, Error *err)
{
    size_t count = (size_t)image->width * image->height, floats = 4;
    RenderNoisy noisy = {.width = image->width, .height = image->height};
    for (int a = FILM_AOV_DENOISING_ALBEDO; a <= FILM_AOV_DENOISING_ODD_DEPTH; ++a)
        floats += film_aov_info((FilmAov)a)->channel_count;
    float *all = mem_alloc(count, floats * sizeof *all), *at = all;
    if (!all)
        return error_set_at(err, STATUS_NO_MEMORY, path, "no memory to denoise it");
    Status status = interleave(image, path, NULL, "RGBA", at, err);
    const ExrImageChannel *red = exr_image_channel(image, "R");
    noisy.is_half = red && red->is_half;
    noisy.rgba = at;
    at += 4 * count;
    for (int a = FILM_AOV_DENOISING_ALBEDO;
         a <= FILM_AOV_DENOISING_ODD_DEPTH && status == STATUS_OK; ++a) {
        const FilmAovInfo *info = film_aov_info((FilmAov)a);
        const char *layer = find_layer(image, (FilmAov)a, denoiser);
        if (!layer)
            continue;
        status = interleave(image, path, layer, info->suffixes, at, err);
        noisy.aovs[a - FILM_AOV_DENOISING_ALBEDO] = at;
        at += count * info->channel_count;
    }
    if (status == STATUS_OK)
        status = render_denoise(denoiser, &noisy, out_rgba, err);
    mem_free(all);
    return status;
}

/* The picture's channels and attributes, and the layer: in place of an older one. */
static Status write_exr(const ExrImage *image, const float *rgba, const char *path, Error *err)
{
    static const char *const layer[] = {"denoised.R", "denoised.G", "denoised.B", "denoised.A"};
    uint32_t count = 0;
    ExrChannel *channels = MEM_ARRAY(ExrChannel, (size_t)image->channel_count + 4);
    ExrMetadata *metadata = MEM_ARRAY(ExrMetadata, (size_t)image->metadata_count + 1);
    Status status = STATUS_NO_MEMORY;
    if (channels && metadata) {
        const ExrImageChannel *red = exr_image_channel(image, "R");
        ExrPixelType type = red && red->is_half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT;
        for (uint32_t i = 0; i < image->channel_count; ++i) {
            const ExrImageChannel *from = &image->channels[i];
            if (strncmp(from->name, "denoised.", strlen("denoised.")) != 0)
                channels[count++] = (ExrChannel){
                    from->name, from->is_half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT, from->data, 1};
        }
        ASSERT(count <= image->channel_count);
        for (uint32_t c = 0; c < 4; ++c)
            channels[count++] = (ExrChannel){layer[c], type, rgba + c, 4};
        for (uint32_t i = 0; i < image->metadata_count; ++i)
            metadata[i] = (ExrMetadata){.type = EXR_ATTRIBUTE_RAW,
                                        .name = image->metadata[i].name,
                                        .type_name = image->metadata[i].type,
                                        .value = image->metadata[i].value,
                                        .size_bytes = image->metadata[i].size_bytes};
        const ExrWriteDesc desc = {.size_bytes = sizeof desc,
                                   .width = image->width,
                                   .height = image->height,
                                   .x = (uint32_t)image->x,
                                   .y = (uint32_t)image->y,
                                   .frame_width = image->frame_width,
                                   .frame_height = image->frame_height,
                                   .channels = channels,
                                   .channel_count = count,
                                   .metadata = metadata,
                                   .metadata_count = image->metadata_count,
                                   .pixel_aspect = image->pixel_aspect,
                                   .compression = EXR_ZIP};
        status = exr_write(path, &desc, err);
    } else {
        status = error_set_at(err, status, path, "out of memory writing the picture");
    }
    mem_free(channels);
    mem_free(metadata);
    return status;
}

static Status write_png(const ExrImage *image, const float *rgba, const OutputCommand *o,
                        Error *err)
{
    ViewTransform view = {(ViewCurve)o->curve, (float)o->exposure};
    size_t count = (size_t)image->width * image->height;
    uint8_t *rgb = mem_alloc(count, 3);
    if (!rgb)
        return error_set_at(err, STATUS_NO_MEMORY, o->png, "out of memory writing the picture");
    view_transform_rgb(&view, rgba, 4, count, rgb);
    Status status = png_write(o->png, image->width, image->height, 3, rgb, err);
    mem_free(rgb);
    return status;
}

int denoise_main(int argc, char **argv)
{
    DenoiseCommand command = {0};
    int code;
    Error err = {0};
    ExrImage *image = NULL;
    float *rgba = NULL;
    if (!parse(&command, argc, argv, &code))
        return code;
    if (check_files(&command, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_USAGE);
    const OutputCommand *o = &command.output;
    Status status = exr_read(command.args.args[0], &image, &err);
    if (status == STATUS_OK)
        status = denoise(image, command.args.args[0], &o->denoiser, &rgba, &err);
    if (status == STATUS_OK && o->exr)
        status = write_exr(image, rgba, o->exr, &err);
    if (status == STATUS_OK && o->png)
        status = write_png(image, rgba, o, &err);
    mem_free(rgba);
    exr_image_destroy(image);
    return status == STATUS_OK ? EXIT_DONE : tool_fail(&err, EXIT_FAILED);
}
