#!/usr/bin/env bash
# Builds the emulator into a folder: libcuda.so.1, libnvrtc.so.13, libnvJitLink.so.13 and libnvrtc-builtins.so.13.0.
# Usage: build.sh FOLDER. Does nothing where all is newer than the sources.
set -euo pipefail

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
target=$(cd "$1" && pwd)
if [ -e "$target/libnvrtc-builtins.so.13.0" ] && [ -z "$(find "$sources" -newer "$target/libnvrtc-builtins.so.13.0" -print -quit)" ]; then
  exit 0
fi
command -v g++ >/dev/null || {
  echo "ep4j: no g++, so tests on the emulated GPU are skipped (Debian: apt-get install g++)" >&2
  exit 1
}
part=$(mktemp -d "$target/part.XXXXXX")
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
ln -s libemulated_cuda.so.1 "$part/libcuda.so.1"
g++ "${options[@]}" -shared -Wl,-soname,libnvrtc.so.13 -DSOURCES="\"$sources\"" -o "$part/libnvrtc.so.13" "$sources"/nvrtc/*.cpp
g++ "${options[@]}" -shared -Wl,-soname,libnvJitLink.so.13 -o "$part/libnvJitLink.so.13" "$sources"/nvjitlink/*.cpp
# NVRTC loads the library of its intrinsics by name; here there are none.
echo | g++ -x c++ -fPIC -shared -Wl,-soname,libnvrtc-builtins.so.13.0 -o "$part/libnvrtc-builtins.so.13.0" -
g++ -std=c++17 -g -Wall -Wextra -Werror -o "$part/self-test" "$sources/self_test.cpp" -L"$part" -l:libcuda.so.1 -l:libnvrtc.so.13 \
  -Wl,-rpath,'$ORIGIN' -pthread
mv "$part"/* "$target"
# Kernels that an older emulator compiled.
rm -rf "$target/cache"
