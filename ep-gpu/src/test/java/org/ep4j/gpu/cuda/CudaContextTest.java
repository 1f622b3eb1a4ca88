package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import org.ep4j.EpException;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class CudaContextTest {
    @Test
    void theCallersContextIsRestored() {
        try (CudaDevice mine = EmulatedCuda.open(0);
                CudaDevice foreign = EmulatedCuda.open(1)) {
            CudaDriver driver = (CudaDriver) mine.context().driver();
            Memory current = new Memory(8);
            int other = foreign.context().device();
            long[] handle = new long[1];
            assertThat(driver.retain(handle, other)).isZero();
            assertThat(driver.enter(handle[0])).isZero();
            try (DeviceAllocation memory = mine.allocate(64)) {
                mine.zero(memory.memory().address(), 64, 0);
                assertThatThrownBy(() -> mine.context().call("a failure", () -> 1))
                        .isInstanceOfSatisfying(
                                EpException.class,
                                e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.FIX_CALL));
                assertThatThrownBy(() -> mine.context().call("an exception", () -> {
                            throw new IllegalStateException("thrown inside");
                        }))
                        .hasMessage("thrown inside");
            } finally {
                assertThat(driver.cuCtxPopCurrent_v2(Pointer.nativeValue(current)))
                        .isZero();
            }
            assertThat(current.getLong(0)).isEqualTo(handle[0]);
            assertThat(driver.cuCtxPopCurrent_v2(Pointer.nativeValue(current)))
                    .as("nothing is left behind")
                    .isEqualTo(201);
            assertThat(driver.release(other)).isZero();
        }
    }

    @Test
    void everyThreadMayCall() throws InterruptedException {
        try (CudaDevice device = EmulatedCuda.open(0)) {
            DeviceAllocation[] made = new DeviceAllocation[1];
            Thread thread = new Thread(() -> made[0] = device.allocate(64));
            thread.start();
            thread.join();
            made[0].close();
        }
    }

    @Test
    void accessToAPeerMayBeEnabledTwice() {
        try (CudaDevice one = EmulatedCuda.open(2);
                CudaDevice other = EmulatedCuda.open(3)) {
            one.context().enablePeer(other.context());
            one.context().enablePeer(other.context());
        }
    }

    @Test
    void failuresNameTheCallAndTheNativeNumber() {
        try (CudaDevice device = EmulatedCuda.open(0)) {
            assertThatThrownBy(() -> device.context().call("what was tried", () -> 700))
                    .isInstanceOfSatisfying(
                            EpException.class,
                            e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.RESTART_PROCESS))
                    .hasMessage("what was tried failed: CUDA_ERROR_ILLEGAL_ADDRESS (700, an illegal memory access was"
                            + " encountered)");
            assertThat(device.context().errors().describe(12345)).isEqualTo("CUresult (12345)");
        }
    }
}
