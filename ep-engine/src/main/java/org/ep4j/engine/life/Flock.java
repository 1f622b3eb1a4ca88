package org.ep4j.engine.life;

import com.sun.jna.Native;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The lock of an open file (flock(2)). Unlike a POSIX lock, which is all that {@code FileChannel.lock} gives, it belongs to the
 * open file and not to the process: ranks that are threads of one process have locks of their own, and it stays when another
 * descriptor of the same file is closed.
 */
final class Flock {
    /** {@code asm-generic/fcntl.h}, which x86-64 and AArch64 share. */
    private static final int O_RDWR = 2;

    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_CLOEXEC = 0x80000;
    private static final int OWNER_ONLY = 0600;
    private static final int LOCK_SH = 1;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int LOCK_UN = 8;

    /**
     * Binds the calls.
     *
     * @throws LinkageError when JNA cannot start here, or the C library lacks a call
     */
    Flock() {
        Native.register(Flock.class, "c");
    }

    /** Creates a file that was not there, for its owner alone, closed on exec. */
    int create(Path path) throws IOException {
        return opened(open(bytes(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, OWNER_ONLY), path);
    }

    /** Opens a file that is there, closed on exec. */
    int openExisting(Path path) throws IOException {
        return opened(open(bytes(path), O_RDWR | O_CLOEXEC, 0), path);
    }

    private static int opened(int descriptor, Path path) throws IOException {
        if (descriptor < 0) {
            throw new IOException("open of " + path + " failed with errno " + Native.getLastError());
        }
        return descriptor;
    }

    /** Takes the exclusive lock; false when another open file has one. */
    boolean tryLock(int descriptor) {
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    }

    /** True when no open file has the exclusive lock. Several may ask at once. */
    boolean isFree(int descriptor) {
        if (flock(descriptor, LOCK_SH | LOCK_NB) != 0) {
            return false;
        }
        flock(descriptor, LOCK_UN);
        return true;
    }

    /** Closes it, which frees its lock. */
    void closeDescriptor(int descriptor) {
        close(descriptor);
    }

    /** A path as the kernel sees it, ended by a zero: in the encoding that the JDK uses for file names. */
    private static byte[] bytes(Path path) {
        String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
        Charset charset = Charset.isSupported(encoding) ? Charset.forName(encoding) : StandardCharsets.UTF_8;
        byte[] text = path.toString().getBytes(charset);
        return Arrays.copyOf(text, text.length + 1);
    }

    // open(2) takes its mode as a variable argument; on 64-bit Linux an int goes the same way either way.
    private static native int open(byte[] path, int flags, int mode);

    private static native int close(int descriptor);

    private static native int flock(int descriptor, int operation);
}
