package org.ep4j.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Arguments and failures of properties. */
@Tag("verify")
final class PropertyTest {
    private static final List<List<?>> SEEN = new ArrayList<>();

    enum Colour {
        RED,
        GREEN,
        BLUE
    }

    /** Properties for the tests below, each run by its name. */
    static final class Properties {
        private int tries;

        @Property(tries = 50)
        void numbers(
                @ForAll int i,
                @ForAll long l,
                @ForAll byte b,
                @ForAll @IntRange(max = 90) int n,
                @ForAll Integer boxed) {
            SEEN.add(List.of(i, l, b, n, boxed));
        }

        @Property
        void ranges(
                @ForAll @IntRange(min = -3, max = 1000) int i,
                @ForAll @LongRange(min = 7, max = 1L << 40) long l,
                @ForAll @Size(max = 4) List<@IntRange(min = 2, max = 3) Integer> list,
                @ForAll @Size(5) byte[] bytes,
                @ForAll @StringLength(min = 1, max = 6) String text,
                @ForAll @AlphaChars @StringLength(max = 3) String letters) {
            SEEN.add(List.of(i, l, list, bytes, text, letters));
        }

        @Property(tries = 24)
        void combinations(@ForAll Colour colour, @ForAll boolean flag, @ForAll @IntRange(max = 3) int n) {
            SEEN.add(List.of(colour, flag, n));
        }

        @Property(tries = 23)
        void oneCombinationTooMany(@ForAll Colour colour, @ForAll boolean flag, @ForAll @IntRange(max = 3) int n) {
            SEEN.add(List.of(colour, flag, n));
        }

        @Property
        void noParameters() {
            SEEN.add(List.of());
        }

        @Property(tries = 20)
        void named(@ForAll("pair") List<Integer> pair, @ForAll("even") int even) {
            SEEN.add(List.of(pair, even));
        }

        List<Integer> pair(Random random) {
            int first = Draw.anInt(random, 0, 9);
            return List.of(first, first + 1);
        }

        static int even(Random random) {
            return 2 * random.nextInt(100);
        }

        @Property
        void wrong(@ForAll @IntRange(max = 100_000) int i, @ForAll byte[] bytes, @ForAll String text) {
            SEEN.add(List.of(i, Arrays.toString(bytes), text));
            if (i > 50_000 && bytes.length > 0 && bytes.length < 255) {
                throw new IllegalStateException("too much");
            }
        }

        @Property
        void wrongAtOnce(@ForAll("strange") String text) {
            if (!text.isEmpty()) {
                throw new AssertionError("wrong with " + text.length());
            }
        }

        @Property(tries = 10)
        void someDiscarded(@ForAll int i) {
            assumeTrue(i % 2 == 0);
            SEEN.add(List.of(i));
        }

        @Property(tries = 10)
        void allDiscarded(@ForAll int i) {
            SEEN.add(List.of(i));
            assumeTrue(false, "not this one");
        }

        @Property
        void allCombinationsDiscarded(@ForAll boolean flag) {
            SEEN.add(List.of(flag));
            assumeTrue(false, "nor that one");
        }

        @Property(tries = 30, verify = 4)
        void fewer(@ForAll long l) {
            SEEN.add(List.of(l));
        }

        @Property(tries = 9)
        void sameInstance(@ForAll long l) {
            tries++;
            SEEN.add(List.of(tries));
        }

        @Property
        void meaningless(@ForAll @IntRange(max = 3) long l) {}

        @Property
        void unknown(@ForAll Thread thread) {}

        @Property
        void missing(@ForAll("nowhere") int i) {}

        static String strange(Random random) {
            return "nul\0lone\ud800" + "x".repeat(400);
        }
    }

    @BeforeEach
    void forget() {
        SEEN.clear();
    }

