// The library's environments, for what is made of each of them.
#pragma once

#include "broadloom/envs/classic/acrobot.h"
#include "broadloom/envs/classic/cart_pole.h"
#include "broadloom/envs/classic/mountain_car.h"
#include "broadloom/envs/classic/mountain_car_continuous.h"
#include "broadloom/envs/classic/pendulum.h"
#include "broadloom/envs/minatar/asterix.h"
#include "broadloom/envs/minatar/breakout.h"
#include "broadloom/envs/minatar/freeway.h"
#include "broadloom/envs/minatar/seaquest.h"
#include "broadloom/envs/minatar/space_invaders.h"
#include "broadloom/envs/toy_text/cliff_walking.h"
#include "broadloom/envs/toy_text/frozen_lake.h"
#include "broadloom/envs/toy_text/taxi.h"

// clang-format off
#define BROADLOOM_EACH_ENV(DO)                                                             \
  DO(Acrobot) DO(CartPole) DO(MountainCar) DO(MountainCarContinuous) DO(Pendulum)          \
  DO(CliffWalking) DO(FrozenLake) DO(Taxi)                                                 \
  DO(Asterix) DO(Breakout) DO(Freeway) DO(Seaquest) DO(SpaceInvaders)
// clang-format on
