package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.ep4j.tck.posted.Runs.Paths;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Emulated GPUs that map some peers, post to others by kernels and to others by threads of the host, in one operation. */
@Timeout(400)
class SeveralWaysGpuTest extends OnEmulatedGpus {
    /** Rank 0 maps 1, puts to 2 and sends to 3; 1 puts to 3, which sends to it; 2 and 3 map each other. */
    static final String PUT = "0>2 2>0 1>3";

    static final String SENT = "0>3 3>0 3>1 1>2 2>1";

    /** Settings under which kernels put to some pairs, host threads send to some, and the others map. */
    static Map<String, String> settings(String put, String sent) {
        return new TreeMap<>(Map.of(
                EpKeys.DEVICE.name(),
                "cuda",
                EpKeys.REQUIRE.name(),
                ThreadsBackendProvider.ID
                        + (put.isEmpty() ? "" : "," + PutThreadsProvider.ID)
                        + (sent.isEmpty() ? "" : "," + PostedThreadsProvider.ID),
                EpKeys.PREFER.name(),
                PutThreadsProvider.ID + "," + PostedThreadsProvider.ID,
                PutThreadsProvider.PAIRS.name(),
                put,
                PostedThreadsProvider.PAIRS.name(),
                sent));
    }

    private static List<Map<String, String>> run(int ranks, String scenario, String params, String put, String sent) {
        return Runs.run(Paths.BOTH, NamedPairs.class.getName(), ranks, scenario, params, 7, settings(put, sent));
    }

    /** With all three in rank 0; with each of the two and mapped paths one way only; and with the two ways of posting only. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "4; 0>2 2>0 1>3; 0>3 3>0 3>1 1>2 2>1; hidden=64 tokens=9,0,5,14 topk=3 experts=12 low rounds=2 seed=3",
                "4; 0>2 2>0 1>3; 0>3 3>0 3>1 1>2 2>1; hidden=48 tokens=20,3,0,45 topk=5 experts=13 layout=BY_EXPERT max=180 seed=4",
                "3; ''; 0>1 2>0; hidden=64 tokens=9,0,15 topk=3 experts=7 cached low logfmt seed=5",
                "3; ''; 0>1 2>0; hidden=64 tokens=33,12,9 topk=4 experts=9 layout=BY_EXPERT seed=6",
                "3; 0>1 2>0; ''; hidden=64 tokens=9,0,15 topk=3 experts=7 fp8 cached low seed=5",
            })
    void allKindsOfPathsGiveTheSameBits(int ranks, String put, String sent, String params) {
        assertThat(run(ranks, "BitsScenario", params, put, sent))
                .isEqualTo(Runs.run(Paths.MAPPED, ranks, "BitsScenario", params, 7));
    }
}
