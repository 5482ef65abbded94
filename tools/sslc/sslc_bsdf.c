/* sslc check of scattering functions: the proofs of sort/bsdf/proof.h, over the ranges that the arguments state. */
#include "tools/sslc/sslc_bsdf.h"
#include "base/check.h"
#include "base/path.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const sslc_proof_words[] = {"none", "fast", "full", NULL};

/* --- what is to be proved ----------------------------------------------------------------------- */

static const SslMetadata *find_metadata(const SslMetadata *items, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    return NULL;
}

static float metadata_number(const SslMetadata *items, uint32_t count, const char *name,
                             float otherwise)
{
    const SslMetadata *item = find_metadata(items, count, name);
    if (!item)
        return otherwise;
    return item->value.type == SSL_INT     ? (float)item->value.i
           : item->value.type == SSL_FLOAT ? item->value.f[0]
                                           : otherwise;
}

bool sslc_is_of_view(const char *name)
{
    return name[0] == '_' || strcmp(name, "outside") == 0 || strcmp(name, "options") == 0 ||
           strcmp(name, "blur") == 0;
}

static Status add_argument(ProofSubject *s, const SslParamInfo *param, Error *err)
{
    if (s->arg_count == PROOF_ARGS_MAX)
        return error_set(err, STATUS_LIMIT, "there are more than %d arguments", PROOF_ARGS_MAX);
    bool is_place = param->type == SSL_POINT || param->type == SSL_VECTOR;
    ProofArg *arg = &s->args[s->arg_count++];
    *arg = (ProofArg){.name = param->name, .type = param->type};
    arg->min = metadata_number(param->metadata, param->metadata_count, "min", is_place ? -1 : 0);
    arg->max = metadata_number(param->metadata, param->metadata_count, "max",
                               arg->min > 1.0f ? arg->min : 1.0f);
    if (!(arg->min <= arg->max) || !isfinite(arg->min) || !isfinite(arg->max))
        return error_set(err, STATUS_INVALID,
                         "the range of argument '%s' is empty: min is %g, max %g", arg->name,
                         (double)arg->min, (double)arg->max);
    return STATUS_OK;
}

/* A bsdf that gives back more light than it gets says so, and why. */
static Status read_claims(ProofSubject *s, const SslUnitInfo *unit, Error *err)
{
    const SslMetadata *energy = find_metadata(unit->metadata, unit->metadata_count, "energy");
    const SslMetadata *reason =
        find_metadata(unit->metadata, unit->metadata_count, "energy_reason");
    s->most_light = metadata_number(unit->metadata, unit->metadata_count, "energy", 1.0f);
    s->albedo_error =
        metadata_number(unit->metadata, unit->metadata_count, "albedo_error", INFINITY);
    if (energy && (!reason || reason->value.type != SSL_STRING || !reason->value.s[0]))
        return error_set(
            err, STATUS_INVALID,
            "metadata 'energy' needs a string 'energy_reason' that says why light is gained");
    return STATUS_OK;
}

static Status read_subject(const SslUnitInfo *unit, ProofSubject *out, Error *err)
{
    for (uint32_t i = 0; i < unit->param_count; ++i)
        if (!sslc_is_of_view(unit->params[i].name))
            TRY(add_argument(out, &unit->params[i], err));
    return read_claims(out, unit, err);
}

/* --- findings ------------------------------------------------------------------------------------- */

static bool print_findings(const SslcFile *file, const char *bsdf,
                           const ProofFinding findings[PROOF_PROPERTIES], bool has_report)
{
    bool is_good = true;
    for (uint32_t i = 0; i < PROOF_PROPERTIES; ++i) {
        const ProofFinding *f = &findings[i];
        is_good = is_good && !f->is_wrong;
        if (f->is_wrong)
            (void)fprintf(stderr, "%s: bsdf '%s' is not proved: %s: %s\n  at %s\n", file->path,
                          bsdf, proof_name((ProofProperty)i), f->what, f->where);
        else if (has_report && f->tests > 0)
            (void)printf("%s: bsdf '%s': %s: %s\n", file->path, bsdf, proof_name((ProofProperty)i),
                         f->what);
    }
    return is_good;
}

/* --- the picture ---------------------------------------------------------------------------------- */

