#include "bridges/mujoco/quadruped/scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "bridges/mujoco/quadruped/ground_contacts.h"
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
  return model_text(path.value());
}

// Position after the markup that begins at `start` (a '<'). Skips comments, CDATA and quotes.
std::size_t end_of_markup(std::string_view text, std::size_t start) {
  constexpr std::string_view kOpaque[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};
  for (const auto& [begin, end] : kOpaque) {
    if (!text.substr(start).starts_with(begin)) continue;
    const std::size_t found = text.find(end, start + begin.size());
    return found == std::string_view::npos ? text.size() : found + end.size();
  }
  char quote = 0;
  for (std::size_t i = start; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && c == '>') return i + 1;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
  }
  return text.size();
}

// Position of the end tag of the root <mujoco>; npos if there is none.
std::size_t root_end(std::string_view text) {
  constexpr std::string_view kEnd = "</mujoco";
  std::size_t last = std::string_view::npos;
  for (std::size_t position = text.find('<'); position < text.size();) {
    const std::size_t next = end_of_markup(text, position);
    if (text.substr(position).starts_with(kEnd)) {
      const std::string_view rest =
          text.substr(position + kEnd.size(), next - position - kEnd.size());
      if (rest.find_first_not_of(" \t\r\n") == rest.size() - 1)
        last = position;  // only '>' follows
    }
    position = text.find('<', next);
  }
  return last;
}

// As in upstream's scenes, only the ground's friction counts, and only feet touch it.
std::string ground_text(const Terrain* terrain) {
  constexpr char kTouches[] = "contype='1' conaffinity='0' priority='1' friction='0.6' condim='3'";
  if (terrain == nullptr) {
    return fmt::format("<worldbody><geom name='{}' type='plane' size='0 0 0.01' {}/></worldbody>",
                       scene_name("floor"), kTouches);
  }
  // The comment makes records note the contacts of ground_contacts.h.
  return fmt::format(
      "<!-- spheres touch the surface, 2 -->"
      "<asset><hfield name='{0}' nrow='{1}' ncol='{2}' size='{3} {4} {5} 0.5'/></asset>"
      "<worldbody><geom name='{6}' type='hfield' hfield='{0}' pos='0 0 {7}' {8}/></worldbody>",
      scene_name("terrain"), terrain->rows(), terrain->row_length(), terrain->half_x(),
      terrain->half_y(), std::max(terrain->highest() - terrain->lowest(), 1e-3),
      scene_name("floor"), terrain->lowest(), kTouches);
}

// A name as an attribute's value in single quotes.
std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '\'') {
      out += "&apos;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string sensors_text(const std::vector<std::string>& feet) {
  std::string out = "<sensor>";
  for (const auto& [kind, name] : {std::pair{"gyro", "gyro"},
                                   {"velocimeter", "local_linvel"},
                                   {"accelerometer", "accelerometer"}})
    out += fmt::format("<{} name='{}' site='imu'/>", kind, scene_name(name));
  for (const auto& [kind, name] : {std::pair{"framezaxis", "upvector"},
                                   {"framelinvel", "global_linvel"},
                                   {"frameangvel", "global_angvel"}})
    out += fmt::format("<{} name='{}' objtype='site' objname='imu'/>", kind, scene_name(name));
  for (const std::string& foot : feet) {
    out += fmt::format(
        "<framelinvel name='{1}_global_linvel' objtype='site' objname='{0}'/>"
        "<contact name='{1}_floor_found' geom1='{0}' geom2='{2}' reduce='mindist' num='1' "
        "data='found'/>",
        escaped(foot), scene_name(escaped(foot)), scene_name("floor"));
  }
  return out + "</sensor>";
}

// Names cone and solver only if they are not MuJoCo's own, so hashes of models stay.
std::string physics_text(const PhysicsSettings& physics) {
  const PhysicsSettings usual;
  std::string more;
  if (physics.cone != usual.cone) more += fmt::format(" cone='{}'", physics.cone);
  if (physics.solver != usual.solver) more += fmt::format(" solver='{}'", physics.solver);
  return fmt::format(
      "<option timestep='{}' iterations='{}' ls_iterations='{}' ccd_iterations='20' "
      "integrator='{}'{}><flag eulerdamp='disable'/></option>",
      physics.timestep, physics.iterations, physics.ls_iterations, physics.integrator, more);
}

// A robot may have its own height fields. The ground's is the one of its geom.
void fill(const Terrain& terrain, const Library& library, mjModel& model) {
  const int geom = library.name2id(&model, mjOBJ_GEOM, scene_name("floor").c_str());
  const double range = std::max(terrain.highest() - terrain.lowest(), 1e-3);
  float* out = model.hfield_data + model.hfield_adr[model.geom_dataid[geom]];
  for (const float height : terrain.heights())
    *out++ = static_cast<float>((static_cast<double>(height) - terrain.lowest()) / range);
}

}  // namespace

Result<std::shared_ptr<Model>> read_scene(const std::string& xml_file, const Terrain* terrain,
                                          const std::vector<std::string>& feet,
                                          const PhysicsSettings& physics) {
  Result<std::string> robot = text_of(xml_file);
  if (!robot.ok()) return robot.status();
  std::string text = robot.take();
  const std::size_t end = root_end(text);
  if (end == std::string::npos)
    return invalid(xml_file + ": has no </mujoco>, expected a robot in MJCF");
  const Result<const Library*> found = library();
  if (!found.ok()) return found.status();
  if (terrain != nullptr) use_ground_contacts(*found.value());
  text.insert(end, physics_text(physics) + ground_text(terrain) + sensors_text(feet));
  Result<std::shared_ptr<Model>> model = Model::parse(text, xml_file, [&](mjModel& made) {
    if (terrain != nullptr) fill(*terrain, *found.value(), made);
  });
  if (model.ok()) return model;
  // MuJoCo names our sensors, which a user doesn't know.
  const std::string& error = model.status().message();
  for (const std::string& foot : feet) {
    if (error.find("'" + scene_name(foot) + "_") == std::string::npos) continue;
    return invalid(
        fmt::format("feet: {} lacks a geom or a site '{}'; expected both for each foot. Without "
                    "the option feet are FR, FL, RR and RL",
                    xml_file, foot));
  }
  if (error.find("'imu'") == std::string::npos) return model;
  return invalid(fmt::format("{} has no site 'imu'; expected one on its trunk", xml_file));
}

}  // namespace broadloom::mujoco
