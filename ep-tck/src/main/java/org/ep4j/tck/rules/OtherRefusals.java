package org.ep4j.tck.rules;

import static org.ep4j.tck.rules.Refusal.wrong;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.ep4j.EpConfigException;
import org.ep4j.EpResourceException;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.OpOptions;
import org.ep4j.config.EpKeys;

/** Wrong shapes, masks and settings, in the order of the rules. */
final class OtherRefusals {
    private OtherRefusals() {}

    static List<Refusal> all() {
        return List.of(
                shape("shape-hidden", "100", () -> small(100, 8, 2)),
                shape("shape-topk", "33", () -> small(64, 64, 33)),
                shape("shape-modes", "maxTokens", () -> EpShape.builder(64, 8, 2)),
                shape("shape-tokens", "-1", () -> EpShape.builder(64, 8, 2).maxTokens(-1)),
                shape("shape-placement", "placement", () -> small(64, 8, 2).placement(ExpertPlacement.block(9, 2))),
                wrong("group-placement", "ranks", f -> f.context.group().createBuffer(forOtherRanks(f))),
                wrong("size-placement", "ranks", f -> f.context.group().bufferSize(forOtherRanks(f))),
                wrong("mask-self", "rank", f -> f.buffer.mask(f.context.rank())),
                wrong("mask-range", "rank", f -> f.buffer.mask(f.context.size())),
                wrong("mask-negative", "-1", f -> f.buffer.mask(-1)),
                wrong("timeout-zero", "timeout", f -> {
                    f.buffer.withOptions(OpOptions.DEFAULT.timeout(Duration.ZERO));
                }),
                new Refusal(
                        "too-large",
                        EpResourceException.class,
                        "",
                        f -> f.context
                                .group()
                                .createBuffer(EpShape.builder(1 << 20, 64, 8)
                                        .maxTokens(1 << 20)
                                        .build())),
                config("key-unknown", "ep.timeout", Map.of("ep.timeuot", "5s")),
                config("value-malformed", "soon", Map.of(EpKeys.TIMEOUT.name(), "soon")),
                wrong("multiprocessors-zero", "multiprocessors", f -> {
                    f.buffer.withOptions(OpOptions.DEFAULT.multiprocessors(0));
                }),
                wrong("multiprocessors-many", "multiprocessors", f -> {
                    f.buffer
                            .withOptions(OpOptions.DEFAULT.multiprocessors(1 << 20))
                            .dispatch(f.dispatch().build());
                }),
                wrong("ll-multiprocessors-many", "multiprocessors", f -> {
                    f.buffer
                            .withOptions(OpOptions.DEFAULT.multiprocessors(1 << 20))
                            .lowLatencyDispatch(f.lowLatencyDispatch().build());
                }));
    }

    private static EpShape.Builder small(int hidden, int experts, int topK) {
        return EpShape.builder(hidden, experts, topK).maxTokens(4);
    }

    private static EpShape forOtherRanks(Refusal.Fixture f) {
        return small(64, 8, 2)
                .placement(ExpertPlacement.block(8, f.context.size() + 1))
                .build();
    }

    private static Refusal shape(String name, String mention, Supplier<EpShape.Builder> shape) {
        return wrong(
                name, mention, f -> f.context.group().createBuffer(shape.get().build()));
    }

    private static Refusal config(String name, String mention, Map<String, String> settings) {
        return new Refusal(name, EpConfigException.class, mention, f -> f.context.newGroup(settings));
    }
}
