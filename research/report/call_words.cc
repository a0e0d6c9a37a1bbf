#include "research/report/call_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "broadloom/core/estimate.h"

namespace broadloom {
namespace {

constexpr double kOneSide = 0.5 * (1.0 - kConfidence);

// "N at one batch", "T", "learning_rate": what lines of one kind vary.
std::string kind_words(const LineCalls& calls) {
  if (calls.kind == LineKind::kWidthOfBatch) return "Of two blocks of one batch";
  if (calls.kind == LineKind::kWidth) return "Of two N at one T";
  if (calls.kind == LineKind::kLength) return "Of two T at one N";
  return calls.kind == LineKind::kSettings ? "Of two settings" : "Of two " + calls.key;
}

// The names of the later and of the earlier of two neighbours on such a line.
std::pair<std::string, std::string> names_of(const LineCalls& calls) {
  if (calls.kind == LineKind::kWidthOfBatch) return {"the wider (more N)", "the longer (more T)"};
  if (calls.ordered) return {"the larger", "the smaller"};
  if (!calls.first.empty()) return {calls.second, calls.first};
  return {"the one", "the other"};
}

}  // namespace

std::string calls_sentence(const LineCalls& calls) {
  const auto [later, earlier] = names_of(calls);
  return fmt::format(
      "{}, neighbours that are equal in all else, {} is called better in {} of {} pairs and {} in "
      "{}; by chance at most {:.2g} each would be.",
      kind_words(calls), later, calls.later_better, calls.pairs, earlier, calls.earlier_better,
      kOneSide * static_cast<double>(calls.pairs));
}

double chance_of(const LineCalls& calls) {
  const int most = std::max(calls.later_better, calls.earlier_better);
  if (most == 0) return 1.0;
  // Down from the probability of none to those of fewer than `most`.
  double exactly = 1.0, fewer = 0.0;
  for (int i = 0; i < calls.pairs; ++i) exactly *= 1.0 - kOneSide;
  for (int k = 0; k < most; ++k) {
    fewer += exactly;
    exactly *= static_cast<double>(calls.pairs - k) / (k + 1) * kOneSide / (1.0 - kOneSide);
  }
  return std::min(1.0, 2.0 * std::max(0.0, 1.0 - fewer));
}

}  // namespace broadloom
