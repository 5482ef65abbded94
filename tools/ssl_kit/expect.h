/* Expectations that stand in an .ssl file as comments: what ssl-test runs. The format is described in
 * docs/reference/ssl-test.md; this turns it into data, and knows nothing of compiling. */
#ifndef SORT_TOOLS_SSL_KIT_EXPECT_H
#define SORT_TOOLS_SSL_KIT_EXPECT_H

#include "base/array.h"
#include "base/diag.h"
#include "ssl/ssl.h"

/* A number, a bool (0 or 1) or a list in brackets. */
typedef struct ExpectNumbers {
    uint32_t count; /* 0: not given */
    double x[16];
} ExpectNumbers;

typedef enum ExpectSettingKind {
    EXPECT_SET_GLOBAL,    /* name, value, ddx, ddy */
    EXPECT_SET_ATTRIBUTE, /* the same */
    EXPECT_SET_PARAM,     /* name, value */
    EXPECT_SET_CONSTANT,  /* name, value or text */
    EXPECT_SET_TEXTURE,   /* name, text */
    EXPECT_SET_SHADER,    /* name */
    EXPECT_SET_GROUP,     /* name */
    EXPECT_SET_BUDGET,    /* value */
    EXPECT_SET_STACK      /* value */
} ExpectSettingKind;

typedef struct ExpectSetting {
    ExpectSettingKind kind;
    Span span;
    const char *name, *text;
    ExpectNumbers value, ddx, ddy;
} ExpectSetting;

typedef enum ExpectKind {
    EXPECT_VALUE,    /* name, component, value, tolerance */
    EXPECT_DDX,      /* as EXPECT_VALUE */
    EXPECT_DDY,      /* as EXPECT_VALUE */
    EXPECT_CLOSURE,  /* name (NULL: none at all), value: weight, args */
    EXPECT_LOOKUP,   /* name (NULL: none at all), value: s t, ddx, ddy: of s t */
    EXPECT_FAULT,    /* name: "index" or "loop", line, column */
    EXPECT_SHADOWED, /* value */
    EXPECT_ACCEPT
} ExpectKind;

typedef struct Expectation {
    ExpectKind kind;
    Span span;
    const char *name, *under; /* under: the closure it is an argument of; NULL: none */
    int32_t component;        /* -1: all */
    ExpectNumbers value, ddx, ddy, args;
    double tolerance;
    bool has_tolerance;
    uint32_t line, column;
} Expectation;

typedef struct ExpectCase {
    const char *name;
    ARRAY(ExpectSetting) settings;
    ARRAY(Expectation) expectations;
} ExpectCase;

/* A diagnostic that the compiler must give. Positions count from 1; the end is exclusive. */
typedef struct ExpectDiag {
    DiagSeverity severity;
    Span span;
    char code[8];
    uint32_t first_line, first_column, last_line, last_column;
    const char *message; /* part of it */
    struct ExpectNote {
        Span span;
        const char *text; /* part of a note to it */
    } *notes;
    uint32_t note_count;
} ExpectDiag;

/* A block comment: group NAME {JSON} */
typedef struct ExpectGroup {
    const char *name;
    Str json;        /* a view of the text */
    uint32_t offset; /* of it in the text */
} ExpectGroup;

typedef struct ExpectFile {
    ARRAY(ExpectGroup) groups;
    ARRAY(SslGlobalRow) globals; /* declared in the file; so the next two */
    ARRAY(SslAttributeRow) attributes;
    ARRAY(SslClosureRow) closures;
    ARRAY(ExpectCase)
    cases; /* [0]: what stands before the first `case`; its settings hold in all */
    ARRAY(ExpectDiag) diags; /* errors and warnings, in the order of the file */
} ExpectFile;

/* `file`: the text's index in `report`, where mistakes in the comments go as errors. Memory: arena,
 * whose out-of-memory jump is set. */
void expect_parse(Str text, uint32_t file, Arena *arena, DiagList *report, ExpectFile *out_file);

/* A value as in a comment, or on a command line: "0.5", "true", "(1 2 3)". False: it is none, or
 * something follows. */
bool expect_parse_numbers(const char *text, ExpectNumbers *out_numbers);
/* As a value of an SSL type; one number counts for every component. For structs and arrays a list that
 * borrows the numbers. False: wrong number of them. */
bool expect_to_value(const ExpectNumbers *numbers, SslType type, SslValue *out_value);

#endif
