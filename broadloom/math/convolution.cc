#include "broadloom/math/convolution.h"

#include <algorithm>

#include "broadloom/math/linear.h"
#include "broadloom/math/product.h"

namespace broadloom {
namespace {

int ceil_div(int a, int b) { return (a + b - 1) / b; }

std::size_t area(int height, int width, int channels) {
  return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
         static_cast<std::size_t>(channels);
}

// Copies x [height, width, channels] into the middle of zeros, with `front` zeros before each side.
template <class T>
void put_in_zeros(const T* x, int height, int width, int channels, int front, int full_height,
                  int full_width, T* out) {
  std::fill_n(out, area(full_height, full_width, channels), T(0));
  const std::size_t row = area(1, width, channels);
  const std::size_t full_row = area(1, full_width, channels);
  T* target = out + area(1, front, channels) + static_cast<std::size_t>(front) * full_row;
  for (int y = 0; y < height; ++y) std::copy_n(x + y * row, row, target + y * full_row);
}

// x with its padding: x itself if there is none.
template <class T>
const T* padded(const ConvolutionShape& s, const T* x, T* scratch) {
  if (s.padding == 0) return x;
  put_in_zeros(x, s.height, s.width, s.channels, s.padding, s.height + 2 * s.padding,
               s.width + 2 * s.padding, scratch);
  return scratch;
}

// One dimension of the input derivative at one phase.
//
// Positions of x that lie `phase` after a multiple of the stride need only every stride-th row (or
// column) of the kernel. Their derivative is a convolution with stride 1 of zero-padded dy with
// those rows, reversed.
struct Phase {
  Phase(int phase, int size, const ConvolutionShape& s)
      : taps(ceil_div(s.kernel - phase, s.stride)),
        first(ceil_div(std::max(s.padding - phase, 0), s.stride)),
        count(ceil_div(size + s.padding - phase, s.stride) - first),
        place(s.stride * first + phase - s.padding),
        read(first + ceil_div(s.kernel, s.stride) - taps) {}

  int taps;   // rows of the kernel that take part
  int first;  // first position, in multiples of the stride
  int count;  // number of positions
  int place;  // offset of the first position in x
  int read;   // offset of its first tap in zero-padded dy
};

// Sizes of dy with zero padding, which serves all phases.
struct Surrounded {
  explicit Surrounded(const ConvolutionShape& s)
      : front(ceil_div(s.kernel, s.stride) - 1),
        height(ceil_div(s.height + s.padding, s.stride) + front),
        width(ceil_div(s.width + s.padding, s.stride) + front) {}

