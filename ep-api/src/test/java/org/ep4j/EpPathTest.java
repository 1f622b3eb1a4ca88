package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class EpPathTest {
    private static EpPath.Builder posted() {
        return EpPath.builder(1, 2, "wires", EpPath.Kind.HOST_POSTED)
                .nics(List.of("a:1", "b:1"))
                .offeredNics(List.of("a:1", "b:1", "c:1"))
                .lanes(4)
                .staged(true)
                .gigabytesPerSecond(45)
                .latencyMicros(3.5)
                .rejected(List.of("links: other host"));
    }

    @Test
    void aPathHasWhatItWasBuiltWith() {
        EpPath path = posted().build();
        assertThat(path.from()).isEqualTo(1);
        assertThat(path.to()).isEqualTo(2);
        assertThat(path.backend()).isEqualTo("wires");
        assertThat(path.kind()).isEqualTo(EpPath.Kind.HOST_POSTED);
        assertThat(path.nics()).containsExactly("a:1", "b:1");
        assertThat(path.offeredNics()).containsExactly("a:1", "b:1", "c:1");
        assertThat(path.lanes()).isEqualTo(4);
        assertThat(path.staged()).isTrue();
        assertThat(path.gigabytesPerSecond()).isEqualTo(45);
        assertThat(path.latencyMicros()).isEqualTo(3.5);
        assertThat(path.rejected()).containsExactly("links: other host");
        assertThat(path)
                .hasToString(
                        "1->2 over wires, HOST_POSTED, 45.0 GB/s, 3.5 us, nics [a:1, b:1] of [a:1, b:1, c:1], lanes 4,"
                                + " staged through host memory, not taken [links: other host]");
    }

    @Test
    void whatIsNotSetFollowsFromTheNics() {
        EpPath mapped = EpPath.builder(0, 1, "links", EpPath.Kind.MAPPED).build();
        assertThat(mapped.lanes()).isEqualTo(1);
        assertThat(mapped.nics()).isEmpty();
        assertThat(mapped.offeredNics()).isEmpty();
        assertThat(mapped.gigabytesPerSecond()).isZero();
        EpPath wires = EpPath.builder(0, 1, "wires", EpPath.Kind.DEVICE_POSTED)
                .nics(List.of("a:1", "b:1"))
                .build();
        assertThat(wires.lanes()).isEqualTo(2);
        assertThat(wires.offeredNics()).containsExactly("a:1", "b:1");
    }

    @Test
    void pathsAreEqualIfAllTheirPropertiesAre() {
        assertThat(posted().build()).isEqualTo(posted().build()).hasSameHashCodeAs(posted().build());
        List<UnaryOperator<EpPath.Builder>> changes = List.of(
                builder -> builder.nics(List.of("a:1")),
                builder -> builder.offeredNics(List.of("a:1", "b:1")),
                builder -> builder.lanes(2),
                builder -> builder.staged(false),
                builder -> builder.gigabytesPerSecond(46),
                builder -> builder.latencyMicros(3),
                builder -> builder.rejected(List.of("links: no driver")));
        for (UnaryOperator<EpPath.Builder> change : changes) {
            EpPath other = change.apply(posted()).build();
            assertThat(other).isNotEqualTo(posted().build());
            assertThat(other.toString()).isNotEqualTo(posted().build().toString());
        }
        assertThat(EpPath.builder(0, 1, "links", EpPath.Kind.MAPPED).build())
                .isNotEqualTo(EpPath.builder(1, 0, "links", EpPath.Kind.MAPPED).build())
                .isNotEqualTo(EpPath.builder(0, 1, "wires", EpPath.Kind.MAPPED).build())
                .isNotEqualTo(
                        EpPath.builder(0, 1, "links", EpPath.Kind.HOST_POSTED).build());
    }

    @Test
    void reasonsAreRenderedWhenTheyAreReadAndCannotBeChanged() {
        List<Integer> read = new ArrayList<>();
        EpPath path = posted().lazilyRejected(new AbstractList<>() {
                    @Override
                    public String get(int index) {
                        read.add(index);
                        return "links: reason " + index;
                    }

                    @Override
                    public int size() {
                        return 2;
                    }
                })
                .build();
        assertThat(read).isEmpty();
        assertThat(path.rejected().get(1)).isEqualTo("links: reason 1");
        assertThat(read).containsExactly(1);
        assertThatThrownBy(() -> path.rejected().clear()).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void reasonsAreCopied() {
        List<String> reasons = new ArrayList<>(List.of("links: other host"));
        EpPath path = posted().rejected(reasons).build();
        reasons.add("pipes: no driver");
        assertThat(path.rejected()).containsExactly("links: other host");
        assertThatThrownBy(() -> path.rejected().clear()).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void impossibleNumbersAreRefused() {
        assertThatThrownBy(() -> posted().lanes(0))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("lanes");
        assertThatThrownBy(() -> posted().gigabytesPerSecond(-1))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("gigabytesPerSecond");
        assertThatThrownBy(() -> posted().latencyMicros(Double.NaN))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("latencyMicros");
    }
}
