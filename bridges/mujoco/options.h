// Options of tasks on MuJoCo models.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bridges/mujoco/physics.h"
#include "broadloom/core/config_table.h"

namespace broadloom::mujoco {

// A range whose ends may be infinite. As text "0.7,inf", in a file [0.7, inf].
struct Interval {
  static constexpr const char* kTypeName = "interval";
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  // Whether x is strictly inside. False for NaN.
  bool holds(double x) const { return low < x && x < high; }
  bool operator==(const Interval&) const = default;
};
std::string to_text(const Interval& value);
Status parse_text(std::string_view text, Interval& out);

// A list of finite numbers. As text "1,0.5", in a file [1, 0.5].
struct Numbers {
  static constexpr const char* kTypeName = "numbers";
  std::vector<double> values;

  bool operator==(const Numbers&) const = default;
};
std::string to_text(const Numbers& value);
Status parse_text(std::string_view text, Numbers& out);

// Options of every task.
struct ModelOptions {
  std::string xml_file;
  int frame_skip = 1;
  std::string on_unstable = "reset";
  PhysicsConstants physics{};

  template <class Visitor>
  void visit_model(Visitor&& v) {
    v("xml_file", xml_file,
      "The model: the task's own, or Gymnasium's, by its name, or a path with '/', '.' or '~' "
      "first.");
    v("frame_skip", frame_skip, Range{1, 10000}, "Physics steps per environment step.");
    v("on_unstable", on_unstable, Choices{{"reset", "stop", "go_on"}},
      "Where the physics breaks down: end the episode (reason 'unstable', reward 0), end the run, "
      "or "
      "go on from the model's initial state within the episode, as Gymnasium does.");
    physics.visit_fields(v);
  }
};

}  // namespace broadloom::mujoco
