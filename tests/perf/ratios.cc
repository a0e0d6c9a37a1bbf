// Tests of speed as ratios: each kernel against its slow, simple form, and a whole iteration
// against its matrix products, timed in turn in this process. The shortest of many short times is
// compared, which other work on the machine cannot shorten, and the bounds leave room: what was
// measured when they were set is said beside them (one core of a Zen 5 with AVX-512, one of a Zen 3
// or Zen 4 with AVX2).
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/linear.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/nn/flops.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"
#include "research/lab/gram.h"

namespace broadloom {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Shortest {
  double first = std::numeric_limits<double>::infinity();
  double second = first;
};

// The shortest time of each, run in turns.
Shortest race(int turns, const auto& first, const auto& second) {
  Shortest shortest;
  for (int turn = 0; turn < turns; ++turn) {
    shortest.first = std::min(shortest.first, seconds_of(first));
    shortest.second = std::min(shortest.second, seconds_of(second));
  }
  return shortest;
}

std::vector<float> values(std::size_t n, double scale = 1.0) {
  Random random(1, Purpose::kUser, 0, n);
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(scale * random.normal());
  return out;
}

// A bound holds for one width of vectors. All widths of the processor are tested; other sets have
// no bound. Behind each: the measured ratio.
class Ratios : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "none") GTEST_SKIP() << "NOT TESTED: bounds are for AVX-512 and AVX2";
    ASSERT_TRUE(set_isa(GetParam()).ok());
  }
  void TearDown() override { ASSERT_TRUE(set_isa("auto").ok()); }
  static double bound(double avx512, double avx2) { return GetParam() == "avx512" ? avx512 : avx2; }
};

std::vector<std::string> isas_with_bounds() {
  std::vector<std::string> isas = supported_isas();
  std::erase_if(isas, [](const std::string& isa) { return isa != "avx512" && isa != "avx2"; });
  if (isas.empty()) isas.emplace_back("none");
  return isas;
}
INSTANTIATE_TEST_SUITE_P(Widths, Ratios, ::testing::ValuesIn(isas_with_bounds()),
                         [](const auto& isa) { return isa.param; });

[[gnu::noinline]] void plain_product(const float* x, const float* w, float* y, int rows, int in,
                                     int out) {
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      float sum = 0.0f;
      for (int i = 0; i < in; ++i) sum += x[r * in + i] * w[i * out + o];
      y[r * out + o] = sum;
    }
  }
}

constexpr int kSize = 64;

TEST_P(Ratios, ProductOfATile) {
  const auto x = values(kSize * kSize), w = values(kSize * kSize);
  std::vector<float> y(kSize * kSize);
  const Shortest time = race(
      200, [&] { plain_product(x.data(), w.data(), y.data(), kSize, kSize, kSize); },
      [&] {
        linear_forward(x.data(), w.data(), static_cast<const float*>(nullptr), y.data(), kSize,
                       kSize, kSize);
      });
  std::printf("ratio %.1f\n", time.first / time.second);
  EXPECT_GE(time.first / time.second, bound(10.0, 8.0));  // 27.8, 24
}

TEST_P(Ratios, Tanh) {
  const auto x = values(4096);
  std::vector<float> y(x.size());
  const Shortest time = race(
      200,
      [&] {
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::tanh(x[i]);
      },
      [&] {
        y = x;
        activate(Activation::kTanh, y.data(), y.size());
      });
  std::printf("ratio %.1f\n", time.first / time.second);
  EXPECT_GE(time.first / time.second, bound(10.0, 4.0));  // 32.4, 8.7
}

TEST_P(Ratios, NormalsOfManyStreams) {
  std::vector<float> z(kSize);
  const Shortest time = race(
      500,
      [&] {
        for (std::uint32_t lane = 0; lane < kSize; ++lane) {
          z[lane] = static_cast<float>(Random(1, Purpose::kUser, lane, 7).normal());
        }
      },
      [&] {
        random_normals({1, Purpose::kUser, 0, 7, kSize}, 1, z.data(), kSize);
      });
  std::printf("ratio %.1f\n", time.first / time.second);
  EXPECT_GE(time.first / time.second, bound(2.5, 1.8));  // 5.1, 3.6
}

// Many environments in one call against one environment a call, which no loop can widen.
TEST_P(Ratios, EnvironmentsInVectors) {
  VecEnvOptions options;
  options.num_envs = 256;
  for (const char* id : {"CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0"}) {
    std::unique_ptr<VecEnv> envs = make_vec_env(id, {}, options).take();
    const int size = envs->spec().observation_size();
    std::vector<float> actions(256, 1.0f), seen(256 * size), rewards(256), last(256 * size);
    std::vector<std::uint8_t> terminated(256), truncated(256);
    const StepRows rows{actions.data(),    seen.data(),      rewards.data(),
                        terminated.data(), truncated.data(), last.data()};
    const Shortest time = race(
        200,
        [&] {
          for (int i = 0; i < 256; ++i) EXPECT_TRUE(envs->step(i, i + 1, rows).ok());
        },
        [&] { EXPECT_TRUE(envs->step(0, 256, rows).ok()); });
    std::printf("%s: ratio %.1f\n", id, time.first / time.second);
    EXPECT_GE(time.first / time.second, 2.0) << id;  // 5.1 (Acrobot) to 11.6, 4.7 to 12.4
  }
}

