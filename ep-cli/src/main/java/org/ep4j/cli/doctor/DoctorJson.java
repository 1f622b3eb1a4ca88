package org.ep4j.cli.doctor;

import static org.ep4j.tck.Json.fields;

import java.util.List;
import java.util.Map;
import org.ep4j.spi.Check;
import org.ep4j.tck.Json;

/**
 * An examination for tools. Names of fields are stable; {@code format} grows by one when one of them changes its meaning.
 */
public final class DoctorJson {
    private static final int FORMAT = 3;

    private DoctorJson() {}

    /** The document; with {@code problemsOnly} without checks that passed or could not run. */
    public static String of(Examination examined, boolean problemsOnly) {
        return Json.of(fields(
                        "format", FORMAT,
                        "source", examined.source(),
                        "live", examined.live(),
                        "verdict", examined.verdict().name(),
                        "usableDevices", examined.usable(),
                        "probes", probes(examined, problemsOnly),
                        "checks", checks(examined.checks(), problemsOnly),
                        "notes", examined.notes()))
                + System.lineSeparator();
    }

    private static List<Map<String, Object>> probes(Examination examined, boolean problemsOnly) {
        return examined.probes().stream()
                .filter(probe -> !problemsOnly || examined.trouble(probe))
                .map(probe -> fields(
                        "kind", probe.kind(),
                        "name", probe.name(),
                        "devices", probe.devices(),
                        "usable", probe.usable(),
                        "asked", probe.asked(),
                        "notApplicable", probe.notApplicable().orElse(""),
                        "checks", checks(probe.checks(), problemsOnly)))
                .toList();
    }

    private static List<Map<String, Object>> checks(List<Check> checks, boolean problemsOnly) {
        return checks.stream()
                .filter(check -> !problemsOnly || Examination.trouble(check))
                .map(check -> fields(
                        "code", check.code(),
                        "status", check.status().name(),
                        "applicable", check.status() != Check.Status.NOT_APPLICABLE,
                        "detail", check.detail(),
                        "remedy", check.remedy()))
                .toList();
    }
}
