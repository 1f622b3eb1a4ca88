package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.engine.layout.Announcement;
import org.ep4j.engine.layout.Counter;
import org.ep4j.gpu.driver.KernelDialect;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What kernels and Java say of the same things, each in its own text. */
@Tag("verify")
final class KernelSeamTest {
    private final String source = read("op.cu");

    private static String read(String name) {
        try (InputStream in = KernelSource.class.getResourceAsStream(name)) {
            assertThat(in).as(name).isNotNull();
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private String body(String kind, String name) {
        Matcher found = Pattern.compile(kind + " " + name + " \\{(.*?)\\};", Pattern.DOTALL)
                .matcher(source);
        assertThat(found.find()).as(kind + " " + name).isTrue();
        return found.group(1).replaceAll("//[^\n]*", "");
    }

    private List<String> fields(String struct) {
        List<String> names = new ArrayList<>();
        for (String declaration : body("struct", struct).split(";", -1)) {
            Matcher name = Pattern.compile("(\\w+)(\\[\\w+])?\\s*$").matcher(declaration.strip());
            if (name.find()) {
                names.add(name.group(1));
            }
        }
        return names;
    }

    private List<String> constants(String name) {
        return Arrays.stream(body("enum", name).split(",", -1))
                .map(String::strip)
                .toList();
    }

    private static List<String> lower(Enum<?>[] values) {
        return Arrays.stream(values)
                .map(value -> value.name().toLowerCase(Locale.ROOT))
                .toList();
    }

    @Test
    void argumentsAreInTheOrderOfTheStruct() {
        assertThat(lower(Param.values())).isEqualTo(fields("Op"));
    }

    @Test
    void allArgumentsTakeEightBytes() {
        for (String declaration : body("struct", "Op").split(";", -1)) {
            String text = declaration.strip();
            assertThat(text.isEmpty() || text.contains("*") || text.startsWith("i64 ") || text.startsWith("u64 "))
                    .as(text)
                    .isTrue();
        }
    }

    @Test
    void countersAndAnnouncementsHaveTheSameOrder() {
        assertThat(constants("Counter"))
                .isEqualTo(Arrays.stream(Counter.values()).map(Enum::name).toList());
        assertThat(constants("AnnouncementKind"))
                .containsExactly("ANNOUNCE_HT", "ANNOUNCE_LL_DISPATCH", "ANNOUNCE_LL_COMBINE");
        assertThat(Announcement.values())
                .containsExactly(Announcement.HIGH_THROUGHPUT, Announcement.LL_DISPATCH, Announcement.LL_COMBINE);
    }

    @Test
    void phasesAndFailuresHaveTheSameOrder() {
        assertThat(constants("Phase"))
                .isEqualTo(Arrays.stream(KernelFailures.Phase.values())
                        .map(p -> "PHASE_" + p.name())
                        .toList());
        assertThat(constants("FailureKind"))
                .isEqualTo(Arrays.stream(KernelFailures.Kind.values())
                        .map(kind -> "FAILURE_" + kind.name())
                        .toList());
    }

    @Test
    void failureRecordHasTheFieldsThatTheHostReads() {
        assertThat(fields("Failure"))
                .containsExactly(
                        "kind",
                        "phase",
                        "counter",
                        "peer",
                        "expected",
                        "seen",
                        "value",
                        "sequence",
                        "mine",
                        "theirs",
                        "deadline");
    }

    @Test
    void stateHasTheFieldsThatTheHostWrites() {
        assertThat(body("struct", "State").replaceAll("\\s+", " ").strip())
                .isEqualTo("u64 ht_number; u64 ll_dispatch_number; u64 ll_combine_number; u64 ll_dispatch_of[2]; u64"
                        + " ll_combine_of[2]; u64 ll_dispatch_taken[2]; u64 ll_combine_taken[2]; u64"
                        + " mask_digest; u64 abort_asked; u64 ht_opened; u64 ht_gathered; u32 failed; u32"
                        + " refused; u32 done[16]; u32 scratch[16]; u32 ll_refused[4]; u32 masked[EP_RANKS];");
    }

    /** Checks by reading what the emulator, which has a dialect of its own, cannot show: other GPUs and NICs see the bytes before a flag. */
    @Test
    void flagsForOtherDevicesAreReleasedAndAcquiredInSystemScope() {
        assertThat(definitionIn(KernelDialect.CUDA.text(), "store_release(")).contains("st.release.sys.global.u64");
        assertThat(definitionIn(KernelDialect.CUDA.text(), "store_published(")).contains("store_release(p, v)");
        assertThat(definitionIn(KernelDialect.CUDA.text(), "load_acquire(")).contains("ld.acquire.sys.global.u64");
        assertThat(definitionIn(KernelDialect.CUDA.text(), "fence_system(")).contains("fence.acq_rel.sys");
        assertThat(definitionIn(KernelDialect.CUDA.text(), "store_remote(u64*")).contains("st.relaxed.sys.global.u64");
        assertThat(definitionIn(KernelDialect.HIP.text(), "store_release("))
                .contains("__ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM");
        assertThat(definitionIn(KernelDialect.HIP.text(), "store_published("))
                .containsSubsequence("await_stores()", "store_release(p, v)");
        assertThat(definitionIn(KernelDialect.HIP.text(), "load_acquire("))
                .contains("__ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM");
        assertThat(definitionIn(KernelDialect.HIP.text(), "fence_system("))
                .contains("__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, \"\")");
        assertThat(definitionIn(KernelDialect.HIP.text(), "store_remote(u64*"))
                .contains("__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM");
        assertThat(definition("op.cu", "store_failure(")).containsSubsequence("fence_system()", "store_remote(p, v)");
        List<String> stores = read("fifo.cu")
                .lines()
                .map(String::strip)
                .filter(line -> line.contains("(place"))
                .toList();
        assertThat(stores).hasSize(2);
        assertThat(stores.get(1)).as("the word with the phase").startsWith("store_release(place + 1,");
    }

    /** The text from a function's name, with the beginning of its parameters, to the next function. */
    private static String definition(String file, String function) {
        return definitionIn(read(file), function);
    }

    private static String definitionIn(String text, String function) {
        Matcher found = Pattern.compile(
                        "^EP_DEVICE \\w+ " + Pattern.quote(function) + ".*?(?=^EP_DEVICE|\\z)",
                        Pattern.DOTALL | Pattern.MULTILINE)
                .matcher(text);
        assertThat(found.find()).as(function).isTrue();
        return found.group();
    }
}
