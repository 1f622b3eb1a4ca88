package org.ep4j.cli.soak;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A rank as a process of its own: takes orders from standard input, answers on standard output, and ends with its standard
 * input, so also when its parent dies.
 */
public final class RankMain {
    private static final int PARENT_GONE = 4;

    private final PrintStream out;
    private final BlockingQueue<Order> orders = new LinkedBlockingQueue<>();

    private RankMain(PrintStream out) {
        this.out = out;
    }

    /** Runs until standard input ends. */
    public static void main(String[] args) throws InterruptedException {
        PrintStream answers = stream(FileDescriptor.out);
        // What others print must not mix with answers.
        System.setOut(stream(FileDescriptor.err));
        new RankMain(answers).serve();
    }

    private static PrintStream stream(FileDescriptor descriptor) {
        return new PrintStream(new FileOutputStream(descriptor), true, StandardCharsets.UTF_8);
    }

    private void serve() throws InterruptedException {
        Thread reader = new Thread(this::read, "ep-soak-orders");
        reader.setDaemon(true);
        reader.start();
        send(new Answer.Started());
        try (RankWorker worker = new RankWorker(this::send)) {
            while (true) {
                worker.take(orders.take());
            }
        }
    }

    private void read() {
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Order order = Order.decode(line);
                if (order instanceof Order.Dump) {
                    send(new Answer.Stacks(StackDump.text()));
                } else {
                    orders.add(order);
                }
            }
        } catch (IOException e) {
            System.getLogger(RankMain.class.getName()).log(System.Logger.Level.DEBUG, "standard input broke", e);
        }
        Runtime.getRuntime().halt(PARENT_GONE);
    }

    private synchronized void send(Answer answer) {
        out.println(answer.encode());
    }
}
