#include "research/report/study_page.h"

#include "report_assets.h"
#include "research/report/data_page.h"
#include "research/report/study_json.h"

namespace broadloom {

Result<std::string> study_page(const std::string& json) {
  return make_data_page(
      {.file = "study.json",
       .command = "broadloom report",
       .kind = "study",
       .format = kStudyJsonFormat,
       .title = "Study",
       .scripts = {assets::kStudyArmsJs, assets::kStudyPlanJs, assets::kStudyResultsJs,
                   assets::kStudyCurvesJs, assets::kStudyPairsJs, assets::kStudyAnswerJs,
                   assets::kStudyJs}},
      json);
}

}  // namespace broadloom
