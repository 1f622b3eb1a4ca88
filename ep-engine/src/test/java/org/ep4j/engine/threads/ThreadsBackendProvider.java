package org.ep4j.engine.threads;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.config.ConfigKey;
import org.ep4j.gpu.driver.GpuSharing;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.gpu.driver.MemoryHandle;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.SpiVersion;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.EngineDevice;

/**
 * Connects ranks that are threads of this JVM and of one host, made up or not: they use each other's memory, of the host or of
 * GPUs. For tests of the engine, and of the conformance kit, which has it from this module's test jar.
 */
public final class ThreadsBackendProvider implements EpBackendProvider {
    /** Its name. */
    public static final String ID = "threads";

    /** What a probe of this rank finds; one that is not to run fails. */
    private static final ConfigKey<Boolean> PROBED =
            ConfigKey.flag("ep.threads.probed", true, "false lets the probe fail with an exception");

    /** Memory on the host, by address. */
    private static final Map<Long, Shared> SHARED = new ConcurrentHashMap<>();

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
        if (!PROBED.get(request.config())) {
            throw new IllegalStateException("probed");
        }
        return ProbeReport.builder()
                .check(Check.pass("EP-TEST-001", "threads share all memory"))
                .build();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return from.hostId().equals(to.hostId())
                ? Offer.path(EpPath.Kind.MAPPED)
                        .gigabytesPerSecond(100)
                        .latencyMicros(1)
                        .build()
                : Offer.none("the ranks are on different hosts", "");
    }

    @Override
    public EpBackend open(OpenContext context) {
        return new Backend(context, context.bootstrap(), context.ranks());
    }

    private record Backend(OpenContext context, Bootstrap members, List<Integer> ranks)
            implements RecoverableBackend, AllocatesMemory {

        @Override
        public String id() {
            return ID;
        }

        @Override
        public EpBackend among(Bootstrap some, List<Integer> left) {
            return new Backend(context, some, left);
        }

        @Override
        public Set<Purpose> purposes() {
            return Set.of(Purpose.MAPPED);
        }

        @Override
        public SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout) {
            return context.device().id().equals(Device.HOST)
                    ? onHost(name, bytes, timeout)
                    : onGpus(name, bytes, timeout);
        }

        private Buffer onHost(String name, long bytes, Duration deadline) {
            DeviceAllocation own = EngineDevice.of(context.device()).allocate(bytes);
            Shared shared = new Shared(own);
            SHARED.put(own.memory().address(), shared);
            List<Shared> used = new ArrayList<>(List.of(shared));
            byte[] address =
                    ByteBuffer.allocate(8).putLong(own.memory().address()).array();
            Map<Integer, DeviceMemory> peers = new TreeMap<>(Map.of(context.rank(), own.memory()));
            List<byte[]> all = members.allGather(name, address, deadline);
            for (int i = 0; i < all.size(); i++) {
                if (isMapped(ranks.get(i))) {
                    long at = ByteBuffer.wrap(all.get(i)).getLong();
                    used.add(SHARED.get(at).retain());
                    peers.put(ranks.get(i), DeviceMemory.of(at, bytes, Device.HOST));
                }
            }
            members.barrier(name + "-mapped", deadline);
            return new Buffer(own.memory(), peers, () -> used.forEach(Shared::release));
        }

        private Buffer onGpus(String name, long bytes, Duration deadline) {
            GpuSharing sharing =
                    GpuSharing.of(context.device(), context.device().id().type());
            SharedMemory own = sharing.allocate(bytes, MemoryHandle.Kind.PROCESS);
            List<SharedMemory> mapped = new ArrayList<>(List.of(own));
            Map<Integer, DeviceMemory> peers = new TreeMap<>(Map.of(context.rank(), own.memory()));
            List<byte[]> all = members.allGather(name, own.handle().encode(), deadline);
            for (int i = 0; i < all.size(); i++) {
                if (isMapped(ranks.get(i))) {
                    SharedMemory peer = sharing.map(MemoryHandle.decode(all.get(i)));
                    mapped.add(peer);
                    peers.put(ranks.get(i), peer.memory());
                }
            }
            members.barrier(name + "-mapped", deadline);
            return new Buffer(own.memory(), peers, () -> mapped.forEach(SharedMemory::close));
        }

        private boolean isMapped(int peer) {
            return peer != context.rank()
                    && context.plan().path(context.rank(), peer).backend().equals(ID);
        }

        @Override
        public void close() {
            // Buffers are closed by themselves.
        }
    }

    /** Memory that stays until the last rank that uses it has closed its buffer, as a mapping of a file does. */
    private static final class Shared {
        private final DeviceAllocation allocation;
        private final AtomicInteger users = new AtomicInteger(1);

        Shared(DeviceAllocation allocation) {
            this.allocation = allocation;
        }

        private Shared retain() {
            users.incrementAndGet();
            return this;
        }

        private void release() {
            if (users.decrementAndGet() == 0) {
                SHARED.remove(allocation.memory().address());
                allocation.close();
            }
        }
    }

    private record Buffer(DeviceMemory local, Map<Integer, DeviceMemory> peers, Runnable free)
            implements SymmetricBuffer, MappedPeers {
        @Override
        public DeviceMemory peer(int peer) {
            return Optional.ofNullable(peers.get(peer)).orElseThrow();
        }

        @Override
        public void close() {
            free.run();
        }
    }
}