    @Test
    void theFirstTriesAreTheExtremesAndAllAreCounted() {
        passes("numbers");
        assertThat(SEEN).hasSize(50);
        assertThat(SEEN.get(0))
                .isEqualTo(List.of(Integer.MIN_VALUE, Long.MIN_VALUE, Byte.MIN_VALUE, 0, Integer.MIN_VALUE));
        assertThat(SEEN.get(1))
                .isEqualTo(List.of(Integer.MAX_VALUE, Long.MAX_VALUE, Byte.MAX_VALUE, 90, Integer.MAX_VALUE));
        assertThat(SEEN).doesNotHaveDuplicates();
    }

    @Test
    void rangesAreKeptAndTheirEndsAreReached() {
        passes("ranges");
        assertThat(SEEN).hasSize(1000);
        List<Integer> sizes = new ArrayList<>();
        for (List<?> seen : SEEN) {
            List<?> list = (List<?>) seen.get(2);
            sizes.add(list.size());
            assertThat((int) seen.get(0)).isBetween(-3, 1000);
            assertThat((long) seen.get(1)).isBetween(7L, 1L << 40);
            assertThat(list).hasSizeLessThanOrEqualTo(4).allMatch(n -> n.equals(2) || n.equals(3));
            assertThat((byte[]) seen.get(3)).hasSize(5);
            assertThat((String) seen.get(4)).hasSizeBetween(1, 6);
            assertThat((String) seen.get(5)).hasSizeLessThanOrEqualTo(3).matches("[A-Za-z]*");
        }
        assertThat(sizes).contains(0, 1, 2, 3, 4);
        for (int edge : new int[] {-3, -1, 0, 1, 1000}) {
            assertThat(SEEN.stream().filter(seen -> seen.get(0).equals(edge)).count())
                    .as("%d", edge)
                    .isBetween(10L, 150L);
        }
        assertThat(SEEN.get(0).subList(0, 3)).isEqualTo(List.of(-3, 7L, List.of()));
        assertThat(SEEN.get(1).subList(0, 3)).isEqualTo(List.of(1000, 1L << 40, List.of(3, 3, 3, 3)));
    }

    @Test
    void combinationsAreEnumeratedWhereTheyAreNoMoreThanTheTries() {
        passes("combinations");
        assertThat(SEEN).hasSize(3 * 2 * 4).doesNotHaveDuplicates();
        SEEN.clear();
        passes("oneCombinationTooMany");
        assertThat(SEEN).hasSize(23);
        assertThat(new HashSet<>(SEEN)).hasSizeLessThan(23);
        SEEN.clear();
        passes("noParameters");
        assertThat(SEEN).hasSize(1);
    }

    @Test
    void methodsOfTheTestCanDrawValues() {
        passes("named");
        assertThat(SEEN).hasSize(20).allSatisfy(seen -> {
            assertThat((int) seen.get(1) % 2).isZero();
            assertThat(((List<?>) seen.get(0))).hasSize(2);
        });
    }

    @Test
    void aFailureNamesSeedAndArgumentsAndTheSeedRepeatsIt() {
        AssertionError error = fails("wrong", Map.of());
        List<?> last = SEEN.get(SEEN.size() - 1);
        assertThat(error)
                .hasCauseInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith(
                        "try %d of 1000 failed: java.lang.IllegalStateException: too much\n".formatted(SEEN.size()))
                .hasMessageContaining("\n  int " + last.get(0) + "\n  byte[] [")
                .hasMessageContaining("\n  String ");
        List<List<?>> first = List.copyOf(SEEN);

        SEEN.clear();
        assertThat(fails("wrong", Map.of())).hasMessage(error.getMessage());
        assertThat(SEEN).as("no seed is always the same seed").isEqualTo(first);
        SEEN.clear();
        assertThat(fails("wrong", Map.of("ep4j.test.seed", seed(error)))).hasMessage(error.getMessage());
        assertThat(SEEN).isEqualTo(first);
        SEEN.clear();
        assertThat(seed(fails("wrong", Map.of("ep4j.test.seed", "77")))).isEqualTo("77");
        assertThat(SEEN.subList(2, SEEN.size())).doesNotContainAnyElementsOf(first.subList(2, first.size()));
    }

