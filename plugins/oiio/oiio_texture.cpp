#include "plugins/oiio/oiio_texture.h"

#include <OpenImageIO/imagebuf.h>
#include <OpenImageIO/imagebufalgo.h>
#include <OpenImageIO/texture.h>
#include <vector>

using namespace OIIO;

struct OiioTextures {
    TextureSystem *system;
    std::vector<ustring> names;
    std::vector<TextureSystem::TextureHandle *> handles;
};

bool oiio_make_texture(const char *path, uint32_t size, const uint8_t *rgba)
{
    const int edge = static_cast<int>(size);
    ImageSpec spec(edge, edge, 4, TypeDesc::UINT8);
    ImageBuf image(spec, const_cast<uint8_t *>(rgba));
    ImageSpec config;
    config["maketx:wrap"] = "periodic";
    return ImageBufAlgo::make_texture(ImageBufAlgo::MakeTxTexture, image, path, config);
}

OiioTextures *oiio_textures_open(const char *const *paths, uint32_t count, float memory_mib)
{
    OiioTextures *t = new OiioTextures;
    t->system = TextureSystem::create(false);
    t->system->attribute("max_memory_MB", memory_mib);
    for (uint32_t i = 0; i < count; ++i) {
        t->names.push_back(ustring(paths[i]));
        t->handles.push_back(t->system->get_texture_handle(t->names[i]));
    }
    return t;
}

void oiio_textures_close(OiioTextures *t)
{
    TextureSystem::destroy(t->system);
    delete t;
}

float oiio_run(OiioTextures *t, OiioFilter filter, bool by_name, const uint32_t *files,
               const float (*coords)[6], uint32_t count)
{
    TextureOpt options;
    options.swrap = options.twrap = TextureOpt::WrapPeriodic;
    options.interpmode = TextureOpt::InterpBilinear;
    options.mipmode = filter == OIIO_BILINEAR    ? TextureOpt::MipModeOneLevel
                      : filter == OIIO_TRILINEAR ? TextureOpt::MipModeTrilinear
                                                 : TextureOpt::MipModeAniso;
    options.anisotropic = 16;
    TextureSystem::Perthread *thread = t->system->get_perthread_info();
    float sum = 0.0f;
    for (uint32_t i = 0; i < count; ++i) {
        const float *c = coords[i];
        uint32_t file = files ? files[i] : 0;
        float out[4];
        TextureOpt opt = options; /* a copy, since texture() changes it */
        if (by_name)
            t->system->texture(t->names[file], opt, c[0], c[1], c[2], c[3], c[4], c[5], 4, out);
        else
            t->system->texture(t->handles[file], thread, opt, c[0], c[1], c[2], c[3], c[4], c[5], 4,
                               out);
        sum += out[0];
    }
    return sum;
}
