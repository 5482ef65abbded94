/* The machines on which rays give the same bits. */
#ifndef SORT_ACCEL_ACCEL_CPU_H
#define SORT_ACCEL_ACCEL_CPU_H

enum { ACCEL_CPU_CLASS_BYTES = 64 };

/* Writes the class of this machine for code of a class of the compiler's (ssl_context_cpu_class). The class of a model is
 * that itself. To a baseline, such as "x86-64-v3", it adds a digest of the CPU's approximate reciprocals and inverse square roots:
 * Embree begins its divisions with them, and the instructions' definition only bounds their error, so that makers of CPUs have
 * different ones. Any thread. */
void accel_cpu_class(const char *compiled_for, char out_class[ACCEL_CPU_CLASS_BYTES]);

#endif
