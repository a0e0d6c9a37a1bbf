// The `broadloom` program.
#include "broadloom/program.h"

int main(int argc, char** argv) { return broadloom::run_program(argc, argv); }
