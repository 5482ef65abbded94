#include "tests/bench/bench_ssl_source.h"

static void add_heavy(StrBuf *text, uint32_t i, const char *a, const char *b, const char *c)
{
    uint32_t k = i % 61 + 1;
    switch (i % 6) {
    case 0:
        strbuf_printf(text, "    %s = %s * 0.75 + %s * %u.0 / 64.0;\n", a, a, b, k);
        break;
    case 1:
        strbuf_printf(text, "    %s = sin(%s * 0.5 + %s) + %u.0 / 32.0;\n", b, b, c, k);
        break;
    case 2:
        strbuf_printf(text, "    %s = max(%s * 0.5, %s) - %u.0 / 128.0;\n", c, c, a, k);
        break;
    case 3:
        strbuf_printf(text, "    %s = sqrt(abs(%s * %s) + %u.0);\n", a, a, b, k);
        break;
    case 4:
        strbuf_printf(text, "    %s = %s > %s ? %s - %s * 0.25 : %s + %s / %u.5;\n", b, a, c, b, a,
                      b, c, k);
        break;
    default:
        strbuf_printf(text, "    if (%s > 0.25) %s = %s * 0.5 + %s * %u.0 / 16.0;\n", b, c, c, a,
                      k);
    }
}

static void add_light(StrBuf *text, uint32_t i, const char *a, const char *b, const char *c)
{
    uint32_t k = i % 61 + 1;
    if (i % 48 == 0)
        strbuf_printf(text, "    %s = sin(%s);\n", a, a);
    else if (i % 6 == 0)
        strbuf_printf(text, "    %s = %s * 0.%u;\n", a, a, 500 + 7 * k);
    else if (i % 6 == 1)
        strbuf_printf(text, "    %s = %s + %s;\n", b, b, a);
    else if (i % 6 == 2)
        strbuf_printf(text, "    %s = max(%s, %s);\n", c, c, b);
    else if (i % 6 == 3)
        strbuf_printf(text, "    %s *= 0.5;\n", b);
    else if (i % 6 == 4)
        strbuf_printf(text, "    %s = %s - %s;\n", a, a, c);
    else
        strbuf_printf(text, "    %s = %s * 0.25 + %u.0 / 32.0;\n", c, c, k);
}

char *bench_ssl_source(uint32_t statements, Demand demand, StatementKind kind)
{
    StrBuf text = {0};
    void (*add)(StrBuf *, uint32_t, const char *, const char *, const char *) =
        kind == STATEMENT_LIGHT ? add_light : add_heavy;
    strbuf_append_c(&text,
                    "texture2d t;\nshader main(float k = 0.5, out float o) {\n"
                    "    float a = global_value<uvw>.x;\n    float b = global_value<uvw>.y;\n"
                    "    float c = global_value<position>.x;\n");
    strbuf_append_c(&text, demand == DEMAND_CONSTANT
                               ? "    float u = k; float v = k * 2.0; float w = k + 1.0;\n"
                               : "    float u = a; float v = b; float w = c;\n");
    for (uint32_t i = 0; i < statements; ++i) {
        /* E: half depends on the globals and half, with the coordinates, on parameters. */
        bool is_slice = demand == DEMAND_CONSTANT ? i / 6 % 2 == 0 : i / 6 % 16 == 0;
        if (is_slice && (demand == DEMAND_CONSTANT || demand == DEMAND_SOME))
            add(&text, i, "u", "v", "w");
        else
            add(&text, i, "a", "b", "c");
    }
    strbuf_append_c(&text, demand == DEMAND_NONE ? "    o = a + b + c;\n}\n"
                           : demand == DEMAND_ALL
                               ? "    o = texture2d_sample<t>(a, b).x + c;\n}\n"
                               : "    o = texture2d_sample<t>(u, v).x + a + c;\n}\n");
    return text.data;
}
