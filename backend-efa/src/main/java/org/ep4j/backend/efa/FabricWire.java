package org.ep4j.backend.efa;

import org.ep4j.transport.memory.NativeRecord;

/** The endpoints of a link. */
final class FabricWire implements Wire {
    private final long[] endpoints;
    private final boolean inOrder;
    private final Runnable onClose;

    /**
     * Over endpoints that know their peers.
     *
     * @param endpoints by rail
     * @param inOrder whether what was posted before has arrived wherever something that was posted later has
     * @param onClose closes them
     */
    FabricWire(long[] endpoints, boolean inOrder, Runnable onClose) {
        this.endpoints = endpoints.clone();
        this.inOrder = inOrder;
        this.onClose = onClose;
    }

    /**
     * Posts a write. Where there is order, the end of a batch proves that its bytes have arrived, so that these are done when
     * their source may be written again: providers without NICs answer what has arrived with messages of their own.
     */
    @Override
    public int write(
            int rail, long remote, long key, long local, long descriptor, long length, int slot, int immediate) {
        boolean early = inOrder && Immediate.kind(immediate) == Immediate.DATA;
        return Libfabric.write(endpoints[rail], remote, key, local, descriptor, length, slot, immediate, early ? 0 : 1);
    }

    @Override
    public int poll(int rail, Completions into) {
        return Libfabric.poll(endpoints[rail], into.address(), into.capacity());
    }

    @Override
    public String failure(int rail) {
        return NativeRecord.read(256, (out, capacity) -> Libfabric.failure(endpoints[rail], out, capacity));
    }

    @Override
    public String error(int error) {
        return FabricError.name(error);
    }

    @Override
    public void close() {
        onClose.run();
    }
}
