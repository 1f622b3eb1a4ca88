package org.ep4j.gpu.hip;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.ep4j.EpException;

/**
 * A process that asks HIPRTC once, for an architecture that may end it. Arguments: the library, its version, the architecture, the
 * name of the source, and the folder in which it finds {@value #SOURCE} and leaves {@value #CODE} or {@value #FAILURE}.
 */
final class HipRtcMain {
    /** What is compiled. */
    static final String SOURCE = "source";

    /** The code object, when there is one. */
    static final String CODE = "code";

    /** Why there is none, when HIPRTC said so. */
    static final String FAILURE = "failure";

    private HipRtcMain() {}

    /** What {@link HipRtcProcess} starts. */
    public static void main(String[] arguments) throws IOException {
        Thread watch = new Thread(HipRtcMain::endWithParent, "parent");
        watch.setDaemon(true);
        watch.start();
        Path folder = Path.of(arguments[4]);
        String source = Files.readString(folder.resolve(SOURCE));
        try {
            byte[] code = new HipRtc(Path.of(arguments[0]), arguments[1])
                    .compile(arguments[3], source, arguments[2], HipCompiler.OPTIONS);
            Files.write(folder.resolve(CODE), code);
        } catch (EpException e) {
            Files.writeString(folder.resolve(FAILURE), String.valueOf(e.getMessage()));
        }
    }

    /** The parent says nothing; its end ends this process too, which may hang in HIPRTC. */
    private static void endWithParent() {
        try {
            while (System.in.read() >= 0) {
                // Until the parent is gone.
            }
        } catch (IOException e) {
            // As if it had ended.
        }
        Runtime.getRuntime().halt(1);
    }

    /** The arguments. */
    static List<String> arguments(Path library, String version, String target, String name, Path folder) {
        return List.of(library.toString(), version, target, name, folder.toString());
    }
}
