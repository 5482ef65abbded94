/* EXR and PNG files, and the view transform. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/image/exr_read.h"
#include "base/image/exr_write.h"
#include "base/image/png_read.h"
#include "base/image/png_write.h"
#include "base/image/view_transform.h"
#include "base/srgb.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char folder[PATH_BYTES];

static int set_up(void **state)
{
    SORT_UNUSED(state);
    return file_make_temp_directory("test_image", folder, NULL) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    SORT_UNUSED(state);
    return file_remove_tree(folder, NULL) == STATUS_OK ? 0 : -1;
}

static const char *in_folder(const char *name)
{
    static char path[PATH_BYTES];
    assert_int_equal(path_join(folder, name, path, NULL), STATUS_OK);
    return path;
}

/* More than two bands, and a last one that is not full. */
enum { WIDTH = 53, HEIGHT = 150 };

static float rgb[HEIGHT][WIDTH][3];
static float depth[HEIGHT][WIDTH];
static const char long_name[] = "a_layer_with_a_name_of_more_than_31_bytes.R";

static void make_pixels(void)
{
    for (uint32_t y = 0; y < HEIGHT; ++y)
        for (uint32_t x = 0; x < WIDTH; ++x) {
            for (uint32_t c = 0; c < 3; ++c) {
                uint64_t h = hash_mix64((y * WIDTH + x) * 3u + c + 1);
                rgb[y][x][c] = (float)ldexp((double)(h >> 40), (int)(h & 15) - 30);
            }
            depth[y][x] = (float)y + (float)x / (float)WIDTH;
        }
    rgb[0][0][0] = INFINITY;
    rgb[0][1][0] = 1e30f;           /* infinite as a half */
    rgb[1][0][0] = 1.0f + 0x1p-11f; /* a tie: to even, so 1 */
    rgb[1][1][0] = 1.0f + 0x3p-11f; /* a tie: to even, so 1 + 2^-9 */
    depth[2][2] = NAN;
}

static ExrWriteDesc describe(ExrChannel channels[6], ExrMetadata metadata[2])
{
    make_pixels();
    channels[0] = (ExrChannel){"R", EXR_PIXEL_HALF, &rgb[0][0][0], 3};
    channels[1] = (ExrChannel){"G", EXR_PIXEL_HALF, &rgb[0][0][1], 3};
    channels[2] = (ExrChannel){"B", EXR_PIXEL_HALF, &rgb[0][0][2], 3};
    channels[3] = (ExrChannel){"depth.Z", EXR_PIXEL_FLOAT, &depth[0][0], 0};
    channels[4] = (ExrChannel){"albedo.R", EXR_PIXEL_FLOAT, &rgb[0][0][0], 3};
    channels[5] = (ExrChannel){long_name, EXR_PIXEL_HALF, &rgb[0][0][1], 3};
    metadata[0] = (ExrMetadata){.name = "sort.samples", .value = "64"};
    metadata[1] = (ExrMetadata){.name = "empty", .value = ""};
    return (ExrWriteDesc){.size_bytes = sizeof(ExrWriteDesc),
                          .width = WIDTH,
                          .height = HEIGHT,
                          .channels = channels,
                          .channel_count = 6,
                          .metadata = metadata,
                          .metadata_count = 2};
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_channel(const ExrImage *image, const char *name, const float *expected,
                          size_t stride, bool is_half)
{
    const ExrImageChannel *channel = exr_image_channel(image, name);
    assert_non_null(channel);
    assert_int_equal(channel->is_half, is_half);
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; ++i) {
        float value = expected[i * stride];
        if (is_half)
            value = half_to_float(half_from_float(value));
        assert_true(same_bits(channel->data[i], value));
    }
}

