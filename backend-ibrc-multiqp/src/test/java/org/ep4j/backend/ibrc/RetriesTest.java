package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.plan.offer.NicPath;
import org.ep4j.spi.Check;
import org.ep4j.topology.Distance;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class RetriesTest {
    private static EpConfig environment(Map<String, String> variables) {
        return EpConfig.builder(Map.of(), variables).build();
    }

    private static Check check(NicFamily family, Map<String, String> variables) {
        NicReach.Port port = new NicReach.Port(1, LinkLayer.ETHERNET, 100);
        NicReach nic = NicReach.builder("nic0", family, new Distance(PathType.PHB, 0, 0))
                .ports(List.of(port))
                .build();
        return Retries.check(List.of(new NicPath(nic, port, true)), environment(variables));
    }

    @Test
    void softRoceGetsANumberThatEnds() {
        EpConfig defaults = environment(Map.of());
        assertThat(Retries.of(NicFamily.MLX5, defaults)).isEqualTo(7);
        assertThat(Retries.of(NicFamily.RXE, defaults)).isEqualTo(6);
        assertThat(Retries.of(NicFamily.RXE, environment(Map.of("EP_IBRC_RETRIES", "3"))))
                .isEqualTo(3);
        assertThat(check(NicFamily.RXE, Map.of()).detail())
                .contains("6 on nic0:1, because soft RoCE retries without limit at 7");
    }

    @Test
    void theDefaultsFindADeadPortBeforeCallsEnd() {
        Check check = check(NicFamily.MLX5, Map.of());
        assertThat(check.status()).isEqualTo(Check.Status.PASS);
        assertThat(check.detail()).startsWith("a dead port is found after 17.2 s at most");
    }

    @Test
    void aPortThatDiesUnnoticedIsAWarningThatNamesTheVariable() {
        Check check = check(NicFamily.MLX5, Map.of("NCCL_IB_TIMEOUT", "22"));
        assertThat(check.status()).isEqualTo(Check.Status.WARN);
        assertThat(check.detail()).contains("549.8 s", "NCCL_IB_TIMEOUT", "calls end after 30.0 s");
        assertThat(check.remedy()).contains("ep.ibrc.timeout", "ep.timeout");
        assertThat(check(NicFamily.MLX5, Map.of("NCCL_IB_TIMEOUT", "22", "EP_TIMEOUT", "10m"))
                        .status())
                .isEqualTo(Check.Status.PASS);
        assertThat(check(NicFamily.MLX5, Map.of("EP_IBRC_TIMEOUT", "31")).status())
                .isEqualTo(Check.Status.WARN);
    }
}
