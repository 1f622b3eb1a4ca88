package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.config.ConfigKey;
import org.ep4j.engine.driver.GpuSharing;
import org.ep4j.engine.driver.MemoryHandle;
import org.ep4j.engine.driver.SharedMemory;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;
import org.ep4j.spi.SymmetricBuffer;

/** Connects ranks that are threads of this JVM, on the host or on GPUs: they use each other's addresses. */
public final class ThreadsBackendProvider implements EpBackendProvider {
    static final String ID = "threads";

    /** What a probe of this rank finds; one that is not to run fails. */
    private static final ConfigKey<Boolean> PROBED =
            ConfigKey.flag("ep.threads.probed", true, "false lets the probe fail with an exception");

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
        return new PathOffer(PathKind.MAPPED, 100, 1, List.of());
    }

    @Override
    public EpBackend open(OpenContext context) {
        return new Backend(context);
    }

    private record Backend(OpenContext context) implements EpBackend {
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
            boolean host = context.device().id().equals(Device.HOST);
            return host ? onHost(name, bytes, deadline) : onGpus(name, bytes, deadline);
        }

        private SymmetricBuffer onHost(String name, long bytes, Duration deadline) {
            DeviceAllocation own = context.device().allocate(bytes);
            byte[] address =
                    ByteBuffer.allocate(8).putLong(own.memory().address()).array();
            List<DeviceMemory> all = context.bootstrap().allGather(name, address, deadline).stream()
                    .map(a -> new DeviceMemory(ByteBuffer.wrap(a).getLong(), bytes, Device.HOST))
                    .toList();
            return new Buffer(context.rank(), all, own::close);
        }

        private SymmetricBuffer onGpus(String name, long bytes, Duration deadline) {
            GpuSharing sharing =
                    GpuSharing.of(context.device(), context.device().id().type());
            SharedMemory own = sharing.allocate(bytes, MemoryHandle.Kind.PROCESS);
            List<SharedMemory> mapped = new ArrayList<>(List.of(own));
            List<DeviceMemory> all = new ArrayList<>();
            for (byte[] handle :
                    context.bootstrap().allGather(name, own.handle().encode(), deadline)) {
                if (all.size() == context.rank()) {
                    all.add(own.memory());
                } else {
                    SharedMemory peer = sharing.map(MemoryHandle.decode(handle));
                    mapped.add(peer);
                    all.add(peer.memory());
                }
            }
            context.bootstrap().barrier(name + "-mapped", deadline);
            return new Buffer(context.rank(), all, () -> mapped.forEach(SharedMemory::close));
        }

        @Override
        public void close() {
            // Buffers are closed by themselves.
        }
    }

    private record Buffer(int rank, List<DeviceMemory> all, Runnable free) implements SymmetricBuffer, MappedPeers {
        @Override
        public DeviceMemory local() {
            return all.get(rank);
        }

        @Override
        public DeviceMemory peer(int peer) {
            return all.get(peer);
        }

        @Override
        public void close() {
            free.run();
        }
    }
}
