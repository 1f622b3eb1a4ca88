package org.ep4j.doctor;

import java.util.List;
import org.ep4j.spi.Check;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.read.ImexChannels;

/** Links between GPUs, on the host and beyond. */
final class GpuChecks implements Examination {
    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(GpuLinks.check(input.topology()), channels(input));
    }

    private static Check channels(DoctorInput input) {
        List<String> members = input.topology().gpus().stream()
                .filter(gpu -> !gpu.clique().isEmpty())
                .map(Gpu::name)
                .toList();
        if (members.isEmpty()) {
            return DoctorCode.IMEX_CHANNELS.notApplicable("no GPU belongs to an NVLink domain of several hosts");
        }
        List<String> channels = ImexChannels.of(input.files());
        return channels.isEmpty()
                ? DoctorCode.IMEX_CHANNELS.warn(
                        ImexChannels.FOLDER + " has no channel for " + String.join(", ", members))
                : DoctorCode.IMEX_CHANNELS.pass(ImexChannels.FOLDER + " has " + String.join(", ", channels));
    }
}
