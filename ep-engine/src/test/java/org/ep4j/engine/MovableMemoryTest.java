package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.EpPath;
import org.ep4j.engine.membership.ControlSlots;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** When memory of a buffer is freed. */
@Tag("verify")
final class MovableMemoryTest {
    private final List<String> events = new ArrayList<>();

    @Test
    void aMoveThatFailsGivesBackTheFreshMemoryAndKeepsTheOneInUse() {
        Bootstrap alone = Bootstrap.inProcess(1).get(0);
        GroupPlan plan = GroupPlan.of(
                List.of(RankProfile.builder(0, "h", Device.HOST).pid(1).build()),
                List.of(EpPath.builder(0, 0, "local", EpPath.Kind.LOCAL).build()));
        SymmetricMemoryFactory factory =
                new SymmetricMemoryFactory(new HostDevice(), new OpenBackends(Map.of()), new UsablePaths(plan, 0));
        ControlSlots.Memory control =
                new ControlSlots.Memory(HostMemory.of(ByteBuffer.allocateDirect(64)), Map.of(), Map.of());
        MovableMemory memory = new MovableMemory(
                "buffer",
                256,
                plan,
                factory,
                Optional.empty(),
                new MovableMemory.Control(control, () -> events.add("control")));
        memory.first(Optional.empty(), () -> events.add("first"));
        memory.allocate(alone, List.of(0), 1, Guard.minute(), fresh -> () -> events.add("second"));
        memory.freeOlder();
        assertThat(events).as("after the first move").containsExactly("first");

        // After this, the members cannot agree that all have made their memory.
        assertThatThrownBy(() -> memory.allocate(alone, List.of(0), 2, Guard.minute(), fresh -> {
                    alone.close();
                    return () -> events.add("third");
                }))
                .isInstanceOf(EpException.class);
        assertThat(events).as("after a move that failed").containsExactly("first", "third");
        memory.close();
        assertThat(events).containsExactly("first", "third", "second", "control");
    }
}
