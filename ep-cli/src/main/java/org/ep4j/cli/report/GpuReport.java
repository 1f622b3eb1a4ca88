package org.ep4j.cli.report;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.nio.file.Path;
import java.util.List;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.rank.RankMessage.OnGpu;
import org.ep4j.cli.rank.RankMessage.Sent;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * Result of one bench on GPUs, as it stands in the JSON.
 *
 * @param format version of this file's form, {@link #FORMAT}; 1 and 4 are those of {@link BenchReport}
 * @param environment where and how it was measured
 * @param ranks R
 * @param ranksAs processes or threads
 * @param hidden H
 * @param topK K
 * @param experts E
 * @param skew exponent of the experts' popularity
 * @param expertGroups groups of experts, of which a token's experts come from a few; 0 where routing has no groups
 * @param groupsPerToken how many
 * @param warmup rounds that did not count
 * @param iterations rounds that did
 * @param seed of data and routing
 * @param runs one for each value of {@code --sms}
 */
public record GpuReport(
        int format,
        BenchReport.Environment environment,
        int ranks,
        String ranksAs,
        int hidden,
        int topK,
        int experts,
        double skew,
        @JsonSetter(nulls = Nulls.AS_EMPTY) int expertGroups,
        @JsonSetter(nulls = Nulls.AS_EMPTY) int groupsPerToken,
        int warmup,
        int iterations,
        long seed,
        List<Run> runs) {
    /** The form that is written. */
    public static final int FORMAT = 3;

    /**
     * Measurements of one group of ranks.
     *
     * @param askedSms {@code ep.gpu.sms}; 0 for the default
     * @param gpu of rank 0
     * @param backends that the plan used
     * @param symmetricBytes symmetric memory of the buffer
     * @param localBytes local memory of the buffer
     * @param validatedElements numbers compared with the reference before, on all ranks
     * @param problems first differences found
     * @param operations figures of each operation and number of tokens
     * @param chains figures of chains of low-latency pairs; files of format 2 have none
     * @param sent what backends that count it have sent, warm-up and rounds that are not measured included; likewise
     */
    public record Run(
            int askedSms,
            OnGpu gpu,
            List<String> backends,
            long symmetricBytes,
            long localBytes,
            long validatedElements,
            List<String> problems,
            List<GpuFigures> operations,
            @JsonSetter(nulls = Nulls.AS_EMPTY) List<ChainFigures> chains,
            @JsonSetter(nulls = Nulls.AS_EMPTY) List<Sent> sent) {}

    /** Returns whether nothing differed from the reference. */
    public boolean valid() {
        return runs.stream().allMatch(r -> r.problems().isEmpty());
    }

    /**
     * Reads a report that {@link TextFile#writeJson} wrote.
     *
     * @throws EpArgumentException when the file holds something else
     */
    public static GpuReport read(Path file) {
        try {
            // A file that lacks a part, such as one of the host device, is refused here and not where the part is used.
            return JsonMapper.builder()
                    .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
                    .build()
                    .readValue(file, GpuReport.class);
        } catch (JacksonException e) {
            throw new EpArgumentException(
                    "--from",
                    file,
                    "a file that ./ep bench --json wrote on GPUs (" + e.getOriginalMessage() + ")",
                    "name such a file");
        }
    }
}
