// MuJoCo's library. It is loaded with the first model, so a program without it starts and reports
// the missing library on use.
#pragma once

#include <mujoco/mujoco.h>

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::mujoco {

// The functions that the bridge calls, named without their prefix.
struct Library {
  decltype(&::mj_version) version;
  decltype(&::mj_versionString) version_string;
  decltype(&::mj_loadXML) load_xml;
  decltype(&::mj_parseXMLString) parse_xml_string;
  decltype(&::mj_compile) compile;
  decltype(&::mj_deleteSpec) delete_spec;
  decltype(&::mjs_getError) spec_error;
  decltype(&::mj_copyModel) copy_model;
  decltype(&::mj_sizeModel) size_model;
  decltype(&::mj_deleteModel) delete_model;
  decltype(&::mj_makeData) make_data;
  decltype(&::mj_deleteData) delete_data;
  decltype(&::mj_resetData) reset_data;
  decltype(&::mj_step) step;
  decltype(&::mj_forward) forward;
  decltype(&::mj_kinematics) kinematics;
  decltype(&::mj_comPos) com_pos;
  decltype(&::mj_camlight) camlight;
  decltype(&::mj_flex) flex;
  decltype(&::mj_tendon) tendon;
  decltype(&::mj_rnePostConstraint) rne_post_constraint;
  decltype(&::mj_stateSize) state_size;
  decltype(&::mj_getState) get_state;
  decltype(&::mj_setState) set_state;
  decltype(&::mj_name2id) name2id;
  decltype(&::mj_id2name) id2name;
  decltype(&::mju_error) error;
  // For rendering.
  decltype(&::mjv_defaultOption) default_option;
  decltype(&::mjv_defaultScene) default_scene;
  decltype(&::mjv_makeScene) make_scene;
  decltype(&::mjv_freeScene) free_scene;
  decltype(&::mjv_updateScene) update_scene;
  decltype(&::mjr_defaultContext) default_context;
  decltype(&::mjr_makeContext) make_context;
  decltype(&::mjr_freeContext) free_context;
  decltype(&::mjr_uploadHField) upload_height_field;
  decltype(&::mjr_setBuffer) set_buffer;
  decltype(&::mjr_render) render;
  decltype(&::mjr_readPixels) read_pixels;
  mjfCollision (*collisions)[mjNGEOMTYPES];  // mjCOLLISIONFUNC, by the types of two geoms
  // Sets the calling thread's handler and returns the previous one. MuJoCo's Python package uses
  // it, too, so in one process neither gets the other's errors.
  mjfLogHandler (*set_thread_log_handler)(mjfLogHandler);
};

// Adds a folder to search for the packages `mujoco` and `gymnasium`. The order is: the environment
// variable BROADLOOM_MUJOCO alone, if set; else added folders, the last one first; then the build's
// folders. Call it before the first model is loaded.
void add_package_folder(const std::string& folder);

// The library, loaded once. kNotFound if it is missing, kMismatch if its version differs from the
// one that the bridge was compiled for.
Result<const Library*> library();

// Path of a file of Gymnasium's MuJoCo environments, such as "hopper.xml". kNotFound lists the
// searched folders.
Result<std::string> find_asset(const std::string& name);

// Path of a model given like Gymnasium's `xml_file`: a path that begins with '/', '.' or '~', or a
// file of Gymnasium.
Result<std::string> find_model_file(const std::string& file);

}  // namespace broadloom::mujoco
