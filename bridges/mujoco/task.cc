#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

Result<std::shared_ptr<Model>> Task::read(const std::string& xml_file) const {
  const Result<std::string> path = find_model_file(xml_file);
  if (!path.ok()) return path.status();
  return Model::load(path.value());
}

void Task::drive(Scene scene, const float* action, Own, Random&) const {
  for (int a = 0; a < scene.model.nu; ++a) scene.data.ctrl[a] = static_cast<double>(action[a]);
}

}  // namespace broadloom::mujoco
