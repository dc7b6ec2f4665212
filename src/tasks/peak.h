// What the processors can do at most, measured: the yardstick for "share of peak".
#pragma once

#include "biowarp/types.h"
#include "mem/context.h"

namespace biowarp {

// Floating-point (or integer) operations per second of all workers of `context` together in the matrix product of
// `precision`, on panels and weights that stay in the caches. Takes about a tenth of a second.
double measure_peak(Context& context, Precision precision);

}  // namespace biowarp
