// Units that do nothing: dormant, silent and constant ones, counted over a set of states.
#pragma once

#include <span>

namespace broadloom {

// Sums of a unit's outputs h over some rows.
struct UnitSums {
  double sizes = 0.0;    // |h|
  double outputs = 0.0;  // h
  double squares = 0.0;  // h^2

  void add(double h) {
    sizes += h < 0.0 ? -h : h;
    outputs += h;
    squares += h * h;
  }
  void add(const UnitSums& other) {
    sizes += other.sizes;
    outputs += other.outputs;
    squares += other.squares;
  }
};

// How many units of a layer, or of several together, are idle in one sense or another.
struct IdleUnits {
  int units = 0;
  // Mean |h| < 1e-5, whatever the others do (Mayor et al. 2025, appendix B).
  int dormant = 0;
  // Mean |h| <= 0.025 of what the layer's units have on average (Sokar et al. 2023, "The dormant
  // neuron phenomenon", definition 3.1; the average has 1e-9 added, as in the authors' code).
  int tau_dormant = 0;
  // The same with tau 0: h is 0 for every row.
  int silent = 0;
  // Standard deviation of h < 0.001: a tanh that is saturated, or a bias that drowns its input
  // (Moalla et al. 2024, "No representation, no trust").
  int constant = 0;

  void add(const IdleUnits& other);
  // Of all units; not a number where there are none.
  double percent(int count) const { return 100.0 * count / units; }
};

// layer: a hidden layer's units, their sums over `rows` rows.
IdleUnits count_idle(std::span<const UnitSums> layer, int rows);

}  // namespace broadloom