static void test_exr_round_trips(void **state)
{
    SORT_UNUSED(state);
    static const ExrCompression compressions[] = {EXR_ZIP, EXR_ZIPS, EXR_PIZ, EXR_RLE,
                                                  EXR_UNCOMPRESSED};
    const char *path = in_folder("a.exr");
    ExrChannel channels[6];
    ExrMetadata metadata[2];
    Error err = {0};
    for (size_t i = 0; i < SORT_COUNT_OF(compressions); ++i) {
        ExrWriteDesc desc = describe(channels, metadata);
        desc.compression = compressions[i];
        ExrImage *image;
        assert_int_equal(exr_write(path, &desc, &err), STATUS_OK);
        assert_int_equal(exr_read(path, &image, &err), STATUS_OK);
        assert_true(image->width == WIDTH && image->height == HEIGHT);
        assert_true(image->x == 0 && image->y == 0);
        assert_true(image->frame_width == WIDTH && image->frame_height == HEIGHT);
        assert_int_equal(image->channel_count, 6);
        for (uint32_t c = 1; c < image->channel_count; ++c)
            assert_true(strcmp(image->channels[c - 1].name, image->channels[c].name) < 0);
        check_channel(image, "R", &rgb[0][0][0], 3, true);
        check_channel(image, "G", &rgb[0][0][1], 3, true);
        check_channel(image, "B", &rgb[0][0][2], 3, true);
        check_channel(image, "albedo.R", &rgb[0][0][0], 3, false);
        check_channel(image, "depth.Z", &depth[0][0], 1, false);
        check_channel(image, long_name, &rgb[0][0][1], 3, true);
        assert_null(exr_image_channel(image, "A"));
        assert_string_equal(exr_image_text(image, "sort.samples"), "64");
        assert_string_equal(exr_image_text(image, "empty"), "");
        assert_null(exr_image_text(image, "other"));
        exr_image_destroy(image);
    }
}

/* What the reader gives of attributes makes the same file again. */
static void test_exr_keeps_attributes(void **state)
{
    SORT_UNUSED(state);
    static const char matrix[64] = "sixty-four bytes that are no text\0\1\2";
    ExrChannel channels[6];
    ExrMetadata metadata[4];
    ExrWriteDesc desc = describe(channels, metadata);
    metadata[2] =
        (ExrMetadata){.name = "shift", .type = EXR_ATTRIBUTE_RATIONAL, .integers = {-3, 7}};
    metadata[3] = (ExrMetadata){.name = "own",
                                .type = EXR_ATTRIBUTE_RAW,
                                .type_name = "m44f",
                                .value = matrix,
                                .size_bytes = sizeof matrix};
    desc.metadata_count = 4;
    desc.pixel_aspect = 1.5f;
    Error err = {0};
    ExrImage *image;
    assert_int_equal(exr_write(in_folder("given.exr"), &desc, &err), STATUS_OK);
    assert_int_equal(exr_read(in_folder("given.exr"), &image, &err), STATUS_OK);
    assert_true(image->pixel_aspect == 1.5f);
    assert_int_equal(image->metadata_count, 4);
    assert_null(exr_image_text(image, "own"));
    assert_string_equal(image->metadata[2].type, "rational");
    assert_memory_equal(image->metadata[3].value, matrix, sizeof matrix);
    for (uint32_t i = 0; i < 4; ++i)
        metadata[i] = (ExrMetadata){.name = image->metadata[i].name,
                                    .type = EXR_ATTRIBUTE_RAW,
                                    .type_name = image->metadata[i].type,
                                    .value = image->metadata[i].value,
                                    .size_bytes = image->metadata[i].size_bytes};
    desc.pixel_aspect = image->pixel_aspect;
    assert_int_equal(exr_write(in_folder("again.exr"), &desc, &err), STATUS_OK);
    char *given, *again;
    size_t given_bytes, again_bytes;
    assert_int_equal(file_read(in_folder("given.exr"), 1 << 24, &given, &given_bytes, &err), 0);
    assert_int_equal(file_read(in_folder("again.exr"), 1 << 24, &again, &again_bytes, &err), 0);
    assert_int_equal(given_bytes, again_bytes);
    assert_memory_equal(given, again, given_bytes);
    metadata[3].type_name = "";
    assert_int_equal(exr_write(in_folder("again.exr"), &desc, &err), STATUS_INVALID);
    mem_free(given);
    mem_free(again);
    exr_image_destroy(image);
}

