#include "broadloom/export/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/core/portable_math.h"

namespace broadloom {
namespace {

using Numbers = std::vector<double>;

struct Image {
  explicit Image(const std::vector<int>& shape)
      : channels(shape[0]), height(shape[1]), width(shape[2]) {}

  bool has(int y, int x) const { return y >= 0 && y < height && x >= 0 && x < width; }
  std::size_t index(int c, int y, int x) const {
    return (static_cast<std::size_t>(c) * height + y) * width + x;
  }

  int channels, height, width;
};

double sigmoid(double x) { return 1.0 / (1.0 + portable::exp(-x)); }
double softplus(double x) {
  return std::max(x, 0.0) + portable::log(1.0 + portable::exp(-std::abs(x)));
}
double hyperbolic_tangent(double x) {
  const double grown = portable::expm1(-2.0 * std::abs(x));
  return std::copysign(-grown / (2.0 + grown), x);
}

// Evaluates one operation on one row.
class RowReplay {
 public:
  RowReplay(const PolicyGraph& graph, const Operation& operation, const std::vector<int>& in_shape)
      : operation_(operation), in_shape_(in_shape) {
    for (const std::string& name : operation.arrays) arrays_.push_back(&graph.array(name).numbers);
  }

  // inputs: rows of them; out: [size of the value].
  void run(const std::vector<const double*>& inputs, const std::vector<std::size_t>& sizes,
           Numbers& out) const {
    const double* const x = inputs.empty() ? nullptr : inputs[0];
    const double* const y = inputs.size() > 1 ? inputs[1] : nullptr;
    const double* const z = inputs.size() > 2 ? inputs[2] : nullptr;
    const auto in = static_cast<std::size_t>(row_size(in_shape_));
    const std::size_t width = out.size();
    switch (operation_.kind) {
      case OperationKind::kShift:
        each(x, out, [&](double v, std::size_t i) {
          return v + (operation_.shifts.empty() ? operation_.number
                                                : static_cast<double>(operation_.shifts[i]));
        });
        break;
      case OperationKind::kOneHot:
        std::fill(out.begin(), out.end(), 0.0);
        out[static_cast<std::size_t>(x[0])] = 1.0;
        break;
      case OperationKind::kDivide:
        each(x, out, [&](double v, std::size_t) { return v / operation_.number; });
        break;
      case OperationKind::kNormalise:
        each(x, out, [&](double v, std::size_t i) {
          return std::clamp((v - array(0)[i] - array(1)[i]) * array(2)[i], -operation_.number,
                            operation_.number);
        });
        break;
      case OperationKind::kReshape:
        each(x, out, [](double v, std::size_t) { return v; });
        break;
      case OperationKind::kPermute:
        permute(x, out);
        break;
      case OperationKind::kLinear:
        for (std::size_t o = 0; o < out.size(); ++o) {
          double sum = array(1)[o];
          for (std::size_t i = 0; i < in; ++i) sum += x[i] * array(0)[o * in + i];
          out[o] = sum;
        }
        break;
      case OperationKind::kConvolution:
        windows(out, [&](const Image& input, int f, int y0, int x0) {
          return convolved(input, x, f, y0, x0);
        });
        break;
      case OperationKind::kLayerNorm:
        layer_norm(x, in, out);
        break;
      case OperationKind::kMaxPool:
        windows(out, [&](const Image& input, int c, int y0, int x0) {
          return largest(input, x, c, y0, x0);
        });
        break;
      case OperationKind::kActivation:
        each(x, out, [](double v, std::size_t) { return v; });
        activate(operation_.activation, out.data(), out.size());
        break;
      case OperationKind::kAdd:
        each(x, out, [&](double v, std::size_t i) { return v + y[i]; });
        break;
      case OperationKind::kMask:
        each(x, out, [&](double v, std::size_t i) { return y[i] != 0.0 ? v : operation_.number; });
        break;
      case OperationKind::kClip:
        each(x, out, [&](double v, std::size_t i) {
          return std::min<double>(std::max<double>(v, array(0)[i]), array(1)[i]);
        });
        break;
      case OperationKind::kArgmax:
        choose(x, in, out);
        break;
      case OperationKind::kLargest:
        out[0] = *std::max_element(x, x + in);
        break;
      case OperationKind::kColumn:
        out[0] = x[static_cast<std::size_t>(operation_.number)];
        break;
      case OperationKind::kConstant:
        out.assign(array(0).begin(), array(0).end());
        break;
      case OperationKind::kBetaMean:
        each(x, out, [&](double v, std::size_t i) {
          const double alpha = 1.0 + softplus(v), beta = 1.0 + softplus(y[i]);
          return (alpha - beta) / (alpha + beta);
        });
        break;
      case OperationKind::kNoise: {
        const std::size_t features = array(0).size() / out.size();
        for (std::size_t i = 0; i < out.size(); ++i) {
          double sum = operation_.number;
          for (std::size_t l = 0; l < features; ++l)
            sum += x[l] * x[l] * array(0)[i * features + l];
          out[i] = 0.5 * portable::log(sum);
        }
        break;
      }
      case OperationKind::kFloat:
        each(x, out, [](double v, std::size_t) { return v; });
        break;
      case OperationKind::kPart:
        each(x + static_cast<std::size_t>(operation_.number), out,
             [](double v, std::size_t) { return v; });
        break;
      case OperationKind::kJoin: {
        auto place = out.begin();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          place = std::copy_n(inputs[i], sizes[i], place);
        }
        break;
      }
      case OperationKind::kMinGru:
        each(x, out, [&](double a, std::size_t i) {
          const double candidate = a >= 0.0 ? a + 0.5 : sigmoid(a);
          return y[i] + sigmoid(x[width + i]) * (candidate - y[i]);
        });
        break;
      case OperationKind::kHighway:
        each(y, out, [&](double h, std::size_t i) {
          return z[i] + sigmoid(x[2 * width + i]) * (h - z[i]);
        });
        break;
      case OperationKind::kGru:
        each(z, out, [&](double last, std::size_t i) {
          const double fresh =
              hyperbolic_tangent(x[2 * width + i] + sigmoid(x[i] + y[i]) * y[2 * width + i]);
          return fresh + sigmoid(x[width + i] + y[width + i]) * (last - fresh);
        });
        break;
      case OperationKind::kLstm:
        lstm(x, y, z, out);
        break;
    }
  }

