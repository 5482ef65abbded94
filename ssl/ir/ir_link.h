/* The linker of modules. The entry of each instance is copied into one new entry, in which reads of parameters
 * become the values that the caller passes. A wire between two units is therefore an ordinary value, and all
 * passes see one function.
 *
 * A function that an entry calls is copied once per module. If it looks up textures or attributes, it is copied
 * once per instance, because each instance has its own. A function of the standard library is copied once. Derivatives that a
 * part takes are listed in the linked module, with what its source says of the functions (IrModule.derivatives, diff_facts).
 *
 *   begin; for each instance in order: add (inputs are values of the entry); end with the results
 *
 * All memory comes from the linked module's arena. */
#ifndef SSL_IR_IR_LINK_H
#define SSL_IR_IR_LINK_H

#include "ssl/ir/ir_build.h"

typedef struct IrLink IrLink;

/* Starts linking into `m`, which has its tables and no functions yet. The caller must fill in `m->info` before
 * any pass reads it. */
IrLink *ir_link_begin(IrModule *m, const char *name);
IrBuilder *ir_link_builder(IrLink *link); /* the builder of the new entry */

/* Adds a module from which any number of instances can be made, and returns its number. It must not change until
 * ir_link_end. `file_base` is added to the file numbers of its spans. Its fault sites are appended to the linked
 * module's. */
uint32_t ir_link_part(IrLink *link, const IrModule *from, uint32_t file_base);
/* Adds an instance of a part. inputs[param][component] are its inputs; out_results gets a value for each result
 * of the part's entry. texture_base is the slot of its first texture; attributes[attribute of the part] are
 * slots, and the array must not change until ir_link_end. */
void ir_link_instance(IrLink *link, uint32_t part, uint32_t texture_base,
                      const uint32_t *attributes, const IrValue *const *inputs,
                      IrValue *out_results);
void ir_link_end(IrLink *link, const IrValue *results, uint32_t result_count);

#endif
