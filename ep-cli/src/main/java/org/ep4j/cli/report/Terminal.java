package org.ep4j.cli.report;

import java.io.Console;
import java.lang.reflect.Method;

/** Whether a person looks on. */
public final class Terminal {
    private Terminal() {}

    /** True when input and output are a terminal. */
    @SuppressWarnings("SystemConsoleNull") // null before JDK 22, isTerminal() since then: both are asked
    public static boolean present() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            Method isTerminal = Console.class.getMethod("isTerminal");
            return Boolean.TRUE.equals(isTerminal.invoke(console));
        } catch (NoSuchMethodException e) {
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }
}
