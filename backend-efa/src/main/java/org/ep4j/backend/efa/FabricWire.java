package org.ep4j.backend.efa;

import org.ep4j.engine.memory.NativeRecord;

/** The endpoints of a link. */
final class FabricWire implements Wire {
    private final long[] endpoints;
    private final Runnable onClose;

    /**
     * Over endpoints that know their peers.
     *
     * @param endpoints by rail
     * @param onClose closes them
     */
    FabricWire(long[] endpoints, Runnable onClose) {
        this.endpoints = endpoints.clone();
        this.onClose = onClose;
    }

    @Override
    public int write(
            int rail, long remote, long key, long local, long descriptor, long length, int slot, int immediate) {
        return Libfabric.write(endpoints[rail], remote, key, local, descriptor, length, slot, immediate);
    }

    @Override
    public int poll(int rail, Completions into) {
        return Libfabric.poll(endpoints[rail], into.address(), into.capacity());
    }

    @Override
    public String failure(int rail) {
        NativeRecord out = new NativeRecord(256);
        int length = Libfabric.failure(endpoints[rail], out.address(), out.size());
        return out.text(Math.min(length, out.size() - 1));
    }

    @Override
    public String error(int error) {
        return FabricError.text(error);
    }

    @Override
    public void close() {
        onClose.run();
    }
}
