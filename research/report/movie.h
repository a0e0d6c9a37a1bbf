// Films as moving pictures: GIF files, and MP4 files by the program ffmpeg.
//
//   const Status written = write_movie("run.gif", film_frames(watched.film));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/film.h"
#include "research/report/picture.h"

namespace broadloom {

inline constexpr int kMovieSide = 480;  // pixels of the longer side
inline constexpr int kMovieRate = 25;   // pictures a second

struct MovieFrames {
  std::vector<int> shown;  // how long each picture is shown, in parts of 1 / kMovieRate s
  // Paints picture i, all of one size. May be called twice for each.
  std::function<Status(std::size_t i, Raster& out)> paint;
};

// A picture for each state, or for each new picture where the film repeats them. An episode's last
// one stays for a second. The film must outlive the result.
MovieFrames film_frames(const Film& film);

// Whether the name ends in .gif or .mp4.
bool is_movie(const std::string& path);

// Fails where write_movie() could not begin: kNotFound if an MP4 lacks ffmpeg on PATH.
Status check_movie(const std::string& path);

// Writes the file, or replaces it. A GIF has 256 colours for all pictures, chosen by median cut
// (Heckbert 1982), and only the changed part of each. Errors: those of check_movie() and paint; kIo
// if the file cannot be written or ffmpeg fails.
Status write_movie(const std::string& path, const MovieFrames& frames);

}  // namespace broadloom
