// Checkpoints: header, sizes, types, names, values, metadata and counters changed one by one, with
// lengths, offsets and checksum made right again more often than not, so that what is changed is
// what the reader meets. Then the commands' way: read, played, begun with, resumed.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/json.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/trainer.h"
#include "research/audit/run_audit.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using namespace broadloom;
using fuzz::Dice;

struct Tensor {
  std::string name;
  Json dtype, shape;
  std::string data;
};

// A file taken apart.
struct Parts {
  Json metadata = Json::object();
  std::vector<Tensor> tensors;
};

struct Begin {
  std::string name;
  Config config;
  Parts parts;
};

std::vector<std::pair<std::string, Overrides>> runs() {
  return {{"cart", {{"env_id", "CartPole-v1"}, {"norm_obs", "true"}, {"norm_reward", "true"}}},
          {"pqn", {{"env_id", "CartPole-v1"}, {"algorithm", "pqn"}}},
          {"rnd", {{"env_id", "CartPole-v1"}, {"algorithm", "ppo_rnd"}}},
          {"pendulum", {{"env_id", "Pendulum-v1"}, {"disturb.action_delay", "2"}}},
          {"stacks", {{"env_id", "MinAtar/Breakout-v0"}, {"env.frame_stack", "2"}}},
          {"taxi", {{"env_id", "Taxi-v3"}, {"instruments", "coverage,audit"}}},
          {"curriculum",
           {{"env_id", "CartPole-v1"},
            {"strata.a.half_length", "0.4..0.6"},
            {"strata.b.half_length", "0.2..0.9"},
            {"curriculum", "a,b"},
            {"curriculum_episodes", "3"}}}};
}

Parts taken_apart(const std::string& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const Json header = Json::parse(std::string_view(bytes).substr(8, length));
  Parts parts;
  for (const auto& [key, value] : header.members()) {
    if (key == "__metadata__") {
      parts.metadata = value;
      continue;
    }
    const auto begin = value["data_offsets"].at(0).integer<std::size_t>();
    const auto end = value["data_offsets"].at(1).integer<std::size_t>();
    parts.tensors.push_back(
        {key, value["dtype"], value["shape"], bytes.substr(8 + length + begin, end - begin)});
  }
  return parts;
}

// A number or a text, as a value of JSON.
Json odd_json(Dice& dice) {
  switch (dice.below(6)) {
    case 0:
      return Json::parse(fuzz::odd_number(dice));
    case 1:
      return nullptr;
    case 2:
      return Json::array();
    case 3:
      return Json::object();
    default:
      return fuzz::odd_text(dice);
  }
}

// One number of a tensor, or all of them, becomes another: of the bits of a type's ends.
void change_numbers(Tensor& tensor, Dice& dice) {
  if (tensor.data.empty()) return;
  static const std::vector<std::size_t> kSizes = {1, 2, 4, 8};
  std::size_t size = dice.pick(kSizes);
  if (dice.below(4) > 0 && tensor.dtype.text().size() == 3) {
    size = static_cast<std::size_t>(std::atoi(tensor.dtype.text().c_str() + 1)) / 8;
  }
  size = std::clamp<std::size_t>(size, 1, tensor.data.size());
  std::string number(size, '\0');
  switch (dice.below(7)) {
    case 0:
      number.assign(size, '\xff');
      break;
    case 1:  // the least of a signed integer, and -0
      number.back() = '\x80';
      break;
    case 2:  // the most of one
      number.assign(size, '\xff');
      number.back() = '\x7f';
      break;
    case 3:  // an infinity, or a large number
      number.back() = '\x7f';
      if (size >= 4) number[size - 2] = size == 4 ? '\x80' : '\xf0';
      break;
    case 4:
      number.front() = static_cast<char>(1 + dice.below(255));
      break;
    case 5:
      break;  // 0
    default:
      for (char& byte : number) byte = static_cast<char>(dice.below(256));
  }
  const std::size_t count = tensor.data.size() / size;
  const bool all = dice.once_in(4);
  for (std::size_t i = all ? 0 : dice.below(count); i < count; ++i) {
    tensor.data.replace(i * size, size, number);
    if (!all) break;
  }
}

std::size_t bytes_of(const Tensor& tensor) {
  std::size_t size = static_cast<std::size_t>(
      std::max(1, std::atoi(tensor.dtype.text().c_str() + (tensor.dtype.size() > 0 ? 1 : 0)) / 8));
  for (const Json& extent : tensor.shape.elements()) size *= extent.integer<std::uint64_t>();
  return std::min<std::size_t>(size, 1 << 16);
}

