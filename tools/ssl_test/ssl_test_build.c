/* Settings of a case, and its kernel. */
#include "base/alloc.h"
#include "base/check.h"
#include "tools/ssl_kit/group_units.h"
#include "tools/ssl_test/ssl_test.h"
#include <string.h>

/* --- settings --------------------------------------------------------------------------------- */

static bool fail_setting(TestRun *run, const ExpectSetting *setting, const char *what)
{
    diag_add(run->report, DIAG_ERROR, "", setting->span, "%s", what);
    return false;
}

static bool set_global(TestShot *shot, const ExpectSetting *setting)
{
    const SslContextDesc *tables = &shot->run->tables;
    uint32_t row = 0;
    while (row < tables->global_count && strcmp(tables->globals[row].name, setting->name) != 0)
        ++row;
    if (row == tables->global_count)
        return fail_setting(shot->run, setting, "there is no such global");
    const ExpectNumbers *parts[] = {&setting->value, &setting->ddx, &setting->ddy};
    for (uint32_t shadow = 0; shadow < 3; ++shadow) {
        SslValue value;
        if (!parts[shadow]->count)
            continue;
        if (!expect_to_value(parts[shadow], tables->globals[row].type, &value))
            return fail_setting(shot->run, setting, "the value does not fit the global's type");
        if (shadow && !tables->globals[row].has_derivs)
            return fail_setting(shot->run, setting, "this global has no derivatives");
        grid_host_set_global(shot->host, row, shadow, &value);
    }
    return true;
}

static bool set_attribute(TestShot *shot, const ExpectSetting *setting)
{
    const SslUnitInfo *unit = shot->info->unit;
    uint32_t slot = 0;
    while (slot < unit->attribute_count && strcmp(unit->attributes[slot].name, setting->name) != 0)
        ++slot;
    for (uint32_t i = 0; i < shot->run->tables.attribute_count && slot == unit->attribute_count;
         ++i)
        if (strcmp(shot->run->tables.attributes[i].name, setting->name) == 0)
            return true; /* the shader does not read it */
    if (slot == unit->attribute_count)
        return fail_setting(shot->run, setting, "the shader has no such attribute");
    const ExpectNumbers *parts[] = {&setting->value, &setting->ddx, &setting->ddy};
    for (uint32_t shadow = 0; shadow < 3; ++shadow) {
        SslValue value;
        if (!parts[shadow]->count)
            continue;
        if (!expect_to_value(parts[shadow], unit->attributes[slot].type, &value))
            return fail_setting(shot->run, setting, "the value does not fit the attribute's type");
        if (shadow && !unit->attributes[slot].has_derivs)
            return fail_setting(shot->run, setting, "this attribute has no derivatives");
        grid_host_set_attribute(shot->host, slot, shadow, &value);
    }
    grid_host_attribute_exists(shot->host, slot, true);
    return true;
}

static bool set_param(TestShot *shot, const ExpectSetting *setting)
{
    const SslUnitInfo *unit = shot->info->unit;
    uint32_t at = 0;
    while (at < unit->param_count && strcmp(unit->params[at].name, setting->name) != 0)
        ++at;
    SslValue value;
    Error err = {0};
    if (at == unit->param_count)
        return fail_setting(shot->run, setting, "the shader has no such parameter");
    if (!expect_to_value(&setting->value, unit->params[at].type, &value))
        return fail_setting(shot->run, setting, "the value does not fit the parameter's type");
    if (ssl_params_set(shot->program, grid_host_params(shot->host), at, &value, &err) != STATUS_OK)
        return fail_setting(shot->run, setting, err.text);
    return true;
}

static bool set_texture(TestShot *shot, const ExpectSetting *setting)
{
    const SslUnitInfo *unit = shot->info->unit;
    uint32_t at = 0;
    while (at < unit->texture_count && strcmp(unit->textures[at], setting->name) != 0)
        ++at;
    GridTexture texture;
    Error err = {0};
    if (at == unit->texture_count)
        return fail_setting(shot->run, setting, "the shader has no such texture");
    if (grid_texture_parse(setting->text, &texture, &err) != STATUS_OK)
        return fail_setting(shot->run, setting, err.text);
    grid_host_set_texture(shot->host, at, &texture);
    return true;
}

