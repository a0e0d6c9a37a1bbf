// Reasons for the advised setting, against others.
#pragma once

#include <string>
#include <vector>

#include "research/advise/advice.h"

namespace broadloom {

// Compares it key by key with its rivals, with the defaults and with a change of shape, and adds
// the laboratory's findings on its gradients. Not for an advice of kNothing.
std::vector<std::string> reason_sentences(const AdviceEvidence& evidence, const Advice& advice);

}  // namespace broadloom
