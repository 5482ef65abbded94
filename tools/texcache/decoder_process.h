/* A process in which image libraries decode what others made: its plugins, and the files that it keeps.
 *
 *   options --begin--> plugins are loaded --> all but the given folders is given up --> host
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
    PluginHost *plugins;              /* owned, from decoder_process_begin on */
    TexDecoderHost host;
} DecoderProcess;

/* The option that fills `readable`. */
CliOption decoder_process_option(DecoderProcess *process);
Status decoder_process_begin(DecoderProcess *process, Error *err) SORT_MUST_CHECK;
void decoder_process_end(DecoderProcess *process);

#endif
