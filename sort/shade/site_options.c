#include "sort/shade/site_options.h"
#include <string.h>

static TexWrap wrap_from_site(const char *word, TexWrap otherwise)
{
    static const char *const words[] = {"periodic", "clamp", "mirror", "black"};
    for (int i = 0; word && i < (int)SORT_COUNT_OF(words); ++i)
        if (strcmp(word, words[i]) == 0)
            return (TexWrap)(TEX_WRAP_PERIODIC + i);
    return otherwise;
}

static TexFilter filter_from_site(const char *word, TexFilter otherwise)
{
    static const char *const words[] = {"closest",    "bilinear",    "trilinear", "aniso",
                                        "stochastic", "catmull-rom", "bspline"};
    for (int i = 0; word && i < (int)SORT_COUNT_OF(words); ++i)
        if (strcmp(word, words[i]) == 0)
            return (TexFilter)(TEX_FILTER_CLOSEST + i);
    return otherwise;
}

void site_options_apply(const SslTextureSite *site, TexOptions *options)
{
    options->wrap_s = wrap_from_site(site->wrap_s, options->wrap_s);
    options->wrap_t = wrap_from_site(site->wrap_t, options->wrap_t);
    options->filter = filter_from_site(site->filter, options->filter);
    options->has_missing_color = site->has_missing_color;
    memcpy(options->missing_color, site->missing_color, sizeof options->missing_color);
}
