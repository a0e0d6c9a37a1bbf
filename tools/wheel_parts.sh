#!/usr/bin/env bash
# Makes what a wheel is linked with, from packages of Debian 12, for a container without them or
# with older ones (pyproject.toml, [tool.cibuildwheel]).
#   tools/wheel_parts.sh fetch         on Debian 12: headers, and sources of three libraries, into
#                                      build/wheel-parts
#   tools/wheel_parts.sh build PREFIX  there or elsewhere, with CMake, a compiler, tclsh: installs
#                                      headers and static libraries into PREFIX; some minutes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
parts=$PWD/build/wheel-parts

headers=(nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libxxhash-dev librandom123-dev
         libjs-chart.js)
sources=(fmtlib highway sqlite3)

fetch() {
  rm -rf "$parts"
  mkdir -p "$parts/lists/partial"
  cd "$parts"
  # Debian's own list of servers, read for sources too, without a change of the system.
  sed 's/^Types:.*/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources >servers.sources
  local file apt=(apt-get -q -o Dir::Etc::sourcelist="$parts/servers.sources"
                  -o Dir::Etc::sourceparts=- -o Dir::State::lists="$parts/lists"
                  -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" source "${sources[@]}"
  "${apt[@]}" download "${headers[@]}"
  for file in *.deb; do dpkg -x "$file" headers; done
  rm -rf lists servers.sources ./*.tar.* ./*.dsc ./*.deb
}

# NAME OPTIONS...: a source that CMake builds.
build_with_cmake() {
  local name=$1
  shift
  cmake -S "$parts/$name"-* -B "$parts/build/$name" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
    "$@"
  cmake --build "$parts/build/$name" -j "$(nproc)" --target install
}

build() {
  if [ ! -d "$parts/headers" ]; then
    echo "wheel_parts.sh: build/wheel-parts is empty; on Debian: tools/wheel_parts.sh fetch" >&2
    exit 1
  fi
  build_with_cmake fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
  build_with_cmake highway -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF
  mkdir -p "$prefix/share" "$prefix/lib/cmake/tomlplusplus" "$parts/build/sqlite3"
  cp -r "$parts/headers/usr/include" "$prefix"
  cp -r "$parts"/headers/usr/share/{cmake,javascript} "$prefix/share"
  # Debian's configuration of toml++ names a shared library; its headers need none.
  cat >"$prefix/lib/cmake/tomlplusplus/tomlplusplusConfig.cmake" <<'CMAKE'
add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)
set_target_properties(tomlplusplus::tomlplusplus PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
  "${CMAKE_CURRENT_LIST_DIR}/../../../include")
CMAKE
  cd "$parts/build/sqlite3"
  sh "$parts"/sqlite3-*/configure --prefix="$prefix" --libdir="$prefix/lib" --disable-shared \
    --with-pic --disable-tcl --disable-readline CFLAGS=-O2
  make -j "$(nproc)" libsqlite3.la sqlite3.h
  make lib_install
  cp sqlite3.h "$prefix/include"
}

case "${1:-}" in
  fetch) fetch ;;
  build)
    prefix=${2:?wheel_parts.sh build PREFIX}
    build ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
