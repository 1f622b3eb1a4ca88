#!/usr/bin/env bash
# Builds HIP on CUDA into a folder: libamdhip64.so.7.0.0 and libhiprtc.so.7.0.0 with their links, which forward to a CUDA driver and an NVRTC,
# real or emulated. For tests of the hip device without an AMD GPU.
# Usage: build.sh FOLDER. Does nothing where all is newer than the sources.
set -euo pipefail

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dialect=$(cd "$sources/../../main/resources/org/ep4j/gpu/driver" && pwd)/cuda.cu
mkdir -p "$1"
target=$(cd "$1" && pwd)
if [ -e "$target/libhiprtc.so.7" ] && [ -z "$(find "$sources" "$dialect" -newer "$target/libhiprtc.so.7" -print -quit)" ]; then
  exit 0
fi
command -v g++ >/dev/null || {
  echo "ep4j: no g++, so tests of the hip device are skipped (Debian: apt-get install g++)" >&2
  exit 1
}
# Kernels are cached by the name and the size of their compiler, which must not depend on where this checkout lies.
options=(-std=c++17 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -shared)
# Under other names first: another build may use the old ones.
part=$(mktemp -d "$target/part.XXXXXX")
trap 'rm -rf "$part"' EXIT
g++ "${options[@]}" -Wl,-soname,libamdhip64.so.7 -o "$part/libamdhip64.so.7.0.0" "$sources/runtime.cpp" -ldl -pthread
g++ "${options[@]}" -Wl,-soname,libhiprtc.so.7 -DBUILTINS="\"$sources/amdgcn.cu\"" -DDIALECT="\"$dialect\"" \
  -o "$part/libhiprtc.so.7.0.0" "$sources/compiler.cpp" -ldl
mv "$part"/lib* "$target"
# The version is read from the name behind the link.
ln -sf libamdhip64.so.7.0.0 "$target/libamdhip64.so.7"
ln -sfn libhiprtc.so.7.0.0 "$part/libhiprtc.so.7"
mv "$part/libhiprtc.so.7" "$target/libhiprtc.so.7"
touch -h "$target/libhiprtc.so.7"
