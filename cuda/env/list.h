// The library's environments, for code that is instantiated for each of them.
#pragma once

#include "broadloom/env/tasks/classic/acrobot.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/classic/mountain_car.h"
#include "broadloom/env/tasks/classic/mountain_car_continuous.h"
#include "broadloom/env/tasks/classic/pendulum.h"
#include "broadloom/env/tasks/minatar/asterix.h"
#include "broadloom/env/tasks/minatar/breakout.h"
#include "broadloom/env/tasks/minatar/freeway.h"
#include "broadloom/env/tasks/minatar/seaquest.h"
#include "broadloom/env/tasks/minatar/space_invaders.h"
#include "broadloom/env/tasks/puzzles/t_maze.h"
#include "broadloom/env/tasks/toy_text/cliff_walking.h"
#include "broadloom/env/tasks/toy_text/frozen_lake.h"
#include "broadloom/env/tasks/toy_text/taxi.h"

// clang-format off
#define BROADLOOM_EACH_ENV(DO)                                                             \
  DO(Acrobot) DO(CartPole) DO(MountainCar) DO(MountainCarContinuous) DO(Pendulum)          \
  DO(CliffWalking) DO(FrozenLake) DO(Taxi) DO(TMaze)                                       \
  DO(Asterix) DO(Breakout) DO(Freeway) DO(Seaquest) DO(SpaceInvaders)
// clang-format on
