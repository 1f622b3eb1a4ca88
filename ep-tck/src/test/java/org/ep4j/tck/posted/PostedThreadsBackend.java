package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RegistersDeviceMemory;
import org.ep4j.spi.SymmetricBuffer;

/** Registers memory that somebody else allocated; what peers map must outlive this rank's use of it and is its own. */
final class PostedThreadsBackend implements EpBackend, RegistersDeviceMemory {
    private volatile OpenContext context;

    PostedThreadsBackend(OpenContext context) {
        this.context = context;
    }

    @Override
    public void continueWith(Bootstrap members, List<Integer> ranks) {
        OpenContext before = context;
        context = new OpenContext(
                before.plan(), before.rank(), ranks, members, before.device(), before.config(), before.deadline());
    }

    @Override
    public String id() {
        return PostedThreadsProvider.ID;
    }

    @Override
    public boolean allocates() {
        return context.config().get(PostedThreadsProvider.INSIDE).equals("mapped");
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<ExposedMemory> memory, Duration deadline) {
        OpenContext context = this.context;
        Endpoint own =
                allocates() ? allocate(bytes) : endpoint(memory.orElseThrow().memory(), () -> {});
        List<byte[]> keys = context.bootstrap()
                .allGather(name, ByteBuffer.allocate(8).putLong(own.key()).array(), deadline);
        Map<Integer, Endpoint> all = new TreeMap<>();
        for (int i = 0; i < keys.size(); i++) {
            all.put(
                    context.ranks().get(i),
                    Endpoint.of(ByteBuffer.wrap(keys.get(i)).getLong()));
        }
        // Nobody closes before all have found it.
        context.bootstrap().barrier(name + "-found", deadline);
        return new PostedThreadsBuffer(context, name, own, all);
    }

    @Override
    public Optional<String> refusal(ExposedMemory.Kind kind) {
        String registers = context.config().get(PostedThreadsProvider.REGISTERS);
        return registers.equals("nothing") || registers.equals(kind.toString())
                ? Optional.empty()
                : Optional.of("test0 registers " + registers);
    }

    @Override
    public void tryRegister(ExposedMemory memory) {
        if (context.config().get(PostedThreadsProvider.REGISTERS).equals("nothing")) {
            throw new EpException("test_reg_mr of " + memory.kind() + " failed: error 14 (Bad address)");
        }
        memory.dmaBuf().ifPresent(PostedThreadsBackend::checkOpen);
    }

    private static void checkOpen(ExposedMemory.DmaBuf file) {
        Path descriptor = Path.of("/proc/self/fd", String.valueOf(file.descriptor()));
        try {
            assertThat(Files.readSymbolicLink(descriptor).toString()).contains("emulated device memory");
            assertThat(file.offset()).isZero();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Endpoint allocate(long bytes) {
        DeviceAllocation allocation = context.device().allocate(bytes);
        return endpoint(allocation.memory(), allocation::close);
    }

    private Endpoint endpoint(DeviceMemory memory, Runnable free) {
        return new Endpoint(context.rank(), context.plan().ranks(), memory, free);
    }

    @Override
    public void close() {
        // Buffers are closed by themselves.
    }
}
