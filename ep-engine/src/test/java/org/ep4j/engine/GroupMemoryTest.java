package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.EpResourceException;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.membership.LivenessLocks;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.EngineDevice;
import org.ep4j.transport.memory.HostDevice;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The order in which the memory of a buffer goes. */
@Tag("verify")
final class GroupMemoryTest {
    private static final EpConfig CONFIG = EpConfig.builder(Map.of(), Map.of()).build();

    private final List<String> events = Collections.synchronizedList(new ArrayList<>());

    @Test
    void memoryThatABackendHasRegisteredIsFreedAfterwardsWhenAnotherBackendFails() {
        List<RankProfile> profiles =
                List.of(RankProfile.builder(0, "h", Device.HOST).pid(1).build());
        GroupPlan plan = GroupPlan.of(profiles, List.of(local(0)));
        Bootstrap alone = Bootstrap.inProcess(1).get(0);
        try (Group group = new Group(
                alone,
                CONFIG,
                untuned(plan, 0),
                plan,
                new LoudDevice(),
                new OpenBackends(Map.of(
                        "a",
                        new LoudBackend("a", false),
                        "b",
                        new LoudBackend("b", false),
                        "c",
                        new LoudBackend("c", true))),
                LivenessLocks.create("h", List.of(), false),
                "memory of this test is fixed")) {
            EpShape shape = EpShape.builder(64, 8, 2).maxTokens(4).build();
            assertThatThrownBy(() -> group.createBuffer(shape)).hasMessageContaining("c has no room");
        }
        assertThat(events)
                .as("the newest goes first")
                .containsExactly(
                        "allocated", "a registered", "b registered", "b deregistered", "a deregistered", "freed");
    }

    private static Tuning untuned(GroupPlan plan, int rank) {
        return Tuning.of(CONFIG, plan, rank, new HostDevice(), Map.of());
    }

    private static EpPath local(int rank) {
        return EpPath.builder(rank, rank, "local", EpPath.Kind.LOCAL).build();
    }

    private static EpPath mapped(int from) {
        return EpPath.builder(from, 1 - from, "a", EpPath.Kind.MAPPED)
                .gigabytesPerSecond(1)
                .latencyMicros(1)
                .build();
    }

    @Test
    void noRankRegistersMemoryIfOneOfThemHasTooLittle() throws Exception {
        List<RankProfile> profiles = IntStream.range(0, 2)
                .mapToObj(
                        r -> RankProfile.builder(r, "h", Device.HOST).pid(1 + r).build())
                .toList();
        GroupPlan plan = GroupPlan.of(profiles, List.of(local(0), mapped(0), mapped(1), local(1)));
        List<Bootstrap> both = Bootstrap.inProcess(2);
        EpShape shape = EpShape.builder(64, 8, 2).maxTokens(4).build();
        List<CompletableFuture<Throwable>> failures = new ArrayList<>();
        for (Bootstrap bootstrap : both) {
            LoudDevice device = new LoudDevice();
            device.full = bootstrap.rank() == 1;
            failures.add(CompletableFuture.supplyAsync(() -> {
                try (Group group = new Group(
                        bootstrap,
                        CONFIG,
                        untuned(plan, bootstrap.rank()),
                        plan,
                        device,
                        new OpenBackends(Map.of("a", new LoudBackend("a", false))),
                        LivenessLocks.create("h", List.of(), false),
                        "memory of this test is fixed")) {
                    return catchThrowable(() -> group.createBuffer(shape));
                }
            }));
        }
        assertThat(failures.get(0).get(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("rank 1: the device is full");
        assertThat(failures.get(1).get(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                .isInstanceOf(EpResourceException.class);
        assertThat(events).containsExactly("allocated", "freed");
    }

    private final class LoudBackend implements EpBackend, RegistersMemory {
        private final String id;
        private final boolean full;

        LoudBackend(String id, boolean full) {
            this.id = id;
            this.full = full;
        }

        @Override
        public String id() {
            return id;
        }

        @Override
        public SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout) {
            if (full) {
                throw new EpResourceException(id + " has no room");
            }
            events.add(id + " registered");
            return new SymmetricBuffer() {
                @Override
                public DeviceMemory local() {
                    return memory.memory();
                }

                @Override
                public void close() {
                    events.add(id + " deregistered");
                }
            };
        }

        @Override
        public Optional<String> refusal(ExposedMemory.Kind kind) {
            return Optional.empty();
        }

        @Override
        public void tryRegister(ExposedMemory memory) {}

        @Override
        public void close() {}
    }

    private final class LoudDevice implements EngineDevice {
        private final HostDevice host = new HostDevice();
        private boolean full;

        @Override
        public Device id() {
            return host.id();
        }

        @Override
        public DeviceAllocation allocate(long bytes) {
            if (full) {
                throw new EpResourceException("the device is full");
            }
            DeviceAllocation allocation = host.allocate(bytes);
            events.add("allocated");
            return new DeviceAllocation(allocation.memory(), () -> {
                events.add("freed");
                allocation.close();
            });
        }

        @Override
        public void upload(ByteBuffer source, DeviceMemory target) {
            host.upload(source, target);
        }

        @Override
        public void download(DeviceMemory source, ByteBuffer target) {
            host.download(source, target);
        }

        @Override
        public DeviceMemory wrap(ByteBuffer direct) {
            return host.wrap(direct);
        }

        @Override
        public ByteBuffer view(DeviceMemory memory) {
            return host.view(memory);
        }

        @Override
        public void close() {
            host.close();
        }
    }
}
