#define BSDF_ROWS bsdf_rows_v3
#include "sort/bsdf/bsdf_rows.inl"
