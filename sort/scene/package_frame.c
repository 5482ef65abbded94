/* A camera and a light for files that have none. */
#include "base/alloc.h"
#include "sort/scene/package_writer.h"

#define FOV_Y_DEG   35.0f
#define RAD_PER_DEG 0.01745329251994330f

typedef struct Corners {
    float3 *points; /* owned: eight for each instance, in world space */
    uint32_t count;
    float3 lo, hi;
} Corners;

static Status gather_corners(const PackageRecords *r, Corners *out, Error *err)
{
    *out = (Corners){.lo = f3_splat(INFINITY), .hi = f3_splat(-INFINITY)};
    out->points = MEM_ARRAY(float3, (size_t)r->instances.count * 8);
    if (!out->points)
        return package_no_memory(err);
    for (uint32_t i = 0; i < r->instances.count; i++) {
        const PackageInstance *instance = &r->instances.data[i];
        const PackageMesh *mesh = &r->meshes.data[instance->mesh];
        for (unsigned corner = 0; corner < 8; corner++) {
            float3 p = f3(corner & 1 ? mesh->box_hi.x : mesh->box_lo.x,
                          corner & 2 ? mesh->box_hi.y : mesh->box_lo.y,
                          corner & 4 ? mesh->box_hi.z : mesh->box_lo.z);
            p = mat4_point(&instance->transform, p);
            out->points[out->count++] = p;
            out->lo = f3(fminf(out->lo.x, p.x), fminf(out->lo.y, p.y), fminf(out->lo.z, p.z));
            out->hi = f3(fmaxf(out->hi.x, p.x), fmaxf(out->hi.y, p.y), fmaxf(out->hi.z, p.z));
        }
    }
    return STATUS_OK;
}

/* As near as all corners allow with a margin of a tenth: at distance d along the axis z of the view,
 * a corner (x, y, z) is inside when |y| <= (d - z) tan(fov/2), and so for x. */
static PackageCamera frame_corners(const Corners *c, float aspect)
{
    static const float margin = 0.9f;
    float3 centre = f3_scale(f3_add(c->lo, c->hi), 0.5f);
    float3 toward = f3_normalize(f3(0.45f, 0.35f, 1.0f));
    mat4 view = mat4_look_at(f3_add(centre, toward), centre, f3(0, 1, 0)), world_to_view;
    mat4_inverse(view, &world_to_view);
    float slope_y = margin * tanf(0.5f * FOV_Y_DEG * RAD_PER_DEG);
    float slope_x = slope_y * aspect;
    float distance = 0.0f;
    for (uint32_t i = 0; i < c->count; i++) {
        float3 v = mat4_vector(&world_to_view, f3_sub(c->points[i], centre));
        distance = fmaxf(distance, v.z + fmaxf(fabsf(v.y) / slope_y, fabsf(v.x) / slope_x));
    }
    if (!(distance > 0.0f))
        distance = 1.0f;
    return (PackageCamera){.transform =
                               mat4_look_at(f3_madd(centre, distance, toward), centre, f3(0, 1, 0)),
                           .fov_y_deg = FOV_Y_DEG};
}

Status package_make_up_camera(PackageWriter *w, Error *err)
{
    PackageRecords *r = &w->records;
    if (r->cameras.count > 0)
        return STATUS_OK;
    Corners corners;
    TRY(gather_corners(r, &corners, err));
    PackageCamera camera = frame_corners(&corners, (float)r->width_px / (float)r->height_px);
    mem_free(corners.points);
    camera.name = "made up";
    if (!mat4_is_finite(camera.transform))
        return error_set(err, STATUS_FORMAT, "the scene is too large to be framed");
    w->has_made_up_camera = true;
    log_warning(w->log, "the file has no camera; one was made up that frames everything");
    return array_push(w->arena, &r->cameras, camera) ? STATUS_OK : package_no_memory(err);
}

/* A soft environment, and a wide sun from the upper left of the front, so that shapes show. */
Status package_make_up_light(PackageWriter *w, Error *err)
{
    PackageRecords *r = &w->records;
    bool shines = r->lights.count > 0;
    for (uint32_t i = 0; !shines && i < r->instances.count; i++)
        shines = r->materials.data[r->meshes.data[r->instances.data[i].mesh].material].lights_scene;
    if (shines)
        return STATUS_OK;
    r->has_environment = true;
    r->environment_color = f3(0.45f, 0.5f, 0.6f);
    PackageLight sun = {.name = "made up",
                        .type = "distant",
                        .color_field = "irradiance",
                        .transform = mat4_look_at(f3(-0.6f, 1.0f, 0.7f), f3(0, 0, 0), f3(0, 1, 0)),
                        .color = f3(2.2f, 2.1f, 1.9f),
                        .angle_deg = 15};
    w->has_made_up_light = true;
    log_warning(w->log, "nothing lights the scene; a soft sky and a wide sun were made up");
    return array_push(w->arena, &r->lights, sun) ? STATUS_OK : package_no_memory(err);
}
