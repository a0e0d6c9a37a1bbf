#include "broadloom/core/config_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace broadloom {
namespace {

template <class T>
std::string number_text(T value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

template <class T>
std::string joined(const std::vector<T>& items) {
  std::string out;
  for (const T& item : items) {
    if (!out.empty()) out += ',';
    out += to_text(item);
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Messages quote the input; a binary or endless text must not flood the terminal.
std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  if (text.size() > kLongest) out += "...";
  return out + "'";
}

Status wrong_type(std::string_view text, std::string_view expected) {
  return {ErrorKind::kInvalidConfig, "got " + quote(text) + ", expected " + std::string(expected)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes underscores between two digits, which only help the reader's eye.
std::string without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != '_' || !between) out += text[i];
  }
  return out;
}

template <class T>
bool parse_whole(std::string_view text, T& out) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const std::string plain = without_underscores(text);
  const char* end = plain.data() + plain.size();
  const auto [stop, error] = std::from_chars(plain.data(), end, out);
  return error == std::errc() && stop == end && !plain.empty();
}

template <class T>
Status parse_integer(std::string_view text, T& out) {
  const std::string_view trimmed = trim(text);
  T value{};
  if (parse_whole(trimmed, value)) {
    out = value;
    return {};
  }
  // People write step counts as "1e6" or "5e5". Below 2^53 a double holds them exactly.
  constexpr double kExact = 9007199254740992.0;
  double number = 0.0;
  const bool is_number = parse_whole(trimmed, number);
  if (is_number && std::floor(number) == number && std::abs(number) <= kExact &&
      (number >= 0.0 || std::is_signed_v<T>)&&number <=
          static_cast<double>(std::numeric_limits<T>::max()) &&
      number >= static_cast<double>(std::numeric_limits<T>::min())) {
    out = static_cast<T>(number);
    return {};
  }
  if (is_number && number > static_cast<double>(std::numeric_limits<T>::max())) {
    return wrong_type(text, "an integer of at most " + number_text(std::numeric_limits<T>::max()));
  }
  return wrong_type(text, "an integer");
}

template <class T>
Status parse_real(std::string_view text, T& out) {
  T value{};
  if (!parse_whole(trim(text), value) || !std::isfinite(value)) {
    return wrong_type(text, "a finite number, such as 0.5 or 1e-3");
  }
  out = value;
  return {};
}

// Comma-separated items, with or without one pair of brackets around them all.
template <class T, class ParseItem>
Status parse_list(std::string_view text, std::string_view expected, std::vector<T>& out,
                  ParseItem parse_item) {
  std::string_view rest = trim(text);
  if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') {
    rest = trim(rest.substr(1, rest.size() - 2));
  }
  std::vector<T> items;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    T item{};
    const bool ends_in_comma = comma != std::string_view::npos && comma + 1 == rest.size();
    if (ends_in_comma || !parse_item(rest.substr(0, comma), item).ok()) {
      return wrong_type(text, expected);
    }
    items.push_back(std::move(item));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  out = std::move(items);
  return {};
}

