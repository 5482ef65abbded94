/* ASSERT for plugins, which link nothing of SORT and so cannot use base/check.h. A failed assertion ends the
 * process with an illegal instruction, at its place in the code. Compiled out of release builds. */
#ifndef SORT_PLUGIN_CHECK_H
#define SORT_PLUGIN_CHECK_H

#if SORT_ASSERTIONS
#    define ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#    define ASSERT(condition) ((void)sizeof(!(condition)))
#endif

#endif
