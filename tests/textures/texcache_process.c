#include "tests/textures/texcache_process.h"
#include "tests/textures/test_prelude.h"
#include <string.h>

const char *texcache_program;

ProcessResult texcache_run(const char *const *arguments)
{
    const char *argv[9] = {texcache_program};
    for (uint32_t i = 0; i < 7 && arguments[i]; ++i)
        argv[i + 1] = arguments[i];
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .standard_output = PROCESS_CAPTURE,
                        .standard_error = PROCESS_CAPTURE};
    ProcessResult result;
    Error err = {0};
    if (process_run(&desc, 60000, &result, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(result.has_exited);
    return result;
}

void texcache_expect(const char *const *arguments, int exit_code, const char *output,
                     const char *errors)
{
    ProcessResult result = texcache_run(arguments);
    if (result.exit_code != exit_code || !strstr(strbuf_text(&result.output), output) ||
        !strstr(strbuf_text(&result.errors), errors)) {
        fail_msg("exit code %d, output '%s', errors '%s'", result.exit_code,
                 strbuf_text(&result.output), strbuf_text(&result.errors));
    }
    process_result_free(&result);
}
