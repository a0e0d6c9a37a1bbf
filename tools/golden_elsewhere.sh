#!/usr/bin/env bash
# Computes the golden hashes on other processors and mathematics libraries, for the table of
# docs/bits.md.
#   tools/golden_elsewhere.sh [native] [libm] [x86] [avx512] [arm]     some of them; all by default
# native  every instruction set of this processor (of AVX-512, see avx512)
# libm    the variants that glibc chooses by processor (GLIBC_TUNABLES)
# x86     x86-64 processors with and without FMA, AVX2 and AVX, emulated by qemu-x86_64
# avx512  x86-64 processors with AVX-512, emulated by Bochs (run_in_bochs.sh): some minutes each
# arm     NEON on 64-bit ARM: a cross build, emulated by qemu-aarch64
# Needs Debian's package qemu-user; for avx512 the packages of run_in_bochs.sh; for arm
# g++-aarch64-linux-gnu. Unpacks libraries for ARM under build/.
# sse4 has its own bits, the same on every processor, and is compared with sse4 of this machine. All
# others are compared with tests/golden/hashes.txt. Exit status 1 if a hash differs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(native libm x86 avx512 arm)
jobs=${BROADLOOM_JOBS:-$(nproc)}
out=build/golden-elsewhere
mkdir -p "$out"
differing=0
native=build/release/tests/golden/golden_bits

need() {
  command -v "$1" >/dev/null ||
    { echo "golden_elsewhere.sh: no $1; install Debian's package $2" >&2; exit 1; }
}

build_native() {
  cmake --preset release -DBROADLOOM_BUILD_TESTS=ON >"$out/build.log" &&
    cmake --build build/release --target golden_bits -j "$jobs" >>"$out/build.log" ||
      { tail "$out/build.log" >&2; exit 1; }
  "$native" --isa sse4 >"$out/sse4.txt" 2>/dev/null || rm -f "$out/sse4.txt"  # no such set on ARM
}

# Prints how many configurations agree in all lines, and the first number that differs.
compare() {
  awk '
    /^#/ { next }
    FNR == NR { expected[$1, $2] = $3; if (!($1 in lines)) names[++count] = $1; lines[$1]++; next }
    { got[$1]++; if (expected[$1, $2] != $3 && !($1 in bad)) bad[$1] = $2 }
    END {
      for (i = 1; i <= count; i++) {
        name = names[i]
        if (!(name in bad) && got[name] != lines[name]) bad[name] = "its count of lines"
        if (!(name in bad)) { same++; continue }
        if (++differing <= 3) text = text (text == "" ? "" : ", ") name " from " bad[name] " on"
      }
      if (differing > 3) text = text ", and " differing - 3 " more"
      printf "%d of %d | %s |\n", same, count, text == "" ? "nothing" : text
      exit text != ""
    }' "$1" "$2"
}

# row PROCESSOR ISA COMMAND...: the command is golden_bits, emulated or not.
row() {
  local processor=$1 isa=$2 expected=tests/golden/hashes.txt
  shift 2
  [ "$isa" = sse4 ] && expected=$out/sse4.txt
  printf '| %s | %s | ' "$processor" "$isa"
  if ! "$@" --isa "$isa" >"$out/now.txt" 2>"$out/now.log"; then
    grep -q "isa '$isa'" "$out/now.log" || differing=1  # without this message it crashed
    echo "not run | $(grep -v 'qemu.*warning' "$out/now.log" | tail -n 1) |"
    return
  fi
  compare "$expected" "$out/now.txt" || differing=1
}

run_native() {
  local isa
  for isa in avx512 avx2 sse4 neon exact; do row "this machine" "$isa" "$native"; done
}

run_libm() {
  local off
  for off in -FMA,-FMA4,-AVX2 -FMA,-FMA4,-AVX2,-AVX,-SSE4_1; do
    row "this machine, libm with $off" avx2 env GLIBC_TUNABLES="glibc.cpu.hwcaps=$off" "$native"
    row "this machine, libm with $off" exact env GLIBC_TUNABLES="glibc.cpu.hwcaps=$off" "$native"
  done
}