static Status read_values(const ProofSubject *s, const CliTextList *values, float *args, Error *err)
{
    float *at = args;
    ASSERT(values->count <= CLI_LIST_MAX && s->arg_count <= PROOF_ARGS_MAX);
    bool is_known[CLI_LIST_MAX] = {false};
    for (uint32_t i = 0; i < s->arg_count; ++i) {
        const ProofArg *arg = &s->args[i];
        uint32_t scalars = ssl_type_scalars(arg->type);
        for (uint32_t c = 0; c < scalars; ++c)
            at[c] = 0.5f * (arg->min + arg->max);
        if (arg->type == SSL_NORMAL || strcmp(arg->name, "N") == 0)
            at[0] = 0.0f, at[1] = 0.0f, at[2] = 1.0f;
        if (strcmp(arg->name, "T") == 0)
            at[0] = 1.0f, at[1] = 0.0f, at[2] = 0.0f;
        for (uint32_t k = 0; k < values->count; ++k) {
            char name[SSLC_NAME_BYTES];
            const char *text;
            SslValue value;
            TRY(sslc_split(values->items[k], name, &text, err));
            if (strcmp(name, arg->name) != 0)
                continue;
            is_known[k] = true;
            TRY(sslc_parse_value(name, text, arg->type, &value, err));
            memcpy(at, value.f, scalars * sizeof *at);
        }
        at += scalars;
    }
    for (uint32_t k = 0; k < values->count; ++k)
        if (!is_known[k])
            return error_set(err, STATUS_INVALID, "'%s' sets no argument of bsdf '%s'",
                             values->items[k], s->def->name);
    return STATUS_OK;
}

static Status draw(const ProofSubject *s, const SslcBsdfOptions *o, Error *err)
{
    float args[PROOF_ARGS_MAX * 3];
    TRY(read_values(s, &o->values, args, err));
    return sslc_draw_lobes(s, args, o->picture, err);
}

/* --- a bsdf --------------------------------------------------------------------------------------- */

static Status prove(SslcFile *file, const ProofSubject *subject, const SslcBsdfOptions *o,
                    bool *out_is_proved, Error *err)
{
    ProofFinding findings[PROOF_PROPERTIES];
    if (o->proofs == SSLC_PROOFS_NONE)
        return STATUS_OK;
    TRY(proof_run(subject, o->proofs == SSLC_PROOFS_FULL ? PROOF_FULL : PROOF_FAST, o->seed,
                  findings, err));
    *out_is_proved = print_findings(file, subject->def->name, findings, o->has_report);
    return STATUS_OK;
}

bool sslc_prove_bsdf(SslcFile *file, const SslBsdfInfo *info, const SslcBsdfOptions *options)
{
    char shader[sizeof info->name + 16];
    (void)snprintf(shader, sizeof shader, "%s.prepare", info->name);
    const SslSource source = {
        .name = file->path, .text = {file->text, file->size_bytes}, .shader = shader};
    Error err = {0};
    SslUnit *unit = NULL;
    BsdfBuild *build = NULL;
    static ProofSubject subject;
    bool is_proved = true;
    DiagList *diags = diag_list_create();
    Status status = diags ? ssl_unit_compile(file->ctx, &source, diags, &unit) : STATUS_NO_MEMORY;
    if (status == STATUS_OK)
        status = bsdf_build(file->ctx, &source, info, 0, diags, &build, &err);
    if (status == STATUS_OK) {
        subject = (ProofSubject){.def = bsdf_build_def(build)};
        status = read_subject(ssl_unit_info(unit), &subject, &err);
    }
    if (status == STATUS_OK)
        status = prove(file, &subject, options, &is_proved, &err);
    if (status == STATUS_OK && options->picture)
        status = draw(&subject, options, &err);
    sslc_print_diags(diags);
    if (status != STATUS_OK && status != STATUS_SOURCE) {
        Error told = {0};
        (void)error_set_at(&told, status, err.path[0] ? err.path : file->path, "bsdf '%s': %s",
                           info->name, err.text[0] ? err.text : status_name(status));
        (void)tool_fail(&told, TOOL_FAILED);
    }
    bsdf_build_destroy(build);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return status == STATUS_OK && is_proved;
}
