// The table of the audit's checks.
#pragma once

#include <span>

#include "research/audit/checks.h"

namespace broadloom {

enum class Bad { kAbove, kBelow };

// Limits of a check; NaN: the severity does not occur.
struct AuditLimits {
  double note = AuditNumbers::kNone, warning = AuditNumbers::kNone, error = AuditNumbers::kNone;
};

struct AuditCheck {
  const char* name;
  double (*measure)(const Evidence& evidence);
  Bad bad;
  AuditLimits limits;
  // Placeholders: {value}, {percent}, {limit}, {limit_percent}, {N}, {T}, {F}, {schedule}, {mode},
  // {context}, {collision}, {failure}, {peak}.
  const char* sentence;
  const char* advice;
  const char* fine = nullptr;  // sentence if no limit is passed; null: the same one
};

// The checks in the order of judging and printing.
std::span<const AuditCheck> audit_checks();

}  // namespace broadloom
