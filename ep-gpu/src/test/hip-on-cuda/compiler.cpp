// Stands in for libhiprtc.so: compiles kernels in the HIP dialect by NVRTC. The text of hip.cu stays as it is, except for how functions and
// shared variables are declared, and whether threads run in step; the builtins of AMD's compiler that it uses are in amdgcn.cu, by the names of cuda.cu.
// Knows gfx90a, gfx942, gfx950 and what HIP_ON_CUDA_KNOWS names; never answers for what HIP_ON_CUDA_HANGS_FOR names; aborts for all others.
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "libraries.h"

// The texts, put into this library by the assembler, and its alone: NVRTC, if emulated, has texts too.
#define EMBED(name, file)                                                                       \
  __asm__(".section .rodata\n.global " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.previous\n"); \
  extern "C" const char name[];
EMBED(dialect, DIALECT)
EMBED(builtins, BUILTINS)

namespace {
enum { SUCCESS = 0, INVALID_INPUT = 3, INVALID_OPTION = 5, COMPILATION = 6 };

struct Program {
  std::string source, name, log, code;
};

// The first file of a folder whose name begins so; empty when there is none.
std::string first(const std::string& folder, const char* begin) {
  std::string found;
  if (DIR* open = opendir(folder.c_str())) {
    while (dirent* entry = readdir(open)) {
      std::string name = entry->d_name;
      if (name.rfind(begin, 0) == 0 && (found.empty() || name < found)) found = name;
    }
    closedir(open);
  }
  return found.empty() ? "" : folder + "/" + found;
}

// The NVRTC in the folder that EP_NVRTC names, or of which it names the library.
void* nvrtc() {
  static void* const library = [] {
    const char* named = getenv("EP_NVRTC");
    std::string folder = named ? named : "";
    struct stat status;
    if (stat(folder.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) folder = folder.substr(0, folder.rfind('/'));
    std::string intrinsics = first(folder, "libnvrtc-builtins.so."), compiler = first(folder, "libnvrtc.so.");
    if (intrinsics.empty() || compiler.empty()) forward::die("EP_NVRTC must name the folder of an NVRTC, and is", named ? named : "not set");
    // A compiler outside the linker's folders finds it only when it is loaded already.
    forward::open(intrinsics);
    return forward::open(compiler);
  }();
  return library;
}

#define NVRTC(name, ...) forward::call(nvrtc(), #name, __VA_ARGS__)

// Lines of hip.cu for which those of cuda.cu stand: declarations, and that threads run in step, which those of CUDA do not.
bool is_replaced(const std::string& line) {
  for (const char* begin : {"#define EP_DEVICE ", "#define EP_MEMBER ", "#define EP_NOINLINE ", "#define EP_KERNEL(", "#define EP_KERNEL_BESIDE(", "#define EP_SHARED ", "#define EP_DYNAMIC_SHARED(", "#define EP_IN_STEP ", "typedef u32 Words "}) {
    if (line.rfind(begin, 0) == 0) return true;
  }
  return false;
}

// In the place of the source; empty when it is not in the HIP dialect.
std::string translated(const std::string& source) {
  const std::string begin = "namespace ep {\n#line 1 \"hip.cu\"\n";
  const size_t dialect_at = source.find(begin);
  if (dialect_at == std::string::npos) return "";
  std::string out = source.substr(0, dialect_at) + "namespace ep {\n#line 1 \"cuda.cu\"\n" + dialect + "#line 1 \"amdgcn.cu\"\n" + builtins + "namespace amd {\n#line 1 \"hip.cu\"\n";
  for (size_t at = dialect_at + begin.size(); at < source.size();) {
    size_t end = source.find('\n', at);
    end = end == std::string::npos ? source.size() : end + 1;
    std::string line = source.substr(at, end - at);
    out += is_replaced(line) ? "\n" : line;
    at = end;
  }
  return out + "}\n";
}

// sm_90. The process may have asked for nothing but a compilation yet.
std::string gpu() {
  int major = 0, minor = 0, device = 0;
  forward::call(forward::driver(), "cuInit", 0u);
  forward::call(forward::driver(), "cuDeviceGetAttribute", &major, 75, device);
  forward::call(forward::driver(), "cuDeviceGetAttribute", &minor, 76, device);
  return "sm_" + std::to_string(major) + std::to_string(minor);
}
// Whether an environment variable is the name of an architecture.
bool named(const char* variable, const std::string& architecture) {
  const char* value = getenv(variable);
  return value && architecture == value;
}
}  // namespace

EXPORT int hiprtcCreateProgram(Program** program, const char* source, const char* name, int headers, const char* const*, const char* const*) {
  if (!source || headers != 0) return INVALID_INPUT;
  *program = new Program{source, name ? name : "kernels.hip", "", ""};
  return SUCCESS;
}

EXPORT int hiprtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return SUCCESS;
}

EXPORT int hiprtcCompileProgram(Program* program, int count, const char* const* options) {
  const std::string architecture = "--offload-arch=";
  for (int i = 0; i < count; i++) {
    const std::string option = options[i];
    if (option.rfind(architecture, 0) == 0) {
      const std::string name = option.substr(architecture.size());
      if (named("HIP_ON_CUDA_HANGS_FOR", name)) pause();
      if (name == "gfx90a" || name == "gfx942" || name == "gfx950" || named("HIP_ON_CUDA_KNOWS", name)) continue;
      // As the real one does.
      fprintf(stderr, "munmap_chunk(): invalid pointer\n");
      abort();
    }
    if (option != "-std=c++17" && option != "-O3" && option != "-ffp-contract=off") {
      program->log = "unknown option " + option + "\n";
      return INVALID_OPTION;
    }
  }
  std::string source = translated(program->source);
  if (source.empty()) {
    program->log = "the source is not in the dialect of hip.cu\n";
    return COMPILATION;
  }
  std::vector<std::string> translated_options = {"--std=c++17", "-default-device", "--fmad=false", "-arch=" + gpu()};
  if (forward::is_emulated()) translated_options.push_back("-DEMULATED_LANES=" + std::to_string(forward::lanes()));
  std::vector<const char*> pointers;
  for (const std::string& option : translated_options) pointers.push_back(option.c_str());
  void* compiled = nullptr;
  int result = NVRTC(nvrtcCreateProgram, &compiled, source.c_str(), program->name.c_str(), 0, (void*)nullptr, (void*)nullptr);
  if (result != 0) return result;
  result = NVRTC(nvrtcCompileProgram, compiled, (int)pointers.size(), pointers.data());
  size_t bytes = 0;
  if (NVRTC(nvrtcGetProgramLogSize, compiled, &bytes) == 0 && bytes > 1) {
    program->log.resize(bytes);
    NVRTC(nvrtcGetProgramLog, compiled, program->log.data());
    program->log.resize(bytes - 1);
  }
  if (result == 0) result = NVRTC(nvrtcGetCUBINSize, compiled, &bytes);
  if (result == 0) {
    program->code.resize(bytes);
    result = NVRTC(nvrtcGetCUBIN, compiled, program->code.data());
  }
  NVRTC(nvrtcDestroyProgram, &compiled);
  return result;
}

EXPORT int hiprtcGetProgramLogSize(Program* program, size_t* bytes) {
  *bytes = program->log.size() + 1;
  return SUCCESS;
}

EXPORT int hiprtcGetProgramLog(Program* program, char* log) {
  memcpy(log, program->log.c_str(), program->log.size() + 1);
  return SUCCESS;
}

EXPORT int hiprtcGetCodeSize(Program* program, size_t* bytes) {
  *bytes = program->code.size();
  return SUCCESS;
}

EXPORT int hiprtcGetCode(Program* program, char* code) {
  memcpy(code, program->code.data(), program->code.size());
  return SUCCESS;
}

EXPORT const char* hiprtcGetErrorString(int result) {
  switch (result) {
    case SUCCESS: return "HIPRTC_SUCCESS";
    case INVALID_INPUT: return "HIPRTC_ERROR_INVALID_INPUT";
    case INVALID_OPTION: return "HIPRTC_ERROR_INVALID_OPTION";
    case COMPILATION: return "HIPRTC_ERROR_COMPILATION";
    default: return "HIPRTC_ERROR unknown";
  }
}
