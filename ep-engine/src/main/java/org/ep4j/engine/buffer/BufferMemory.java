package org.ep4j.engine.buffer;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.LocalLayout.HighThroughput;
import org.ep4j.engine.layout.LocalLayout.LowLatency;

/**
 * The memory of one buffer that operations of all ranks work on, which tensors of a request may not overlap: an operation would read
 * what it, or a peer, has written over, and give wrong results without a word.
 *
 * @param symmetric this rank's symmetric memory, which peers read and write in place
 * @param symmetricLayout of it
 * @param others memory that peers write, or that is theirs: of mapped peers, and of the window
 * @param results where the results are
 */
public record BufferMemory(
        DeviceMemory symmetric, BufferLayout symmetricLayout, List<DeviceMemory> others, Results results) {
    private static final String ELSEWHERE = "pass memory of your own";

    /** Copies the list. */
    public BufferMemory {
        others = List.copyOf(others);
    }

    /** Where the results are. */
    public interface Results {
        /** Memory of a region; empty where none has been taken yet. */
        Optional<DeviceMemory> memory(HighThroughput region);

        /** Memory of a region of each low-latency bank that has some. */
        List<DeviceMemory> memory(LowLatency region);

        /** Results in one range for high throughput, and one for each bank. */
        static Results in(LocalLayout layout, DeviceMemory highThroughput, List<DeviceMemory> banks) {
            return new Results() {
                @Override
                public Optional<DeviceMemory> memory(HighThroughput region) {
                    return Optional.of(highThroughput.slice(layout.offset(region), layout.bytes(region)));
                }

                @Override
                public List<DeviceMemory> memory(LowLatency region) {
                    return banks.stream()
                            .map(bank -> bank.slice(layout.offset(region), layout.bytes(region)))
                            .toList();
                }
            };
        }
    }

    /**
     * A tensor of a request.
     *
     * @param name in the request
     * @param written whether the operation writes it; it reads the others
     */
    record Use(String name, Tensor tensor, boolean written) {}

    /** Memory of results that an operation writes. */
    private record Result(String name, MemoryRange range) {}

    /** Checks a high-throughput dispatch. */
    void checkDispatch(List<Use> uses, boolean byExpert, boolean ownOut) {
        List<Result> written = new ArrayList<>();
        String name = "the results of a dispatch of this buffer";
        add(written, name, EnumSet.range(HighThroughput.TOPK_IDS, HighThroughput.SOURCE_TOKENS));
        if (byExpert) {
            HighThroughput rows = ownOut ? HighThroughput.EXPANDED_SCALES : HighThroughput.EXPANDED;
            add(written, name, EnumSet.range(rows, HighThroughput.EXPANDED_SCALES));
        }
        add(written, name, EnumSet.range(HighThroughput.ROWS_PER_SOURCE, HighThroughput.EXPERT_OFFSETS));
        uses.forEach(this::checkSymmetric);
        check(uses, written);
    }

    /**
     * Checks a high-throughput combine.
     *
     * @param x the rows, which peers may read in place
     */
    void checkCombine(Tensor x, List<Use> others, boolean byExpert, boolean ownOut, boolean weights) {
        List<Result> written = new ArrayList<>();
        String name = "the results of a combine of this buffer";
        if (!ownOut) {
            add(written, name, EnumSet.of(HighThroughput.COMBINED));
        }
        if (weights) {
            add(written, name, EnumSet.of(HighThroughput.COMBINED_WEIGHTS));
        }
        checkRows(x, byExpert);
        others.forEach(this::checkSymmetric);
        List<Use> all = new ArrayList<>(others);
        all.add(new Use("x", x, false));
        check(all, written);
    }

    /** Checks a low-latency dispatch. Which bank it will use is not known before its turn. */
    void checkLowLatencyDispatch(List<Use> uses, boolean ownRows, boolean ownScales) {
        List<Result> written = new ArrayList<>();
        String name = "the results of a low-latency dispatch of this buffer";
        Set<LowLatency> regions = EnumSet.range(LowLatency.SOURCE_TOKENS, LowLatency.RANGES);
        if (!ownRows) {
            regions.add(LowLatency.ROWS);
        }
        if (!ownScales) {
            regions.add(LowLatency.SCALES);
        }
        addBanks(written, name, regions);
        uses.forEach(this::checkSymmetric);
        check(uses, written);
    }

    /** Checks a low-latency combine. */
    void checkLowLatencyCombine(List<Use> uses, boolean ownOut) {
        List<Result> written = new ArrayList<>();
        if (!ownOut) {
            addBanks(written, "the results of a low-latency combine of this buffer", EnumSet.of(LowLatency.COMBINED));
        }
        uses.forEach(this::checkSymmetric);
        check(uses, written);
    }

    private void add(List<Result> written, String name, Set<HighThroughput> regions) {
        for (HighThroughput region : regions) {
            results.memory(region).ifPresent(memory -> written.add(new Result(name, MemoryRange.of(memory))));
        }
    }

    private void addBanks(List<Result> written, String name, Set<LowLatency> regions) {
        for (LowLatency region : regions) {
            results.memory(region).forEach(memory -> written.add(new Result(name, MemoryRange.of(memory))));
        }
    }

    private MemoryRange dispatchedRows() {
        long rows = symmetricLayout.rows();
        return MemoryRange.of(symmetric, rows, rows + symmetricLayout.rowsBytes());
    }

    private MemoryRange combineInput() {
        long area = symmetricLayout.combineArea();
        return MemoryRange.of(symmetric, area, area + symmetricLayout.combineInputBytes());
    }

    /** Rows of a combine lie wholly where peers can read them, or nowhere near. */
    private void checkRows(Tensor x, boolean byExpert) {
        MemoryRange range = MemoryRange.of(x);
        if (byExpert) {
            MemoryRange slots =
                    MemoryRange.of(symmetric, symmetricLayout.combineArea(), symmetricLayout.combineWeights(0));
            if (slots.common(range) > 0) {
                throw new EpArgumentException(
                        "x",
                        "in the memory of combineInput()",
                        "elsewhere for a by-expert combine, which uses that memory itself",
                        "pass memory of your own, or the rows of the dispatch");
            }
        }
        if (!dispatchedRows().holds(range) && !combineInput().holds(range)) {
            checkSymmetric(new Use("x", x, false));
        }
    }

    private void checkSymmetric(Use use) {
        MemoryRange range = MemoryRange.of(use.tensor());
        refuse(use, range, "the dispatched rows of this buffer", dispatchedRows());
        refuse(use, range, "the memory of combineInput()", combineInput());
        refuse(use, range, "the symmetric memory of this buffer", MemoryRange.of(symmetric));
        for (DeviceMemory other : others) {
            refuse(use, range, "memory by which peers exchange with this buffer", MemoryRange.of(other));
        }
    }

    private static void refuse(Use use, MemoryRange range, String what, MemoryRange memory) {
        long common = memory.common(range);
        if (common > 0) {
            boolean rows = use.name().equals("x");
            throw overlap(
                    use.name(),
                    range,
                    common,
                    what,
                    "outside of memory that peers read and write in place"
                            + (rows ? ", unless a by-rank combine finds it there whole" : ""));
        }
    }

    /** A tensor that is written is apart from all others, and none is where the results come. */
    private static void check(List<Use> uses, List<Result> results) {
        for (int i = 0; i < uses.size(); i++) {
            Use use = uses.get(i);
            MemoryRange range = MemoryRange.of(use.tensor());
            for (Result result : results) {
                long common = result.range().common(range);
                if (common > 0) {
                    throw overlap(
                            use.name(),
                            range,
                            common,
                            result.name(),
                            "outside of memory that the operation writes its results to");
                }
            }
            for (int j = 0; j < i; j++) {
                Use other = uses.get(j);
                long common = MemoryRange.of(other.tensor()).common(range);
                if (common > 0 && (use.written() || other.written())) {
                    Use written = use.written() ? use : other;
                    Use second = use.written() ? other : use;
                    throw overlap(
                            written.name(),
                            MemoryRange.of(written.tensor()),
                            common,
                            second.name(),
                            "apart from " + second.name() + ", which the operation "
                                    + (second.written() ? "writes, too" : "reads while it writes " + written.name()));
                }
            }
        }
    }

    private static EpArgumentException overlap(String name, MemoryRange range, long common, String what, String limit) {
        return new EpArgumentException(
                name, "at " + range + ", of which " + common + " bytes are in " + what, limit, ELSEWHERE);
    }
}
