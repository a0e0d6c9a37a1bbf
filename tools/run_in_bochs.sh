#!/usr/bin/env bash
# Runs a Linux program on an emulated x86-64 processor with AVX-512, on a machine that has none.
#   tools/run_in_bochs.sh [--cpu MODEL] [--limit SECONDS] PROGRAM [ARGUMENT ...]
# Prints the program's output and ends with its exit status; 124 after --limit (3600 s), 125 if the
# program could not run.
# MODEL: see `bochs --help cpu`. Models with AVX-512 are corei7_skylake_x (default),
# corei7_icelake_u and tigerlake, among others.
#
# Bochs emulates a whole machine, at about 50 million instructions a second. It boots a Debian
# kernel with busybox, the program and its libraries in memory. The program has no other file, no
# variable and no network. Needs the Debian packages named below. Kernel, boot loader and busybox
# are unpacked under build/bochs, and not installed.
set -euo pipefail
cpu=corei7_skylake_x
limit=3600
while [ $# -gt 0 ]; do
  case "$1" in
    --cpu) cpu=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    -*)
      echo "run_in_bochs.sh: got option '$1', expected --cpu MODEL or --limit SECONDS" >&2
      exit 125 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] ||
  { echo "run_in_bochs.sh: no program; expected PROGRAM [ARGUMENT ...]" >&2; exit 125; }
program=$(realpath -e -- "$1") || exit 125
shift
cache=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/bochs

missing=()
for package in bochs bochs-term bochsbios vgabios xorriso; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
    missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] ||
  { echo "run_in_bochs.sh: install Debian's packages ${missing[*]}" >&2; exit 125; }

# Unpacks kernel, boot loader and busybox, once.
unpack() {
  [ -e "$cache/root/complete" ] && return
  local packages=$cache/packages kernel package
  rm -rf "$cache/root" "$packages"
  mkdir -p "$cache/root" "$packages"
  kernel=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
    awk '/Depends: linux-image-/ { print $2; exit }')
  (cd "$packages" && apt-get download -q -o APT::Sandbox::User= \
    "${kernel:-linux-image-cloud-amd64}" isolinux syslinux-common busybox-static) \
    >"$cache/apt.log" 2>&1 ||
      { tail -n 3 "$cache/apt.log" >&2; return 1; }
  for package in "$packages"/*.deb; do dpkg -x "$package" "$cache/root"; done
  touch "$cache/root/complete"
}

# Packs the program and its libraries at their own paths, and an init that runs the program. Output,
# errors and exit status have a serial port each; the kernel has the first. The sleep lets the ports
# send their buffers.
make_initramfs() {
  local files=$work/files
  mkdir -p "$files"/{bin,dev,proc,tmp} "$work/disc"
  cp "$cache/root/bin/busybox" "$files/bin"
  { echo "$program"; ldd "$program" 2>/dev/null | grep -o '/[^ ]*' || true; } |
    xargs -d '\n' cp -L --parents -t "$files"
  cat >"$files/init" <<INIT
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mount -t proc none /proc
for port in 1 2 3; do /bin/busybox stty -F /dev/ttyS\$port 115200 raw; done
$(printf '%q ' "$program" "$@") </dev/null >/dev/ttyS1 2>/dev/ttyS2
echo \$? >/dev/ttyS3
/bin/busybox sleep 1
/bin/busybox poweroff -f
INIT
  chmod +x "$files/init"
  (cd "$files" && find . | "$cache/root/bin/busybox" cpio -o -H newc) \
    >"$work/disc/initrd" 2>"$work/cpio.log"
}

# Instructions per emulated second, on any machine. A smaller number makes waits cheaper.
ips=20000000
# The kernel gets this rate as an option, since the processor reports that of a real one. XSAVEC and
# XSAVES are off: the kernel would switch AVX off because of the sizes that Bochs reports. The other
# options skip self-tests of ciphers, certificates and tracing, three quarters of the boot.
kernel_options="console=ttyS0,115200 quiet nokaslr mitigations=off"
kernel_options+=" tsc_early_khz=$((ips / 1000)) clearcpuid=xsavec,xsaves cryptomgr.notests"
kernel_options+=" initcall_blacklist=load_system_certificate_list,trace_eval_init"
kernel_options+=",init_kprobe_trace,cubictcp_register"

make_disc() {
  cp "$cache/root/usr/lib/ISOLINUX/isolinux.bin" \
    "$cache/root/usr/lib/syslinux/modules/bios/ldlinux.c32" "$work/disc"
  cp "$cache"/root/boot/vmlinuz-* "$work/disc/vmlinuz"
  printf 'default linux\nlabel linux\nkernel vmlinuz\nappend initrd=initrd %s\n' "$kernel_options" \
    >"$work/disc/isolinux.cfg"
  xorriso -as mkisofs -quiet -o "$work/disc.iso" -b isolinux.bin -c boot.cat -no-emul-boot \
    -boot-load-size 4 -boot-info-table "$work/disc" 2>"$work/xorriso.log"
}

# Debian's Bochs starts in its debugger and waits for `continue`. When the machine switches off,
# Bochs ends with status 1.
boot() {
  cat >"$work/bochsrc" <<CONF
display_library: term
cpu: model=$cpu, ips=$ips
clock: sync=none
memory: guest=512, host=512
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/kernel.txt
com2: enabled=1, mode=file, dev=$work/output.txt
com3: enabled=1, mode=file, dev=$work/errors.txt
com4: enabled=1, mode=file, dev=$work/status.txt
speaker: enabled=0
sound: waveoutdrv=dummy
log: $work/bochs.log
panic: action=fatal
CONF
  echo continue >"$work/commands"
  TERM=vt100 timeout --foreground -s KILL "$limit" \
    bochs -q -f "$work/bochsrc" -rc "$work/commands" </dev/null >"$work/bochs.txt" 2>&1
}

mkdir -p "$cache"
unpack ||
  { echo "run_in_bochs.sh: got no kernel, isolinux and busybox; try apt-get update" >&2; exit 125; }
work=$(mktemp -d "$cache/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
touch "$work"/{kernel,output,errors,status}.txt
make_initramfs "$@"
make_disc
ended=0
boot || ended=$?
cat "$work/output.txt"
cat "$work/errors.txt" >&2
status=$(cat "$work/status.txt")
[ -n "$status" ] && exit "$status"
if [ "$ended" = 137 ]; then
  echo "run_in_bochs.sh: not done after $limit s" >&2
  exit 124
fi
{
  tail -n 20 "$work/kernel.txt"
  tail -n 10 "$work/bochs.txt"
  echo "run_in_bochs.sh: no exit status from the program; see the last output of kernel and Bochs"
} >&2
exit 125