// All that an iteration does besides its products costs less than they do.
TEST_P(Ratios, AnIterationAgainstItsProducts) {
  const Config config = resolve_config({{"env_id", "Pendulum-v1"},
                                        {"num_envs", "16"},
                                        {"num_steps", "16"},
                                        {"minibatch_size", "256"},
                                        {"update_epochs", "4"},
                                        {"total_timesteps", "100000000"}})
                            .take();
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1).take();
  const double flops = count_flops(trainer->network()).per_step(4) * 256;
  const auto x = values(kSize * kSize, 0.1), w = values(kSize * kSize, 0.1);
  std::vector<float> y(kSize * kSize);
  constexpr int kProducts = 20;
  const Shortest time = race(
      300, [&] { ASSERT_TRUE(trainer->iterate().ok()); },
      [&] {
        for (int i = 0; i < kProducts; ++i) {
          linear_forward(x.data(), w.data(), static_cast<const float*>(nullptr), y.data(), kSize,
                         kSize, kSize);
        }
      });
  const double products = time.second / (kProducts * 2.0 * kSize * kSize * kSize) * flops;
  std::printf("ratio %.2f\n", time.first / products);
  EXPECT_LE(time.first / products, bound(2.0, 2.2));  // 1.40, 1.40
}

// The baseline of the Gram engine: every sample's gradient as a vector, [rows, P], and all inner
// products by the same tile products, half of them by symmetry.
class ExplicitGradients {
 public:
  ExplicitGradients(const GradientFactors<float>& factors, int size)
      : factors_(factors), size_(size), gradients_(static_cast<std::size_t>(factors.rows) * size) {}

  void gram(std::vector<float>& out) {
    for (int r = 0; r < factors_.rows; ++r) materialise(r);
    const int n = factors_.rows;
    std::vector<float> columns(static_cast<std::size_t>(size_) * kSize), tile(kSize * kSize);
    for (int left = 0; left < n; left += kSize) {
      transpose(&gradients_[static_cast<std::size_t>(left) * size_], columns.data(), kSize, size_);
      for (int top = 0; top <= left; top += kSize) {
        linear_forward(&gradients_[static_cast<std::size_t>(top) * size_], columns.data(),
                       static_cast<const float*>(nullptr), tile.data(), kSize, size_, kSize);
        for (int i = 0; i < kSize; ++i) {
          for (int j = 0; j < kSize; ++j) {
            out[static_cast<std::size_t>(top + i) * n + left + j] = tile[i * kSize + j];
            out[static_cast<std::size_t>(left + j) * n + top + i] = tile[i * kSize + j];
          }
        }
      }
    }
  }

 private:
  void materialise(int row) {
    float* g = &gradients_[static_cast<std::size_t>(row) * size_];
    for (const auto& layer : factors_.layers) {
      const float* x = &layer.inputs[static_cast<std::size_t>(row) * layer.slice.in];
      const float* d = &layer.deltas[static_cast<std::size_t>(row) * layer.slice.out];
      for (int i = 0; i < layer.slice.in; ++i) {
        for (int o = 0; o < layer.slice.out; ++o) *g++ = x[i] * d[o];
      }
      g = std::copy_n(d, layer.slice.out, g);
    }
    std::copy_n(&factors_.extras[static_cast<std::size_t>(row) * factors_.extra_size],
                factors_.extra_size, g);
  }

  const GradientFactors<float>& factors_;
  int size_;
  std::vector<float> gradients_;
};

// 1,024 samples of a 64-64 policy.
TEST_P(Ratios, GramMatrixAgainstExplicitGradients) {
  constexpr int kRows = 1024;
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 1;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  network.initialise(1, params.data());
  GradientFactors<float> factors;
  FactorMaker<float> maker(network, {});
  maker.set_params(params.data());
  maker.make(values(kRows * 3).data(), values(kRows).data(), nullptr, nullptr, kRows, factors);
  ExplicitGradients slow(factors, static_cast<int>(scored_parameter_count(network)));
  std::vector<float> expected(kRows * kRows), gram(kRows * kRows);
  ThreadPool one(1);
  const Shortest time = race(
      10, [&] { slow.gram(expected); }, [&] { gram_matrix(factors, one, gram.data()); });
  for (int i = 0; i < kRows * kRows; i += 1009) {
    const double size = std::sqrt(static_cast<double>(expected[i / kRows * (kRows + 1)]) *
                                  expected[i % kRows * (kRows + 1)]);
    ASSERT_NEAR(gram[i], expected[i], 1e-4 * size);
  }
  std::printf("ratio %.1f, %.2f ms\n", time.first / time.second, 1e3 * time.second);
  EXPECT_GE(time.first / time.second, bound(8.0, 10.0));  // 14.0, 23
}

}  // namespace
}  // namespace broadloom
