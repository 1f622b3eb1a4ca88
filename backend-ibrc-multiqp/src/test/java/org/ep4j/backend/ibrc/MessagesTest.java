package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Optional;
import org.ep4j.transport.memory.JniLibrary;
import org.ep4j.transport.memory.LockedMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is said of errors of others. */
@Tag("verify")
final class MessagesTest {
    private static final String LIMITS =
            "Max locked memory         8388608              8388608              bytes     \n";
    private static final String ROOT = "CapInh:\t0000000000000000\nCapEff:\t000001ffffffffff\n";
    private static final String USER = "CapInh:\t0000000000000000\nCapEff:\t0000000000000000\n";

    @Test
    void whoHasTheCapabilityMayLockMoreThanTheLimit() throws IOException {
        LockedMemory root = LockedMemory.of(LIMITS, ROOT);
        assertThat(root.below(256L << 20)).isFalse();
        assertThat(root).hasToString("the process may lock any amount of memory (capability IPC_LOCK)");
        LockedMemory user = LockedMemory.of(LIMITS, USER);
        assertThat(user.below(256L << 20)).isTrue();
        assertThat(user.below(8L << 20)).isFalse();
        assertThat(user).hasToString("the process may lock at most 8 MiB of memory");
        assertThat(LockedMemory.of(LIMITS.replace("8388608", "unlimited"), USER).below(LockedMemory.ANY))
                .isFalse();
    }

    @Test
    void aLimitIsBlamedOnlyWhereThereIsOne() throws IOException {
        Optional<LockedMemory> little = Optional.of(LockedMemory.of(LIMITS, USER));
        Optional<LockedMemory> any = Optional.of(LockedMemory.of(LIMITS, ROOT));
        assertThat(Errno.remedy(Errno.ENOMEM, Errno.About.HOST_MEMORY, little))
                .contains("may lock at most 8 MiB of memory: raise the limit", "buffers smaller")
                .doesNotContain("ep.lanes");
        assertThat(Errno.remedy(Errno.ENOMEM, Errno.About.HOST_MEMORY, any))
                .contains("buffers smaller", "the machine or the NIC")
                .doesNotContain("raise the limit", "ep.lanes");
        assertThat(Errno.remedy(Errno.ENOMEM, Errno.About.DEVICE, any))
                .contains("ep.ibrc.depth or ep.lanes")
                .doesNotContain("raise the limit", "smaller");
    }

    @Test
    void aLibraryThatIsThereAndDoesNotLoadIsNotSaidToBeMissing() {
        UnsatisfiedLinkError noexec = new UnsatisfiedLinkError(
                "/c/libjniEp4jVerbs.so: failed to map segment from shared object: Operation not permitted");
        JniLibrary.Missing there = VerbsLibrary.JNI.missing(noexec, true);
        assertThat(there).hasMessageContaining("failed to map segment");
        assertThat(there.remedy()).contains("org.bytedeco.javacpp.cachedir", "noexec");
        assertThat(VerbsLibrary.JNI.missing(noexec, false)).hasMessageContaining("built without its JNI library");

        JniLibrary.Missing old =
                VerbsLibrary.JNI.missing(new UnsatisfiedLinkError("version `GLIBC_2.38' not found"), true);
        assertThat(old.remedy()).contains("build ep4j on this machine");
        JniLibrary.Missing none = VerbsLibrary.JNI.missing(
                new UnsatisfiedLinkError("libibverbs.so.1: cannot open shared object file"), true);
        assertThat(none.remedy()).isEqualTo(VerbsLibrary.INSTALL);
    }
}
