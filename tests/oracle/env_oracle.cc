// Steps one environment by commands on standard input, to compare it with another implementation.
//   step ID action... : state...      -> reward terminated state... | observation...
//   table ID key=value...             -> one line "s a probability next reward terminated" an
//   outcome, then "end"
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "broadloom/env/tasks/classic/acrobot.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/classic/mountain_car.h"
#include "broadloom/env/tasks/classic/mountain_car_continuous.h"
#include "broadloom/env/tasks/classic/pendulum.h"
#include "broadloom/env/tasks/toy_text/cliff_walking.h"
#include "broadloom/env/tasks/toy_text/frozen_lake.h"
#include "broadloom/env/tasks/toy_text/taxi.h"

namespace broadloom {
namespace {

template <class Env>
void step(float action, const std::vector<double>& numbers) {
  const typename Env::Params params = Env::make_params({}).value();
  typename Env::State state{};
  std::size_t next = 0;
  std::apply([&](auto... member) { ((state.*member = numbers[next++]), ...); }, Env::members);
  Random random(1, Purpose::kUser, 0, 0);
  const StepResult result = Env::step(params, state, &action, random);
  std::printf("%.17g %d", result.reward, result.terminated ? 1 : 0);
  std::apply(
      [&](auto... member) { (std::printf(" %.17g", static_cast<double>(state.*member)), ...); },
      Env::members);
  std::vector<float> observation(Env::spec(params).observation_size());
  Env::observe(params, state, observation.data());
  std::printf(" |");
  for (const float x : observation) std::printf(" %.9g", x);
  std::printf("\n");
}

template <class Env>
int table(const Overrides& overrides) {
  typename Env::Options options;
  for (const auto& [key, text] : overrides) {
    const Status status = set_field(options, key, text);
    if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  }
  const TabularModel model = Env::table(Env::make_params(options).value());
  for (int s = 0; s < model.num_states; ++s) {
    for (int a = 0; a < model.num_actions; ++a) {
      for (const auto& o : model.outcomes(s, a)) {
        std::printf("%d %d %.17g %d %.17g %d\n", s, a, o.probability, o.next_state, o.reward,
                    o.terminated);
      }
    }
  }
  for (int s = 0; s < model.num_states; ++s) std::printf("start %d %.17g\n", s, model.start[s]);
  std::printf("end\n");
  return 0;
}

int serve() {
  using Step = void (*)(float, const std::vector<double>&);
  using Table = int (*)(const Overrides&);
  const std::map<std::string, Step> steps{{"CartPole-v1", step<CartPole>},
                                          {"Acrobot-v1", step<Acrobot>},
                                          {"MountainCar-v0", step<MountainCar>},
                                          {"MountainCarContinuous-v0", step<MountainCarContinuous>},
                                          {"Pendulum-v1", step<Pendulum>}};
  const std::map<std::string, Table> tables{{"FrozenLake-v1", table<FrozenLake>},
                                            {"CliffWalking-v1", table<CliffWalking>},
                                            {"Taxi-v3", table<Taxi>}};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, id, word;
    words >> what >> id;
    if (what == "step" && steps.count(id) != 0) {
      float action = 0.0f;
      words >> action;
      std::vector<double> numbers;
      for (double x = 0.0; words >> x;) numbers.push_back(x);
      steps.at(id)(action, numbers);
    } else if (what == "table" && tables.count(id) != 0) {
      Overrides overrides;
      while (words >> word)
        overrides.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
      if (tables.at(id)(overrides) != 0) return 1;
    } else {
      std::fprintf(stderr, "not understood: %s\n", line.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace broadloom

int main() { return broadloom::serve(); }
