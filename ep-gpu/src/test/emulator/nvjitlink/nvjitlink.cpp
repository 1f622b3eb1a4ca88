// Stands in for libnvJitLink: there is one object, which its libraries are linked with when it is loaded.
#include <cstring>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
struct Linker {
  std::string object;
};
enum { SUCCESS, UNRECOGNIZED_OPTION, MISSING_ARCH, INVALID_INPUT };
enum { INPUT_CUBIN = 1, INPUT_LIBRARY = 6 };
}  // namespace

EXPORT int nvJitLinkCreate(Linker** linker, unsigned count, const char* const* options) {
  bool architecture = false;
  for (unsigned i = 0; i < count; i++) architecture |= std::strncmp(options[i], "-arch=sm_", 9) == 0;
  if (!architecture) return MISSING_ARCH;
  *linker = new Linker{};
  return SUCCESS;
}

EXPORT int nvJitLinkDestroy(Linker** linker) {
  delete *linker;
  *linker = nullptr;
  return SUCCESS;
}

EXPORT int nvJitLinkAddData(Linker* linker, int type, const char* data, size_t bytes, const char*) {
  if (type != INPUT_CUBIN || !linker->object.empty()) return INVALID_INPUT;
  linker->object.assign(data, bytes);
  return SUCCESS;
}

EXPORT int nvJitLinkAddFile(Linker*, int type, const char* file) { return type == INPUT_LIBRARY && file ? SUCCESS : INVALID_INPUT; }
EXPORT int nvJitLinkComplete(Linker* linker) { return linker->object.empty() ? INVALID_INPUT : SUCCESS; }

EXPORT int nvJitLinkGetLinkedCubinSize(Linker* linker, size_t* bytes) {
  *bytes = linker->object.size();
  return SUCCESS;
}

EXPORT int nvJitLinkGetLinkedCubin(Linker* linker, char* cubin) {
  std::memcpy(cubin, linker->object.data(), linker->object.size());
  return SUCCESS;
}

EXPORT int nvJitLinkGetErrorLogSize(Linker*, size_t* bytes) {
  *bytes = 1;
  return SUCCESS;
}

EXPORT int nvJitLinkGetErrorLog(Linker*, char* log) {
  *log = 0;
  return SUCCESS;
}
