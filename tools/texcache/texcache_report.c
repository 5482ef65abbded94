/* texcache report: a render's texture statistics, and its trace, as one HTML page. */
#include "base/file.h"
#include "base/file_claims.h"
#include "tools/texcache/texcache_commands.h"
#include "tools/texcache/texture_report.h"
#include <stdio.h>

static Status write_report(const char *stats_path, const char *trace_path, const char *output,
                           Error *err)
{
    static Report report;
    StrBuf page = {0};
    Status status = report_load(stats_path, trace_path, &report, err);
    if (status == STATUS_OK) {
        report_page(&report, &page);
        status = page.failed ? error_set(err, STATUS_NO_MEMORY, "out of memory")
                             : file_write(output, strbuf_text(&page), page.size_bytes, err);
    }
    report_free(&report);
    strbuf_free(&page);
    return status;
}

int texcache_run_report(int argc, char **argv)
{
    const char *output = "report.html";
    const CliOption options[] = {
        {.name = "output",
         .short_name = 'o',
         .kind = CLI_TEXT,
         .out = &output,
         .value_name = "FILE.html",
         .help = "the page to write; by default report.html"},
    };
    static const char *const examples[] = {
        "sort-render scene.sort -o a.exr --stats a.json --trace a.trace", "records",
        "texcache report a.json a.trace -o a.html", "makes the page", NULL};
    const CliProgram program = {
        .name = "texcache report",
        .usage = "[options] STATS.json [TRACE]",
        .summary = "Makes one HTML page about the texture cache during a render: findings in "
                   "words, charts, a table of the textures, and, with the trace, the loads under "
                   "other budgets and the tiles that were read. The page needs no other files.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 2, "STATS.json"),
        .examples = examples};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    Error err = {0};
    if (file_check_apart("-o", output, (const char *const *)parsed.args, parsed.arg_count, &err) !=
        STATUS_OK)
        return tool_fail(&err, TOOL_USAGE);
    if (file_check_room(output, 0, &err) != STATUS_OK)
        return tool_fail(&err, TOOL_FAILED);
    if (write_report(parsed.args[0], parsed.arg_count > 1 ? parsed.args[1] : NULL, output, &err) !=
        STATUS_OK)
        return tool_fail(&err, TOOL_FAILED);
    return TOOL_DONE;
}
