// Makes HTML pages from a JSON text: checks the text and adds the assets that all pages share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct DataPage {
  std::string_view file;                  // "gradients.json": name of the text in messages
  std::string_view command;               // that writes the text
  std::string_view kind;                  // expected "kind" of the text; empty: none
  int format = 1;                         // that its scripts read
  std::string_view title;                 // of the page, until its scripts set a better one
  std::vector<std::string_view> scripts;  // its own, after the shared ones; the last one draws
  std::string_view style = {};            // its own, after the shared one
  bool has_charts = true;                 // false: leaves out the scripts for charts
};

// Returns the page with the JSON, scripts and styles inside; it loads nothing. kCorrupt if the text
// is not a JSON object, kMismatch if it has another format or kind. O(text).
Result<std::string> make_data_page(const DataPage& page, const std::string& json);

}  // namespace broadloom
