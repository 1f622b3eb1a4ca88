// Streams: queues with a system thread each.
#include <stdio.h>

#include <algorithm>
#include <chrono>

#include "driver.h"

namespace {
using namespace driver;

void run_stream(Stream* stream) {
  std::unique_lock<std::mutex> hold(lock);
  while (true) {
    changed.wait(hold, [&] { return !stream->queue.empty() || stream->ended; });
    if (stream->queue.empty()) break;
    Work next = stream->queue.front();
    changed.wait(hold, [&] { return std::all_of(next->after.begin(), next->after.end(), [](const Work& w) { return w->done; }); });
    next->after.clear();
    Device* device = stream->device;
    if (!device->error) {
      hold.unlock();
      int result = next->work ? next->work() : 0;
      hold.lock();
      if (result != 0) device->error = result;
    }
    next->work = nullptr;
    next->done = true;
    stream->queue.erase(stream->queue.begin());
    changed.notify_all();
  }
  if (!stream->legacy) delete stream;
}

}  // namespace

namespace driver {
// Called with the lock held.
Work enqueue_locked(Stream* stream, std::function<int()> work, std::vector<Work> after) {
  auto task = std::make_shared<Task>();
  task->work = std::move(work);
  task->after = std::move(after);
  Device* device = stream->device;
  if (stream->legacy) {
    for (Stream* other : device->streams) {
      if (other->blocking && other->last && !other->last->done) task->after.push_back(other->last);
    }
  } else if (stream->blocking && device->legacy.last && !device->legacy.last->done) {
    task->after.push_back(device->legacy.last);
  }
  stream->last = task;
  stream->queue.push_back(task);
  if (!stream->started) {
    stream->started = true;
    std::thread(run_stream, stream).detach();
  }
  changed.notify_all();
  return task;
}

// Waits of the host end some time, with an error, so that a kernel that never ends fails a test instead of stopping all.
bool wait_until_done(std::unique_lock<std::mutex>& hold, const Work& work) {
  static const long patience = setting("EMULATED_CUDA_PATIENCE", 120);
  if (changed.wait_for(hold, std::chrono::seconds(patience), [&] { return !work || work->done; })) return true;
  fprintf(stderr, "emulated CUDA: the host has waited %ld seconds (EMULATED_CUDA_PATIENCE) for work that does not end\n", patience);
  return false;
}

int wait_for(std::unique_lock<std::mutex>& hold, Device* device, const Work& work) {
  return wait_until_done(hold, work) ? (int)device->error : LAUNCH_TIMEOUT;
}

Stream* resolve(Device* device, void* handle) {
  if (handle == nullptr || handle == (void*)1) return &device->legacy;
  if (handle == (void*)2) {
    Stream*& own = device->per_thread[std::this_thread::get_id()];
    if (!own) {
      own = new Stream{device, true};
      device->streams.insert(own);
    }
    return own;
  }
  Stream* stream = live<Stream>(handle);
  return stream && device->streams.count(stream) ? stream : nullptr;
}

bool captures_blocking(Device* device) {
  return std::any_of(device->streams.begin(), device->streams.end(), [](Stream* s) { return s->capture && s->blocking; });
}

// Queues, or records into the graph that the stream is capturing.
int submit(Device* device, void* handle, std::function<int()> work) {
  std::unique_lock<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream) return INVALID_HANDLE;
  if (stream->capture) {
    if (stream->capture->invalid) return CAPTURE_INVALIDATED;
    stream->capture->nodes.push_back(std::move(work));
    return SUCCESS;
  }
  if (stream->legacy && captures_blocking(device)) return CAPTURE_IMPLICIT;
  Work task = enqueue_locked(stream, std::move(work));
  return synchronous() ? wait_for(hold, device, task) : SUCCESS;
}

int submit_and_wait(Device* device, std::function<int()> work) {
  std::unique_lock<std::mutex> hold(lock);
  if (captures_blocking(device)) return CAPTURE_IMPLICIT;
  return wait_for(hold, device, enqueue_locked(&device->legacy, std::move(work)));
}

void wait_for_device(std::unique_lock<std::mutex>& hold, Device* device) {
  std::vector<Work> all = device->orphans;
  all.push_back(device->legacy.last);
  for (Stream* stream : device->streams) all.push_back(stream->last);
  for (const Work& work : all) {
    if (!wait_until_done(hold, work)) device->error = LAUNCH_TIMEOUT;
  }
}
}  // namespace driver
using namespace driver;

EXPORT cuStreamCreate(Stream** stream, unsigned flags) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  if (flags > 1) return INVALID_VALUE;
  *stream = new Stream{device, flags == 0};
  device->streams.insert(*stream);
  handles.insert(*stream);
  return SUCCESS;
}
EXPORT cuStreamCreateWithPriority(Stream** stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
EXPORT cuCtxGetStreamPriorityRange(int* least, int* greatest) { *least = *greatest = 0; return SUCCESS; }

EXPORT cuStreamDestroy_v2(Stream* stream) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Stream>(stream)) return INVALID_HANDLE;
  handles.erase(stream);
  stream->device->streams.erase(stream);
  // What is queued still runs: frees of memory, too.
  auto& orphans = stream->device->orphans;
  orphans.erase(std::remove_if(orphans.begin(), orphans.end(), [](const Work& w) { return w->done; }), orphans.end());
  if (stream->last && !stream->last->done) orphans.push_back(stream->last);
  stream->ended = true;
  changed.notify_all();
  if (!stream->started) delete stream;
  return SUCCESS;
}

EXPORT cuStreamSynchronize(void* handle) {
  NEED_CONTEXT(device);
  std::unique_lock<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream) return INVALID_HANDLE;
  if (stream->capture) {
    stream->capture->invalid = true;
    return CAPTURE_UNSUPPORTED;
  }
  if (stream->legacy) {
    if (captures_blocking(device)) return CAPTURE_IMPLICIT;
    Work all = enqueue_locked(stream, nullptr);
    return wait_for(hold, device, all);
  }
  Work last = stream->last;
  return wait_for(hold, device, last);
}

EXPORT cuStreamQuery(void* handle) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream) return INVALID_HANDLE;
  if (stream->capture) {
    stream->capture->invalid = true;
    return CAPTURE_UNSUPPORTED;
  }
  return !stream->last || stream->last->done ? SUCCESS : NOT_READY;
}

EXPORT cuStreamGetCtx(void* handle, void** context) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  Stream* stream = handle <= (void*)2 ? resolve(device, handle) : live<Stream>(handle);
  if (!stream) return INVALID_HANDLE;
  *context = stream->device;
  return SUCCESS;
}

EXPORT cuStreamWaitEvent(void* handle, Event* event, unsigned) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream || !live<Event>(event)) return INVALID_HANDLE;
  if (event->captured) {
    if (!captures.count(event->captured) || (stream->capture && stream->capture != event->captured)) return 905;
    stream->capture = event->captured;
    event->captured->streams.insert(stream);
    return SUCCESS;
  }
  if (stream->capture) {
    // A dependency on work outside the capture.
    if (event->last && !event->last->done) {
      stream->capture->invalid = true;
      return 905;
    }
    return SUCCESS;
  }
  if (event->last && !event->last->done) enqueue_locked(stream, nullptr, {event->last});
  return SUCCESS;
}
