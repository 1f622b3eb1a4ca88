package org.ep4j.cli.rank;

import java.util.List;
import org.ep4j.EpConfig;
import org.ep4j.EpShape;
import org.ep4j.RowLayout;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.oracle.Routing;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Job;

/**
 * Work of the rank processes of one demo or bench; the same text for all of them.
 *
 * @param ranks number of ranks
 * @param device device of every rank; empty for each rank's own setting
 * @param backend backend that alone may be used; empty for any
 * @param hidden H
 * @param topK K
 * @param experts E
 * @param parts exchanges to run, one after another
 * @param skew exponent of the experts' popularity: expert e is drawn with weight {@code (e + 1)^-skew}; 0 is uniform
 * @param expertGroups groups of consecutive experts, of which a token's experts come from a few; 0 where routing has no groups
 * @param groupsPerToken how many
 * @param warmup rounds that are not counted
 * @param iterations rounds that are
 * @param validate true to check every element that the counted rounds of {@code validateRounds} delivered
 * @param validateRounds how many rounds are checked
 * @param measureCeiling true to measure the ceilings of operations in every round
 * @param seed of data and routing
 * @param barrierFile file of the {@link SpinBarrier} before each measurement; empty where the ranks are on several machines
 */
public record ExchangeSpec(
        int ranks,
        String device,
        String backend,
        int hidden,
        int topK,
        int experts,
        List<Part> parts,
        double skew,
        int expertGroups,
        int groupsPerToken,
        int warmup,
        int iterations,
        boolean validate,
        int validateRounds,
        boolean measureCeiling,
        long seed,
        String barrierFile) {
    /** Mode of one exchange. */
    public enum Mode {
        /** High throughput. */
        HT,
        /** Low latency. */
        LL
    }

    /** Type of the rows that a dispatch sends. */
    public enum Wire {
        BF16,
        /** FP8 rows with one FP32 scale for each 128 channels. */
        FP8
    }

    /**
     * One exchange: dispatch and combine of one mode.
     *
     * @param mode of the buffer
     * @param tokens T on every rank
     * @param wire what the dispatch sends
     * @param layout row order of a high-throughput dispatch
     * @param extras true to measure the variants, too: staged or rank-partial combine, send and receive apart, the other mode
     */
    public record Part(Mode mode, int tokens, Wire wire, RowLayout layout, boolean extras) {}

    public EpShape shape() {
        return EpShape.builder(hidden, experts, topK)
                .maxTokens(maxTokens(Mode.HT))
                .maxLowLatencyTokens(maxTokens(Mode.LL))
                .build();
    }

    /** The most tokens of a mode, 0 when no part uses it; the low-latency tokens also go through the other mode. */
    public int maxTokens(Mode mode) {
        return parts.stream()
                .filter(p -> p.mode() == mode || (mode == Mode.HT && p.extras()))
                .mapToInt(Part::tokens)
                .max()
                .orElse(0);
    }

    /** Fresh inputs of all ranks; {@code number} chooses data and routing. */
    public Workload workload(int number, int tokens) {
        return Workload.builder(ranks, hidden, experts, topK)
                .tokens(tokens)
                .seed(seed + 1_000_003L * number + tokens)
                .routing(routing())
                .build();
    }

    private Routing routing() {
        if (expertGroups > 0) {
            return Routing.grouped(expertGroups, groupsPerToken);
        }
        return skew == 0 ? Routing.UNIFORM : Routing.zipf(skew);
    }

    /**
     * The device that a command names, else the one that the settings of this process name.
     *
     * @param named empty where the command names none
     */
    public static String device(String named, EpConfig config) {
        return named.isEmpty() ? EpKeys.DEVICE.get(config) : named;
    }

    /** Settings of the {@code localRank}-th process of its host. */
    public EpConfig.Builder settings(int localRank) {
        EpConfig.Builder settings =
                EpConfig.builder().set(EpKeys.DEVICE.name(), Job.deviceOf(device(device, EpConfig.load()), localRank));
        if (!backend.isEmpty()) {
            settings.set(EpKeys.BACKEND_REQUIRE.name(), backend);
        }
        return settings;
    }

    /** Bytes of a row as a dispatch sends it: 2H, or H and one FP32 scale for each 128 channels. */
    long wireBytes(Wire wire) {
        return wire == Wire.FP8 ? hidden + 4L * ((hidden + 127) / 128) : rowBytes();
    }

    /** Bytes of a BF16 row. */
    long rowBytes() {
        return 2L * hidden;
    }
}
