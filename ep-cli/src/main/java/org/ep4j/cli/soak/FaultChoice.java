package org.ep4j.cli.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.EpArgumentException;

/**
 * Faults of a run.
 *
 * @param faults that are injected, in the order of their declaration
 * @param leftOut those that {@code all} does not include here, with the reason
 */
public record FaultChoice(List<Fault> faults, Map<Fault, String> leftOut) {
    /** Word for every fault that can be injected here. */
    public static final String ALL = "all";

    /** Copies both. */
    public FaultChoice {
        faults = List.copyOf(faults);
        leftOut = Map.copyOf(leftOut);
    }

    /**
     * Reads the list of the option.
     *
     * @param words names of faults, or {@value #ALL} alone
     * @throws EpArgumentException for a word that is no fault, and for a fault that cannot be injected here
     */
    public static FaultChoice of(List<String> words, Surroundings here) {
        if (words.equals(List.of(ALL))) {
            Map<Fault, String> leftOut = new EnumMap<>(Fault.class);
            List<Fault> faults = new ArrayList<>();
            for (Fault fault : Fault.values()) {
                Optional<String> problem = here.problem(fault);
                problem.ifPresentOrElse(why -> leftOut.put(fault, why), () -> faults.add(fault));
            }
            return new FaultChoice(faults, leftOut);
        }
        Set<Fault> faults = EnumSet.noneOf(Fault.class);
        for (String word : words) {
            Fault fault = Fault.of(word)
                    .orElseThrow(() -> new EpArgumentException(
                            "--faults", word, "a comma-separated list out of " + names(), "name faults, or all alone"));
            here.problem(fault).ifPresent(why -> {
                throw new EpArgumentException(
                        "--faults", word, "faults that can be injected here (" + why + ")", "leave it out");
            });
            faults.add(fault);
        }
        if (faults.isEmpty()) {
            throw new EpArgumentException("--faults", "nothing", "at least one fault", "none runs without faults");
        }
        return new FaultChoice(List.copyOf(faults), Map.of());
    }

    private static String names() {
        return Arrays.stream(Fault.values()).map(Fault::word).collect(Collectors.joining(", ")) + ", " + ALL;
    }
}
