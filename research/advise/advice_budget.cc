#include "research/advise/advice_budget.h"

#include <algorithm>
#include <utility>

namespace broadloom {

AdviceBudget::AdviceBudget(double seconds, std::int64_t steps, std::function<bool()> should_stop,
                           AdviceProgress progress)
    : seconds_(seconds),
      steps_(steps),
      should_stop_(std::move(should_stop)),
      progress_(std::move(progress)) {}

double AdviceBudget::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

PhaseBudget AdviceBudget::phase(double share_of_seconds, double share_of_steps) const {
  return {share_of_seconds * seconds_,
          static_cast<std::int64_t>(share_of_steps * static_cast<double>(steps_))};
}

PhaseBudget AdviceBudget::rest(double share, double reserved) const {
  const double begin = elapsed();
  const double end = (1.0 - reserved) * seconds_;
  const double steps =
      (1.0 - reserved) * static_cast<double>(steps_) - static_cast<double>(spent_steps());
  return {begin + share * std::max(0.0, end - begin),
          static_cast<std::int64_t>(share * std::max(0.0, steps))};
}

bool AdviceBudget::is_over() const {
  if (was_stopped()) return true;
  if (should_stop_ && should_stop_()) {
    stopped_.store(true, std::memory_order_relaxed);
    return true;
  }
  return !counts_steps() && elapsed() >= seconds_;
}

void AdviceBudget::tell(const std::string& what) const {
  const std::unique_lock<std::mutex> one_at_a_time(telling_, std::try_to_lock);
  if (!progress_ || !one_at_a_time.owns_lock()) return;
  const double share = counts_steps()
                           ? static_cast<double>(spent_steps()) / static_cast<double>(steps_)
                           : elapsed() / seconds_;
  progress_(what, std::clamp(share, 0.0, 1.0));
}

}  // namespace broadloom
