// Entries of lists that set something for single groups of observations: "image:2", or with a range
// "state:0..3". Keys are env.frame_stack_of and disturb.obs_delay_of.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// The numbers that a key takes, and its words in messages.
struct GroupSettingRule {
  const char* key;          // "disturb.obs_delay_of"
  const char* whole;        // about the key for observations without groups
  const char* expected;     // "a delay of at most 1000, as image:2 or state:0..3"
  int least = 0, most = 0;  // of the numbers
  bool has_ranges = false;  // such as 0..3
};

struct GroupSetting {
  std::size_t group = 0;    // its index
  int least = 0, most = 0;  // equal without a range
};

// kInvalidConfig if the entry has another form, or there is no such group.
inline Result<GroupSetting> group_setting(const GroupSettingRule& rule, const std::string& text,
                                          const EnvSpec& spec) {
  const auto wrong = [&](const std::string& why) {
    return invalid(fmt::format("{}: got '{}', but {}; observations of {} are {}", rule.key, text,
                               why, spec.id, shape_text(spec.observation)));
  };
  const std::vector<ObservationGroup>& groups = spec.observation.groups;
  if (groups.empty()) return wrong(fmt::format("there are no groups, and {}", rule.whole));
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  const std::string_view numbers = std::string_view(text).substr(std::min(colon + 1, text.size()));
  const std::size_t dots = rule.has_ranges ? numbers.find("..") : std::string_view::npos;
  GroupSetting out;
  bool is_right = parse_text(numbers.substr(0, dots), out.least).ok();
  out.most = out.least;
  if (dots != std::string_view::npos) {
    is_right = is_right && parse_text(numbers.substr(dots + 2), out.most).ok();
  }
  if (!is_right || out.least < rule.least || out.most < out.least || out.most > rule.most) {
    return wrong(fmt::format("expected a group and {}", rule.expected));
  }
  const auto group = std::find_if(groups.begin(), groups.end(), [&](const ObservationGroup& one) {
    return one.name == std::string_view(text).substr(0, colon);
  });
  if (group == groups.end()) return wrong("there is no such group");
  out.group = static_cast<std::size_t>(group - groups.begin());
  return out;
}

}  // namespace broadloom
