#!/usr/bin/env bash
# Builds an installation of NVSHMEM for emulated GPUs into a folder: lib and include. CUDA's headers, of which none is needed, are there too.
# Usage: build.sh FOLDER. Does nothing where it is newer than the sources.
set -euo pipefail

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1/lib"
target=$(cd "$1" && pwd)
library=$target/lib/libnvshmem_host.so.3
if [ -e "$library" ] && [ -z "$(find "$sources" -newer "$library" -print -quit)" ]; then
  exit 0
fi
command -v g++ >/dev/null || {
  echo "ep4j: no g++, so tests on the emulated GPU are skipped (Debian: apt-get install g++)" >&2
  exit 1
}
rm -rf "$target/include"
cp -r "$sources/include" "$target/include"
: >"$target/lib/libnvshmem_device.a"
g++ -std=c++17 -O2 -g -Wall -Wextra -Werror -fPIC -fvisibility=hidden -shared -Wl,-soname,libnvshmem_host.so.3 -o "$library.part" "$sources/host.cpp" -ldl
mv "$library.part" "$library"
