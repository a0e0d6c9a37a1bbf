#include "research/report/data_page.h"

#include <fmt/core.h>

#include "broadloom/core/escape.h"
#include "broadloom/record/json.h"
#include "report_assets.h"
#include "research/report/page.h"

namespace broadloom {
namespace {

Status check_text(const DataPage& page, const std::string& text) {
  const Json json = Json::parse(text);
  if (!json.is_object()) {
    return Status(ErrorKind::kCorrupt,
                  fmt::format("{} is damaged: '{}' is not the start of a JSON object; "
                              "run '{}' again",
                              page.file, text.substr(0, 60), page.command));
  }
  const Json& format = json["format"];
  if (format != page.format) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("got a {} of format {}; expected format {}, which this "
                              "program writes",
                              page.file, format.is_null() ? "none" : format.dump(), page.format));
  }
  const Json& kind = json["kind"];
  if (!page.kind.empty() && kind != page.kind) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("got a {} of kind {}; expected \"{}\", which '{}' writes", page.file,
                              kind.is_null() ? "none" : kind.dump(), page.kind, page.command));
  }
  return {};
}

}  // namespace

Result<std::string> make_data_page(const DataPage& page, const std::string& json) {
  BROADLOOM_TRY(check_text(page, json));
  std::string scripts;
  for (const std::string_view script : page.scripts) scripts.append(script).append("\n");
  const std::string data = json_for_script(json);
  const std::string style = std::string(assets::kReportCss).append(page.style);
  const auto for_charts = [&](std::string_view script) {
    return page.has_charts ? script : std::string_view();
  };
  return fill_page(assets::kPageHtml, {{"title", xml_text(page.title)},
                                       {"data", data},
                                       {"report_css", style},
                                       {"chart_licence_js", for_charts(assets::kChartLicenceJs)},
                                       {"chart_js", for_charts(assets::kChartJs)},
                                       {"report_js", assets::kReportJs},
                                       {"save_js", for_charts(assets::kSaveJs)},
                                       {"tables_js", assets::kTablesJs},
                                       {"figures_js", for_charts(assets::kFiguresJs)},
                                       {"curves_js", for_charts(assets::kCurvesJs)},
                                       {"page_js", scripts}});
}

}  // namespace broadloom
