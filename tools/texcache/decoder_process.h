/* A process in which image libraries decode what others made: its plugins, and the files that it keeps.
 *
 *   options --run--> plugins are loaded --> all but the given folders is given up --> host
 *
 * One thread, before others are made. */
#ifndef SORT_TOOLS_TEXCACHE_DECODER_PROCESS_H
#define SORT_TOOLS_TEXCACHE_DECODER_PROCESS_H

#include "plugins/plugin_host.h"
#include "textures/texcache.h"
#include "tools/kit/tool.h"

typedef struct DecoderProcess {
    CliTextList plugin_paths;
    CliTextList
        readable; /* folders of the images; with `writable` empty as well, nothing is given up */
    const char *writable;             /* where converted files go; NULL: nothing is written */
    bool (*is_cancelled)(void *data); /* of PluginHostDesc; may be NULL */
    PluginHost *plugins;              /* owned, while decoder_process_run serves */
    TexDecoderHost host;
} DecoderProcess;

/* The option that fills `readable`. */
CliOption decoder_process_option(DecoderProcess *process);
/* Begins, serves until the other side is done, and ends. Prints an error; returns the exit code. */
int decoder_process_run(DecoderProcess *process,
                        Status (*serve)(const TexDecoderHost *host, Error *err));

#endif
