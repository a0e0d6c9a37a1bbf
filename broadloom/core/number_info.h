// Names, titles and units of the numbers that runs report.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom {

// Declared once, beside the number itself. Run folders, TensorBoard, studies, reports and their
// tests use it.
//
// A declaration is a form if part of the name is known only when a run starts. Such parts stand in
// angle brackets, as in "success_rate/<stratum>". The title has the same brackets in the same
// order.
struct NumberInfo {
  const char* name;           // in metrics.jsonl, in stores and on docs/formats/metrics.md
  const char* title;          // title of its chart in a report
  const char* unit = "";      // unit of that chart; "" for shares and other numbers without a unit
  const char* tag = nullptr;  // TensorBoard tag; null: the name; kNoTag: not in TensorBoard
};
inline constexpr char kNoTag[] = "";

// The TensorBoard tag; empty if TensorBoard does not get the number.
constexpr std::string_view tag_of(const NumberInfo& info) {
  return info.tag != nullptr ? info.tag : info.name;
}

using InfoVisitor = std::function<void(const NumberInfo& info)>;

// info: its texts are the same objects in every call. value: NaN if there is none.
using NumberVisitor = std::function<void(const NumberInfo& info, double value)>;

// A number whose form is filled in when a run starts. Its TensorBoard tag is its name.
struct NamedNumber {
  // values: texts for the brackets, in order, one for each.
  NamedNumber(const NumberInfo& form, const std::vector<std::string>& values);
  // A view of this object's texts.
  NumberInfo info() const { return {name.c_str(), title.c_str(), unit.c_str()}; }
  bool operator==(const NamedNumber&) const = default;

  std::string name, title, unit;
  double value = std::numeric_limits<double>::quiet_NaN();
};

// The declaration of a number by name; null if there is none. If several forms fit, the one whose
// brackets take the fewest characters.
const NumberInfo* find_number(std::span<const NumberInfo> declared, std::string_view name);

// The title of a number that find_number() found; its brackets are filled as in `name`.
std::string title_of(const NumberInfo& info, std::string_view name);

}  // namespace broadloom
