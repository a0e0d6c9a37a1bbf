// All commands of Broadloom, with your own environment: own_env train --env_id Hover-v0
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/program.h"
#include "hover.h"

int main(int argc, char** argv) {
  return broadloom::run_program(argc, argv, {broadloom::register_environment<Hover>("Hover-v0")});
}
