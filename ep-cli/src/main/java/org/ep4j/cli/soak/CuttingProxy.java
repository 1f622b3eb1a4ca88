package org.ep4j.cli.soak;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** Passes connections of the loopback interface on to another port of it, and resets them when it is asked to. */
final class CuttingProxy implements AutoCloseable {
    private static final int CHUNK = 1 << 16;
    private static final int PATIENCE_MILLIS = 10_000;
    private static final int RETRY_MILLIS = 20;

    private final int target;
    private final ServerSocket server;
    private final List<Pair> pairs = new ArrayList<>();

    private record Pair(Socket near, Socket far) {
        void reset() {
            for (Socket socket : List.of(near, far)) {
                try {
                    // Closed with data unsent or not, the other side gets RST.
                    socket.setSoLinger(true, 0);
                    socket.close();
                } catch (IOException e) {
                    System.getLogger(CuttingProxy.class.getName())
                            .log(System.Logger.Level.DEBUG, "a connection had ended before", e);
                }
            }
        }
    }

    /** In front of a port that somebody listens at soon. */
    CuttingProxy(int target) {
        this.target = target;
        try {
            this.server = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException("no free port on the loopback interface", e);
        }
        daemon(this::accept, "ep-soak-proxy");
    }

    int port() {
        return server.getLocalPort();
    }

    /** Resets connections, the newest ones first; gives how many. */
    int cut(int most) {
        List<Pair> cut = new ArrayList<>();
        synchronized (pairs) {
            while (!pairs.isEmpty() && cut.size() < most) {
                cut.add(pairs.remove(pairs.size() - 1));
            }
        }
        cut.forEach(Pair::reset);
        return cut.size();
    }

    private void accept() {
        try {
            while (true) {
                Socket near = server.accept();
                daemon(() -> connect(near), "ep-soak-proxy-connect");
            }
        } catch (IOException e) {
            System.getLogger(CuttingProxy.class.getName()).log(System.Logger.Level.DEBUG, "no more connections", e);
        }
    }

    private void connect(Socket near) {
        long end = System.nanoTime() + PATIENCE_MILLIS * 1_000_000L;
        while (System.nanoTime() - end < 0 && !server.isClosed()) {
            Socket far = new Socket();
            try {
                far.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), target), PATIENCE_MILLIS);
            } catch (IOException e) {
                // Rank 0 does not listen yet.
                Pause.millis(RETRY_MILLIS);
                continue;
            }
            Pair pair = new Pair(near, far);
            synchronized (pairs) {
                pairs.add(pair);
            }
            daemon(() -> pass(near, far, pair), "ep-soak-proxy-in");
            daemon(() -> pass(far, near, pair), "ep-soak-proxy-out");
            return;
        }
        new Pair(near, new Socket()).reset();
    }

    /** Passes one direction on; its end ends both. */
    private void pass(Socket from, Socket to, Pair pair) {
        byte[] chunk = new byte[CHUNK];
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                out.write(chunk, 0, n);
            }
        } catch (IOException e) {
            System.getLogger(CuttingProxy.class.getName()).log(System.Logger.Level.DEBUG, "a connection ended", e);
        } finally {
            synchronized (pairs) {
                pairs.remove(pair);
            }
        }
    }

    private static void daemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot close a port", e);
        }
        cut(Integer.MAX_VALUE);
    }
}