  int front, height, width;
};

template <class T>
void forward(const ConvolutionShape& s, const T* x, const T* w, const T* b, T* y, T* scratch) {
  const std::size_t filters = static_cast<std::size_t>(s.filters);
  const std::size_t image_row = area(1, s.width + 2 * s.padding, s.channels);
  Product<T, false> p{.a = padded(s, x, scratch),
                      .a_stride = area(1, s.stride, s.channels),
                      .b = w,
                      .b_stride = filters,
                      .start = b,
                      .start_row = 0,
                      .c = y,
                      .c_row = filters,
                      .depth = s.kernel * s.channels};
  p.runs = s.kernel;
  p.a_run = image_row;
  p.groups = s.out_height();
  p.a_group = static_cast<std::size_t>(s.stride) * image_row;
  p.c_group = area(1, s.out_width(), s.filters);
  multiply(p, s.out_width(), s.filters);
}

// One product per row of the kernel: the numbers that a kernel row reads are adjacent in the image.
template <class T>
void backward_weights(const ConvolutionShape& s, const T* x, const T* dy, T* dw, T* db,
                      T* scratch) {
  const std::size_t filters = static_cast<std::size_t>(s.filters);
  const std::size_t image_row = area(1, s.width + 2 * s.padding, s.channels);
  const int rows = s.kernel * s.channels;
  Product<T, true> p{.a = padded(s, x, scratch),
                     .a_stride = area(1, s.stride, s.channels),
                     .b = dy,
                     .b_stride = filters,
                     .start = dw,
                     .start_row = filters,
                     .c = dw,
                     .c_row = filters,
                     .depth = s.out_width()};
  p.sums = db;
  p.runs = s.out_height();
  p.a_run = static_cast<std::size_t>(s.stride) * image_row;
  multiply_and_add_up(p, rows, s.filters);
  for (int ky = 1; ky < s.kernel; ++ky) {
    p.a += image_row;
    p.c += static_cast<std::size_t>(rows) * filters;
    p.start = p.c;
    multiply(p, rows, s.filters);
  }
}

// Computes the positions of one phase, row by row. Rows of the kernel that would meet only zeros
// are left out.
template <class T>
void backward_phase(const ConvolutionShape& s, const Surrounded& full, const Phase& rows,
                    const Phase& columns, const T* surrounded, const T* turned, T* dx) {
  const std::size_t full_row = area(1, full.width, s.filters);
  const std::size_t image_row = area(1, s.width, s.channels);
  const std::size_t kernel_row = area(columns.taps, s.filters, s.channels);
  Product<T, false> p{.a = nullptr,
                      .a_stride = static_cast<std::size_t>(s.filters),
                      .b = nullptr,
                      .b_stride = static_cast<std::size_t>(s.channels),
                      .start = nullptr,
                      .start_row = 0,
                      .c = dx + static_cast<std::size_t>(rows.place) * image_row +
                           area(1, columns.place, s.channels),
                      .c_row = area(1, s.stride, s.channels),
                      .depth = columns.taps * s.filters,
                      .from_zero = true};
  p.a_run = full_row;
  for (int row = 0; row < rows.count; ++row) {
    const int read = rows.read + row;
    const int first = std::clamp(full.front - read, 0, rows.taps);
    const int last = std::clamp(full.front + s.out_height() - read, first, rows.taps);
    p.a = surrounded + static_cast<std::size_t>(read + first) * full_row +
          area(1, columns.read, s.filters);
    p.b = turned + static_cast<std::size_t>(first) * kernel_row;
    p.runs = last - first;
    multiply(p, columns.count, s.channels);
    p.c += static_cast<std::size_t>(s.stride) * image_row;
  }
}

template <class T>
void backward_input(const ConvolutionShape& s, const T* dy, const T* turned, T* dx, T* scratch) {
  const Surrounded full(s);
  put_in_zeros(dy, s.out_height(), s.out_width(), s.filters, full.front, full.height, full.width,
               scratch);
  for (int py = 0; py < s.stride; ++py) {
    const Phase rows(py, s.height, s);
    for (int px = 0; px < s.stride; ++px) {
      const Phase columns(px, s.width, s);
      backward_phase(s, full, rows, columns, scratch, turned, dx);
      turned += area(rows.taps, columns.taps, s.filters) * static_cast<std::size_t>(s.channels);
    }
  }
}

// Writes `turned`, phase after phase: [taps, taps, filters, channels], with the kernel's rows and
// columns from last to first.
template <class T>
void turn(const ConvolutionShape& s, const T* w, T* turned) {
  for (int py = 0; py < s.stride; ++py) {
    for (int px = 0; px < s.stride; ++px) {
      for (int ty = ceil_div(s.kernel - py, s.stride); ty-- > 0;) {
        for (int tx = ceil_div(s.kernel - px, s.stride); tx-- > 0;) {
          const int ky = py + s.stride * ty, kx = px + s.stride * tx;
          transpose(w + area(ky * s.kernel + kx, s.channels, s.filters), turned, s.channels,
                    s.filters);
          turned += area(1, s.channels, s.filters);
        }
      }
    }
  }
}

}  // namespace

std::size_t ConvolutionShape::scratch_size() const {
  const Surrounded full(*this);
  const std::size_t image =
      padding == 0 ? 0 : area(height + 2 * padding, width + 2 * padding, channels);
  return std::max(image, area(full.height, full.width, filters));
}

void convolve(const ConvolutionShape& shape, const float* x, const float* w, const float* b,
              float* y, float* scratch) {
  forward(shape, x, w, b, y, scratch);
}
void convolve(const ConvolutionShape& shape, const double* x, const double* w, const double* b,
              double* y, double* scratch) {
  forward(shape, x, w, b, y, scratch);
}
void convolve_backward_weights(const ConvolutionShape& shape, const float* x, const float* dy,
                               float* dw, float* db, float* scratch) {
  backward_weights(shape, x, dy, dw, db, scratch);
}
void convolve_backward_weights(const ConvolutionShape& shape, const double* x, const double* dy,
                               double* dw, double* db, double* scratch) {
  backward_weights(shape, x, dy, dw, db, scratch);
}
void convolve_backward_input(const ConvolutionShape& shape, const float* dy, const float* turned,
                             float* dx, float* scratch) {
  backward_input(shape, dy, turned, dx, scratch);
}
void convolve_backward_input(const ConvolutionShape& shape, const double* dy, const double* turned,
                             double* dx, double* scratch) {
  backward_input(shape, dy, turned, dx, scratch);
}
void turn_weights(const ConvolutionShape& shape, const float* w, float* turned) {
  turn(shape, w, turned);
}
void turn_weights(const ConvolutionShape& shape, const double* w, double* turned) {
  turn(shape, w, turned);
}

}  // namespace broadloom
