#!/usr/bin/env bash
# Builds the emulator into a folder: libcuda.so.1, libnvrtc.so.13, libnvJitLink.so.13 and libnvrtc-builtins.so.13.0, and a folder "cache"
# for the kernels that tests compile.
# Usage: build.sh FOLDER. Does nothing where FOLDER holds what these sources make.
#
# Results are kept in ep4j/emulator below XDG_CACHE_HOME or ~/.cache, by a hash of all that decides about them, so another checkout or a
# clean build has them at once; kernels likewise, by a hash of the emulator, in files named by a hash of their own.
set -euo pipefail

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$sources/../../../.." && pwd)
mkdir -p "$1"
target=$(cd "$1" && pwd)
command -v g++ >/dev/null || {
  echo "ep4j: no g++, so tests on the emulated GPU are skipped (Debian: apt-get install g++)" >&2
  exit 1
}
# Of the files' texts and names, with the compiler's version. What stands in for HIP and NVSHMEM takes part in compiling kernels.
hash_of() {
  (
    cd "$root"
    g++ --version | head -n 1
    find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  ) | sha256sum | cut -c 1-20
}
own=ep-gpu/src/test/emulator
hash=$(hash_of "$own")
kernels=$(hash_of "$own" ep-gpu/src/test/hip-on-cuda ep-gpu/src/main/resources/org/ep4j/gpu/driver/cuda.cu \
  backend-nvshmem-ibgda/src/test/emulated)
if [ "$(cat "$target/built" 2>/dev/null)" = "$hash $kernels" ] && [ -d "$target/cache/" ]; then
  exit 0
fi
kept=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/ep4j/emulator
if ! mkdir -p "$kept" 2>/dev/null || [ ! -w "$kept" ]; then
  kept=$target/kept
fi
mkdir -p "$kept/kernels-$kernels"
# Builds that have not been used for a month.
find "$kept" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} + 2>/dev/null || true
touch "$kept/kernels-$kernels"

# Links the folder to the kernels and copies the libraries, which are kept.
finish() {
  touch "$kept/$hash"
  rm -rf "$target/cache"
  ln -sfn "$kept/kernels-$kernels" "$target/cache"
  # Unlinked first: a process that runs may have mapped what is there.
  cp -P --remove-destination "$kept/$hash"/* "$target"
  printf '%s\n' "$hash $kernels" >"$target/built"
}
if [ -d "$kept/$hash" ]; then
  finish
  exit 0
fi
part=$(mktemp -d "$kept/part.XXXXXX")
trap 'rm -rf "$part"' EXIT

options=(-std=c++17 -O2 -g -Wall -Wextra -Werror -fPIC -fvisibility=hidden)
compile() {
  (cd "$part" && xargs -0 -n 1 -P "$(nproc)" g++ "${options[@]}" -I"$sources" -c "$@")
}
# Calls of the driver can be listed: calls/calls.cpp.
printf '%s\0' "$sources"/driver/*.cpp | compile -finstrument-functions -finstrument-functions-exclude-file-list=/usr/
printf '%s\0' "$sources"/{calls,execution}/*.cpp | compile
# Named otherwise inside: a real NVRTC in the same process looks for a loaded libcuda.so.1 and for its private calls.
# The C library too has functions that are called at the beginning and end of instrumented ones: -Bsymbolic.
g++ "${options[@]}" -shared -Wl,-Bsymbolic-functions -Wl,-soname,libemulated_cuda.so.1 -o "$part/libemulated_cuda.so.1" "$part"/*.o -ldl -pthread
rm "$part"/*.o
ln -sf libemulated_cuda.so.1 "$part/libcuda.so.1"
g++ "${options[@]}" -shared -Wl,-soname,libnvrtc.so.13 -DSOURCES="\"$sources\"" -o "$part/libnvrtc.so.13" "$sources"/nvrtc/*.cpp
g++ "${options[@]}" -shared -Wl,-soname,libnvJitLink.so.13 -o "$part/libnvJitLink.so.13" "$sources"/nvjitlink/*.cpp
# NVRTC loads the library of its intrinsics by name; here there are none.
echo | g++ -x c++ -fPIC -shared -Wl,-soname,libnvrtc-builtins.so.13.0 -o "$part/libnvrtc-builtins.so.13.0" -
g++ -std=c++17 -g -Wall -Wextra -Werror -o "$part/self-test" "$sources/self_test.cpp" -L"$part" -l:libcuda.so.1 -l:libnvrtc.so.13 \
  -Wl,-rpath,'$ORIGIN' -pthread
# Another build may have been faster.
mv -T "$part" "$kept/$hash" 2>/dev/null || true
finish
