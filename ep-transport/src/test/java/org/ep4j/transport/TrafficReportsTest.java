package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.ep4j.EpTraffic;
import org.ep4j.testing.ManualClock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class TrafficReportsTest {
    @TempDir
    private Path folder;

    @Test
    void everyLaneOfEveryLinkIsAnEvent() throws IOException {
        List<EpTraffic> traffic = List.of(
                EpTraffic.of("wires", 1, 2, List.of(lane(0, 100), lane(1, 200))),
                EpTraffic.of("wires", 3, 0, List.of(lane(0, 300))));
        List<RecordedEvent> events = recorded(() -> new TrafficReports(7, () -> traffic).report());
        assertThat(events).extracting(event -> event.getLong("bytes")).containsExactly(100L, 200L, 300L);
        RecordedEvent second = events.get(1);
        assertThat(second.getInt("rank")).isEqualTo(7);
        assertThat(second.getInt("peer")).isEqualTo(1);
        assertThat(second.getInt("failovers")).isEqualTo(2);
        assertThat(second.getInt("lane")).isEqualTo(1);
        assertThat(second.getString("ports")).isEqualTo("a:1 to b:1");
        assertThat(second.getBoolean("alive")).isTrue();
        assertThat(second.getLong("writes")).isEqualTo(4);
        assertThat(second.getLong("adds")).isEqualTo(5);
        assertThat(second.getLong("replays")).isEqualTo(6);
    }

    @Test
    void reportsEveryFiveSeconds() throws IOException {
        ManualClock clock = new ManualClock();
        List<EpTraffic> traffic = List.of(EpTraffic.of("wires", 1, 2, List.of(lane(0, 100))));
        List<RecordedEvent> events = recorded(() -> {
            TrafficReports reports = new TrafficReports(7, () -> traffic, clock::nanoTime);
            reports.tick();
            clock.advance(Duration.ofMillis(4999));
            reports.tick();
            clock.advance(Duration.ofMillis(1));
            reports.tick();
            reports.tick();
            clock.advance(Duration.ofSeconds(5));
            reports.tick();
        });
        assertThat(events).hasSize(2);
    }

    private List<RecordedEvent> recorded(Runnable work) throws IOException {
        Path file = folder.resolve("traffic.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("org.ep4j.Traffic");
            recording.start();
            work.run();
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("org.ep4j.Traffic"))
                .filter(event -> event.getString("backend").equals("wires"))
                .toList();
    }

    @Test
    void nobodyIsAskedWhereNobodyRecords() {
        new TrafficReports(0, () -> {
                    throw new AssertionError("asked");
                })
                .report();
    }

    private static EpTraffic.Lane lane(int index, long bytes) {
        return EpTraffic.Lane.builder(index, "a:1 to b:1")
                .bytes(bytes)
                .writes(4)
                .signals(5)
                .replays(6)
                .build();
    }
}
