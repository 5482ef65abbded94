#include "sort/render/scene_closures.h"

#include "base/alloc.h"
#include "base/check.h"

Status scene_closures(const Scene *scene, ClosureList **out_list, Error *err)
{
    uint32_t count = 0;
    *out_list = NULL;
    SslSource *sources = MEM_ARRAY(SslSource, scene->shader_count + 1);
    if (!sources)
        return error_set(err, STATUS_NO_MEMORY, "out of memory reading shaders");
    for (uint32_t i = 0; i < scene->shader_count; ++i)
        if (!scene->shaders[i].is_unit)
            sources[count++] =
                (SslSource){.name = scene->shaders[i].name, .text = scene->shaders[i].text};
    Status status = closure_list_create(sources, count, out_list, err);
    ASSERT(status != STATUS_OK || closure_list_own_count(*out_list) == 0 || count > 0);
    mem_free(sources);
    return status;
}
