// Capture and replay: what is captured runs in the order in which it was issued.
#include <utility>

#include "driver.h"

namespace driver {
thread_local int exchanged_mode = 0;

int forbidden_while_capturing() {
  for (Graph* graph : captures) {
    bool mine = graph->thread == std::this_thread::get_id();
    if (exchanged_mode == 2 || graph->mode == 2) continue;
    if (graph->mode == 1 && !mine) continue;
    if (exchanged_mode == 1 && !mine) continue;
    graph->invalid = true;
    return CAPTURE_UNSUPPORTED;
  }
  return SUCCESS;
}
}  // namespace driver
using namespace driver;

EXPORT cuStreamBeginCapture_v2(void* handle, int mode) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream) return INVALID_HANDLE;
  if (stream->legacy) return CAPTURE_UNSUPPORTED;
  if (stream->capture) return INVALID_VALUE;
  Graph* graph = new Graph{stream, mode, std::this_thread::get_id(), {}, {stream}};
  stream->capture = graph;
  captures.insert(graph);
  handles.insert(graph);
  return SUCCESS;
}

EXPORT cuStreamEndCapture(void* handle, Graph** result) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream) return INVALID_HANDLE;
  if (!stream->capture || stream->capture->origin != stream) return INVALID_VALUE;
  Graph* graph = stream->capture;
  for (Stream* joined : graph->streams) joined->capture = nullptr;
  captures.erase(graph);
  if (graph->invalid) {
    *result = nullptr;
    return CAPTURE_INVALIDATED;
  }
  *result = graph;
  return SUCCESS;
}

EXPORT cuStreamIsCapturing(void* handle, int* status) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream) return INVALID_HANDLE;
  if (stream->legacy && captures_blocking(device)) return CAPTURE_IMPLICIT;
  *status = !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
  return SUCCESS;
}

EXPORT cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, exchanged_mode);
  return SUCCESS;
}

EXPORT cuGraphInstantiateWithFlags(Executable** executable, Graph* graph, u64) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Graph>(graph)) return INVALID_VALUE;
  *executable = new Executable{graph->nodes};
  handles.insert(*executable);
  return SUCCESS;
}

EXPORT cuGraphLaunch(Executable* executable, void* stream) {
  NEED_CONTEXT(device);
  std::vector<std::function<int()>> nodes;
  {
    std::lock_guard<std::mutex> hold(lock);
    if (!live<Executable>(executable)) return INVALID_VALUE;
    nodes = executable->nodes;
  }
  return submit(device, stream, [nodes]() mutable {
    for (auto& node : nodes) {
      if (int result = node()) return result;
    }
    return 0;
  });
}

EXPORT cuGraphExecDestroy(Executable* executable) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Executable>(executable)) return INVALID_VALUE;
  handles.erase(executable);
  delete executable;
  return SUCCESS;
}

EXPORT cuGraphDestroy(Graph* graph) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Graph>(graph)) return INVALID_VALUE;
  handles.erase(graph);
  delete graph;
  return SUCCESS;
}

EXPORT cuGraphGetNodes(Graph* graph, void**, u64* count) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Graph>(graph)) return INVALID_VALUE;
  *count = graph->nodes.size();
  return SUCCESS;
}
