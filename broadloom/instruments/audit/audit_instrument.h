// The instrument "audit": measures faults that make a batch misleading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broadloom/instruments/audit/environments.h"
#include "broadloom/instruments/audit/numbers.h"
#include "broadloom/instruments/audit/update_watch.h"
#include "broadloom/instruments/instrument.h"
#include "broadloom/instruments/network_rows.h"
#include "broadloom/instruments/plasticity/unit_probe.h"
#include "broadloom/instruments/policy/policy_instrument.h"

namespace broadloom {

// Numbers under "audit/", which research/audit/checks.h judges.
//
// Cost: a few passes over the block, the instrument "policy", a forward pass over the probe, and an
// UpdateObserver.
class AuditInstrument final : public Instrument {
 public:
  static constexpr InstrumentNeeds kNeeds{.probe = true, .policy = true, .one_policy = true};

  explicit AuditInstrument(const InstrumentSetup& setup);
  static std::size_t bytes(const InstrumentSetup& setup);
  // every_block() reads the constants that environments have drawn, if those vary.
  static constexpr bool watches_environments(bool draws_vary) { return draws_vary; }
  static void declare_numbers(const InfoVisitor& declare) {
    const AuditNumbers numbers;
    AuditNumbers::visit(numbers, [&](const NumberInfo& info, double) { declare(info); });
  }

  void every_block(const InstrumentView& view) override;
  void before_update(const InstrumentView& view) override;
  UpdateObserver* observer() override { return &update_; }
  void after_update(const InstrumentView& view) override;
  void visit_numbers(const NumberVisitor& visit) const override {
    AuditNumbers::visit(numbers_, visit);
  }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override;

  const AuditNumbers& numbers() const { return numbers_; }

 private:
  void look_at_environments(const InstrumentView& view);
  void look_at_context(const VecEnv& envs, int num_envs);
  void look_at_normalisers(const InstrumentView& view);
  void look_at_learning_signal(const RolloutBlock& block);
  void look_at_units(const InstrumentView& view);

  bool discrete_observations_, categorical_, clips_actions_;
  double most_entropy_ = 0.0;  // of a categorical policy, nats
  Space action_;
  double gamma_, gae_lambda_;
  GaeWeights gae_weights_;
  TruncationMode truncation_mode_;
  double clip_obs_, clip_reward_;
  int rows_;
  std::span<const float> probe_;         // [rows, D]
  std::span<const float> critic_probe_;  // critic observations of the probe states, or empty

  std::vector<std::int64_t> ages_;    // [N]
  std::vector<Fingerprint> columns_;  // [N]
  int families_;
  std::vector<Fingerprint> draws_;                // [F]; empty: environments draw nothing
  std::vector<std::uint64_t> drawn_, drawn_now_;  // [N] draws before the last block, and now
  std::vector<double> given_, shown_;             // [context, N]; [context] of one
  std::vector<double> moments_;                   // [2 D]
  double obs_count_ = 0.0;                        // the normaliser's count before the update
  UpdateWatch update_;
  PolicyInstrument policy_;
  NetworkRows network_rows_;
  UnitProbe units_;
  AuditNumbers numbers_;
};

}  // namespace broadloom
