// watch.html: episodes as an animation. docs/watch.md describes it, and the JSON inside of it.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/watch.h"
#include "broadloom/record/json.h"

namespace broadloom {

// source: the run or checkpoint as it was named; command: the arguments that gave it.
Json watch_json(const WatchedEpisodes& watched, const std::string& source,
                const std::vector<std::string>& command);

// Why an episode is over: one of spec.end_reasons, or "cut" where it was not played to its end.
std::string end_words(const EvalEpisode& episode, const EnvSpec& spec);

// The page of such a text. Errors: as make_data_page().
Result<std::string> watch_page(const std::string& json);

}  // namespace broadloom
