/* scene_load: the steps of loading, one after the other.
 *
 *   open the package -> parse scene.json -> read all arrays (parallel) -> check meshes (parallel)
 *   -> check instances against meshes -> extract textures of a zip (parallel) -> done */
#include "sort/scene/scene.h"

#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/file.h"
#include "base/thread.h"
#include "sort/package/scene_load.h"
#include "sort/package/scene_parse.h"
#include "sort/package/scene_size.h"
#include "sort/scene/scene_storage.h"
#include <stdio.h>
#include <string.h>

/* The first failure of a parallel step, by index, whatever the number of threads. */
typedef struct FirstError {
    Mutex mutex;
    Status status;
    uint32_t index;
    Error error;
} FirstError;

static void first_error_report(FirstError *f, uint32_t index, Status status, const Error *error)
{
    mutex_lock(&f->mutex);
    if (f->status == STATUS_OK || index < f->index) {
        f->status = status;
        f->index = index;
        f->error = *error;
    }
    mutex_unlock(&f->mutex);
}

/* Puts the name of the description in front of a message that starts with a field, or with a file beside it. */
static Status refuse(const char *name, Status status, Error *err)
{
    if (status == STATUS_OK || !err)
        return status;
    (void)error_within(err, name);
    return status;
}

/* --- arrays and meshes ---------------------------------------------------------------------- */

static void assign_arrays(SceneParser *p)
{
    for (uint32_t i = 0; i < p->arrays.count; ++i) {
        const ArrayRequest *r = &p->arrays.data[i];
        if ((MeshArray)r->tag == COPY_TRANSFORMS) {
            p->copies.data[r->mesh].rows = r->data;
            continue;
        }
        SceneMesh *mesh = &p->meshes[r->mesh];
        switch ((MeshArray)r->tag) {
        case MESH_POSITIONS:
            mesh->positions = r->data;
            break;
        case MESH_INDICES:
            mesh->indices = r->data;
            break;
        case MESH_NORMALS:
            mesh->normals = r->data;
            break;
        case MESH_TANGENTS:
            mesh->tangents = r->data;
            break;
        case MESH_UV:
            mesh->uv[r->set] = r->data;
            break;
        case MESH_ATTRIBUTE:
            ((SceneAttribute *)cast_away_const(mesh->attributes))[r->set].values = r->data;
            break;
        case MESH_LATER_POSITIONS:
            ((SceneMeshKey *)cast_away_const(mesh->later))[r->set].positions = r->data;
            break;
        case MESH_LATER_NORMALS:
            ((SceneMeshKey *)cast_away_const(mesh->later))[r->set].normals = r->data;
            break;
        case MESH_NEIGHBOUR_POSITIONS:
            mesh->neighbours[r->set] = r->data;
            break;
        case MESH_MATERIAL_INDICES:
            mesh->material_indices = r->data;
            break;
        case CURVE_POINTS:
            ((SceneCurves *)cast_away_const(mesh->curves))->points = r->data;
            break;
        case CURVE_POINT_COUNTS:
            ((SceneCurves *)cast_away_const(mesh->curves))->point_counts = r->data;
            break;
        case CURVE_LATER_POINTS:
            ((const float **)cast_away_const(mesh->curves->later))[r->set] = r->data;
            break;
        case COPY_TRANSFORMS:
            UNREACHABLE();
        }
    }
}

typedef struct MeshCheck {
    const Scene *scene;
    uint32_t *largest_slot; /* [mesh_count], out */
    FirstError first;
} MeshCheck;

/* Stored with few digits is fine; forgotten to normalise is not. Zero says that there is none. */
static bool is_unit_or_zero(const float *v)
{
    float length2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    return (length2 > 0.98f && length2 < 1.02f) || length2 == 0.0f;
}

static Status refuse_normal(uint32_t mesh, uint32_t key, size_t vertex, Error *err)
{
    char later[32] = "";
    if (key > 0)
        snprintf(later, sizeof later, "motion[%u].", key - 1);
    return error_set(err, STATUS_FORMAT,
                     "meshes[%u].%snormals: the normal of vertex %zu is neither of unit length nor "
                     "zero",
                     mesh, later, vertex);
}

