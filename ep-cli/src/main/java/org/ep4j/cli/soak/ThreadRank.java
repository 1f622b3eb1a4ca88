package org.ep4j.cli.soak;

import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A rank that is a thread of this process. */
final class ThreadRank implements RankHandle {
    private final int number;
    private final BlockingQueue<Event> events;
    private final BlockingQueue<Order> orders = new LinkedBlockingQueue<>();
    private final Thread thread;

    ThreadRank(int number, BlockingQueue<Event> events) {
        this.number = number;
        this.events = events;
        this.thread = new Thread(this::serve, "ep-soak-rank-" + number);
        thread.setDaemon(true);
        thread.start();
    }

    private void serve() {
        answer(new Answer.Started());
        try (RankWorker worker = new RankWorker(this::answer)) {
            while (true) {
                worker.take(orders.take());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            events.add(new Event(this, Optional.empty()));
        }
    }

    private void answer(Answer answer) {
        events.add(new Event(this, Optional.of(answer)));
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public void send(Order order) {
        if (order instanceof Order.Dump) {
            answer(new Answer.Stacks(StackDump.text()));
        } else {
            orders.add(order);
        }
    }

    @Override
    public void kill() {
        thread.interrupt();
    }

    @Override
    public void stop() {
        throw new UnsupportedOperationException("a thread gets no signals");
    }

    @Override
    public void resume() {
        throw new UnsupportedOperationException("a thread gets no signals");
    }

    @Override
    public String exit() {
        return thread.isAlive() ? "still running" : "its thread has ended";
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
