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
import org.ep4j.Bootstrap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.EngineDevice;

/**
 * Registers memory that the caller allocated; memory that peers map must outlive this rank's use of it, and is allocated here.
 *
 * @param cut ranks that this one can no longer reach
 * @param refused whether the write that is to fail has failed
 * @param open buffers
 * @param members connects the ranks that use it now
 * @param ranks those ranks
 */
record PostedThreadsBackend(
        OpenContext context,
        Set<Integer> cut,
        AtomicBoolean refused,
        Set<PostedThreadsBuffer> open,
        Bootstrap members,
        List<Integer> ranks)
        implements RecoverableBackend, AllocatesMemory, RegistersMemory {
    PostedThreadsBackend(OpenContext context, Set<Integer> cut, AtomicBoolean refused, Set<PostedThreadsBuffer> open) {
        this(context, cut, refused, open, context.bootstrap(), context.ranks());
    }

    @Override
    public String id() {
        return PostedThreadsProvider.ID;
    }

    private boolean allocates() {
        return PostedThreadsProvider.INSIDE.get(context.config()).equals("mapped");
    }

    @Override
    public Set<Purpose> purposes() {
        return Set.of(Purpose.MAPPED);
    }

    /** Returns the capability to allocate memory or to register it, by the settings. */
    @Override
    public <C> Optional<C> as(Class<C> capability) {
        return capability.equals(allocates() ? RegistersMemory.class : AllocatesMemory.class)
                ? Optional.empty()
                : RecoverableBackend.super.as(capability);
    }

    @Override
    public EpBackend among(Bootstrap some, List<Integer> left) {
        return new PostedThreadsBackend(context, cut, refused, open, some, left);
    }

    @Override
    public SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout) {
        DeviceAllocation allocation = EngineDevice.of(context.device()).allocate(bytes);
        return exchange(name, endpoint(allocation.memory(), allocation::close), timeout);
    }

    @Override
    public SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout) {
        return exchange(name, endpoint(memory.memory(), () -> {}), timeout);
    }

    private PostedThreadsBuffer exchange(String name, Endpoint own, Duration deadline) {
        List<byte[]> keys = members.allGather(
                name, ByteBuffer.allocate(8).putLong(own.key()).array(), deadline);
        Map<Integer, Endpoint> all = new TreeMap<>();
        for (int i = 0; i < keys.size(); i++) {
            all.put(ranks.get(i), Endpoint.of(ByteBuffer.wrap(keys.get(i)).getLong()));
        }
        // No rank closes its endpoint before all have found it.
        members.barrier(name + "-found", deadline);
        PostedThreadsBuffer buffer = new PostedThreadsBuffer(this, name, own, all);
        open.add(buffer);
        return buffer;
    }

    @Override
    public Optional<String> refusal(ExposedMemory.Kind kind) {
        String registers = PostedThreadsProvider.REGISTERS.get(context.config());
        return registers.equals("nothing") || registers.equals(kind.toString())
                ? Optional.empty()
                : Optional.of("test0 registers " + registers);
    }

    @Override
    public void tryRegister(ExposedMemory memory) {
        if (PostedThreadsProvider.REGISTERS.get(context.config()).equals("nothing")) {
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

    private Endpoint endpoint(DeviceMemory memory, Runnable free) {
        return new Endpoint(context.rank(), context.plan().ranks(), ranks.size(), memory, free);
    }

    @Override
    public void close() {
        // Buffers are closed on their own.
    }
}
