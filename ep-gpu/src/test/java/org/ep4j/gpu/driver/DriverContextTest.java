package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.lang.reflect.Proxy;
import org.ep4j.EpException;
import org.ep4j.EpException.Recourse;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class DriverContextTest {
    /** A driver with one GPU, which refuses access to the memory of others. */
    private static GpuDriver driver(int refusal) {
        return (GpuDriver) Proxy.newProxyInstance(
                GpuDriver.class.getClassLoader(), new Class<?>[] {GpuDriver.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("deviceGetCount")) {
                        ((int[]) arguments[0])[0] = 1;
                    }
                    return switch (method.getName()) {
                        case "enablePeer" -> refusal;
                        case "type", "peerTool" -> "fake";
                        case "describe" -> "result " + arguments[0];
                        default -> 0;
                    };
                });
    }

    private static EpException refused(int result) {
        GpuDriver driver = driver(result);
        try (DriverContext one = new DriverContext(driver, 0);
                DriverContext other = new DriverContext(driver, 0)) {
            return catchThrowableOfType(EpException.class, () -> one.enablePeer(other));
        }
    }

    @Test
    void aBrokenGpuThatRefusesAccessToAPeerNeedsANewProcess() {
        EpException broken = refused(700);
        assertThat(broken).hasMessage("fake:0 cannot be given access to the memory of fake:0: result 700; see fake");
        assertThat(broken.recourse()).isEqualTo(Recourse.RESTART_PROCESS);
        assertThat(refused(217).recourse()).isEqualTo(Recourse.FIX_CALL);
    }
}
