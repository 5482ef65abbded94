#define BSDF_ROWS bsdf_rows
#include "sort/bsdf/bsdf_rows.inl"
