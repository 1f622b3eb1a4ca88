package org.ep4j.cli;

import org.ep4j.EpArgumentException;
import picocli.CommandLine.Option;

/** How tokens choose their experts in a bench. */
final class RoutingOptions {
    private static final String GROUPS = "--expert-groups";
    private static final String GROUPS_OF_TOKEN = "--groups-per-token";

    @Option(
            names = "--skew",
            paramLabel = "S",
            defaultValue = "0",
            description = "Zipf exponent of the experts' popularity; 0 is uniform. Not with " + GROUPS
                    + ". Default: ${DEFAULT-VALUE}.")
    double skew;

    @Option(
            names = GROUPS,
            paramLabel = "G",
            defaultValue = "0",
            description =
                    "Group-limited routing: divides the experts into G groups of consecutive experts. The experts of a"
                            + " token come from M of these groups (--groups-per-token), which are drawn for each token."
                            + " DeepSeek-V3 has 8 groups, of which 4 for a token. Without this option any expert may be"
                            + " drawn.")
    int expertGroups;

    @Option(
            names = GROUPS_OF_TOKEN,
            paramLabel = "M",
            defaultValue = "0",
            description = "Group-limited routing: number of groups of experts that a token is routed to; used with "
                    + GROUPS + ".")
    int groupsPerToken;

    /** Refuses routing that the model does not have. */
    void check(ModelOptions model) {
        if (!(skew >= 0 && skew <= 10)) {
            throw new EpArgumentException("--skew", skew, "in [0, 10]", "0 is uniform, 1 is Zipf's law");
        }
        if (expertGroups == 0 && groupsPerToken == 0) {
            return;
        }
        if (expertGroups < 1 || model.experts % expertGroups != 0) {
            throw new EpArgumentException(
                    GROUPS,
                    expertGroups,
                    "at least 1, and a divisor of the number of experts, " + model.experts,
                    "name a divisor, or change --experts; without groups, leave out both " + GROUPS + " and "
                            + GROUPS_OF_TOKEN);
        }
        int ofGroup = model.experts / expertGroups;
        ModelOptions.range(
                GROUPS_OF_TOKEN,
                groupsPerToken,
                (model.topK + ofGroup - 1) / ofGroup,
                expertGroups,
                "a token has " + model.topK + " experts (--topk), and each of the " + expertGroups + " groups has "
                        + ofGroup + ": name enough groups for a token");
        if (skew != 0) {
            throw new EpArgumentException(
                    "--skew", skew, "0 with " + GROUPS, "leave out one of the two: groups are drawn uniformly");
        }
    }

    /** Returns the groups as a part of a sentence that ends with the number of experts; empty where there are none. */
    static String text(int groups, int perToken) {
        return groups == 0 ? "" : " in " + groups + " groups, of which " + perToken + " for a token";
    }
}
