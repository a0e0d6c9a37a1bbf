// Policy and value network over row tiles: an optional shared encoder, an actor and a critic.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/purpose.h"
#include "broadloom/env/spec.h"
#include "broadloom/nn/cell.h"
#include "broadloom/nn/chain.h"
#include "broadloom/nn/distribution_formulas.h"
#include "broadloom/nn/encoder.h"
#include "broadloom/nn/state_noise.h"

namespace broadloom {

// Distribution of the initial weights (docs/networks.md).
enum class WeightInit {
  kOrthogonal,
  kHeNormal,
  kLecunNormal,
  // Uniform, in heads too: torch's default, the same with biases of 0, and JAX's lecun_uniform.
  kTorch,
  kTorchWeights,
  kLecunUniform,
};

// The distribution of a Box action; pair_distributions.h has the formulas.
enum class ActionDistribution {
  kGaussian,  // clipped to the bounds
  kSquashed,  // tanh of a Gaussian, scaled to the bounds
  kBeta,      // scaled to the bounds
};

// The parameters of a Gaussian's standard deviations [A].
enum class StdForm {
  kLog,             // their logarithms
  kScalar,          // themselves
  kStateDependent,  // none: outputs of the network are the logarithms
  kSde,             // those of noise that is linear in the features (state_noise.h)
};

// The least deviation of StdForm::kScalar, as in RSL-RL.
inline constexpr double kLeastScalarStd = 1e-6;

enum class Precision {
  kFp32,
  kTf32,  // GPU only; the CPU computes such a network in float32
};

// One group of an observation, as a network reads it.
struct GroupShape {
  RowShape shape;
  int first = 0;         // of its numbers in the observation
  float divisor = 1.0f;  // of its numbers
  Encoder encoder = Encoder::kMlp;
  std::vector<int> widths{};          // dense layers of its own, after the encoder's convolutions
  bool policy = true, critic = true;  // who reads it
};

struct NetworkShape {
  int observation_size = 0;  // D
  // Box: diagonal Gaussian; else: categorical, one head for each choice of an action. Hybrid: both.
  SpaceKind action_kind = SpaceKind::kDiscrete;
  // Choices of all heads, then numbers of a Box action: twice as many with has_pairs().
  int action_outputs = 0;
  // MultiDiscrete and hybrid only: choices of each head. Their logits come first.
  std::vector<int> action_heads{};
  // Whether inputs come with flags of valid actions.
  bool masked = false;
  std::vector<int> hidden_sizes{64, 64};
  Activation activation = Activation::kTanh;
  bool shared_encoder = false;
  // For the numbers of a Box only.
  ActionDistribution action_distribution = ActionDistribution::kGaussian;
  // Gaussians only: standard deviations. A number beyond a bound acts as the bound, and has no
  // gradient. std_max 0: no upper bound.
  double log_std_init = 0.0;
  StdForm std_form = StdForm::kLog;
  double std_min = 0.0, std_max = 0.0;
  // kSde only: steps between two draws of the noise; 0 or less: one draw per block or episode.
  int sde_sample_freq = -1;
  Precision precision = Precision::kFp32;
  // Size of the observation that only the critic reads; 0 if it reads the actor's. Not available
  // with a shared encoder or action_values.
  int critic_observation_size = 0;
  Encoder encoder = Encoder::kMlp;
  Normalisation normalisation = Normalisation::kNone;
  RowShape image;  // shape of an observation for image encoders; its size is observation_size
  // If true, one body and one head output one value per Discrete action. The largest is the
  // observation's value; there is no value head.
  bool action_values = false;
  // Outputs of the critic. The first is the value of the rewards. Not available with action_values.
  int value_outputs = 1;
  WeightInit weight_init = WeightInit::kOrthogonal;
  // After each body, or after the shared encoder.
  CellKind recurrent = CellKind::kNone;
  // Units of a cell before the dense layers of hidden_sizes; 0: it is after them, as wide as the
  // last. Not available with kMinGru or a shared encoder.
  int recurrent_units = 0;
  // Groups of the observation. Each passes through its own layers; the body reads their outputs
  // side by side, and `encoder` and `image` do not count. Empty: it reads the observation.
  std::vector<GroupShape> groups{};
  // Policies that share these layers, as SAPG's leader and followers; the last one is the leader.
  // Each has a learnt vector of policy_vector_size numbers, which the body reads beside its other
  // inputs, and log deviations of its own with has_policy_stds(). 1: one policy, without a vector.
  int policies = 1;
  int policy_vector_size = 0;

