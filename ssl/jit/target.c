#include "ssl/jit/target.h"
#include "base/hash.h"
#include "base/thread.h"
#include "ssl/jit/compat.h"
#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

/* LLVM has one registry of targets per process. It is the only global state of ssl/. */
static void initialise_llvm(void)
{
    static Mutex mutex = MUTEX_INIT;
    static bool is_done = false;
    mutex_lock(&mutex);
    if (!is_done) {
        LLVMInitializeNativeTarget();
        LLVMInitializeNativeAsmPrinter();
        LLVMInitializeNativeAsmParser();
        is_done = true;
    }
    mutex_unlock(&mutex);
}

/* LLVM prints a message about an unknown name and returns no error, so names are checked here. */
static const char *const baseline_cpus[] = {
#if defined(__x86_64__)
    "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
#else
    "generic",
#endif
    NULL};

const char *const *jit_target_baselines(void)
{
    return baseline_cpus;
}

static bool is_baseline(const char *cpu)
{
    for (uint32_t i = 0; baseline_cpus[i]; ++i)
        if (strcmp(baseline_cpus[i], cpu) == 0)
            return true;
    return false;
}

static Status refuse_cpu(const char *cpu, const char *host_cpu, Error *err)
{
    char names[256] = "";
    for (uint32_t i = 0; baseline_cpus[i]; ++i) {
        strncat(names, baseline_cpus[i], sizeof names - strlen(names) - 1);
        strncat(names, ", ", sizeof names - strlen(names) - 1);
    }
    return error_set(err, STATUS_INVALID, "unknown CPU '%s'; give one of %snative (%s)", cpu, names,
                     host_cpu);
}

/* Derives the number of lanes from the baseline's name, else from the features that LLVM found. */
static uint32_t lanes_of(const JitTarget *t)
{
    static const char *const needs_16[] = {"+avx512f", "+avx512dq", "+avx512vl", "+avx512bw"};
    bool has_16 = strcmp(t->cpu, "x86-64-v4") == 0, has_all = true;
    bool has_8 = strcmp(t->cpu, "x86-64-v3") == 0 ||
                 (strstr(t->features, "+avx2") && strstr(t->features, "+fma"));
    for (uint32_t i = 0; i < SORT_COUNT_OF(needs_16); ++i)
        has_all &= strstr(t->features, needs_16[i]) != NULL;
    return has_16 || has_all ? 16 : has_8 ? 8 : 4;
}

static bool has_fma(const JitTarget *t)
{
#if defined(__x86_64__)
    return t->lanes > 4 || strstr(t->features, "+fma,");
#else
    return true;
#endif
}

/* Machines of one class run the same code. A baseline's name determines the class. Two machines of one CPU model may
 * still differ in the features that kernel and hypervisor let through, so a digest of these belongs to the class. */
static void name_class(JitTarget *t)
{
    char digest[HASH128_TEXT_BYTES];
    HashState s;
    hash128_begin(&s);
    hash128_update_text(&s, t->features);
    hash128_text(hash128_end(&s), digest);
    if (t->features[0])
        snprintf(t->cpu_class, sizeof t->cpu_class, "%.50s-%.8s", t->cpu, digest);
    else
        snprintf(t->cpu_class, sizeof t->cpu_class, "%.50s", t->cpu);
}

Status jit_target_create(const char *cpu, JitTarget *out_target, Error *err)
{
    initialise_llvm();
    *out_target = (JitTarget){.triple = LLVMGetDefaultTargetTriple(),
                              .cpu = LLVMGetHostCPUName(),
                              .features = LLVMGetHostCPUFeatures()};
    char *message = NULL;
    Status status = STATUS_OK;
    if (cpu && strcmp(cpu, "native") != 0 && strcmp(cpu, out_target->cpu) != 0) {
        if (is_baseline(cpu)) {
            LLVMDisposeMessage(out_target->cpu);
            LLVMDisposeMessage(out_target->features);
            out_target->cpu = LLVMCreateMessage(cpu);
            out_target->features = LLVMCreateMessage("");
        } else {
            status = refuse_cpu(cpu, out_target->cpu, err);
        }
    }
    if (status == STATUS_OK &&
        LLVMGetTargetFromTriple(out_target->triple, &out_target->target, &message))
        status = jit_fail(message, "find this machine's target", err);
    if (status == STATUS_OK) {
        out_target->lanes = lanes_of(out_target);
        out_target->has_fma = has_fma(out_target);
        name_class(out_target);
    } else {
        jit_target_destroy(out_target);
    }
    return status;
}

void jit_target_destroy(JitTarget *t)
{
    LLVMDisposeMessage(t->triple);
    LLVMDisposeMessage(t->cpu);
    LLVMDisposeMessage(t->features);
    *t = (JitTarget){0};
}

/* Code is position-independent, with the small code model; JITLink adds stubs for symbols that are out of reach. */
LLVMTargetMachineRef jit_target_machine(const JitTarget *t, LLVMCodeGenOptLevel level)
{
    return LLVMCreateTargetMachine(t->target, t->triple, t->cpu, t->features, level, LLVMRelocPIC,
                                   LLVMCodeModelSmall);
}
