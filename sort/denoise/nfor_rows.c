#define NFOR_ROWS nfor_rows
#include "sort/denoise/nfor_rows.inl"
