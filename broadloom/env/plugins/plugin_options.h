// Options of a plug-in's task: from text to what the plug-in reads.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/plugins/broadloom_plugin.h"

namespace broadloom {

// Every option's value in the table's order; texts lie here.
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

// What `given` says, and defaults for the rest. kInvalidConfig: an unknown name, with the nearest;
// a text that is not of the type, or out of range; a table whose default is so.
Result<PluginValues> read_plugin_options(const broadloom_task& task, const Overrides& given);

// Name, type, default, range and doc of every one.
std::vector<FieldInfo> list_plugin_options(const broadloom_task& task);

}  // namespace broadloom
