package org.ep4j.engine.gpu;

/** What a kernel waited for, in the order of {@code enum Phase} in {@code op.cu}. */
enum Phase {
    BEGIN("begin"),
    DISPATCH_ROWS("dispatch rows"),
    COMBINE_ROWS("combine rows"),
    COMBINE_END("combine end"),
    LL_DISPATCH_CREDIT("low-latency dispatch credit"),
    LL_DISPATCH_RECEIVE("low-latency dispatch receive"),
    LL_COMBINE_CREDIT("low-latency combine credit"),
    LL_COMBINE_RECEIVE("low-latency combine receive");

    private final String text;

    Phase(String text) {
        this.text = text;
    }

    String text() {
        return text;
    }
}
