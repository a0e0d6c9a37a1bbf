#include "broadloom/record/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace broadloom {
namespace {

constexpr std::size_t kDeepest = 200;

const Json& null_json() {
  static const Json null;
  return null;
}

// Builds a Json from the parser's events.
class TreeBuilder : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& text) override { return add(text); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& text) override {
    open_.back().key = text;
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  Json take() { return std::move(result_); }

 private:
  // An array or object that encloses the current value.
  struct Open {
    Json value;
    std::string key;  // of the next value
    // Index of each key, to avoid a search in large objects.
    std::unordered_map<std::string, std::size_t> places;
  };

  bool open(Json value) {
    if (open_.size() == kDeepest) return false;
    open_.push_back({std::move(value), {}, {}});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (open_.empty()) {
      result_ = std::move(value);
      return true;
    }
    Open& around = open_.back();
    if (around.value.is_array()) {
      around.value.push_back(std::move(value));
      return true;
    }
    const auto [place, is_new] = around.places.try_emplace(around.key, around.value.size());
    if (is_new) {
      around.value.append(std::move(around.key), std::move(value));
    } else {
      around.value.member_at(place->second) = std::move(value);  // the last of equal keys counts
    }
    return true;
  }

  Json result_;
  std::vector<Open> open_;
};

nlohmann::ordered_json to_nlohmann(const Json& json) {
  if (json.is_boolean()) return json.boolean();
  if (json.is_unsigned()) return json.integer<std::uint64_t>();
  if (json.is_integer()) return json.integer<std::int64_t>();
  if (json.is_number()) return json.real();
  if (json.is_string()) return json.text();
  if (json.is_array()) {
    auto out = nlohmann::ordered_json::array();
    for (const Json& element : json.elements()) out.push_back(to_nlohmann(element));
    return out;
  }
  if (!json.is_object()) return nullptr;
  nlohmann::ordered_json::object_t out;
  out.reserve(json.size());
  // Vector append: the map's own emplace would search the whole object.
  for (const auto& [key, value] : json.members()) out.emplace_back(key, to_nlohmann(value));
  return out;
}

bool is_member(const Json& json) {
  return json.is_array() && json.size() == 2 && json.at(0).is_string();
}

template <class Members>
auto find(Members& members, std::string_view key) {
  return std::find_if(members.begin(), members.end(),
                      [&](const auto& member) { return member.first == key; });
}

}  // namespace

Json::Json() : value_(nullptr) {}
Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(bool value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(Signed, std::int64_t value) : value_(value) {}
Json::Json(Unsigned, std::uint64_t value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(const std::string& text) : value_(text) {}

Json::Json(std::initializer_list<Json> list) : value_(Array(list)) {
  if (!std::all_of(list.begin(), list.end(), is_member)) return;
  Object members;
  for (const Json& pair : list) members.emplace_back(pair.at(0).text(), pair.at(1));
  value_ = std::move(members);
}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array() {
  Json json;
  json.value_ = Array();
  return json;
}

Json Json::object() {
  Json json;
  json.value_ = Object();
  return json;
}

Json Json::parse(std::string_view text) {
  TreeBuilder builder;
  return nlohmann::ordered_json::sax_parse(text, &builder) ? builder.take() : Json();
}

std::string Json::dump(int indent) const {
  return to_nlohmann(*this).dump(indent, ' ', false,
                                 nlohmann::ordered_json::error_handler_t::replace);
}

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(value_) ||
         std::holds_alternative<std::uint64_t>(value_);
}
bool Json::is_unsigned() const {
  const auto* value = std::get_if<std::int64_t>(&value_);
  return std::holds_alternative<std::uint64_t>(value_) || (value != nullptr && *value >= 0);
}
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

bool Json::boolean() const {
  const auto* value = std::get_if<bool>(&value_);
  return value != nullptr && *value;
}

const std::string& Json::text() const {
  static const std::string none;
  const auto* value = std::get_if<std::string>(&value_);
  return value != nullptr ? *value : none;
}

double Json::real() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  return 0.0;
}

std::uint64_t Json::bits() const {
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) {
    return static_cast<std::uint64_t>(*value);
  }
  const bool fits = std::abs(real()) < 0x1p63;
  return fits ? static_cast<std::uint64_t>(static_cast<std::int64_t>(real())) : 0;
}

std::size_t Json::size() const { return is_array() ? elements().size() : members().size(); }

const Json::Array& Json::elements() const& {
  static const Array none;
  const auto* value = std::get_if<Array>(&value_);
  return value != nullptr ? *value : none;
}

const Json::Object& Json::members() const& {
  static const Object none;
  const auto* value = std::get_if<Object>(&value_);
  return value != nullptr ? *value : none;
}

bool Json::contains(std::string_view key) const { return find(members(), key) != members().end(); }

const Json& Json::operator[](std::string_view key) const {
  const auto found = find(members(), key);
  return found != members().end() ? found->second : null_json();
}

const Json& Json::at(std::size_t index) const {
  return index < elements().size() ? elements()[index] : null_json();
}

Json& Json::operator[](std::string_view key) {
  if (!is_object()) value_ = Object();
  Object& members = std::get<Object>(value_);
  const auto found = find(members, key);
  return found != members.end() ? found->second
                                : members.emplace_back(std::string(key), Json()).second;
}

void Json::erase(std::string_view key) {
  auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return;
  const auto found = find(*members, key);
  if (found != members->end()) members->erase(found);
}

void Json::append(std::string key, Json value) {
  if (!is_object()) value_ = Object();
  std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
}

Json& Json::member_at(std::size_t place) { return std::get<Object>(value_)[place].second; }

void Json::push_back(Json value) {
  if (!is_array()) value_ = Array();
  std::get<Array>(value_).push_back(std::move(value));
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_integer() && b.is_integer()) {
    return a.is_unsigned() == b.is_unsigned() && a.bits() == b.bits();
  }
  if (a.is_number() && b.is_number()) return a.real() == b.real();
  if (!a.is_object() || !b.is_object()) return a.value_ == b.value_;
  if (a.size() != b.size()) return false;
  // Sorts both to avoid a search for each key.
  const auto sorted = [](const Json& json) {
    std::vector<const Json::Object::value_type*> members;
    for (const auto& member : json.members()) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* x, const auto* y) { return x->first < y->first; });
    return members;
  };
  const auto sorted_a = sorted(a), sorted_b = sorted(b);
  return std::equal(sorted_a.begin(), sorted_a.end(), sorted_b.begin(),
                    [](const auto* x, const auto* y) { return *x == *y; });
}

}  // namespace broadloom
