#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/conformance/guarded_rows.h"
#include "broadloom/env/mirror.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"

namespace broadloom::conformance {
namespace {

constexpr int kPlays = 512, kSteps = 16;
// Means that differ by more standard errors are called different. With 40,000 means, normal ones
// stay below it in all but one of 10 million checks.
constexpr double kMostErrors = 7.0;
// Products of all pairs of numbers are checked for observations up to this size.
constexpr std::size_t kMostPairs = 256;

using Numbers = std::vector<double>;

// Means over plays of a matrix, beside the means of its mirror image.
class MatrixMean {
 public:
  MatrixMean(SignedPermutation rows, SignedPermutation columns)
      : rows_(std::move(rows)),
        columns_(std::move(columns)),
        now_(rows_.size() * columns_.size()),
        differences_(now_.size()),
        totals_(now_.size()) {}

  // Adds weight * row number * column number to the current play's matrix. This and end_play() are
  // nearly all of the check's time, so they read by pointers: code here is hardly optimised.
  void add(const Numbers& row, const Numbers& column, double weight = 1.0) {
    const std::size_t width = columns_.size();
    const double* const numbers = column.data();
    double* sums = now_.data();
    for (std::size_t i = 0; i < rows_.size(); ++i, sums += width) {
      const double factor = weight * row[i];
      for (std::size_t j = 0; j < width; ++j) sums[j] += factor * numbers[j];
    }
  }
  void end_play() {
    const std::size_t width = columns_.size();
    const auto* const places = columns_.index.data();
    const auto* const signs = columns_.sign.data();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double* const mirrored = now_.data() + static_cast<std::size_t>(rows_.index[i]) * width;
      const double* const sums = now_.data() + i * width;
      Mean* const differences = differences_.data() + i * width;
      Mean* const totals = totals_.data() + i * width;
      const auto sign = rows_.sign[i];
      for (std::size_t j = 0; j < width; ++j) {
        const double image = static_cast<double>(sign * signs[j]) * mirrored[places[j]];
        differences[j].add(sums[j] - image);
        totals[j].add(sums[j] + image);
      }
    }
    std::fill(now_.begin(), now_.end(), 0.0);
  }

  struct Worst {
    std::size_t row = 0, column = 0;
    double errors = 0.0;  // distance of the two means in standard errors
  };
  Worst worst() const {
    Worst out;
    for (std::size_t k = 0; k < differences_.size(); ++k) {
      const double errors = differences_[k].standard_errors();
      if (errors > out.errors) out = {k / columns_.size(), k % columns_.size(), errors};
    }
    return out;
  }

  // Whether this matrix would show a wrong sign of row i: the image of a number there would then be
  // its negative, so that the total would be the difference. Columns that change sign with the row
  // show nothing. moves_columns: rows and columns are the same numbers.
  bool tests_sign(std::size_t i, bool moves_columns) const {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const bool changes = moves_columns && (j == i || static_cast<int>(j) == rows_.index[i]);
      const double errors = totals_[i * columns_.size() + j].standard_errors();
      if (!changes && errors > kMostErrors) return true;
    }
    return false;
  }

 private:
  // Sums over plays.
  struct Mean {
    double sum = 0.0, squares = 0.0;
    void add(double x) {
      sum += x;
      squares += x * x;
    }
    // Distance of the mean from 0.
    double standard_errors() const {
      const double mean = sum / kPlays, square = squares / kPlays;
      if (mean == 0.0) return 0.0;
      const double var = square - mean * mean;
      if (var <= 1e-9 * square) return std::numeric_limits<double>::infinity();
      return std::fabs(mean) / std::sqrt(var / kPlays);
    }
  };

  SignedPermutation rows_, columns_;
  Numbers now_;                             // [rows, columns]
  std::vector<Mean> differences_, totals_;  // of a number and its image, [rows, columns]
};

SignedPermutation with_reward(SignedPermutation seen) { return seen.append("+0"); }

// Observations of the policy or the critic.
class Watcher {
 public:
  Watcher(const char* who, const SignedPermutation& seen, const SignedPermutation& action)
      : who_(who),
        has_pairs_(seen.size() <= kMostPairs),
        starts_(seen, "+0"),
        answers_(with_reward(seen), action),
        alone_(seen, "+0 +1"),
        pairs_(seen, seen),
        paid_pairs_(seen, seen) {}

