#include "broadloom/env/mirror.h"

#include <fmt/core.h>

#include <charconv>

#include "broadloom/env/spec.h"

namespace broadloom {
namespace {

constexpr std::string_view kBlanks = " \t\n";

// A term's number, or -1.
std::int32_t number_of(std::string_view term) {
  std::int32_t number = -1;
  if (term.size() < 2 || (term[0] != '+' && term[0] != '-')) return -1;
  const char* const end = term.data() + term.size();
  const auto [rest, error] = std::from_chars(term.data() + 1, end, number);
  return error == std::errc() && rest == end ? number : -1;
}

std::string check_permutation(const SignedPermutation& map, int size) {
  if (map.size() != static_cast<std::size_t>(size)) {
    return fmt::format("got {} terms, expected one for each of {} numbers", map.size(), size);
  }
  for (int i = 0; i < size; ++i) {
    const int other = map.index[static_cast<std::size_t>(i)];
    if (other < 0 || other >= size) {
      return fmt::format("term {} is wrong; expected a sign and a number from 0 to {}, such as -{}",
                         i, size - 1, i);
    }
    const int back = map.index[static_cast<std::size_t>(other)];
    const bool signs_agree =
        map.sign[static_cast<std::size_t>(i)] == map.sign[static_cast<std::size_t>(other)];
    if (back != i || !signs_agree) {
      return fmt::format(
          "mirrored twice, number {} does not come back: term {} names {}{}, term {} names {}{}", i,
          i, map.sign[static_cast<std::size_t>(i)] < 0.0f ? '-' : '+', other, other,
          map.sign[static_cast<std::size_t>(other)] < 0.0f ? '-' : '+', back);
    }
  }
  return {};
}

// Whether the map takes the bounds of a Box to themselves.
std::string check_bounds(const SignedPermutation& map, const std::vector<float>& low,
                         const std::vector<float>& high) {
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::size_t other = static_cast<std::size_t>(map.index[i]);
    const bool turned = map.sign[i] < 0.0f;
    const float image_low = turned ? -high[other] : low[other];
    const float image_high = turned ? -low[other] : high[other];
    if (low[i] == image_low && high[i] == image_high) continue;
    return fmt::format("number {} is within {} to {}, but its mirror image within {} to {}", i,
                       low[i], high[i], image_low, image_high);
  }
  return {};
}

std::string check_action(const SignedPermutation& map, const Space& space) {
  if (space.kind != SpaceKind::kDiscrete && space.kind != SpaceKind::kBox) {
    return "got neither one choice nor a Box, expected one of them";
  }
  std::string why = check_permutation(map, space.size);
  if (!why.empty()) return why;
  if (space.kind == SpaceKind::kBox) {
    why = check_bounds(map, space.low, space.high);
    return why.empty() ? check_bounds(map, space.own_low, space.own_high) : why;
  }
  for (const float sign : map.sign) {
    if (sign < 0.0f) return "choices have no sign; write + before each";
  }
  return {};
}

}  // namespace

SignedPermutation::SignedPermutation(std::string_view text) {
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;
       begin = text.find_first_not_of(kBlanks)) {
    text.remove_prefix(begin);
    const std::string_view term = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(term.size());
    index.push_back(number_of(term));
    sign.push_back(term[0] == '-' ? -1.0f : 1.0f);
  }
}

std::string SignedPermutation::text() const {
  std::string out;
  for (std::size_t i = 0; i < size(); ++i) {
    out += fmt::format("{}{}{}", i == 0 ? "" : " ", sign[i] < 0.0f ? '-' : '+', index[i]);
  }
  return out;
}

SignedPermutation& SignedPermutation::append(const SignedPermutation& other) {
  const auto first = static_cast<std::int32_t>(size());
  for (std::size_t i = 0; i < other.size(); ++i) {
    index.push_back(other.index[i] < 0 ? -1 : first + other.index[i]);
    sign.push_back(other.sign[i]);
  }
  return *this;
}

Status check_mirror(const EnvSpec& spec) {
  const auto refuse = [&](const char* part, const std::string& why) {
    return invalid(fmt::format("mirror of {}, {}: {}", spec.id, part, why));
  };
  if (!spec.observation.groups.empty() || !spec.critic_observation.groups.empty()) {
    return refuse("observation", "got a dictionary, expected one array");
  }
  std::string why = check_permutation(spec.mirror.observation, spec.observation.size);
  if (!why.empty()) return refuse("observation", why);
  why = check_permutation(spec.mirror.critic_observation, spec.critic_observation.size);
  if (!why.empty()) return refuse("critic's observation", why);
  why = check_action(spec.mirror.action, spec.action);
  return why.empty() ? Status() : refuse("action", why);
}

}  // namespace broadloom
