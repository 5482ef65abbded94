/* OpenImageIO behind oiio_shim.h: the only C++ of the project. */
#include "plugins/oiio/oiio_shim.h"
#include <cstdio>
#include <memory>
#include <new>
#include <OpenImageIO/imageio.h>
#include <string>

using namespace OIIO;

struct OiioFile {
    std::unique_ptr<ImageInput> input;
};

namespace
{

OiioResult fail(OiioResult result, const std::string &text, char *why)
{
    std::snprintf(why, OIIO_WHY_MAX, "%s", text.c_str());
    return result;
}

/* Runs `body`, which returns an OiioResult, and turns exceptions into results. */
template <typename Body> OiioResult guarded(char *why, Body body)
{
    try {
        why[0] = '\0';
        return body();
    } catch (const std::bad_alloc &) {
        return fail(OIIO_RESULT_NO_MEMORY, "out of memory", why);
    } catch (const std::exception &e) {
        return fail(OIIO_RESULT_FORMAT, e.what(), why);
    } catch (...) {
        return fail(OIIO_RESULT_FORMAT, "unknown C++ exception", why);
    }
}

OiioType type_of(const TypeDesc &type)
{
    switch (type.basetype) {
    case TypeDesc::UINT8:
        return OIIO_TYPE_U8;
    case TypeDesc::UINT16:
        return OIIO_TYPE_U16;
    case TypeDesc::HALF:
        return OIIO_TYPE_HALF;
    default:
        /* signed and wide integers and double: no smaller type here holds them */
        return OIIO_TYPE_FLOAT;
    }
}

/* Returns the least type that holds both without loss; u16 does not fit in a half. */
OiioType wider(OiioType a, OiioType b)
{
    if (a == b)
        return a;
    OiioType least = a < b ? a : b, most = a < b ? b : a;
    bool has_loss = most == OIIO_TYPE_HALF && least != OIIO_TYPE_HALF;
    return has_loss ? OIIO_TYPE_FLOAT : most;
}

TypeDesc desc_of(OiioType type)
{
    static const TypeDesc::BASETYPE bases[] = {TypeDesc::UINT8, TypeDesc::UINT16, TypeDesc::HALF,
                                               TypeDesc::FLOAT};
    return TypeDesc(bases[type]);
}

void describe(const ImageSpec &spec, OiioLevel *out)
{
    *out = OiioLevel();
    out->data_x = spec.x;
    out->data_y = spec.y;
    out->data_width = spec.width;
    out->data_height = spec.height;
    out->full_x = spec.full_x;
    out->full_y = spec.full_y;
    out->full_width = spec.full_width;
    out->full_height = spec.full_height;
    out->depth = spec.depth;
    out->tile_width = spec.tile_width;
    out->tile_height = spec.tile_height;
    out->channel_count = spec.nchannels;
    out->alpha_channel = spec.alpha_channel;
    out->is_rgb = spec.nchannels >= 3 && spec.channelnames[0] == "R" &&
                  spec.channelnames[1] == "G" && spec.channelnames[2] == "B";
    out->is_deep = spec.deep;
    out->is_float = spec.format.is_floating_point();
    out->is_unassociated = spec.get_int_attribute("oiio:UnassociatedAlpha", 0) != 0;
    out->type = type_of(spec.format);
    for (const TypeDesc &channel : spec.channelformats)
        out->type = wider(out->type, type_of(channel));
    out->gamma = spec.get_float_attribute("oiio:Gamma", 0.0f);
    out->orientation = spec.get_int_attribute("Orientation", 1);
    std::string space(spec.get_string_attribute("oiio:ColorSpace", ""));
    std::snprintf(out->color_space, sizeof out->color_space, "%s", space.c_str());
    std::string wrap(spec.get_string_attribute("wrapmodes", ""));
    std::snprintf(out->wrap, sizeof out->wrap, "%s", wrap.c_str());
}

void describe_profile(const ImageSpec &spec, OiioLevel *out)
{
    const ParamValue *profile = spec.find_attribute("ICCProfile");
    if (profile) {
        out->icc = profile->data();
        out->icc_bytes = static_cast<size_t>(profile->datasize());
    }
}

OiioResult read_failure(OiioFile *file, char *why)
{
    std::string text = file->input->geterror();
    return fail(OIIO_RESULT_FORMAT, text.empty() ? "pixels cannot be read" : text, why);
}

} // namespace

OiioResult oiio_open(const char *path, OiioFile **out_file, char why[OIIO_WHY_MAX])
{
    *out_file = nullptr;
    return guarded(why, [&]() -> OiioResult {
        ImageSpec hints;
        hints.attribute("oiio:UnassociatedAlpha", 1);
        auto file = std::make_unique<OiioFile>();
        file->input = ImageInput::open(path, &hints);
        if (!file->input) {
            std::string text = OIIO::geterror();
            return fail(OIIO_RESULT_OPEN, text.empty() ? "cannot be opened" : text, why);
        }
        *out_file = file.release();
        return OIIO_RESULT_OK;
    });
}

void oiio_close(OiioFile *file)
{
    char why[OIIO_WHY_MAX];
    guarded(why, [&]() -> OiioResult {
        delete file;
        return OIIO_RESULT_OK;
    });
}

const char *oiio_format_name(OiioFile *file)
{
    return file->input->format_name();
}

int oiio_subimage_count(OiioFile *file)
{
    char why[OIIO_WHY_MAX];
    int count = 0;
    guarded(why, [&]() -> OiioResult {
        count = file->input->spec(0, 0).get_int_attribute("oiio:subimages", 0);
        if (count <= 0)
            for (count = 1; file->input->seek_subimage(count, 0);)
                ++count;
        file->input->geterror(); /* discards the error of the seek past the end */
        return OIIO_RESULT_OK;
    });
    return count > 0 ? count : 1;
}

int oiio_level_count(OiioFile *file, int subimage)
{
    char why[OIIO_WHY_MAX];
    int count = 0;
    guarded(why, [&]() -> OiioResult {
        while (file->input->seek_subimage(subimage, count))
            ++count;
        file->input->geterror();
        return OIIO_RESULT_OK;
    });
    return count;
}

OiioResult oiio_level(OiioFile *file, int subimage, int level, OiioLevel *out_level,
                      char why[OIIO_WHY_MAX])
{
    return guarded(why, [&]() -> OiioResult {
        if (!file->input->seek_subimage(subimage, level))
            return read_failure(file, why);
        describe(file->input->spec(), out_level);
        describe_profile(file->input->spec(), out_level);
        return OIIO_RESULT_OK;
    });
}

OiioResult oiio_read_rows(OiioFile *file, const OiioBox *box, void *out, char why[OIIO_WHY_MAX])
{
    return guarded(why, [&]() -> OiioResult {
        bool ok = file->input->read_scanlines(box->subimage, box->level, box->y_begin, box->y_end,
                                              0, 0, box->channel_count, desc_of(box->type), out);
        return ok ? OIIO_RESULT_OK : read_failure(file, why);
    });
}

OiioResult oiio_read_tiles(OiioFile *file, const OiioBox *box, void *out, char why[OIIO_WHY_MAX])
{
    return guarded(why, [&]() -> OiioResult {
        bool ok = file->input->read_tiles(box->subimage, box->level, box->x_begin, box->x_end,
                                          box->y_begin, box->y_end, 0, 1, 0, box->channel_count,
                                          desc_of(box->type), out);
        return ok ? OIIO_RESULT_OK : read_failure(file, why);
    });
}

const char *oiio_version(void)
{
    return OIIO_VERSION_STRING;
}