static Status check_mesh_arrays(const SceneMesh *mesh, uint32_t index, Error *err)
{
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; ++i) {
        if (mesh->indices[i] >= mesh->vertex_count)
            return error_set(err, STATUS_FORMAT,
                             "meshes[%u].indices: triangle %zu names vertex %u, but the mesh has "
                             "%u vertices",
                             index, i / 3, mesh->indices[i], mesh->vertex_count);
    }
    for (uint32_t key = 0; mesh->normals && key <= mesh->later_count; ++key) {
        const float *normals = key == 0 ? mesh->normals : mesh->later[key - 1].normals;
        for (size_t i = 0; i < mesh->vertex_count; ++i) {
            if (!is_unit_or_zero(&normals[3 * i]))
                return refuse_normal(index, key, i, err);
        }
    }
    for (size_t i = 0; mesh->tangents && i < mesh->vertex_count; ++i) {
        const float *t = &mesh->tangents[4 * i];
        if (!is_unit_or_zero(t) || (t[3] != 1.0f && t[3] != -1.0f))
            return error_set(err, STATUS_FORMAT,
                             "meshes[%u].tangents: the tangent of vertex %zu is neither of unit "
                             "length nor zero, or its w not 1 or -1",
                             index, i);
    }
    return STATUS_OK;
}

static void check_mesh(void *data, uint32_t index)
{
    MeshCheck *check = data;
    const SceneMesh *mesh = &check->scene->meshes[index];
    Error error = {0};
    Status status = check_mesh_arrays(mesh, index, &error);
    if (status != STATUS_OK)
        first_error_report(&check->first, index, status, &error);
    uint32_t largest = 0, count = mesh->curves ? mesh->curves->curve_count : mesh->triangle_count;
    for (size_t i = 0; mesh->material_indices && i < count; ++i)
        largest = mesh->material_indices[i] > largest ? mesh->material_indices[i] : largest;
    check->largest_slot[index] = largest;
}

/* Every slot that the mesh uses has a material. */
static Status check_instances(const Scene *scene, const uint32_t *largest_slot, Error *err)
{
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        if (largest_slot[instance->mesh] >= instance->material_count)
            return error_set(err, STATUS_FORMAT,
                             "instances: the materials of '%s' have %u entries, but %s '%s' uses "
                             "material index %u",
                             instance->name, instance->material_count,
                             scene->meshes[instance->mesh].curves ? "curves" : "mesh",
                             scene->meshes[instance->mesh].name, largest_slot[instance->mesh]);
    }
    return STATUS_OK;
}

static Status check_meshes(const Scene *scene, uint32_t thread_count, Error *err)
{
    if (scene->mesh_count == 0)
        return STATUS_OK;
    MeshCheck check = {.scene = scene, .largest_slot = MEM_ARRAY(uint32_t, scene->mesh_count)};
    if (!check.largest_slot)
        return error_set(err, STATUS_NO_MEMORY, "no memory to check %u meshes", scene->mesh_count);
    mutex_init(&check.first.mutex);
    parallel_for(thread_count, scene->mesh_count, check_mesh, &check);
    mutex_destroy(&check.first.mutex);
    Status status = check.first.status;
    if (status != STATUS_OK && err)
        *err = check.first.error;
    if (status == STATUS_OK)
        status = check_instances(scene, check.largest_slot, err);
    mem_free(check.largest_slot);
    return status;
}

static Status finish_curves(SceneParser *p, Error *err)
{
    for (uint32_t i = p->triangle_mesh_count; i < p->scene->mesh_count; ++i)
        TRY(curves_finish(p->arena, &p->meshes[i], i - p->triangle_mesh_count, err));
    return STATUS_OK;
}

/* --- textures of a zip ---------------------------------------------------------------------- */

typedef struct ExtractJobs {
    SceneParser *parser;
    const char *folder;
    FirstError first;
} ExtractJobs;

static void extract_texture(void *data, uint32_t index)
{
    ExtractJobs *jobs = data;
    const TextureExtract *extract = &jobs->parser->extracts.data[index];
    Error error = {0}, told = {0};
    char path[PATH_BYTES];
    Status status =
        package_extract(jobs->parser->package, extract->file, jobs->folder, path, &error);
    if (status != STATUS_OK) {
        error_set(&told, status, "%s: '%s': %s%s%s", extract->field, extract->file, error.path,
                  error.path[0] ? ": " : "", error.text);
        first_error_report(&jobs->first, index, status, &told);
    }
}

static Status extract_textures(SceneParser *p, SceneStorage *storage, Error *err)
{
    uint32_t count = p->extracts.count;
    if (count == 0)
        return STATUS_OK;
    const char *folder = p->options->extract_folder;
    if (folder) {
        TRY(file_make_directories(folder, err));
    } else {
        TRY(temp_folder_create("textures", &storage->extracted, err));
        folder = storage->extracted.path;
    }
    ExtractJobs jobs = {.parser = p, .folder = folder};
    mutex_init(&jobs.first.mutex);
    parallel_for(p->options->thread_count, count, extract_texture, &jobs);
    mutex_destroy(&jobs.first.mutex);
    Status status = jobs.first.status;
    if (status != STATUS_OK && err)
        *err = jobs.first.error;
    for (uint32_t i = 0; status == STATUS_OK && i < count; ++i) {
        const TextureExtract *extract = &p->extracts.data[i];
        char path[PATH_BYTES];
        status = path_join(folder, extract->texture, path, err);
        const char *copy = status == STATUS_OK ? arena_strndup(p->arena, path, strlen(path)) : NULL;
        if (status == STATUS_OK && !copy)
            status = error_set(err, STATUS_NO_MEMORY, "no memory for a path");
        p->texture_paths.data[extract->file_id] = copy;
    }
    for (uint32_t i = 0; i < p->textures.count; ++i)
        p->textures.data[i].path = p->texture_paths.data[p->texture_file.data[i]];
    return status;
}

