package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.ep4j.EpShape;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a rank has on its host where proxy threads post for it. */
@Timeout(60)
final class RemotesTest {
    private static final EpShape SHAPE =
            EpShape.builder(64, 8, 2).maxTokens(3).maxLowLatencyTokens(2).build();

    /** There is none of this number, and that it was looked for is logged. */
    private static final int NODE = 99;

    @Test
    void ringsAndThreadsAreAtTheNodeOfTheGpu() {
        EmulatedGpu.require();
        Deque<Runnable> owned = new ArrayDeque<>();
        try (GpuDevice device = EmulatedGpu.open(0);
                Logged log = new Logged()) {
            EpPlan plan = WindowPlacementTest.plan(device.id(), PathType.PIX, NODE);
            PostedPaths paths = PostedPaths.of(plan);
            Copies copies = new Copies(device);
            owned.push(copies::close);
            GpuWindow window =
                    GpuWindow.onHost(device, paths.layout(SHAPE, Rails.of(plan)).orElseThrow());
            owned.push(window::close);
            Abort abort = new Abort(device, 2);
            owned.push(abort::close);
            new Remotes(
                    device,
                    copies,
                    plan,
                    paths,
                    new SymmetricMemory(0, 2, window.exposed().memory(), Map.of(), Map.of(), Map.of()),
                    window,
                    new BufferLayout(SHAPE, 2, true, 0),
                    EpConfig.builder(Map.of(), Map.of()).build(),
                    abort,
                    owned);
            owned.forEach(Runnable::run);
            assertThat(log.lines())
                    .anyMatch(line -> line.startsWith(
                            "memory of the host is taken on any processor, not on those of NUMA node 99: "))
                    .anyMatch(line -> line.startsWith(
                            "threads ep4j-proxy-0-* run on any processor, not on those of NUMA node 99: "));
        }
    }
}
