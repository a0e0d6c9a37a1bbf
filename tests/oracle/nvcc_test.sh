#!/bin/sh
# nvcc_test.sh SOURCE BINARY HEADERS...: compiles every environment header for the GPU, with a
# kernel that calls its element functions. Headers without an environment are included by the
# others. SKIPPED (exit 77) without nvcc.
source=$1
binary=$2
shift 2
if ! command -v nvcc >/dev/null; then
  echo "SKIPPED: no nvcc on PATH"
  exit 77
fi
file=$binary/environments.cu
: >"$file"
environments=
for header in "$@"; do
  grep -q 'static_assert(Environment<' "$source/$header" || continue
  environments="$environments $header"
  echo "#include \"$header\"" >>"$file"
done
cat >>"$file" <<'CUDA'
template <class Env>
__global__ void run(typename Env::Params params, typename Env::State* states, const float* actions,
                    broadloom::env_detail::Observed<Env>* out, double* rewards, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  broadloom::Random random(1, broadloom::Purpose::kUser, i, 0);
  Env::reset(params, states[i], random);
  rewards[i] = Env::step(params, states[i], actions + i, random).reward;
  Env::observe(params, states[i], out + 8 * i);
}
CUDA
# Types are named after their files: cart_pole.h holds CartPole.
for header in $environments; do
  type=$(basename "$header" .h | sed -E 's/(^|_)([a-z])/\U\2/g')
  {
    echo "template __global__ void run<broadloom::$type>("
    echo "    broadloom::$type::Params, broadloom::$type::State*, const float*,"
    echo "    broadloom::env_detail::Observed<broadloom::$type>*, double*, int);"
  } >>"$file"
done
nvcc -std=c++20 --expt-relaxed-constexpr -Werror cross-execution-space-call -I"$source" \
  -c "$file" -o "$binary/environments.o" &&
  echo "$(echo $environments | wc -w) environments compiled for the GPU"
