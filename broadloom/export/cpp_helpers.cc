#include "broadloom/export/cpp_helpers.h"

namespace broadloom {
namespace {

// A value is a row of numbers, row-major; an image is [channels, height, width].
constexpr CppHelper kHelpers[] = {
    {"shift", R"(
template <std::size_t kSize>
std::array<long long, kSize> shift(const std::array<long long, kSize>& x,
                                   const std::array<long long, kSize>& by) {
  std::array<long long, kSize> y{};
  for (std::size_t i = 0; i < kSize; ++i) y[i] = x[i] + by[i];
  return y;
}
)"},
    // An index outside the space must not write outside the array.
    {"one_hot", R"(
template <std::size_t kOut>
std::array<float, kOut> one_hot(const std::array<long long, 1>& x) {
  std::array<float, kOut> y{};
  if (x[0] >= 0 && x[0] < static_cast<long long>(kOut)) y[static_cast<std::size_t>(x[0])] = 1.0f;
  return y;
}
)"},
    {"divide", R"(
template <std::size_t kSize>
std::array<float, kSize> divide(const std::array<unsigned char, kSize>& x, float divisor) {
  std::array<float, kSize> y{};
  for (std::size_t i = 0; i < kSize; ++i) y[i] = static_cast<float>(x[i]) / divisor;
  return y;
}
)"},
    {"normalise", R"(
template <std::size_t kSize>
std::array<float, kSize> normalise(const std::array<float, kSize>& x,
                                   const std::array<float, kSize>& mean,
                                   const std::array<float, kSize>& mean_rest,
                                   const std::array<float, kSize>& scale, float limit) {
  std::array<float, kSize> y{};
  for (std::size_t i = 0; i < kSize; ++i) {
    const float z = (x[i] - mean[i] - mean_rest[i]) * scale[i];
    y[i] = z < -limit ? -limit : z > limit ? limit : z;
  }
  return y;
}
)"},
    {"permute", R"(
template <std::size_t kSize>
std::array<float, kSize> permute(const std::array<float, kSize>& x,
                                 const std::array<std::size_t, 3>& shape,
                                 const std::array<std::size_t, 3>& step) {
  std::array<float, kSize> y{};
  std::size_t i = 0;
  for (std::size_t a = 0; a < shape[0]; ++a) {
    for (std::size_t b = 0; b < shape[1]; ++b) {
      for (std::size_t c = 0; c < shape[2]; ++c) {
        y[i++] = x[a * step[0] + b * step[1] + c * step[2]];
      }
    }
  }
  return y;
}
)"},
    // Four partial sums are more exact than one, and need not wait for each other.
    {"linear", R"(
template <std::size_t kOut, std::size_t kIn>
std::array<float, kOut> linear(const std::array<float, kIn>& x,
                               const std::array<float, kOut * kIn>& weight,
                               const std::array<float, kOut>& bias) {
  std::array<float, kOut> y{};
  for (std::size_t o = 0; o < kOut; ++o) {
    float sums[4] = {bias[o], 0.0f, 0.0f, 0.0f};
    for (std::size_t i = 0; i < kIn; ++i) sums[i % 4] += x[i] * weight[o * kIn + i];
    y[o] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  return y;
}
)"},
    {"windows", R"(
struct Windows {
  int channels, height, width;              // of the input
  int out_channels, out_height, out_width;  // of the output
  int kernel, stride, padding;
  bool has(int y, int x) const { return y >= 0 && y < height && x >= 0 && x < width; }
  std::size_t index(int c, int y, int x) const {
    return static_cast<std::size_t>((c * height + y) * width + x);
  }
};
)"},
    {"convolution", R"(
template <std::size_t kOut, std::size_t kIn, std::size_t kWeights, std::size_t kFilters>
std::array<float, kOut> convolution(const std::array<float, kIn>& x,
                                    const std::array<float, kWeights>& weight,
                                    const std::array<float, kFilters>& bias, const Windows& w) {
  std::array<float, kOut> y{};
  std::size_t o = 0;
  for (int f = 0; f < w.out_channels; ++f) {
    for (int row = -w.padding, r = 0; r < w.out_height; row += w.stride, ++r) {
      for (int column = -w.padding, q = 0; q < w.out_width; column += w.stride, ++q) {
        float sum = bias[static_cast<std::size_t>(f)];
        for (int c = 0; c < w.channels; ++c) {
          float part = 0.0f;
          for (int i = 0; i < w.kernel * w.kernel; ++i) {
            const int v = row + i / w.kernel, u = column + i % w.kernel;
            const int k = (f * w.channels + c) * w.kernel * w.kernel + i;
            if (w.has(v, u)) part += x[w.index(c, v, u)] * weight[static_cast<std::size_t>(k)];
          }
          sum += part;
        }
        y[o++] = sum;
      }
    }
  }
  return y;
}
)"},
    {"max_pool", R"(
template <std::size_t kOut, std::size_t kIn>
std::array<float, kOut> max_pool(const std::array<float, kIn>& x, const Windows& w) {
  std::array<float, kOut> y{};
  std::size_t o = 0;
  for (int c = 0; c < w.out_channels; ++c) {
    for (int row = -w.padding, r = 0; r < w.out_height; row += w.stride, ++r) {
      for (int column = -w.padding, q = 0; q < w.out_width; column += w.stride, ++q) {
        float most = -INFINITY;
        for (int i = 0; i < w.kernel * w.kernel; ++i) {
          const int v = row + i / w.kernel, u = column + i % w.kernel;
          if (w.has(v, u) && x[w.index(c, v, u)] > most) most = x[w.index(c, v, u)];
        }
        y[o++] = most;
      }
    }
  }
  return y;
}
)"},
    {"layer_norm", R"(
template <std::size_t kSize, std::size_t kNormalised>
std::array<float, kSize> layer_norm(const std::array<float, kSize>& x,
                                    const std::array<float, kNormalised>& weight,
                                    const std::array<float, kNormalised>& bias, float epsilon) {
  std::array<float, kSize> y{};
  for (std::size_t first = 0; first < kSize; first += kNormalised) {
    float mean = 0.0f, variance = 0.0f;
    for (std::size_t i = 0; i < kNormalised; ++i) mean += x[first + i];
    mean /= static_cast<float>(kNormalised);
    for (std::size_t i = 0; i < kNormalised; ++i) {
      variance += (x[first + i] - mean) * (x[first + i] - mean);
    }
    const float deviation = std::sqrt(variance / static_cast<float>(kNormalised) + epsilon);
    for (std::size_t i = 0; i < kNormalised; ++i) {
      y[first + i] = (x[first + i] - mean) / deviation * weight[i] + bias[i];
    }
  }
  return y;
}
)"},
    {"tanh", R"(
template <std::size_t kSize>
std::array<float, kSize> tanh(std::array<float, kSize> x) {
  for (float& number : x) number = std::tanh(number);
  return x;
}
)"},
    {"relu", R"(
template <std::size_t kSize>
std::array<float, kSize> relu(std::array<float, kSize> x) {
  for (float& number : x) number = number > 0.0f ? number : 0.0f;
  return x;
}
)"},
    {"elu", R"(
template <std::size_t kSize>
std::array<float, kSize> elu(std::array<float, kSize> x) {
  for (float& number : x) number = number > 0.0f ? number : std::expm1(number);
  return x;
}
)"},
    {"add", R"(
template <std::size_t kSize>
std::array<float, kSize> add(std::array<float, kSize> x, const std::array<float, kSize>& y) {
  for (std::size_t i = 0; i < kSize; ++i) x[i] += y[i];
  return x;
}
)"},
    {"beta_mean", R"(
inline float softplus(float x) { return std::fmax(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }

template <std::size_t kSize>
std::array<float, kSize> beta_mean(const std::array<float, kSize>& x,
                                   const std::array<float, kSize>& y) {
  std::array<float, kSize> z{};
  for (std::size_t i = 0; i < kSize; ++i) {
    const float alpha = 1.0f + softplus(x[i]), beta = 1.0f + softplus(y[i]);
    z[i] = (alpha - beta) / (alpha + beta);
  }
  return z;
}
)"},
    {"mask", R"(
template <std::size_t kSize>
std::array<float, kSize> mask(std::array<float, kSize> x, const std::array<bool, kSize>& valid,
                              float invalid) {
  for (std::size_t i = 0; i < kSize; ++i) x[i] = valid[i] ? x[i] : invalid;
  return x;
}
)"},
    {"clip", R"(
template <std::size_t kSize>
std::array<float, kSize> clip(std::array<float, kSize> x, const std::array<float, kSize>& low,
                              const std::array<float, kSize>& high) {
  for (std::size_t i = 0; i < kSize; ++i) {
    x[i] = x[i] < low[i] ? low[i] : x[i] > high[i] ? high[i] : x[i];
  }
  return x;
}
)"},
    // weights: [kOut, kSize].
    {"noise", R"(
template <std::size_t kSize, std::size_t kWeights, std::size_t kOut = kWeights / kSize>
std::array<float, kOut> noise(const std::array<float, kSize>& x,
                              const std::array<float, kWeights>& weights, float least) {
  std::array<float, kOut> y{};
  for (std::size_t o = 0; o < kOut; ++o) {
    float sum = least;
    for (std::size_t i = 0; i < kSize; ++i) sum += x[i] * x[i] * weights[o * kSize + i];
    y[o] = 0.5f * std::log(sum);
  }
  return y;
}
)"},
    {"float32", R"(
template <std::size_t kSize>
std::array<float, kSize> float32(const std::array<long long, kSize>& x) {
  std::array<float, kSize> y{};
  for (std::size_t i = 0; i < kSize; ++i) y[i] = static_cast<float>(x[i]);
  return y;
}
)"},
    {"join", R"(
template <std::size_t kSize, std::size_t kRest>
std::array<float, kSize + kRest> join(const std::array<float, kSize>& x,
                                      const std::array<float, kRest>& y) {
  std::array<float, kSize + kRest> z{};
  for (std::size_t i = 0; i < kSize; ++i) z[i] = x[i];
  for (std::size_t i = 0; i < kRest; ++i) z[kSize + i] = y[i];
  return z;
}
)"},
    // The first of the largest numbers of each part.
    {"argmax", R"(
template <std::size_t kSize, std::size_t kParts>
std::array<long long, kParts> argmax(const std::array<float, kSize>& x,
                                     const std::array<std::size_t, kParts>& parts) {
  std::array<long long, kParts> y{};
  std::size_t first = 0;
  for (std::size_t p = 0; p < kParts; ++p) {
    std::size_t best = first;
    for (std::size_t i = first; i < first + parts[p]; ++i) best = x[i] > x[best] ? i : best;
    y[p] = static_cast<long long>(best - first);
    first += parts[p];
  }
  return y;
}
)"},
};

}  // namespace

std::span<const CppHelper> cpp_helpers() { return kHelpers; }

}  // namespace broadloom
