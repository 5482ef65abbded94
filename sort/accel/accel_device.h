/* Embree's device, what it takes, and its first error. Private to sort/accel. */
#ifndef SORT_ACCEL_ACCEL_DEVICE_H
#define SORT_ACCEL_ACCEL_DEVICE_H

#include "base/thread.h"
#include <embree3/rtcore.h>
#include <stdatomic.h>

/* It stays where it is while it is open: callbacks refer to it. */
typedef struct AccelDevice {
    RTCDevice device;
    _Atomic int64_t embree_bytes;
    /* The first error that Embree reported since accel_device_forget. */
    Mutex error_mutex;
    enum RTCError error_code;
    char error_text[256];
} AccelDevice;

/* Returns Embree's name for the instructions of a baseline, such as "x86-64-v3"; NULL: it is none. */
const char *accel_baseline_isa(const char *cpu_class);

/* thread_count and cpu_class: as in AccelDesc. On an error accel_device_close is still required. */
Status accel_device_open(AccelDevice *d, uint32_t thread_count, const char *cpu_class,
                         Error *err) SORT_MUST_CHECK;
void accel_device_close(AccelDevice *d);
/* The error that Embree reported, as one of `step`. */
Status accel_device_status(AccelDevice *d, const char *step, Error *err) SORT_MUST_CHECK;
void accel_device_no_memory(AccelDevice *device);
void accel_device_forget(AccelDevice *d);
/* Returns a scene of which every hierarchy is one; NULL: Embree has said why. */
RTCScene accel_device_scene(const AccelDevice *d);
/* Returns one that is built in a quarter of the time, if its geometries are of the quality RTC_BUILD_QUALITY_LOW; rays take half
 * as long again in it. */
RTCScene accel_device_rough_scene(const AccelDevice *d);

#endif
