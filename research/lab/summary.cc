#include "research/lab/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace broadloom {
namespace {

// The number of one shape.
struct Row {
  BlockShape shape;
  Estimate e;
};
using Rows = std::vector<Row>;  // long blocks first

bool known(const Estimate& e) { return std::isfinite(e.low) && std::isfinite(e.high); }
bool overlap(const Estimate& a, const Estimate& b) { return a.low <= b.high && b.low <= a.high; }
bool longer(const Row& a, const Row& b) { return a.shape.num_steps > b.shape.num_steps; }
bool less(const Row& a, const Row& b) { return a.e.value < b.e.value; }

std::string words(const BlockShape& shape) {
  return fmt::format("{} x {}", shape.num_envs, shape.num_steps);
}
std::string words(const Estimate& e) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", e.value, e.low, e.high);
}
// For quantities without a typical scale.
std::string small_words(const Estimate& e) {
  return known(e) ? fmt::format("{:.3g} [{:.3g}, {:.3g}]", e.value, e.low, e.high)
                  : fmt::format("{:.3g}", e.value);
}
std::string words(const Row& row) { return fmt::format("{} ({})", words(row.shape), words(row.e)); }

// "a, b and c"
std::string words(const Rows& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "" : i + 1 == rows.size() ? " and " : ", ";
    out += words(rows[i].shape);
  }
  return out;
}

template <class Test>
Rows selected(const Rows& rows, Test&& test) {
  Rows out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), test);
  return out;
}

// "3 of 11 shapes (1 x 64, 2 x 32 and 4 x 16)"; no names if these are all shapes or more than four.
std::string counted(const Rows& some, const Rows& all) {
  const std::string names =
      some.size() < all.size() && some.size() <= 4 ? fmt::format(" ({})", words(some)) : "";
  return fmt::format("{} of {} shape{}{}", some.size(), all.size(), all.size() == 1 ? "" : "s",
                     names);
}

std::string critic_words(const std::string& critic) {
  if (critic == "own") return "the run's critic";
  if (critic == "refitted") return "a critic refitted to the same policy's returns";
  return "the exact values";
}

class Summary {
 public:
  explicit Summary(const GradientStudyReport& report)
      : report_(report), lambda_(summary_lambda(report)) {}

  std::vector<std::string> lines() {
    if (report_.agreement) add_agreement();
    if (report_.variance) add_dependence();
    if (report_.correlation) add_centring();
    if (report_.variance) add_variance();
    if (report_.bias) add_bias();
    if (report_.exact) add_exact();
    return std::move(lines_);
  }

 private:
  // With advantages normalised over the block, as PPO normalises them over a minibatch. Losses of
  // values have errors as they are.
  Rows agreement(const std::string& critic) const {
    Rows rows;
    for (const AgreementResult& r : *report_.agreement) {
      const bool is_main = r.norm_adv == (report_.loss == "policy");
      const bool asked = is_main && r.critic == critic && r.lambda == lambda_;
      if (asked && known(r.agreement)) rows.push_back({r.shape, r.agreement});
    }
    std::stable_sort(rows.begin(), rows.end(), longer);
    return rows;
  }

  void add_agreement() {
    const Rows own = agreement("own");
    if (own.empty()) {
      lines_.emplace_back(
          "The true gradient cannot be told from zero, so that nothing can be said of directions.");
      return;
    }
    lines_.push_back(best(own));
    lines_.push_back(directions(own));
    add_lambdas();
    for (const char* critic : {"refitted", "exact"}) add_critic(own, critic);
  }

  std::string best(const Rows& rows) const {
    const Row& top = *std::max_element(rows.begin(), rows.end(), less);
    const Row& last = *std::min_element(rows.begin(), rows.end(), less);
    const std::string where = fmt::format("under the run's {} at lambda {:g}",
                                          report_.loss == "td" ? "values" : "critic", lambda_);
    if (rows.size() == 1) {
      return fmt::format("One block of {} agrees with the true gradient by {} {}.",
                         words(top.shape), words(top.e), where);
    }
    const Rows level = selected(rows, [&](const Row& r) {
      return words(r.shape) != words(top.shape) && overlap(r.e, top.e);
    });
    if (level.size() + 1 == rows.size()) {
      return fmt::format(
          "No shape is found to be best for one block {}: agreement is {:.2f} to {:.2f}, and every "
          "interval overlaps with the interval of the highest, {}.",
          where, last.e.value, top.e.value, words(top));
    }
    return fmt::format("Best shape for one block {}: {}{}; least agrees {}.", where, words(top),
                       level.empty() ? "" : ", level with " + words(level), words(last));
  }

