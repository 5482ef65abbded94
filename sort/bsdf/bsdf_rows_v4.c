#define BSDF_ROWS bsdf_rows_v4
#include "sort/bsdf/bsdf_rows.inl"
