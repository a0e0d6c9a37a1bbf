#include "research/report/best_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "research/report/report_ranking.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostRivals = 5;

// The arms of a ranking by how they stand beside its leader.
struct Standings {
  std::vector<std::string> leading;   // the leader, and those of its very IQM that are told from it
                                      // by nothing
  std::vector<std::string> alike;     // cannot be told from it; without those
  std::vector<std::string> unbeaten;  // of larger IQM, though the leader's runs win more often
  int others = 0, unknown = 0;        // besides those that lead; not compared, or of too few runs
};

Standings standings_of(const StudyReport& report, const ReportRanking& ranking, ReportScore score) {
  Standings all;
  const int leader = ranking.leader;
  const double most = ranked_score(report, leader, ranking.task, score)->iqm.value;
  all.leading.push_back(arm_words(report, leader));
  for (const int arm : ranking.arms) {
    if (arm == leader) continue;
    const Standing standing = standing_of(report, arm, leader, ranking.task, score);
    const double iqm = ranked_score(report, arm, ranking.task, score)->iqm.value;
    if (iqm == most && standing != Standing::kLower) {
      all.leading.push_back(arm_words(report, arm));
      continue;
    }
    ++all.others;
    if (standing == Standing::kUnknown) ++all.unknown;
    if (standing == Standing::kAlike) all.alike.push_back(arm_words(report, arm));
    if (standing == Standing::kLower && iqm > most) {
      all.unbeaten.push_back(arm_words(report, arm));
    }
  }
  return all;
}

// "the other arm cannot be told from it", "3 of the 5 other arms cannot be told from them: ...".
std::string alike_words(const Standings& all) {
  const auto alike = static_cast<int>(all.alike.size());
  const char* it = all.leading.size() == 1 ? "it" : "them";
  if (all.others == 1) return fmt::format("the other arm cannot be told from {}", it);
  if (alike == all.others) {
    return fmt::format("none of the {} other arms can be told from {}", alike, it);
  }
  return fmt::format("{} of the {} other arms cannot be told from {}: {}", alike, all.others, it,
                     list_words(all.alike, kMostRivals));
}

std::string ranking_words(const StudyReport& report, int task) {
  if (task >= 0) return report.tasks[static_cast<std::size_t>(task)].name;
  return fmt::format("on average over {}, normalised",
                     count_words(static_cast<std::int64_t>(report.tasks.size()), "task"));
}

// Of arms that lose more often than not, and then win by more.
std::string larger_words(const Standings& all) {
  if (all.unbeaten.empty()) return "";
  return fmt::format("; {} {} a larger one, and single runs that more often lose to it",
                     list_words(all.unbeaten, kMostRivals),
                     all.unbeaten.size() == 1 ? "has" : "have");
}

// What it takes to call one best, and what is missing.
std::string none_is_best(const StudyReport& report, const ReportRanking& ranking,
                         const Standings& all, const std::string& iqm) {
  const std::string where = ranking_words(report, ranking.task);
  const bool several = ranking.task >= 0 && report.tasks.size() > 1;
  std::string text =
      fmt::format("{}o arm can be called best: {} {} {}{}", several ? "On " + where + " n" : "N",
                  list_words(all.leading, kMostRivals),
                  all.leading.size() > 1 ? "share the largest"
                  : all.unbeaten.empty() ? "has the largest"
                                         : "is beaten by none, with its",
                  iqm, all.alike.empty() ? "" : ", and " + alike_words(all));
  return text + larger_words(all) + ".";
}

std::vector<std::string> sentences_on(const StudyReport& report, const ReportRanking& ranking,
                                      ReportScore score) {
  const Standings all = standings_of(report, ranking, score);
  const std::string iqm =
      fmt::format("{}: IQM {} ({})", score_words(score),
                  estimate_words(ranked_score(report, ranking.leader, ranking.task, score)->iqm),
                  ranking_words(report, ranking.task));
  if (ranking.arms.size() == 1) {
    return {fmt::format("Only {} has {} {}; there is nothing to compare it with.", all.leading[0],
                        score == ReportScore::kEvaluation ? "an" : "a", iqm)};
  }
  if (ranking.best) {
    return {fmt::format(
        "{} is best: it has {} {}, and {} can be told from it{}.", all.leading[0],
        all.unbeaten.empty() ? "the largest" : "an", iqm,
        all.others == 1 ? "the other arm" : fmt::format("all {} other arms", all.others),
        larger_words(all))};
  }
  std::vector<std::string> lines = {none_is_best(report, ranking, all, iqm)};
  if (all.unknown > 0) {
    lines.push_back(fmt::format("{} of the other arms {} not compared with it, or {} too few runs.",
                                all.unknown, all.unknown == 1 ? "was" : "were",
                                all.unknown == 1 ? "has" : "have"));
  }
  return lines;
}

}  // namespace

std::vector<std::string> best_sentences(const StudyReport& report) {
  std::vector<std::string> lines;
  const ReportScore score = main_score(report);
  for (const ReportRanking& ranking : report.rankings) {
    for (std::string& line : sentences_on(report, ranking, score)) lines.push_back(std::move(line));
    if (ranking.without == 0) continue;
    lines.push_back(fmt::format("{} {} no {} {}{} and {} left out.",
                                count_words(ranking.without, "other arm"),
                                ranking.without == 1 ? "has" : "have", score_words(score),
                                ranking.task < 0 ? "on every task" : "on ",
                                ranking.task < 0 ? "" : ranking_words(report, ranking.task),
                                ranking.without == 1 ? "is" : "are"));
  }
  return lines;
}

}  // namespace broadloom
