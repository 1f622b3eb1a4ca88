#include "fiber.h"

#include <sys/mman.h>

#include <atomic>

namespace execution {
#ifdef __x86_64__
extern "C" void emulated_switch(Context* save, Context load);
__asm__(
    ".text\n.local emulated_switch\n.type emulated_switch,@function\nemulated_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
void start(Context* context, char* stack, void (*entry)()) {
  void** top = (void**)(stack + STACK - 64);  // aligned to 16
  *--top = nullptr;                           // where a caller would be: the entry never returns
  *--top = (void*)entry;
  for (int i = 0; i < 6; i++) *--top = nullptr;
  *context = top;
}
void switch_context(Context* save, Context* load) { emulated_switch(save, *load); }
#else
void start(Context* context, char* stack, void (*entry)()) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = STACK;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
}
void switch_context(Context* save, Context* load) { swapcontext(save, load); }
#endif

std::unique_ptr<Fiber> make_fiber() {
  auto made = std::make_unique<Fiber>();
  char* region = (char*)mmap(nullptr, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // A guard makes two mappings of one, and a process may have only some tens of thousands: not with very many devices.
  static std::atomic<int> guards{0};
  if (guards++ < 16384) mprotect(region, PAGE, PROT_NONE);
  made->stack = region + PAGE;
  return made;
}

void free_stack(const Fiber& fiber) { munmap(fiber.stack - PAGE, STACK + PAGE); }
}  // namespace execution