char fold(char c) {
  if (c == '-') return '_';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string to_text(bool value) { return value ? "true" : "false"; }
std::string to_text(int value) { return number_text(value); }
std::string to_text(std::int64_t value) { return number_text(value); }
std::string to_text(std::uint64_t value) { return number_text(value); }
std::string to_text(double value) { return number_text(value); }
std::string to_text(float value) { return number_text(value); }
std::string to_text(const std::string& value) { return value; }

std::string to_text(const std::vector<int>& value) { return joined(value); }
// "none" is the empty list, so a list of that one name has brackets.
std::string to_text(const std::vector<std::string>& value) {
  return value.size() == 1 && value[0] == "none" ? "[none]" : joined(value);
}

Status parse_text(std::string_view text, bool& out) {
  const std::string_view word = trim(text);
  if (word == "true" || word == "True" || word == "1") {
    out = true;
  } else if (word == "false" || word == "False" || word == "0") {
    out = false;
  } else {
    return wrong_type(text, "true or false");
  }
  return {};
}

Status parse_text(std::string_view text, int& out) { return parse_integer(text, out); }
Status parse_text(std::string_view text, std::int64_t& out) { return parse_integer(text, out); }
Status parse_text(std::string_view text, std::uint64_t& out) { return parse_integer(text, out); }
Status parse_text(std::string_view text, double& out) { return parse_real(text, out); }
Status parse_text(std::string_view text, float& out) { return parse_real(text, out); }

Status parse_text(std::string_view text, std::string& out) {
  out = std::string(text);
  return {};
}

Status parse_text(std::string_view text, std::vector<int>& out) {
  return parse_list(text, "integers separated by commas, such as 2,3", out,
                    [](std::string_view item, int& value) { return parse_integer(item, value); });
}

Status parse_text(std::string_view text, std::vector<std::string>& out) {
  if (trim(text) == "none") text = {};
  return parse_list(text, "names separated by commas", out,
                    [](std::string_view item, std::string& name) {
                      name = std::string(trim(item));
                      return name.empty() ? wrong_type(item, "a name") : Status();
                    });
}

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> before(width), above(width), row(width);
  for (std::size_t j = 0; j < width; ++j) above[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < width; ++j) {
      const bool same = fold(a[i - 1]) == fold(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[width - 1];
}

std::string nearest_key(std::string_view key, const std::vector<std::string>& keys,
                        std::span<const Alias> aliases) {
  for (const Alias& alias : aliases) {
    const bool is_key = std::find(keys.begin(), keys.end(), alias.key) != keys.end() ||
                        std::string_view(alias.key).starts_with("env.");  // of some environment
    if (is_key && edit_distance(key, alias.word) == 0) return alias.key;
  }
  constexpr std::size_t kLongest = 200;  // nobody mistypes a longer key, and the cost is quadratic
  if (key.size() > kLongest) return "";
  const auto begins = [&](const std::string& candidate) {
    return !key.empty() && candidate.starts_with(key);
  };
  const bool begins_one = std::count_if(keys.begin(), keys.end(), begins) == 1;
  std::string best;
  int best_distance = std::numeric_limits<int>::max();
  for (const std::string& candidate : keys) {
    int distance = edit_distance(key, candidate);
    // "envs" for "num_envs": part of a key is a slip too, but a typing error is more likely.
    const bool is_piece = key.size() >= 3 && candidate.find(key) != std::string::npos;
    if (is_piece) distance = std::min(distance, 2);
    if (begins_one && begins(candidate)) distance = std::min(distance, 1);  // "g" for "gravity"
    // A guess keeps half of what was typed: "dt" is none for "g".
    const int longest = static_cast<int>(std::max(key.size(), candidate.size()));
    const int limit = std::max(std::min(longest > 4 ? 2 : 1, longest / 2), longest / 3);
    if (distance <= limit && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

Status unknown_key_error(std::string_view what, std::string_view key,
                         const std::vector<std::string>& keys, std::span<const Alias> aliases) {
  std::string message = "unknown " + std::string(what) + " " + quote(key);
  const std::string nearest = nearest_key(key, keys, aliases);
  if (!nearest.empty()) {
    message += "; did you mean '" + nearest + "'?";
  } else if (keys.empty()) {
    message += "; there are none";
  } else {
    message += "; expected one of: ";
    for (std::size_t i = 0; i < keys.size(); ++i) message += (i > 0 ? ", " : "") + keys[i];
  }
  return {ErrorKind::kInvalidConfig, message};
}

namespace config_table_detail {

std::string range_text(const Range& range) {
  const bool has_low = std::isfinite(range.low);
  const bool has_high = std::isfinite(range.high);
  if (has_low && has_high) return to_text(range.low) + " to " + to_text(range.high);
  if (has_low) return "at least " + to_text(range.low);
  if (has_high) return "at most " + to_text(range.high);
  return "";
}

std::string range_text(const Choices& choices) {
  std::string out;
  for (const std::string& value : choices.values) out += (out.empty() ? "" : " | ") + value;
  return out;
}

Status field_error(std::string_view name, const Status& cause, const Range& range) {
  const std::string limits = range_text(range);
  return {cause.kind(),
          std::string(name) + ": " + cause.message() + (limits.empty() ? "" : ", " + limits)};
}

// Aliases of values whose nearest value by letters would be another one.
constexpr Alias kOtherWords[] = {{"gpu", "cuda"}};

Status check_choice(std::string_view name, const std::string& value, const Choices& choices) {
  if (std::find(choices.values.begin(), choices.values.end(), value) != choices.values.end()) {
    return {};
  }
  std::string message =
      std::string(name) + ": got " + quote(value) + ", expected " + range_text(choices);
  const std::string nearest = nearest_key(value, choices.values, kOtherWords);
  if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
  return {ErrorKind::kInvalidConfig, message};
}

Status check_choices(std::string_view name, const std::vector<std::string>& values,
                     const Choices& choices) {
  for (auto value = values.begin(); value != values.end(); ++value) {
    BROADLOOM_TRY(check_choice(name, *value, choices));
    if (std::find(values.begin(), value, *value) == value) continue;
    return {ErrorKind::kInvalidConfig,
            std::string(name) + ": got " + quote(*value) + " twice, expected it once"};
  }
  return {};
}

Status range_error(std::string_view name, const std::string& value_text, const Range& range) {
  return {ErrorKind::kInvalidConfig,
          std::string(name) + ": got " + value_text + ", expected " + range_text(range)};
}

}  // namespace config_table_detail
}  // namespace broadloom
