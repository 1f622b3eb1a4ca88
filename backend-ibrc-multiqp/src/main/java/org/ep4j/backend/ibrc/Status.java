package org.ep4j.backend.ibrc;

/** {@code enum ibv_wc_status}. */
final class Status {
    static final int SUCCESS = 0;
    static final int LOCAL_QP = 2;
    static final int FLUSHED = 5;
    static final int REMOTE_ACCESS = 10;
    static final int RETRIES = 12;
    static final int RNR_RETRIES = 13;
    static final int REMOTE_ABORT = 16;
    static final int FATAL = 19;
    static final int RESPONSE_TIMEOUT = 20;
    static final int GENERAL = 21;

    private Status() {}

    /** True when the way to the peer failed, so that another may do; false when the request itself was refused. */
    static boolean ofPath(int status) {
        return switch (status) {
            case LOCAL_QP, FLUSHED, RETRIES, RNR_RETRIES, REMOTE_ABORT, FATAL, RESPONSE_TIMEOUT, GENERAL -> true;
            default -> false;
        };
    }
}
