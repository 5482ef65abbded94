/* Several modules into one: the entry of each instance is copied into one new entry, where its reads of
 * parameters are the values that the caller gives, so that a wire between two units is an ordinary value
 * and all passes see one function. Functions that entries call are taken over once a module, or once an
 * instance where they look up textures or attributes, since each instance has its own; those of the standard library
 * once in all.
 *
 *   begin; for each instance in order: add (inputs are values of the entry); end with the results
 *
 * Everything is the linked module's arena. */
#ifndef SSL_IR_IR_LINK_H
#define SSL_IR_IR_LINK_H

#include "ssl/ir/ir_build.h"

typedef struct IrLink IrLink;

/* `m` has its tables, and no functions yet. The module's `info` is the caller's to fill, before any
 * pass looks at it. */
IrLink *ir_link_begin(IrModule *m, const char *name);
IrBuilder *ir_link_builder(IrLink *link); /* of the entry that is being made */

/* A module that instances are made of, for several; it must stay as it is until the end. `file_base` is
 * added to the files of its spans. Its fault sites are appended to the linked module's. */
uint32_t ir_link_part(IrLink *link, const IrModule *from, uint32_t file_base);
/* inputs[param][component]; out_results: one value a result of the part's entry. texture_base: slot of
 * its first texture; attributes: [attribute of the part] its slot, which must stay until the end. */
void ir_link_instance(IrLink *link, uint32_t part, uint32_t texture_base,
                      const uint32_t *attributes, const IrValue *const *inputs,
                      IrValue *out_results);
void ir_link_end(IrLink *link, const IrValue *results, uint32_t result_count);

#endif
