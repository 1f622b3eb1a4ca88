package org.ep4j.cli.report;

import java.util.LinkedHashMap;
import java.util.Map;
import org.ep4j.cli.rank.Operations;
import tools.jackson.databind.JsonNode;

/** Times in what a bench wrote with {@code --json}, by operation; microseconds. */
final class BenchTimes {
    private static final String TOKENS = " tokens";

    private BenchTimes() {}

    /**
     * Returns the times of one bench: {@code medianMicros} on the host, {@code gpuSlowestMicros} on GPUs and {@code periodMicros} of
     * chains. Reads nothing else, so that the format may be older or newer.
     */
    static Map<String, Double> of(JsonNode report) {
        Map<String, Double> times = new LinkedHashMap<>();
        for (JsonNode operation : report.path("operations")) {
            put(times, operation.path("operation").asString(""), operation.path("medianMicros"));
        }
        for (JsonNode run : report.path("runs")) {
            int sms = run.path("askedSms").asInt(0);
            for (JsonNode operation : run.path("operations")) {
                put(times, nameOnGpu(operation, sms), operation.path("gpuSlowestMicros"));
            }
            for (JsonNode chain : run.path("chains")) {
                String name = "chain of " + nameOnGpu(chain, 0) + ", "
                        + chain.path("way").asString("");
                put(times, name, chain.path("periodMicros"));
            }
        }
        return times;
    }

    /**
     * Returns the times of buffers of one shape, under names that have the numbers of tokens on the host, too. Without high
     * throughput, the high-throughput way of low-latency tokens is left out: the shape has none.
     */
    static Map<String, Double> withTokens(JsonNode report) {
        Map<String, Double> times = new LinkedHashMap<>(of(report));
        if (report.path("tokens").asInt(0) == 0) {
            times.remove(Operations.LL_BY_HT);
        }
        Map<String, Double> named = new LinkedHashMap<>();
        times.forEach((name, micros) -> named.put(withTokens(name, report), micros));
        return named;
    }

    private static String withTokens(String name, JsonNode report) {
        int tokens = report.path(name.startsWith("ll.") ? "lowLatencyTokens" : "tokens")
                .asInt(0);
        return tokens == 0 || name.contains(TOKENS) ? name : name + ", " + tokens + TOKENS;
    }

    /** Returns the name of an operation with its tokens and, in high throughput, the given number of {@code --sms}. */
    private static String nameOnGpu(JsonNode operation, int sms) {
        String name = operation.path("operation").asString("");
        return name + ", " + operation.path("tokens").asInt(0) + TOKENS
                + (sms > 0 && name.startsWith("ht.") ? ", " + sms + " SMs" : "");
    }

    private static void put(Map<String, Double> times, String name, JsonNode micros) {
        if (micros.isNumber() && micros.doubleValue() > 0) {
            times.putIfAbsent(name, micros.doubleValue());
        }
    }
}
