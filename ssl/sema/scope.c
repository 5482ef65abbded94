/* Variables by name. A declaration hides what the name meant outside; closing the scope brings it back. */
#include "base/check.h"
#include "ssl/sema/checker.h"

#include <string.h>

void scope_open(Sema *s)
{
    ++s->scope_level;
}

void scope_close(Sema *s)
{
    ASSERT(s->scope_level > 0);
    while (s->scope.count > 0) {
        VarDecl *var = s->scope.data[s->scope.count - 1];
        if (var->scope_level < s->scope_level)
            break;
        name_map_set(&s->variables, var->name, var->hidden);
        --s->scope.count;
        if (var->kind == VAR_LOCAL && var->is_read && !var->is_assigned && !has_errors(s))
            report(s->diags, NEVER_ASSIGNED, var->first_read, var->name);
        if (var->kind == VAR_LOCAL && !var->is_read && !var->is_given && !has_errors(s))
            report(s->diags, NEVER_READ, var->span, var->name);
    }
    --s->scope_level;
}

void scope_declare(Sema *s, VarDecl *var)
{
    ASSERT(var->name);
    VarDecl *hidden = name_map_get(&s->variables, var->name);
    if (hidden && (hidden->scope_level == s->scope_level || method_is_this(s, hidden))) {
        report(s->diags, REDECLARED, var->span, var->name);
        report(s->diags, NOTE_PREVIOUS, hidden->span, NULL);
    }
    var->scope_level = s->scope_level;
    var->hidden = hidden;
    name_map_set(&s->variables, var->name, var);
    array_push(s->arena, &s->scope, var);
}

VarDecl *scope_find(const Sema *s, const char *name)
{
    VarDecl *var = name_map_get(&s->variables, name);
    while (var && s->is_at_file && var->scope_level > 0)
        var = var->hidden;
    if (!var && s->module->library)
        var = name_map_get(&s->module->library->variables, name);
    return var;
}

bool sema_is_news(Sema *s, const char *name)
{
    if (name_map_get(&s->unknown, name))
        return false;
    name_map_set(&s->unknown, name, s);
    return true;
}

void scope_report_unknown(Sema *s, const char *name, Span span)
{
    ARRAY(const char *) names = {0};
    if (!sema_is_news(s, name))
        return;
    report(s->diags, UNKNOWN_VARIABLE, span, name);
    if (strcmp(name, "this") == 0) {
        report(s->diags, NOTE_WRITE, (Span){0},
               "'this' in methods alone: functions in the braces of a struct");
        return;
    }
    for (uint32_t i = 0; i < s->tables->global_count; ++i)
        if (strcmp(s->tables->globals[i].name, name) == 0) {
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "global_value<%s>", name));
            return;
        }
    for (uint32_t i = s->scope.count; i-- > 0;)
        array_push(s->arena, &names, s->scope.data[i]->name);
    report_suggestion(s->diags, name, names.data, names.count);
}
