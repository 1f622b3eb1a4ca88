// Modules, kernels and their launches.
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver.h"
#include "execution/execution.h"

namespace driver {
// Kernels in the process; closed when the module and every graph that launches them are gone.
struct Library {
  int file = -1;
  void* handle = nullptr;
  emulated::Module* symbol = nullptr;

  ~Library() {
    if (handle) dlclose(handle);
    if (file >= 0) close(file);
  }
};

struct Module {
  Device* device;
  std::shared_ptr<Library> library;
  std::set<struct Function*> functions;
};

struct Function {
  Module* module;
  std::string name;
  emulated::Kernel* kernel;
  u64 static_shared;
  int dynamic_limit = 48 * 1024;
};

static void unload(Module* module) {
  for (Function* function : module->functions) {
    handles.erase(function);
    delete function;
  }
  module->device->modules.erase(module);
  handles.erase(module);
  delete module;
}

void unload_modules(Device* device) {
  while (!device->modules.empty()) unload(*device->modules.begin());
}
}  // namespace driver
using namespace driver;

EXPORT cuModuleLoadData(Module** module, const unsigned char* image) {
  NEED_CONTEXT(device);
  {
    std::lock_guard<std::mutex> hold(lock);
    if (int result = forbidden_while_capturing()) return result;
  }
  if (memcmp(image, "\177ELF", 4) != 0) return INVALID_IMAGE;
  // The size of a shared library: its table of sections is the last part.
  u64 sections;
  unsigned short size, count;
  memcpy(&sections, image + 40, 8);
  memcpy(&size, image + 58, 2);
  memcpy(&count, image + 60, 2);
  u64 bytes = sections + (u64)size * count;
  auto library = std::make_shared<Library>();
  library->file = (int)syscall(SYS_memfd_create, "emulated kernels", 1u /* close on exec */);
  if (library->file < 0) return OUT_OF_MEMORY;
  for (u64 done = 0; done < bytes;) {
    ssize_t n = write(library->file, image + done, bytes - done);
    if (n <= 0) return OUT_OF_MEMORY;
    done += n;
  }
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), library->file);
  // The number of the file is part of the path, so it stays open as long as the library: the loader knows libraries by their paths.
  library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  library->symbol = library->handle ? (emulated::Module*)dlsym(library->handle, "emulated_module") : nullptr;
  if (!library->symbol) {
    fprintf(stderr, "emulated CUDA: a module cannot be loaded: %s\n", dlerror());
    return INVALID_IMAGE;
  }
  std::lock_guard<std::mutex> hold(lock);
  *module = new Module{device, library, {}};
  handles.insert(*module);
  device->modules.insert(*module);
  return SUCCESS;
}

EXPORT cuModuleUnload(Module* module) {
  NEED_CONTEXT(device);
  std::unique_lock<std::mutex> hold(lock);
  if (!live<Module>(module)) return INVALID_HANDLE;
  if (int result = forbidden_while_capturing()) return result;
  wait_for_device(hold, module->device);
  unload(module);
  return SUCCESS;
}

EXPORT cuModuleGetFunction(Function** function, Module* module, const char* name) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Module>(module)) return INVALID_HANDLE;
  void* library = module->library->handle;
  auto* kernel = (emulated::Kernel*)dlsym(library, (std::string("emulated_kernel_") + name).c_str());
  auto* shared = (u64*)dlsym(library, (std::string("emulated_shared_") + name).c_str());
  if (!kernel || !shared) return NOT_FOUND;
  *function = new Function{module, name, kernel, *shared};
  module->functions.insert(*function);
  handles.insert(*function);
  return SUCCESS;
}

EXPORT cuFuncGetAttribute(int* value, int attribute, Function* function) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Function>(function)) return INVALID_HANDLE;
  switch (attribute) {
    case 0: *value = function->kernel->max_threads; break;
    case 1: *value = function->static_shared; break;
    case 4: *value = 32; break;
    case 5: case 6: *value = capability(); break;
    case 8: *value = function->dynamic_limit; break;
    default: *value = 0;
  }
  return SUCCESS;
}

EXPORT cuFuncSetAttribute(Function* function, int attribute, int value) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Function>(function)) return INVALID_HANDLE;
  if (attribute != 8) return SUCCESS;
  if (value < 0 || value + function->static_shared > shared_limit()) return INVALID_VALUE;
  function->dynamic_limit = value;
  return SUCCESS;
}

EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* function, int threads, u64 dynamic) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Function>(function)) return INVALID_HANDLE;
  *blocks = (unsigned)threads <= function->kernel->max_threads && dynamic + function->static_shared <= shared_limit();
  return SUCCESS;
}

EXPORT cuLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  NEED_CONTEXT(device);
  Launch launch;
  std::shared_ptr<Library> library;
  auto arguments = std::make_shared<std::vector<u64>>();
  {
    std::lock_guard<std::mutex> hold(lock);
    if (!live<Function>(function) || function->module->device != device) return INVALID_HANDLE;
    if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0 || gx > INT_MAX || gy > 65535 || gz > 65535) return INVALID_VALUE;
    if ((u64)bx * by * bz > 1024 || (int)shared > function->dynamic_limit || shared + function->static_shared > shared_limit()) return INVALID_VALUE;
    if (bx * by * bz > function->kernel->max_threads) return LAUNCH_OUT_OF_RESOURCES;
    u64 bytes = function->kernel->argument_bytes;
    arguments->resize((bytes + 7) / 8);
    if (parameters) {
      memcpy(arguments->data(), parameters[0], bytes);
    } else {
      const void* buffer = nullptr;
      u64 given = 0;
      for (int i = 0; extra && extra[i]; i += 2) {
        if (extra[i] == (void*)1) buffer = extra[i + 1];
        if (extra[i] == (void*)2) given = *(u64*)extra[i + 1];
      }
      if (!buffer || given != bytes) return INVALID_VALUE;
      memcpy(arguments->data(), buffer, bytes);
    }
    library = function->module->library;
    launch = Launch{function->name, function->kernel, library->symbol, nullptr, {gx, gy, gz}, {bx, by, bz}, shared, device->ordinal};
  }
  return submit(device, stream, [launch, arguments, library]() mutable {
    launch.arguments = arguments->data();
    return run_kernel(launch);
  });
}

// Attributes only say what may be done.
struct LaunchConfig { unsigned gx, gy, gz, bx, by, bz, shared; void* stream; const void* attributes; unsigned attribute_count; };

EXPORT cuLaunchKernelEx(const LaunchConfig* config, Function* function, void** parameters, void** extra) {
  const LaunchConfig& c = *config;
  if (c.attribute_count != 0 && !c.attributes) return INVALID_VALUE;
  return cuLaunchKernel(function, c.gx, c.gy, c.gz, c.bx, c.by, c.bz, c.shared, c.stream, parameters, extra);
}

EXPORT cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  NEED_CONTEXT(device);
  return submit(device, stream, [=] { function(data); return 0; });
}
