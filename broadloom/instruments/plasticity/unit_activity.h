// Idle units: dormant, silent and constant ones, counted over a set of states.
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

// Number of idle units of one or several layers, by four definitions.
struct IdleUnits {
  int units = 0;
  // Mean |h| < 1e-5, whatever the other units do (Mayor et al. 2025, appendix B).
  int dormant = 0;
  // Mean |h| <= 0.025 times the layer's average (Sokar et al. 2023, "The dormant neuron
  // phenomenon", definition 3.1). The average has 1e-9 added, as in the authors' code.
  int tau_dormant = 0;
  // The same with tau = 0: h is 0 for every row.
  int silent = 0;
  // Standard deviation of h < 0.001: a saturated tanh, or a bias that drowns its input (Moalla et
  // al. 2024, "No representation, no trust").
  int constant = 0;

  void add(const IdleUnits& other);
  // Share of all units in per cent; NaN if there are none.
  double percent(int count) const { return 100.0 * count / units; }
};

// layer: sums of a hidden layer's units over `rows` rows.
IdleUnits count_idle(std::span<const UnitSums> layer, int rows);

}  // namespace broadloom
