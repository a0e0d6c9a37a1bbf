# Debian 12 (bookworm) with what ./quickstart.sh and ./test.sh install, and the source in /broadloom:
#   docker build -t broadloom . && docker run --rm -it broadloom ./quickstart.sh
# Its steps were followed in a bare Debian by debootstrap and chroot, without Docker.
FROM debian:bookworm

# The image's user is root: then the tests of pages start Chromium without its sandbox.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates ccache python3-dev \
 && rm -rf /var/lib/apt/lists/*

# Packages change less often than the source, so they have a layer of their own.
WORKDIR /broadloom
COPY tools/setup.sh tools/setup.sh
RUN tools/setup.sh --tests && tools/setup.sh --mpi && rm -rf /var/lib/apt/lists/*

COPY . .
CMD ["bash"]
