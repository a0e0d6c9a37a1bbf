// A list of numbers whose names are made once.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/instruments/instrument.h"

namespace broadloom {

// For instruments whose numbers depend on the network's layers.
class NamedNumbers {
 public:
  // Returns its place. No more once the first value is set.
  std::size_t add(std::string name) {
    names_.push_back(std::move(name));
    values_.push_back(0.0);
    return values_.size() - 1;
  }
  void set(std::size_t place, double value) { values_[place] = value; }
  void visit(const NumberVisitor& visitor) const {
    for (std::size_t i = 0; i < values_.size(); ++i) visitor(names_[i].c_str(), values_[i]);
  }

 private:
  std::vector<std::string> names_;
  std::vector<double> values_;
};

}  // namespace broadloom