 private:
  const std::vector<float>& array(std::size_t i) const { return *arrays_[i]; }

  template <class F>
  static void each(const double* x, Numbers& out, F&& f) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(x[i], i);
  }

  static void lstm(const double* x, const double* y, const double* last, Numbers& out) {
    const std::size_t width = out.size() / 2;
    for (std::size_t i = 0; i < width; ++i) {
      const auto sum = [&](std::size_t k) { return x[k * width + i] + y[k * width + i]; };
      const double c = sigmoid(sum(1)) * last[i] + sigmoid(sum(0)) * hyperbolic_tangent(sum(2));
      out[i] = sigmoid(sum(3)) * hyperbolic_tangent(c);
      out[width + i] = c;
    }
  }

  void choose(const double* x, std::size_t in, Numbers& out) const {
    std::vector<int> parts = operation_.heads;
    if (parts.empty()) parts.push_back(static_cast<int>(in));
    for (std::size_t p = 0; p < parts.size(); x += parts[p++]) {
      out[p] = static_cast<double>(std::max_element(x, x + parts[p]) - x);
    }
  }

  void permute(const double* x, Numbers& out) const {
    const std::vector<int>& axes = operation_.axes;
    std::vector<std::size_t> step(axes.size(), 1);  // of the input's axes
    for (std::size_t a = axes.size() - 1; a-- > 1;) {
      step[a] = step[a + 1] * static_cast<std::size_t>(in_shape_[a]);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::size_t rest = i, source = 0;
      for (std::size_t a = axes.size(); a-- > 1;) {
        const auto extent = static_cast<std::size_t>(operation_.shape[a - 1]);
        source += rest % extent * step[static_cast<std::size_t>(axes[a])];
        rest /= extent;
      }
      out[i] = x[source];
    }
  }

