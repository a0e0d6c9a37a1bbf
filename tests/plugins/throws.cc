// An exception that a C++ plug-in may forget to catch.
#include <stdexcept>

extern "C" void throw_in_step() { throw std::runtime_error("the gripper is jammed"); }