bool test_apply_settings(TestShot *shot, const ExpectCase *from)
{
    bool is_good = true;
    for (uint32_t i = 0; i < from->settings.count; ++i) {
        const ExpectSetting *setting = &from->settings.data[i];
        if (setting->kind == EXPECT_SET_GLOBAL)
            is_good &= set_global(shot, setting);
        else if (setting->kind == EXPECT_SET_ATTRIBUTE)
            is_good &= set_attribute(shot, setting);
        else if (setting->kind == EXPECT_SET_PARAM)
            is_good &= set_param(shot, setting);
        else if (setting->kind == EXPECT_SET_TEXTURE)
            is_good &= set_texture(shot, setting);
        else if (setting->kind == EXPECT_SET_BUDGET)
            grid_host_set_loop_budget(shot->host, (uint32_t)setting->value.x[0]);
        else if (setting->kind == EXPECT_SET_STACK)
            grid_host_set_stack(shot->host, (uint32_t)setting->value.x[0]);
    }
    return is_good;
}

/* --- building --------------------------------------------------------------------------------- */

/* The last `shader` or `group` of the file's own and the case's settings. */
static const char *name_of(const TestRun *run, const ExpectCase *test_case, ExpectSettingKind kind)
{
    const char *shader = NULL;
    const ExpectCase *sources[] = {&run->expect.cases.data[0], test_case};
    for (uint32_t s = 0; s < 2; ++s)
        for (uint32_t i = 0; i < sources[s]->settings.count; ++i)
            if (sources[s]->settings.data[i].kind == kind)
                shader = sources[s]->settings.data[i].name;
    return shader;
}

/* Later constants of a name win. Types come from the shader. */
static bool gather_constants(TestRun *run, const ExpectCase *test_case, const SslUnitInfo *unit,
                             SslConstant *out_constants, uint32_t max, uint32_t *out_count)
{
    const ExpectCase *sources[] = {&run->expect.cases.data[0], test_case};
    *out_count = 0;
    for (uint32_t s = 0; s < (test_case == sources[0] ? 1u : 2u); ++s)
        for (uint32_t i = 0; i < sources[s]->settings.count; ++i) {
            const ExpectSetting *setting = &sources[s]->settings.data[i];
            if (setting->kind != EXPECT_SET_CONSTANT)
                continue;
            uint32_t param = 0, at = 0;
            while (param < unit->param_count &&
                   strcmp(unit->params[param].name, setting->name) != 0)
                ++param;
            if (param == unit->param_count)
                return fail_setting(run, setting, "the shader has no such parameter");
            SslValue value = {.type = SSL_STRING, .s = setting->text};
            if (!setting->text &&
                !expect_to_value(&setting->value, unit->params[param].type, &value))
                return fail_setting(run, setting, "the value does not fit the parameter's type");
            while (at < *out_count && strcmp(out_constants[at].param, setting->name) != 0)
                ++at;
            if (at == max)
                return fail_setting(run, setting, "too many constants");
            ASSERT(at <= *out_count);
            out_constants[at] = (SslConstant){setting->name, value};
            *out_count = at == *out_count ? at + 1 : *out_count;
        }
    return true;
}

enum { CONSTANTS_MAX = 64 };

/* Diagnostics go to `diags`, with places in the file. */
Status test_link_group(TestRun *run, const ExpectGroup *group, DiagList *diags, SslUnit **out_unit)
{
    const GroupUnitsDesc desc = {
        .ctx = run->ctx, .diags = diags, .path = run->file->path, .text = run->text};
    const SslGroupText text = {.name = group->name,
                               .json = group->json,
                               .file = diag_add_source(diags, run->file->path, run->text),
                               .offset = group->offset};
    SslGroupFile *file = NULL;
    GroupUnits *units = group_units_create(&desc);
    *out_unit = NULL;
    Status status = units ? ssl_group_file_read(&text, NULL, diags, &file) : STATUS_NO_MEMORY;
    if (status == STATUS_OK)
        status = ssl_group_file_link(run->ctx, file, group_units_find, units, diags, out_unit);
    ssl_group_file_destroy(file);
    group_units_destroy(units);
    return status;
}

