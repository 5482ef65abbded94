/* The inside of a MaterialSet, for the files that make one: sources become units (material_units.c), units
 * become materials (material_links.c), materials become programs (material.c), which get their textures
 * (material_bind.c). Each step runs in parallel over its items, then gathers what they said. */
#ifndef SORT_SHADE_MATERIAL_SET_H
#define SORT_SHADE_MATERIAL_SET_H

#include "base/thread.h"
#include "sort/shade/material.h"

enum { MATERIAL_KERNEL_KINDS = 3 }; /* of SslKernelKind */

/* A shader of a source, compiled once for all materials and nodes that use it. */
typedef struct MaterialUnit {
    uint32_t shader;
    const char *entry;
    const char *place; /* where it is used first, for messages */
    SslUnit *unit;
    DiagList *diags;
    Status status;
    Error error;
} MaterialUnit;

/* A material as a unit: its shader or group with the material's values. */
typedef struct MaterialLink {
    SslUnit *unit;
    DiagList *diags;
    Status status;
    Error error;
} MaterialLink;

/* What the kernels of a material share while they are built: the first one specialises the unit, the last one frees that. */
typedef struct MaterialSpecial {
    Mutex mutex; /* for all below */
    SslSpecialised *unit;
    DiagList *diags; /* NULL: nobody has specialised it yet */
    Status status;
    Error error;
    uint32_t builds_left;
} MaterialSpecial;

typedef struct MaterialBuild {
    DiagList *diags;
    Status status;
    Error error;
} MaterialBuild;

struct MaterialSet {
    MaterialSetDesc desc;
    Material *materials; /* [material_count] */
    MaterialUnit *units;
    uint32_t unit_count, unit_capacity;
    MaterialLink *links; /* [material_count] */
    /* Only while compiling: */
    MaterialSpecial *specials; /* [material_count] */
    MaterialBuild *builds;     /* [material_count * MATERIAL_KERNEL_KINDS] */
    double compile_ms;
};

/* Fills set->units with all shaders that materials and groups use. STATUS_NO_MEMORY. */
Status material_units_collect(MaterialSet *set) SORT_MUST_CHECK;
/* For parallel_for over set->units; data: the set. */
void material_unit_compile(void *data, uint32_t index);
/* Prints what the compiler said; the first error. */
Status material_units_gather(const MaterialSet *set, StrBuf *diagnostics,
                             Error *err) SORT_MUST_CHECK;
/* NULL: it was not collected. entry may be NULL. */
const MaterialUnit *material_unit_find(const MaterialSet *set, uint32_t shader, const char *entry);

/* For parallel_for over set->links; data: the set. */
void material_link(void *data, uint32_t index);
Status material_links_gather(const MaterialSet *set, StrBuf *diagnostics,
                             Error *err) SORT_MUST_CHECK;
/* Returns the HitParts that the program's kernel reads. */
uint32_t material_program_parts(const SslProgramInfo *info);
/* Returns whether it reads by which lobes the path was scattered before. */
bool material_program_reads_bounces(const SslProgramInfo *info);
/* Returns whether it reads how often the path was scattered, by kinds, or went straight on. */
bool material_program_reads_counts(const SslProgramInfo *info);
/* Returns whether it reads the direction to the viewer or the side that is seen, other than by a normal that faces the viewer. */
bool material_program_reads_viewer(const SslProgramInfo *info);
/* An error about a field of material m: `section`.`name`, each "" for none. */
Status material_error(const MaterialSet *set, uint32_t m, const char *section, const char *name,
                      Error *err, const char *text);

#endif
