/* Claims the files that a scene is read from, so that no output goes over them. */
#include "sort/package/scene_parse.h"
#include "textures/texcache.h"
#include <string.h>

static Status claim_texture(FileClaims *claims, const char *path, Error *err)
{
    static const char role[] = "a texture of the scene";
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    if (!path) /* in a zip */
        return STATUS_OK;
    if (!texcache_is_udim(path))
        return file_claim_input(claims, role, path, err);
    if (texcache_udim_list(path, is_present, &count, NULL) != STATUS_OK)
        return STATUS_OK; /* opening it says why */
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i) {
        char member[PATH_BYTES];
        if (!is_present[i])
            continue;
        TRY(texcache_udim_path(path, i, member, sizeof member, err));
        TRY(file_claim_input(claims, role, member, err));
    }
    return STATUS_OK;
}

static Status claim_inside(const SceneParser *p, FileClaims *claims, const char *role,
                           const char *file, Error *err)
{
    char path[PATH_BYTES];
    TRY(path_join(package_path(p->package), file, path, err));
    return file_claim_input(claims, role, path, err);
}

Status scene_claim_files(const SceneParser *p, Error *err)
{
    FileClaims *claims = p->options->claims;
    if (!claims)
        return STATUS_OK;
    for (uint32_t i = 0; i < p->texture_paths.count; ++i)
        TRY(claim_texture(claims, p->texture_paths.data[i], err));
    if (package_is_zip(p->package))
        return file_claim_input(claims, "the scene", package_path(p->package), err);
    TRY(claim_inside(p, claims, "the scene", "scene.json", err));
    for (uint32_t i = 0; i < p->shaders.count; ++i)
        if (!p->shaders.data[i].is_unit)
            TRY(claim_inside(p, claims, "a shader of the scene", p->shaders.data[i].name, err));
    for (uint32_t i = 0; i < p->arrays.count; ++i) {
        const char *file = p->arrays.data[i].file;
        if (i == 0 || strcmp(file, p->arrays.data[i - 1].file) != 0)
            TRY(claim_inside(p, claims, "a file of the scene", file, err));
    }
    return STATUS_OK;
}
