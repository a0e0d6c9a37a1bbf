// What the kit of conformance.h notes down while it checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/conformance/conformance.h"
#include "broadloom/conformance/fixed_play.h"

namespace broadloom::fixed_play {

class Findings {
 protected:
  void begin(const std::string& name) { report_.checks.push_back({name, {}, {}}); }

  // Whether the check is to be made.
  bool begin_unless(bool left_out, const std::string& name, const std::string& why) {
    begin(name);
    if (left_out) report_.checks.back().left_out = why;
    return !left_out;
  }

  void expect(bool holds, const std::string& finding) {
    std::vector<std::string>& findings = report_.checks.back().findings;
    const bool known = std::find(findings.begin(), findings.end(), finding) != findings.end();
    if (!holds && !known) findings.push_back(finding);
  }

  bool expect_played(const Played& played) {
    expect(played.status.ok(), "a step failed: " + played.status.message());
    return played.status.ok();
  }

  void check_observation(const Space& space, const float* observation) {
    float sum = 0.0f;
    bool inside = true, bits = true;
    for (int d = 0; d < space.size; ++d) {
      const float x = observation[d];
      sum += x;
      bits &= x == 0.0f || x == 1.0f;
      inside &= std::isfinite(x);
      if (space.kind == SpaceKind::kBox) inside &= x >= space.low[d] && x <= space.high[d];
    }
    if (space.kind == SpaceKind::kDiscrete) inside = bits && sum == 1.0f;
    expect(inside, "an observation is not in its space");
  }

  ConformanceReport report_;
};

}  // namespace broadloom::fixed_play
