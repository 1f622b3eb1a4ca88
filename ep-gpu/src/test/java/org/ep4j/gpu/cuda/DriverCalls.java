package org.ep4j.gpu.cuda;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Calls of the emulated driver, which lists them: {@code calls/calls.cpp} of the emulator. */
public final class DriverCalls {
    private static final int MOST_TEXT = 1 << 20;

    private DriverCalls() {}

    /** Names of the calls that {@code work} makes in this thread, in order. */
    public static List<String> during(Runnable work) {
        NativeLibrary emulator = NativeLibrary.getInstance(CudaDriver.library(System.getenv()));
        Function begin = emulator.getFunction("emulatedCallsBegin");
        Function end = emulator.getFunction("emulatedCallsEnd");
        byte[] text = new byte[MOST_TEXT];
        begin.invokeVoid(new Object[0]);
        try {
            work.run();
        } finally {
            end.invokeVoid(new Object[] {text, text.length});
        }
        return new String(text, StandardCharsets.US_ASCII)
                .lines()
                .takeWhile(line -> line.startsWith("cu"))
                .toList();
    }
}
