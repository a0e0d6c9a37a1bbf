// Pages made of a JSON text: the check of the text, and the assets that all of them have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct DataPage {
  std::string_view file;                  // "gradients.json": what messages call the text
  std::string_view command;               // what writes the text
  std::string_view kind;                  // the text's "kind"; empty where it has none
  int format = 1;                         // that its scripts read
  std::string_view title;                 // of the page, until its scripts say better
  std::vector<std::string_view> scripts;  // its own, after those of every page; the last one draws
  std::string_view style = {};            // its own, after that of every page
  bool has_charts = true;                 // without them, no scripts for those
};

// The page with the JSON, all scripts and all styles inside; it loads nothing. kCorrupt where the
// text is not a JSON object, kMismatch where it is of another format or kind. One pass over the
// text.
Result<std::string> make_data_page(const DataPage& page, const std::string& json);

}  // namespace broadloom
