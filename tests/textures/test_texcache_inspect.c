/* `texcache replay`, `report` and `watch` as programs: what they print, what the page is made of, how the
 * screen is left behind. The path of texcache is the first argument of this test. */
#define _GNU_SOURCE /* posix_openpt */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "tests/textures/texcache_process.h"
#include "textures/tex_live.h"
#include "textures/tex_trace.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define EVIL_NAME "/t/<script>alert(1)</script>&\"'.png"

/* --- a small render's files --------------------------------------------------------------------- */

static char stats_path[256], trace_path[256];

static void write_stats(const TexStats *stats, const TexTextureStats *t)
{
    StrBuf text = {0};
    JsonWriter w = json_writer(&text, JSON_INDENTED);
    json_write_object(&w, NULL);
    json_write_string(&w, "scene", "A & B <tag>");
    json_write_u64(&w, "threads", 2);
    json_write_object(&w, "seconds");
    json_write_double(&w, "render", 2.0);
    json_write_end(&w);
    json_write_object(&w, "fibers");
    json_write_double(&w, "idle_seconds", 1.0);
    json_write_end(&w);
    json_write_object(&w, "textures");
    texcache_stats_write(stats, &w);
    json_write_array(&w, "by_texture");
    json_write_object(&w, NULL);
    json_write_string(&w, "name", t->name);
    json_write_string(&w, "path", t->path);
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {{"width", t->width},
                  {"height", t->height},
                  {"tiles", t->tile_count},
                  {"tile_bytes", t->tile_bytes},
                  {"lookups", t->lookups},
                  {"loads", t->loads},
                  {"unique_loads", t->unique_loads},
                  {"constants", t->constants},
                  {"failed_tiles", t->failed_tiles},
                  {"bytes_loaded", t->bytes_loaded},
                  {"bytes_unique", t->bytes_unique},
                  {"read_ns", t->read_ns},
                  {"waits", t->waits},
                  {"wait_ns", t->wait_ns}};
    for (size_t i = 0; i < SORT_COUNT_OF(fields); ++i)
        json_write_u64(&w, fields[i].name, fields[i].value);
    json_write_end(&w);
    json_write_end(&w);
    json_write_end(&w);
    json_write_object(&w, "timeline");
    static const char *const columns[] = {"time_s", "lookups",      "tile_requests", "tile_misses",
                                          "loads",  "bytes_loaded", "bytes_now"};
    for (size_t i = 0; i < SORT_COUNT_OF(columns); ++i) {
        json_write_array(&w, columns[i]);
        for (uint32_t k = 0; k < 5; ++k)
            json_write_double(&w, NULL, 0.5 * k);
        json_write_end(&w);
    }
    json_write_end(&w);
    json_write_end(&w);
    Error err = {0};
    assert_int_equal(file_write(stats_path, strbuf_text(&text), text.size_bytes, &err), STATUS_OK);
    strbuf_free(&text);
}

/* Lookups all over a texture that is four times the budget. */
static int group_begin(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    snprintf(stats_path, sizeof stats_path, "%s", fixture_path("a.json"));
    snprintf(trace_path, sizeof trace_path, "%s", fixture_path("a.trace"));
    const char *path = fixture_path("a.stex");
    Picture p = picture_create(1024, 1024, 4, SORT_TEXEL_U8, SORT_COLOR_LINEAR);
    picture_fill_noise(&p, 1);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    TexCacheDesc desc = {.size_bytes = sizeof desc,
                         .budget_bytes = budget_for_chunks(1, 20, table_bytes_of(path)),
                         .io_thread_count = 1,
                         .trace_path = trace_path};
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path, .name = EVIL_NAME};
    Rig rig;
    TexId id;
    Error err = {0};
    rig_begin(&rig, &desc);
    assert_int_equal(texcache_open(rig.cache, &what, &id, &err), STATUS_OK);
    uint64_t random = 8;
    float out[4];
    for (uint32_t i = 0; i < 1500; ++i)
        rig_lookup(&rig, id, NULL, random_unit(&random), random_unit(&random), out);
    rig_check_identities(&rig);
    TexStats stats = rig_stats(&rig);
    TexTextureStats texture;
    assert_int_equal(texcache_texture_stats(rig.cache, &texture, 1), 1);
    assert_string_equal(texture.name, EVIL_NAME);
    write_stats(&stats, &texture);
    texcache_thread_destroy(rig.thread);
    rig.thread = NULL;
    assert_int_equal(texcache_trace_end(rig.cache, &err), STATUS_OK);
    rig_end(&rig);
    return 0;
}

