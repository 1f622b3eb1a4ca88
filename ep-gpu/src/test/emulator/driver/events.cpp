// Events.
#include <time.h>

#include "driver.h"

using namespace driver;

EXPORT cuEventCreate(Event** event, unsigned flags) {
  NEED_CONTEXT(device);
  std::lock_guard<std::mutex> hold(lock);
  *event = new Event{device, (flags & 2) == 0, nullptr};
  handles.insert(*event);
  return SUCCESS;
}

EXPORT cuEventDestroy_v2(Event* event) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Event>(event)) return INVALID_HANDLE;
  handles.erase(event);
  delete event;
  return SUCCESS;
}

EXPORT cuEventRecord(Event* event, void* handle) {
  NEED_CONTEXT(device);
  std::unique_lock<std::mutex> hold(lock);
  Stream* stream = resolve(device, handle);
  if (!stream || !live<Event>(event) || event->device != device) return INVALID_HANDLE;
  if (stream->capture) {
    event->captured = stream->capture;
    return SUCCESS;
  }
  if (stream->legacy && captures_blocking(device)) return CAPTURE_IMPLICIT;
  event->captured = nullptr;
  event->time = std::make_shared<std::atomic<u64>>(0);
  auto time = event->time;
  event->last = enqueue_locked(stream, [time] {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *time = now.tv_sec * 1000000000ull + now.tv_nsec;
    return 0;
  });
  return SUCCESS;
}

EXPORT cuEventQuery(Event* event) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Event>(event)) return INVALID_HANDLE;
  if (event->captured) {
    if (captures.count(event->captured)) event->captured->invalid = true;
    return CAPTURED_EVENT;
  }
  if (event->device->error) return event->device->error;
  return !event->last || event->last->done ? SUCCESS : NOT_READY;
}

EXPORT cuEventSynchronize(Event* event) {
  std::unique_lock<std::mutex> hold(lock);
  if (!live<Event>(event)) return INVALID_HANDLE;
  if (event->captured) {
    if (captures.count(event->captured)) event->captured->invalid = true;
    return CAPTURED_EVENT;
  }
  Work last = event->last;
  return wait_for(hold, event->device, last);
}

EXPORT cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
  std::lock_guard<std::mutex> hold(lock);
  if (!live<Event>(from) || !live<Event>(to) || !from->timing || !to->timing || !from->last || !to->last) return INVALID_HANDLE;
  if (!from->last->done || !to->last->done) return NOT_READY;
  *milliseconds = ((double)*to->time - (double)*from->time) / 1e6;
  return SUCCESS;
}
EXPORT cuEventElapsedTime_v2(float* milliseconds, Event* from, Event* to) { return cuEventElapsedTime(milliseconds, from, to); }
