package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class LiveTopologyTest {
    @Test
    void aSourceThatFailsLeavesTheMachineWithAWarning() {
        Topology machine = LinuxTopology.read("test", Machines.twoSockets().tree(), Map.of());

        Topology refined = Topologies.refine(machine, new TopologySource() {
            @Override
            public String id() {
                return "broken";
            }

            @Override
            public Topology refine(Topology topology) {
                throw new UnsatisfiedLinkError("no such symbol");
            }
        });

        assertThat(refined.parts()).isEqualTo(machine.parts());
        assertThat(refined.distance(refined.gpus().get(0), refined.nics().get(0)))
                .isEqualTo(
                        machine.distance(machine.gpus().get(0), machine.nics().get(0)));
        assertThat(refined.warnings())
                .containsExactly("topology source broken failed: java.lang.UnsatisfiedLinkError: no such symbol");
    }
}
