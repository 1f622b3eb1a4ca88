package org.ep4j.examples.llm;

import java.io.PrintStream;
import java.util.Set;
import java.util.TreeSet;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What a rank says, one JSON object a line on its standard output, for the process that started it. */
final class JsonLines implements Listener {
    private static final JsonMapper JSON = JsonMapper.shared();

    private final PrintStream out;

    JsonLines(PrintStream out) {
        this.out = out;
    }

    private record Loaded(int layers, int all) {}

    private record Ready(String loops) {}

    private record Token(int prompt, int id, String text) {}

    private record Lost(Set<Integer> ranks, int step) {}

    private void say(String kind, Object content) {
        out.println("{\"" + kind + "\":" + JSON.writeValueAsString(content) + "}");
        out.flush();
    }

    @Override
    public void loaded(int layers, int all) {
        say("loaded", new Loaded(layers, all));
    }

    @Override
    public void ready(String loops) {
        say("ready", new Ready(loops));
    }

    @Override
    public void token(int prompt, int id, String text) {
        say("token", new Token(prompt, id, text));
    }

    @Override
    public void lost(Set<Integer> ranks, int step) {
        say("lost", new Lost(new TreeSet<>(ranks), step));
    }

    @Override
    public void finished(Continuation continuation) {
        say("finished", continuation);
    }

    @Override
    public void done(Totals totals) {
        say("done", totals);
    }

    /**
     * Passes a line on.
     *
     * @return false when it is not one of these, such as a warning of the JVM
     */
    static boolean read(String line, Listener listener) {
        if (!line.startsWith("{\"")) {
            return false;
        }
        try {
            var entry = JSON.readTree(line).properties().iterator().next();
            JsonNode value = entry.getValue();
            switch (entry.getKey()) {
                case "loaded" -> {
                    Loaded loaded = JSON.treeToValue(value, Loaded.class);
                    listener.loaded(loaded.layers(), loaded.all());
                }
                case "ready" ->
                    listener.ready(JSON.treeToValue(value, Ready.class).loops());
                case "token" -> {
                    Token token = JSON.treeToValue(value, Token.class);
                    listener.token(token.prompt(), token.id(), token.text());
                }
                case "lost" -> {
                    Lost lost = JSON.treeToValue(value, Lost.class);
                    listener.lost(lost.ranks(), lost.step());
                }
                case "finished" -> listener.finished(JSON.treeToValue(value, Continuation.class));
                case "done" -> listener.done(JSON.treeToValue(value, Totals.class));
                default -> {
                    return false;
                }
            }
            return true;
        } catch (JacksonException e) {
            return false;
        }
    }
}
