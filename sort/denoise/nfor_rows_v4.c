#define NFOR_ROWS nfor_rows_v4
#include "sort/denoise/nfor_rows.inl"
