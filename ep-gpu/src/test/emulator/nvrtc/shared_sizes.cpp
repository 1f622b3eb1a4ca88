#include "shared_sizes.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <sstream>

namespace {
bool of_name(char c) { return std::isalnum((unsigned char)c) || c == '_' || c == '.'; }

std::set<std::string> names_in(const std::string& line) {
  std::set<std::string> names;
  for (size_t i = 0; i < line.size();) {
    size_t begin = i;
    while (i < line.size() && of_name(line[i])) i++;
    if (i > begin) names.insert(line.substr(begin, i - begin));
    i = std::max(i, begin + 1);
  }
  return names;
}
}  // namespace

std::map<std::string, unsigned long> shared_sizes(const std::string& assembly) {
  std::map<std::string, std::set<std::string>> uses;  // of functions, what they name
  std::map<std::string, unsigned long> variables;
  std::string function;
  bool shared = false;  // in the section of the variables that each system thread has, which stand for shared ones
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (first == ".section") {
      shared = second.rfind(".tbss", 0) == 0 || second.rfind(".tdata", 0) == 0;
    } else if (first == ".text" || first == ".data" || first == ".bss") {
      shared = false;
    } else if (first == ".type" && line.find("function") != std::string::npos) {
      uses[second.substr(0, second.find(','))];
    } else if (first == ".size" && shared) {
      unsigned long bytes = 0;
      words >> bytes;
      variables[second.substr(0, second.find(','))] = (bytes + 7) / 8 * 8;
    } else if (!first.empty() && first.back() == ':' && uses.count(first.substr(0, first.size() - 1))) {
      function = first.substr(0, first.size() - 1);
    } else if (first == ".size" || first.rfind(".Letext", 0) == 0) {
      function.clear();
    } else if (!function.empty() && first[0] != '.') {
      uses[function].merge(names_in(line));
    }
  }

  std::map<std::string, unsigned long> sizes;
  for (const auto& [name, named] : uses) {
    const std::string mark = "emulated_run_";
    size_t begin = name.find(mark), end = name.rfind("EPKv");
    if (begin == std::string::npos || end == std::string::npos) continue;
    std::set<std::string> seen;
    unsigned long bytes = 0;
    std::function<void(const std::string&)> visit = [&](const std::string& one) {
      if (!seen.insert(one).second) return;
      auto variable = variables.find(one);
      if (variable != variables.end() && one.find("emulated_thread") == std::string::npos) bytes += variable->second;
      auto inside = uses.find(one);
      if (inside == uses.end()) return;
      for (const std::string& next : inside->second) visit(next);
    };
    visit(name);
    sizes[name.substr(begin + mark.size(), end - begin - mark.size())] = bytes;
  }
  return sizes;
}