  // Shapes whose blocks point in the true direction on average, and shapes whose blocks do not.
  static std::string directions(const Rows& rows) {
    const auto useful = [](const Row& r) { return r.e.low > 0.0; };
    const Rows bad = selected(rows, [&](const Row& r) { return !useful(r); });
    if (bad.empty()) return "Blocks of every shape point the true way on average.";
    const Rows away = selected(bad, [](const Row& r) { return r.e.high < 0.0; });
    const std::string what = away.size() == bad.size() ? "reversed: it points away on average"
                             : away.empty()
                                 ? "not shown to point the true way: its interval contains zero"
                                 : "reversed or not shown to point the true way";
    const std::size_t count = rows.size() - bad.size();
    std::string where = "In " + counted(bad, rows);
    if (count == 0) {
      where = "At every shape";
    } else if (std::all_of(rows.begin(), rows.begin() + count, useful)) {
      where = fmt::format("From T = {} down", bad.front().shape.num_steps);
    } else if (std::all_of(rows.end() - count, rows.end(), useful)) {
      where = fmt::format("From T = {} up", bad.back().shape.num_steps);
    }
    std::string values =
        fmt::format("{} at T = {}", words(bad.front().e), bad.front().shape.num_steps);
    if (bad.size() > 1) {
      values += fmt::format(", {} at T = {}", words(bad.back().e), bad.back().shape.num_steps);
    }
    return fmt::format("{} one block's direction is {} ({}).", where, what, values);
  }

  void add_lambdas() {
    std::string text;
    const double main = lambda_;
    for (const double lambda : report_.lambdas) {
      lambda_ = lambda;
      const Rows rows = lambda == main ? Rows{} : agreement("own");
      lambda_ = main;
      if (rows.empty()) continue;
      text += fmt::format("{}at lambda {:g} it is {}", text.empty() ? "" : "; ", lambda,
                          words(*std::max_element(rows.begin(), rows.end(), less)));
    }
    if (!text.empty()) lines_.push_back("The highest agreement elsewhere: " + text + ".");
  }

