// Where the forwarded calls go.
#pragma once
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace forward {
[[noreturn]] inline void die(const char* what, const char* name) {
  fprintf(stderr, "HIP on CUDA: %s %s: %s\n", what, name, dlerror());
  abort();
}

inline void* open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) die("cannot load", path.c_str());
  return library;
}

// The driver that EP_CUDA_DRIVER names, else the installed one.
inline void* driver() {
  static void* const library = [] {
    const char* named = getenv("EP_CUDA_DRIVER");
    return open(named && *named ? named : "libcuda.so.1");
  }();
  return library;
}

// Of the project's emulator, which runs groups of 64 lanes too.
inline bool is_emulated() {
  static const bool found = dlsym(driver(), "emulatedCallsBegin") != nullptr;
  return found;
}

inline int lanes() { return is_emulated() ? 64 : 32; }

// Calls a function that gives an int, by the types of the arguments.
template <typename... Types> int call(void* library, const char* name, Types... arguments) {
  void* found = dlsym(library, name);
  if (!found) die("no function", name);
  return ((int (*)(Types...))found)(arguments...);
}
}  // namespace forward