static void test_exr_writes_crops(void **state)
{
    SORT_UNUSED(state);
    const char *path = in_folder("crop.exr");
    ExrChannel channels[6];
    ExrMetadata metadata[2];
    Error err = {0};
    ExrWriteDesc desc = describe(channels, metadata);
    ExrImage *image;
    desc.x = 20;
    desc.y = 300;
    desc.frame_width = 640;
    desc.frame_height = 480;
    assert_int_equal(exr_write(path, &desc, &err), STATUS_OK);
    assert_int_equal(exr_read(path, &image, &err), STATUS_OK);
    assert_true(image->width == WIDTH && image->height == HEIGHT);
    assert_true(image->x == 20 && image->y == 300);
    assert_true(image->frame_width == 640 && image->frame_height == 480);
    check_channel(image, "albedo.R", &rgb[0][0][0], 3, false);
    exr_image_destroy(image);
    desc.frame_height = 449;
    assert_int_equal(exr_write(path, &desc, &err), STATUS_INVALID);
    assert_string_equal(err.text,
                        "a crop of 53 x 150 pixels at 20, 300 lies outside its frame of 640 x 449");
    assert_string_equal(err.path, path);
}

static void test_exr_bytes_do_not_depend_on_threads(void **state)
{
    SORT_UNUSED(state);
    ExrChannel channels[6];
    ExrMetadata metadata[2];
    char *files[2];
    size_t sizes[2];
    const char *path = in_folder("t.exr");
    for (uint32_t i = 0; i < 2; ++i) {
        ExrWriteDesc desc = describe(channels, metadata);
        desc.thread_count = i ? 4 : 1;
        assert_int_equal(exr_write(path, &desc, NULL), STATUS_OK);
        assert_int_equal(file_read(path, 10000000, &files[i], &sizes[i], NULL), STATUS_OK);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(files[0], files[1], sizes[0]);
    mem_free(files[0]);
    mem_free(files[1]);
}

static void check_write_error(const ExrWriteDesc *desc, Status status, const char *text)
{
    Error err = {0};
    assert_int_equal(exr_write(in_folder("bad.exr"), desc, &err), status);
    assert_string_equal(err.text, text);
    assert_false(file_exists(in_folder("bad.exr")));
}

static void test_exr_write_refuses(void **state)
{
    SORT_UNUSED(state);
    ExrChannel channels[6];
    ExrMetadata metadata[2];
    ExrWriteDesc desc = describe(channels, metadata);
    desc.width = 0;
    check_write_error(&desc, STATUS_INVALID,
                      "a picture of 0 x 150 pixels (at most 65536 each way)");
    desc = describe(channels, metadata);
    desc.channel_count = 0;
    check_write_error(&desc, STATUS_INVALID, "0 channels (1 to 1024 are possible)");
    desc = describe(channels, metadata);
    channels[3].name = "G";
    check_write_error(&desc, STATUS_INVALID, "two channels are called 'G'");
    desc = describe(channels, metadata);
    channels[3].name = "";
    check_write_error(&desc, STATUS_INVALID, "a channel name must have 1 to 255 bytes");
    desc = describe(channels, metadata);
    metadata[1].name = "dataWindow";
    check_write_error(&desc, STATUS_INVALID,
                      "the attribute name 'dataWindow' has a meaning of its own in EXR files");
    desc = describe(channels, metadata);
    Error err = {0};
    assert_int_equal(exr_write(in_folder("gone/a.exr"), &desc, &err), STATUS_NOT_FOUND);
    assert_int_equal(exr_write("/dev/full", &desc, &err), STATUS_IO);
}

static void test_exr_write_survives_failing_allocations(void **state)
{
    SORT_UNUSED(state);
    ExrChannel channels[6];
    ExrMetadata metadata[2];
    uint64_t n = 1;
    for (;; ++n) {
        ExrWriteDesc desc = describe(channels, metadata);
        desc.thread_count = 1;
        Error err = {0};
        mem_fail_nth(n);
        Status status = exr_write(in_folder("oom.exr"), &desc, &err);
        mem_fail_nth(0);
        if (status == STATUS_OK)
            break;
        assert_int_equal(status, STATUS_NO_MEMORY);
        assert_int_equal(err.code, STATUS_NO_MEMORY);
        assert_false(file_exists(in_folder("oom.exr")));
    }
    assert_true(n > 8);
    for (n = 1;; ++n) {
        ExrImage *image;
        mem_fail_nth(n);
        Status status = exr_read(in_folder("oom.exr"), &image, NULL);
        mem_fail_nth(0);
        if (status == STATUS_OK) {
            exr_image_destroy(image);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
        assert_null(image);
    }
    assert_true(n > 8);
}

/* Bytes that were changed anywhere, also among the pixels, where the library has begun to allocate. */
static void test_exr_read_survives_noise(void **state)
{
    SORT_UNUSED(state);
    ExrChannel channels[6];
    ExrMetadata metadata[2];
    ExrWriteDesc desc = describe(channels, metadata);
    Error err = {0};
    char path[PATH_BYTES], *data;
    size_t size_bytes;
    uint32_t refused = 0;
    (void)snprintf(path, sizeof path, "%s", in_folder("noise.exr"));
    assert_int_equal(exr_write(path, &desc, &err), STATUS_OK);
    assert_int_equal(file_read(path, 1 << 24, &data, &size_bytes, &err), STATUS_OK);
    for (uint64_t k = 0; k < 400; ++k) {
        size_t at = size_bytes - 1 - hash_mix64(k) % (size_bytes / 2); /* behind the windows */
        char kept = data[at];
        ExrImage *image;
        data[at] = (char)(kept ^ (1 << k % 8));
        assert_int_equal(file_write_fleeting(path, data, size_bytes, &err), STATUS_OK);
        refused += exr_read(path, &image, &err) != STATUS_OK;
        exr_image_destroy(image);
        data[at] = kept;
    }
    assert_true(refused > 100);
    mem_free(data);
}

static void test_exr_read_refuses_damage(void **state)
{
    SORT_UNUSED(state);
    ExrChannel channels[6];
    ExrMetadata metadata[2];
    ExrWriteDesc desc = describe(channels, metadata);
    Error err = {0};
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", in_folder("damaged.exr"));
    ExrImage *image;
    char *data;
    size_t size_bytes;
    assert_int_equal(exr_write(path, &desc, &err), STATUS_OK);
    assert_int_equal(file_read(path, 10000000, &data, &size_bytes, &err), STATUS_OK);
    for (size_t cut = 0; cut < 700; cut += 7) { /* within the header */
        assert_int_equal(file_write(path, data, cut, &err), STATUS_OK);
        assert_int_equal(exr_read(path, &image, &err), STATUS_FORMAT);
        assert_null(image);
    }
    assert_int_equal(file_write(path, data, 4, &err), STATUS_OK);
    assert_int_equal(exr_read(path, &image, &err), STATUS_FORMAT);
    assert_string_equal(err.text, "not an EXR file");
    data[5] |= 0x10;
    assert_int_equal(file_write(path, data, size_bytes, &err), STATUS_OK);
    assert_int_equal(exr_read(path, &image, &err), STATUS_UNSUPPORTED);
    assert_string_equal(err.text, "files of several parts are not read");
    mem_free(data);
    assert_int_equal(exr_read(in_folder("none.exr"), &image, &err), STATUS_NOT_FOUND);
}

static void test_png_round_trips(void **state)
{
    SORT_UNUSED(state);
    static uint8_t pixels[31][17][4];
    const char *path = in_folder("a.png");
    Error err = {0};
    uint32_t width, height;
    uint8_t *back;
    for (uint32_t i = 0; i < sizeof pixels; ++i)
        ((uint8_t *)pixels)[i] = (uint8_t)hash_mix64(i);
    assert_int_equal(png_write(path, 17, 31, 4, &pixels[0][0][0], &err), STATUS_OK);
    assert_int_equal(png_read(path, &width, &height, &back, &err), STATUS_OK);
    assert_true(width == 17 && height == 31);
    assert_memory_equal(back, pixels, sizeof pixels);
    mem_free(back);

    assert_int_equal(png_write(path, 20, 31, 3, &pixels[0][0][0], &err), STATUS_OK);
    assert_int_equal(png_read(path, &width, &height, &back, &err), STATUS_OK);
    assert_true(width == 20 && height == 31);
    for (size_t i = 0; i < 20 * 31; ++i) {
        assert_memory_equal(back + 4 * i, (uint8_t *)pixels + 3 * i, 3);
        assert_int_equal(back[4 * i + 3], 255);
    }
    mem_free(back);

    char *data;
    size_t size_bytes;
    assert_int_equal(file_read(path, 100000, &data, &size_bytes, &err), STATUS_OK);
    assert_int_equal(file_write(path, data, size_bytes / 2, &err), STATUS_OK);
    mem_free(data);
    assert_int_equal(png_read(path, &width, &height, &back, &err), STATUS_FORMAT);
    assert_null(back);
    assert_int_equal(png_write(path, 0, 31, 3, &pixels[0][0][0], &err), STATUS_INVALID);
    assert_int_equal(png_write(path, 5, 5, 2, &pixels[0][0][0], &err), STATUS_INVALID);
    assert_int_equal(png_write("/dev/full", 17, 31, 4, &pixels[0][0][0], &err), STATUS_IO);
}

static void test_view_transform_curves(void **state)
{
    SORT_UNUSED(state);
    ViewTransform view = {.curve = VIEW_STANDARD};
    assert_true(view_transform_channel(&view, 0.5f) == srgb_from_linear(0.5f));
    assert_true(view_transform_channel(&view, 2.0f) == srgb_from_linear(1.0f));
    view.exposure_stops = -2;
    assert_true(view_transform_channel(&view, 2.0f) == srgb_from_linear(0.5f));
    assert_string_equal(view_curve_names[VIEW_FILMIC], "filmic");
    for (view.curve = VIEW_STANDARD; view.curve <= VIEW_FILMIC; ++view.curve) {
        view.exposure_stops = 1;
        float last = 0;
        for (float x = 1e-4f; x < 1e9f; x *= 1.1f) {
            float value = view_transform_channel(&view, x);
            assert_true(value >= last && value <= 1.0f);
            last = value;
        }
        const float odd[2][4] = {{INFINITY, -1, NAN, 0}, {0, 1e38f, -INFINITY, 0}};
        uint8_t out[6];
        view_transform_rgb(&view, odd[0], 4, 2, out);
        assert_memory_equal(out, ((uint8_t[]){255, 0, 0, 0, 255, 0}), 6);
    }
    view = (ViewTransform){.curve = VIEW_FILMIC};
    assert_true(fabsf(view_transform_channel(&view, 0.18f) - 0.411f) < 0.005f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exr_round_trips),
        cmocka_unit_test(test_exr_keeps_attributes),
        cmocka_unit_test(test_exr_writes_crops),
        cmocka_unit_test(test_exr_bytes_do_not_depend_on_threads),
        cmocka_unit_test(test_exr_write_refuses),
        cmocka_unit_test(test_exr_write_survives_failing_allocations),
        cmocka_unit_test(test_exr_read_survives_noise),
        cmocka_unit_test(test_exr_read_refuses_damage),
        cmocka_unit_test(test_png_round_trips),
        cmocka_unit_test(test_view_transform_curves),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