void change_shape(Tensor& tensor, Dice& dice) {
  Json shape = Json::array();
  const std::size_t place = dice.below(tensor.shape.size());
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const Json& extent = tensor.shape.at(i);
    if (i != place) {
      shape.push_back(extent);
      continue;
    }
    switch (dice.below(5)) {
      case 0:
        break;  // gone
      case 1:
        shape.push_back(extent.integer<std::int64_t>() + 1);
        break;
      case 2:
        shape.push_back(0);
        break;
      case 3:
        shape.push_back(extent);
        shape.push_back(1 + dice.below(3));
        break;
      default:
        shape.push_back(odd_json(dice));
    }
  }
  tensor.shape = shape;
  if (dice.below(3) > 0) tensor.data.resize(bytes_of(tensor), 'x');
}

void change_tensor(Parts& parts, Dice& dice, std::string& what) {
  static const std::vector<std::string> kDtypes = {"BOOL", "I8",  "U8",  "I16", "U16", "I32", "U32",
                                                   "I64",  "U64", "F32", "F64", "F16", "BF16"};
  if (parts.tensors.empty()) return;
  const std::size_t place = dice.below(parts.tensors.size());
  Tensor& tensor = parts.tensors[place];
  const std::size_t kind = dice.below(10);
  what += fmt::format("tensor '{}', change {}; ", tensor.name, kind);
  switch (kind) {
    case 0:
      tensor.name = dice.once_in(2) ? fuzz::odd_text(dice) : dice.pick(parts.tensors).name;
      break;
    case 1:
      tensor.dtype = dice.pick(kDtypes);
      if (dice.once_in(2)) tensor.data.resize(bytes_of(tensor), 'x');
      break;
    case 2:
      if (dice.once_in(4)) {
        (dice.once_in(2) ? tensor.dtype : tensor.shape) = odd_json(dice);
      } else {
        tensor.data.resize(dice.below(2 * tensor.data.size() + 1));
      }
      break;
    case 3:
      parts.tensors.erase(parts.tensors.begin() + static_cast<long>(place));
      break;
    case 4: {
      const Tensor twice = tensor;  // the name stands there two times
      parts.tensors.push_back(twice);
      break;
    }
    case 5:
      change_shape(tensor, dice);
      break;
    case 6:
      std::swap(tensor.data, parts.tensors[dice.below(parts.tensors.size())].data);
      break;
    default:
      change_numbers(tensor, dice);
  }
}

void change_metadata(Parts& parts, Dice& dice, std::string& what) {
  if (parts.metadata.size() == 0) return;
  const std::string key = parts.metadata.members()[dice.below(parts.metadata.size())].first;
  what += fmt::format("metadata '{}'; ", key);
  switch (dice.below(8)) {
    case 0:
      parts.metadata.erase(key);
      break;
    case 1:
      parts.metadata[key] = odd_json(dice);
      break;
    case 2:
      parts.metadata.append(key, fuzz::odd_text(dice));
      break;
    case 3:
      parts.metadata["config." + fuzz::odd_text(dice)] = fuzz::odd_text(dice);
      break;
    case 4: {
      static const std::vector<std::string> kSizes = {
          "hidden_sizes",    "num_envs",        "num_steps",     "env_id",   "algorithm",
          "encoder",         "shape_schedule",  "curriculum",    "norm_obs", "rnd_hidden_sizes",
          "env.frame_stack", "total_timesteps", "minibatch_size"};
      parts.metadata["config." + dice.pick(kSizes)] = fuzz::odd_text(dice);
      break;
    }
    default:
      parts.metadata[key] = fuzz::odd_text(dice);
  }
}

