package org.ep4j.engine;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Collects what a logger and those below it log, and keeps it off the console. */
public final class LogCapture extends Handler implements AutoCloseable {
    private final Logger logger;
    private final List<LogRecord> entries = new CopyOnWriteArrayList<>();

    /** Collects what a class logs under its own name at WARNING and above. */
    public LogCapture(Class<?> source) {
        this(source.getName(), Level.WARNING);
    }

    LogCapture(String name, Level lowest) {
        logger = Logger.getLogger(name);
        setLevel(lowest);
        logger.addHandler(this);
        logger.setUseParentHandlers(false);
    }

    /** Messages in the order of their arrival, without levels. */
    public List<String> lines() {
        return entries.stream().map(LogCapture::text).toList();
    }

    /** Lines with a text in them, each after its level and a space. */
    List<String> withLevels(String part) {
        return entries.stream()
                .filter(entry -> text(entry).contains(part))
                .map(entry -> entry.getLevel().getName() + " " + text(entry))
                .toList();
    }

    private static String text(LogRecord entry) {
        return new SimpleFormatter().formatMessage(entry);
    }

    @Override
    public void publish(LogRecord entry) {
        if (isLoggable(entry)) {
            entries.add(entry);
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
