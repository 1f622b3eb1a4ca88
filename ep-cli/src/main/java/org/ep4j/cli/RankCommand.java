package org.ep4j.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.ep4j.EpException;
import org.ep4j.cli.gpu.GpuRank;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankWork;
import org.ep4j.cli.rank.WorkSpec;
import org.ep4j.cli.rank.WriteSpec;
import org.ep4j.cli.rank.WriteWork;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** One rank of {@code demo}, {@code bench} and {@code writes}; started by these, not by people. */
@Command(
        name = RankCommand.NAME,
        hidden = true,
        description = "Run one rank of ./ep demo, ./ep bench or ./ep writes. Those commands start it themselves; you"
                + " need not.")
final class RankCommand implements Callable<Integer> {
    static final String NAME = "rank-process";
    static final String GPU = "--gpu";
    static final String WRITES = "--writes";

    @Option(names = GPU, description = "SPEC describes a measurement on GPUs.")
    private boolean gpu;

    @Option(names = WRITES, description = "SPEC describes a measurement of counted writes.")
    private boolean writes;

    @Parameters(paramLabel = "SPEC", description = "What to do, as JSON.")
    private String work = "";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() {
        endWithParent();
        PrintWriter out = spec.commandLine().getOut();
        try {
            if (gpu) {
                new GpuRank(GpuSpec.decode(work), message -> send(out, message)).run();
            } else if (writes) {
                new WriteWork(WriteSpec.decode(work), message -> send(out, message)).run();
            } else {
                new RankWork(WorkSpec.decode(work), message -> send(out, message)).run();
            }
            return ExitCodes.OK;
        } catch (EpException e) {
            int code = ExitCodes.of(e);
            send(out, new RankMessage.Failed(e.getClass().getSimpleName(), String.valueOf(e.getMessage()), code));
            return code;
        }
    }

    private static synchronized void send(PrintWriter out, RankMessage message) {
        out.println(message.encode());
        out.flush();
    }

    /** Standard input ends when the parent dies, however that happens. */
    private static void endWithParent() {
        Thread watch = new Thread(
                () -> {
                    try {
                        System.in.transferTo(OutputStream.nullOutputStream());
                    } catch (IOException e) {
                        System.getLogger(RankCommand.class.getName())
                                .log(System.Logger.Level.DEBUG, "standard input broke", e);
                    }
                    Runtime.getRuntime().halt(ExitCodes.RANK_FAILED);
                },
                "ep-parent-watch");
        watch.setDaemon(true);
        watch.start();
    }
}
