/* The subcommands of texcache, a file each, and the tables that they share. */
#ifndef SORT_TOOLS_TEXCACHE_TEXCACHE_COMMANDS_H
#define SORT_TOOLS_TEXCACHE_TEXCACHE_COMMANDS_H

#include "tools/kit/tool.h"

enum { EXIT_INTERRUPTED = 4 };

/* Words of options and listings, NULL-terminated: by SortColorSpace; by TexWrap. */
extern const char *const texcache_color_spaces[];
extern const char *const texcache_wraps[];

/* Each returns the exit code. */
int texcache_run_make(int argc, char **argv);
int texcache_run_info(int argc, char **argv);
int texcache_run_verify(int argc, char **argv);
int texcache_run_view(int argc, char **argv);
int texcache_run_convert(int argc, char **argv);
int texcache_run_decode(int argc, char **argv);
int texcache_run_stats(int argc, char **argv);
int texcache_run_watch(int argc, char **argv);
int texcache_run_report(int argc, char **argv);
int texcache_run_replay(int argc, char **argv);

#endif
