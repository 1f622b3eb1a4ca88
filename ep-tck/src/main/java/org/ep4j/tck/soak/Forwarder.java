package org.ep4j.tck.soak;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Forwards the TCP connections of one rank to the rendezvous, and resets them on request. After that it accepts no more, so the rank stays
 * cut off.
 */
final class Forwarder implements AutoCloseable {
    /** Environment variable with the loopback port at which a rank requests the reset of its connections. */
    private static final String VARIABLE = "EP_TCK_RESET_PORT";

    private final int target;
    private final ServerSocket entrance;
    private final ServerSocket requests;
    private final List<Socket> sockets = new ArrayList<>();
    private final Thread forwarding;
    private volatile boolean reset;

    /** Creates a forwarder, which listens on free ports of the loopback interface. */
    Forwarder(int target) {
        this.target = target;
        try {
            this.entrance = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            this.requests = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException("no free port on the loopback interface", e);
        }
        this.forwarding = daemon("soak-forward", this::forward);
        daemon("soak-reset", this::resetOnRequest);
    }

    /** Returns the variables that make the rank's process join through this. */
    Map<String, String> environment() {
        return Map.of(
                "MASTER_PORT",
                Integer.toString(entrance.getLocalPort()),
                VARIABLE,
                Integer.toString(requests.getLocalPort()));
    }

    /** Resets the connections of the rank that calls this, whose environment came from {@link #environment}. */
    static void requestReset(Map<String, String> environment) {
        String port = environment.get(VARIABLE);
        if (port == null) {
            throw new IllegalStateException(
                    "variable " + VARIABLE + " is not set: this rank is not connected through a forwarder");
        }
        try (Socket request = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(port))) {
            // The forwarder closes the connection when it is done.
            int end = request.getInputStream().read();
            if (end >= 0) {
                throw new IllegalStateException("the forwarder sent " + end);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the forwarder at port " + port + " does not answer", e);
        }
    }

    private void forward() {
        while (true) {
            Socket near;
            try {
                near = entrance.accept();
            } catch (IOException e) {
                // Closed.
                return;
            }
            try {
                forward(near);
            } catch (IOException e) {
                // The rendezvous does not listen yet: the rank tries again.
                closeQuietly(near);
            }
        }
    }

    private void forward(Socket near) throws IOException {
        Socket far = new Socket(InetAddress.getLoopbackAddress(), target);
        synchronized (sockets) {
            sockets.add(near);
            sockets.add(far);
        }
        for (Socket socket : List.of(near, far)) {
            socket.setTcpNoDelay(true);
            // Closing sends RST; an orderly end of one side only shuts down its direction.
            socket.setSoLinger(true, 0);
        }
        daemon("soak-forward-up", () -> copy(near, far));
        daemon("soak-forward-down", () -> copy(far, near));
    }

    private void copy(Socket from, Socket to) {
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] bytes = new byte[1 << 16];
            for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                out.write(bytes, 0, read);
            }
            if (!reset) {
                to.shutdownOutput();
            }
        } catch (IOException e) {
            // One side has closed, so the other is closed, too.
            closeQuietly(from);
            closeQuietly(to);
        }
    }

    private void resetOnRequest() {
        try (Socket request = requests.accept()) {
            reset = true;
            entrance.close();
            // The kernel listens as long as a thread is in accept(), and that thread may forward one more connection.
            forwarding.join();
            synchronized (sockets) {
                sockets.forEach(Forwarder::closeQuietly);
            }
            request.shutdownOutput();
        } catch (IOException e) {
            // Closed before a request, or the rank has ended.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // The socket is closed all the same.
        }
    }

    private static Thread daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Closes all connections. */
    @Override
    public void close() {
        try {
            entrance.close();
            requests.close();
        } catch (IOException e) {
            // The sockets are closed all the same.
        }
        synchronized (sockets) {
            sockets.forEach(Forwarder::closeQuietly);
        }
    }
}
