#include "research/study/matching.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace broadloom {
namespace {

constexpr std::int64_t kMostEpochs = 10000;  // as in Config

// The smallest block of the run; a schedule may change its size.
std::int64_t smallest_block(const Config& config) {
  std::int64_t smallest = config.batch_size();
  for (const Stretch& stretch : config.run_stretches()) {
    smallest = std::min(smallest, stretch.batch);
  }
  return smallest;
}

// Advantages normalised over a minibatch need at least two samples.
std::int64_t most_minibatches(const Config& config) {
  return std::max<std::int64_t>(1,
                                smallest_block(config) / (config.norm_adv == "minibatch" ? 2 : 1));
}

// Minibatches of an epoch, averaged over the run if they vary.
double minibatches_of(const Config& config) {
  const std::int64_t minibatches = config.gradient_steps() / config.update_epochs;
  return static_cast<double>(minibatches) / static_cast<double>(config.num_iterations());
}

Status check_undecided(Match match, const Config& cell) {
  for (const ShapePhase& phase : cell.shape_schedule.phases) {
    if (phase.minibatch_size == 0 || match == Match::kNone) continue;
    return {ErrorKind::kInvalidConfig,
            fmt::format("shape_schedule sets a minibatch size ({}), but match = \"{}\" chooses "
                        "minibatch sizes; leave it out, or use match = \"none\"",
                        to_text(phase), match_name(match))};
  }
  return {};
}

void set_minibatches(std::int64_t count, Config& cell) {
  cell.num_minibatches = static_cast<int>(count);
  cell.minibatch_size = 0;
}

Result<std::string> match_count(const Config& cell) {
  if (cell.minibatch_size == 0) return std::string();
  return Status(
      ErrorKind::kInvalidConfig,
      fmt::format("minibatch_size is {}, but match = \"minibatch_count\" keeps the number "
                  "of minibatches; set num_minibatches instead, or use match = "
                  "\"minibatch_size\" or \"none\"",
                  cell.minibatch_size));
}

Result<std::string> match_size(const Config& reference, Config& cell) {
  const std::int64_t wanted =
      reference.minibatch_size > 0 ? reference.minibatch_size : reference.largest_minibatch();
  const std::int64_t batch = smallest_block(cell);
  cell.minibatch_size = static_cast<int>(std::min(wanted, batch));
  if (batch < wanted) {
    return fmt::format("its block of {} is smaller than a minibatch of {}: it is one minibatch",
                       batch, wanted);
  }
  if (batch % wanted == 0 || !cell.shape_schedule.empty()) return std::string();
  const std::int64_t count = cell.minibatch_count();
  const std::int64_t smallest = batch / count, largest = cell.largest_minibatch();
  return fmt::format("{} samples do not divide into minibatches of {}: {} of {}{}", batch, wanted,
                     count, smallest, smallest < largest ? fmt::format(" to {}", largest) : "");
}

// Sets the adjusted key to the nearest whole number. If that would be below 1, it is 1 and the
// other key shrinks.
void adjust_steps(double wanted, Adjust adjust, Config& cell) {
  const std::int64_t most = most_minibatches(cell);
  const auto nearest = [](double x, std::int64_t high) {
    return std::clamp<std::int64_t>(std::llround(x), 1, high);
  };
  const double present = minibatches_of(cell);
  double minibatches = present;
  std::int64_t epochs = cell.update_epochs;
  if (adjust == Adjust::kMinibatches) {
    if (wanted < static_cast<double>(epochs)) epochs = nearest(wanted, epochs);
    minibatches = static_cast<double>(nearest(wanted / static_cast<double>(epochs), most));
  } else {
    if (wanted < present) {
      const std::int64_t highest = std::llround(std::ceil(present));
      minibatches = static_cast<double>(nearest(wanted, highest));
    }
    epochs = nearest(wanted / minibatches, kMostEpochs);
  }
  if (minibatches != present) set_minibatches(static_cast<std::int64_t>(minibatches), cell);
  cell.update_epochs = static_cast<int>(epochs);
}

std::string match_steps(const Config& reference, Adjust adjust, Config& cell) {
  const std::int64_t target = gradient_steps(reference);
  const int epochs = cell.update_epochs;
  const std::int64_t minibatches = cell.minibatch_count();
  adjust_steps(static_cast<double>(target) / static_cast<double>(cell.num_iterations()), adjust,
               cell);
  std::string note;
  const std::int64_t got = gradient_steps(cell);
  if (got != target) {
    note = fmt::format(
        "{:+} gradient steps ({:+.2g} %): {} iterations of whole epochs and "
        "minibatches come no nearer to {}",
        got - target, 100.0 * static_cast<double>(got - target) / static_cast<double>(target),
        cell.num_iterations(), target);
  }
  const bool other_moved = adjust == Adjust::kMinibatches ? cell.update_epochs != epochs
                                                          : cell.minibatch_count() != minibatches;
  if (!other_moved) return note;
  const std::string moved =
      adjust == Adjust::kMinibatches
          ? fmt::format("update_epochs {} instead of {}", cell.update_epochs, epochs)
          : fmt::format("{} minibatch{} instead of {}", cell.minibatch_count(),
                        cell.minibatch_count() == 1 ? "" : "es", minibatches);
  return moved + (note.empty() ? "" : "; ") + note;
}

}  // namespace

Result<Match> parse_match(const std::string& text) {
  for (const Match match :
       {Match::kNone, Match::kMinibatchCount, Match::kMinibatchSize, Match::kGradientSteps}) {
    if (text == match_name(match)) return match;
  }
  return unknown_key_error("match", text,
                           {"minibatch_count", "minibatch_size", "gradient_steps", "none"});
}

Result<Adjust> parse_adjust(const std::string& text) {
  if (text == "minibatches") return Adjust::kMinibatches;
  if (text == "epochs") return Adjust::kEpochs;
  return unknown_key_error("adjust", text, {"minibatches", "epochs"});
}

const char* match_name(Match match) {
  switch (match) {
    case Match::kMinibatchCount:
      return "minibatch_count";
    case Match::kMinibatchSize:
      return "minibatch_size";
    case Match::kGradientSteps:
      return "gradient_steps";
    default:
      return "none";
  }
}

const char* adjust_name(Adjust adjust) {
  return adjust == Adjust::kEpochs ? "epochs" : "minibatches";
}

bool follows_reference(Match match) {
  return match == Match::kMinibatchSize || match == Match::kGradientSteps;
}

std::vector<std::string> decided_keys(Match match, Adjust adjust) {
  if (match == Match::kNone) return {};
  if (match == Match::kGradientSteps && adjust == Adjust::kEpochs) return {"update_epochs"};
  return {"num_minibatches", "minibatch_size"};
}

std::int64_t gradient_steps(const Config& config) { return config.gradient_steps(); }

Result<std::string> apply_match(Match match, Adjust adjust, const Config& reference, Config& cell) {
  BROADLOOM_TRY(check_undecided(match, cell));
  switch (match) {
    case Match::kMinibatchCount:
      return match_count(cell);
    case Match::kMinibatchSize:
      return match_size(reference, cell);
    case Match::kGradientSteps:
      return match_steps(reference, adjust, cell);
    default:
      return std::string();
  }
}

}  // namespace broadloom
