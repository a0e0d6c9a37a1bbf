#include "broadloom/record/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/record/files.h"

namespace broadloom {
namespace {

class Safetensors : public ::testing::Test {
 protected:
  Safetensors()
      : dir_(std::filesystem::temp_directory_path() /
             ("broadloom_st_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(dir_);
    path_ = (dir_ / "x.safetensors").string();
  }
  ~Safetensors() override { std::filesystem::remove_all(dir_); }

  std::vector<TensorRef> tensors() {
    return {{"a.weights", Dtype::kF32, {2, 3}, weights_.data()},
            {"b.steps", Dtype::kI64, {2}, steps_.data()},
            {"c.flags", Dtype::kU8, {5}, flags_.data()},
            {"d.none", Dtype::kF64, {0, 4}, nothing_.data()}};
  }
  std::string written() {
    EXPECT_TRUE(
        write_safetensors(path_, tensors(), {{"key", "va\"lue"}, {"checksum", "overwritten"}})
            .ok());
    return read_file(path_).take();
  }

  std::vector<float> weights_{1.5f, -2.25f, 0.0f, 1e-30f, 3e30f, -0.0f};
  std::vector<std::int64_t> steps_{1LL << 60, -7};
  std::vector<std::uint8_t> flags_{0, 1, 2, 254, 255};
  std::vector<double> nothing_{1.0};
  std::filesystem::path dir_;
  std::string path_;
};

TEST_F(Safetensors, ComeBackBitForBit) {
  written();
  const auto weights = weights_;
  const auto steps = steps_;
  const auto flags = flags_;
  std::fill(weights_.begin(), weights_.end(), 9.0f);
  std::fill(steps_.begin(), steps_.end(), 9);
  std::fill(flags_.begin(), flags_.end(), 9);
  const Result<SafetensorsFile> file = read_safetensors(path_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file.value().metadata.at("key"), "va\"lue");
  ASSERT_TRUE(load_into(file.value(), tensors()).ok());
  EXPECT_EQ(std::memcmp(weights.data(), weights_.data(), sizeof(float) * 6), 0);
  EXPECT_EQ(steps, steps_);
  EXPECT_EQ(flags, flags_);
}

TEST_F(Safetensors, HeaderIsPaddedAndTheSameTwice) {
  const std::string bytes = written();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes[8], '{');
  EXPECT_EQ(bytes, written());
}

TEST_F(Safetensors, EveryCutAndEveryAlteredByteIsRefused) {
  const std::string bytes = written();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto result = parse_safetensors(bytes.substr(0, length), "cut");
    ASSERT_FALSE(result.ok()) << length;
    ASSERT_EQ(result.status().kind(), ErrorKind::kCorrupt);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(altered[i] ^ (1 << bit));
      // A change to the word "checksum" itself leaves a valid file without one; read_checkpoint()
      // refuses that.
      const auto result = parse_safetensors(altered, "altered");
      ASSERT_TRUE(!result.ok() || result.value().metadata.count("checksum") == 0)
          << "byte " << i << " bit " << bit;
    }
  }
  EXPECT_FALSE(parse_safetensors(bytes + "x", "longer").ok());
}

// Files without our checksum must be checked against wrong headers, too.
TEST_F(Safetensors, HeadersThatLieAreRefused) {
  const auto parse = [](const std::string& header, std::size_t data) {
    std::string bytes(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    return parse_safetensors(bytes + header + std::string(data, 'x'), "made up");
  };
  EXPECT_TRUE(parse(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8).ok());
  for (
      const char* header :
      {R"([])", R"({"t":1})", R"({"t":{"dtype":"F32","shape":[2]}})",
       R"({"t":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})",
       R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
       R"({"t":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
       R"({"t":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})",
       R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
       R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}})",
       R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       R"({"t":{"dtype":"F32","shape":[2],"data_offsets":["0","8"]}})",
       R"({"t":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
       R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"u":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       R"({"__metadata__":{"k":1},"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"}) {
    const auto result = parse(header, 8);
    ASSERT_FALSE(result.ok()) << header;
    EXPECT_EQ(result.status().kind(), ErrorKind::kCorrupt);
  }
}

TEST_F(Safetensors, OtherTensorsAreRefusedAndNothingIsWritten) {
  written();
  const SafetensorsFile file = read_safetensors(path_).take();
  const auto refuse = [&](std::vector<TensorRef> wanted, const std::string& named) {
    const auto before = weights_;
    weights_[0] = 42.0f;
    const Status status = load_into(file, wanted);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
    EXPECT_NE(status.message().find(named), std::string::npos) << status.message();
    EXPECT_EQ(weights_[0], 42.0f);
    weights_ = before;
  };
  auto missing = tensors();
  missing.pop_back();
  refuse(missing, "d.none");
  auto renamed = tensors();
  renamed[1].name = "b.other";
  refuse(renamed, "b.other");
  auto reshaped = tensors();
  reshaped[0].shape = {3, 2};
  refuse(reshaped, "[2, 3], expected F32 [3, 2]");
  auto doubled = tensors();
  doubled[3] = doubled[1];
  refuse(doubled, "b.steps");
  auto retyped = tensors();
  retyped[2].dtype = Dtype::kI32;
  refuse(retyped, "c.flags");
}

// Peak memory of this process, kilobytes.
long peak_memory() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

TEST_F(Safetensors, AreWrittenWithoutACopyAndReadWithOne) {
  std::vector<double> large(1 << 23, 1.0);  // 64 MB
  const std::vector<TensorRef> tensors{{"large", Dtype::kF64, {1 << 23}, large.data()}};
  const long before = peak_memory();
  ASSERT_TRUE(write_safetensors(path_, tensors, {}).ok());
  EXPECT_LT(peak_memory() - before, 16 << 10);
  ASSERT_TRUE(read_safetensors(path_).ok());
  EXPECT_LT(peak_memory() - before, 112 << 10);
}

TEST_F(Safetensors, WritingWhereNothingCanBeWrittenSaysSo) {
  const Status status =
      write_safetensors((dir_ / "no" / "such" / "x.safetensors").string(), tensors(), {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("no/such"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
