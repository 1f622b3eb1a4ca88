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
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.RegistersDeviceMemory;
import org.ep4j.spi.SymmetricBuffer;

/**
 * Registers memory that somebody else allocated; what peers map must outlive this rank's use of it and is its own.
 *
 * @param cut ranks that this one cannot reach any more
 * @param refused whether the write that is to fail has failed
 * @param open buffers
 */
record PostedThreadsBackend(OpenContext context, Set<Integer> cut, AtomicBoolean refused, Set<PostedThreadsBuffer> open)
        implements RecoverableBackend, RegistersDeviceMemory {
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
        return exposeAmong(context.bootstrap(), context.ranks(), name, bytes, memory, deadline);
    }

    @Override
    public SymmetricBuffer exposeAmong(
            Bootstrap members,
            List<Integer> ranks,
            String name,
            long bytes,
            Optional<ExposedMemory> memory,
            Duration deadline) {
        Endpoint own = allocates()
                ? allocate(bytes, ranks.size())
                : endpoint(memory.orElseThrow().memory(), ranks.size(), () -> {});
        List<byte[]> keys = members.allGather(
                name, ByteBuffer.allocate(8).putLong(own.key()).array(), deadline);
        Map<Integer, Endpoint> all = new TreeMap<>();
        for (int i = 0; i < keys.size(); i++) {
            all.put(ranks.get(i), Endpoint.of(ByteBuffer.wrap(keys.get(i)).getLong()));
        }
        // Nobody closes before all have found it.
        members.barrier(name + "-found", deadline);
        PostedThreadsBuffer buffer = new PostedThreadsBuffer(this, name, own, all);
        open.add(buffer);
        return buffer;
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

    private Endpoint allocate(long bytes, int users) {
        DeviceAllocation allocation = context.device().allocate(bytes);
        return endpoint(allocation.memory(), users, allocation::close);
    }

    private Endpoint endpoint(DeviceMemory memory, int users, Runnable free) {
        return new Endpoint(context.rank(), context.plan().ranks(), users, memory, free);
    }

    @Override
    public void close() {
        // Buffers are closed by themselves.
    }
}
