package org.ep4j.tck.rules;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.tck.oracle.DataPattern;
import org.ep4j.tck.oracle.Routing;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;

/**
 * Workload and shape from parameters: {@code hidden}, {@code experts}, {@code topk}; {@code tokens} as a list that ranks
 * take in turn; {@code max} (tokens of the shape), {@code recv} (its received tokens); {@code routing}, {@code drop},
 * {@code dup}, {@code data}, {@code unit} (weights of 1), {@code seed}, {@code placement}.
 */
final class Setup {
    private final RankContext context;
    private final Params params;
    private final int ranks;

    Setup(RankContext context, Params params) {
        this.context = context;
        this.params = params;
        this.ranks = context.size();
    }

    static Setup of(RankContext context) {
        return new Setup(context, context.params());
    }

    static Setup of(RankContext context, String params) {
        return new Setup(context, Params.parse(params));
    }

    Workload workload() {
        return workload(params.number("seed", 1));
    }

    Workload workload(long seed) {
        Workload.Builder builder = Workload.builder(ranks, hidden(), experts(), topK())
                .tokens(tokens())
                .seed(seed)
                .routing(Routing.parse(params.text("routing", "uniform")))
                .dropped(params.fraction("drop", 0))
                .duplicated(params.fraction("dup", 0))
                .data(params.one(DataPattern.class, "data", DataPattern.PLAIN));
        placement().ifPresent(builder::placement);
        if (params.has("unit")) {
            builder.unitWeights();
        }
        return builder.build();
    }

    /** Returns a shape with both modes, as large as the tokens need unless {@code max} says more. */
    EpShape shape() {
        int most =
                params.number("max", Math.max(1, Arrays.stream(tokens()).max().orElse(1)));
        EpShape.Builder builder = EpShape.builder(hidden(), experts(), topK())
                .maxTokens(most)
                .maxReceivedRows(params.number("recv", 0))
                .maxLowLatencyTokens(most);
        placement().ifPresent(builder::placement);
        return builder.build();
    }

    /** Creates a buffer of the shared group, closed after the job. Collective. */
    EpBuffer buffer() {
        return buffer(context.group());
    }

    /** Creates a buffer of {@code group}, closed after the job. Collective. */
    EpBuffer buffer(EpGroup group) {
        return context.owned(group.createBuffer(shape()));
    }

    private int hidden() {
        return params.number("hidden", 128);
    }

    private int experts() {
        return params.number("experts", 0) > 0 ? params.number("experts", 0) : 3 * ranks + params.number("extra", 0);
    }

    private int topK() {
        return params.number("topk", 4);
    }

    private int[] tokens() {
        String[] parts = params.text("tokens", "17").split(",", -1);
        return IntStream.range(0, ranks)
                .map(rank -> Integer.parseInt(parts[rank % parts.length]))
                .toArray();
    }

    private Optional<ExpertPlacement> placement() {
        String name = params.text("placement", "block");
        int experts = experts();
        if (name.equals("block")) {
            return Optional.empty();
        }
        int[] owner = IntStream.range(0, experts)
                .map(e -> switch (name) {
                    case "stride" -> e % ranks;
                    case "reverse" -> ranks - 1 - (int) ((long) e * ranks / experts);
                    case "last" -> ranks - 1;
                    case "uneven" -> Math.min(ranks - 1, (int) Math.sqrt(e) % ranks);
                    default -> throw new IllegalArgumentException("placement " + name);
                })
                .toArray();
        return Optional.of(ExpertPlacement.of(ranks, owner));
    }
}