  void add_critic(const Rows& own, const std::string& critic) {
    const Rows other = agreement(critic);
    if (other.size() != own.size()) return;
    Rows higher, lower;
    std::size_t most = 0;
    const auto gap = [&](std::size_t i) { return std::abs(other[i].e.value - own[i].e.value); };
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (overlap(own[i].e, other[i].e)) continue;
      if (higher.empty() && lower.empty()) most = i;
      (other[i].e.value > own[i].e.value ? higher : lower).push_back(other[i]);
      if (gap(i) > gap(most)) most = i;
    }
    const Row& top = *std::max_element(other.begin(), other.end(), less);
    const std::string ending =
        fmt::format("Highest under {}: {}.", critic == "exact" ? "them" : "it", words(top));
    if (higher.empty() && lower.empty()) {
      lines_.push_back(fmt::format(
          "Under {} agreement is not found to differ from that under {} at any shape. {}",
          critic_words(critic), critic_words("own"), ending));
      return;
    }
    std::string side = higher.empty() ? "" : "higher in " + counted(higher, own);
    if (!lower.empty()) {
      side += (side.empty() ? "lower in " : " and lower in ") + counted(lower, own);
    }
    std::string line = fmt::format("Under {} agreement is {}, most apart at {}: {} against {}. {}",
                                   critic_words(critic), side, words(own[most].shape),
                                   words(other[most].e), words(own[most].e), ending);
    if (critic == "refitted" && !lower.empty()) {
      line +=
          " Where it is lower, the fit is not yet a better critic than the run's, whatever share "
          "of the returns it explains; a larger --bias_budget fits it longer.";
    }
    lines_.push_back(std::move(line));
  }

  // The equivalent number of independent samples in trajectories of dependent ones.
  void add_dependence() {
    Rows rows;
    for (const VarianceResult& r : *report_.variance) {
      const Estimate& vif = r.variance_inflation;
      if (r.lambda != lambda_ || r.shape.num_steps == 1 || !known(vif) || !(vif.low > 0.0)) {
        continue;
      }
      rows.push_back({r.shape, {1.0 / vif.value, 1.0 / vif.high, 1.0 / vif.low, vif.count}});
    }
    if (rows.empty()) return;
    std::stable_sort(rows.begin(), rows.end(), longer);
    const Rows more = selected(rows, [](const Row& r) { return r.e.low > 1.0; });
    const Rows fewer = selected(rows, [](const Row& r) { return r.e.high < 1.0; });
    if (more.empty() && fewer.empty()) {
      lines_.push_back(fmt::format(
          "We found no difference between samples of a trajectory and independent ones at lambda "
          "{:g}: the interval of the variance inflation contains 1 in {}.",
          lambda_, rows.size() == 1 ? "the one shape" : fmt::format("all {} shapes", rows.size())));
      return;
    }
    std::string text;
    for (const Rows* some : {&more, &fewer}) {
      if (!some->empty()) text += (text.empty() ? "" : "; ") + worth(*some, rows, some == &more);
    }
    const std::size_t rest = rows.size() - more.size() - fewer.size();
    if (rest > 0) text += fmt::format("; in the other {} the interval contains 1", rest);
    lines_.push_back(fmt::format("Dependence at lambda {:g}: {}.", lambda_, text));
  }

  std::string worth(const Rows& some, const Rows& all, bool more) const {
    const auto [low, high] = std::minmax_element(some.begin(), some.end(), less);
    const std::string times = some.size() == 1
                                  ? words(low->e)
                                  : fmt::format("{:.2f} to {:.2f}", low->e.value, high->e.value);
    return fmt::format(
        "a sample of a rollout is worth {} times an independent one in {}, since "
        "gradients along it covary {}{}",
        times, counted(some, all), more ? "negatively" : "positively",
        lags(more ? high->shape : low->shape, more));
  }

  // ", at 1 x 1024 most at lags 9 to 16"
  std::string lags(const BlockShape& shape, bool negative) const {
    for (const VarianceResult& r : *report_.variance) {
      if (r.lambda != lambda_ || words(r.shape) != words(shape)) continue;
      std::size_t most = r.bins.size();
      for (std::size_t b = 0; b < r.bins.size(); ++b) {
        const Estimate& e = r.within_by_lag[b];
        const bool apart = negative ? e.high < 0.0 : e.low > 0.0;
        if (!apart) continue;
        if (most == r.bins.size() || std::abs(e.value) > std::abs(r.within_by_lag[most].value)) {
          most = b;
        }
      }
      if (most == r.bins.size()) return "";
      const LagBin& bin = r.bins[most];
      const std::string range = bin.low == bin.high
                                    ? fmt::format("lag {}", bin.low)
                                    : fmt::format("lags {} to {}", bin.low, bin.high);
      return fmt::format(" (at {} most at {})", words(shape), range);
    }
    return "";
  }

  // Between independent samples, centring produces cosines above zero.
  void add_centring() {
    Rows centred, plain;
    for (const CorrelationResult& r : *report_.correlation) {
      const Estimate &with = r.across.cosine.mean, &without = r.across.uncentred;
      if (r.lambda != lambda_ || !known(with) || !known(without)) continue;
      if (!(with.low > 0.0) || !(without.high < with.low)) continue;
      centred.push_back({r.shape, with});
      plain.push_back({r.shape, without});
    }
    if (centred.empty()) return;
    const auto range = [](const Rows& rows) {
      const auto [low, high] = std::minmax_element(rows.begin(), rows.end(), less);
      return rows.size() == 1 ? words(low->e)
                              : fmt::format("{:.3f} to {:.3f}", low->e.value, high->e.value);
    };
    lines_.push_back(fmt::format(
        "Samples of different trajectories are independent, and the mean cosine of their gradients "
        "is {}; after subtraction of their block's mean it is {}. The subtraction makes the "
        "difference: a gradient shorter than the mean then points away from it.",
        range(plain), range(centred)));
  }

  // The shape with the lowest variance of the batch gradient, and whether its parts can be trusted.
  void add_variance() {
    Rows rows;
    std::size_t across = 0, broken = 0;
    for (const VarianceResult& r : *report_.variance) {
      if (r.lambda == lambda_ && known(r.total)) rows.push_back({r.shape, r.total});
      if (known(r.across) && !r.across.holds(0.0)) ++across;
      if (!r.parts_agree) ++broken;
    }
    std::stable_sort(rows.begin(), rows.end(), longer);
    const std::size_t cases = report_.variance->size();
    if (!rows.empty()) lines_.push_back(lowest_variance(rows));
    if (across > 0) {
      lines_.push_back(fmt::format(
          "In {} of {} cases the part of the variance that pairs of different environments make is "
          "not zero. They are independent, so this is chance unless advantages were normalised "
          "over the block.",
          across, cases));
    }
    if (broken > 0) {
      lines_.push_back(fmt::format(
          "Warning: the parts of the variance do not add up to the total in {} of {} cases; do not "
          "trust the split there.",
          broken, cases));
    }
  }

  std::string lowest_variance(const Rows& rows) const {
    const Row& best = *std::min_element(rows.begin(), rows.end(), less);
    const Row& worst = *std::max_element(rows.begin(), rows.end(), less);
    const Rows level = selected(rows, [&](const Row& r) {
      return words(r.shape) != words(best.shape) && overlap(r.e, best.e);
    });
    std::string line = fmt::format("Lowest variance of the batch gradient at lambda {:g}: {} ({})",
                                   lambda_, words(best.shape), small_words(best.e));
    if (rows.size() == 1) return line + ", of one shape.";
    if (level.size() + 1 == rows.size()) {
      return line + "; every interval overlaps with its own, so no shape is found to be lowest.";
    }
    if (!level.empty()) line += ", level with " + words(level);
    if (best.e.low > 0.0 && worst.e.low > best.e.high) {
      line += fmt::format("; the highest, {}, is {:.2g} to {:.2g} times that", words(worst.shape),
                          worst.e.low / best.e.high, worst.e.high / best.e.low);
    }
    return line + ".";
  }

  void add_bias() {
    const std::vector<BiasResult>& all = *report_.bias;
    const BiasResult* most = nullptr;
    std::size_t tested = 0, clear = 0, level = 0, spent = 0;
    for (const BiasResult& r : all) {
      if (std::isfinite(r.bias_norm.value) &&
          (most == nullptr || r.bias_norm.value > most->bias_norm.value)) {
        most = &r;
      }
      tested += known(r.bias_squared) ? 1 : 0;
      clear += known(r.bias_squared) && r.bias_squared.low > 0.0 ? 1 : 0;
      spent += r.precise ? 0 : 1;
    }
    if (most == nullptr) return;
    for (const BiasResult& r : all) {
      const bool both = &r != most && known(r.bias_norm) && known(most->bias_norm);
      level += both && overlap(r.bias_norm, most->bias_norm) ? 1 : 0;
    }
    std::string line =
        fmt::format("The largest bias |E G_B - G_T| is at T = {}, lambda {:g}, gamma {:g}: {}",
                    most->num_steps, most->lambda, most->gamma, small_words(most->bias_norm));
    if (std::isfinite(most->relative_bias.value)) {
      line +=
          fmt::format(", {} times the norm of the true gradient", small_words(most->relative_bias));
    }
    if (known(most->bias_norm) && most->bias_norm.low <= 0.0) line += "; its interval reaches zero";
    if (level > 0) line += fmt::format("; the intervals of {} more overlap with it", level);
    lines_.push_back(line + ".");
    if (tested > 0) {
      lines_.push_back(fmt::format("The squared bias is above zero in {} of {} cases{}.", clear,
                                   tested, clear < tested ? "; in the others none was found" : ""));
    }
    if (spent > 0) {
      lines_.push_back(
          fmt::format("In {} of {} cases of the bias the budget ended before the wanted precision.",
                      spent, all.size()));
    }
  }

  void add_exact() {
    std::size_t tested = 0, agree = 0;
    for (const ExactResult& r : report_.exact->cases) {
      for (const ExactQuantity& q : r.quantities) {
        tested += q.sampled ? 1 : 0;
        agree += q.sampled && q.sampled->holds(q.exact) ? 1 : 0;
      }
    }
    if (tested == 0) {
      lines_.emplace_back("Exact values were solved for; none was sampled beside them.");
      return;
    }
    lines_.push_back(
        fmt::format("The sampled interval contains the exact value in {} of {} comparisons. About "
                    "{:.2g} misses "
                    "are expected by chance; they come together, since cases share their samples.",
                    agree, tested, (1.0 - kConfidence) * static_cast<double>(tested)));
  }

  const GradientStudyReport& report_;
  double lambda_;
  std::vector<std::string> lines_;
};

}  // namespace

double summary_lambda(const GradientStudyReport& report) {
  if (report.lambdas.empty()) return report.gae_lambda;
  return *std::min_element(report.lambdas.begin(), report.lambdas.end(), [&](double a, double b) {
    return std::abs(a - report.gae_lambda) < std::abs(b - report.gae_lambda);
  });
}

std::vector<std::string> summary_of(const GradientStudyReport& report) {
  return Summary(report).lines();
}

}  // namespace broadloom
