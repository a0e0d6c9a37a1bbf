#include "research/report/movie.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "broadloom/record/files.h"
#include "research/report/gif.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every <unistd.h>

namespace broadloom {
namespace {

constexpr char kFfmpeg[] = "ffmpeg";

bool is_mp4(const std::string& path) { return path.ends_with(".mp4"); }

bool is_on_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, end)) + "/" + program;
    struct stat found = {};
    if (::stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
        ::access(file.c_str(), X_OK) == 0) {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

constexpr int kLongestSide = 65535;  // a GIF writes sides in 16 bits

// Paints picture i, and checks its size. first: the first picture; given i = 0, it is set.
Status paint_checked(const MovieFrames& frames, std::size_t i, Raster& picture, Raster& first) {
  BROADLOOM_TRY(frames.paint(i, picture));
  if (i == 0) {
    first.width = picture.width;
    first.height = picture.height;
  }
  const int least = std::min(picture.width, picture.height);
  const int most = std::max(picture.width, picture.height);
  if (least < 1 || most > kLongestSide) {
    return invalid(fmt::format("picture {} of the film: got {} x {}, expected sides from 1 to {}",
                               i, picture.width, picture.height, kLongestSide));
  }
  if (picture.width == first.width && picture.height == first.height) return {};
  return invalid(
      fmt::format("picture {} of the film: got {} x {}, expected {} x {}, as the first one has", i,
                  picture.width, picture.height, first.width, first.height));
}

Status write_gif(const std::string& path, const MovieFrames& frames) {
  GifPalette palette;
  Raster picture, first;
  for (std::size_t i = 0; i < frames.shown.size(); ++i) {
    BROADLOOM_TRY(paint_checked(frames, i, picture, first));
    palette.add(picture);
  }
  palette.choose();
  std::optional<GifEncoder> gif;
  for (std::size_t i = 0; i < frames.shown.size(); ++i) {
    BROADLOOM_TRY(paint_checked(frames, i, picture, first));
    if (!gif) gif.emplace(picture.width, picture.height, palette);
    gif->add(picture, frames.shown[i] * 100 / kMovieRate);
  }
  return write_file_atomically(path, gif->file());
}

// A child process that reads from a pipe. A broken pipe is an error of write(), not a signal.
class Child {
 public:
  Child() { before_ = ::signal(SIGPIPE, SIG_IGN); }
  ~Child() {
    static_cast<void>(end());
    ::signal(SIGPIPE, before_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The value of errno; 0: started.
  int start(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    const int error =
        ::posix_spawnp(&process_, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[0]);
    pipe_ = ends[1];
    if (error != 0) process_ = 0;
    return error;
  }

  bool write(const std::vector<std::uint8_t>& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(pipe_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  // Waits for its end. Whether it succeeded.
  bool end() {
    if (pipe_ >= 0) ::close(std::exchange(pipe_, -1));
    if (process_ == 0) return false;
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  void (*before_)(int);
  int pipe_ = -1;
  pid_t process_ = 0;
};

// A new folder beside a file, which nobody else writes in. It goes with the value.
class PrivateFolder {
 public:
  explicit PrivateFolder(const std::string& path) : path_(path + ".XXXXXX") {
    error_ = ::mkdtemp(path_.data()) == nullptr ? errno : 0;
  }
  ~PrivateFolder() {
    if (error_ != 0) return;
    std::remove(file().c_str());
    ::rmdir(path_.c_str());
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  int error() const { return error_; }  // the value of errno; 0: made
  // ffmpeg names the format by the file's end.
  std::string file() const { return path_ + "/film.mp4"; }

 private:
  std::string path_;
  int error_;
};

Status write_mp4(const std::string& path, const MovieFrames& frames) {
  const PrivateFolder folder(path);  // ffmpeg would follow a link, or write over a file
  if (folder.error() != 0) {
    return {ErrorKind::kIo, fmt::format("cannot make a folder beside '{}': {}", path,
                                        std::strerror(folder.error()))};
  }
  Child ffmpeg;  // after the folder, so that its process ends first
  Raster picture, first;
  bool goes_on = true;
  for (std::size_t i = 0; goes_on && i < frames.shown.size(); ++i) {
    BROADLOOM_TRY(paint_checked(frames, i, picture, first));
    if (i == 0) {
      const std::string size = fmt::format("{}x{}", picture.width, picture.height);
      const int error =
          ffmpeg.start({kFfmpeg, "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24",
                        "-s", size, "-r", fmt::format("{}", kMovieRate), "-i", "-", "-pix_fmt",
                        "yuv420p", "-movflags", "+faststart", "file:" + folder.file()});
      if (error != 0) {
        return {ErrorKind::kIo, fmt::format("cannot start ffmpeg: {}", std::strerror(error))};
      }
    }
    for (int n = 0; goes_on && n < frames.shown[i]; ++n) goes_on = ffmpeg.write(picture.rgb);
  }
  if (ffmpeg.end() && goes_on && std::rename(folder.file().c_str(), path.c_str()) == 0) return {};
  return {ErrorKind::kIo,
          "'" + path + "' was not written: ffmpeg failed, see its own words; or write a .gif"};
}

}  // namespace

MovieFrames film_frames(const Film& film) {
  struct Place {
    std::size_t episode, state;
  };
  std::vector<Place> places;
  MovieFrames frames;
  const bool has_pictures = film.pictures_every() > 0;
  for (std::size_t e = 0; e < film.episodes().size(); ++e) {
    const std::vector<std::vector<int>>& states = film.episodes()[e].frames;
    for (std::size_t s = 0; s < states.size(); ++s) {
      if (has_pictures && s > 0 && states[s] == states[s - 1]) continue;
      places.push_back({e, s});
      frames.shown.push_back(1);
    }
    if (!states.empty()) frames.shown.back() = kMovieRate;
  }
  const auto painter = std::make_shared<Painter>(film.view(), kMovieSide);
  frames.paint = [&film, painter, places](std::size_t i, Raster& out) -> Status {
    painter->clear();
    for (const int index : film.episodes()[places[i].episode].frames[places[i].state]) {
      BROADLOOM_TRY(painter->add(film.shapes()[static_cast<std::size_t>(index)]));
    }
    out = painter->picture();
    return {};
  };
  return frames;
}

bool is_movie(const std::string& path) { return path.ends_with(".gif") || is_mp4(path); }

Status check_movie(const std::string& path) {
  if (!is_mp4(path) || is_on_path(kFfmpeg)) return {};
  return {ErrorKind::kNotFound,
          fmt::format("'{}' needs the program ffmpeg, which is not on PATH; install it, on Debian "
                      "`apt-get install ffmpeg`, or write a .gif",
                      path)};
}

Status write_movie(const std::string& path, const MovieFrames& frames) {
  BROADLOOM_TRY(check_movie(path));
  if (frames.shown.empty()) return invalid("a film without a picture cannot be written");
  return is_mp4(path) ? write_mp4(path, frames) : write_gif(path, frames);
}

}  // namespace broadloom
