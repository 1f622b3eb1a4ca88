package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.engine.rows.RowsForTests;
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
        return new HostDeviceProvider().probe(ProbeRequest.of(Device.HOST, config, Guard.minute()));
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
    void autoThatHasNativeCodeIsNoWarning() {
        RowsForTests.variants();
        ProbeReport report = probe("auto");
        boolean inJava = report.facts().get(ProbeReport.ROWS).startsWith("java ");
        assertThat(rowsCheck(report).status()).isEqualTo(inJava ? Check.Status.WARN : Check.Status.PASS);
        assertThat(report.usable()).isTrue();
    }

    @Test
    void javaThatAutoHasToTakeIsAWarningWithARemedy() {
        Check check = HostDeviceProvider.check(RowsForTests.withoutLibrary("there is no library", "build it"));
        assertThat(check).isEqualTo(Check.warn("EP-HOST-003", "rows: java (there is no library)", "build it"));
    }

    @Test
    void aVariantThatTheProcessorLacksFails() {
        Optional<String> lacking = RowsForTests.lacking();
        assumeTrue(lacking.isPresent(), "this processor has every variant of rows");
        ProbeReport report = probe(lacking.get());
        Check check = rowsCheck(report);
        assertThat(check.status()).isEqualTo(Check.Status.FAIL);
        assertThat(check.detail()).startsWith("ep.host.rows is " + lacking.get() + ", but ");
        assertThat(report.facts()).containsEntry(ProbeReport.ROWS, check.detail());
    }
}
