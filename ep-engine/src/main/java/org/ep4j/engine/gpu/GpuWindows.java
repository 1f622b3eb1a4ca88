package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The memory by which a GPU exchanges with peers that it does not map, or that do not map it: one window for each way to post.
 *
 * @param host from which threads of the host post
 * @param device from which kernels post, which its backend frees
 */
public record GpuWindows(Optional<GpuWindow> host, Optional<GpuWindow> device) implements AutoCloseable {
    /** No windows: the rank and all its peers map each other. */
    public static final GpuWindows NONE = new GpuWindows(Optional.empty(), Optional.empty());

    /** The windows that exist. */
    List<GpuWindow> all() {
        List<GpuWindow> all = new ArrayList<>();
        host.ifPresent(all::add);
        device.ifPresent(all::add);
        return all;
    }

    /** The window of one direction of a pair, one of which is this rank. */
    Optional<GpuWindow> of(PostedPaths paths, int from, int to) {
        if (!paths.isPosted(from, to)) {
            return Optional.empty();
        }
        return paths.isByDevice(from, to) ? device : host;
    }

    /** Gives all of it back; nothing may be registered any more. */
    @Override
    public void close() {
        all().forEach(GpuWindow::close);
    }
}
