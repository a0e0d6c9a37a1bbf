#include "research/report/gradients_page.h"

#include "report_assets.h"
#include "research/report/data_page.h"

namespace broadloom {

Result<std::string> gradients_page(const std::string& json) {
  return make_data_page(
      {.file = "gradients.json",
       .command = "broadloom gradients",
       .kind = "",
       .title = "Gradients",
       .scripts = {assets::kGradientsCorrelationJs, assets::kGradientsAgreementJs,
                   assets::kGradientsVarianceJs, assets::kGradientsBiasJs, assets::kGradientsJs}},
      json);
}

}  // namespace broadloom
