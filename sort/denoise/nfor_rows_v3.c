#define NFOR_ROWS nfor_rows_v3
#include "sort/denoise/nfor_rows.inl"
