/* The lexer: tokens with their spans, numbers to the last bit, and what it refuses. */
#include "base/alloc.h"
#include "ssl/front/decimal.h"
#include "ssl/front/lex.h"
#include "ssl/ssl_limits.h"
#include "tests/ssl/front_fixture.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static TokenList lex_text(Front *f, const char *text)
{
    Names *names = ARENA_NEW(f->arena, Names);
    names_init(names, f->arena, NULL);
    uint32_t file = diag_add_source(f->diags, "test.ssl", str_from(text));
    return lex(str_from(text), file, names, f->arena, f->diags);
}

static void assert_kinds(const char *text, const TokenKind *kinds, size_t count)
{
    Front f = front_begin();
    TokenList tokens = lex_text(&f, text);
    assert_int_equal(diag_count(f.diags), 0);
    assert_int_equal(tokens.count, count + 1);
    for (size_t i = 0; i < count; ++i)
        assert_int_equal(tokens.data[i].kind, kinds[i]);
    assert_int_equal(tokens.data[count].kind, TOKEN_END);
    front_end(&f);
}
#define KINDS(text, ...)                                                                           \
    assert_kinds(text, (const TokenKind[]){__VA_ARGS__},                                           \
                 sizeof((const TokenKind[]){__VA_ARGS__}) / sizeof(TokenKind))

static void test_lex_takes_the_longest_operator(void **state)
{
    SORT_UNUSED(state);
    KINDS("a<<=b", TOKEN_NAME, TOKEN_SHL_ASSIGN, TOKEN_NAME);
    KINDS("a< <=b", TOKEN_NAME, TOKEN_LESS, TOKEN_LESS_EQUAL, TOKEN_NAME);
    KINDS("+++", TOKEN_INCREMENT, TOKEN_ADD);
    KINDS("x---y", TOKEN_NAME, TOKEN_DECREMENT, TOKEN_SUB, TOKEN_NAME);
    KINDS("!==", TOKEN_NOT_EQUAL, TOKEN_ASSIGN);
    KINDS("&&&", TOKEN_LOGICAL_AND, TOKEN_AND);
}

static void test_lex_knows_keywords_from_names(void **state)
{
    SORT_UNUSED(state);
    KINDS("if iff If _if if2", TOKEN_IF, TOKEN_NAME, TOKEN_NAME, TOKEN_NAME, TOKEN_NAME);
    KINDS("float floats float3", TOKEN_FLOAT_TYPE, TOKEN_NAME, TOKEN_FLOAT3);
    KINDS("global_value make_closure", TOKEN_GLOBAL_VALUE, TOKEN_MAKE_CLOSURE);
}

static void test_lex_skips_blanks_and_comments(void **state)
{
    SORT_UNUSED(state);
    KINDS("\xef\xbb\xbf a // b \n /* c \n * / */ d\t\r\n\v\f/**/e", TOKEN_NAME, TOKEN_NAME,
          TOKEN_NAME);
    KINDS("a/b", TOKEN_NAME, TOKEN_DIV, TOKEN_NAME);
    KINDS("/* \xc3\xa9 \xf0\x9f\x98\x80 */");
}

static void test_lex_gives_spans(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    TokenList tokens = lex_text(&f, "ab  +=\n \"c\\n\" 1.5f");
    const uint32_t expected[][2] = {{0, 2}, {4, 6}, {8, 13}, {14, 18}, {18, 18}};
    assert_int_equal(tokens.count, 5);
    for (uint32_t i = 0; i < tokens.count; ++i) {
        assert_int_equal(tokens.data[i].span.begin, expected[i][0]);
        assert_int_equal(tokens.data[i].span.end, expected[i][1]);
    }
    assert_string_equal(tokens.data[2].text, "c\n");
    front_end(&f);
}

