package org.ep4j.cli.plan;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import org.ep4j.plan.forecast.Exchange.Messages;
import org.ep4j.plan.forecast.Exchange.Mode;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import tools.jackson.databind.json.JsonMapper;

/**
 * Measurements that others published, as they stand in {@code published.json}.
 *
 * @param hardware what they were made on
 * @param series tables
 */
record Published(List<Hardware> hardware, List<Series> series) {
    /** What a published figure is. */
    enum Unit {
        /** Time of the operation in microseconds. */
        MICROS,
        /** GB/s of all messages of a rank, those to itself among them. */
        LOGICAL,
        /** GB/s of tokens counted once a host, the rank's own among them. */
        DOMAIN
    }

    /**
     * A cluster, in the terms of a description of a machine.
     *
     * @param id name for people
     * @param vendor of the GPUs
     * @param architecture of the GPUs
     * @param gpus GPUs of a host
     * @param linkGigabytes GB/s of all NVLinks of a GPU, or of the xGMI link of two, as NCCL counts them
     * @param family of the NICs
     * @param nicsPerGpu NICs below the same switch as a GPU
     * @param nicGigabits rate of each
     * @param domainHosts hosts of an NVLink domain; 0 for none
     */
    record Hardware(
            String id,
            GpuVendor vendor,
            String architecture,
            int gpus,
            double linkGigabytes,
            NicFamily family,
            int nicsPerGpu,
            double nicGigabits,
            int domainHosts) {}

    /**
     * A table.
     *
     * @param source document
     * @param url where it is; empty when it is not public
     * @param system what was measured
     * @param hardware on what
     * @param mode which mode
     * @param tokens tokens a rank
     * @param experts experts; ignored where there is a number for each rank
     * @param expertsPerRank experts of each rank; 0 for a fixed number of all
     * @param topK experts of a token
     * @param dispatchRow bytes of a token on its way out
     * @param combineRow bytes of a row on its way back
     * @param dispatchMessages how often a token is sent
     * @param combineMessages how many rows come back for it
     * @param topGroups hosts that a token may go to; 0 for all
     * @param unit what the figures are
     * @param require backends that alone were used, comma-separated; empty for what the plan chooses
     * @param rows the figures
     * @param note where the model misses, and why; empty for none
     */
    record Series(
            String source,
            String url,
            String system,
            String hardware,
            Mode mode,
            int tokens,
            int experts,
            int expertsPerRank,
            int topK,
            long dispatchRow,
            long combineRow,
            Messages dispatchMessages,
            Messages combineMessages,
            int topGroups,
            Unit unit,
            String require,
            List<Row> rows,
            String note) {}

    /**
     * Figures of one size of group.
     *
     * @param ranks number of ranks
     * @param dispatch figure of the dispatch; 0 for none
     * @param combine figure of the combine; 0 for none
     */
    record Row(int ranks, double dispatch, double combine) {}

    /** Copies the lists. */
    Published {
        hardware = List.copyOf(hardware);
        series = List.copyOf(series);
    }

    /** Those of this release. */
    static Published load() {
        try (InputStream in = Published.class.getResourceAsStream("published.json")) {
            if (in == null) {
                throw new IllegalStateException("published.json is missing on the class path");
            }
            return JsonMapper.builder().build().readValue(in, Published.class);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Hardware hardware(Series of) {
        return hardware.stream()
                .filter(one -> one.id().equals(of.hardware()))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no hardware " + of.hardware()));
    }
}
