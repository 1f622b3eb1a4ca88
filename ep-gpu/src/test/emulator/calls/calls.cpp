// Which calls of the driver a system thread makes: what an operation costs on the host shows in their number.
#include <dlfcn.h>
#include <string.h>

#include <string>
#include <vector>

namespace {
struct Recording {
  bool on = false;
  int depth = 0;  // calls that calls make themselves are not counted
  std::vector<const char*> names{};
};
thread_local Recording recording;

// The name of a function that the library exports, or null.
const char* exported(void* function) {
  Dl_info found;
  if (!dladdr(function, &found) || found.dli_saddr != function || !found.dli_sname) return nullptr;
  return strncmp(found.dli_sname, "cu", 2) == 0 ? found.dli_sname : nullptr;
}
}  // namespace

extern "C" {
void __cyg_profile_func_enter(void* function, void*) {
  if (!recording.on) return;
  const char* name = exported(function);
  if (name && recording.depth++ == 0) recording.names.push_back(name);
}

void __cyg_profile_func_exit(void* function, void*) {
  if (recording.on && exported(function)) recording.depth--;
}

__attribute__((visibility("default"))) void emulatedCallsBegin() { recording = {true, 0, {}}; }

// Ends the recording; the names, a line each, as far as there is room.
__attribute__((visibility("default"))) void emulatedCallsEnd(char* text, int bytes) {
  recording.on = false;
  std::string all;
  for (const char* name : recording.names) all += std::string(name) + "\n";
  strncpy(text, all.c_str(), bytes - 1);
  text[bytes - 1] = 0;
  recording = {};
}
}
