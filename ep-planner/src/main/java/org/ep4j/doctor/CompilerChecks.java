package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;

/** Whether the run-time compilers know the GPUs. */
final class CompilerChecks implements Examination {
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
        return judge(input, code, found, architectures(input, GpuVendor.AMD), Architectures::hiprtc, "HIPRTC");
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
                Architectures::nvrtc,
                "NVRTC");
    }

    private interface Knowledge {
        Architectures.Answer knows(String architecture, Version version);
    }

    private static Check judge(
            DoctorInput input,
            DoctorCode code,
            List<FoundLibrary> found,
            Set<String> architectures,
            Knowledge knowledge,
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
                switch (one.number().known()
                        ? knowledge.knows(architecture, one.number())
                        : Architectures.Answer.UNKNOWN) {
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
}
