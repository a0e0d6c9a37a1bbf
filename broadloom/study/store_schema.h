// The tables of a study's store. docs/formats/study.md describes them.
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

CREATE VIEW learning_curves AS
SELECT cells.name AS cell, runs.seed, points.environment_steps, points.seconds,
       metrics.key, metrics.value
FROM runs
JOIN cells ON cells.id = runs.cell_id
JOIN metrics ON metrics.run_id = runs.id
JOIN points ON points.run_id = runs.id AND points.point = metrics.point
WHERE runs.status = 'finished';

CREATE VIEW learning_curves_by_time AS
WITH RECURSIVE grid (i, seconds) AS (
  SELECT 1, (SELECT max(seconds) FROM points) / (SELECT points FROM study)
  UNION ALL
  SELECT i + 1, (i + 1) * (SELECT max(seconds) FROM points) / (SELECT points FROM study)
  FROM grid WHERE i < (SELECT points FROM study)
)
SELECT cells.name AS cell, runs.seed, grid.seconds, metrics.key, metrics.value
FROM grid
JOIN runs ON runs.status = 'finished'
JOIN cells ON cells.id = runs.cell_id
JOIN metrics ON metrics.run_id = runs.id AND metrics.point =
  (SELECT max(p.point) FROM points p WHERE p.run_id = runs.id AND p.seconds <= grid.seconds);

CREATE VIEW scores AS
SELECT runs.id AS run_id, cells.id AS cell_id, cells.name AS cell, runs.seed,
  (SELECT value FROM metrics m WHERE m.run_id = runs.id AND m.key = 'episodic_return'
   ORDER BY point DESC LIMIT 1) AS training_return,
  (SELECT mean_return FROM evaluations e WHERE e.run_id = runs.id
   ORDER BY global_step DESC LIMIT 1) AS evaluation_return
FROM runs JOIN cells ON cells.id = runs.cell_id
WHERE runs.status = 'finished';
)sql";

}  // namespace broadloom
