package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;

/**
 * Checks that the run-time compilers know the GPUs. HIPRTC was measured with 5.2.3 (gfx90a, gfx940), 5.7.1 (gfx942,
 * too) and 6.4.3 (gfx950 and gfx1201, too); versions between a failure and a success are not known. NVRTC was measured
 * with 11.8 (35 to 90), 12.9 (50 to 121) and 13.0 (75 to 121); 12.8 brought 100 and 120 (CUDA release notes).
 */
final class CompilerChecks implements Examination {
    private record Known(Version last, Version first) {}

    private static final Map<String, Known> HIPRTC = Map.of(
            "gfx906", new Known(Version.of(0), Version.of(5, 2)),
            "gfx908", new Known(Version.of(0), Version.of(5, 2)),
            "gfx90a", new Known(Version.of(0), Version.of(5, 2)),
            "gfx940", new Known(Version.of(0), Version.of(5, 2)),
            "gfx942", new Known(Version.of(5, 3), Version.of(5, 7)),
            "gfx950", new Known(Version.of(5, 8), Version.of(6, 4)),
            "gfx1201", new Known(Version.of(5, 8), Version.of(6, 4)));

    enum Answer {
        YES,
        NO,
        UNKNOWN
    }

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(hiprtc(input), nvrtc(input));
    }

    private static Set<String> architectures(DoctorInput input, GpuVendor vendor) {
        Set<String> all = new TreeSet<>();
        input.gpus(vendor).stream()
                .map(Gpu::architecture)
                .filter(name -> !name.isEmpty())
                .forEach(all::add);
        return all;
    }

    private static Check hiprtc(DoctorInput input) {
        DoctorCode code = DoctorCode.HIPRTC_VERSION;
        if (input.gpus(GpuVendor.AMD).isEmpty()) {
            return code.notApplicable("no AMD GPU");
        }
        List<FoundLibrary> found = new ArrayList<>(input.found(KnownLibrary.HIPRTC));
        if (found.isEmpty()) {
            // Until ROCm 5 the runtime itself holds the compiler.
            found.addAll(input.found(KnownLibrary.HIP).stream()
                    .filter(one -> one.number().known() && !one.number().atLeast(6))
                    .toList());
        }
        return judge(input, code, found, architectures(input, GpuVendor.AMD), CompilerChecks::hiprtc, "HIPRTC");
    }

    private static Check nvrtc(DoctorInput input) {
        DoctorCode code = DoctorCode.NVRTC_VERSION;
        if (input.gpus(GpuVendor.NVIDIA).isEmpty()) {
            return code.notApplicable("no NVIDIA GPU");
        }
        return judge(
                input,
                code,
                input.found(KnownLibrary.NVRTC),
                architectures(input, GpuVendor.NVIDIA),
                CompilerChecks::nvrtc,
                "NVRTC");
    }

    private static Check judge(
            DoctorInput input,
            DoctorCode code,
            List<FoundLibrary> found,
            Set<String> architectures,
            BiFunction<String, Version, Answer> knowledge,
            String name) {
        if (architectures.isEmpty()) {
            return code.notRun(
                    "the architecture of the GPUs is not known", "run doctor on the machine, with the GPU's driver");
        }
        if (input.withoutLibraries()) {
            return code.notRun("no folder of libraries can be read", "run doctor on the machine");
        }
        if (found.isEmpty()) {
            return code.warn("no " + name + " was found, so kernels cannot be compiled here");
        }
        List<String> unsure = new ArrayList<>();
        for (FoundLibrary one : found) {
            for (String architecture : architectures) {
                switch (one.number().known() ? knowledge.apply(architecture, one.number()) : Answer.UNKNOWN) {
                    case NO -> {
                        return code.fail(name + " " + one + " does not know " + architecture);
                    }
                    case UNKNOWN -> unsure.add(name + " " + one + " and " + architecture);
                    case YES -> {}
                }
            }
        }
        return unsure.isEmpty()
                ? code.pass(name + " " + found.get(0) + " knows " + String.join(", ", architectures))
                : code.warn("nobody has tried " + String.join("; ", unsure));
    }

    static Answer hiprtc(String architecture, Version version) {
        Known known = HIPRTC.get(architecture.replaceFirst(":.*", ""));
        if (known == null) {
            return Answer.UNKNOWN;
        }
        if (version.compareTo(known.first()) >= 0) {
            return Answer.YES;
        }
        return version.compareTo(known.last()) < 0 ? Answer.NO : Answer.UNKNOWN;
    }

    static Answer nvrtc(String architecture, Version version) {
        String digits = architecture.replaceFirst("^sm_", "").replaceFirst("[af]$", "");
        if (!digits.matches("[0-9]{1,4}")) {
            return Answer.UNKNOWN;
        }
        int number = Integer.parseInt(digits);
        if (number > 121) {
            return Answer.UNKNOWN;
        }
        if (number >= 100) {
            return version.atLeast(12, 9) ? Answer.YES : version.atLeast(12, 8) ? Answer.UNKNOWN : Answer.NO;
        }
        if (number < 75) {
            return version.atLeast(13) ? Answer.NO : Answer.YES;
        }
        return version.atLeast(11, 8) ? Answer.YES : Answer.UNKNOWN;
    }
}
