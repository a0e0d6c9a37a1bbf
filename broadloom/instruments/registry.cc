#include "broadloom/instruments/registry.h"

#include <fmt/core.h>

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
  InstrumentNeeds needs;
  bool (*watches_environments)(bool draws_vary);
};

// T has a constructor from InstrumentSetup, static bytes() and declare_numbers(), and kNeeds. An
// instrument that queries the environments in every_block() also has a static
// watches_environments(draws_vary), which says when.
template <class T>
constexpr Entry entry(const char* name) {
  return {name,
          [](const InstrumentSetup& setup) -> std::unique_ptr<Instrument> {
            return std::make_unique<T>(setup);
          },
          [](const InstrumentSetup& setup) { return T::bytes(setup); },
          T::declare_numbers,
          T::kNeeds,
          [](bool draws_vary) {
            if constexpr (requires { T::watches_environments(draws_vary); }) {
              return T::watches_environments(draws_vary);
            } else {
              return false;
            }
          }};
}

// One entry per instrument.
constexpr Entry kInstruments[] = {
    entry<GradientInstrument>("gradient"), entry<PlasticityInstrument>("plasticity"),
    entry<PolicyInstrument>("policy"),     entry<CoverageInstrument>("coverage"),
    entry<AuditInstrument>("audit"),
};

const Entry* find_instrument(std::string_view name) {
  for (const Entry& entry : kInstruments) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

Status check_needs(const Entry& entry, const MeasuredAlgorithm& algorithm) {
  if (entry.needs.policy && !algorithm.draws_from_policy && !algorithm.learns_action_values) {
    return invalid(fmt::format(
        "instruments: '{}' measures a policy that actions are drawn from, or action values, and "
        "algorithm = {} has neither; leave it out",
        entry.name, algorithm.name));
  }
  if (entry.needs.one_value && algorithm.value_outputs != 1) {
    return invalid(fmt::format(
        "instruments: '{}' measures critics with one value of an observation, and that of "
        "algorithm = {} has {}; leave it out",
        entry.name, algorithm.name, algorithm.value_outputs));
  }
  if (entry.needs.one_policy && algorithm.policies != 1) {
    return invalid(fmt::format(
        "instruments: '{}' measures one policy's samples, but sapg_policies = {}; leave it out",
        entry.name, algorithm.policies));
  }
  return {};
}

}  // namespace

std::vector<std::string> instrument_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kInstruments) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Instrument> make_instrument(std::string_view name, const InstrumentSetup& setup) {
  const Entry* found = find_instrument(name);
  return found != nullptr ? found->make(setup) : nullptr;
}

std::size_t instrument_bytes(std::string_view name, const InstrumentSetup& setup) {
  const Entry* found = find_instrument(name);
  return found != nullptr ? found->bytes(setup) : 0;
}

bool instruments_need_probe(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const Entry* found = find_instrument(name);
    if (found != nullptr && found->needs.probe) return true;
  }
  return false;
}

bool instruments_watch_environments(const std::vector<std::string>& names, bool draws_vary) {
  for (const std::string& name : names) {
    const Entry* found = find_instrument(name);
    if (found != nullptr && found->watches_environments(draws_vary)) return true;
  }
  return false;
}

Status check_instruments(const std::vector<std::string>& names,
                         const MeasuredAlgorithm& algorithm) {
  for (const std::string& name : names) {
    if (const Entry* found = find_instrument(name)) BROADLOOM_TRY(check_needs(*found, algorithm));
  }
  return {};
}

void declare_instrument_numbers(const InfoVisitor& declare) {
  for (const Entry& entry : kInstruments) entry.declare_numbers(declare);
}

}  // namespace broadloom
