#define SPHERICAL_RECTANGLE_ROWS spherical_rectangle_rows_v3
#include "sort/light/spherical_rectangle_rows.inl"
