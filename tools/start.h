/* What all programs do first. */
#ifndef SORT_TOOLS_START_H
#define SORT_TOOLS_START_H

/* For main, before anything else. What a disk has no room for, or the process's limit for the size of a file, is then an
 * error of the write instead of a signal that ends the process; and standard output that could not be written ends the
 * program with exit code 1 and a message, however well the rest went. `name`: of the program, kept. */
void program_begin(const char *name);

#endif
