package org.ep4j.backend.ibrc;

import java.lang.ref.Reference;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.memory.NativeRecord;

/** An open device and its protection domain. */
final class NicDevice implements AutoCloseable {
    private final String name;
    private final long context;
    private final long pd;
    private final NativeRecord attributes;
    private final NicFlow flow;

    private NicDevice(String name, long context, long pd, NativeRecord attributes, FlowLimits limits) {
        this.flow = new NicFlow(limits);
        this.name = name;
        this.context = context;
        this.pd = pd;
        this.attributes = attributes;
    }

    /**
     * Opens a device.
     *
     * @param limits of what this rank has in flight on it
     */
    static NicDevice open(String name, FlowLimits limits) {
        NativeRecord text = NativeRecord.of(name);
        long context;
        try {
            context = Errno.check(Verbs.open(text.address()), "ibv_open_device of " + name);
        } finally {
            Reference.reachabilityFence(text);
        }
        try {
            NativeRecord attributes = new NativeRecord(32);
            Errno.check(Verbs.queryDevice(context, attributes.address()), "ibv_query_device of " + name);
            long pd = Errno.check(Verbs.allocPd(context), "ibv_alloc_pd on " + name);
            return new NicDevice(name, context, pd, attributes, limits);
        } catch (RuntimeException | Error e) {
            Verbs.close(context);
            throw e;
        }
    }

    String name() {
        return name;
    }

    /** What this rank has in flight on it. */
    NicFlow flow() {
        return flow;
    }

    long context() {
        return context;
    }

    long pd() {
        return pd;
    }

    /** True when its atomic operations are atomic at least among themselves. */
    boolean atomics() {
        return attributes.get(0) != 0;
    }

    /** Queue pairs of all processes. */
    int maxQueuePairs() {
        return attributes.get(1);
    }

    int maxRequests() {
        return attributes.get(2);
    }

    int maxCompletions() {
        return attributes.get(3);
    }

    /** Atomic operations of a queue pair that others may have under way here. */
    int maxIncomingAtomics() {
        return attributes.get(4);
    }

    /** Atomic operations of a queue pair that may be under way from here. */
    int maxOutgoingAtomics() {
        return attributes.get(5);
    }

    /** True when it is not InfiniBand or RoCE but iWARP. */
    boolean iwarp() {
        return attributes.get(6) == Verbs.TRANSPORT_IWARP;
    }

    /**
     * True when it registers dma-bufs: libibverbs has the call, driver and kernel take it. Asked as NCCL asks, with a file
     * that there is not, which must be what is wrong with it.
     */
    boolean dmabuf() {
        NativeRecord keys = new NativeRecord(8);
        try {
            return Verbs.regDmabufMr(pd, 0, 0, 0, -1, 0, keys.address()) == -Errno.EBADF;
        } finally {
            Reference.reachabilityFence(keys);
        }
    }

    /** Registers memory. */
    Registration register(ExposedMemory memory, Access access) {
        NativeRecord keys = new NativeRecord(8);
        long address = memory.memory().address();
        long bytes = memory.memory().byteSize();
        Errno.About about = Errno.About.of(memory.kind());
        String where = " of " + bytes + " bytes of " + memory.kind() + " on " + name;
        long region = memory.dmaBuf()
                .map(file -> Errno.check(
                        Verbs.regDmabufMr(
                                pd, file.offset(), bytes, address, file.descriptor(), access.flags(), keys.address()),
                        about,
                        "ibv_reg_dmabuf_mr" + where))
                .orElseGet(() -> Errno.check(
                        Verbs.regMr(pd, address, bytes, access.flags(), keys.address()), about, "ibv_reg_mr" + where));
        return new Registration(region, keys.get(0), keys.get(1));
    }

    /**
     * Memory that one device knows.
     *
     * @param region the object
     * @param localKey for requests of this rank
     * @param remoteKey for requests of others
     */
    record Registration(long region, int localKey, int remoteKey) implements AutoCloseable {
        @Override
        public void close() {
            Verbs.deregMr(region);
        }
    }

    @Override
    public void close() {
        Verbs.deallocPd(pd);
        Verbs.close(context);
    }
}
