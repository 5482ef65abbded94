#define RT_LANES 8
#include "ssl/rt/rt_lanes.inl"
