// Products that read the columns of a, with the sums of b beside them.
#include "broadloom/math/product.h"

#include "broadloom/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "broadloom/math/product_sums.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

void ColumnsAndSumsF32(const Product<float, true>& p, int rows, int cols) {
  multiply_all<true>(p, rows, cols);
}
void ColumnsAndSumsF64(const Product<double, true>& p, int rows, int cols) {
  multiply_all<true>(p, rows, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(ColumnsAndSumsF32);
HWY_EXPORT(ColumnsAndSumsF64);

void multiply_and_add_up(const Product<float, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsAndSumsF32)(p, rows, cols);
}
void multiply_and_add_up(const Product<double, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsAndSumsF64)(p, rows, cols);
}

}  // namespace broadloom
#endif  // HWY_ONCE
