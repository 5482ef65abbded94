#define SPHERICAL_RECTANGLE_ROWS spherical_rectangle_rows
#include "sort/light/spherical_rectangle_rows.inl"
