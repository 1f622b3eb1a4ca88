package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.topo.MachineDrawing;
import org.ep4j.cli.topo.MachineFile;
import org.ep4j.cli.topo.PathMatrix;
import org.ep4j.cli.topo.TopologyJson;
import org.ep4j.cli.topo.TopologyTree;
import org.ep4j.topology.model.Printable;
import org.ep4j.topology.model.Topology;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code ep topo}: what a machine is made of. */
@Command(
        name = "topo",
        description = {
            "Show a machine: CPUs, PCI switches, GPUs, NICs and how near they are to each other.",
            "Without --file, this machine is shown. A file may be a topology XML of NCCL or RCCL, an XML of hwloc, the"
                    + " output of nvidia-smi topo -m or rocm-smi --showtopo, a folder with recorded files of /sys and"
                    + " /proc, or a .tar.gz of such a folder."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the machine was read",
            "2:wrong usage, or a description of a machine that cannot be understood",
            "3:a file cannot be written",
            "5:an error inside ep4j",
        })
final class TopoCommand extends Subcommand {
    private static final String STDOUT = "-";

    @Option(names = "--file", paramLabel = "FILE", description = "Description of the machine. Default: this machine.")
    private Optional<Path> file = Optional.empty();

    @Option(
            names = "--merge",
            paramLabel = "FILE",
            description = "Output of ibv_devinfo -v from the same machine, for the states, rates and GIDs of its ports."
                    + " RDMA devices that this output does not list count as not usable.")
    private Optional<Path> merge = Optional.empty();

    @Option(
            names = "--json",
            paramLabel = "OUT",
            arity = "0..1",
            fallbackValue = STDOUT,
            description = "Write the whole model as JSON to this file;"
                    + " without a file name, print the JSON instead of the text.")
    private Optional<String> json = Optional.empty();

    @Option(names = "--svg", paramLabel = "OUT", description = "Draw the machine to this SVG file.")
    private Optional<Path> svg = Optional.empty();

    @Override
    int run() {
        PrintWriter out = out();
        Topology machine = MachineFile.read(file, merge);
        svg.ifPresent(drawing -> TextFile.write(drawing, MachineDrawing.of(machine)));
        if (json.filter(STDOUT::equals).isPresent()) {
            out.print(TopologyJson.of(machine));
        } else {
            json.ifPresent(name -> TextFile.write(Path.of(name), TopologyJson.of(machine)));
            out.print(Printable.text(TopologyTree.of(machine)));
            out.println();
            out.print(Printable.text(PathMatrix.of(machine)));
            machine.assumptions().forEach(assumption -> out.println("assumed: " + Printable.line(assumption)));
            machine.warnings().forEach(warning -> out.println("warning: " + Printable.line(warning)));
        }
        return ExitCodes.OK;
    }
}
