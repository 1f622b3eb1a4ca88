// How much static shared memory each kernel has: of the variables that its code and what that calls use, as for a GPU.
#pragma once
#include <map>
#include <string>

// Bytes by the kernel's name, from what the compiler made of the kernels.
std::map<std::string, unsigned long> shared_sizes(const std::string& assembly);