  void begin(const Numbers& first) { starts_.add(first, {1.0}); }
  void step(const Numbers& before, const Numbers& action, const Numbers& after, double reward) {
    Numbers change(before.size() + 1, reward);
    for (std::size_t i = 0; i < before.size(); ++i) change[i] = after[i] - before[i];
    answers_.add(change, action);
    alone_.add(after, {1.0, reward});
    if (!has_pairs_) return;
    pairs_.add(after, after);
    paid_pairs_.add(after, after, reward);
  }
  void end() {
    for (MatrixMean* each : {&starts_, &answers_, &alone_, &pairs_, &paid_pairs_}) each->end_play();
  }

  void report(std::size_t size, Findings& findings) const {
    const auto expect = [&](const MatrixMean::Worst& worst, const std::string& what) {
      findings.expect(
          worst.errors <= kMostErrors,
          fmt::format("{}: {} differs between plays and their mirror images, by {:.0f} standard "
                      "errors. spec().mirror is wrong there, or starts, dynamics or rewards have "
                      "no such symmetry",
                      who_, what, worst.errors));
    };
    const MatrixMean::Worst start = starts_.worst(), answer = answers_.worst();
    const MatrixMean::Worst pair = pairs_.worst(), paid = paid_pairs_.worst();
    expect(start, fmt::format("the mean of number {} at the start", start.row));
    const std::string changed =
        answer.row == size ? "reward" : fmt::format("change of number {}", answer.row);
    expect(answer, fmt::format("the mean of {} x action {}", changed, answer.column));
    expect(pair, fmt::format("the mean of number {} x number {}", pair.row, pair.column));
    expect(paid, fmt::format("the mean of number {} x number {} x reward", paid.row, paid.column));
    const MatrixMean::Worst alone = alone_.worst();
    expect(alone,
           fmt::format("the mean of number {}{}", alone.row, alone.column == 0 ? "" : " x reward"));
    std::vector<std::size_t> untested;
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_tested = starts_.tests_sign(i, false) || answers_.tests_sign(i, false) ||
                             alone_.tests_sign(i, false) || pairs_.tests_sign(i, true) ||
                             paid_pairs_.tests_sign(i, true);
      if (!is_tested) untested.push_back(i);
    }
    if (untested.empty()) return;
    findings.could_not_check(fmt::format("signs of {}'s numbers {}, which play does not show", who_,
                                         fmt::join(untested, ", ")));
  }

 private:
  const char* who_;
  bool has_pairs_;
  MatrixMean starts_, answers_, alone_, pairs_, paid_pairs_;
};

// All plays: rows of step t begin at row t * kPlays.
struct Plays {
  explicit Plays(const EnvSpec& spec)
      : seen(rows(kSteps + 1, spec.observation.size)),
        critic_seen(rows(kSteps + 1, spec.critic_observation.size)),
        actions(rows(kSteps, spec.action_size())),
        rewards(rows(kSteps, 1)),
        terminated(rewards.size()),
        truncated(rewards.size()) {}

  static std::vector<float> rows(int steps, int size) {
    return std::vector<float>(static_cast<std::size_t>(steps) * kPlays *
                              static_cast<std::size_t>(size));
  }
  Status play(VecEnv& envs);

  std::vector<float> seen, critic_seen, actions, rewards;
  std::vector<std::uint8_t> terminated, truncated;
};

