package org.ep4j.backend.host;

/**
 * An error number of the kernel, printed as {@code ENOSPC (28, No space left on device)}.
 *
 * @param number value of {@code errno}; the same on all 64-bit Linux that Java runs on
 * @param text what the C library says about it, in the user's language
 */
record Errno(int number, String text) {
    static final int ENOENT = 2;
    static final int EINTR = 4;
    static final int EAGAIN = 11;
    static final int ENOMEM = 12;
    static final int EACCES = 13;
    static final int EEXIST = 17;
    static final int ENFILE = 23;
    static final int EMFILE = 24;
    static final int ENOSPC = 28;
    static final int EOPNOTSUPP = 95;
    static final int EDQUOT = 122;

    /** Symbolic name, or {@code errno} where it is not one of the usual ones. */
    String name() {
        return switch (number) {
            case 1 -> "EPERM";
            case ENOENT -> "ENOENT";
            case EINTR -> "EINTR";
            case 5 -> "EIO";
            case 9 -> "EBADF";
            case EAGAIN -> "EAGAIN";
            case ENOMEM -> "ENOMEM";
            case EACCES -> "EACCES";
            case EEXIST -> "EEXIST";
            case 19 -> "ENODEV";
            case 20 -> "ENOTDIR";
            case 22 -> "EINVAL";
            case ENFILE -> "ENFILE";
            case EMFILE -> "EMFILE";
            case 27 -> "EFBIG";
            case ENOSPC -> "ENOSPC";
            case 30 -> "EROFS";
            case 36 -> "ENAMETOOLONG";
            case 40 -> "ELOOP";
            case EOPNOTSUPP -> "EOPNOTSUPP";
            case EDQUOT -> "EDQUOT";
            default -> "errno";
        };
    }

    @Override
    public String toString() {
        return name() + " (" + number + (text.isEmpty() ? ")" : ", " + text + ")");
    }
}
