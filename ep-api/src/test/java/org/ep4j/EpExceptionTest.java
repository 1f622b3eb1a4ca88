package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import org.ep4j.EpException.Recourse;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("verify")
final class EpExceptionTest {
    private static final EpFailure FAILURE =
            EpFailure.builder("dispatch rows", 1).expected(6).seen(5).build();

    /** Every public exception, with the recourse that it has by default. */
    static List<Arguments> exceptions() {
        return List.of(
                arguments(new EpException("m"), Recourse.FIX_CALL),
                arguments(new EpArgumentException("topK", 33, "at most 32", "lower it"), Recourse.FIX_CALL),
                arguments(new EpConfigException("m"), Recourse.FIX_CALL),
                arguments(new EpMismatchException("m"), Recourse.FIX_CALL),
                arguments(new EpOverflowException("m"), Recourse.FIX_CALL),
                arguments(new EpStateException("m"), Recourse.FIX_CALL),
                arguments(new EpTimeoutException("m", FAILURE), Recourse.RECOVER),
                arguments(new EpPeerLostException("m", FAILURE), Recourse.RECOVER),
                arguments(new EpNoMajorityException("m", 1, 2), Recourse.REJOIN),
                arguments(new EpResourceException("m"), Recourse.INSTALL),
                arguments(new EpUnavailableException("m"), Recourse.INSTALL));
    }

    @ParameterizedTest
    @MethodSource("exceptions")
    void everyExceptionHasARecourse(EpException exception, Recourse recourse) {
        assertThat(exception.recourse()).isEqualTo(recourse);
    }

    @Test
    void noPublicExceptionIsLeftOut() {
        assertThat(new ClassFileImporter()
                        .importPackages("org.ep4j").stream()
                                .filter(type -> type.getPackageName().equals("org.ep4j"))
                                .filter(type -> type.isAssignableTo(EpException.class))
                                .map(JavaClass::getName))
                .containsExactlyInAnyOrderElementsOf(exceptions().stream()
                        .map(one -> one.get()[0].getClass().getName())
                        .toList());
    }

    @Test
    void aCauseGivesAPlainExceptionItsRecourseAndOthersKeepTheirs() {
        EpException broken = new EpException("an illegal address", Recourse.RESTART_PROCESS);
        assertThat(new EpException("m", broken).recourse()).isEqualTo(Recourse.RESTART_PROCESS);
        assertThat(new EpException("m", new IllegalStateException("n")).recourse())
                .isEqualTo(Recourse.FIX_CALL);
        assertThat(new EpStateException("m", broken).recourse()).isEqualTo(Recourse.FIX_CALL);
        assertThat(new EpUnavailableException("m", broken).recourse()).isEqualTo(Recourse.INSTALL);
    }

    @Test
    void whoThrowsMaySayWhatElseHelps() {
        assertThat(new EpPeerLostException("m", FAILURE, Recourse.REJOIN).recourse())
                .isEqualTo(Recourse.REJOIN);
        assertThat(new EpTimeoutException("m", FAILURE, Recourse.REJOIN).recourse())
                .isEqualTo(Recourse.REJOIN);
        assertThat(new EpUnavailableException("m", Recourse.REJOIN).recourse()).isEqualTo(Recourse.REJOIN);
        assertThat(new EpResourceException("m", Recourse.REJOIN).recourse()).isEqualTo(Recourse.REJOIN);
        assertThat(new EpStateException("m", Recourse.RECOVER).recourse()).isEqualTo(Recourse.RECOVER);
        assertThat(new EpTimeoutException("m", FAILURE).initCause(new IllegalStateException("n")))
                .hasMessage("m");
    }

    @Test
    void aFailureHasWhatIsKnownAndNothingElse() {
        assertThat(FAILURE.phase()).isEqualTo("dispatch rows");
        assertThat(FAILURE.peer()).isEqualTo(1);
        assertThat(FAILURE.expected()).isEqualTo(6);
        assertThat(FAILURE.seen()).isEqualTo(5);
        assertThat(FAILURE.host()).isEmpty();
        assertThat(FAILURE.path()).isEmpty();
        assertThat(FAILURE.nic()).isEmpty();
        assertThat(FAILURE.nativeStatus()).isEmpty();
        assertThat(FAILURE.nativeStatusName()).isEmpty();
        assertThat(FAILURE).hasToString("dispatch rows, rank 1, expected 6, seen 5");
    }

    private static EpFailure everything() {
        return FAILURE.toBuilder()
                .host("b")
                .path(EpPath.builder(0, 1, "ibrc-multiqp", EpPath.Kind.HOST_POSTED)
                        .build())
                .nic("mlx5_0:1")
                .nativeStatus(12, "transport retry counter exceeded")
                .build();
    }

    @Test
    void aFailureThatIsBuiltOnHasAllOfIt() {
        EpFailure all = everything();
        assertThat(all)
                .isEqualTo(all.toBuilder().build())
                .hasSameHashCodeAs(all.toBuilder().build())
                .isNotEqualTo(FAILURE)
                .isNotEqualTo(
                        all.toBuilder().nativeStatus(13, all.nativeStatusName()).build())
                .isNotEqualTo(all.toBuilder().phase("combine rows").build())
                .isNotEqualTo(all.toBuilder().peer(-1).build());
        assertThat(all.path().orElseThrow().backend()).isEqualTo("ibrc-multiqp");
        assertThat(all)
                .hasToString("dispatch rows, rank 1 on b over ibrc-multiqp, mlx5_0:1,"
                        + " status 12 (transport retry counter exceeded), expected 6, seen 5");
    }

    @Test
    void onlyThePathIsNotSerialised() throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new EpPeerLostException("m", everything(), Recourse.REJOIN));
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            assertThat(in.readObject()).isInstanceOfSatisfying(EpPeerLostException.class, read -> {
                assertThat(read.recourse()).isEqualTo(Recourse.REJOIN);
                assertThat(read.failure().path()).isEmpty();
                assertThat(read.failure().nic()).contains("mlx5_0:1");
                assertThat(read.failure().nativeStatus()).hasValue(12);
            });
        }
    }
}