  // Whether an action has choices, numbers of a Box, or both.
  bool has_choices() const { return action_kind != SpaceKind::kBox; }
  bool has_box() const {
    return action_kind == SpaceKind::kBox || action_kind == SpaceKind::kHybrid;
  }
  // Whether the head has two outputs per number of an action: means [A] and then log deviations
  // [A], or those of a Beta's alpha and beta.
  bool has_pairs() const {
    return has_box() &&
           (action_distribution == ActionDistribution::kBeta ||
            std_form == StdForm::kStateDependent || has_state_noise() || has_policy_stds());
  }
  // Whether the log deviations among the outputs are parameters [policies, A], one row per policy.
  bool has_policy_stds() const {
    return has_box() && policies > 1 && std_form == StdForm::kLog &&
           action_distribution != ActionDistribution::kBeta;
  }
  // Whether the log deviations among the outputs follow from the features and parameters [L, A].
  bool has_state_noise() const { return has_box() && std_form == StdForm::kSde; }
  // Whether the deviations are parameters, the same for every state.
  bool has_log_std() const { return has_box() && !has_pairs(); }
  // Choices of each head [heads]; empty for a Box. Points into this shape.
  std::span<const int> heads() const {
    if (!has_choices()) return {};
    if (action_heads.empty()) return {&action_outputs, 1};
    return action_heads;
  }
  // The logits of all heads, which are the first outputs; 0 for a Box.
  int logits() const {
    int sum = 0;
    for (const int count : heads()) sum += count;
    return sum;
  }
  // Rows of the policy's head: all outputs, except log deviations that come from elsewhere.
  int head_outputs() const {
    return action_outputs - (has_state_noise() || has_policy_stds() ? box_size() : 0);
  }
  // Outputs for the numbers of a Box, the last ones.
  int box_outputs() const { return action_outputs - logits(); }
  // The numbers of a Box in an action.
  int box_size() const { return has_pairs() ? box_outputs() / 2 : box_outputs(); }
  // A, the numbers of an action.
  int action_size() const { return static_cast<int>(heads().size()) + box_size(); }
  int critic_input_size() const {
    return critic_observation_size > 0 ? critic_observation_size : observation_size;
  }
};

// The interval in which a deviation's number acts as it is: a logarithm, except with kScalar.
struct StdBounds {
  explicit StdBounds(const NetworkShape& shape);
  double low, high;
};

// How the parameters of deviations act, with has_log_std() or has_policy_stds().
template <class Real>
StdParameter<Real> std_parameter(const NetworkShape& shape) {
  const StdBounds bounds(shape);
  return {static_cast<Real>(bounds.low), static_cast<Real>(bounds.high),
          shape.std_form == StdForm::kLog};
}

// Input rows of a network. The one-pointer constructor serves networks whose sides read the same.
template <class Real>
struct NetworkInput {
  NetworkInput(const Real* both) : policy(both), critic(both) {}
  NetworkInput(const Real* of_policy, const Real* of_critic)
      : policy(of_policy), critic(of_critic) {}

