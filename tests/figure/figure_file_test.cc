#include "research/figure/figure_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace broadloom {
namespace {

constexpr const char* kCells =
    "task,N,other,evaluation,evaluation low,evaluation high,note\n"
    "Cart,16,lr=0.1,480,470,490,x\n"
    "Cart,8,lr=0.1,500,495,500,x\n"
    "Cart,8,lr=0.2,400,390,410,x\n"
    "Pole,8,lr=0.1,-3,-4,-2,x\n"
    "Pole,16,lr=0.1,,,,x\n"
    "Pole,32,lr=0.1,bad,,,x\n";

class FigureFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("figure_file_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_ / "results");
    write("results/cells.csv", kCells);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  // With a title and the data on two lines before it.
  Result<FigureFile> read(const std::string& text) {
    return read_figure(
        write("figure.toml", "title = \"t\"\ndata = \"results/cells.csv\"\n" + text));
  }
  Figure figure(const std::string& text) {
    Result<FigureFile> file = read(text);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? file.take().figure : Figure();
  }
  void fails(const std::string& text, const std::string& words) {
    const Result<FigureFile> file = read(text);
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.status().kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(file.status().message().find(words), std::string::npos) << file.status().message();
  }

  std::filesystem::path folder_;
};

TEST_F(FigureFileTest, RowsAreFilteredSortedAndHaveTheirIntervals) {
  const Figure drawn =
      figure("x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Cart\", \"other/lr\" = 0.10 }\n");
  ASSERT_EQ(drawn.panels.size(), 1U);
  ASSERT_EQ(drawn.panels[0].series.size(), 1U);
  const std::vector<FigurePoint>& points = drawn.panels[0].series[0].points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].x, 8.0);
  EXPECT_EQ(points[0].y.low, 495.0);
  EXPECT_EQ(points[1].y.value, 480.0);
  EXPECT_EQ(points[1].y.high, 490.0);
}

TEST_F(FigureFileTest, PanelsAndSeriesTakeWhatStandsAboveThem) {
  const Figure drawn = figure(
      "x = \"N\"\ny = \"evaluation\"\n"
      "[[series]]\nname = \"a\"\nwhere = { other = \"lr=0.1\" }\n"
      "[[panels]]\ntitle = \"p\"\nwhere = { task = \"Cart\" }\n"
      "[[panels]]\nwhere = { task = \"Cart\", N = 8 }\n"
      "[[panels.series]]\nname = \"b\"\nwhere = { other = \"lr=0.2\" }\n");
  ASSERT_EQ(drawn.panels.size(), 2U);
  EXPECT_EQ(drawn.panels[0].title, "p");
  EXPECT_EQ(drawn.panels[0].series[0].name, "a");
  EXPECT_EQ(drawn.panels[0].series[0].points.size(), 2U);
  EXPECT_EQ(drawn.panels[1].series[0].name, "b");
  EXPECT_EQ(drawn.panels[1].series[0].points[0].y.value, 400.0);
}

TEST_F(FigureFileTest, AColumnMakesSeriesInTheOrderOfTheirNames) {
  const Figure drawn = figure(
      "x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Cart\" }\nseries_by = \"other/lr\"\n"
      "series_names = { \"0.2\" = \"large\", \"0.1\" = \"small\" }\n");
  ASSERT_EQ(drawn.panels[0].series.size(), 2U);
  EXPECT_EQ(drawn.panels[0].series[0].name, "large");
  EXPECT_EQ(drawn.panels[0].series[1].name, "small");
  EXPECT_EQ(drawn.panels[0].series[1].style, 1U);
}

