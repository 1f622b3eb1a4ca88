package org.ep4j.engine.threads;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.config.ConfigKey;
import org.ep4j.engine.driver.GpuSharing;
import org.ep4j.engine.driver.MemoryHandle;
import org.ep4j.engine.driver.SharedMemory;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;
import org.ep4j.spi.SymmetricBuffer;

/**
 * Connects ranks that are threads of this JVM and of one host, made up or not: they use each other's memory, of the host or of
 * GPUs. For tests of the engine, and of the conformance kit, which has it from this module's test jar.
 */
public final class ThreadsBackendProvider implements EpBackendProvider {
    /** Its name. */
    public static final String ID = "threads";

    /** Buffers of this JVM whose peers' memory was unmapped before they were closed. */
    private static final AtomicLong UNMAPPED = new AtomicLong();

    /** What a probe of this rank finds; one that is not to run fails. */
    private static final ConfigKey<Boolean> PROBED =
            ConfigKey.flag("ep.threads.probed", true, "false lets the probe fail with an exception");

    /** Number of buffers of this JVM whose peers' memory was unmapped before they were closed. */
    public static long unmapped() {
        return UNMAPPED.get();
    }

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return SpiVersion.CURRENT;
    }

    @Override
    public List<ConfigKey<?>> configKeys() {
        return List.of(PROBED);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        if (!request.config().get(PROBED)) {
            throw new IllegalStateException("probed");
        }
        return new ProbeReport(List.of(Check.pass("EP-TEST-001", "threads share all memory")), Map.of());
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return from.hostId().equals(to.hostId())
                ? new PathOffer(PathKind.MAPPED, 100, 1, List.of())
                : new NoPath("the ranks are on different hosts", "");
    }

    @Override
    public EpBackend open(OpenContext context) {
        return new Backend(context);
    }

    private static final class Backend implements EpBackend {
        private volatile OpenContext open;

        Backend(OpenContext open) {
            this.open = open;
        }

        @Override
        public void continueWith(Bootstrap members, List<Integer> ranks) {
            OpenContext before = open;
            open = new OpenContext(
                    before.plan(), before.rank(), ranks, members, before.device(), before.config(), before.deadline());
        }

        @Override
        public String id() {
            return ID;
        }

        @Override
        public boolean allocates() {
            return true;
        }

        @Override
        public SymmetricBuffer expose(String name, long bytes, Optional<ExposedMemory> memory, Duration deadline) {
            OpenContext context = open;
            return context.device().id().equals(Device.HOST)
                    ? onHost(context, name, bytes, deadline)
                    : onGpus(context, name, bytes, deadline);
        }

        private static Buffer onHost(OpenContext context, String name, long bytes, Duration deadline) {
            DeviceAllocation own = context.device().allocate(bytes);
            byte[] address =
                    ByteBuffer.allocate(8).putLong(own.memory().address()).array();
            Map<Integer, DeviceMemory> peers = new TreeMap<>(Map.of(context.rank(), own.memory()));
            List<byte[]> all = context.bootstrap().allGather(name, address, deadline);
            for (int i = 0; i < all.size(); i++) {
                if (isMapped(context, i)) {
                    long at = ByteBuffer.wrap(all.get(i)).getLong();
                    peers.put(context.ranks().get(i), new DeviceMemory(at, bytes, Device.HOST));
                }
            }
            return new Buffer(own.memory(), peers, own::close);
        }

        private static Buffer onGpus(OpenContext context, String name, long bytes, Duration deadline) {
            GpuSharing sharing =
                    GpuSharing.of(context.device(), context.device().id().type());
            SharedMemory own = sharing.allocate(bytes, MemoryHandle.Kind.PROCESS);
            List<SharedMemory> mapped = new ArrayList<>(List.of(own));
            Map<Integer, DeviceMemory> peers = new TreeMap<>(Map.of(context.rank(), own.memory()));
            List<byte[]> all = context.bootstrap().allGather(name, own.handle().encode(), deadline);
            for (int i = 0; i < all.size(); i++) {
                if (isMapped(context, i)) {
                    SharedMemory peer = sharing.map(MemoryHandle.decode(all.get(i)));
                    mapped.add(peer);
                    peers.put(context.ranks().get(i), peer.memory());
                }
            }
            context.bootstrap().barrier(name + "-mapped", deadline);
            return new Buffer(own.memory(), peers, () -> mapped.forEach(SharedMemory::close));
        }

        private static boolean isMapped(OpenContext context, int index) {
            int peer = context.ranks().get(index);
            return peer != context.rank()
                    && context.plan().path(context.rank(), peer).backend().equals(ID);
        }

        @Override
        public void close() {
            // Buffers are closed by themselves.
        }
    }

    private record Buffer(DeviceMemory local, Map<Integer, DeviceMemory> peers, Runnable free)
            implements SymmetricBuffer, MappedPeers {
        @Override
        public DeviceMemory peer(int peer) {
            return Optional.ofNullable(peers.get(peer)).orElseThrow();
        }

        @Override
        public void unmapPeers() {
            UNMAPPED.incrementAndGet();
        }

        @Override
        public void close() {
            free.run();
        }
    }
}
