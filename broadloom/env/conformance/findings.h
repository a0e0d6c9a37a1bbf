// Collects findings while the checks of conformance.h run.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "broadloom/env/conformance/conformance.h"

namespace broadloom::conformance {

// Findings go to the check that began last.
class Findings {
 public:
  void begin(const std::string& name) { report_.checks.push_back({name, {}, {}, {}}); }
  void could_not_check(const std::string& part) {
    std::string& unchecked = report_.checks.back().unchecked;
    unchecked += (unchecked.empty() ? "" : "; ") + part;
  }
  void leave_out(const std::string& reason) { report_.checks.back().left_out = reason; }

  void expect(bool holds, const std::string& finding) {
    std::vector<std::string>& findings = report_.checks.back().findings;
    const bool known = std::find(findings.begin(), findings.end(), finding) != findings.end();
    if (!holds && !known) findings.push_back(finding);
  }

  const ConformanceReport& report() const { return report_; }

 private:
  ConformanceReport report_;
};

}  // namespace broadloom::conformance
