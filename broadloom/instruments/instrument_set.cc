#include "broadloom/instruments/instrument_set.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "broadloom/instruments/registry.h"

namespace broadloom {

InstrumentSet::InstrumentSet(const std::vector<std::string>& names, InstrumentSetup setup,
                             ProbeStates probe)
    : names_(names), probe_(std::move(probe)) {
  setup.probe = probe_.policy;
  setup.critic_probe = probe_.critic;
  make(setup);
  if (!instruments_.empty()) params_before_.resize(setup.network.parameter_count());
}

void InstrumentSet::make(const InstrumentSetup& setup) {
  for (const std::string& name : names_) {
    std::unique_ptr<Instrument> instrument = make_instrument(name, setup);
    if (instrument == nullptr) continue;
    if (UpdateObserver* observer = instrument->observer()) observers_.push_back(observer);
    instruments_.push_back(std::move(instrument));
  }
}

void InstrumentSet::reshape(InstrumentSetup setup) {
  std::vector<TensorRef> tensors;
  append_state("", tensors);
  std::string kept;
  for (const TensorRef& tensor : tensors) {
    kept.append(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  instruments_.clear();
  observers_.clear();
  setup.probe = probe_.policy;
  setup.critic_probe = probe_.critic;
  make(setup);
  tensors.clear();
  append_state("", tensors);
  std::size_t offset = 0;
  for (const TensorRef& tensor : tensors) {
    std::memcpy(tensor.data, kept.data() + offset, tensor.bytes());
    offset += tensor.bytes();
  }
}

std::size_t InstrumentSet::bytes(const std::vector<std::string>& names,
                                 const InstrumentSetup& setup) {
  std::size_t sum = names.empty() ? 0 : setup.network.parameter_count() * sizeof(float);
  for (const std::string& name : names) sum += instrument_bytes(name, setup);
  if (instruments_need_probe(names)) sum += probe_bytes(setup);
  return sum;
}

UpdateObserver* InstrumentSet::begin(bool due, InstrumentView view) {
  for (const auto& instrument : instruments_) instrument->every_block(view);
  measured_ = false;
  due_ = due && !instruments_.empty();
  if (!due_) return nullptr;
  std::copy(view.params.begin(), view.params.end(), params_before_.begin());
  view.params_before = params_before_;
  for (const auto& instrument : instruments_) instrument->before_update(view);
  return observers_.empty() ? nullptr : this;
}

void InstrumentSet::finish(InstrumentView view) {
  if (!due_) return;
  view.params_before = params_before_;
  for (const auto& instrument : instruments_) instrument->after_update(view);
  measured_ = true;
}

void InstrumentSet::visit_numbers(const NumberVisitor& visit) const {
  for (const auto& instrument : instruments_) instrument->visit_numbers(visit);
}

void InstrumentSet::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  for (const auto& instrument : instruments_) instrument->append_state(prefix, out);
}

void InstrumentSet::on_batch(const MinibatchReport& batch) {
  for (UpdateObserver* observer : observers_) observer->on_batch(batch);
}

void InstrumentSet::on_minibatch(const MinibatchReport& minibatch) {
  for (UpdateObserver* observer : observers_) observer->on_minibatch(minibatch);
}

}  // namespace broadloom