    @Test
    void aRandomSeedIsAnotherEachTimeAndIsNamed() {
        AssertionError error = fails("wrong", Map.of("ep4j.test.seed", "random"));
        List<List<?>> first = List.copyOf(SEEN);
        SEEN.clear();
        assertThat(seed(fails("wrong", Map.of("ep4j.test.seed", "random")))).isNotEqualTo(seed(error));
        SEEN.clear();
        fails("wrong", Map.of("ep4j.test.seed", seed(error)));
        assertThat(SEEN).isEqualTo(first);
    }

    @Test
    void argumentsAreShownWithoutCharactersThatDisturbAReport() {
        int seed = (Properties.class.getName() + ".wrongAtOnce").hashCode();
        assertThat(fails("wrongAtOnce", Map.of()))
                .hasMessage("try 1 of 1000 failed: java.lang.AssertionError: wrong with 409\n"
                        + ("  String nul\\u0000lone\\ud800" + "x".repeat(291) + "... (409 characters)\n")
                        + ("repeat it with -Dep4j.test.seed=" + seed));
    }

    @Test
    void discardedTriesAreReplaced() {
        passes("someDiscarded");
        assertThat(SEEN).hasSize(10).allMatch(seen -> (int) seen.get(0) % 2 == 0);
    }

    @Test
    void aPropertyThatDiscardsTooMuchFails() {
        assertThat(fails("allDiscarded", Map.of()))
                .hasMessageContaining("100 of 100 tries were discarded")
                .hasMessageContaining("not this one");
        SEEN.clear();
        assertThat(fails("allCombinationsDiscarded", Map.of())).hasMessageContaining("2 of 2 tries were discarded");
    }

    @Test
    void theTierDecidesHowManyTriesThereAre() {
        passes("fewer");
        assertThat(SEEN).hasSize(4);
        List<List<?>> few = List.copyOf(SEEN);
        SEEN.clear();
        assertThat(run("fewer", Map.of("ep4j.test.tier", "all"))).isEmpty();
        assertThat(SEEN).hasSize(30).startsWith(few.toArray(List<?>[]::new));
    }

    @Test
    void aSettingDecidesHowManyTriesThereAre() {
        assertThat(run("fewer", Map.of("ep4j.test.tries", "17"))).isEmpty();
        assertThat(SEEN).hasSize(17);
    }

    @Test
    void triesShareAnInstance() {
        passes("sameInstance");
        assertThat(SEEN).hasSize(9).endsWith(List.of(9));
    }

    @Test
    void annotationsWithoutEffectAndUnknownValuesAreRefused() {
        assertThat(run("meaningless", Map.of()).orElseThrow()).hasMessage("@IntRange says nothing of a value long");
        assertThat(run("unknown", Map.of()).orElseThrow())
                .hasMessageContaining("which values a java.lang.Thread has is not known");
        assertThat(run("missing", Map.of()).orElseThrow()).hasMessageContaining("nowhere(java.util.Random)");
    }

    private static void passes(String name) {
        assertThat(run(name, Map.of())).isEmpty();
    }

    private static AssertionError fails(String name, Map<String, String> parameters) {
        return (AssertionError) run(name, parameters).orElseThrow();
    }

    /** Runs a property, and returns its failure. */
    private static Optional<Throwable> run(String name, Map<String, String> parameters) {
        Method method = Arrays.stream(Properties.class.getDeclaredMethods())
                .filter(m -> m.getName().equals(name))
                .findFirst()
                .orElseThrow();
        List<Event> events = EngineTestKit.engine("junit-jupiter")
                .selectors(selectMethod(Properties.class, method))
                .configurationParameters(parameters)
                .execute()
                .testEvents()
                .finished()
                .list();
        assertThat(events).as("one test").hasSize(1);
        return events.get(0).getRequiredPayload(TestExecutionResult.class).getThrowable();
    }

    private static String seed(AssertionError error) {
        Matcher matcher =
                Pattern.compile("-Dep4j.test.seed=(-?[0-9]+)").matcher(Objects.requireNonNull(error.getMessage()));
        assertThat(matcher.find()).isTrue();
        return matcher.group(1);
    }
}
