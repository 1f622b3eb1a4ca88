package org.ep4j.cli;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.plan.PlannedBackend;
import org.ep4j.tck.Capability;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.oracle.Patience;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options for the subject of a test: backend, device, settings, capabilities. */
final class SubjectOptions {
    @Option(
            names = "--backend",
            paramLabel = "NAME",
            defaultValue = "host-shm",
            description = "Backend that connects all ranks. Default: ${DEFAULT-VALUE}.")
    private String backend = "host-shm";

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--set",
            paramLabel = "NAME=VALUE",
            description = "Setting for every group, for example ep.timeout=10s. May be repeated.")
    private Map<String, String> settings = new TreeMap<>();

    @Option(
            names = "--without",
            paramLabel = "CAPABILITY",
            description =
                    "Capability that the backend lacks, for example recover. ./ep conformance reports UNSUPPORTED for"
                            + " each rule that needs this capability, and checks that the backend refuses calls that"
                            + " use it. ./ep soak removes the faults that need this capability from --faults all, and"
                            + " rejects a list in --faults that names one of them. May be repeated."
                            + " One of: ${COMPLETION-CANDIDATES}.")
    private Set<Capability> without = EnumSet.noneOf(Capability.class);

    /**
     * Returns the subject to test.
     *
     * @throws org.ep4j.EpArgumentException if EP_TCK_PATIENCE is not an integer from 1 to 100
     * @throws EpUnavailableException with the names that there are, when the class path has no backend of this name
     */
    TckSubject subject() {
        // Before classes of the kit that keep limits of time are loaded.
        Patience.scaled(Duration.ZERO);
        List<String> known =
                PlannedBackend.all().stream().map(PlannedBackend::id).toList();
        if (!known.contains(backend)) {
            throw new EpUnavailableException("backend " + backend + " is not on the class path, which has: "
                    + String.join(", ", known) + "; correct --backend, or add its artifact");
        }
        return TckSubject.of(backend, device.name())
                .without(without.toArray(Capability[]::new))
                .with(settings);
    }
}
