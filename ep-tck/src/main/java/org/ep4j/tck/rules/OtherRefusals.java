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

/** Wrong shapes, masks and settings. */
final class OtherRefusals {
    private OtherRefusals() {}

    static List<Refusal> all() {
        return List.of(
                shape(
                        "shape-hidden",
                        "a hidden size that is no multiple of 16",
                        "100",
                        () -> EpShape.builder(100, 8, 2).maxTokens(4).build()),
                shape(
                        "shape-topk",
                        "a top-k above 32",
                        "33",
                        () -> EpShape.builder(64, 64, 33).maxTokens(4).build()),
                shape(
                        "shape-modes",
                        "a shape without any mode",
                        "maxTokens",
                        () -> EpShape.builder(64, 8, 2).build()),
                shape(
                        "shape-tokens",
                        "a negative number of tokens",
                        "-1",
                        () -> EpShape.builder(64, 8, 2).maxTokens(-1).build()),
                shape(
                        "shape-placement",
                        "a placement of other experts",
                        "placement",
                        () -> EpShape.builder(64, 8, 2)
                                .maxTokens(4)
                                .placement(ExpertPlacement.block(9, 2))
                                .build()),
                wrong(
                        "group-placement",
                        "a placement for another number of ranks",
                        "ranks",
                        t -> t.context
                                .group()
                                .createBuffer(EpShape.builder(64, 8, 2)
                                        .maxTokens(4)
                                        .placement(ExpertPlacement.block(8, t.context.size() + 1))
                                        .build())),
                wrong(
                        "size-placement",
                        "bufferSize() with a placement for another number of ranks",
                        "ranks",
                        t -> t.context
                                .group()
                                .bufferSize(EpShape.builder(64, 8, 2)
                                        .maxTokens(4)
                                        .placement(ExpertPlacement.block(8, t.context.size() + 1))
                                        .build())),
                wrong("mask-self", "masking oneself", "rank", t -> t.buffer.mask(t.context.rank())),
                wrong(
                        "mask-range",
                        "masking a rank that the group does not have",
                        "rank",
                        t -> t.buffer.mask(t.context.size())),
                wrong("mask-negative", "masking rank -1", "-1", t -> t.buffer.mask(-1)),
                wrong(
                        "timeout-zero",
                        "a timeout of zero",
                        "timeout",
                        t -> t.buffer.withOptions(OpOptions.DEFAULT.timeout(Duration.ZERO))),
                new Refusal(
                        "too-large",
                        "a buffer larger than the machine's memory",
                        EpResourceException.class,
                        "",
                        t -> t.context
                                .group()
                                .createBuffer(EpShape.builder(1 << 20, 64, 8)
                                        .maxTokens(1 << 20)
                                        .build())),
                config(
                        "key-unknown",
                        "an unknown setting, whose error names the nearest known setting",
                        "ep.timeout",
                        Map.of("ep.timeuot", "5s")),
                config("value-malformed", "a malformed value", "soon", Map.of(EpKeys.TIMEOUT.name(), "soon")));
    }

    private static Refusal shape(String name, String text, String mention, Supplier<EpShape> build) {
        return wrong(name, text, mention, t -> t.context.group().createBuffer(build.get()));
    }

    private static Refusal config(String name, String text, String mention, Map<String, String> settings) {
        return new Refusal(name, text, EpConfigException.class, mention, t -> t.context.newGroup(settings));
    }
}
