// Products that read the columns of a.
#include "broadloom/math/product.h"

#include "broadloom/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "broadloom/math/product_columns.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

void ColumnsF32(const Product<float, true>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}
void ColumnsF64(const Product<double, true>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(ColumnsF32);
HWY_EXPORT(ColumnsF64);

void multiply(const Product<float, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsF32)(p, rows, cols);
}
void multiply(const Product<double, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsF64)(p, rows, cols);
}

}  // namespace broadloom
#endif  // HWY_ONCE
