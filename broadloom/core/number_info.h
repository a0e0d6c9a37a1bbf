// What a number that runs report is called, wherever it is shown.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom {

// Given once, beside the number itself; run folders, TensorBoard, studies, reports and their tests
// follow. Where part of the name is known only when a run starts, the declaration is a form, with
// such parts in angle brackets, as in "success_rate/<stratum>"; its title has the same brackets in
// the same order.
struct NumberInfo {
  const char* name;           // in metrics.jsonl, in stores and on docs/formats/metrics.md
  const char* title;          // of its chart in a report
  const char* unit = "";      // likewise; "" for shares and for what has none of its own
  const char* tag = nullptr;  // in TensorBoard; null: its name; kNoTag: it is not there
};
inline constexpr char kNoTag[] = "";

// Empty where TensorBoard does not get the number.
constexpr std::string_view tag_of(const NumberInfo& info) {
  return info.tag != nullptr ? info.tag : info.name;
}

using InfoVisitor = std::function<void(const NumberInfo& info)>;

// info: its texts are the same objects in every call. value: not a number where there is none.
using NumberVisitor = std::function<void(const NumberInfo& info, double value)>;

// A number whose form is filled in when a run starts; TensorBoard has it under its name.
struct NamedNumber {
  // values: what to put for the brackets, in order; as many as there are.
  NamedNumber(const NumberInfo& form, const std::vector<std::string>& values);
  // Views of this.
  NumberInfo info() const { return {name.c_str(), title.c_str(), unit.c_str()}; }
  bool operator==(const NamedNumber&) const = default;

  std::string name, title, unit;
  double value = std::numeric_limits<double>::quiet_NaN();
};

// The declaration of the number of that name; null where there is none. Of several forms that could
// make the name, the one that leaves least of it to its brackets.
const NumberInfo* find_number(std::span<const NumberInfo> declared, std::string_view name);

// Its title, with the brackets filled as those of `name` are, a number that find_number() found.
std::string title_of(const NumberInfo& info, std::string_view name);

}  // namespace broadloom
