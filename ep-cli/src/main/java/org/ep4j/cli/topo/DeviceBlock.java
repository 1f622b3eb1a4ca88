package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.cli.topo.Canvas.Box;
import org.ep4j.cli.topo.Canvas.BoxKind;
import org.ep4j.cli.topo.Canvas.Rect;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Part;

/** The devices on one switch: NICs in stacks above, GPUs below. Partitions of one GPU are in a frame. */
final class DeviceBlock {
    static final double CELL = 150;
    private static final double GUTTER = 18;
    private static final double NIC_HEIGHT = 34;
    private static final double GPU_HEIGHT = 46;
    private static final double SMALL_HEIGHT = 20;
    private static final double GAP = 6;
    private static final int STACK = 8;
    private static final int GPUS_IN_ROW = 4;

    private final PartText words;
    final double x;
    final double barBottom;
    private final List<Nic> nics = new ArrayList<>();
    private final List<List<Gpu>> packages;

    /** Devices from column {@code x} to the right, on the switch whose bar ends at {@code barBottom}. */
    DeviceBlock(PartText words, List<Part> devices, double x, double barBottom) {
        this.words = words;
        this.x = x;
        this.barBottom = barBottom;
        Map<Object, List<Gpu>> byCard = new LinkedHashMap<>();
        for (Part device : devices) {
            if (device instanceof Nic nic) {
                nics.add(nic);
            } else if (device instanceof Gpu gpu) {
                Object card = gpu.address().<Object>map(a -> a.card()).orElse(gpu);
                byCard.computeIfAbsent(card, c -> new ArrayList<>()).add(gpu);
            }
        }
        packages = List.copyOf(byCard.values());
    }

    boolean empty() {
        return nics.isEmpty() && packages.isEmpty();
    }

    double width() {
        int columns = Math.max((nics.size() + STACK - 1) / STACK, Math.min(GPUS_IN_ROW, packages.size()));
        return columns * (GUTTER + CELL);
    }

    double nicHeight() {
        return Math.min(STACK, nics.size()) * (NIC_HEIGHT + GAP);
    }

    private double rowHeight(int row) {
        return packages.subList(row * GPUS_IN_ROW, Math.min(packages.size(), (row + 1) * GPUS_IN_ROW)).stream()
                .mapToDouble(DeviceBlock::packageHeight)
                .max()
                .orElse(0);
    }

    private static double packageHeight(List<Gpu> gpus) {
        int rows = (gpus.size() + 1) / 2;
        return gpus.size() == 1 ? GPU_HEIGHT : rows * (SMALL_HEIGHT + GAP) + GAP;
    }

    void drawNics(Canvas canvas, double y) {
        for (int i = 0; i < nics.size(); i++) {
            Nic nic = nics.get(i);
            int column = i / STACK;
            int row = i % STACK;
            Rect place =
                    new Rect(x + GUTTER + column * (GUTTER + CELL), y + row * (NIC_HEIGHT + GAP), CELL, NIC_HEIGHT);
            canvas.add(nic, new Box(kind(nic), place, List.of(nic.name(), ports(nic)), tip(nic)));
        }
    }

    private static BoxKind kind(Nic nic) {
        boolean down =
                !nic.ports().isEmpty() && nic.ports().stream().allMatch(port -> port.state() == NicPort.State.DOWN);
        return nic.compute() && !down ? BoxKind.NIC : BoxKind.IDLE_NIC;
    }

    private static String ports(Nic nic) {
        double rate = nic.gigabitsPerSecond();
        String kind = nic.family().toString();
        return kind
                + (rate > 0 ? " " + PartText.number(rate) + " Gb/s" : "")
                + (nic.ports().size() > 1 ? ", " + nic.ports().size() + " ports" : "");
    }

    void drawGpus(Canvas canvas, double y) {
        double top = y;
        for (int i = 0; i < packages.size(); i++) {
            int row = i / GPUS_IN_ROW;
            if (i > 0 && i % GPUS_IN_ROW == 0) {
                top += rowHeight(row - 1) + 3 * GAP;
            }
            drawPackage(canvas, packages.get(i), x + GUTTER + i % GPUS_IN_ROW * (GUTTER + CELL), top);
        }
    }

    private void drawPackage(Canvas canvas, List<Gpu> gpus, double left, double y) {
        if (gpus.size() == 1) {
            Gpu gpu = gpus.get(0);
            List<String> lines =
                    List.of(gpu.name(), PartText.joined(gpu.model(), gpu.architecture()), words.gpuLinks(gpu));
            canvas.add(gpu, new Box(BoxKind.GPU, new Rect(left, y, CELL, GPU_HEIGHT), lines, tip(gpu)));
            return;
        }
        Rect frame = new Rect(left, y, CELL, packageHeight(gpus));
        canvas.add(new Box(BoxKind.PACKAGE, frame, List.of(), gpus.size() + " partitions of one GPU"));
        double width = (CELL - 3 * GAP) / 2;
        for (int i = 0; i < gpus.size(); i++) {
            Gpu gpu = gpus.get(i);
            int column = i % 2;
            int row = i / 2;
            Rect place = new Rect(
                    left + GAP + column * (width + GAP), y + GAP + row * (SMALL_HEIGHT + GAP), width, SMALL_HEIGHT);
            canvas.add(gpu, new Box(BoxKind.GPU, place, List.of(gpu.name()), tip(gpu)));
            canvas.frame(gpu, frame);
        }
    }

    private String tip(Part part) {
        return PartText.joined(PartText.name(part), words.details(part));
    }
}
