/* What ssl_unit_differentiate does to the IR of a unit and to the description of its interface. */
#ifndef SSL_DERIVATIVE_H
#define SSL_DERIVATIVE_H

#include "ssl/ir/ir.h"

/* Makes of a lowered module, whose derivatives are not built yet, the one that SslDerivativeDesc describes. */
Status derivative_take(IrModule *m, const SslDerivativeDesc *how, DiagList *diags,
                       Error *err) SORT_MUST_CHECK;

#endif