// The file of the parts; sealed: with the checksum of what it holds.
std::string put_together(const Parts& parts, Dice& dice, bool sealed, std::string& what) {
  Json header = Json::object();
  header.append("__metadata__", parts.metadata);
  std::string data;
  for (const Tensor& tensor : parts.tensors) {
    const std::size_t begin = data.size();
    data += tensor.data;
    Json entry = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
    if (dice.once_in(200)) entry["data_offsets"] = {odd_json(dice), odd_json(dice)};
    header.append(tensor.name, std::move(entry));
  }
  if (dice.once_in(20)) data.resize(dice.below(2 * data.size() + 1), 'x');
  std::string text = header.dump();
  if (dice.once_in(12)) {
    what += "bytes of the header; ";
    fuzz::change_bytes(text, dice);
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::string mark = "\"checksum\":\"";
  const std::size_t place = text.find(mark);
  if (sealed && place != std::string::npos && place + mark.size() + 16 <= text.size()) {
    text.replace(place + mark.size(), 16, 16, '0');
    const std::string sum = fmt::format("{:016x}", hash64(text + data));
    text.replace(place + mark.size(), 16, sum);
  }
  std::uint64_t length = text.size();
  if (dice.once_in(60)) length = dice.once_in(2) ? ~std::uint64_t{0} >> dice.below(64) : length + 1;
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text + data;
}

class CheckpointFuzzer final : public fuzz::Fuzzer {
 public:
  const char* name() const override { return "checkpoint"; }

  Status prepare(const std::string& folder) override {
    for (const auto& [name, keys] : runs()) {
      Overrides all = {{"num_envs", "4"},        {"num_steps", "8"},
                       {"minibatch_size", "16"}, {"update_epochs", "1"},
                       {"hidden_sizes", "8"},    {"total_timesteps", "100000"}};
      all.insert(all.end(), keys.begin(), keys.end());
      const Result<Config> config = resolve_config(all);
      if (!config.ok()) return config.status();
      Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 1);
      if (!trainer.ok()) return trainer.status();
      for (int i = 0; i < 2; ++i) BROADLOOM_TRY(trainer.value()->iterate());
      const std::string path = fmt::format("{}/{}.safetensors", folder, name);
      BROADLOOM_TRY(save_checkpoint(path, *trainer.value(), {}));
      begins_.push_back({name, config.value(), taken_apart(fuzz::get_file(path))});
    }
    return {};
  }

  Status play(Dice& dice, const std::string& folder, std::string& what,
              std::string& wrong) override {
    const Begin& begin = dice.pick(begins_);
    what = begin.name + ": ";
    Parts parts = begin.parts;
    for (std::size_t i = dice.below(4); i > 0; --i) {
      if (dice.below(3) > 0) {
        change_tensor(parts, dice, what);
      } else {
        change_metadata(parts, dice, what);
      }
    }
    const bool sealed = !dice.once_in(12);
    std::string bytes = put_together(parts, dice, sealed, what);
    if (!sealed && dice.once_in(2)) fuzz::change_bytes(bytes, dice);
    const std::string path = folder + "/fuzz.safetensors";
    fuzz::put_file(path, bytes);
    return readers(path, begin.config, wrong);
  }

 private:
  // The readers of `eval`, `export`, `train --init`, `train --resume` and `audit`. The first error.
  static Status readers(const std::string& path, const Config& own, std::string& wrong) {
    const Result<Checkpoint> checkpoint = read_checkpoint(path);
    if (!checkpoint.ok() && checkpoint.status().message().find(path) == std::string::npos) {
      wrong = "an error that does not name the file: " + checkpoint.status().message();
    }
    Status first = checkpoint.status();
    const auto note = [&](const Status& status) {
      if (first.ok()) first = status;
      if (wrong.empty()) wrong = fuzz::wrong_error(status);
    };
    const Result<FoundCheckpoint> found = find_policy(path);
    note(found.status());
    if (found.ok()) note(evaluate(found.value()));
    const Result<InitialPolicy> initial = read_initial_policy(path);
    note(initial.status());
    if (initial.ok()) {
      (void)notes_on_policy(initial.value(), own);
      note(begin(initial.value(), own));
    }
    AuditOptions audit;
    audit.iterations = 1;
    const Status audited = audit_run(path, audit).status();
    if (own.algorithm != "pqn" || audited.kind() != ErrorKind::kInvalidConfig) note(audited);
    if (checkpoint.ok()) note(resume(checkpoint.value(), own));
    return first;
  }

  static Status evaluate(const FoundCheckpoint& found) {
    const Result<std::unique_ptr<LoadedPolicy>> policy = LoadedPolicy::load(found);
    if (!policy.ok()) return policy.status();
    EvalOptions options;
    options.episodes = 2;
    options.longest_episode = 5;
    return evaluate_policy(policy.value()->view(), options).status();
  }

  static Status begin(const InitialPolicy& policy, const Config& own) {
    BROADLOOM_TRY(check_policy_fits(policy, own));
    Result<std::unique_ptr<Trainer>> trainer = Trainer::create(own, 1);
    if (!trainer.ok()) return trainer.status();
    BROADLOOM_TRY(begin_with(policy, *trainer.value()).status());
    return trainer.value()->iterate();
  }

  static Status resume(const Checkpoint& checkpoint, const Config& config) {
    BROADLOOM_TRY(check_belongs(checkpoint, config));
    Result<std::unique_ptr<Trainer>> trainer =
        Trainer::create(config, 1, Ranks::alone(), StartFrom::kState);
    if (!trainer.ok()) return trainer.status();
    BROADLOOM_TRY(restore(checkpoint, *trainer.value()));
    if (trainer.value()->finished()) return {};
    return trainer.value()->iterate();
  }

  std::vector<Begin> begins_;
};

}  // namespace

int main(int argc, char** argv) {
  CheckpointFuzzer fuzzer;
  return fuzz::run_fuzzer(fuzzer, argc, argv);
}
