#include "bridges/mujoco/quadruped/scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "mujoco_robots.h"

namespace broadloom::mujoco {
namespace {

constexpr char kBuiltIn[] = "quadruped.xml";

Result<std::string> text_of(const std::string& xml_file) {
  if (xml_file == kBuiltIn) return std::string(robots::kQuadruped);
  if (!xml_file.starts_with('/') && !xml_file.starts_with('.') && !xml_file.starts_with('~')) {
    return invalid(
        fmt::format("xml_file: got '{}', expected {} or a path that begins with '/', "
                    "'.' or '~'",
                    xml_file, kBuiltIn));
  }
  const Result<std::string> path = find_model_file(xml_file);
  if (!path.ok()) return path.status();
  std::ifstream file(path.value(), std::ios::binary);
  if (!file) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("the model '{}' cannot be opened", path.value()));
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

// As upstream's scenes have it: one friction decides, the ground's, and feet alone touch it.
std::string ground_text(const Terrain* terrain) {
  constexpr char kTouches[] = "contype='1' conaffinity='0' priority='1' friction='0.6' condim='3'";
  if (terrain == nullptr) {
    return fmt::format(
        "<worldbody><geom name='floor' type='plane' size='0 0 0.01' {}/></worldbody>", kTouches);
  }
  return fmt::format(
      "<asset><hfield name='terrain' nrow='{}' ncol='{}' size='{} {} {} 0.5'/></asset>"
      "<worldbody><geom name='floor' type='hfield' hfield='terrain' pos='0 0 {}' {}/></worldbody>",
      terrain->rows(), terrain->row_length(), terrain->half_x(), terrain->half_y(),
      std::max(terrain->highest() - terrain->lowest(), 1e-3), terrain->lowest(), kTouches);
}

std::string sensors_text(const std::vector<std::string>& feet) {
  std::string out =
      "<sensor><gyro name='gyro' site='imu'/><velocimeter name='local_linvel' site='imu'/>"
      "<accelerometer name='accelerometer' site='imu'/>"
      "<framezaxis name='upvector' objtype='site' objname='imu'/>"
      "<framelinvel name='global_linvel' objtype='site' objname='imu'/>"
      "<frameangvel name='global_angvel' objtype='site' objname='imu'/>";
  for (const std::string& foot : feet) {
    out += fmt::format(
        "<framelinvel name='{0}_global_linvel' objtype='site' objname='{0}'/>"
        "<contact name='{0}_floor_found' geom1='{0}' geom2='floor' reduce='mindist' num='1' "
        "data='found'/>",
        foot);
  }
  return out + "</sensor>";
}

constexpr char kPhysics[] =
    "<option timestep='0.004' iterations='1' ls_iterations='5' ccd_iterations='20' "
    "integrator='Euler'><flag eulerdamp='disable'/></option>";

void fill(const Terrain& terrain, mjModel& model) {
  const double range = std::max(terrain.highest() - terrain.lowest(), 1e-3);
  float* out = model.hfield_data + model.hfield_adr[0];
  for (const float height : terrain.heights())
    *out++ = static_cast<float>((static_cast<double>(height) - terrain.lowest()) / range);
}

}  // namespace

Result<std::shared_ptr<Model>> read_scene(const std::string& xml_file, const Terrain* terrain,
                                          const std::vector<std::string>& feet) {
  Result<std::string> robot = text_of(xml_file);
  if (!robot.ok()) return robot.status();
  std::string text = robot.take();
  const std::size_t end = text.rfind("</mujoco>");
  if (end == std::string::npos)
    return invalid(xml_file + ": got no </mujoco>, expected the description of a robot in MJCF");
  text.insert(end, kPhysics + ground_text(terrain) + sensors_text(feet));
  return Model::parse(text, xml_file, [terrain](mjModel& model) {
    if (terrain != nullptr) fill(*terrain, model);
  });
}

}  // namespace broadloom::mujoco
