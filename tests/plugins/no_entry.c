/* A library that is no plugin. */
int no_entry_answer(void);
int no_entry_answer(void)
{
    return 42;
}
