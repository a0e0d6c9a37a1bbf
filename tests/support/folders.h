// Folders that tests read from. One small file has their paths, so that all others compile to the
// same objects in every checkout.
#pragma once

#include <string>

namespace broadloom {

// The root of the source tree, without a slash at the end.
std::string source_folder();
// The folder that holds the plug-ins of tests/plugins.
std::string test_plugin_folder();

}  // namespace broadloom
