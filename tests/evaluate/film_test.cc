// The contents of a film, and drawings from small images.
#include "broadloom/evaluate/film.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "broadloom/evaluate/planes.h"

namespace broadloom {
namespace {

EnvSpec two_planes() {
  EnvSpec spec;
  spec.observation = Space::bytes({2, 3, 2});
  spec.observation.high.assign(12, 1.0f);
  spec.action = Space::discrete(3);
  return spec;
}

TEST(Planes, EachHasItsColourAndTheyAreNested) {
  const EnvSpec spec = two_planes();
  std::vector<std::uint8_t> image(12, 0);
  image[0] = 1;                    // row 0, column 0, plane 0
  image[(1 * 3 + 2) * 2 + 0] = 1;  // row 1, column 2, both planes
  image[(1 * 3 + 2) * 2 + 1] = 1;
  Drawing out;
  draw_planes(spec.observation, image.data(), out);
  ASSERT_EQ(out.shapes.size(), 4u);  // including the ground
  EXPECT_EQ(out.shapes[1].ink, colour(0));
  EXPECT_EQ(out.shapes[1].numbers, (std::vector<double>{0.0, 1.0, 1.0, 1.0}));
  EXPECT_EQ(out.shapes[1].strength, 1.0);
  EXPECT_EQ(out.shapes[2].numbers, (std::vector<double>{2.0, 0.0, 1.0, 1.0}));
  EXPECT_EQ(out.shapes[3].ink, colour(1));
  EXPECT_EQ(out.shapes[3].numbers, (std::vector<double>{2.25, 0.25, 0.5, 0.5}));
  EXPECT_EQ(out.right, 3.0);
  EXPECT_EQ(out.top, 2.0);
}

TEST(Planes, ASinglePlaneIsDrawnInInkByItsNumbers) {
  const Space space = Space::bytes({1, 2, 1});
  const std::vector<std::uint8_t> image{51, 255};
  Drawing out;
  draw_planes(space, image.data(), out);
  ASSERT_EQ(out.shapes.size(), 3u);
  EXPECT_EQ(out.shapes[1].ink, Ink::kInk);
  EXPECT_EQ(out.shapes[1].strength, 0.2);
  EXPECT_EQ(out.shapes[2].strength, 1.0);
}

TEST(Planes, OnlySmallImagesAreDrawn) {
  EXPECT_TRUE(is_small_image(Space::bytes({10, 10, 10})));
  EXPECT_FALSE(is_small_image(Space::bytes({84, 84, 4})));
  EXPECT_FALSE(is_small_image(Space::bytes({100})));
  EXPECT_FALSE(is_small_image(Space::discrete(16)));
  EXPECT_FALSE(is_small_image(Space::box({0.0f}, {1.0f})));
  const Space groups = Space::grouped({{"state", Space::box({0.0f}, {1.0f})},
                                       {"large", Space::bytes({84, 84, 4})},
                                       {"small", Space::bytes({2, 2, 1}, 4)}});
  ASSERT_NE(small_image_group(groups), nullptr);
  EXPECT_EQ(small_image_group(groups)->name, "small");
  std::vector<float> row(static_cast<std::size_t>(groups.size));
  row[row.size() - 2] = 2.0f;
  Drawing drawn, expected;
  const std::vector<std::uint8_t> image{0, 0, 2, 0};
  EXPECT_EQ(draw_group(*small_image_group(groups), 1, row.data(), drawn), 1);
  draw_planes(Space::bytes({2, 2, 1}, 4), image.data(), expected);
  ASSERT_EQ(drawn.shapes.size(), expected.shapes.size());
  EXPECT_EQ(drawn.shapes.back().numbers, expected.shapes.back().numbers);
}

// The older plane is full, and the newest has one cell.
TEST(Planes, OfAStackedGroupAreTheNewest) {
  const Space space = Space::grouped({{"image", Space::bytes({2, 2, 2}, 4)}});
  const std::vector<float> row{4.0f, 0.0f, 4.0f, 0.0f, 4.0f, 2.0f, 4.0f, 0.0f};
  const std::vector<std::uint8_t> newest{0, 0, 2, 0};
  Drawing drawn, expected;
  EXPECT_EQ(draw_group(space.groups.front(), 2, row.data(), drawn), 1);
  draw_planes(Space::bytes({2, 2, 1}, 4), newest.data(), expected);
  ASSERT_EQ(drawn.shapes.size(), expected.shapes.size());
  EXPECT_EQ(drawn.shapes.back().numbers, expected.shapes.back().numbers);
}

TEST(Film, KeepsEveryShapeOnce) {
  EnvSpec spec;
  spec.observation = Space::box({0.0f}, {1.0f});
  spec.action = Space::box({-1.0f, -1.0f}, {1.0f, 1.0f});
  Film film(spec, 2);
  const std::vector<float> action{0.5f, -0.5f};
  Drawing drawing;
  drawing.view(0.0, 0.0, 1.0, 1.0);
  drawing.circle(Ink::kInk, {0.5, 0.5}, 0.1);
  drawing.action = "half";
  film.see({0, drawing, nullptr, action.data()});
  film.take(0, -1.5);
  drawing.circle(Ink::kBad, {0.5, 0.5}, 0.1);  // another ink makes another shape
  drawing.view(0.0, -1.0, 1.0, 0.5);
  film.see({0, drawing, nullptr, nullptr});
  film.see({1, drawing, nullptr, nullptr});
  EXPECT_EQ(film.shapes().size(), 2u);
  EXPECT_EQ(film.episodes()[0].frames, (std::vector<std::vector<int>>{{0}, {0, 1}}));
  EXPECT_EQ(film.episodes()[1].frames, (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(film.episodes()[0].actions, action);
  EXPECT_EQ(film.episodes()[0].words, std::vector<std::string>{"half"});
  EXPECT_EQ(film.episodes()[0].rewards, std::vector<double>{-1.5});
  EXPECT_EQ(film.view().bottom, -1.0);
  EXPECT_EQ(film.view().top, 1.0);
  EXPECT_EQ(film.planes(), 0);
  EXPECT_EQ(film.pictures_every(), 0);
}

TEST(Film, RepeatsTheStateBeforeIfItsDrawingIsAsBefore) {
  EnvSpec spec;
  spec.observation = Space::box({0.0f}, {1.0f});
  Film film(spec, 2);
  const auto picture = [](const char* uri) {
    Drawing drawing;
    drawing.view(0.0, 0.0, 4.0, 3.0);
    drawing.image({0.0, 0.0}, 4.0, 3.0, uri);
    return drawing;
  };
  Drawing as_before;
  as_before.as_before = true;
  for (const Drawing& drawing : {picture("data:a"), as_before, as_before, picture("data:b")})
    film.see({0, drawing, nullptr, nullptr});
  film.see({1, picture("data:c"), nullptr, nullptr});
  film.see({1, as_before, nullptr, nullptr});
  EXPECT_EQ(film.episodes()[0].frames, (std::vector<std::vector<int>>{{0}, {0}, {0}, {1}}));
  EXPECT_EQ(film.episodes()[1].frames, (std::vector<std::vector<int>>{{2}, {2}}));
  EXPECT_EQ(film.shapes()[1].kind, Shape::Kind::kImage);
  EXPECT_EQ(film.shapes()[1].text, "data:b");
  EXPECT_EQ(film.pictures_every(), 3);
  EXPECT_EQ(film.view().right, 4.0);
}

TEST(Film, DrawsSmallImagesOfEnvironmentsWithoutDrawings) {
  Film film(two_planes(), 1);
  std::vector<std::uint8_t> image(12, 0);
  film.see({0, Drawing{}, image.data(), nullptr});
  EXPECT_EQ(film.planes(), 2);
  EXPECT_EQ(film.shapes().size(), 1u);
  Drawing own;
  own.circle(Ink::kInk, {0.0, 0.0}, 1.0);
  Film of_its_own(two_planes(), 1);
  of_its_own.see({0, own, image.data(), nullptr});
  EXPECT_EQ(of_its_own.planes(), 0);
  EXPECT_EQ(of_its_own.shapes()[0].kind, Shape::Kind::kCircle);
}

}  // namespace
}  // namespace broadloom
