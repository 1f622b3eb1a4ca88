package org.ep4j.engine.collective;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;

/** What a backend named "wires" is opened with, which connects all ranks. */
final class TestContexts {
    private TestContexts() {}

    static OpenContext context(Bootstrap member) {
        List<PairPath> paths = new ArrayList<>();
        for (int from = 0; from < member.size(); from++) {
            for (int to = 0; to < member.size(); to++) {
                PathKind kind = from == to ? PathKind.LOCAL : PathKind.MAPPED;
                paths.add(new PairPath(
                        from, to, from == to ? "local" : "wires", new PathOffer(kind, 1, 1, List.of()), List.of()));
            }
        }
        return new OpenContext(
                EpPlan.of(
                        IntStream.range(0, member.size())
                                .mapToObj(rank -> new RankProfile(rank, "h", "h", 1, Device.HOST, Map.of(), Map.of()))
                                .toList(),
                        paths),
                member.rank(),
                IntStream.range(0, member.size()).boxed().toList(),
                member,
                new HostDevice(),
                EpConfig.builder(Map.of(), Map.of()).build(),
                Duration.ofSeconds(20));
    }
}
