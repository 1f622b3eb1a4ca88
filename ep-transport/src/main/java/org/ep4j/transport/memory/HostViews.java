package org.ep4j.transport.memory;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.ep4j.DeviceMemory;
import org.ep4j.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Cache of views of tensors' memory: to make a view takes a native call and some hundred bytes. A view is of addresses, not of what was
 * allocated there, so that it stays right when memory is freed and allocated again. For any thread.
 */
public final class HostViews {
    /** More than the tensors of the requests of a model's layer; a power of two. */
    private static final int MOST = 64;

    /** By a hash of the address; another view replaces the one before it. */
    private final AtomicReferenceArray<@Nullable HostMemory> views = new AtomicReferenceArray<>(MOST);

    /** Creates no view yet. */
    public HostViews() {}

    /** Returns access to all of a tensor's memory. */
    public HostMemory of(Tensor tensor) {
        DeviceMemory memory = tensor.memory();
        int at = index(memory.address());
        HostMemory view = views.getAcquire(at);
        if (view == null || !view.isOf(memory)) {
            view = HostMemory.of(memory);
            views.setRelease(at, view);
        }
        return view;
    }

    /** The low bits of tensors' addresses are mostly zero, so that all bits are mixed. */
    private static int index(long address) {
        return (int) ((address * 0x9E3779B97F4A7C15L) >>> (Long.SIZE - Integer.numberOfTrailingZeros(MOST)));
    }
}
