package org.ep4j.backend.efa;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.Device;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.memory.Resources;

/** An open NIC. Closed by the resources that it was opened with. Safe for use from several threads. */
final class FabricDomain {
    private final FabricInfo info;
    private final NicProfile profile;
    private final NicFlow flow;
    private final long address;
    private final AtomicLong keys = new AtomicLong();

    private FabricDomain(FabricInfo info, NicProfile profile, long address) {
        this.info = info;
        this.profile = profile;
        this.flow = new NicFlow(profile.limits());
        this.address = address;
    }

    /**
     * Opens a NIC.
     *
     * @param list that has it
     * @param trafficClass DSCP value, or -1
     */
    static FabricDomain open(
            FabricList list, FabricInfo info, NicProfile profile, int trafficClass, Resources resources) {
        long address = FabricError.check(
                Libfabric.open(list.address(), info.index(), trafficClass),
                "fi_domain(" + info.provider() + ", " + info.domain() + ")");
        resources.add(() -> Libfabric.close(address));
        return new FabricDomain(info, profile, address);
    }

    FabricInfo info() {
        return info;
    }

    NicProfile profile() {
        return profile;
    }

    NicFlow flow() {
        return flow;
    }

    /**
     * Makes an endpoint. The caller closes it.
     *
     * @param slots writes that may be under way
     */
    long endpoint(int slots) {
        // Own writes, and what the peer may send before this rank looks; it also reports its progress.
        return FabricError.check(
                Libfabric.endpoint(address, slots, slots + Link.CREDIT + Records.COUNT),
                "fi_endpoint(" + info.provider() + ", " + info.domain() + ", " + slots + " writes)");
    }

    /**
     * What is against registering a kind of memory of GPUs, with what to do.
     */
    Optional<String> refusal(ExposedMemory.Kind kind) {
        return GpuMemory.refusal(kind, info, Libfabric.version(), Libfabric.deviceMemory(address));
    }

    /**
     * Registers memory.
     *
     * @param endpoint for which; 0 where the provider registers for all
     */
    Registered register(ExposedMemory memory, long endpoint, Resources resources) {
        long bytes = memory.memory().byteSize();
        boolean gpu = memory.kind() != ExposedMemory.Kind.HOST;
        Device device = gpu ? memory.memory().device() : Device.HOST;
        int file = memory.dmaBuf().map(ExposedMemory.DmaBuf::descriptor).orElse(-1);
        long begin = memory.dmaBuf().map(ExposedMemory.DmaBuf::offset).orElse(0L);
        long chunk = profile.registrationChunk();
        int count = chunk == Keys.WHOLE ? 1 : (int) Math.max(1, (bytes + chunk - 1) / chunk);
        long[] descriptors = new long[count];
        long[] remote = new long[count];
        NativeRecord out = new NativeRecord(16);
        for (int i = 0; i < count; i++) {
            long start = chunk == Keys.WHOLE ? 0 : i * chunk;
            long length = Math.min(bytes - start, chunk);
            long region = FabricError.check(
                    Libfabric.register(
                            address,
                            memory.memory().address() + start,
                            length,
                            keys.incrementAndGet(),
                            endpoint,
                            GpuMemory.hmem(device),
                            gpu ? device.ordinal() : 0,
                            file,
                            begin + start,
                            out.address()),
                    (gpu ? "fi_mr_regattr of " : "fi_mr_reg of ") + length + " bytes of " + memory.kind() + " on "
                            + info.domain());
            resources.add(() -> Libfabric.deregister(region));
            descriptors[i] = out.buffer().getLong(0);
            remote[i] = out.buffer().getLong(8);
        }
        return new Registered(
                new Keys(info.virtualAddresses(), chunk, descriptors),
                new Keys(info.virtualAddresses(), chunk, remote));
    }

    /**
     * Registered memory.
     *
     * @param mine descriptors for this rank's own writes
     * @param theirs keys for the peers'
     */
    record Registered(Keys mine, Keys theirs) {}
}
