#include "broadloom/instruments/registry.h"

#include "broadloom/instruments/audit/audit_instrument.h"
#include "broadloom/instruments/coverage/coverage_instrument.h"
#include "broadloom/instruments/gradient/gradient_instrument.h"
#include "broadloom/instruments/instrument.h"
#include "broadloom/instruments/plasticity/plasticity_instrument.h"
#include "broadloom/instruments/policy/policy_instrument.h"

namespace broadloom {
namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Instrument> (*make)(const InstrumentSetup& setup);
  std::size_t (*bytes)(const InstrumentSetup& setup);
  void (*declare_numbers)(const InfoVisitor& declare);
  bool needs_probe;
};

// T has a constructor from InstrumentSetup, a static bytes() of the same, a static
// declare_numbers(), and says whether it kNeedsProbe.
template <class T>
constexpr Entry entry(const char* name) {
  return {name,
          [](const InstrumentSetup& setup) -> std::unique_ptr<Instrument> {
            return std::make_unique<T>(setup);
          },
          [](const InstrumentSetup& setup) { return T::bytes(setup); }, T::declare_numbers,
          T::kNeedsProbe};
}

// One line an instrument.
constexpr Entry kInstruments[] = {
    entry<GradientInstrument>("gradient"), entry<PlasticityInstrument>("plasticity"),
    entry<PolicyInstrument>("policy"),     entry<CoverageInstrument>("coverage"),
    entry<AuditInstrument>("audit"),
};

const Entry* find(std::string_view name) {
  for (const Entry& entry : kInstruments) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> instrument_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kInstruments) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Instrument> make_instrument(std::string_view name, const InstrumentSetup& setup) {
  const Entry* found = find(name);
  return found != nullptr ? found->make(setup) : nullptr;
}

std::size_t instrument_bytes(std::string_view name, const InstrumentSetup& setup) {
  const Entry* found = find(name);
  return found != nullptr ? found->bytes(setup) : 0;
}

bool instruments_need_probe(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const Entry* found = find(name);
    if (found != nullptr && found->needs_probe) return true;
  }
  return false;
}

void declare_instrument_numbers(const InfoVisitor& declare) {
  for (const Entry& entry : kInstruments) entry.declare_numbers(declare);
}

}  // namespace broadloom