  const Real* policy;  // [rows, observation_size]
  const Real* critic;  // [rows, critic_input_size()]
  // [rows, logits()] flags of valid actions (env/action_masks.h); null: all are valid.
  const std::uint8_t* valid = nullptr;
  // [rows] which of NetworkShape::policies acts; null: the leader.
  const std::int32_t* policies = nullptr;
};

// The logit of an invalid action. Its probability, its share of the entropy and the gradient of its
// logit are then exactly 0, as with -infinity, and no term is NaN. (The formula of sb3-contrib's
// MaskableCategorical, which takes -1e8.)
inline constexpr float kInvalidLogit = -1e30f;

// The policy side is the actor, its head and log_std. The value side is the critic and its head. A
// shared encoder belongs to both.
enum class NetworkSide { kBoth, kPolicy, kValue };

// A range of the flat parameter array.
struct ParameterRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

// Intermediate results of one tile. Make one per concurrent task, once.
template <class Real>
struct TileWorkspace {
  AlignedVector<Real> observations;         // [kTileRows, D]
  AlignedVector<Real> critic_observations;  // [kTileRows, critic_observation_size], or empty
  // With several policies: inputs, each followed by zeros and a 1 at the place of its policy.
  AlignedVector<Real> marked, marked_critic;
  std::array<std::int32_t, kTileRows> policies{};  // of the rows
  AlignedVector<Real> encoder, actor, critic;
  AlignedVector<Real> encoder_delta, actor_delta, critic_delta;
  // The same of the layers after a cell.
  AlignedVector<Real> actor_top, critic_top, actor_top_delta, critic_top_delta;
  // Activations and deltas of recurrent cells; empty without them.
  AlignedVector<Real> encoder_cell, actor_cell, critic_cell;
  AlignedVector<Real> encoder_cell_delta, actor_cell_delta, critic_cell_delta;
  TileStates<Real> states;
  // [A] if they are parameters, or empty. Each thread writes its own, in a cache line of its own.
  AlignedVector<Real> log_std, log_std_delta;
  std::vector<Real> noise_variances;         // [L, A] with has_state_noise(), or empty
  const Real* policy_features = nullptr;     // [rows, L], after a forward pass of the policy
  AlignedVector<Real> policy, policy_delta;  // [outputs, kTileRows]: column r belongs to row r
  AlignedVector<Real> values, values_delta;  // [value_outputs, kTileRows]
  AlignedVector<Real>
      feature_delta;  // [kTileRows, features]: the actor's share of the encoder's delta
  AlignedVector<Real> layer_scratch;

  // Buffer in which the caller may gather a tile of critic inputs.
  Real* critic_tile() {
    return critic_observations.empty() ? observations.data() : critic_observations.data();
  }