/* --- all of it ------------------------------------------------------------------------------ */

static uint64_t array_bytes_max(const SceneParser *p)
{
    uint64_t limit = p->scene->memory_limit_bytes, machine = mem_machine_bytes();
    uint64_t asked = p->options->array_bytes_max ? p->options->array_bytes_max : machine;
    return asked < limit ? asked : limit;
}

/* Reads the description, `name`, and claims what it names. */
static Status describe(SceneParser *p, char name[PATH_BYTES], Error *err)
{
    char *text;
    size_t size_bytes;
    TRY(path_join(package_path(p->package), "scene.json", name, err));
    TRY(refuse(
        name, package_read(p->package, "scene.json", SCENE_JSON_BYTES_MAX, &text, &size_bytes, err),
        err));
    Status status = refuse(name, scene_check_text(p->package, (Str){text, size_bytes}, err), err);
    if (status == STATUS_OK)
        status = scene_parse(p, name, (Str){text, size_bytes}, err);
    mem_free(text);
    TRY(status);
    TRY(scene_claim_files(p, err));
    return refuse(name, scene_check_size(p, size_bytes, err), err);
}

static Status load(SceneParser *p, SceneStorage *storage, Error *err)
{
    char name[PATH_BYTES];
    Scene *scene = p->scene;
    TRY(describe(p, name, err));
    ArrayBlocks blocks;
    const ArrayReading how = {.max_bytes = array_bytes_max(p),
                              .thread_count = p->options->thread_count,
                              .store = p->options->arrays};
    TRY(refuse(name,
               package_arrays_read(p->package, p->arrays.data, p->arrays.count, &how, &blocks, err),
               err));
    storage->arrays = p->options->arrays;
    storage->blocks = blocks.blocks;
    storage->block_count = blocks.count;
    scene->array_bytes = blocks.size_bytes;
    assign_arrays(p);
    TRY(refuse(name, instances_finish(p, err), err));
    TRY(refuse(name, check_meshes(scene, p->options->thread_count, err), err));
    TRY(refuse(name, finish_curves(p, err), err));
    TRY(refuse(name, extract_textures(p, storage, err), err));

    scene->shaders = p->shaders.data;
    scene->shader_count = p->shaders.count;
    scene->textures = p->textures.data;
    scene->texture_count = p->textures.count;
    return STATUS_OK;
}

/* out_scene: NULL: the description alone is read. */
static Status open_scene(const char *path, const SceneLoadOptions *options, Scene **out_scene,
                         Error *err)
{
    static const SceneLoadOptions defaults = {.size_bytes = sizeof defaults};
    CHECK(!options || options->size_bytes == sizeof *options);
    SceneParser parser = {.options = options ? options : &defaults};
    TRY(package_open(path, &parser.package, err));
    parser.arena = arena_create(0, 0);
    parser.scene = parser.arena ? ARENA_NEW(parser.arena, Scene) : NULL;
    SceneStorage *storage = parser.scene ? ARENA_NEW(parser.arena, SceneStorage) : NULL;
    char name[PATH_BYTES];
    Status status;
    if (storage) {
        storage->arena = parser.arena;
        parser.scene->storage = storage;
        status = out_scene ? load(&parser, storage, err) : describe(&parser, name, err);
    } else {
        status = error_set(err, STATUS_NO_MEMORY, "no memory for a scene");
    }
    scene_parser_free(&parser);
    package_close(parser.package);
    if (status == STATUS_OK && out_scene)
        *out_scene = parser.scene;
    else if (storage)
        scene_destroy(parser.scene);
    else
        arena_destroy(parser.arena);
    return status;
}

Status scene_load(const char *path, const SceneLoadOptions *options, Scene **out_scene, Error *err)
{
    *out_scene = NULL;
    return open_scene(path, options, out_scene, err);
}

Status scene_claim(const char *path, const SceneLoadOptions *options, Error *err)
{
    CHECK(options && options->claims);
    return open_scene(path, options, NULL, err);
}