static void test_lex_reads_ints(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    TokenList t = lex_text(&f, "0 7 2147483647 2147483648 0x0 0xFf 0X10 0xffffffff");
    const uint32_t expected[] = {0, 7, 2147483647, 2147483648u, 0, 255, 16, 0xffffffffu};
    assert_int_equal(diag_count(f.diags), 0);
    for (uint32_t i = 0; i < SORT_COUNT_OF(expected); ++i) {
        assert_int_equal(t.data[i].kind, TOKEN_INT);
        assert_int_equal(t.data[i].int_bits, expected[i]);
        assert_int_equal(t.data[i].is_decimal, i < 4);
    }
    front_end(&f);
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void assert_float(const char *text, float expected)
{
    float x = -1;
    assert_true(decimal_to_float(str_from(text), &x));
    if (bits_of(x) != bits_of(expected))
        fail_msg("%s gives %a, not %a", text, (double)x, (double)expected);
}

static void test_decimal_rounds_to_nearest(void **state)
{
    SORT_UNUSED(state);
    assert_float("1.0", 1.0f);
    assert_float("1.", 1.0f);
    assert_float(".5", 0.5f);
    assert_float("0.1", 0.1f);
    assert_float("1e-3", 1e-3f);
    assert_float("12345678.9", 12345678.9f);
    assert_float("3.4028235e38", FLT_MAX);
    assert_float("1.17549435e-38", FLT_MIN);
    assert_float("1e-45", 0x1p-149f);
    assert_float("7e-46", 0.0f); /* below half of the least */
    assert_float("7.1e-46", 0x1p-149f);
    assert_float("1e-99999", 0.0f);
    assert_float("0e99999", 0.0f);
    /* Ties to even: 2^24 + 1 lies between two floats. */
    assert_float("16777217", 16777216.0f);
    assert_float("16777219", 16777220.0f);
    assert_float("16777217.0000000000000000000000000000000001", 16777218.0f);
    assert_float("340282346638528859811704183484516925440", FLT_MAX);
    float x;
    assert_false(decimal_to_float(STR_LIT("3.4028236e38"), &x));
    assert_false(decimal_to_float(STR_LIT("1e39"), &x));
    assert_false(decimal_to_float(STR_LIT("1e9999999"), &x));
}

/* Against the C library, which rounds correctly in the "C" locale. */
static void test_decimal_agrees_with_strtof(void **state)
{
    SORT_UNUSED(state);
    uint64_t seed = 1;
    for (int i = 0; i < 200000; ++i) {
        char text[64];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int digits = (int)(seed >> 60) + 1;
        int exponent = (int)(seed >> 40 & 127) - 80;
        (void)snprintf(text, sizeof text, "%.*fe%d", digits, (double)(seed >> 33) * 0x1p-20,
                       exponent);
        float expected = strtof(text, NULL), x;
        bool fits = decimal_to_float(str_from(text), &x);
        if (fits == isinf(expected) || (fits && bits_of(x) != bits_of(expected)))
            fail_msg("%s gives %a, not %a", text, (double)x, (double)expected);
    }
}

static void assert_refused(const char *text, const char *code)
{
    Front f = front_begin();
    lex_text(&f, text);
    assert_int_equal(diag_error_count(f.diags), 1);
    assert_string_equal(diag_get(f.diags, 0)->code, code);
    front_end(&f);
}

static void test_lex_refuses(void **state)
{
    SORT_UNUSED(state);
    assert_refused("a $ b", "S0101");
    assert_refused("\x01", "S0101");
    assert_refused("\xc3\xa9", "S0110"); /* a letter */
    assert_refused("\"a\x01\"", "S0101");
    assert_refused("// \xff", "S0102");
    assert_refused("\xed\xa0\x80", "S0102"); /* a surrogate */
    assert_refused("\xc0\x80", "S0102");     /* longer than need be */
    assert_refused("/* /", "S0103");
    assert_refused("\"abc", "S0104");
    assert_refused("\"a\\qb\"", "S0105");
    assert_refused("1x", "S0106");
    assert_refused("0x", "S0106");
    assert_refused("0x1.0", "S0106");
    assert_refused("1e+", "S0106");
    assert_refused("1.0ff", "S0106");
    assert_refused("2147483649", "S0107");
    assert_refused("0x1ffffffff", "S0107");
    assert_refused("1e40f", "S0108");
    assert_refused("007", "S0109");
}

static char *repeated(char c, size_t count)
{
    char *text = mem_alloc(count + 1, 1);
    assert_non_null(text);
    memset(text, c, count);
    return text;
}

static void test_lex_has_limits(void **state)
{
    SORT_UNUSED(state);
    char *name = repeated('a', SSL_MAX_NAME_BYTES + 1);
    assert_refused(name, "S0402");
    name[SSL_MAX_NAME_BYTES] = '\0';
    KINDS(name, TOKEN_NAME);
    mem_free(name);
    char *number = repeated('1', SSL_MAX_NUMBER_BYTES + 1);
    assert_refused(number, "S0403");
    mem_free(number);
    char *source = repeated(' ', SSL_MAX_SOURCE_BYTES + 1);
    assert_refused(source, "S0401");
    source[SSL_MAX_SOURCE_BYTES] = '\0';
    KINDS(source);
    mem_free(source);
}

static void test_lex_prints(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    StrBuf out = {0};
    TokenList tokens = lex_text(&f, "float x = 0xA;\n  \"s\" .5");
    lex_print(&tokens, f.diags, &out);
    assert_string_equal(strbuf_text(&out), "1:1 float\n1:7 name x\n1:9 =\n1:11 int 0xa\n1:14 ;\n"
                                           "2:3 string \"s\"\n2:7 float 0.5\n"
                                           "2:9 the end of the source\n");
    strbuf_free(&out);
    front_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lex_takes_the_longest_operator),
        cmocka_unit_test(test_lex_knows_keywords_from_names),
        cmocka_unit_test(test_lex_skips_blanks_and_comments),
        cmocka_unit_test(test_lex_gives_spans),
        cmocka_unit_test(test_lex_reads_ints),
        cmocka_unit_test(test_decimal_rounds_to_nearest),
        cmocka_unit_test(test_decimal_agrees_with_strtof),
        cmocka_unit_test(test_lex_refuses),
        cmocka_unit_test(test_lex_has_limits),
        cmocka_unit_test(test_lex_prints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
