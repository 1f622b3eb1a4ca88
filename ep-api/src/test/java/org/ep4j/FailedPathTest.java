package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.PathOffer;
import org.junit.jupiter.api.Test;

final class FailedPathTest {
    private static final NativeStatus STATUS = new NativeStatus(12, "transport retry counter exceeded", 0x81);

    @Test
    void anExceptionTellsPathPortAndStatusApart() {
        EpPeerLostException lost = new EpPeerLostException(
                "gone",
                3,
                "post",
                FailedPath.of(PathKind.HOST_POSTED).withNic("mlx5_0:1").withStatus(STATUS));
        assertThat(lost.path()).contains(PathKind.HOST_POSTED);
        assertThat(lost.nic()).contains("mlx5_0:1");
        assertThat(lost.status()).contains(STATUS);
        assertThat(STATUS).hasToString("transport retry counter exceeded (12), vendor error 0x81");
        assertThat(new EpPeerLostException("gone", 3, "post").failedPath()).isEqualTo(FailedPath.UNKNOWN);
        assertThat(new EpTimeoutException("late", "post", 3, 1, 0).failedPath()).isEqualTo(FailedPath.UNKNOWN);
    }

    @Test
    void aPlannedPathNamesItsPortOnlyWhereThereIsOne() {
        assertThat(FailedPath.of(planned(List.of("mlx5_0:1"))).nic()).contains("mlx5_0:1");
        assertThat(FailedPath.of(planned(List.of("mlx5_0:1", "mlx5_1:1"))).nic())
                .isEmpty();
        assertThat(FailedPath.of(planned(List.of("mlx5_0:1"))).kind()).contains(PathKind.DEVICE_POSTED);
    }

    @Test
    void whatABackendKnowsComesBeforeWhatThePlanSays() {
        FailedPath backend = FailedPath.UNKNOWN.withNic("mlx5_1:1").withStatus(STATUS);
        FailedPath both = backend.or(FailedPath.of(planned(List.of("mlx5_0:1"))));
        assertThat(both.nic()).contains("mlx5_1:1");
        assertThat(both.kind()).contains(PathKind.DEVICE_POSTED);
        assertThat(both.status()).contains(STATUS);
    }

    @Test
    void anExceptionTravelsToAnotherProcess() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new EpTimeoutException(
                    "late", "post", 3, 1, 0, FailedPath.of(PathKind.MAPPED).withStatus(STATUS)));
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            EpTimeoutException copy = (EpTimeoutException) in.readObject();
            assertThat(copy.failedPath())
                    .isEqualTo(FailedPath.of(PathKind.MAPPED).withStatus(STATUS));
        }
    }

    private static PairPath planned(List<String> nics) {
        return new PairPath(0, 1, "backend", new PathOffer(PathKind.DEVICE_POSTED, 40, 3, nics), List.of());
    }
}
