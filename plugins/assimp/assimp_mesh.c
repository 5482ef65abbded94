/* Converts an aiMesh to a SortMesh. Assimp has triangulated it, with one material for each mesh; v
 * runs up, for glTF as well, which Assimp flips. */
#include "plugins/assimp/assimp_import.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct aiVector3D) == 3 * sizeof(float),
               "Assimp was built with double precision");

typedef struct MeshArrays {
    uint32_t *indices; /* all pointers are owned */
    float *uv, *tangents, *colors;
    uint32_t triangle_count;
} MeshArrays;

static void free_arrays(MeshArrays *a)
{
    free(a->indices);
    free(a->uv);
    free(a->tangents);
    free(a->colors);
}

static bool copy_triangles(const struct aiMesh *mesh, MeshArrays *a)
{
    a->indices = malloc((size_t)mesh->mNumFaces * 3 * sizeof *a->indices);
    if (!a->indices)
        return false;
    for (unsigned i = 0; i < mesh->mNumFaces; ++i) {
        const struct aiFace *face = &mesh->mFaces[i];
        if (face->mNumIndices != 3)
            continue;
        for (unsigned k = 0; k < 3; ++k)
            a->indices[a->triangle_count * 3 + k] = face->mIndices[k];
        ++a->triangle_count;
    }
    ASSERT(a->triangle_count <= mesh->mNumFaces);
    return true;
}

static bool copy_uv(const struct aiMesh *mesh, MeshArrays *a)
{
    const struct aiVector3D *uv = mesh->mTextureCoords[0];
    if (!uv || mesh->mNumUVComponents[0] < 2)
        return true;
    a->uv = malloc((size_t)mesh->mNumVertices * 2 * sizeof *a->uv);
    for (unsigned i = 0; a->uv && i < mesh->mNumVertices; ++i) {
        a->uv[2 * (size_t)i] = uv[i].x;
        a->uv[2 * (size_t)i + 1] = uv[i].y;
    }
    return a->uv != NULL;
}

/* Only the handedness of the bitangent is kept, as a sign. */
static bool copy_tangents(const struct aiMesh *mesh, MeshArrays *a)
{
    const struct aiVector3D *t = mesh->mTangents, *b = mesh->mBitangents, *n = mesh->mNormals;
    if (!t || !b || !n)
        return true;
    a->tangents = malloc((size_t)mesh->mNumVertices * 4 * sizeof *a->tangents);
    for (unsigned i = 0; a->tangents && i < mesh->mNumVertices; ++i) {
        float side = (n[i].y * t[i].z - n[i].z * t[i].y) * b[i].x +
                     (n[i].z * t[i].x - n[i].x * t[i].z) * b[i].y +
                     (n[i].x * t[i].y - n[i].y * t[i].x) * b[i].z;
        float tangent[4] = {t[i].x, t[i].y, t[i].z, side < 0 ? -1.0f : 1.0f};
        memcpy(a->tangents + (size_t)4 * i, tangent, sizeof tangent);
    }
    return a->tangents != NULL;
}

/* Decodes sRGB [IEC 61966-2-1]. */
static float linear_of_srgb(float v)
{
    return v <= 0.04045f ? v / 12.92f : powf((v + 0.055f) / 1.055f, 2.4f);
}

/* Copies vertex colours, which are linear in glTF. Other formats do not specify; programs that write bytes mean
 * display values. Assimp leaves alpha 0 if glTF has three components. */
static bool copy_colors(const AssimpImport *import, const struct aiMesh *mesh, MeshArrays *a)
{
    const struct aiColor4D *c = mesh->mColors[0];
    bool has_alpha = false;
    if (!c)
        return true;
    a->colors = malloc((size_t)mesh->mNumVertices * 4 * sizeof *a->colors);
    for (unsigned i = 0; i < mesh->mNumVertices; ++i)
        has_alpha = has_alpha || c[i].a != 0;
    for (unsigned i = 0; a->colors && i < mesh->mNumVertices; ++i) {
        float *to = a->colors + (size_t)4 * i, rgb[3] = {c[i].r, c[i].g, c[i].b};
        for (int k = 0; k < 3; ++k)
            to[k] = import->is_gltf ? rgb[k] : linear_of_srgb(rgb[k]);
        to[3] = has_alpha ? c[i].a : 1;
    }
    return a->colors != NULL;
}

static SortResult send_mesh(AssimpImport *import, const struct aiMesh *mesh, uint32_t *out_id)
{
    uint32_t material;
    SortResult result = assimp_material(import, mesh->mMaterialIndex, &material);
    if (result != SORT_OK)
        return result;
    MeshArrays a = {0};
    if (!copy_triangles(mesh, &a) || !copy_uv(mesh, &a) || !copy_tangents(mesh, &a) ||
        !copy_colors(import, mesh, &a)) {
        free_arrays(&a);
        return assimp_fail(import, SORT_ERROR_NO_MEMORY, "out of memory");
    }
    if (a.triangle_count == 0) {
        free_arrays(&a);
        *out_id = ASSIMP_NO_ID;
        return SORT_OK;
    }
    if (mesh->mNumBones > 0 || mesh->mNumAnimMeshes > 0)
        assimp_warn(import,
                    "mesh '%s': bones and morph targets are left out; it keeps its rest shape",
                    mesh->mName.data);
    ASSERT(a.indices && material != ASSIMP_NO_ID);
    SortMesh m = {.size_bytes = sizeof m,
                  .name = mesh->mName.data,
                  .vertex_count = mesh->mNumVertices,
                  .triangle_count = a.triangle_count,
                  .positions = &mesh->mVertices[0].x,
                  .normals = mesh->mNormals ? &mesh->mNormals[0].x : NULL,
                  .tangents = a.tangents,
                  .uv = a.uv,
                  .colors = a.colors,
                  .indices = a.indices,
                  .material = material};
    result = import->sink->mesh(import->sink->sink, &m, out_id);
    free_arrays(&a);
    return result;
}

SortResult assimp_mesh(AssimpImport *import, uint32_t index, uint32_t *out_id)
{
    SortResult result = SORT_OK;
    const struct aiMesh *mesh = import->scene->mMeshes[index];
    bool has_triangles = (mesh->mPrimitiveTypes & aiPrimitiveType_TRIANGLE) && mesh->mNumVertices;
    if (import->mesh_ids[index] == ASSIMP_NO_ID && has_triangles)
        result = send_mesh(import, mesh, &import->mesh_ids[index]);
    *out_id = import->mesh_ids[index];
    return result;
}
