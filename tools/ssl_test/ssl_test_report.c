/* Prints the results of all files as text, TAP or JUnit XML. */
#include "tools/ssl_test/ssl_test.h"
#include <stdio.h>
#include <string.h>

static void put(const char *text)
{
    (void)fputs(text, stdout);
}

static void sum_up(const TestFile *files, uint32_t count, uint32_t *out_passed,
                   uint32_t *out_failed)
{
    *out_passed = *out_failed = 0;
    for (uint32_t i = 0; i < count; ++i) {
        *out_passed += files[i].passed;
        *out_failed += files[i].failed;
    }
}

static void print_sum(const TestFile *files, uint32_t count, const char *prefix)
{
    uint32_t passed, failed;
    sum_up(files, count, &passed, &failed);
    (void)printf("%s%u passed, %u failed\n", prefix, passed, failed);
}

static void report_text(const TestFile *files, uint32_t count, bool is_verbose)
{
    for (uint32_t i = 0; i < count; ++i) {
        put(strbuf_text(&files[i].out));
        if (is_verbose || files[i].failed)
            (void)printf("%s: %u passed, %u failed\n", files[i].path, files[i].passed,
                         files[i].failed);
    }
    print_sum(files, count, "");
}

/* Prints each line of the text with `prefix` before it. */
static void put_lines(const char *text, const char *prefix)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        (void)printf("%s%.*s\n", prefix, (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* Prints TAP version 13: one test a file, its messages as a block of YAML. A '#' in a name would begin a directive. */
static void report_tap(const TestFile *files, uint32_t count)
{
    (void)printf("TAP version 13\n1..%u\n", count);
    for (uint32_t i = 0; i < count; ++i) {
        const TestFile *file = &files[i];
        (void)printf("%sok %u - ", file->failed || !file->passed ? "not " : "", i + 1);
        for (const char *c = file->path; *c; ++c)
            (void)putchar(*c == '#' ? '_' : *c);
        (void)printf("\n  ---\n  passed: %u\n  failed: %u\n  duration_ms: %.0f\n", file->passed,
                     file->failed, file->seconds * 1e3);
        if (file->out.size_bytes) {
            put("  message: |\n");
            put_lines(strbuf_text(&file->out), "    ");
        }
        put("  ...\n");
    }
    print_sum(files, count, "# ");
}

/* XML 1.0 allows no control characters but tab and line ends, not even escaped. */
static void put_xml(const char *text)
{
    for (; *text; ++text) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            put("&amp;");
        else if (c == '<')
            put("&lt;");
        else if (c == '>')
            put("&gt;");
        else if (c == '"')
            put("&quot;");
        else
            (void)putchar(c < ' ' && c != '\n' && c != '\t' ? '?' : c);
    }
}

static void report_junit(const TestFile *files, uint32_t count)
{
    uint32_t bad = 0;
    double seconds = 0;
    for (uint32_t i = 0; i < count; ++i) {
        bad += files[i].failed || !files[i].passed;
        seconds += files[i].seconds;
    }
    put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    (void)printf("<testsuite name=\"ssl-test\" tests=\"%u\" failures=\"%u\" time=\"%.3f\">\n",
                 count, bad, seconds);
    for (uint32_t i = 0; i < count; ++i) {
        const TestFile *file = &files[i];
        put("  <testcase classname=\"ssl\" name=\"");
        put_xml(file->path);
        (void)printf("\" assertions=\"%u\" time=\"%.3f\"", file->passed + file->failed,
                     file->seconds);
        if (file->failed == 0 && file->passed > 0) {
            put("/>\n");
            continue;
        }
        (void)printf(">\n    <failure message=\"%u passed, %u failed\">", file->passed,
                     file->failed);
        put_xml(strbuf_text(&file->out));
        put("</failure>\n  </testcase>\n");
    }
    put("</testsuite>\n");
}

void test_report(const TestFile *files, uint32_t count, TestFormat format, bool is_verbose)
{
    if (format == TEST_FORMAT_TAP)
        report_tap(files, count);
    else if (format == TEST_FORMAT_JUNIT)
        report_junit(files, count);
    else
        report_text(files, count, is_verbose);
}
