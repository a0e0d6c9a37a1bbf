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

// Null where there is no such instrument.
std::unique_ptr<Instrument> make_instrument(std::string_view name, const InstrumentSetup& setup);

// What it will hold, in bytes; 0 where there is no such instrument.
std::size_t instrument_bytes(std::string_view name, const InstrumentSetup& setup);

// Whether any of them looks at the probe states of probe_states.h.
bool instruments_need_probe(const std::vector<std::string>& names);

// Whether any of them looks at environments in every block, and not only when it measures.
// draws_vary: as InstrumentSetup has it.
bool instruments_watch_environments(const std::vector<std::string>& names, bool draws_vary);

// What instruments ask of the algorithm that a run has.
struct MeasuredAlgorithm {
  const std::string& name;
  bool draws_from_policy = true;  // as PolicySampler does
  int value_outputs = 1;          // values of an observation
};
// kInvalidConfig where one of them cannot measure it.
Status check_instruments(const std::vector<std::string>& names, const MeasuredAlgorithm& algorithm);

// What all of them can report, instrument by instrument.
void declare_instrument_numbers(const InfoVisitor& declare);

}  // namespace broadloom
