// Parses the options of a plug-in's task.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/plugins/broadloom_plugin.h"

namespace broadloom {

// The values of all options, in the table's order. Owns their texts.
class PluginValues {
 public:
  PluginValues() = default;
  PluginValues(const PluginValues& other) : texts_(other.texts_), values_(other.values_) { link(); }
  PluginValues& operator=(const PluginValues& other) {
    texts_ = other.texts_;
    values_ = other.values_;
    link();
    return *this;
  }
  const broadloom_value* data() const { return values_.data(); }

 private:
  friend Result<PluginValues> read_plugin_options(const broadloom_task&, const Overrides&);
  void link() {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i].text = texts_[i].c_str();
  }

  std::vector<std::string> texts_;
  std::vector<broadloom_value> values_;
};

// Values from `given`, defaults for the rest. kInvalidConfig: an unknown name (suggests the
// nearest), a text that does not fit the type or range, or a table with such a default.
Result<PluginValues> read_plugin_options(const broadloom_task& task, const Overrides& given);

// Name, type, default, range and doc of every option.
std::vector<FieldInfo> list_plugin_options(const broadloom_task& task);

}  // namespace broadloom
