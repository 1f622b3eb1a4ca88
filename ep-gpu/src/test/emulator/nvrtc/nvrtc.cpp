// Stands in for libnvrtc: compiles kernels for the CPU with g++, against emulated.cu in place of cuda.cu.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "shared_sizes.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// The texts, put into this library by the assembler.
#define EMBED(name, file)                                                                       \
  __asm__(".section .rodata\n.global " #name "\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.previous\n"); \
  extern "C" const char name[];
EMBED(kernel_header, SOURCES "/kernel.h")
EMBED(dialect, SOURCES "/emulated.cu")

extern char** environ;

namespace {
struct Program {
  std::string source, name, log, code;
  std::vector<std::pair<std::string, std::string>> headers;  // names and texts
};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The source with the dialect of CUDA replaced; empty when it is not there.
std::string emulated_source(const std::string& source) {
  const std::string begin_mark = "#line 1 \"cuda.cu\"\n", end_mark = "// end of the dialect\n";
  size_t begin = source.find(begin_mark), end = source.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return std::string("#line 1 \"kernel.h\"\n") + kernel_header + source.substr(0, begin) + "#line 1 \"emulated.cu\"\n" + dialect + source.substr(end + end_mark.size());
}

// Adds what the command says to the log.
int run(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  pid_t child;
  int result = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (result != 0) return result;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

// Puts the bytes of static shared memory of every kernel behind its code, as the symbols emulated_shared_NAME; false when they are too many.
bool add_shared_sizes(const std::string& assembly, std::string& log) {
  constexpr unsigned long LIMIT = 48 * 1024;
  bool fits = true;
  std::ofstream out(assembly, std::ios::binary | std::ios::app);
  for (const auto& [kernel, bytes] : shared_sizes(read(assembly))) {
    out << "\t.data\n\t.globl emulated_shared_" << kernel << "\nemulated_shared_" << kernel << ":\n\t.quad " << bytes << "\n";
    if (bytes <= LIMIT) continue;
    log += "kernel " + kernel + " uses too much shared data (" + std::to_string(bytes) + " bytes, " + std::to_string(LIMIT) + " max)\n";
    fits = false;
  }
  return fits;
}

enum { SUCCESS, OUT_OF_MEMORY, PROGRAM_CREATION_FAILURE, INVALID_INPUT, INVALID_PROGRAM, INVALID_OPTION, COMPILATION };
}  // namespace

EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return SUCCESS;
}

EXPORT int nvrtcCreateProgram(Program** program, const char* source, const char* name, int headers, const char* const* texts, const char* const* names) {
  if (!source || headers < 0) return INVALID_INPUT;
  *program = new Program{source, name ? name : "kernels.cu", "", "", {}};
  for (int i = 0; i < headers; i++) (*program)->headers.emplace_back(names[i], texts[i]);
  return SUCCESS;
}

EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return SUCCESS;
}

EXPORT int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  std::string source = emulated_source(program->source);
  if (source.empty()) {
    program->log = "the emulator finds no dialect: the source must hold cuda.cu, from its #line to \"// end of the dialect\"\n";
    return COMPILATION;
  }
  program->log.clear();
  const char* temporary = getenv("TMPDIR");
  std::string folder = std::string(temporary && *temporary ? temporary : "/tmp") + "/ep4j-emulator-XXXXXX";
  if (!mkdtemp(folder.data())) return PROGRAM_CREATION_FAILURE;
  const std::string cpp = folder + "/kernels.cpp", assembly = folder + "/kernels.s", so = folder + "/kernels.so", log = folder + "/log";
  // Compiling takes longer than what tests run: little is optimized, and of debug information there are lines alone.
  std::vector<std::string> command = {"g++", "-S", "-std=c++17", "-Og", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", "-fno-exceptions", "-fstack-clash-protection", "-w"};
  std::string architecture = "900";
  if (!program->headers.empty()) command.push_back("-I" + folder + "/headers");
  for (const auto& [name, text] : program->headers) {
    std::filesystem::path file = folder + "/headers/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  for (int i = 0; i < count; i++) {
    const std::string option = options[i];
    size_t digits = option.find("sm_");
    if (digits == std::string::npos) digits = option.find("compute_");
    if (digits != std::string::npos) {
      architecture = std::to_string(10 * std::atoi(option.c_str() + option.find('_', digits) + 1));
    } else if (option.rfind("-D", 0) == 0 || option.rfind("-U", 0) == 0 || option.rfind("-I", 0) == 0) {
      command.push_back(option);
    } else if (option.rfind("--define-macro=", 0) == 0) {
      command.push_back("-D" + option.substr(15));
    }
  }
  command.push_back("-D__CUDA_ARCH__=" + architecture);
  if (const char* lanes = getenv("EMULATED_LANES")) command.push_back(std::string("-DEMULATED_LANES=") + lanes);
  std::vector<std::string> link = {"g++", "-shared", "-o", so, assembly, "-lm"};
  if (const char* sanitize = getenv("EMULATED_SANITIZE")) {
    command.push_back(std::string("-fsanitize=") + sanitize);
    link.push_back(command.back());
  }
  command.insert(command.end(), {"-o", assembly, cpp});
  std::ofstream(cpp, std::ios::binary) << source;
  int status = run(command, log);
  bool fits = status != 0 || add_shared_sizes(assembly, program->log);
  if (status == 0) status = run(link, log);
  program->log += read(log);
  program->code = read(so);
  if (!getenv("EMULATED_KEEP")) {
    for (const std::string& file : {cpp, assembly, so, log}) unlink(file.c_str());
    std::filesystem::remove_all(folder);
  }
  if (status != 0 && program->log.empty()) program->log = "g++ could not be run\n";
  return status == 0 && fits && !program->code.empty() ? SUCCESS : COMPILATION;
}

EXPORT int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
  *bytes = program->log.size() + 1;
  return SUCCESS;
}

EXPORT int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return SUCCESS;
}

EXPORT int nvrtcGetCUBINSize(Program* program, size_t* bytes) {
  *bytes = program->code.size();
  return SUCCESS;
}

EXPORT int nvrtcGetCUBIN(Program* program, char* code) {
  std::memcpy(code, program->code.data(), program->code.size());
  return SUCCESS;
}

EXPORT int nvrtcGetPTXSize(Program* program, size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
EXPORT int nvrtcGetPTX(Program* program, char* code) { return nvrtcGetCUBIN(program, code); }

EXPORT const char* nvrtcGetErrorString(int result) {
  static const char* const names[] = {"NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION"};
  return result >= 0 && result <= COMPILATION ? names[result] : "NVRTC_ERROR unknown";
}

EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = 4;
  return SUCCESS;
}

EXPORT int nvrtcGetSupportedArchs(int* architectures) {
  for (int one : {80, 89, 90, 100}) *architectures++ = one;
  return SUCCESS;
}
