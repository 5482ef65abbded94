/* Compiler attributes under our own names; the only place that uses GNU extensions directly. */
#ifndef SORT_BASE_COMPILER_H
#define SORT_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SORT_PRINTF(format_index, first_arg)                                                       \
    __attribute__((format(printf, format_index, first_arg)))
#define SORT_MUST_CHECK      __attribute__((warn_unused_result))
#define SORT_NORETURN        _Noreturn
#define SORT_ALWAYS_INLINE   static inline __attribute__((always_inline))
#define SORT_NOINLINE        __attribute__((noinline))
#define SORT_LIKELY(x)       __builtin_expect(!!(x), 1)
#define SORT_UNLIKELY(x)     __builtin_expect(!!(x), 0)
#define SORT_UNREACHABLE()   __builtin_unreachable()
#define SORT_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SORT_CACHE_LINE      64
#define SORT_UNUSED(x)       ((void)(x))
/* Before a loop of n steps: writes them one after the other, so that a loop around it can be computed for many lanes at once. */
#if defined(__clang__)
#    define SORT_UNROLL(n) _Pragma("unroll")
#else
#    define SORT_UNROLL(n)           SORT_UNROLL_PRAGMA(GCC unroll n)
#    define SORT_UNROLL_PRAGMA(text) _Pragma(#text)
#endif
/* Prefetches the cache line of an address that will be read soon; any address is allowed. */
#define SORT_PREFETCH(address) __builtin_prefetch(address)

#if defined(__SANITIZE_ADDRESS__)
#    define SORT_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define SORT_ASAN 1
#    endif
#endif
#ifndef SORT_ASAN
#    define SORT_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#    define SORT_TSAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define SORT_TSAN 1
#    endif
#endif
#ifndef SORT_TSAN
#    define SORT_TSAN 0
#endif

#endif