Status Plays::play(VecEnv& envs) {
  const EnvSpec& spec = envs.spec();
  const auto place = [](std::vector<float>& rows, int t, int size) {
    return rows.empty() ? nullptr : rows.data() + static_cast<std::ptrdiff_t>(t) * kPlays * size;
  };
  // Guards keep this process whole when a step writes beyond its rows, which other checks report.
  StepOutputs outputs(spec, kPlays);
  const StepRows guarded = outputs.begin(nullptr);
  observe_simulator(envs, 0, kPlays, guarded.observations, guarded.critic_observations);
  std::vector<float> last(static_cast<std::size_t>(kPlays * spec.observation.size));
  std::vector<float> critic_last(static_cast<std::size_t>(kPlays * spec.critic_observation.size));
  guarded.observations.copy_to(seen.data(), last.size());
  if (spec.has_critic_observation())
    guarded.critic_observations.copy_to(critic_seen.data(), critic_last.size());
  std::vector<EpisodeEnd> ends(kPlays);
  MaskRows masks(spec, 2 * kPlays);
  for (int t = 0; t < kSteps; ++t) {
    float* const chosen = place(actions, t, spec.action_size());
    masks.read(envs, 0, kPlays);
    for (int n = 0; n < kPlays; ++n) {
      Random random(98, Purpose::kUser, static_cast<std::uint32_t>(n),
                    static_cast<std::uint64_t>(t));
      draw_action(spec.action, random, chosen + n * spec.action_size(),
                  masks.row(static_cast<std::size_t>(n)));
    }
    const StepRows rows{
        .actions = chosen,
        .observations = place(seen, t + 1, spec.observation.size),
        .rewards = place(rewards, t, 1),
        .terminated = terminated.data() + static_cast<std::ptrdiff_t>(t) * kPlays,
        .truncated = truncated.data() + static_cast<std::ptrdiff_t>(t) * kPlays,
        .final_observations = last.data(),
        .ends = ends.data(),
        .critic_observations = place(critic_seen, t + 1, spec.critic_observation.size),
        .final_critic_observations = critic_last.data()};
    const StepRows written = outputs.begin(chosen);
    BROADLOOM_TRY(call_simulator(spec.id, "step", [&] { return envs.step(0, kPlays, written); }));
    BROADLOOM_TRY(outputs.check(0, kPlays));
    outputs.copy_to(rows, kPlays);
  }
  return {};
}

// Row n of step t.
Numbers row_of(const std::vector<float>& rows, int t, int n, std::size_t size) {
  const auto row = static_cast<std::ptrdiff_t>(t) * kPlays + n;
  const auto first = rows.begin() + row * static_cast<std::ptrdiff_t>(size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

// An action as numbers that are mirrored like a Box: of choices, 1 at the chosen one.
Numbers as_numbers(const Space& action, const Numbers& chosen) {
  if (action.kind == SpaceKind::kBox) return chosen;
  Numbers out(static_cast<std::size_t>(action.size));
  out[static_cast<std::size_t>(chosen[0])] = 1.0;
  return out;
}

// Watches each play up to the step that ends its episode.
void watch(const Plays& plays, const std::vector<float>& seen, const Space& action,
           std::size_t size, Watcher& watcher) {
  const std::size_t width = plays.actions.size() / plays.rewards.size();
  for (int n = 0; n < kPlays; ++n) {
    watcher.begin(row_of(seen, 0, n, size));
    for (int t = 0; t < kSteps; ++t) {
      const auto place = static_cast<std::size_t>(t) * kPlays + static_cast<std::size_t>(n);
      if ((plays.terminated[place] | plays.truncated[place]) != 0) break;
      watcher.step(row_of(seen, t, n, size), as_numbers(action, row_of(plays.actions, t, n, width)),
                   row_of(seen, t + 1, n, size), static_cast<double>(plays.rewards[place]));
    }
    watcher.end();
  }
}

bool shows_floats(const Space& space) {
  return space.size == 0 || (space.kind == SpaceKind::kBox && space.dtype == Dtype::kF32);
}

}  // namespace

// Random actions are as likely as their mirror images. With a right mirror plays are, too, so that
// any number of a play has the mean of its image.
void check_mirrored_play(const Subject& subject, Findings& findings) {
  const EnvSpec& spec = subject.spec;
  const Status fits = check_mirror(spec);
  findings.expect(fits.ok(), fits.message());
  if (!fits.ok() || !shows_floats(spec.observation) || !shows_floats(spec.critic_observation)) {
    return;
  }
  VecEnvOptions options = usual_options(subject);
  options.num_envs = kPlays;
  const std::unique_ptr<VecEnv> envs = make_envs(subject, options, findings);
  if (envs == nullptr) return;
  Plays plays(spec);
  const Status played = plays.play(*envs);
  findings.expect(played.ok(), "a step failed: " + played.message());
  if (!played.ok()) return;
  const Mirror& mirror = spec.mirror;
  Watcher policy("the policy's observation", mirror.observation, mirror.action);
  watch(plays, plays.seen, spec.action, mirror.observation.size(), policy);
  policy.report(mirror.observation.size(), findings);
  if (!spec.has_critic_observation()) return;
  Watcher critic("the critic's observation", mirror.critic_observation, mirror.action);
  watch(plays, plays.critic_seen, spec.action, mirror.critic_observation.size(), critic);
  critic.report(mirror.critic_observation.size(), findings);
}

}  // namespace broadloom::conformance
