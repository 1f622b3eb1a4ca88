package org.ep4j.gpu.hip;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class HipDeviceProviderTest {
    private static final Device GPU = Device.hip(3);

    @ParameterizedTest
    @CsvSource({"1, WARN, 1", "4, WARN, 4", "7, WARN, 7", "8, PASS, 8", "24, PASS, 24", "many, WARN, 4", "'', WARN, 4"})
    void aQueueForEachStreamOfARank(String value, Status status, int queues) {
        Check check = HipDeviceProvider.queues(Map.of(HipDeviceProvider.QUEUES_VARIABLE, value), GPU);
        assertThat(check.status()).isEqualTo(status);
        assertThat(check.detail())
                .startsWith(queues + " hardware queues of hip:3")
                .contains("GPU_MAX_HW_QUEUES=" + value);
    }

    @Test
    void withoutASettingHipHasFour() {
        Check check = HipDeviceProvider.queues(Map.of(), GPU);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).startsWith("4 hardware queues of hip:3").contains("HIP's default");
        assertThat(check.remedy()).contains("set GPU_MAX_HW_QUEUES=8 or more");
    }
}
