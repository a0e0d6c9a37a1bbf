// Products that read the rows of a.
#include "broadloom/math/product.h"

#include "broadloom/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "broadloom/math/product_rows.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

void RowsF32(const Product<float, false>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}
void RowsF64(const Product<double, false>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(RowsF32);
HWY_EXPORT(RowsF64);

void multiply(const Product<float, false>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(RowsF32)(p, rows, cols);
}
void multiply(const Product<double, false>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(RowsF64)(p, rows, cols);
}

}  // namespace broadloom
#endif  // HWY_ONCE
