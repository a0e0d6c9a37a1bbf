#include "broadloom/report/gradients_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "broadloom/report/page.h"
#include "report_assets.h"

namespace broadloom {
namespace {

constexpr int kFormat = 1;

Status check_format(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return Status(ErrorKind::kCorrupt,
                  fmt::format("gradients.json is damaged: '{}' is not the start of a JSON object; "
                              "run 'broadloom gradients' again",
                              text.substr(0, 60)));
  }
  const auto format = json.find("format");
  if (format == json.end() || *format != kFormat) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("got a gradients.json of format {}; expected format {}, which this "
                              "program writes",
                              format == json.end() ? "none" : format->dump(), kFormat));
  }
  return {};
}

}  // namespace

Result<std::string> gradients_page(const std::string& json) {
  BROADLOOM_TRY(check_format(json));
  const std::string data = json_for_script(json);
  return fill_page(assets::kGradientsHtml,
                   {{"data", data},
                    {"report_css", assets::kReportCss},
                    {"chart_js", assets::kChartJs},
                    {"report_js", assets::kReportJs},
                    {"figures_js", assets::kFiguresJs},
                    {"gradients_summary_js", assets::kGradientsSummaryJs},
                    {"gradients_correlation_js", assets::kGradientsCorrelationJs},
                    {"gradients_variance_js", assets::kGradientsVarianceJs},
                    {"gradients_bias_js", assets::kGradientsBiasJs},
                    {"gradients_js", assets::kGradientsJs}});
}

}  // namespace broadloom
