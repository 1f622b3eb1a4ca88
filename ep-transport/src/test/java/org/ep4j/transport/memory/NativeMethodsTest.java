package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.Native;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.ep4j.transport.memory.NativeMethods.Prefix;
import org.ep4j.transport.memory.NativeMethods.Symbol;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class NativeMethodsTest {
    private static final class Present {
        native int getpid();
    }

    private static final class Renamed {
        @Symbol("getpid")
        native int id();

        @Symbol("getpid")
        native int again();
    }

    @Prefix("cu")
    private static final class Prefixed {
        native int init();

        native int cuMemFree();

        @Symbol("cuEventDestroy_v2")
        native int eventDestroy();
    }

    private static final class Missing {
        native int ep4j_has_no_such_function();
    }

    /** JNA gives nothing back of a binding, so a second one for the next group would leak. */
    @Test
    void bindsAClassToALibraryOnce() {
        NativeMethods.bindToC(Present.class);
        assertThat((long) new Present().getpid())
                .isEqualTo(ProcessHandle.current().pid());
        Native.unregister(Present.class);
        NativeMethods.bindToC(Present.class);
        assertThat(Native.registered(Present.class)).as("bound anew").isFalse();
    }

    @Test
    void bindsAMethodToTheFunctionOfItsSymbol() {
        NativeMethods.bindToC(Renamed.class);
        Renamed process = new Renamed();
        assertThat((long) process.id()).isEqualTo(ProcessHandle.current().pid());
        assertThat(process.again()).isEqualTo(process.id());
    }

    @Test
    void theNameOfAFunctionHasThePrefixOfTheClass() {
        assertThat(Arrays.stream(Prefixed.class.getDeclaredMethods()).map(NativeMethods::symbol))
                .containsExactlyInAnyOrder("cuInit", "cuMemFree", "cuEventDestroy_v2");
    }

    @Test
    void whyJnaDoesNotStartNamesTheFolderAndTheProperty() {
        JniLibraryProblem problem = NativeMethods.started(
                        () -> {
                            throw new UnsatisfiedLinkError(
                                    "/home/a/.cache/JNA/temp/jna1.tmp: failed to map segment\npath");
                        },
                        Map.of("XDG_CACHE_HOME", "/ep4j-has-no-such-folder"))
                .orElseThrow();
        assertThat(problem.message()).endsWith("/home/a/.cache/JNA/temp/jna1.tmp: failed to map segment");
        assertThat(problem.remedy())
                .contains("unpacked into " + System.getProperty("java.io.tmpdir"), "noexec", "-Djna.tmpdir");
    }

    @Test
    void anErrorOfJnaIsAReasonToo() {
        assertThat(NativeMethods.started(
                                () -> {
                                    throw new Error("There is an incompatible JNA native library installed");
                                },
                                Map.of())
                        .orElseThrow()
                        .message())
                .endsWith("incompatible JNA native library installed");
    }

    @Test
    void theFolderIsTheOneThatJnaTakes(@TempDir Path caches) throws IOException {
        Path own = Files.createDirectories(caches.resolve("JNA/temp"));
        assertThat(NativeMethods.folder(Map.of("XDG_CACHE_HOME", caches.toString())))
                .isEqualTo(own);
    }

    @Test
    void aFunctionThatIsMissingIsNamedEachTime() {
        for (int tries = 0; tries < 2; tries++) {
            assertThatThrownBy(() -> NativeMethods.bindToC(Missing.class))
                    .isInstanceOf(LinkageError.class)
                    .hasMessageContaining("ep4j_has_no_such_function");
        }
    }
}
