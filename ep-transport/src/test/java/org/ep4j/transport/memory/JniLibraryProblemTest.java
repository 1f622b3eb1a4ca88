package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class JniLibraryProblemTest {
    @Test
    void aJarWithoutTheLibraryIsToBeBuiltWhereTheHeadersAre() {
        JniLibraryProblem problem = JniLibraryProblem.of(new UnsatisfiedLinkError("none"), false, "libibverbs-dev");
        assertThat(problem.message()).contains("was built without its JNI library");
        assertThat(problem.remedy())
                .isEqualTo(
                        "install the compiler and the headers of the native library: apt-get install g++ libibverbs-dev,"
                                + " then build ep4j again (./ep builds it automatically)");
    }

    @Test
    void aLibraryOfAnotherSystemIsToBeBuiltHere() {
        Throwable cause = new UnsatisfiedLinkError("libibverbs.so.1: cannot open shared object file");
        JniLibraryProblem problem =
                JniLibraryProblem.of(new IllegalStateException("no library", cause), true, "libibverbs-dev");
        assertThat(problem.message()).contains("does not load here: no library");
        assertThat(problem.remedy())
                .isEqualTo(
                        "build ep4j on this machine: apt-get install g++ libibverbs-dev, mvn clean, then build it again");
    }

    @Test
    void aLibraryThatCannotBeUnpackedNeedsAnotherFolder() {
        JniLibraryProblem problem =
                JniLibraryProblem.of(new UnsatisfiedLinkError("Permission denied"), true, "libibverbs-dev");
        assertThat(problem.remedy()).contains("org.bytedeco.javacpp.cachedir");
    }
}
