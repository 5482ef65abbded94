#include "sort/package/scene_size.h"

static uint64_t limit_of(uint64_t stored_bytes)
{
    uint64_t most = (UINT64_MAX - SCENE_MEMORY_BYTES) / SCENE_MEMORY_FACTOR;
    return SCENE_MEMORY_BYTES + SCENE_MEMORY_FACTOR * (stored_bytes < most ? stored_bytes : most);
}

/* STATUS_LIMIT; `what` takes the memory. */
static Status refuse(const char *what, uint64_t bytes, uint64_t stored_bytes, Error *err)
{
    return error_set(err, STATUS_LIMIT,
                     "%s would take about %llu MB; a package of %llu bytes may take %llu MB: what "
                     "is meant to be large has arrays of its own, which are not shared and not "
                     "compressed",
                     what, (unsigned long long)(bytes / 1000000u), (unsigned long long)stored_bytes,
                     (unsigned long long)(limit_of(stored_bytes) / 1000000u));
}

Status scene_check_text(const Package *package, Str text, Error *err)
{
    uint64_t stored_bytes = package_is_zip(package) ? package_zip_bytes(package) : text.size_bytes;
    uint64_t bytes = json_tree_bytes(text);
    return bytes > limit_of(stored_bytes)
               ? refuse("the values of the description", bytes, stored_bytes, err)
               : STATUS_OK;
}

/* Each file counts once, however many arrays lie in it. What is not there is told when it is read. */
static Status count_stored(const SceneParser *p, uint64_t text_bytes, uint64_t *out_bytes,
                           Error *err)
{
    NameIndex files = {0};
    Status status = STATUS_OK;
    *out_bytes = package_is_zip(p->package) ? package_zip_bytes(p->package) : text_bytes;
    for (uint32_t i = 0; i < p->arrays.count && status == STATUS_OK && !package_is_zip(p->package);
         ++i) {
        uint32_t index;
        bool is_new;
        uint64_t size_bytes;
        const char *file = p->arrays.data[i].file;
        status = name_index_add(&files, file, &index, &is_new, err);
        if (status == STATUS_OK && is_new &&
            package_file_size(p->package, file, &size_bytes, NULL, NULL) == STATUS_OK)
            *out_bytes += size_bytes;
    }
    name_index_free(&files);
    return status;
}

/* Before the arrays are read, segments of curves are known as points. */
static uint64_t count_primitives(const Scene *scene)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < scene->mesh_count; ++i) {
        const SceneMesh *mesh = &scene->meshes[i];
        uint64_t keys = (uint64_t)mesh->later_count + 1;
        count += keys * (mesh->curves ? mesh->vertex_count : mesh->triangle_count);
    }
    return count;
}

Status scene_check_size(SceneParser *p, uint64_t text_bytes, Error *err)
{
    uint64_t stored_bytes, copies = p->scene->instance_count;
    TRY(count_stored(p, text_bytes, &stored_bytes, err));
    uint64_t limit = limit_of(stored_bytes);
    p->scene->memory_limit_bytes = limit;
    for (uint32_t i = 0; i < p->copies.count; ++i)
        copies += p->copies.data[i].count - 1;
    uint64_t instance_bytes = copies * SCENE_INSTANCE_BYTES,
             primitive_bytes = count_primitives(p->scene) * SCENE_PRIMITIVE_BYTES;
    if (instance_bytes > limit)
        return refuse("the instances with their copies", instance_bytes, stored_bytes, err);
    if (instance_bytes + primitive_bytes > limit)
        return refuse("the triangles and curves of all meshes", primitive_bytes, stored_bytes, err);
    return STATUS_OK;
}
