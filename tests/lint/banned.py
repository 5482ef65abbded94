#!/usr/bin/env python3
"""Names that may not be used, or only in certain files; and one style where C has two.

Comments and texts are taken out first, so that only code counts; marks of unfinished work are
searched in comments too.
"""

import re
import sys

import source_tree

# Called functions: why not, and where all the same.
CALLS = [
    (r"strcpy|strcat|sprintf|vsprintf|gets|strncpy|stpcpy", "does not know the room there is", ()),
    (r"atoi|atol|atoll|atof", "does not tell that it failed; see base/cli.h", ()),
    (r"strtok|rand|srand|setlocale|tmpnam|mktemp|asctime|ctime|gmtime|localtime",
     "has state that all threads share", ()),
    (r"system|popen", "runs a shell; see base/process.h", ()),
    (r"alloca", "takes stack that a fiber does not have", ()),
    (r"malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|strdup|strndup|free",
     "memory comes from base/alloc.h",
     ("base/alloc.c", "plugins/oiio/", "plugins/assimp/", "plugins/oidn/", "tests/")),
    (r"printf|vprintf|puts|putchar|perror", "a library does not print",
     ("tools/", "tests/", "docs/examples/", "sort/bsdf/albedo_generate.c", "sort/bsdf/closure_compile.c",
      "sort/wide/wide_compile.c")),  # programs
    (r"exit|_Exit|quick_exit", "a library does not end the process", ("tools/", "tests/")),
    (r"_exit", "a library does not end the process", ("base/process.c", "tests/")),
    (r"abort", "see base/check.h", ("base/check.c", "tests/")),
    (r"assert", "see base/check.h", ()),
    (r"fork|vfork", "see base/process.h", ("base/process.c", "tests/")),
    (r"getenv", "options travel as arguments",
     ("base/file.c", "plugins/plugin_host.c", "plugins/oidn/", "sort/denoise/oidn_client.c", "tools/", "tests/")),
]

# The C library's results have other bits on other machines; square roots and roundings are exact.
LIBRARY_MATHEMATICS = (
    r"(?:sin|cos|tan|sincos|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|exp|exp2|exp10|expm1|log|log2|log10"
    r"|log1p|pow|cbrt|hypot|erf|erfc|tgamma|lgamma)[fl]?")
# Folders that make pixels, and places in them that only print numbers (those of the table of albedo once) or prove.
PIXEL_FOLDERS = ("sort/", "textures/", "base/")
PIXEL_EXCEPTIONS = ("base/stat/", "sort/bsdf/proof", "sort/bsdf/albedo_", "textures/filter/tex_explain.c", "textures/replay/")

WORDS = [
    (r"stdout|stderr", "a library does not print",
     ("base/check.c", "tools/", "tests/", "docs/examples/", "sort/import/scene_import.c",
      "sort/bsdf/closure_compile.c", "sort/bsdf/albedo_generate.c", "sort/wide/wide_compile.c")),  # a child's main, and programs of the build
    (r"_Thread_local|thread_local|__thread", "data of a thread is a parameter", ()),
]

# i++ as a statement, or as the step of a loop. Where the old value is used, there is no other way to write it.
LVALUE = r"\(?\*?[A-Za-z_]\w*(?:(?:->|\.)\w+|\[(?:[^][;]|\[(?:[^][;]|\[[^][;]*\])*\])*\])*\)?"
STEP = re.compile(r"(?:(?<=[;{}:])\s*|(?<=\))\s+|(?<=\belse)\s+|(?<=\bdo)\s+)(?P<form>" + LVALUE +
                  r"(?:\+\+|--))\s*(?=[;),])")

MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|^[ \t]*#[ \t]*if[ \t]+0\b", re.MULTILINE)

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def code_of(text):
    """The text with comments, strings and characters blanked; lines stay where they are."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def compile_rules():
    # A member of that name, or a declaration of one, is not the library's function.
    rules = [(re.compile(r"(?<![\w.])(?<!->)(?:" + names + r")\s*\("), why, places)
             for names, why, places in CALLS]
    return rules + [(re.compile(r"\b(?:" + names + r")\b"), why, places)
                    for names, why, places in WORDS]


RULES = compile_rules()
MATHEMATICS = re.compile(r"(?<![\w.])(?<!->)" + LIBRARY_MATHEMATICS + r"\s*\(")


def check(files):
    messages = []
    for path, text in files.items():
        code = code_of(text)
        for pattern, why, places in RULES:
            if places and path.startswith(places):
                continue
            for match in pattern.finditer(code):
                name = match.group().rstrip("( \t\n")
                line = source_tree.line_of(text, match.start())
                messages.append(f"{path}:{line}: {name}: {why}")
        for match in STEP.finditer(code):
            line = source_tree.line_of(text, match.start("form"))
            messages.append(f"{path}:{line}: {match['form']}: the sign comes first where only the new value counts")
        for match in MATHEMATICS.finditer(code):
            if path.startswith(PIXEL_FOLDERS) and not path.startswith(PIXEL_EXCEPTIONS):
                name = match.group().rstrip("( \t\n")
                line = source_tree.line_of(text, match.start())
                messages.append(f"{path}:{line}: {name}: has other bits on other machines; see ssl/rt/rt.h")
        for match in MARKS.finditer(text):
            line = source_tree.line_of(text, match.start())
            messages.append(f"{path}:{line}: {match.group().strip()}: a mark of unfinished work")
    return messages


CLEAN = {
    "base/alloc.c": "void *p = malloc(1); free(p);\n",
    "base/check.c": "fprintf(stderr, x); abort();\n",
    "sort/film/film.c": '/* never malloc(), printf() */ text("sprintf(%d)"); // rand()\n'
                        "snprintf(a); mem_free(b); api->free(c); x.exit(d); char q = '\"';\n"
                        "static_assert(1); ASSERT(2); film_printf(3); freed(4);\n",
    "sort/film/tile.c": "for (i = 0; i < n; ++i, --j) { a[i++] = *p--; x = y->z++; f(i++, k--); } if (a) ++b;\n"
                        "/* i++; */ t(\"; i++)\"); while (n--) ++s[i].k; do --n; while (k++ < 3);\n",
    "tools/sort_render/sort_render.c": "printf(x); exit(1);\n",
    "tests/base/test_x.c": "free(calloc(1, 2));\n",
    "sort/light/light.c": "x = rt_sin(sqrtf(y)) + api->log(api->host); /* exp(-x) */\n",
    "tools/a.c": "x = sin(y);\n",
}

BROKEN = [
    ({"sort/a.c": "x = 2 * sinf (y);\n"}, "sort/a.c:1: sinf: has other bits"),
    ({"textures/a.c": "x = pow(y, 2);\n"}, "see ssl/rt/rt.h"),
    ({"sort/a.c": "\n  strcpy(a, b);\n"}, "sort/a.c:2: strcpy: does not know the room"),
    ({"tests/a.c": "sprintf (a, b);\n"}, "sprintf"),
    ({"tools/a.c": "n = atoi(a);\n"}, "atoi"),
    ({"sort/a.c": "strtok(a, b);\n"}, "strtok"),
    ({"sort/a.c": "x = rand();\n"}, "rand"),
    ({"sort/a.c": "p = malloc(4);\n"}, "memory comes from base/alloc.h"),
    ({"sort/a.c": "/* a\n * b */ free(p);\n"}, "sort/a.c:2: free"),
    ({"sort/a.c": 'puts("x");\n'}, "does not print"),
    ({"sort/a.c": 'fprintf(stderr, "x");\n'}, "stderr"),
    ({"ssl/a.c": "exit(1);\n"}, "does not end the process"),
    ({"ssl/a.c": "assert(x);\n"}, "see base/check.h"),
    ({"ssl/a.c": "static _Thread_local int x;\n"}, "is a parameter"),
    ({"ssl/a.c": "\nfor (int i = 0; i < n; i++)\n"}, "ssl/a.c:2: i++: the sign comes first"),
    ({"ssl/a.c": "for (; a; i++, ++j)\n"}, "i++"),
    ({"ssl/a.c": "{\n    p->count--;\n"}, "p->count--"),
    ({"ssl/a.c": "if (x)\n  s.k[a[i]]++;\n"}, "s.k[a[i]]++"),
    ({"ssl/a.c": "else (*n)++;\n"}, "(*n)++"),
    ({"ssl/a.c": "int x; /* TO" "DO: more */\n"}, "unfinished"),
    ({"ssl/a.c": "# if 0\nint x;\n#endif\n"}, "unfinished"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, lambda: source_tree.read_tree((".c", ".h", ".cpp", ".inc", ".inl")),
                              CLEAN, BROKEN))
