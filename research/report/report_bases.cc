#include "research/report/report_bases.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "broadloom/config/keys.h"

namespace broadloom {
namespace {

using Texts = std::set<std::string>;

bool concerns_learning(const std::string& key) {
  switch (role_of(key)) {
    case Role::kLearning:
    case Role::kNetwork:
    case Role::kBudget:
      return true;
    default:
      return key == "shape_schedule";
  }
}

// The texts of a key by task and study.
std::map<int, std::map<int, Texts>> texts_of(const std::vector<const ResultCell*>& cells,
                                             const StudyReport& report, const std::string& key) {
  std::map<int, std::map<int, Texts>> texts;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    texts[report.cells[c].task][report.cells[c].study].insert(cells[c]->setting(key));
  }
  return texts;
}

}  // namespace

UnvariedKeys unvaried_keys(const std::vector<StudyResults>& results, const StudyReport& report,
                           const std::set<std::string>& changed) {
  std::vector<const ResultCell*> cells;
  for (const StudyResults& study : results) {
    for (const ResultCell& cell : study.cells) cells.push_back(&cell);
  }
  UnvariedKeys keys;
  for (const auto& [key, usual] : default_settings()) {
    if (!concerns_learning(key) || changed.count(key) > 0) continue;
    for (const auto& [task, by_study] : texts_of(cells, report, key)) {
      Texts all;
      for (const auto& [study, texts] : by_study) {
        if (texts.size() > 1) keys.default_keys.insert(key);
        all.insert(texts.begin(), texts.end());
      }
      if (all.size() > 1) keys.base_keys.insert(key);
    }
  }
  for (const std::string& key : keys.default_keys) keys.base_keys.erase(key);
  return keys;
}

}  // namespace broadloom
