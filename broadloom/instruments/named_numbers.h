// A list of numbers with names that are made once.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "broadloom/core/number_info.h"
#include "broadloom/instruments/instrument.h"

namespace broadloom {

// For instruments whose numbers depend on the network's layers.
class NamedNumbers {
 public:
  std::size_t size() const { return numbers_.size(); }
  // Appends a number at place size(). Call it only before the first set().
  void add(NamedNumber number) { numbers_.push_back(std::move(number)); }
  void set(std::size_t place, double value) { numbers_[place].value = value; }
  void visit(const NumberVisitor& visitor) const {
    for (const NamedNumber& number : numbers_) visitor(number.info(), number.value);
  }

 private:
  std::vector<NamedNumber> numbers_;
};

}  // namespace broadloom
