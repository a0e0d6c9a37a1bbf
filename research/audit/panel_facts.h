// Whether a run's held-out panel is held out.
#pragma once

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/record/run_folder.h"
#include "research/audit/checks.h"

namespace broadloom {

// Fills in panel_starts and panel_worlds for the panel that the run's folder has: of `train
// --panel`. Nothing where it has none. Errors as read_panel and make_vec_env.
Status add_panel_facts(const Config& config, const RunFolder& folder, RunFacts& facts);

// The same of a panel. A row's environments are made twice, with the panel's streams and with
// those that training would draw from: of a simulator that takes its seeds from anything else, both
// begin alike.
Status add_panel_facts(const Config& config, const Panel& panel, RunFacts& facts);

}  // namespace broadloom
