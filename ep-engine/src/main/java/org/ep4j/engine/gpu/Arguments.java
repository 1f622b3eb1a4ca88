package org.ep4j.engine.gpu;

/** The arguments of one operation's kernels. One thread at a time. */
@SuppressWarnings("EnumOrdinal") // the order of the enum is the order of the struct that kernels read
final class Arguments {
    static final int COUNT = Param.values().length;

    private final long[] values;

    Arguments() {
        this(new long[COUNT]);
    }

    private Arguments(long[] values) {
        this.values = values;
    }

    Arguments copy() {
        return new Arguments(values.clone());
    }

    Arguments set(Param param, long value) {
        values[param.ordinal()] = value;
        return this;
    }

    Arguments set(Param param, boolean value) {
        return set(param, value ? 1 : 0);
    }

    long[] values() {
        return values;
    }
}
