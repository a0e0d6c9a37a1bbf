// Checks whether a run's held-out panel really is held out.
#pragma once

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/record/run_folder.h"
#include "research/audit/checks.h"

namespace broadloom {

// Fills in panel_starts and panel_worlds for the panel of `train --panel` in the run's folder; does
// nothing if there is none. Errors: those of read_panel and make_vec_env.
Status add_panel_facts(const Config& config, const RunFolder& folder, RunFacts& facts);

// The same for a given panel. Makes each row's environments with the panel's streams and with those
// of training. Both begin equally if a simulator takes its seeds from something else.
Status add_panel_facts(const Config& config, const Panel& panel, RunFacts& facts);

}  // namespace broadloom
