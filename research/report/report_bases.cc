#include "research/report/report_bases.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "broadloom/config/config.h"
#include "broadloom/config/keys.h"

namespace broadloom {
namespace {

using Texts = std::set<std::string>;

const std::map<std::string, std::string>& defaults() {
  static const std::map<std::string, std::string> kDefaults = [] {
    std::map<std::string, std::string> texts;
    for (const FieldInfo& field : list_fields(Config{})) texts[field.name] = field.value_text;
    return texts;
  }();
  return kDefaults;
}

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
    texts[report.cells[c].task][report.cells[c].study].insert(text_or_default(*cells[c], key));
  }
  return texts;
}

}  // namespace

std::string text_or_default(const ResultCell& cell, const std::string& key) {
  for (const auto& [known, text] : cell.config) {
    if (known == key) return text;
  }
  const auto found = defaults().find(key);
  return found == defaults().end() ? "" : found->second;
}

UntoldKeys untold_keys(const std::vector<StudyResults>& results, const StudyReport& report,
                       const std::set<std::string>& changed) {
  std::vector<const ResultCell*> cells;
  for (const StudyResults& study : results) {
    for (const ResultCell& cell : study.cells) cells.push_back(&cell);
  }
  UntoldKeys keys;
  for (const auto& [key, usual] : defaults()) {
    if (!concerns_learning(key) || changed.count(key) > 0) continue;
    for (const auto& [task, by_study] : texts_of(cells, report, key)) {
      Texts all;
      for (const auto& [study, texts] : by_study) {
        if (texts.size() > 1) keys.of_defaults.insert(key);
        all.insert(texts.begin(), texts.end());
      }
      if (all.size() > 1) keys.of_bases.insert(key);
    }
  }
  for (const std::string& key : keys.of_defaults) keys.of_bases.erase(key);
  return keys;
}

}  // namespace broadloom
