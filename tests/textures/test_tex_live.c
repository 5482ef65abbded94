/* What a render publishes: it comes back whole, however often it is written over; files that dead renders
 * leave behind are recognised; what is no such file is refused and left alone. */
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/thread.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/tex_live.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static int group_begin(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    return 0;
}

static int group_end(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

static void test_live_comes_back(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("a.watch");
    TexLivePublisher *p;
    static TexLive live, back;
    Error err = {0};
    assert_int_equal(tex_live_read(path, &back, &err), STATUS_NOT_FOUND);
    assert_int_equal(tex_live_begin(path, &p, &err), STATUS_OK);
    assert_int_equal(tex_live_read(path, &back, &err), STATUS_FORMAT); /* nothing yet */
    live.stats.lookups = 12345;
    live.texture_count = 1;
    memcpy(live.scene, "a scene", 8);
    memcpy(live.textures[0].name, "wood.png", 9);
    tex_live_publish(p, &live);
    tex_live_publish(p, &live);
    if (tex_live_read(path, &back, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(&live, &back, sizeof live);
    assert_int_equal(back.sequence, 2);
    assert_int_equal(back.process_id, getpid());
    assert_true(tex_live_is_alive(&back));
    TexLivePublisher *second;
    assert_int_equal(tex_live_begin(path, &second, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "publishes here"));
    tex_live_end(p);
    assert_false(file_exists(path));
}

/* Over the bytes of a file that a live render has published. */
static void forge(const char *path, TexLive *live)
{
    live->crc = 0;
    live->crc = crc32c(0, live, sizeof *live);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, live, sizeof *live), sizeof *live);
    close(fd);
}

static void test_live_knows_the_dead(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("b.watch");
    TexLivePublisher *p;
    static TexLive live;
    Error err = {0};
    assert_int_equal(tex_live_begin(path, &p, &err), STATUS_OK);
    tex_live_publish(p, &live);
    tex_live_end(p);
    TexLive other = live; /* this process's number, started at another time */
    ++other.process_start;
    assert_false(tex_live_is_alive(&other));
    other = live;
    other.process_id = 0x7ffffff0;
    assert_false(tex_live_is_alive(&other));
    forge(path, &other);
    assert_int_equal(tex_live_begin(path, &p, &err), STATUS_OK); /* takes its place */
    tex_live_end(p);
}

static void test_live_refuses_what_it_is_not(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("c.watch");
    TexLivePublisher *p;
    static TexLive live, back;
    Error err = {0};
    assert_int_equal(tex_live_begin(path, &p, &err), STATUS_OK);
    tex_live_publish(p, &live);
    tex_live_end(p);
    back = live;
    ++back.version;
    forge(path, &back);
    assert_int_equal(tex_live_read(path, &back, &err), STATUS_UNSUPPORTED);
    back = live;
    memset(back.textures[3].name, 'x', sizeof back.textures[3].name);
    forge(path, &back);
    assert_int_equal(tex_live_read(path, &back, &err), STATUS_FORMAT);
    assert_non_null(strstr(err.text, "without an end"));
    back = live;
    forge(path, &back);
    assert_int_equal(truncate(path, sizeof live - 1), 0);
    assert_int_equal(tex_live_read(path, &back, &err), STATUS_FORMAT);
    assert_int_equal(file_write(path, "my diary", 8, &err), STATUS_OK);
    assert_int_equal(tex_live_read(path, &back, &err), STATUS_FORMAT);
    assert_int_equal(tex_live_begin(path, &p, &err), STATUS_INVALID);
    assert_true(file_exists(path)); /* nobody else's file is touched */
    const char *link = fixture_path("link.watch");
    assert_int_equal(symlink(path, link), 0);
    assert_int_not_equal(tex_live_begin(link, &p, &err), STATUS_OK);
    assert_int_equal(tex_live_begin(fixture_path("no/where.watch"), &p, &err), STATUS_NOT_FOUND);
}

typedef struct Storm {
    TexLivePublisher *publisher;
    _Atomic bool is_over;
} Storm;

static void publish_always(void *data)
{
    Storm *storm = data;
    static TexLive live;
    while (!atomic_load(&storm->is_over)) {
        memset(&live.stats, (int)(live.sequence & 0xff), sizeof live.stats);
        tex_live_publish(storm->publisher, &live);
        clock_sleep_ns(50000);
    }
}

/* No copy mixes two publications. */
static void test_live_is_never_torn(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("d.watch");
    Storm storm = {0};
    Thread *thread;
    static TexLive live;
    Error err = {0};
    assert_int_equal(tex_live_begin(path, &storm.publisher, &err), STATUS_OK);
    tex_live_publish(storm.publisher, &live);
    assert_int_equal(thread_create("storm", 0, publish_always, &storm, &thread, &err), STATUS_OK);
    for (uint32_t i = 0; i < 500; ++i) {
        if (tex_live_read(path, &live, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        const uint8_t *bytes = (const uint8_t *)&live.stats;
        for (size_t k = 1; k < sizeof live.stats; ++k)
            assert_int_equal(bytes[k], bytes[0]);
    }
    atomic_store(&storm.is_over, true);
    thread_join(thread);
    tex_live_end(storm.publisher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_comes_back),
        cmocka_unit_test(test_live_knows_the_dead),
        cmocka_unit_test(test_live_refuses_what_it_is_not),
        cmocka_unit_test(test_live_is_never_torn),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
