#include "sort/accel/accel_device.h"

#include "base/check.h"
#include <stdio.h>
#include <string.h>

static void on_error(void *data, enum RTCError code, const char *text)
{
    AccelDevice *d = data;
    mutex_lock(&d->error_mutex);
    if (d->error_code == RTC_ERROR_NONE) {
        d->error_code = code;
        snprintf(d->error_text, sizeof d->error_text, "%s", text ? text : "no reason given");
    }
    mutex_unlock(&d->error_mutex);
}

void accel_device_no_memory(AccelDevice *d)
{
    on_error(d, RTC_ERROR_OUT_OF_MEMORY, "no memory");
}

static bool on_memory(void *data, ssize_t bytes, bool post)
{
    SORT_UNUSED(post);
    AccelDevice *d = data;
    atomic_fetch_add_explicit(&d->embree_bytes, bytes, memory_order_relaxed);
    return true;
}

Status accel_device_status(AccelDevice *d, const char *step, Error *err)
{
    mutex_lock(&d->error_mutex);
    enum RTCError code = d->error_code;
    mutex_unlock(&d->error_mutex);
    if (code == RTC_ERROR_NONE)
        return STATUS_OK;
    Status status = code == RTC_ERROR_OUT_OF_MEMORY     ? STATUS_NO_MEMORY
                    : code == RTC_ERROR_UNSUPPORTED_CPU ? STATUS_UNSUPPORTED
                                                        : STATUS_INTERNAL;
    return error_set(err, status, "Embree, %s: %s", step, d->error_text);
}

void accel_device_forget(AccelDevice *d)
{
    mutex_lock(&d->error_mutex);
    d->error_code = RTC_ERROR_NONE;
    mutex_unlock(&d->error_mutex);
}

const char *accel_baseline_isa(const char *cpu_class)
{
    static const char *const rows[][2] = {{"x86-64", "sse2"},
                                          {"x86-64-v2", "sse4.2"},
                                          {"x86-64-v3", "avx2"},
                                          {"x86-64-v4", "avx512"}};
    for (uint32_t i = 0; cpu_class && i < SORT_COUNT_OF(rows); ++i) {
        if (strcmp(cpu_class, rows[i][0]) == 0)
            return rows[i][1];
    }
    return NULL;
}

Status accel_device_open(AccelDevice *d, uint32_t thread_count, const char *cpu_class, Error *err)
{
    char config[64] = "";
    const char *isa = accel_baseline_isa(cpu_class);
    int length = 0;
    ASSERT(!d->device);
    mutex_init(&d->error_mutex);
    if (thread_count > 0)
        length = snprintf(config, sizeof config, "threads=%u,", thread_count);
    if (isa)
        snprintf(config + length, sizeof config - (size_t)length, "isa=%s", isa);
    d->device = rtcNewDevice(config);
    if (!d->device)
        return error_set(err, STATUS_INTERNAL, "Embree cannot start: error %d",
                         (int)rtcGetDeviceError(NULL));
    rtcSetDeviceErrorFunction(d->device, on_error, d);
    rtcSetDeviceMemoryMonitorFunction(d->device, on_memory, d);
    if (!rtcGetDeviceProperty(d->device, RTC_DEVICE_PROPERTY_RAY_MASK_SUPPORTED))
        return error_set(err, STATUS_UNSUPPORTED, "this Embree was built without ray masks");
    return STATUS_OK;
}

void accel_device_close(AccelDevice *d)
{
    if (d->device)
        rtcReleaseDevice(d->device);
    d->device = NULL;
    mutex_destroy(&d->error_mutex);
}

static RTCScene new_scene(const AccelDevice *d, int more_flags, enum RTCBuildQuality quality)
{
    RTCScene scene = rtcNewScene(d->device);
    int flags = RTC_SCENE_FLAG_ROBUST | RTC_SCENE_FLAG_CONTEXT_FILTER_FUNCTION | more_flags;
    /* NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): flags are to be joined */
    rtcSetSceneFlags(scene, (enum RTCSceneFlags)flags);
    rtcSetSceneBuildQuality(scene, quality);
    return scene;
}

RTCScene accel_device_scene(const AccelDevice *d)
{
    return new_scene(d, RTC_SCENE_FLAG_NONE, RTC_BUILD_QUALITY_MEDIUM);
}

RTCScene accel_device_rough_scene(const AccelDevice *d)
{
    return new_scene(d, RTC_SCENE_FLAG_DYNAMIC, RTC_BUILD_QUALITY_LOW);
}
