package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.Settings;
import org.ep4j.spi.Check;

/** Checks that the settings and the machine could be read. */
final class ReadingChecks implements Examination {
    private static final String MISSPELT = "correct the name, or unset the variable unless other software reads it";

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(settings(input), machine(input));
    }

    private static Check settings(DoctorInput input) {
        List<String> wrong = new ArrayList<>();
        for (ConfigKey<?> key : input.keys()) {
            try {
                key.get(input.config());
            } catch (EpConfigException e) {
                wrong.add(String.valueOf(e.getMessage()));
            }
        }
        List<String> unknown = Settings.unknownVariables(input.config(), input.keys());
        if (wrong.isEmpty() && unknown.isEmpty()) {
            return DoctorCode.SETTINGS.pass(input.keys().size() + " settings have values that can be read");
        }
        boolean readable = wrong.isEmpty();
        wrong.addAll(unknown);
        String detail = String.join("; ", wrong);
        return readable ? DoctorCode.SETTINGS.warn(detail, MISSPELT) : DoctorCode.SETTINGS.fail(detail);
    }

    private static Check machine(DoctorInput input) {
        List<String> warnings = input.topology().warnings().stream()
                .filter(warning -> !GpuChecks.isNvlinkUnknown(warning))
                .toList();
        return warnings.isEmpty()
                ? DoctorCode.MACHINE_READ.pass(input.topology().gpus().size() + " GPUs, "
                        + input.topology().nics().size() + " NICs, "
                        + input.topology().numaNodes().size() + " NUMA nodes, read from "
                        + input.topology().source())
                : DoctorCode.MACHINE_READ.warn(String.join("; ", warnings));
    }
}