/* The shader or group of a case: a group if one is named, or there are some and no shader is named. */
static Status compile_case(TestRun *run, const ExpectCase *test_case, DiagList *diags,
                           SslUnit **out_unit, Error *err)
{
    const char *group = name_of(run, test_case, EXPECT_SET_GROUP);
    SslSource source = {.name = run->file->path,
                        .text = run->text,
                        .shader = name_of(run, test_case, EXPECT_SET_SHADER)};
    if (!group && (source.shader || run->expect.groups.count == 0))
        return ssl_unit_compile(run->ctx, &source, diags, out_unit);
    for (uint32_t i = 0; i < run->expect.groups.count; ++i)
        if (!group || strcmp(run->expect.groups.data[i].name, group) == 0)
            return test_link_group(run, &run->expect.groups.data[i], diags, out_unit);
    return error_set(err, STATUS_NOT_FOUND, "the file has no group '%s'", group);
}

static bool wants_derivatives(const ExpectCase *test_case)
{
    return test_expects(test_case, EXPECT_DDX) || test_expects(test_case, EXPECT_DDY);
}

static SslProgram *build_case(TestRun *run, const ExpectCase *test_case, uint32_t llvm_level,
                              DiagList *diags, Error *err)
{
    SslUnit *unit;
    err->code = compile_case(run, test_case, diags, &unit, err);
    if (err->code == STATUS_NOT_FOUND)
        return NULL;
    if (err->code != STATUS_OK) {
        if (err->code != STATUS_SOURCE)
            (void)error_set(err, err->code, "%s", status_name(err->code));
        return NULL;
    }
    SslConstant constants[CONSTANTS_MAX];
    SslBuildDesc how = {.size_bytes = sizeof how,
                        .constants = constants,
                        .llvm_level = llvm_level,
                        .output_derivatives = wants_derivatives(test_case)};
    SslProgram *program = NULL;
    if (!gather_constants(run, test_case, ssl_unit_info(unit), constants, CONSTANTS_MAX,
                          &how.constant_count))
        (void)error_set(err, STATUS_INVALID, "the constants do not fit");
    else if (ssl_program_build(run->ctx, unit, &how, diags, &program, err) != STATUS_OK)
        program = NULL;
    ssl_unit_release(unit);
    return program;
}

/* --- programs that serve several cases ---------------------------------------------------------- */

const struct TestLevel test_levels[TEST_LEVELS] = {{"O0", 1}, {"O2", 3}};

/* True if a case has no settings of its own that name or shape its program. */
static bool sets_inputs_only(const ExpectCase *test_case)
{
    for (uint32_t i = 0; i < test_case->settings.count; ++i) {
        ExpectSettingKind kind = test_case->settings.data[i].kind;
        if (kind == EXPECT_SET_SHADER || kind == EXPECT_SET_GROUP || kind == EXPECT_SET_CONSTANT)
            return false;
    }
    return true;
}

/* Settings of case 0 hold in all. */
static bool has_program_of(const TestRun *run, const ExpectCase *test_case, const ExpectCase *other)
{
    const ExpectCase *common = &run->expect.cases.data[0];
    return wants_derivatives(test_case) == wants_derivatives(other) &&
           (test_case == other || ((test_case == common || sets_inputs_only(test_case)) &&
                                   (other == common || sets_inputs_only(other))));
}

SslProgram *test_build_case(TestRun *run, const ExpectCase *test_case, uint32_t level,
                            DiagList *diags, Error *err)
{
    ASSERT(level < TEST_LEVELS);
    TestBuild *build = &run->builds[level];
    if (build->program && has_program_of(run, test_case, build->test_case))
        return build->program;
    ssl_program_release(build->program);
    build->program = build_case(run, test_case, test_levels[level].llvm_level, diags, err);
    build->test_case = test_case;
    return build->program;
}

void test_release_builds(TestRun *run)
{
    for (uint32_t level = 0; level < TEST_LEVELS; ++level) {
        ssl_program_release(run->builds[level].program);
        run->builds[level] = (TestBuild){0};
    }
}
