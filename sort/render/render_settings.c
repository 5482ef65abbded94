/* The settings by which pictures differ, as text: parts of a render are added only if these are equal, and are told which are not. */
#include "sort/render/render_state.h"

#include "base/check.h"
#include "sort/integrator/view.h"

void render_list_settings(const Render *r, StrBuf *out)
{
    const RenderOptions *o = &r->options;
    const WaveViewInfo *view = wave_view_info(r->shared.view);
    ASSERT(view);
    strbuf_printf(out, "integrator %s\n", view->name);
    strbuf_printf(out, "strategy %d\n", (int)r->shared.strategy);
    strbuf_printf(out, "sampler %s\n", sampler_name(r->shared.sampler.kind));
    scene_settings_list(&r->settings, out);
    strbuf_printf(out, "guiding_memory_bytes %llu\n",
                  r->settings.guiding != SCENE_GUIDING_OFF
                      ? (unsigned long long)render_guide_bytes(r)
                      : 0ull);
    strbuf_printf(out, "adaptive %.9g\n", (double)o->adaptive_error);
    strbuf_printf(out, "texture_filter %d\n", (int)o->texture_filter);
    strbuf_printf(out, "mip_mode %d\n", (int)o->mip);
    strbuf_printf(out, "mip_bias %.9g\n", (double)o->mip_bias);
    strbuf_printf(out, "mip_bias_by_depth");
    for (uint32_t d = 0; d < SHADE_BIAS_DEPTHS; ++d)
        strbuf_printf(out, "%c%.9g", d ? ',' : ' ', (double)o->depth_bias[d]);
    strbuf_printf(out, "\n");
}
