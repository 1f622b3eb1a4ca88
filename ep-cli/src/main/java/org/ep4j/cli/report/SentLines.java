package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.cli.rank.RankMessage.Lane;
import org.ep4j.cli.rank.RankMessage.Link;
import org.ep4j.cli.rank.RankMessage.Sent;

/** What backends have sent, as one line for each backend. */
public final class SentLines {
    private SentLines() {}

    public static List<String> of(List<Sent> sent) {
        Map<String, List<Link>> byBackend = new TreeMap<>();
        sent.forEach(one -> byBackend
                .computeIfAbsent(one.backend(), backend -> new ArrayList<>())
                .addAll(one.links()));
        List<String> lines = new ArrayList<>();
        byBackend.forEach((backend, links) -> lines.add(line(backend, links)));
        return lines;
    }

    private static String line(String backend, List<Link> links) {
        List<Lane> lanes = links.stream().flatMap(link -> link.lanes().stream()).toList();
        Map<String, Long> bytes = lanes.stream()
                .collect(Collectors.groupingBy(Lane::ports, TreeMap::new, Collectors.summingLong(Lane::bytes)));
        String ports = bytes.entrySet().stream()
                .map(entry -> String.format(Locale.ROOT, "%s %.1f MB", entry.getKey(), entry.getValue() / 1e6))
                .collect(Collectors.joining(", "));
        return String.format(
                Locale.ROOT,
                "Backend %s sent %.1f MB in %d writes, and advanced counters of peers %d times, over %d queue pairs, including"
                        + " rounds that are not measured; %d failovers, %d requests repeated. %s",
                backend,
                lanes.stream().mapToLong(Lane::bytes).sum() / 1e6,
                lanes.stream().mapToLong(Lane::writes).sum(),
                lanes.stream().mapToLong(Lane::adds).sum(),
                lanes.size(),
                links.stream().mapToInt(Link::failovers).sum(),
                lanes.stream().mapToLong(Lane::replays).sum(),
                ports);
    }
}