run_x86() {
  need qemu-x86_64 qemu-user
  row "Haswell (AVX2, FMA)" avx2 qemu-x86_64 -cpu Haswell "$native"
  row "Haswell (AVX2, FMA)" exact qemu-x86_64 -cpu Haswell "$native"
  row "Haswell without FMA" exact qemu-x86_64 -cpu Haswell,-fma "$native"
  row "Sandy Bridge (AVX)" sse4 qemu-x86_64 -cpu SandyBridge "$native"
  row "Sandy Bridge (AVX)" exact qemu-x86_64 -cpu SandyBridge "$native"
  row "Westmere (SSE4.2, AES)" sse4 qemu-x86_64 -cpu Westmere "$native"
  row "Nehalem (SSE4.2)" exact qemu-x86_64 -cpu Nehalem "$native"
}

run_avx512() {
  row "Skylake-X (AVX-512)" avx512 tools/run_in_bochs.sh "$native"
}

# Fetches Debian's libraries for ARM with a separate apt configuration; the system's is not changed.
unpack_sysroot() {
  local sysroot=$1 apt=$1/apt
  [ -d "$sysroot/usr/include/hwy" ] && return
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  cat >"$apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State::Lists "$apt/lists";
Dir::State::status "/dev/null";
Dir::Cache "$apt";
CONF
  APT_CONFIG=$apt/apt.conf apt-get update -q >"$out/apt.log"
  (cd "$apt" && APT_CONFIG=$apt/apt.conf apt-get download -q libhwy-dev libhwy1 libfmt-dev libfmt9 \
    libsqlite3-dev libsqlite3-0 libxxhash-dev libxxhash0 libgtest-dev librandom123-dev \
    nlohmann-json3-dev libtomlplusplus-dev libtomlplusplus3 >>"../../golden-elsewhere/apt.log")
  local package
  for package in "$apt"/*.deb; do dpkg -x "$package" "$sysroot"; done
}

run_arm() {
  need qemu-aarch64 qemu-user
  need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
  local sysroot=$PWD/build/aarch64-sysroot options=()
  unpack_sysroot "$sysroot"
  command -v ccache >/dev/null && options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  local chart_js
  chart_js=$(sed -n 's/^BROADLOOM_CHART_JS:FILEPATH=//p' build/release/CMakeCache.txt)
  options+=("-DBROADLOOM_CHART_JS=$chart_js")
  cmake -S . -B build/aarch64 -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64-linux-gnu.cmake" \
    -DBROADLOOM_SYSROOT="$sysroot" -DBROADLOOM_BUILD_TESTS=ON -DBROADLOOM_TEST_FOLDERS=golden \
    -DBROADLOOM_BUILD_CLI=OFF -DBROADLOOM_BUILD_BENCH=OFF -DBROADLOOM_INSTALL=OFF "${options[@]}" \
    >"$out/arm.log" &&
    cmake --build build/aarch64 --target golden_bits -j "$jobs" >>"$out/arm.log" ||
      { tail "$out/arm.log" >&2; exit 1; }
  row "64-bit ARM (Cortex-A72)" neon qemu-aarch64 -cpu cortex-a72 -L /usr/aarch64-linux-gnu \
    -E LD_LIBRARY_PATH="$sysroot/usr/lib/aarch64-linux-gnu" build/aarch64/tests/golden/golden_bits
}

build_native
echo "| processor | isa | the same | what differs |"
echo "|---|---|---|---|"
for part in "${parts[@]}"; do
  case "$part" in
    native | libm | x86 | avx512 | arm) "run_$part" ;;
    *)
      echo "golden_elsewhere.sh: got part '$part', expected native, libm, x86, avx512 or arm" >&2
      exit 2 ;;
  esac
done
exit "$differing"