  // Calls f(input image, channel, first row and column of the window) for each output pixel.
  template <class F>
  void windows(Numbers& out, F&& f) const {
    const Image input(in_shape_), output(operation_.shape);
    const int stride = operation_.stride, padding = operation_.padding;
    for (int c = 0; c < output.channels; ++c) {
      for (int y = 0; y < output.height; ++y) {
        for (int x = 0; x < output.width; ++x) {
          out[output.index(c, y, x)] = f(input, c, y * stride - padding, x * stride - padding);
        }
      }
    }
  }

  // Pixels outside the image are zero and skipped.
  double convolved(const Image& input, const double* x, int filter, int y0, int x0) const {
    const int k = operation_.kernel;
    const int left = std::max(0, -x0), right = std::min(k, input.width - x0);
    const int top = std::max(0, -y0), bottom = std::min(k, input.height - y0);
    double sum = array(1)[static_cast<std::size_t>(filter)];
    for (int c = 0; c < input.channels; ++c) {
      for (int dy = top; dy < bottom; ++dy) {
        const double* pixels = x + input.index(c, y0 + dy, x0 + left);
        const float* w =
            &array(0)[((static_cast<std::size_t>(filter) * input.channels + c) * k + dy) * k];
        for (int dx = left; dx < right; ++dx) sum += pixels[dx - left] * w[dx];
      }
    }
    return sum;
  }

  double largest(const Image& input, const double* x, int c, int y0, int x0) const {
    double most = -std::numeric_limits<double>::infinity();
    for (int dy = 0; dy < operation_.kernel; ++dy) {
      for (int dx = 0; dx < operation_.kernel; ++dx) {
        if (input.has(y0 + dy, x0 + dx)) most = std::max(most, x[input.index(c, y0 + dy, x0 + dx)]);
      }
    }
    return most;
  }

  void layer_norm(const double* x, std::size_t in, Numbers& out) const {
    const std::size_t size = array(0).size();
    for (std::size_t first = 0; first < in; first += size) {
      double mean = 0.0, variance = 0.0;
      for (std::size_t i = 0; i < size; ++i) mean += x[first + i] / static_cast<double>(size);
      for (std::size_t i = 0; i < size; ++i) {
        variance += (x[first + i] - mean) * (x[first + i] - mean) / static_cast<double>(size);
      }
      for (std::size_t i = 0; i < size; ++i) {
        const double z = (x[first + i] - mean) / std::sqrt(variance + operation_.number);
        out[first + i] = z * array(0)[i] + array(1)[i];
      }
    }
  }

  const Operation& operation_;
  const std::vector<int>& in_shape_;
  std::vector<const std::vector<float>*> arrays_;
};

}  // namespace

std::map<std::string, std::vector<double>> replay(const PolicyGraph& graph,
                                                  const std::vector<double>& observations, int rows,
                                                  const std::vector<double>& masks,
                                                  const std::vector<double>& states) {
  std::map<std::string, Numbers> values{
      {kObservationName, observations}, {kMaskName, masks}, {kStateName, states}};
  std::map<std::string, std::vector<int>> shapes{{kObservationName, graph.observation_shape},
                                                 {kMaskName, {graph.mask_size}},
                                                 {kStateName, {graph.state_size}}};
  const std::size_t width = static_cast<std::size_t>(row_size(graph.observation_shape));
  for (const GroupInput& input : graph.groups) {
    shapes[input.name] = input.shape();
    values[input.name] = numbers_of(input, observations, width);
  }
  const std::vector<int> none;
  for (const Operation& operation : graph.operations) {
    std::vector<const double*> inputs;
    std::vector<std::size_t> sizes;  // of their rows
    for (const std::string& name : operation.inputs) {
      inputs.push_back(values[name].data());
      sizes.push_back(static_cast<std::size_t>(row_size(shapes[name])));
    }
    const std::vector<int>& in_shape = inputs.empty() ? none : shapes[operation.inputs.front()];
    const RowReplay row_replay(graph, operation, in_shape);
    Numbers row(static_cast<std::size_t>(row_size(operation.shape))), all;
    for (int r = 0; r < (inputs.empty() ? 1 : rows); ++r) {
      row_replay.run(inputs, sizes, row);
      all.insert(all.end(), row.begin(), row.end());
      for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] += sizes[i];
    }
    values[operation.name] = std::move(all);
    shapes[operation.name] = operation.shape;
  }
  return values;
}

}  // namespace broadloom
