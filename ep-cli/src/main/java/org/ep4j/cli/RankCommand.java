package org.ep4j.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.util.function.Consumer;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.cli.gpu.GpuRank;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.ExchangeRank;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.WriteRank;
import org.ep4j.cli.rank.WriteSpec;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.json.JsonMapper;

/** One rank of {@code demo}, {@code bench} and {@code writes}; started by these, not by people. */
@Command(
        name = RankCommand.NAME,
        hidden = true,
        description = "Run one rank of ./ep demo, ./ep bench or ./ep writes. Those commands start it themselves; you"
                + " need not.")
final class RankCommand extends Subcommand {
    static final String NAME = "rank-process";

    enum Kind {
        HOST,
        GPU,
        WRITES
    }

    @Parameters(index = "0", paramLabel = "KIND", description = "What to measure.")
    private Kind kind = Kind.HOST;

    @Parameters(index = "1", paramLabel = "SPEC", description = "What to do, as JSON.")
    private String work = "";

    @Override
    int run() {
        endWithParent();
        PrintWriter out = out();
        try (Bootstrap group = Bootstrap.fromEnvironment(EpConfig.load())) {
            int localRank = Integer.parseInt(System.getenv().getOrDefault("LOCAL_RANK", "0"));
            work(kind, work, group, localRank, message -> send(out, message));
            return ExitCodes.OK;
        } catch (EpException e) {
            int code = ExitCodes.of(e);
            send(out, new RankMessage.Failed(e.getClass().getSimpleName(), String.valueOf(e.getMessage()), code));
            return code;
        }
    }

    /**
     * Does the work of one rank.
     *
     * @param work as JSON
     * @param localRank its number on its host
     * @param sink takes what it reports
     */
    static void work(Kind kind, String work, Bootstrap group, int localRank, Consumer<RankMessage> sink) {
        JsonMapper json = JsonMapper.shared();
        switch (kind) {
            case HOST -> new ExchangeRank(json.readValue(work, ExchangeSpec.class), sink).run(group, localRank);
            case GPU -> new GpuRank(json.readValue(work, GpuSpec.class), sink).run(group, localRank);
            case WRITES -> new WriteRank(json.readValue(work, WriteSpec.class), sink).run(group);
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
