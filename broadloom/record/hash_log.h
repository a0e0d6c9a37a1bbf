// hashes.bin: content hashes of a run's blocks and parameters, iteration by iteration. See
// docs/formats/hashes.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/instruments/hashes/block_hasher.h"
#include "broadloom/record/files.h"

namespace broadloom {

// Shape of the hashed blocks.
struct HashShape {
  std::int64_t num_envs = 0, num_steps = 0, observation_size = 0, action_size = 0;
  // Whether a schedule changes N and T. Then these are the largest, and every record has its own.
  bool varies = false;
  bool has_critic = false;  // whether blocks have critic_observations

  bool operator==(const HashShape&) const = default;
  // The sizes that the hashes depend on.
  BlockSizes sizes() const;
  // Bytes of a record with this shape.
  std::int64_t record_bytes() const;
};

class HashLog {
 public:
  HashLog() = default;  // not open
  // Opens or creates the file and truncates it after its first `iterations` records. kCorrupt if it
  // has fewer.
  static Result<HashLog> open(const std::string& path, const HashShape& shape,
                              std::int64_t iterations);

  Status append(std::int64_t iteration, const BlockHashes& hashes);
  Status sync() { return log_.sync(); }
  bool is_open() const { return log_.is_open(); }

 private:
  AppendLog log_;
  std::string record_;
  bool varies_ = false;
};

// Reads the file record by record.
class HashReader {
 public:
  HashReader() = default;
  // kNotFound, or kCorrupt if its header is damaged or has another version.
  static Result<HashReader> open(const std::string& path);

  const HashShape& shape() const { return shape_; }
  // Reads the next iteration's hashes; false at the end of the file or at an incomplete last
  // record. kCorrupt if a record is damaged or of another iteration.
  Result<bool> next();
  const BlockHashes& hashes() const { return hashes_; }
  std::int64_t first_step() const { return first_step_; }  // environment steps before its block
  std::int64_t position() const { return position_; }      // bytes read so far
  std::int64_t iteration() const { return iteration_; }    // of hashes(); 0 before the first
  bool cut() const { return cut_; }                        // whether the last record is incomplete

 private:
  Result<bool> read_record();
  Status check_record(const std::string& record_name) const;

  std::string path_;
  std::ifstream file_;
  HashShape shape_;
  std::string record_;
  BlockHashes hashes_;
  std::int64_t left_ = 0;  // unread bytes
  std::int64_t position_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t iteration_ = 0;
  bool cut_ = false;
};

}  // namespace broadloom
