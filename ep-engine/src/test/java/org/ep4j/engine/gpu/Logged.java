package org.ep4j.engine.gpu;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Collects what ep4j logs, at all levels. */
final class Logged extends Handler implements AutoCloseable {
    private final Logger logger = Logger.getLogger("org.ep4j");
    private final List<String> lines = new CopyOnWriteArrayList<>();

    Logged() {
        logger.setLevel(Level.ALL);
        logger.addHandler(this);
    }

    List<String> lines() {
        return List.copyOf(lines);
    }

    @Override
    public void publish(LogRecord entry) {
        lines.add(new SimpleFormatter().formatMessage(entry));
    }

    @Override
    public void flush() {
        // Nothing is buffered.
    }

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setLevel(null);
    }
}
