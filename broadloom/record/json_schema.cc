#include "broadloom/record/json_schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "broadloom/record/json.h"

namespace broadloom {
namespace {

std::string short_text(const Json& value) {
  const std::string text = value.dump();
  return text.size() <= 60 ? text : text.substr(0, 60) + "...";
}

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  return type == "null" && value.is_null();
}

// Checks one value against its schema. path: from the top.
class Check {
 public:
  Check(const Json& value, const Json& schema, std::string path)
      : value_(value), schema_(schema), path_(std::move(path)) {}

  Status run() const {
    if (schema_.is_boolean()) {
      return schema_.boolean() ? Status() : wrong("is not a key of a record");
    }
    for (const auto& [keyword, rule] : schema_.members()) BROADLOOM_TRY(check(keyword, rule));
    return {};
  }

 private:
  Status wrong(const std::string& what) const {
    return {ErrorKind::kMismatch, fmt::format("{}: {}", path_.empty() ? "the line" : path_, what)};
  }
  Status expected(const std::string& what) const {
    return wrong(fmt::format("got {}, expected {}", short_text(value_), what));
  }
  std::string child_path(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }

  Status check(const std::string& keyword, const Json& rule) const {
    if (keyword == "type") return check_type(rule);
    if (keyword == "enum") return check_enum(rule);
    if (keyword == "required") return check_required(rule);
    if (keyword == "properties") return check_properties(rule);
    if (keyword == "additionalProperties") return check_others(rule);
    if (keyword == "items") return check_items(rule);
    if (keyword == "minimum") return check_minimum(rule);
    if (keyword == "maximum") return check_maximum(rule);
    if (keyword == "minLength" || keyword == "maxLength") return check_length(keyword, rule);
    if (keyword == "$schema" || keyword == "title" || keyword == "description") return {};
    return wrong(fmt::format("the schema uses the unsupported keyword '{}'", keyword));
  }

  Status check_type(const Json& types) const {
    if (types.is_string()) {
      return is_of_type(value_, types.text()) ? Status() : expected(types.text());
    }
    std::string names;
    for (const Json& type : types.elements()) {
      if (is_of_type(value_, type.text())) return {};
      names += (names.empty() ? "" : " or ") + type.text();
    }
    return expected(names);
  }

  Status check_enum(const Json& values) const {
    const Json::Array& all = values.elements();
    const bool is_one = std::find(all.begin(), all.end(), value_) != all.end();
    return is_one ? Status() : expected("one of " + short_text(values));
  }

  Status check_required(const Json& keys) const {
    if (!value_.is_object()) return {};
    for (const Json& key : keys.elements()) {
      if (!value_.contains(key.text())) {
        return wrong(fmt::format("the key '{}' is missing", key.text()));
      }
    }
    return {};
  }

  Status check_properties(const Json& properties) const {
    if (!value_.is_object()) return {};
    for (const auto& [key, schema] : properties.members()) {
      if (value_.contains(key)) BROADLOOM_TRY(Check(value_[key], schema, child_path(key)).run());
    }
    return {};
  }

  Status check_others(const Json& schema) const {
    if (!value_.is_object()) return {};
    const Json& named = schema_["properties"];
    for (const auto& [key, value] : value_.members()) {
      if (!named.contains(key)) BROADLOOM_TRY(Check(value, schema, child_path(key)).run());
    }
    return {};
  }

  Status check_items(const Json& schema) const {
    if (!value_.is_array()) return {};
    for (std::size_t i = 0; i < value_.size(); ++i) {
      BROADLOOM_TRY(Check(value_.at(i), schema, fmt::format("{}[{}]", path_, i)).run());
    }
    return {};
  }

  Status check_minimum(const Json& minimum) const {
    if (!value_.is_number() || value_.real() >= minimum.real()) return {};
    return expected("at least " + minimum.dump());
  }

  Status check_maximum(const Json& maximum) const {
    if (!value_.is_number() || value_.real() <= maximum.real()) return {};
    return expected("at most " + maximum.dump());
  }

  Status check_length(const std::string& keyword, const Json& limit) const {
    if (!value_.is_string()) return {};
    const auto length = value_.text().size();
    const bool fits = keyword == "minLength" ? length >= limit.integer<std::size_t>()
                                             : length <= limit.integer<std::size_t>();
    const char* bound = keyword == "minLength" ? "least" : "most";
    return fits ? Status() : expected(fmt::format("at {} {} characters", bound, limit.dump()));
  }

  const Json& value_;
  const Json& schema_;
  std::string path_;
};

}  // namespace

Status check_json(std::string_view json, std::string_view schema) {
  const Json value = Json::parse(json);
  if (value.is_null()) return {ErrorKind::kMismatch, "it is not valid JSON"};
  const Json rules = Json::parse(schema);
  if (!rules.is_object()) return {ErrorKind::kMismatch, "the schema is not a JSON object"};
  return Check(value, rules, "").run();
}

}  // namespace broadloom
