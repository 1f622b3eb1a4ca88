package org.ep4j.engine.bootstrap;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Collects what the server, or another class, logs at WARNING and above, and keeps it off the console. */
final class LogCapture extends Handler implements AutoCloseable {
    private final Logger logger;
    private final List<String> lines = new CopyOnWriteArrayList<>();

    LogCapture() {
        this(RendezvousServer.class);
    }

    /** Collects what a class logs under its own name. */
    LogCapture(Class<?> source) {
        logger = Logger.getLogger(source.getName());
        setLevel(Level.WARNING);
        logger.addHandler(this);
        logger.setUseParentHandlers(false);
    }

    List<String> lines() {
        return List.copyOf(lines);
    }

    @Override
    public void publish(LogRecord entry) {
        if (isLoggable(entry)) {
            lines.add(new SimpleFormatter().formatMessage(entry));
        }
    }

    @Override
    public void flush() {
        // Nothing is buffered.
    }

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }
}
