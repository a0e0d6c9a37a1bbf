// MuJoCo's library, loaded when the first model is: a program without it starts, and says what is
// missing where it is missed.
#pragma once

#include <mujoco/mujoco.h>

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::mujoco {

// Its functions that the bridge calls, under their own names without the prefix.
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
  // For pictures.
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
  // Of the calling thread alone, the previous one given back: what Python's package of MuJoCo uses,
  // too, so that neither gets the other's errors where both are in one process.
  mjfLogHandler (*set_thread_log_handler)(mjfLogHandler);
};

// Where the packages `mujoco` and `gymnasium` are looked for: the folder that the environment
// variable BROADLOOM_MUJOCO names, those added here, the last one first, and where the build found
// them. Before the first model is loaded.
void add_package_folder(const std::string& folder);

// The library, the same for all. kNotFound where it is not there, kMismatch where it is not the
// version that the bridge was compiled for, each with what was looked for and what to do.
Result<const Library*> library();

// A file of Gymnasium's MuJoCo environments, "hopper.xml"; kNotFound with the folders that were
// looked in.
Result<std::string> find_asset(const std::string& name);

// As Gymnasium's `xml_file`: a path that begins with '/', '.' or '~', or the name of one of its own
// files.
Result<std::string> find_model_file(const std::string& file);

}  // namespace broadloom::mujoco
