package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.invoke.MethodHandles;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.EpMismatchException;
import org.ep4j.testing.Draw;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class RecordCodecTest {
    private static final int FORMAT = 7;
    private static final RecordCodec<Sample> CODEC = codec(Sample.class);

    private enum Colour {
        RED,
        GREEN {
            @Override
            public String toString() {
                return "green";
            }
        }
    }

    private record Inner(int number, Colour colour) {
        Inner {
            if (number < 0) {
                throw new IllegalArgumentException("number " + number);
            }
        }
    }

    private record Sample(
            boolean flag,
            byte small,
            long large,
            double real,
            String text,
            Optional<Boolean> maybe,
            Inner inner,
            List<Inner> inners,
            Map<Integer, List<String>> map) {}

    private record Text(String value) {}

    @SuppressWarnings("ArrayRecordComponent") // not compared
    private record Bytes(byte[] value) {}

    @SuppressWarnings("ArrayRecordComponent") // not compared
    private record Numbers(long[] value) {}

    @SuppressWarnings("ArrayRecordComponent") // not compared
    private record Colours(Colour[] value) {}

    private record Flag(boolean value) {}

    private record Small(byte value) {}

    private record Table(Map<String, Integer> value) {}

    private record Row(String key, int value) {}

    private record Rows(List<Row> value) {}

    private record Count(int value) {}

    private record Named(String colour) {}

    private record Painted(Colour colour) {}

    private record Unordered(Set<String> value) {}

    private record Real(float value) {}

    private static <T extends Record> RecordCodec<T> codec(Class<T> type) {
        return new RecordCodec<>(MethodHandles.lookup(), type, "its sample", FORMAT);
    }

    static Sample sample(Random random) {
        List<Inner> inners = new ArrayList<>();
        for (int left = Draw.size(random, 0, 4); left > 0; left--) {
            inners.add(inner(random));
        }
        Map<Integer, List<String>> map = new TreeMap<>();
        for (int left = Draw.size(random, 0, 4); left > 0; left--) {
            map.put(Draw.anInt(random, Integer.MIN_VALUE, Integer.MAX_VALUE), List.of(text(random), text(random)));
        }
        return new Sample(
                random.nextBoolean(),
                (byte) random.nextInt(),
                Draw.aLong(random, Long.MIN_VALUE, Long.MAX_VALUE),
                Double.longBitsToDouble(random.nextLong()),
                text(random),
                Draw.oneOf(random, Optional.empty(), Optional.of(true), Optional.of(false)),
                inner(random),
                inners,
                map);
    }

    private static Inner inner(Random random) {
        return new Inner(Draw.anInt(random, 0, Integer.MAX_VALUE), Draw.oneOf(random, Colour.values()));
    }

    private static String text(Random random) {
        String text = Draw.aString(random, 0, 30);
        return text.codePoints().noneMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)
                ? text
                : text(random);
    }

    @Property
    void aRecordIsRestoredFromItsBytes(@ForAll("sample") Sample sample) {
        assertThat(CODEC.decode(CODEC.encode(sample))).isEqualTo(sample);
    }

    @Property
    void randomBytesAreARecordOrRefused(@ForAll @Size(max = 300) byte[] bytes) {
        decodeOrRefuse(bytes);
        decodeOrRefuse(ByteBuffer.allocate(Integer.BYTES + bytes.length)
                .putInt(FORMAT)
                .put(bytes)
                .array());
    }

    @Property
    void aRecordWithOneByteChangedIsARecordOrRefused(
            @ForAll("sample") Sample sample, @ForAll @IntRange(max = 10_000) int place, @ForAll byte value) {
        byte[] bytes = CODEC.encode(sample);
        bytes[place % bytes.length] = value;
        decodeOrRefuse(bytes);
    }

    private static void decodeOrRefuse(byte[] bytes) {
        try {
            Sample sample = CODEC.decode(bytes);
            assertThat(CODEC.decode(CODEC.encode(sample))).isEqualTo(sample);
        } catch (EpMismatchException e) {
            assertThat(e)
                    .hasMessageStartingWith("a rank sent its sample in ")
                    .hasMessageEndingWith("; run the same ep4j version on all ranks");
        }
    }

    @Property
    void aCutOrLongerRecordIsRefused(@ForAll("sample") Sample sample, @ForAll @IntRange(max = 10_000) int length) {
        byte[] bytes = CODEC.encode(sample);
        int cut = length % bytes.length;
        assertThatThrownBy(() -> CODEC.decode(Arrays.copyOf(bytes, cut)))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("its sample in a message of " + cut + " bytes");
        assertThatThrownBy(() -> CODEC.decode(Arrays.copyOf(bytes, bytes.length + 1 + cut)))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("(" + (1 + cut) + " bytes too many)");
    }

    @Test
    void arraysAreRestored() {
        Bytes bytes = new Bytes(new byte[] {1, -2, 3});
        assertThat(codec(Bytes.class).decode(codec(Bytes.class).encode(bytes)).value())
                .containsExactly(1, -2, 3);
        Numbers numbers = new Numbers(new long[] {Long.MIN_VALUE, 5});
        assertThat(codec(Numbers.class)
                        .decode(codec(Numbers.class).encode(numbers))
                        .value())
                .containsExactly(Long.MIN_VALUE, 5);
        Colours colours = new Colours(Colour.values());
        assertThat(codec(Colours.class)
                        .decode(codec(Colours.class).encode(colours))
                        .value())
                .containsExactly(Colour.RED, Colour.GREEN);
    }

    @Test
    void mapsOfAnyOrderHaveEqualBytes() {
        Map<String, Integer> reversed = new TreeMap<>(Comparator.reverseOrder());
        reversed.putAll(Map.of("a", 1, "b", 2, "c", 3));
        assertThat(codec(Table.class).encode(new Table(reversed)))
                .isEqualTo(codec(Table.class).encode(new Table(new TreeMap<>(reversed))))
                .isEqualTo(
                        codec(Rows.class).encode(new Rows(List.of(new Row("a", 1), new Row("b", 2), new Row("c", 3)))));
    }

    @Test
    void anotherFormatIsNamed() {
        byte[] bytes = codec(Count.class).encode(new Count(1));
        bytes[3] = 9;
        assertThatThrownBy(() -> codec(Count.class).decode(bytes))
                .isInstanceOf(EpMismatchException.class)
                .hasMessage("a rank sent its sample in format 9, but this ep4j reads format 7;"
                        + " run the same ep4j version on all ranks");
    }

    @Test
    void aDeclaredLengthIsComparedWithTheBytesThatFollow() {
        for (int declared : new int[] {-1, 5, Integer.MAX_VALUE}) {
            byte[] bytes =
                    ByteBuffer.allocate(12).putInt(FORMAT).putInt(declared).array();
            for (Class<? extends Record> type :
                    List.of(Text.class, Bytes.class, Numbers.class, Table.class, Rows.class)) {
                assertThatThrownBy(() -> codec(type).decode(bytes))
                        .as(type.getSimpleName())
                        .isInstanceOf(EpMismatchException.class)
                        .hasMessageContaining("it declares " + declared + " entries in the 4 bytes that follow");
            }
        }
    }

    @Test
    void malformedPartsAreNamed() {
        refuses(Text.class, codec(Bytes.class).encode(new Bytes(new byte[] {'a', -1})), "a text is not UTF-8");
        refuses(Flag.class, codec(Small.class).encode(new Small((byte) 2)), "a boolean is 2");
        refuses(Painted.class, codec(Named.class).encode(new Named("BLUE")), "unknown Colour \"BLUE\"");
        refuses(
                Table.class,
                codec(Rows.class).encode(new Rows(List.of(new Row("a", 1), new Row("a", 2)))),
                "two entries for \"a\"");
        refuses(Count.class, new byte[] {0, 0, 0, FORMAT, 1}, "it ends too early");
        refuses(Bytes.class, codec(Bytes.class).encode(new Bytes(new byte[16 << 20])), "more than 16777216");
        byte[] inner = codec(Inner.class).encode(new Inner(1, Colour.GREEN));
        inner[4] = -1;
        refuses(Inner.class, inner, "number -16777215");
    }

    private static void refuses(Class<? extends Record> type, byte[] bytes, String why) {
        assertThatThrownBy(() -> codec(type).decode(bytes))
                .isInstanceOf(EpMismatchException.class)
                .hasMessage("a rank sent its sample in a message of " + bytes.length
                        + " bytes that this version cannot decode (" + why
                        + "); run the same ep4j version on all ranks");
    }

    private record Chain(int value, Optional<Chain> next) {}

    private record Empty() {}

    private record Empties(List<Empty> value) {}

    @Test
    void refusesRecordsThatItCannotReadSafely() {
        assertThatThrownBy(() -> codec(Unordered.class))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot hold a java.util.Set<java.lang.String>");
        assertThatThrownBy(() -> codec(Real.class))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("float");
        assertThatThrownBy(() -> new RecordCodec<>(MethodHandles.publicLookup(), Count.class, "a number", 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no access");
        assertThatThrownBy(() -> codec(Chain.class)).hasMessageContaining("Chain contains itself");
        assertThatThrownBy(() -> codec(Empties.class)).hasMessageContaining("Empty has no components");
    }
}
