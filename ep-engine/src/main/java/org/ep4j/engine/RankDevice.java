package org.ep4j.engine;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;

/**
 * Which device a setting means for this rank. A type with a number is that device. A type alone is the rank's share of the
 * host's devices: the launcher's number of the rank on its host, counted round where ranks outnumber the devices that the
 * process sees (they are one when the launcher gives each rank its own by CUDA_VISIBLE_DEVICES). Without a launcher it is the
 * first.
 */
final class RankDevice {
    /** torchrun and ep, Open MPI, Slurm, MPICH and Intel MPI. */
    private static final List<String> LOCAL_RANK =
            List.of("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID", "PMI_LOCAL_RANK");

    private RankDevice() {}

    /**
     * The device.
     *
     * @param setting {@code cuda} or {@code cuda:3}
     * @param environment of the process
     * @param count devices of the type that the process sees; 0 when that is not known
     * @throws org.ep4j.EpArgumentException when the setting is neither
     */
    static Device of(String setting, Map<String, String> environment, int count) {
        Device parsed = Device.parse(setting);
        if (setting.contains(":") || count < 1) {
            return parsed;
        }
        return new Device(parsed.type(), localRank(environment).orElse(0) % count);
    }

    private static Optional<Integer> localRank(Map<String, String> environment) {
        return LOCAL_RANK.stream()
                .map(name -> environment.getOrDefault(name, "").strip())
                .filter(text -> text.matches("\\d{1,6}"))
                .map(Integer::parseInt)
                .findFirst();
    }
}
