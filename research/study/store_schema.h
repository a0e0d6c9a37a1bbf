// The tables of a study's store. docs/formats/study.md describes them; store_views.h makes the
// views.
#pragma once

namespace broadloom {

constexpr int kStoreFormat = 1;                // PRAGMA user_version
constexpr int kStoreApplication = 0x42724c6d;  // PRAGMA application_id: "BrLm"

constexpr char kStoreSchema[] = R"sql(
CREATE TABLE study (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  definition TEXT NOT NULL,
  matched TEXT NOT NULL,
  points INTEGER NOT NULL,
  evaluations INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  shards INTEGER NOT NULL,
  version TEXT NOT NULL,
  revision TEXT NOT NULL,
  created TEXT NOT NULL
) STRICT;
CREATE TABLE cells (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  changes TEXT NOT NULL,
  config TEXT NOT NULL,
  num_envs INTEGER NOT NULL,
  num_steps INTEGER NOT NULL,
  batch_size INTEGER NOT NULL,
  minibatch_count INTEGER NOT NULL,
  minibatch_size INTEGER NOT NULL,
  update_epochs INTEGER NOT NULL,
  iterations INTEGER NOT NULL,
  environment_steps INTEGER NOT NULL,
  gradient_steps INTEGER NOT NULL,
  samples_per_gradient REAL NOT NULL,
  note TEXT NOT NULL
) STRICT;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  cell_id INTEGER NOT NULL REFERENCES cells (id),
  seed INTEGER NOT NULL,
  config_hash TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'finished', 'failed')),
  error TEXT,
  parameters_hash TEXT,
  version TEXT,
  revision TEXT,
  isa TEXT,
  hardware TEXT,
  started TEXT,
  finished TEXT,
  seconds REAL,
  UNIQUE (cell_id, seed)
) STRICT;
CREATE TABLE points (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  point INTEGER NOT NULL,
  environment_steps INTEGER NOT NULL,
  global_step INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY (run_id, point)
) STRICT, WITHOUT ROWID;
CREATE TABLE metrics (
  run_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  point INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (run_id, key, point),
  FOREIGN KEY (run_id, point) REFERENCES points (run_id, point)
) STRICT, WITHOUT ROWID;
CREATE TABLE evaluations (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  global_step INTEGER NOT NULL,
  episodes INTEGER NOT NULL,
  mean_return REAL,
  ci_low REAL,
  ci_high REAL,
  std_return REAL,
  mean_length REAL,
  PRIMARY KEY (run_id, global_step)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace broadloom
