// Every instrument by name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/number_info.h"
#include "broadloom/core/status.h"

namespace broadloom {

class Instrument;
struct InstrumentSetup;

// The names that make_instrument() knows.
std::vector<std::string> instrument_names();

// Null if there is no such instrument.
std::unique_ptr<Instrument> make_instrument(std::string_view name, const InstrumentSetup& setup);

// The instrument's memory in bytes; 0 if there is no such instrument.
std::size_t instrument_bytes(std::string_view name, const InstrumentSetup& setup);

// Whether any of them reads the probe states of probe_states.h.
bool instruments_need_probe(const std::vector<std::string>& names);

// Whether any of them queries environments in every block, not only in measured ones. draws_vary:
// as in InstrumentSetup.
bool instruments_watch_environments(const std::vector<std::string>& names, bool draws_vary);

// Properties of the run's algorithm that instruments depend on.
struct MeasuredAlgorithm {
  const std::string& name;
  bool draws_from_policy = true;      // as PolicySampler does
  bool learns_action_values = false;  // the network's outputs are action values
  int value_outputs = 1;              // values of an observation
  int policies = 1;                   // that collect the block, each its own environments
};
// kInvalidConfig if one of the instruments cannot measure the algorithm.
Status check_instruments(const std::vector<std::string>& names, const MeasuredAlgorithm& algorithm);

// Declares all numbers that instruments can report, instrument by instrument.
void declare_instrument_numbers(const InfoVisitor& declare);

}  // namespace broadloom
