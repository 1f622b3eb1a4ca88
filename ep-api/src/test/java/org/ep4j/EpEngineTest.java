package org.ep4j;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetSocketAddress;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Failures while no engine is on the class path. */
@Tag("verify")
class EpEngineTest {
    @Test
    void withoutAnEngineTheMessageHasTheRemedy() {
        EpConfig config = EpConfig.builder().build();
        InetSocketAddress rankZero = InetSocketAddress.createUnresolved("localhost", 1234);
        List<ThrowingCallable> calls = List.of(
                () -> EpGroup.join(),
                () -> EpGroup.join(config),
                () -> Bootstrap.inProcess(1),
                () -> Bootstrap.fromEnvironment(config),
                () -> Bootstrap.tcp(0, 1, rankZero, config),
                () -> Bootstrap.over(0, 1, (mine, timeout) -> mine, config));
        for (ThrowingCallable call : calls) {
            assertThatThrownBy(call)
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("0 engines found, must be 1")
                    .hasMessageContaining("org.ep4j:backend-host");
        }
    }
}
