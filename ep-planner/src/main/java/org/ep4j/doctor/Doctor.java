package org.ep4j.doctor;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.ep4j.spi.Check;

/** Runs every check of {@link DoctorCode}. Pure: the same input gives the same findings. */
public final class Doctor {
    private static final List<Examination> ALL = List.of(
            new ReadingChecks(),
            new GpuChecks(),
            new PlacementChecks(),
            new PortChecks(),
            new GidChecks(),
            new GpuMemoryChecks(),
            new IbgdaChecks(),
            new PciChecks(),
            new LibraryChecks(),
            new CompilerChecks(),
            new MemoryChecks(),
            new TrafficChecks());

    private static final List<String> CODES =
            Arrays.stream(DoctorCode.values()).map(DoctorCode::code).toList();

    private Doctor() {}

    /**
     * Runs all checks and returns one result for every code, in the order of the codes: {@link Check.Status#NOT_RUN} if
     * the check lacks facts, {@link Check.Status#NOT_APPLICABLE} if the machine lacks what it examines.
     */
    public static List<Check> examine(DoctorInput input) {
        return ALL.stream()
                .flatMap(examination -> examination.examine(input).stream())
                .sorted(Comparator.comparingInt(check -> CODES.indexOf(check.code())))
                .toList();
    }
}
