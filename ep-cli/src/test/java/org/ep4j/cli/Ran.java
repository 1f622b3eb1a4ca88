package org.ep4j.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/** One run of the command, in this JVM. */
record Ran(int code, String out, String err) {
    static Ran ep(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = Main.run(new PrintWriter(out), new PrintWriter(err), args);
        return new Ran(code, out.toString(), err.toString());
    }
}
