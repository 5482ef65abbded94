#define SPHERICAL_RECTANGLE_ROWS spherical_rectangle_rows_v4
#include "sort/light/spherical_rectangle_rows.inl"
