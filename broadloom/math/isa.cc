#include "broadloom/math/isa.h"

#include "broadloom/math/targets.h"  // before Highway

#include <fmt/format.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

namespace broadloom {
namespace {

struct Isa {
  const char* name;
  std::int64_t targets;
};

// Widest first.
constexpr Isa kIsas[] = {
    {"avx512", HWY_AVX3 | HWY_AVX3_DL}, {"avx2", HWY_AVX2}, {"sse4", HWY_SSE4}, {"neon", HWY_NEON},
    {"exact", HWY_EMU128 | HWY_SCALAR},
};

std::int64_t processor_targets() {
  hwy::SetSupportedTargetsForTest(0);
  return hwy::SupportedTargets() & HWY_TARGETS;
}

std::int64_t g_mask = 0;  // targets allowed by set_isa(); 0: all

void apply(std::int64_t mask) {
  g_mask = mask;
  hwy::SetSupportedTargetsForTest(mask);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<std::string> supported_isas() {
  const std::int64_t all = processor_targets();
  apply(g_mask);
  std::vector<std::string> names;
  for (const Isa& isa : kIsas) {
    if ((all & isa.targets) != 0) names.emplace_back(isa.name);
  }
  return names;
}

Status set_isa(const std::string& name) {
  const std::int64_t all = processor_targets();
  if (name == "auto") {
    apply(0);
    return {};
  }
  for (const Isa& isa : kIsas) {
    if (name != isa.name) continue;
    if ((all & isa.targets) != 0) {
      apply(all & isa.targets);
      return {};
    }
    break;
  }
  apply(g_mask);
  return {ErrorKind::kInvalidConfig,
          fmt::format("isa '{}' is not to be had on this processor; expected auto, {}", name,
                      fmt::join(supported_isas(), ", "))};
}

Status check_isa(const std::string& asked) {
  if (asked == "auto" || asked == active_isa()) return {};
  return {ErrorKind::kMismatch,
          fmt::format("isa: this run asks for '{}', but the process works with '{}'; call "
                      "set_isa(\"{}\") before it",
                      asked, active_isa(), asked)};
}

std::string active_isa() {
  const std::int64_t chosen = hwy::SupportedTargets() & HWY_TARGETS;
  for (const Isa& isa : kIsas) {
    if ((chosen & isa.targets) != 0) return isa.name;
  }
  return "other";  // of a newer Highway: its bits are unknown
}

bool has_common_bits(const std::string& isa) {
  return isa == "avx512" || isa == "avx2" || isa == "neon" || isa == "exact";
}

std::string isa_to_go_on(const std::string& asked, const std::string& used) {
  const std::vector<std::string> all = supported_isas();
  const auto has = [&](const std::string& isa) {
    return std::find(all.begin(), all.end(), isa) != all.end();
  };
  if (has(asked)) return asked;
  return has(used) && !has_common_bits(used) ? used : "auto";
}

LoopTarget loop_target() {
  const std::string isa = active_isa();
  if (isa == "avx512") return LoopTarget::kAvx512;
  return isa == "avx2" ? LoopTarget::kAvx2 : LoopTarget::kPortable;
}

}  // namespace broadloom
