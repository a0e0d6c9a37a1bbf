#include "broadloom/math/max_pool.h"

#include <algorithm>

namespace broadloom {
namespace {

// The range [begin, end) that an output's window reads in one dimension.
struct Window {
  Window(int out, int size, const PoolShape& s)
      : begin(std::max(out * s.stride - s.padding, 0)),
        end(std::min(out * s.stride - s.padding + s.kernel, size)) {}
  int begin, end;
};

// Calls f(offset of the window's output, rows, columns) for every window.
template <class F>
void over_windows(const PoolShape& s, F&& f) {
  std::size_t out = 0;
  for (int oy = 0; oy < s.out_height(); ++oy) {
    for (int ox = 0; ox < s.out_width(); ++ox) {
      f(out, Window(oy, s.height, s), Window(ox, s.width, s));
      out += static_cast<std::size_t>(s.channels);
    }
  }
}

std::size_t place(const PoolShape& s, int y, int x) {
  return (static_cast<std::size_t>(y) * s.width + x) * s.channels;
}

template <class T>
bool is_larger(T value, T than) {
  return value > than || value != value;
}

template <class T>
void forward(const PoolShape& s, const T* x, T* y) {
  over_windows(s, [&](std::size_t out, Window rows, Window columns) {
    T* largest = y + out;
    std::copy_n(x + place(s, rows.begin, columns.begin), s.channels, largest);
    for (int iy = rows.begin; iy < rows.end; ++iy) {
      for (int ix = columns.begin; ix < columns.end; ++ix) {
        const T* seen = x + place(s, iy, ix);
        for (int c = 0; c < s.channels; ++c) {
          largest[c] = is_larger(seen[c], largest[c]) ? seen[c] : largest[c];
        }
      }
    }
  });
}

template <class T>
void backward(const PoolShape& s, const T* x, const T* dy, T* dx) {
  std::fill_n(dx, place(s, s.height, 0), T(0));
  over_windows(s, [&](std::size_t out, Window rows, Window columns) {
    for (int c = 0; c < s.channels; ++c) {
      std::size_t largest = place(s, rows.begin, columns.begin) + c;
      for (int iy = rows.begin; iy < rows.end; ++iy) {
        for (int ix = columns.begin; ix < columns.end; ++ix) {
          const std::size_t i = place(s, iy, ix) + c;
          if (x[largest] == x[largest] && is_larger(x[i], x[largest])) largest = i;
        }
      }
      dx[largest] += dy[out + c];
    }
  });
}

}  // namespace

void max_pool(const PoolShape& shape, const float* x, float* y) { forward(shape, x, y); }
void max_pool(const PoolShape& shape, const double* x, double* y) { forward(shape, x, y); }
void max_pool_backward(const PoolShape& shape, const float* x, const float* dy, float* dx) {
  backward(shape, x, dy, dx);
}
void max_pool_backward(const PoolShape& shape, const double* x, const double* dy, double* dx) {
  backward(shape, x, dy, dx);
}

}  // namespace broadloom