static int group_end(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

/* --- replay, stats --------------------------------------------------------------------------------- */

static void test_inspect_replays(void **state)
{
    SORT_UNUSED(state);
    EXPECT(0, "loads a tile", "", "replay", trace_path);
    EXPECT(0, "are enough for 1.1 loads a tile", "", "replay", trace_path, "--budget", "64M");
    EXPECT(0, "64 MiB          256", "", "replay", trace_path, "-b", "64M"); /* each tile once */
    EXPECT(0, "too small", "", "replay", trace_path, "-b", "10K");
    EXPECT(0, "\"lru_loads\"", "", "replay", "--json", trace_path);
    EXPECT(2, "", "option '--budget'", "replay", trace_path, "-b", "many");
    EXPECT(1, "", "absent.trace", "replay", fixture_path("absent.trace"));
    EXPECT(1, "", "no trace of texture lookups", "replay", stats_path);
    EXPECT(0, "Budget too small", "", "stats", stats_path);
    EXPECT(0, "textures that loaded most, of 1", "", "stats", stats_path);
}

/* --- report ------------------------------------------------------------------------------------------ */

/* Every element is closed in its order, and attributes are quoted; elements without an end are known. */
static void check_well_formed(const char *page)
{
    static const char *const without_end[] = {"meta", "!doctype"};
    char stack[64][16];
    uint32_t depth = 0;
    for (const char *at = strchr(page, '<'); at; at = strchr(at, '<')) {
        bool is_end = at[1] == '/';
        const char *name = at + 1 + is_end;
        size_t length = strcspn(name, " >/\n");
        const char *end = at;
        for (bool is_quoted = false; *end && (is_quoted || *end != '>'); ++end) {
            is_quoted ^= *end == '"';
            assert_true(is_quoted || end == at || *end != '<');
        }
        assert_true(*end == '>' && length > 0 && length < sizeof stack[0]);
        bool has_end = end[-1] != '/';
        for (size_t i = 0; i < SORT_COUNT_OF(without_end); ++i)
            has_end = has_end && strncasecmp(name, without_end[i], length) != 0;
        if (is_end) {
            if (depth == 0 || strncmp(stack[depth - 1], name, length) != 0)
                fail_msg("</%.*s> closes <%s>", (int)length, name, depth ? stack[depth - 1] : "");
            --depth;
        } else if (has_end) {
            assert_true(depth < SORT_COUNT_OF(stack));
            snprintf(stack[depth++], sizeof stack[0], "%.*s", (int)length, name);
        }
        at = end;
        if (!is_end && strncmp(name, "script", length) == 0)
            at = strstr(at, "</script>") - 1; /* its text is no HTML */
    }
    assert_int_equal(depth, 0);
}

static void check_page(const char *path, bool has_trace)
{
    char *page;
    size_t size;
    assert_int_equal(file_read(path, 1 << 24, &page, &size, NULL), STATUS_OK);
    assert_true(str_is_utf8((Str){page, size}));
    check_well_formed(page);
    static const char *const outside[] = {"http:",   "https:", "src=", "url(",
                                          "@import", "<link",  "<img"};
    for (size_t i = 0; i < SORT_COUNT_OF(outside); ++i)
        assert_null(strstr(page, outside[i]));
    assert_null(strstr(page, "<script>alert"));
    assert_non_null(strstr(page, "script&gt;&amp;&quot;&#39;.png"));
    assert_non_null(strstr(page, "A &amp; B &lt;tag&gt;"));
    assert_non_null(strstr(page, "Budget below the working set"));
    assert_non_null(strstr(page, "Storage is the bottleneck")); /* idle half of the time */
    assert_non_null(strstr(page, "times over"));
    assert_non_null(strstr(page, "Over time"));
    assert_non_null(strstr(page, "How long reads and waits took"));
    assert_non_null(strstr(page, "Probes by level"));
    assert_true((strstr(page, "Loads a tile, by budget") != NULL) == has_trace);
    assert_true((strstr(page, "level 0: 256 of 256 tiles read") != NULL) == has_trace);
    mem_free(page);
}

static void test_inspect_reports(void **state)
{
    SORT_UNUSED(state);
    const char *page = fixture_path("a.html");
    EXPECT(0, "", "", "report", stats_path, "-o", page);
    check_page(page, false);
    EXPECT(0, "", "", "report", stats_path, trace_path, "-o", page);
    check_page(page, true);
    EXPECT(1, "", "no trace", "report", stats_path, stats_path, "-o", page);
    EXPECT(1, "", "a.trace", "report", trace_path, "-o", page);
    EXPECT(1, "", "folder", "report", stats_path, "-o", fixture_path("no/folder/a.html"));
}

/* --- watch ------------------------------------------------------------------------------------------- */

static TexLivePublisher *publish(const char *path)
{
    static TexLive live;
    TexLivePublisher *p;
    Error err = {0};
    if (tex_live_begin(path, &p, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    memcpy(live.scene, "some \x1b[31mscene", 15);
    memcpy(live.textures[0].name, "wood.png", 9);
    live.texture_count = 1;
    live.elapsed_ms = 1000;
    live.paths_done = 25;
    live.paths_total = 100;
    live.stats.budget_bytes = 1 << 20;
    live.stats.bytes_now = 1 << 19;
    live.stats.mip_probes[0][3] = 5;
    live.textures[0].lookups = live.textures[0].loads = live.textures[0].unique_loads = 7;
    tex_live_publish(p, &live);
    return p;
}

static void test_inspect_watches_in_lines(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("a.watch");
    TexLivePublisher *p = publish(path);
    EXPECT(0, "25.0 %  memory 512 KiB of 1 MiB", "", "watch", "--once", path);
    tex_live_end(p);
    EXPECT(1, "", "a.watch", "watch", "--once", path);
    EXPECT(1, "", "nothing that a render publishes", "watch", stats_path);
}

/* Reads until the text is there, or the terminal is closed. */
static void read_until(int terminal, const char *text, StrBuf *out)
{
    uint64_t begin = clock_now_ns();
    while (!strstr(strbuf_text(out), text)) {
        char bytes[4096];
        struct pollfd in = {.fd = terminal, .events = POLLIN};
        if (clock_seconds_since(begin) > 20.0)
            fail_msg("'%s' does not come: %s", text, strbuf_text(out));
        if (poll(&in, 1, 100) <= 0)
            continue;
        ssize_t count = read(terminal, bytes, sizeof bytes);
        if (count <= 0)
            fail_msg("the terminal is closed before '%s'", text);
        strbuf_append(out, (Str){bytes, (size_t)count});
    }
}

static void test_inspect_watches_on_a_terminal(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("b.watch");
    TexLivePublisher *p = publish(path);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int inside = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 24, .ws_col = 70};
    assert_true(inside >= 0 && ioctl(inside, TIOCSWINSZ, &size) == 0);
    struct termios before, after;
    assert_int_equal(tcgetattr(inside, &before), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(inside, 0);
        dup2(inside, 1);
        execl(texcache_program, texcache_program, "watch", path, (char *)NULL);
        _exit(127);
    }
    StrBuf text = {0};
    read_until(terminal, "\x1b[?1049h", &text); /* another screen */
    read_until(terminal, "wood.png", &text);
    assert_non_null(strstr(strbuf_text(&text), "some ?[31mscene")); /* no orders from outside */
    read_until(terminal, "q: quit", &text);
    assert_int_equal(write(terminal, "q", 1), 1);
    read_until(terminal, "\x1b[?1049l", &text); /* and back */
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(tcgetattr(inside, &after), 0);
    assert_int_equal(before.c_lflag, after.c_lflag);
    strbuf_free(&text);
    close(inside);
    close(terminal);
    tex_live_end(p);
}

int main(int argc, char **argv)
{
    assert_true(argc > 1);
    texcache_program = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inspect_replays),
        cmocka_unit_test(test_inspect_reports),
        cmocka_unit_test(test_inspect_watches_in_lines),
        cmocka_unit_test(test_inspect_watches_on_a_terminal),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
