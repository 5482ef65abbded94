/* The pages that tools/kit/tool.c makes of a program's tables: its manual and its completions. */
#ifndef SORT_TOOLS_KIT_TOOL_PAGES_H
#define SORT_TOOLS_KIT_TOOL_PAGES_H

#include "base/cli_pages.h"
#include "tools/kit/tool.h"

typedef enum ToolPageKind {
    TOOL_PAGE_OPTIONS,   /* options of the manual page */
    TOOL_PAGE_EXAMPLES,  /* its examples */
    TOOL_PAGE_COMPLETION /* all of a completion, in `main` */
} ToolPageKind;

/* The text of a page while it is made. A command's table has a space in its name ("texcache make"), the program's own has none. */
typedef struct ToolPage {
    ToolPageKind kind;
    CliShell shell;
    StrBuf main;     /* text of the program's own table; whoever prints it frees it */
    StrBuf commands; /* text of the commands' tables */
    StrBuf synopsis; /* a line for each table */
} ToolPage;

/* Adds the command's table to the page. */
void tool_page_add(ToolPage *page, const CliProgram *command);

/* The manual page in roff's man macros; takes the text of both pages. */
void tool_manual(const Tool *program, ToolPage *options, ToolPage *examples, StrBuf *out);
void tool_completion_begin(const Tool *program, ToolPage *page);

/* The commands that every program has. */
enum { TOOL_PAGE_COMMANDS = 2 };
extern const CliCommand tool_page_commands[TOOL_PAGE_COMMANDS];

#endif
