/* What is wrong with a `bsdf` is said at the user's own words, and by no name that the compiler made up. */
#include "tests/ssl/front_fixture.h"

#define EVAL "lobe diffuse reflection { eval { f_cos = color(1); } }"

/* Definitions of A, and all messages of the first of its shaders that has any. */
static const struct {
    const char *text, *expected;
} rows[] = {
#include "tests/ssl/bsdf_messages.inc"
};

static const char *const shaders[] = {"A.prepare", "A.eval", "A.sample"};
static const char *const made_up[] = {"_wo",      "_Ng",   "_frame",  "_s_",    "_s0_",
                                      "_eval",    "_pdf",  "_sample", "_eta",   "_albedo",
                                      ".prepare", ".eval", ".sample", "_f_cos", "_wi",
                                      "_unbent",  "_u'",   "_medium", "_base"};

static void check_row(uint32_t index)
{
    bool is_said = false;
    for (size_t i = 0; i < SORT_COUNT_OF(shaders) && !is_said; ++i) {
        Front f = front_begin();
        const char *messages = front_messages_of(&f, rows[index].text, shaders[i]);
        is_said = messages[0] != '\0';
        if (is_said && strcmp(messages, rows[index].expected) != 0)
            fail_msg("%s\nsays\n%sand not\n%s", rows[index].text, messages, rows[index].expected);
        for (size_t k = 0; k < SORT_COUNT_OF(made_up); ++k)
            if (strstr(messages, made_up[k]) && !strstr(rows[index].text, made_up[k]))
                fail_msg("%s\nsays\n%s, which names '%s'", rows[index].text, messages, made_up[k]);
        front_end(&f);
    }
    if (!is_said && rows[index].expected[0])
        fail_msg("%s\nsays nothing, and not\n%s", rows[index].text, rows[index].expected);
}

static void test_bsdf_messages(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i)
        check_row(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsdf_messages),
    };
    return cmocka_run_group_tests_name("ssl.bsdf_messages", tests, NULL, NULL);
}
