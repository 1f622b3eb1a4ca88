package org.ep4j.backend.host;

import com.sun.jna.Native;
import java.nio.file.Path;
import org.ep4j.transport.memory.NativeMethods;

/**
 * The calls of the C library that shared memory needs, on 64-bit Linux. Having an instance proves that they are bound.
 *
 * <p>Constants are those of {@code asm-generic/errno.h}, {@code asm-generic/fcntl.h} and
 * {@code asm-generic/mman-common.h}, which x86-64, AArch64, POWER, RISC-V and s390x share.
 */
final class Libc {
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

    private static final int O_RDWR = 2;
    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_CLOEXEC = 0x80000;
    private static final int OWNER_ONLY = 0600;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_SHARED = 1;

    private Libc() {}

    /**
     * Failure of a call of the C library. Stays inside this package: callers get it as the cause of an exception that
     * names the fix.
     */
    static final class CallException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final String call;
        private final int error;

        /**
         * Creates the failure of a call.
         *
         * @param call name of the function in C
         * @param target of the call
         * @param error value of {@code errno}
         * @param text of the C library for it, in the user's language
         */
        CallException(String call, String target, int error, String text) {
            super(call + " of " + target + " failed with " + name(error) + " (" + error
                    + (text.isEmpty() ? ")" : ", " + text + ")"));
            this.call = call;
            this.error = error;
        }

        /** Symbolic name, or {@code errno} where it is not one of the usual ones. */
        private static String name(int error) {
            return switch (error) {
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

        String call() {
            return call;
        }

        /** The value of {@code errno}. */
        int error() {
            return error;
        }
    }

    /**
     * Binds the calls, once for the process.
     *
     * @throws org.ep4j.EpUnavailableException when JNA cannot start here
     * @throws LinkageError when the C library lacks a call
     */
    static Libc load() {
        NativeMethods.bindToC(Libc.class);
        return new Libc();
    }

    /** Creates a file that was not there, readable and writable by its owner alone, closed on exec. */
    int create(Path path) {
        return opened(open(NativeMethods.pathBytes(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, OWNER_ONLY), path);
    }

    /** Opens a file for reading and writing, closed on exec. */
    int openExisting(Path path) {
        return opened(open(NativeMethods.pathBytes(path), O_RDWR | O_CLOEXEC, 0), path);
    }

    private static int opened(int descriptor, Path path) {
        if (descriptor < 0) {
            throw failed("open", path.toString(), Native.getLastError());
        }
        return descriptor;
    }

    /** Takes the exclusive lock of an open file; returns false if another process has it. The kernel frees it when this process dies. */
    boolean tryLock(int descriptor, Path path) {
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        int error = Native.getLastError();
        if (error == EAGAIN) {
            return false;
        }
        throw failed("flock", path.toString(), error);
    }

    /** Reserves space for a part of a file, and gives the file at least that length; returns false if a signal interrupted the call. */
    boolean allocate(int descriptor, long offset, long length, Path path) {
        int error = posix_fallocate(descriptor, offset, length);
        if (error != 0 && error != EINTR) {
            throw failed("posix_fallocate", path.toString(), error);
        }
        return error == 0;
    }

    /** Maps the first {@code length} bytes of a file, shared; returns the address. */
    long map(int descriptor, long length, Path path) {
        long address = mmap(0, length, PROT_READ_WRITE, MAP_SHARED, descriptor, 0);
        if (address == -1) {
            throw failed("mmap", path.toString(), Native.getLastError());
        }
        return address;
    }

    void unmap(long address, long length) {
        if (munmap(address, length) != 0) {
            throw failed("munmap", "0x" + Long.toHexString(address), Native.getLastError());
        }
    }

    /** Removes a name; nothing happens when it is gone already. */
    void remove(Path path) {
        if (unlink(NativeMethods.pathBytes(path)) != 0) {
            int error = Native.getLastError();
            if (error != ENOENT) {
                throw failed("unlink", path.toString(), error);
            }
        }
    }

    /** Closes a descriptor. Linux frees it whatever the call returns, so there is nothing to report. */
    void closeDescriptor(int descriptor) {
        close(descriptor);
    }

    /** Effective user id. */
    int userId() {
        return geteuid();
    }

    private static CallException failed(String call, String target, int error) {
        String text = strerror(error);
        return new CallException(call, target, error, text == null ? "" : text);
    }

    // open(2) takes its mode as a variable argument; on 64-bit Linux an int goes the same way either way.
    private static native int open(byte[] path, int flags, int mode);

    private static native int close(int descriptor);

    private static native int unlink(byte[] path);

    private static native int flock(int descriptor, int operation);

    private static native int posix_fallocate(int descriptor, long offset, long length);

    private static native long mmap(long address, long length, int protection, int flags, int descriptor, long offset);

    private static native int munmap(long address, long length);

    private static native int geteuid();

    private static native String strerror(int number);
}
