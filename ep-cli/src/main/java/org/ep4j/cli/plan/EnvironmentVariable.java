package org.ep4j.cli.plan;

import org.ep4j.topology.model.Printable;

/**
 * A variable of the environment, and what it does here. A variable that several settings read is there once for each of them.
 *
 * @param name its name
 * @param value its value; {@code (not shown)} for secrets and what may be one
 * @param effect what it does, in a word
 * @param setting setting that reads it; empty when none does
 * @param meaning what it does, or why it does nothing
 */
public record EnvironmentVariable(String name, String value, Effect effect, String setting, String meaning) {
    /** What a variable does. */
    public enum Effect {
        /** Gives the value of a setting. */
        SETS,
        /** Would give the value of a setting that has another one from elsewhere. */
        OVERRIDDEN,
        /** Gives a value that its setting refuses. */
        REFUSED,
        /** No setting reads it, but something else in a process of ep4j does. */
        READ_OTHERWISE,
        /** Is known, and does nothing. */
        NONE,
        /** Is not known. */
        UNKNOWN
    }

    /** Escapes control characters. */
    public EnvironmentVariable {
        name = Printable.line(name);
        value = Printable.line(value);
        meaning = Printable.line(meaning);
    }
}
