// The table of the audit's checks.
#pragma once

#include <span>

#include "research/audit/checks.h"

namespace broadloom {

enum class Bad { kAbove, kBelow };

// Not numbers: this severity is never reached.
struct AuditLimits {
  double note = AuditNumbers::kNone, warning = AuditNumbers::kNone, error = AuditNumbers::kNone;
};

struct AuditCheck {
  const char* name;
  double (*measure)(const Evidence& evidence);
  Bad bad;
  AuditLimits limits;
  // With {value}, {percent}, {limit}, {limit_percent}, {N}, {T}, {F}, {schedule}, {mode},
  // {context}, {collision}, {failure} in their places.
  const char* sentence;
  const char* advice;
  const char* fine = nullptr;  // the sentence where no limit is passed; null: the same
};

// In the order in which they are judged and shown.
std::span<const AuditCheck> audit_checks();

}  // namespace broadloom
