// Parses and checks the keys of strata.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "broadloom/env/strata.h"

namespace broadloom {
namespace {

constexpr std::string_view kPrefix = "strata.";
constexpr std::size_t kMostStrata = 1000;

// Reads "0.4..0.6", "[0.4, 0.6]" or a single number, a range of width 0. False for other text.
bool read_range(std::string_view text, StratumRange& out) {
  std::string_view body = text;
  if (body.size() >= 2 && body.front() == '[' && body.back() == ']') {
    body = body.substr(1, body.size() - 2);
  }
  const std::size_t dots = body.find("..");
  const std::size_t cut = dots != std::string_view::npos ? dots : body.find(',');
  const std::size_t width = dots != std::string_view::npos ? 2 : 1;
  const std::string_view low = body.substr(0, cut);
  const std::string_view high = cut == std::string_view::npos ? low : body.substr(cut + width);
  return parse_text(low, out.low).ok() && parse_text(high, out.high).ok();
}

Status parse_range(const std::string& key, std::string_view text, StratumRange& out) {
  if (!read_range(text, out)) {
    return invalid(fmt::format(
        "{}: got '{}', expected a range such as 0.4..0.6 (in a file [0.4, 0.6])", key, text));
  }
  if (out.low <= out.high) return {};
  return invalid(
      fmt::format("{}: got {}..{}, which is upside down; expected the lower end first, {}..{}", key,
                  to_text(out.low), to_text(out.high), to_text(out.high), to_text(out.low)));
}

Status check_within(const std::string& key, const StratumRange& got, const Range& allowed) {
  if (got.low >= allowed.low && got.high <= allowed.high) return {};
  return invalid(fmt::format("{}: got {}..{}, expected a range within {} to {}", key,
                             to_text(got.low), to_text(got.high), to_text(allowed.low),
                             to_text(allowed.high)));
}

Status unknown_field(const std::string& key, const std::string& field,
                     const std::vector<ParamField>& fields, const std::string& env_id) {
  std::vector<std::string> names{"weight"};
  for (const ParamField& known : fields) {
    if (known.drawable) names.push_back(known.name);
    if (known.name == field) {
      return invalid(fmt::format("{}: '{}' of {} is not a float, and strata only draw floats", key,
                                 field, env_id));
    }
  }
  if (names.size() == 1) {
    return invalid(fmt::format("{}: {} has no constants that strata can draw", key, env_id));
  }
  const Status unknown = unknown_key_error("constant of " + env_id, field, names);
  return invalid(key + ": " + unknown.message());
}

Status read_weight(const std::string& key, const std::string& text, double& weight) {
  double value = 0.0;
  if (!parse_text(text, value).ok() || value < 0.0) {
    return invalid(fmt::format("{}: got '{}', expected a number of at least 0", key, text));
  }
  weight = value;
  return {};
}

Status add_key(const std::string& key, const std::string& text,
               const std::vector<ParamField>& fields, const std::string& env_id,
               std::map<std::string, Stratum>& strata) {
  BROADLOOM_TRY(check_strata_key(key));
  const StrataKey parts = split_strata_key(key);
  Stratum& stratum = strata[parts.stratum];
  stratum.name = parts.stratum;
  if (parts.field == "weight") return read_weight(key, text, stratum.weight);
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const ParamField& known) {
    return known.drawable && known.name == parts.field;
  });
  if (field == fields.end()) return unknown_field(key, parts.field, fields, env_id);
  StratumRange range{field->offset};
  BROADLOOM_TRY(parse_range(key, text, range));
  BROADLOOM_TRY(check_within(key, range, field->range));
  std::erase_if(stratum.ranges,
                [&](const StratumRange& old) { return old.offset == range.offset; });
  stratum.ranges.push_back(range);
  return {};
}

Status check_strata(const std::map<std::string, Stratum>& strata) {
  double sum = 0.0;
  for (const auto& [name, stratum] : strata) {
    if (stratum.ranges.empty()) {
      return invalid(
          fmt::format("stratum '{}' is empty; expected the range of at least one "
                      "constant, such as strata.{}.<constant> = [low, high]",
                      name, name));
    }
    sum += stratum.weight;
  }
  if (strata.size() > kMostStrata) {
    return invalid(fmt::format("got {} strata, expected at most {}", strata.size(), kMostStrata));
  }
  if (sum > 0.0 && std::isfinite(sum)) return {};
  return invalid(
      fmt::format("the weights of all strata sum to {}; expected a positive sum, so that one of "
                  "them can be drawn. Give one a weight above 0",
                  to_text(sum)));
}

}  // namespace

bool is_strata_key(std::string_view key) { return key.substr(0, kPrefix.size()) == kPrefix; }

Status check_strata_key(std::string_view key) {
  const std::string_view rest = is_strata_key(key) ? key.substr(kPrefix.size()) : "";
  const std::size_t dot = rest.find('.');
  const std::string_view name = rest.substr(0, dot);
  const bool named = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (named && dot != std::string_view::npos && dot + 1 < rest.size()) return {};
  return invalid(
      fmt::format("'{}': expected strata.<name>.<constant>, such as "
                  "strata.narrow.half_length, with a name of letters, digits and _",
                  key));
}

StrataKey split_strata_key(std::string_view key) {
  const std::string_view rest = key.substr(kPrefix.size());
  const std::size_t dot = rest.find('.');
  return {std::string(rest.substr(0, dot)), std::string(rest.substr(dot + 1))};
}

std::string plain_strata_text(const std::string& text) {
  StratumRange range;
  if (!read_range(text, range)) return text;
  if (range.low == range.high) return to_text(range.low);
  return to_text(range.low) + ".." + to_text(range.high);
}

Result<Strata> make_strata(const Overrides& keys, const std::vector<ParamField>& fields,
                           const std::string& env_id) {
  if (keys.empty()) return Strata();
  std::map<std::string, Stratum> by_name;
  for (const auto& [key, text] : keys) {
    BROADLOOM_TRY(add_key(key, text, fields, env_id, by_name));
  }
  BROADLOOM_TRY(check_strata(by_name));
  std::vector<Stratum> strata;
  for (auto& [name, stratum] : by_name) {
    std::sort(stratum.ranges.begin(), stratum.ranges.end(),
              [](const StratumRange& a, const StratumRange& b) { return a.offset < b.offset; });
    strata.push_back(std::move(stratum));
  }
  return Strata(std::move(strata));
}

}  // namespace broadloom
