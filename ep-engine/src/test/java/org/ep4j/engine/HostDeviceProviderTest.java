package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.config.EpConfig;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class HostDeviceProviderTest {
    private static ProbeReport probe(String rows) {
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of()).set("ep.host.rows", rows).build();
        return new HostDeviceProvider().probe(new ProbeRequest(Device.HOST, config, Guard.minute()));
    }

    private static Check rowsCheck(ProbeReport report) {
        return report.checks().stream()
                .filter(check -> check.code().equals("EP-HOST-003"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void javaThatTheSettingsAskForIsNoWarning() {
        ProbeReport report = probe("java");
        assertThat(rowsCheck(report)).isEqualTo(Check.pass("EP-HOST-003", "rows: java (as ep.host.rows says)"));
        assertThat(report.facts()).containsEntry(ProbeReport.ROWS, "java (as ep.host.rows says)");
    }

    @Test
    void javaThatAutoHasToTakeIsAWarningWithARemedy() {
        ProbeReport report = probe("auto");
        Check check = rowsCheck(report);
        boolean java = report.facts().get(ProbeReport.ROWS).startsWith("java ");
        assertThat(check.status()).isEqualTo(java ? Check.Status.WARN : Check.Status.PASS);
        assertThat(check.remedy().isEmpty()).isNotEqualTo(java);
        assertThat(report.usable()).isTrue();
    }
}