  std::size_t bytes() const {
    std::size_t count = 0;
    for (const AlignedVector<Real>* array :
         {&observations,     &critic_observations, &encoder,         &actor,
          &critic,           &encoder_delta,       &actor_delta,     &critic_delta,
          &encoder_cell,     &actor_cell,          &critic_cell,     &encoder_cell_delta,
          &actor_cell_delta, &critic_cell_delta,   &states.before,   &states.delta,
          &policy,           &policy_delta,        &values,          &values_delta,
          &feature_delta,    &layer_scratch,       &marked,          &marked_critic,
          &actor_top,        &critic_top,          &actor_top_delta, &critic_top_delta}) {
      count += array->size();
    }
    count += log_std.size() + log_std_delta.size() + noise_variances.size();
    return count * sizeof(Real) + states.begins.size();
  }
};

class ActorCritic {
 public:
  explicit ActorCritic(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  std::size_t parameter_count() const { return layout_.size(); }  // P
  const Chain& encoder() const { return encoder_; }               // empty unless shared
  const Chain& actor() const { return actor_; }
  const Chain& critic() const { return critic_; }
  // The dense layers after their cells; empty without shape().recurrent_units.
  const Chain& actor_top() const { return actor_top_; }
  const Chain& critic_top() const { return critic_top_; }
  std::array<const Chain*, 5> chains() const {
    return {&encoder_, &actor_, &actor_top_, &critic_, &critic_top_};
  }
  // The cells after these bodies; empty without recurrence. With a shared encoder only its own.
  const Cell& encoder_cell() const { return encoder_cell_; }
  const Cell& actor_cell() const { return actor_cell_; }
  const Cell& critic_cell() const { return critic_cell_; }
  // S, the numbers of a state of all cells: that of the actor or shared encoder, then the critic's.
  // 0: the network has no memory, and outputs depend on one observation alone.
  std::size_t state_size() const { return state_size_; }
  bool is_recurrent() const { return state_size_ > 0; }
  const LinearSlice& policy_head() const { return policy_head_; }
  const LinearSlice& value_head() const { return value_head_; }
  // Offset of the parameters of log_std [box_size()], with shape().has_log_std(); of those of
  // noise [L, box_size()], with shape().has_state_noise(); or of [policies, box_size()], with
  // shape().has_policy_stds().
  std::size_t log_std_offset() const { return log_std_; }
  // With several policies: the layer of a body that gives the vector of a row's policy.
  const Layer& policy_vectors(const Chain& body) const {
    return body.layers()[body.joined().back()];
  }
  // Log standard deviations [A] of a Gaussian, those of the leader with several policies.
  template <class Real>
  void log_std(const Real* params, Real* out) const;
  // Adds the derivative for their parameters to grads [P], from that for the log standard
  // deviations [A].
  template <class Real>
  void add_log_std_gradient(const Real* params, const Real* d_log_std, Real* grads) const;

  // L times box_size() with shape().has_state_noise(), else 0.
  int noise_size() const {
    return shape_.has_state_noise() ? policy_head_.in * shape_.box_size() : 0;
  }
  // After a forward pass of the policy, with shape().has_state_noise().
  template <class Real>
  NoiseRows<Real> noise_rows(const TileWorkspace<Real>& work, int rows) const {
    return {work.policy_features, work.noise_variances.data(), rows, policy_head_.in,
            shape_.box_size()};
  }

  // Initialises params [P] from the streams (seed, purpose, tensor, 0).
  //
  // kOrthogonal follows CleanRL. Gains are sqrt(2) for hidden layers, 0.01 for the policy head, 1
  // for the value head and sqrt(2) for action values. With the other choices, weight_init sets the
  // hidden layers, and action values use lecun_normal, as in purejaxql. Biases are 0, gains of
  // normalisations 1, and log_std is log_std_init. Uniform choices set all layers and heads. Rows
  // of the head for deviations that depend on the state begin at 0, with bias log_std_init.
  void initialise(std::uint64_t seed, float* params, Purpose purpose = Purpose::kInit) const;

  template <class Real>
  TileWorkspace<Real> make_workspace() const;

  // Whether the sides share nothing, so that they can be trained at the same time.
  bool sides_are_apart() const { return encoder_.empty() && !shape_.action_values; }
  // Parameter ranges of a side; the second may be empty. kPolicy and kValue require
  // sides_are_apart().
  std::array<ParameterRange, 2> ranges(NetworkSide side) const;

  // Runs a side on its observations, rows <= kTileRows. Logits, means or action values go to
  // work.policy, log standard deviations to work.log_std, values to work.values; outputs of invalid
  // actions are kInvalidLogit. A row's bits depend only on that row and the parameters. A recurrent
  // network also reads work.states (sequences, begins, before), and a row's bits depend on the
  // earlier rows of its sequence, too.
  template <class Real>
  void forward(const Real* params, std::type_identity_t<NetworkInput<Real>> input, int rows,
               TileWorkspace<Real>& work, NetworkSide side = NetworkSide::kBoth) const;

  // After forward(): copies the states of a side's cells after row `row` to their places in state
  // [S].
  template <class Real>
  void copy_state(const TileWorkspace<Real>& work, int row, Real* state,
                  NetworkSide side = NetworkSide::kBoth) const;

  // Backward pass of one tile. Reads the loss derivatives in work.policy_delta and
  // work.values_delta, and adds the parameter derivatives to grads [P]. kPolicy and kValue require
  // sides_are_apart(). A recurrent network takes work.states.delta through the tile's steps.
  template <class Real>
  void backward(const Real* params, const Real* transposed,
                std::type_identity_t<NetworkInput<Real>> input, int rows, TileWorkspace<Real>& work,
                Real* grads, NetworkSide side = NetworkSide::kBoth) const;

  // Transposes the weights for backward() into transposed [P]. Call it after every change of
  // params.
  template <class Real>
  void refresh_transposed(const Real* params, Real* transposed,
                          NetworkSide side = NetworkSide::kBoth) const;

 private:
  std::vector<GroupPlan> group_plans(bool of_critic) const;
  template <class Real>
  NetworkInput<Real> marked(const NetworkInput<Real>& input, TileWorkspace<Real>& work) const;
  template <class Real>
  void mark(const NetworkInput<Real>& input, int rows, NetworkSide side,
            TileWorkspace<Real>& work) const;
  void initialise_vectors(const Chain& body, std::uint64_t seed, std::uint32_t tensor,
                          Purpose purpose, float* params) const;
  template <class Real>
  void fill_policy_stds(const Real* params, int rows, TileWorkspace<Real>& work) const;
  template <class Real>
  void add_policy_stds_gradient(int rows, const TileWorkspace<Real>& work, Real* grads) const;

  NetworkShape shape_;
  ParameterLayout layout_;
  Chain encoder_, actor_, critic_, actor_top_, critic_top_;
  Cell encoder_cell_, actor_cell_, critic_cell_;
  std::size_t state_size_ = 0;
  LinearSlice policy_head_, value_head_;
  ParameterRange critic_range_;  // includes the value head
  std::size_t log_std_ = 0;
};

}  // namespace broadloom
