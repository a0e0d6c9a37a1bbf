// Cross-fitting: choices are fair, intervals hold them, and a call that hangs on one is not made.
#include "research/stats/tuned_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "broadloom/core/random.h"
#include "research/stats/pair_test.h"
#include "research/stats/scores.h"
#include "research/stats/statistics.h"

namespace broadloom {
namespace {

constexpr int kSeeds = 10;

// [means.size(), seeds] normal scores around these means.
Candidates normal(const std::vector<double>& means, int study, std::uint32_t arm,
                  int seeds = kSeeds) {
  Random random(7, Purpose::kUser, arm, static_cast<std::uint64_t>(study));
  Candidates out{static_cast<int>(means.size()), seeds, {}};
  for (const double mean : means) {
    for (int s = 0; s < seeds; ++s) out.scores.push_back(mean + random.normal());
  }
  return out;
}

Scores tuned(Candidates candidates) { return make_tuned({std::move(candidates)}).value(); }

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The definition, in full: for each seed the other folds' means, one by one.
std::vector<int> chosen_slowly(const Candidates& c, const std::vector<std::uint32_t>& drawn) {
  const int folds = std::min(c.seeds, kMostFolds);
  std::vector<int> out;
  for (const std::uint32_t seed : drawn) {
    int best = 0;
    double highest = -1e300;
    for (int k = 0; k < c.count; ++k) {
      std::vector<double> others;
      for (const std::uint32_t other : drawn) {
        if (other % folds != seed % folds) others.push_back(c.score(k, static_cast<int>(other)));
      }
      if (others.empty() || mean_of(others) <= highest) continue;
      highest = mean_of(others);
      best = k;
    }
    out.push_back(best);
  }
  return out;
}

TEST(CrossFitting, IsItsDefinition) {
  for (int study = 0; study < 50; ++study) {
    const Candidates c = normal({0.0, 0.2, 0.1}, study, 1, 7);
    Random random(3, Purpose::kUser, 2, static_cast<std::uint64_t>(study));
    std::vector<std::uint32_t> drawn(7);
    do {
      for (std::uint32_t& seed : drawn) seed = random.below(7);
    } while (std::all_of(drawn.begin(), drawn.end(),
                         [&](std::uint32_t s) { return s % 5 == drawn[0] % 5; }));
    EXPECT_EQ(cross_fitted(c, drawn), chosen_slowly(c, drawn));
    EXPECT_EQ(cross_fitted(c), chosen_slowly(c, {0, 1, 2, 3, 4, 5, 6}));
  }
}

// Five candidates that are all alike: the best average is too high by .3 to .5 deviations, and the
// cross-fitted one is right.
TEST(CrossFitting, DoesNotFlatterTheChosenCandidate) {
  constexpr int kStudies = 2000;
  double fitted = 0.0, best = 0.0;
  for (int study = 0; study < kStudies; ++study) {
    const Candidates c = normal({0, 0, 0, 0, 0}, study, 3);
    fitted += mean_of(tuned(c).values) / kStudies;
    const auto first = c.scores.begin() + best_candidate(c) * kSeeds;
    best += mean_of({first, first + kSeeds}) / kStudies;
  }
  EXPECT_NEAR(fitted, 0.0, 0.03);  // its standard error is .008
  EXPECT_GT(best, 0.3);
}

TEST(CrossFitting, FindsACandidateThatIsBetter) {
  const Scores scores = tuned(normal({0.0, 5.0, 0.0}, 1, 4));
  EXPECT_EQ(cross_fitted(scores.tuned[0]), std::vector<int>(kSeeds, 1));
  EXPECT_EQ(like_the_best(scores.tuned[0]), (std::vector<bool>{false, true, false}));
}

// A wide spread between candidates that are alike makes the interval wider: replicates choose anew.
TEST(CrossFitting, HasTheChoiceInItsInterval) {
  const Candidates c = normal({0.0, 0.0, 0.0, 0.0}, 9, 5);
  const Scores fitted = tuned(c);
  const Scores fixed = make_scores({fitted.values}).value();
  const BootstrapOptions options{.replicates = 2000};
  const Estimate fitted_mean = aggregate(fitted, options).value().mean;
  const Estimate fixed_mean = aggregate(fixed, options).value().mean;
  EXPECT_EQ(fitted_mean.value, fixed_mean.value);
  EXPECT_NE(fitted_mean.high - fitted_mean.low, fixed_mean.high - fixed_mean.low);
  int held = 0;
  for (int study = 0; study < 200; ++study) {
    const Estimate mean =
        aggregate(tuned(normal({0, 0, 0, 0}, study, 6)), {.replicates = 300}).value().mean;
    held += mean.low <= 0.0 && 0.0 <= mean.high ? 1 : 0;
  }
  EXPECT_GE(held, 176);  // 88 %: with ten seeds a percentile interval has less than its 95 %
}

// The planted case: a is better than b with the candidate that was chosen for it. Another candidate
// cannot be told from it, and with that one a would be worse.
TEST(CrossFitting, MakesNoCallThatHangsOnTheChoice) {
  const BootstrapOptions options{.replicates = 2000};
  Candidates a{2, 10, {}}, b{2, 10, {}};
  for (int s = 0; s < 10; ++s) a.scores.push_back(1.0 + 0.01 * s);
  for (int s = 0; s < 10; ++s) a.scores.push_back(s == 3 ? -5.0 : 0.999 + 0.01 * s);
  for (int s = 0; s < 10; ++s) b.scores.push_back(0.9 + 0.01 * s);
  for (int s = 0; s < 10; ++s) b.scores.push_back(0.8 + 0.01 * s);
  const Scores x = tuned(a), y = tuned(b);
  const Estimate p = probability_of_improvement(x, y, options).value();
  const Scores plain_x = make_scores({x.values}).value(), plain_y = make_scores({y.values}).value();
  EXPECT_EQ(better_of(p, plain_x, plain_y, options), 1);  // as if nothing had been chosen
  EXPECT_EQ(better_of(p, x, y, options), 0);
  EXPECT_TRUE(hangs_on_choice(p, x, y, options));
  // Where all candidates agree, the call is made.
  for (double& score : b.scores) score -= 10.0;
  const Scores low = tuned(b);
  const Estimate q = probability_of_improvement(x, low, options).value();
  EXPECT_EQ(better_of(q, x, low, options), 1);
  EXPECT_EQ(better_of(probability_of_improvement(low, x, options).value(), low, x, options), -1);
  EXPECT_FALSE(hangs_on_choice(q, x, low, options));
}

// Alike arms, each the best of four candidates: at most 5 of 100 are called different.
TEST(CrossFitting, CallsFewArmsDifferentThatAreAlike) {
  int called = 0;
  for (int study = 0; study < 200; ++study) {
    const Scores x = tuned(normal({0, 0, 0, 0}, study, 8)),
                 y = tuned(normal({0, 0, 0, 0}, study, 9));
    const BootstrapOptions options{.replicates = 300};
    called += better_of(probability_of_improvement(x, y, options).value(), x, y, options) != 0;
  }
  EXPECT_LE(called, 10);
}

TEST(CrossFitting, WantsAScoreOfEachCandidateAndSeed) {
  EXPECT_EQ(make_tuned({Candidates{2, 3, {1, 2, 3}}}).status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(make_tuned({Candidates{1, 1, {1}}}).status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(make_tuned({}).status().kind(), ErrorKind::kInvalidConfig);
}

// Two tasks, each with its own choice.
TEST(CrossFitting, ChoosesForEachTask) {
  const Scores both = make_tuned({normal({0.0, 5.0}, 1, 10), normal({5.0, 0.0}, 1, 11)}).value();
  EXPECT_EQ(both.tasks, 2);
  for (int run = 0; run < kSeeds; ++run) {
    EXPECT_EQ(both.at(run, 0), both.tuned[0].score(1, run));
    EXPECT_EQ(both.at(run, 1), both.tuned[1].score(0, run));
  }
}

// Scores that the choice does not go by are those of the chosen candidate, and vary with it.
TEST(CrossFitting, AnotherScoreMayChoose) {
  Candidates c = normal({0.0, 10.0}, 1, 12);
  c.basis = normal({5.0, 0.0}, 1, 13).scores;
  EXPECT_EQ(cross_fitted(c), std::vector<int>(kSeeds, 0));
  EXPECT_EQ(best_candidate(c), 0);
  EXPECT_EQ(like_the_best(c), (std::vector<bool>{true, false}));
  const Scores first = tuned(c);
  for (int run = 0; run < kSeeds; ++run) EXPECT_EQ(first.at(run, 0), c.score(0, run));
  // The basis does not tell the candidates apart, whose scores are far apart.
  Candidates alike = c;
  alike.basis = normal({0.0, 0.0}, 1, 14).scores;
  const Estimate mean = aggregate(tuned(alike), {.replicates = 2000}).value().mean;
  EXPECT_LT(mean.low, 2.0);
  EXPECT_GT(mean.high, 8.0);
  // So no call is made against a side between the two.
  Candidates between{1, kSeeds, std::vector<double>(kSeeds, 5.0)};
  EXPECT_FALSE(holds_for_candidates(1, tuned(alike), tuned(between)));
  EXPECT_FALSE(holds_for_candidates(-1, tuned(alike), tuned(between)));
  EXPECT_TRUE(holds_for_candidates(-1, first, tuned(between)));
  c.basis.pop_back();
  EXPECT_EQ(make_tuned({c}).status().kind(), ErrorKind::kMismatch);
}

}  // namespace
}  // namespace broadloom
