package org.ep4j.cli.topo;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Host;
import org.ep4j.topology.model.Topology;

/** A machine as a tree: hosts, NUMA nodes, PCI switches, devices. */
public final class TopologyTree {
    private TopologyTree() {}

    /** The tree, lines ending in line separators. */
    public static String of(Topology topology) {
        PartText words = new PartText(topology);
        StringBuilder text = new StringBuilder();
        line(text, "", topology.source() + ": " + counts(topology));
        for (Host host : topology.hosts()) {
            line(text, "", "host " + host.index() + (host.name().isEmpty() ? "" : " " + host.name()));
            List<Branch> trees = Branch.ofHost(topology, host.index());
            List<GpuSwitch> bars = topology.only(GpuSwitch.class).stream()
                    .filter(bar -> bar.host() == host.index())
                    .toList();
            for (int i = 0; i < trees.size(); i++) {
                branch(text, words, trees.get(i), "", i == trees.size() - 1 && bars.isEmpty());
            }
            for (int i = 0; i < bars.size(); i++) {
                line(text, "", (i == bars.size() - 1 ? "└─ " : "├─ ") + words.gpuSwitch(bars.get(i)));
            }
        }
        return text.toString();
    }

    static String counts(Topology topology) {
        return Stream.of(
                        count(topology.hosts().size(), "host"),
                        count(topology.numaNodes().size(), "NUMA node"),
                        count(topology.gpus().size(), "GPU"),
                        count(topology.nics().size(), "NIC"))
                .collect(Collectors.joining(", "));
    }

    private static String count(int number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }

    private static void branch(StringBuilder text, PartText words, Branch branch, String indent, boolean last) {
        List<Branch> children = branch.children();
        text.append(Wrapped.of(
                indent + (last ? "└─ " : "├─ "),
                indent + (last ? "   " : "│  ") + (children.isEmpty() ? "  " : "│ "),
                List.of(words.line(branch).split("(?<=,) "))));
        for (int i = 0; i < children.size(); i++) {
            branch(text, words, children.get(i), indent + (last ? "   " : "│  "), i == children.size() - 1);
        }
    }

    private static void line(StringBuilder text, String indent, String line) {
        text.append(indent).append(line).append(System.lineSeparator());
    }
}