TEST_F(FigureFileTest, RowsWithoutAValueAreNoted) {
  const Result<FigureFile> file =
      read("x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Pole\", N = [8, 16] }\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file.value().notes.size(), 1U);
  EXPECT_NE(file.value().notes[0].find("1 of 2 rows have no 'evaluation'"), std::string::npos);
}

TEST_F(FigureFileTest, HeatMapsFrameTheBestOfEachGroupAndWhatIsLevelWithIt) {
  const Figure drawn = figure(
      "kind = \"heat\"\nx = \"N\"\ny = \"other\"\nvalue = \"evaluation\"\nbest = \"largest\"\n"
      "x_order = [8, 16]\nx_labels = { \"8\" = \"eight\" }\nwhere = { task = \"Cart\" }\n");
  const FigurePanel& panel = drawn.panels[0];
  EXPECT_EQ(panel.x.categories, (std::vector<std::string>{"eight", "16"}));
  ASSERT_EQ(panel.cells.size(), 3U);
  EXPECT_TRUE(panel.cells[1].best);
  EXPECT_FALSE(panel.cells[0].level);  // 470 to 490 against 495 to 500
  const Figure by_column = figure(
      "kind = \"heat\"\nx = \"N\"\ny = \"other\"\nvalue = \"evaluation\"\nbest = \"smallest\"\n"
      "best_by = \"x\"\nwhere = { task = \"Cart\" }\n");
  EXPECT_TRUE(by_column.panels[0].cells[0].best);
  EXPECT_TRUE(by_column.panels[0].cells[2].best);
  EXPECT_FALSE(by_column.panels[0].cells[1].best);
}

TEST_F(FigureFileTest, SaysWhichKeyOfWhichLineIsUnknown) {
  fails("evaluation = 1\n", "figure.toml:3: unknown key 'evaluation'");
  fails("x_scal = \"log2\"\n", "did you mean 'x_scale'?");
  fails("[[panels]]\ntitel = \"p\"\n", "figure.toml:4: unknown key 'titel'");
  fails("[[series]]\ncolumns = 2\n", "figure.toml:4: unknown key 'columns'");
  fails("x_scale = \"log\"\n", "figure.toml:3: x_scale: unknown word 'log'");
  fails("panels = 3\n", "figure.toml:3: panels: got");
}

TEST_F(FigureFileTest, SaysWhatIsMissing) {
  fails("y = \"evaluation\"\n", "x: is missing");
  fails("x = \"N\"\n", "y: is missing");
  const Result<FigureFile> untitled = read_figure(write("figure.toml", "x = \"N\"\n"));
  EXPECT_NE(untitled.status().message().find("title: is missing"), std::string::npos);
  EXPECT_EQ(read_figure((folder_ / "none.toml").string()).status().kind(), ErrorKind::kNotFound);
  const Result<FigureFile> no_data = read_figure(
      write("figure.toml", "title = \"t\"\ndata = \"none.csv\"\nx = \"N\"\ny = \"evaluation\"\n"));
  EXPECT_NE(no_data.status().message().find("figure.toml:2: data: "), std::string::npos);
  EXPECT_NE(no_data.status().message().find("none.csv"), std::string::npos);
  EXPECT_EQ(no_data.status().kind(), ErrorKind::kNotFound);
}

TEST_F(FigureFileTest, SaysWhichColumnWasMeant) {
  fails("x = \"N\"\ny = \"evalution\"\n", "figure.toml:4: y: ");
  fails("x = \"N\"\ny = \"evalution\"\n", "did you mean 'evaluation'?");
  fails("x = \"N\"\ny = \"evaluation\"\nwhere = { tsk = \"Cart\" }\n", "did you mean 'task'?");
}

TEST_F(FigureFileTest, SaysWhichFilterLeavesNothing) {
  fails("x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Walk\" }\n",
        "figure.toml:5: where: no row of 'results/cells.csv' has 'Walk' in column 'task'; it has "
        "'Cart', 'Pole'");
  fails("x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Pole\", other = \"lr=0.2\" }\n",
        "no row of 'results/cells.csv' with a 'evaluation' is left");
}

TEST_F(FigureFileTest, SaysWhichCellIsNoNumber) {
  fails("x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Pole\" }\n",
        "results/cells.csv:7: column 'evaluation': got 'bad', expected a number of at most 1e+100");
  fails("x = \"task\"\ny = \"evaluation\"\nwhere = { task = \"Cart\" }\n",
        "results/cells.csv:2: column 'task': got 'Cart'");
}

TEST_F(FigureFileTest, NumbersThatAreNoneOrTooLargeAreRefusedAndLargeOnesDrawn) {
  for (const char* cell : {"nan", "inf", "1e101", "1e400"}) {
    write("results/cells.csv", std::string("x,y\n1,") + cell + "\n");
    fails("x = \"x\"\ny = \"y\"\n", "expected a number of at most 1e+100");
  }
  for (const char* rows : {"1,1e100\n2,-1e100\n", "1,1e-300\n2,2e-300\n",
                           "1,9e99\n2,9.000000000000001e99\n", "1,0\n1e100,0\n", "5,5\n"}) {
    write("results/cells.csv", std::string("x,y\n") + rows);
    const std::string svg = figure_svg(figure("x = \"x\"\ny = \"y\"\n"));
    EXPECT_EQ(svg.find("nan"), std::string::npos) << rows;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << rows;
    EXPECT_LT(svg.size(), 20000U) << rows;
  }
}

TEST_F(FigureFileTest, RefusesTwoRowsAtOnePlace) {
  fails("x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Cart\" }\n", "cells.csv:3 and ");
  fails(
      "kind = \"heat\"\nx = \"N\"\ny = \"task\"\nvalue = \"evaluation\"\nwhere = { task = \"Cart\" "
      "}\n",
      "two rows for the cell 8 / Cart");
  EXPECT_EQ(
      figure("kind = \"points\"\nx = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Cart\" }\n")
          .panels[0]
          .series[0]
          .points.size(),
      3U);
}

TEST_F(FigureFileTest, RefusesWhatAnAxisHasNoPlaceFor) {
  fails("x = \"N\"\ny = \"evaluation\"\ny_scale = \"log10\"\nwhere = { task = \"Pole\", N = 8 }\n",
        "got -4, expected more than 0 on a logarithmic axis");
  fails("x = \"N\"\ny = \"evaluation\"\nx_scale = \"log2\"\nx_include = [0]\n",
        "figure.toml:6: x_include: got 0, expected more than 0");
  fails("x = \"N\"\ny = \"evaluation\"\ny_scale = \"log10\"\nlines = [{ y = 0 }]\n",
        "figure.toml:6: y: got 0, expected more than 0");
  fails("x = \"N\"\ny = \"evaluation\"\nx_scale = \"log2\"\nlines = [{ x = -1 }]\n",
        "figure.toml:6: x: got -1, expected more than 0");
  fails("kind = \"heat\"\nx_scale = \"log2\"\n", "x_scale: got a scale that this kind");
  fails(
      "x = \"N\"\ny = \"evaluation\"\nwhere = { task = \"Cart\" }\nx_scale = \"categories\"\n"
      "x_order = [8]\n",
      "x_order: lacks '16'");
}

TEST_F(FigureFileTest, RefusesValuesOfTheWrongKind) {
  fails("columns = \"three\"\n", "figure.toml:3: columns: got 'three', expected a number");
  fails("columns = 0\n", "columns: expected 1 to 12");
  fails("columns = 12\n", "columns: 12 panels side by side would have less than 150 of 900 pixels");
  fails("where = 3\nx = \"N\"\ny = \"evaluation\"\n", "where: got");
  fails("x = \"N\"\ny = \"evaluation\"\nlines = [{ label = \"l\" }]\n", "expected one of x = ");
}

}  // namespace
}  // namespace broadloom
