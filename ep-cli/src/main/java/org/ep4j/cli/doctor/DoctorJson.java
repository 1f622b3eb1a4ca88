package org.ep4j.cli.doctor;

import java.util.List;
import org.ep4j.spi.Check;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * An examination for tools. Names of fields are stable; {@code format} grows by one when one of them changes its meaning.
 */
public final class DoctorJson {
    private static final int FORMAT = 3;
    private static final ObjectMapper JSON =
            JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    private DoctorJson() {}

    record Document(
            int format,
            String source,
            boolean live,
            String verdict,
            List<String> usableDevices,
            List<ProbeEntry> probes,
            List<CheckEntry> checks,
            List<String> notes) {}

    record ProbeEntry(
            String kind,
            String name,
            List<String> devices,
            boolean usable,
            boolean asked,
            String notApplicable,
            List<CheckEntry> checks) {}

    record CheckEntry(String code, String status, boolean applicable, String detail, String remedy) {}

    /** The document; with {@code problemsOnly} without checks that passed or could not run. */
    public static String of(Examined examined, boolean problemsOnly) {
        return JSON.writeValueAsString(new Document(
                        FORMAT,
                        examined.source(),
                        examined.live(),
                        examined.verdict().name(),
                        examined.usable(),
                        examined.probes().stream()
                                .filter(probe -> !problemsOnly || examined.trouble(probe))
                                .map(probe -> new ProbeEntry(
                                        probe.kind(),
                                        probe.name(),
                                        probe.devices(),
                                        probe.usable(),
                                        probe.asked(),
                                        probe.notApplicable().orElse(""),
                                        entries(probe.checks(), problemsOnly)))
                                .toList(),
                        entries(examined.checks(), problemsOnly),
                        examined.notes()))
                + System.lineSeparator();
    }

    private static List<CheckEntry> entries(List<Check> checks, boolean problemsOnly) {
        return checks.stream()
                .filter(check -> !problemsOnly || Examined.trouble(check))
                .map(check -> new CheckEntry(
                        check.code(),
                        check.status().name(),
                        check.status() != Check.Status.NOT_APPLICABLE,
                        check.detail(),
                        check.remedy()))
                .toList();
    }
}
