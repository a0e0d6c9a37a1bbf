// A kernel that faults, after which CUDA refuses everything that the process asks of the device, as
// after a hardware fault.
namespace {

__global__ void fault() { asm("trap;"); }

}  // namespace

namespace broadloom::cuda {

void lose_device() {
  fault<<<1, 1>>>();
  cudaDeviceSynchronize();
}

}  // namespace broadloom::cuda
