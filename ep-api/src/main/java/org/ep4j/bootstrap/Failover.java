package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.MemberState;

/**
 * Keeps a member in touch with the group when its hub goes. The lowest rank that a member does not hold lost is the next
 * hub: the member asks it to take it in, or, when it is that rank itself, serves the others. Every member listens for such
 * questions on a port of its own, which only the key of the group opens.
 *
 * <p>A member whose connection to the hub ends is lost at once when its process has gone, which nothing that listens at its address
 * shows. One that runs keeps its place for a moment: where the cause is on the hub's side, the connections of others end too, and
 * none of the others may be told that a member is lost which they can reach.
 *
 * <p>A member that asks although the others hold it lost gets that answer. Two groups that hold each other lost compare their
 * {@link Standing}: the smaller one yields, of equal ones that without the lowest rank.
 *
 * <p>One thread asks; answers are given in the reactor's thread.
 */
final class Failover {
    /** Longest wait for the handshake of a member that may stand still; a process that runs answers at once. */
    private static final Duration ANSWER = Duration.ofMillis(200);

    /** Longest time for a farewell. */
    private static final Duration FAREWELL = Duration.ofSeconds(2);

    /** Time in which members come by themselves, and in which ends of connections with one cause arrive together. */
    private static final Duration TOGETHER = Duration.ofMillis(50);

    private static final String GONE = "nothing listens at its address any more";
    private static final Duration STEP = Duration.ofMillis(20);
    private static final long STACK_BYTES = 512 << 10;

    private final int rank;
    private final int size;
    private final Membership membership;
    private final Reactor reactor;
    private final Terms terms;
    private final byte[] key;
    private final MemberDialer dialer;
    private final Acceptor acceptor;
    private final PeerAddress address;
    private final Thread worker;
    private final QuestionServer questionServer;

    // Guarded by this.
    private List<PeerAddress> addresses = List.of();
    private Optional<HubServer> hub = Optional.empty();
    private Optional<TcpLink> link = Optional.empty();
    private boolean hubless;
    private boolean settled;
    private boolean closed;
    /** Members whose connection to this hub has ended, and which it has not told the others yet. */
    private final Map<Integer, End> ends = new TreeMap<>();
    /** Members found lost that may live, and know better. */
    private final Set<Integer> suspects = new TreeSet<>();
    /** When suspects are asked that did not answer. */
    private Deadline askAgain = Deadline.in(Duration.ZERO);
    /** Questions that are not answered. */
    private final Map<Integer, Connection> questions = new HashMap<>();
    /** What those who hold this member lost have answered. */
    private final Map<Connection, Standing> rivals = new HashMap<>();

    private record End(String reason, Deadline limit) {}

    private Failover(
            Membership membership,
            Reactor reactor,
            Terms terms,
            byte[] key,
            InetSocketAddress listen,
            Optional<InetAddress> told,
            InetAddress rankZero) {
        this.rank = membership.rank();
        this.size = membership.root().size();
        this.membership = membership;
        this.reactor = reactor;
        this.terms = terms;
        this.key = terms.failoverKey(key);
        this.dialer = new MemberDialer(rank, size, this.key, rankZero, reactor, terms);
        ServerSocketChannel listener = null;
        try {
            listener = Listener.open(listen);
            this.questionServer = new QuestionServer(this, membership, terms, this.key);
            this.acceptor = new Acceptor(reactor, listener, questionServer);
            this.address = new PeerAddress(told, acceptor.address().getPort());
            this.worker = new Thread(null, this::work, "ep4j-failover-" + rank, STACK_BYTES);
            worker.setDaemon(true);
            worker.start();
            acceptor.start();
            listener = null;
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "rank " + rank + " cannot listen on " + listen + " for the others (" + Sockets.describe(e)
                            + "); allow it a port",
                    e);
        } finally {
            if (listener != null) {
                Sockets.close(listener);
            }
        }
    }

    /** For rank 0, whose server forms the group. */
    static Failover ofHub(Membership membership, RendezvousServer server) {
        InetAddress own = server.address();
        InetAddress reached = own.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : own;
        Optional<InetAddress> wanted = server.terms().local() ? Optional.empty() : server.wanted();
        Failover failover = new Failover(
                membership,
                server.reactor(),
                server.terms(),
                server.key(),
                new InetSocketAddress(wanted.orElse(own), 0),
                wanted,
                reached);
        Hub hub = server.hub().hub();
        hub.attach(membership.rank(), membership);
        membership.attach(new DirectLink(hub, membership.rank()));
        synchronized (failover) {
            failover.hub = Optional.of(server.hub());
            failover.settled = true;
        }
        return failover;
    }

    /**
     * For a member that rank 0 has let in. One on rank 0's machine listens where rank 0 does: others on that machine reach
     * it there, and those on other machines by the address of rank 0. One with an interface of its own listens there, except in a
     * group that no other machine can reach.
     */
    static Failover ofMember(Membership membership, RendezvousClient.Joined joined, TcpSettings settings) {
        InetAddress own = joined.socket().socket().getLocalAddress();
        boolean beside = own.isLoopbackAddress();
        Optional<InetAddress> wanted =
                joined.terms().local() ? Optional.empty() : OwnAddress.wanted(settings.interfaces(), own);
        Reactor reactor = Reactor.start("ep4j-member-" + membership.rank());
        Failover failover = null;
        boolean started = false;
        try {
            failover = new Failover(
                    membership,
                    reactor,
                    joined.terms(),
                    joined.session().key(),
                    wanted.map(address -> new InetSocketAddress(address, 0))
                            .orElseGet(() -> beside && !joined.terms().local()
                                    ? new InetSocketAddress(0)
                                    : new InetSocketAddress(own, 0)),
                    wanted.or(() -> beside ? Optional.empty() : Optional.of(own)),
                    joined.address());
            failover.serve(joined);
            started = true;
            return failover;
        } finally {
            if (!started && failover != null) {
                failover.abandon();
            } else if (!started) {
                reactor.stop();
            }
        }
    }

    private void serve(RendezvousClient.Joined joined) {
        Session session = joined.session();
        Connection toHub;
        try {
            toHub = dialer.connection(joined.socket(), session);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "the connection to rank 0 broke: " + Sockets.describe(e) + "; start the group again", e);
        }
        TcpLink link = new TcpLink(toHub, 0);
        toHub.handler(new FromHub(link));
        membership.attach(link);
        synchronized (this) {
            this.link = Optional.of(link);
        }
        toHub.start();
    }

    /** Where this member listens for the others. */
    PeerAddress address() {
        return address;
    }

    /** The group stands: from now on another hub is found when this one goes. */
    void begin(List<PeerAddress> all) {
        synchronized (this) {
            addresses = List.copyOf(all);
            hub.ifPresent(server -> server.onEnd(this::memberEnded));
            notifyAll();
        }
    }

    /** Ends what did not come about. */
    void abandon() {
        synchronized (this) {
            closed = true;
            notifyAll();
            if (hub.isPresent()) {
                // The server of rank 0 tells the others first, and stops the reactor.
                reactor.execute(acceptor::shut);
                return;
            }
        }
        reactor.stop();
    }

    /** Leaves in good order. */
    void close() {
        Deadline deadline = Deadline.in(FAREWELL);
        // An interrupt is kept for later: a wait would end at once, again and again.
        boolean interrupted = Thread.interrupted();
        try {
            leave(deadline);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void leave(Deadline deadline) {
        membership.close();
        Optional<HubServer> served;
        synchronized (this) {
            while (!closed
                    && !membership.isOut()
                    && !deadline.passed()
                    && !(hub.isPresent() ? allHere() : isFarewelled())) {
                pause(STEP);
            }
            if (closed) {
                return;
            }
            served = hub;
        }
        served.ifPresent(server -> server.retire(deadline));
        Frame left = Wire.news(Hub.ROOT, rank, MemberState.LEFT, "it closed its bootstrap");
        reactor.call(() -> questionServer.answerAllWith(left), deadline);
        end();
    }

    /** Breaks everything, as a crash does. */
    void cut() {
        membership.expel("its connections were cut");
        end();
    }

    private void end() {
        synchronized (this) {
            closed = true;
            hub.ifPresent(server -> server.hub().close());
            notifyAll();
        }
        reactor.call(acceptor::shut, Deadline.in(FAREWELL));
        reactor.stop();
    }

    private boolean allHere() {
        return settled && hub.map(server -> server.hub().missing().isEmpty()).orElse(true);
    }

    /** True when the present hub, or the last one, has confirmed the leave; a hub of this member that is being made does so, too early. */
    private boolean isFarewelled() {
        return !hubless && farewell();
    }

    private boolean farewell() {
        return membership.awaitFarewell(Deadline.in(Duration.ZERO));
    }

    // The asking thread.

    private void work() {
        while (true) {
            try {
                boolean search;
                synchronized (this) {
                    while (!closed && !hasWork()) {
                        pause(terms.silence());
                    }
                    if (closed) {
                        return;
                    }
                    search = hubless;
                }
                if (search) {
                    findHub();
                } else {
                    confirmEnds();
                    settle();
                }
            } catch (Throwable e) {
                reactor.log().warn("the search for another hub goes on after a fault: " + e);
                synchronized (this) {
                    pause(STEP);
                }
            }
        }
    }

    private boolean hasWork() {
        return !addresses.isEmpty()
                && (hubless
                        || (hub.isPresent()
                                && (!settled || !ends.isEmpty() || (!suspects.isEmpty() && askAgain.passed()))));
    }

    private synchronized boolean searching() {
        return !closed && hubless && !membership.isOut();
    }

    private void findHub() {
        Deadline patience = Deadline.in(terms.silence());
        while (searching()) {
            int candidate = IntStream.range(0, size)
                    .filter(r -> r == rank || membership.root().state(r) == MemberState.ALIVE)
                    .findFirst()
                    .orElse(rank);
            if (candidate == rank) {
                becomeHub();
            } else {
                join(candidate, patience);
            }
        }
    }

    private void becomeHub() {
        Hub next = new Hub(membership.states());
        HubServer server = new HubServer(next, size, this::memberEnded);
        next.attach(rank, membership);
        membership.attach(new DirectLink(next, rank));
        synchronized (this) {
            hub = Optional.of(server);
            hubless = false;
            settled = false;
            rivals.clear();
            notifyAll();
        }
        reactor.execute(questionServer::answerAll);
    }

    private void join(int candidate, Deadline patience) {
        ToCandidate dialog = new ToCandidate(candidate, true);
        MemberDialer.Outcome outcome = dial(candidate, dialog, patience.passed() ? ANSWER : patience.remaining());
        if (outcome == MemberDialer.Outcome.GONE) {
            lose(candidate, false);
            return;
        }
        if (outcome != MemberDialer.Outcome.OPEN) {
            // A process may stand still, and a packet be lost, for as long as the group lets it. It costs no more in
            // all.
            if (patience.passed() && outcome == MemberDialer.Outcome.SILENT) {
                lose(candidate, true);
            }
            synchronized (this) {
                pause(STEP);
            }
            return;
        }
        // Longer than its hub takes to notice that this member has gone, and the candidate that its hub has.
        Deadline limit = Deadline.in(terms.silence().multipliedBy(2));
        synchronized (this) {
            while (searching() && !dialog.over && !limit.passed()) {
                pause(STEP);
            }
            if (!searching() || membership.root().state(candidate) == MemberState.LEFT) {
                return;
            }
        }
        if (dialog.over) {
            lose(candidate, true);
        } else {
            expel("rank " + candidate + " has a hub that this rank does not reach");
        }
    }

    private void lose(int candidate, boolean mayLive) {
        if (membership.lose(candidate) && mayLive) {
            suspect(candidate);
        }
    }

    /** Finds which members whose connections have ended are gone; the others are lost together, a moment after the last end. */
    private void confirmEnds() {
        while (true) {
            Map<Integer, End> now;
            Set<Integer> ask;
            synchronized (this) {
                if (closed || hub.isEmpty() || ends.isEmpty()) {
                    return;
                }
                now = Map.copyOf(ends);
                ask = new TreeSet<>(now.keySet());
                ask.removeAll(questions.keySet());
            }
            boolean late = now.values().stream().allMatch(end -> end.limit().passed());
            now.forEach((member, end) -> {
                if (ask.contains(member)
                        && dial(member, new ToCandidate(member, false), ANSWER) == MemberDialer.Outcome.GONE) {
                    announce(Map.of(member, end));
                }
            });
            if (late) {
                announce(now);
            } else {
                synchronized (this) {
                    pause(STEP);
                }
            }
        }
    }

    /** Tells the others that members are lost, then these, which may live: what they hear counts all of them. */
    private void announce(Map<Integer, End> members) {
        Optional<HubServer> server;
        synchronized (this) {
            server = hub;
        }
        members.forEach((member, end) -> server.ifPresent(s -> s.hub().disconnected(member, end.reason())));
        Map<Integer, Connection> asked;
        synchronized (this) {
            ends.keySet().removeAll(members.keySet());
            asked = new HashMap<>(questions);
        }
        asked.keySet().retainAll(members.keySet());
        asked.values().forEach(open -> open.send(Wire.question(question(false, true))));
        members.keySet().forEach(this::suspect);
    }

    /** Waits for the members, asks those who do not come, and those who were found lost though they may live. */
    private void settle() {
        Deadline limit = Deadline.in(terms.silence());
        Deadline last = Deadline.in(terms.silence().multipliedBy(3));
        sleep(TOGETHER);
        while (true) {
            HubServer server;
            Set<Integer> ask = new TreeSet<>();
            synchronized (this) {
                if (closed || hub.isEmpty()) {
                    return;
                }
                server = hub.get();
                ask.addAll(server.hub().missing());
                settled |= ask.isEmpty();
                if (settled) {
                    rivals.forEach(this::compare);
                    rivals.clear();
                    if (askAgain.passed()) {
                        ask.addAll(suspects);
                        suspects.clear();
                    }
                }
                ask.removeAll(questions.keySet());
                if (settled && ask.isEmpty()) {
                    break;
                }
            }
            for (int member : ask) {
                boolean missing = membership.root().state(member) == MemberState.ALIVE;
                if (missing && limit.passed()) {
                    continue;
                }
                MemberDialer.Outcome outcome = dial(member, new ToCandidate(member, false), ANSWER);
                if (missing && outcome == MemberDialer.Outcome.GONE) {
                    server.hub().disconnected(member, GONE);
                } else if (!missing && outcome != MemberDialer.Outcome.OPEN && outcome != MemberDialer.Outcome.GONE) {
                    // Cut off from this one perhaps: it learns what the others hold it for when it can be reached.
                    suspectLater(member);
                }
            }
            synchronized (this) {
                if (limit.passed()) {
                    String why = "it did not come to the new hub in "
                            + terms.silence().toMillis() + " ms";
                    // Those that have taken the question are on their way, past others that do not answer.
                    server.hub().missing().stream()
                            .filter(member -> !questions.containsKey(member) || last.passed())
                            .forEach(member -> server.hub().disconnected(member, why));
                }
                if (!settled) {
                    pause(STEP);
                }
            }
        }
        reactor.execute(questionServer::answerAll);
    }

    /** Connects and asks. */
    private MemberDialer.Outcome dial(int member, ToCandidate dialog, Duration answer) {
        PeerAddress where;
        synchronized (this) {
            where = addresses.get(member);
        }
        return dialer.dial(member, where, answer, dialog::start);
    }

    private static void sleep(Duration time) {
        try {
            Thread.sleep(time.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void pause(Duration time) {
        try {
            TimeUnit.MILLISECONDS.timedWait(this, Math.max(1, time.toMillis()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // What happens.

    private void memberEnded(int member, String reason, boolean silent) {
        End end = new End(reason, Deadline.in(TOGETHER));
        synchronized (this) {
            if (settled && !silent && membership.root().state(member) == MemberState.ALIVE) {
                ends.put(member, end);
                notifyAll();
                return;
            }
        }
        announce(Map.of(member, end));
    }

    private synchronized void suspectLater(int member) {
        suspects.add(member);
        askAgain = Deadline.in(terms.silence());
    }

    private synchronized void suspect(int member) {
        if (membership.root().state(member) == MemberState.LOST) {
            suspects.add(member);
            askAgain = Deadline.in(Duration.ZERO);
            notifyAll();
        }
        reactor.execute(questionServer::answerAll);
    }

    private void hubGone(TcpLink gone, String reason) {
        if (membership.detach(gone, gone.hub(), reason)) {
            synchronized (this) {
                link = Optional.empty();
                hubless = !farewell();
                if (membership.root().state(gone.hub()) == MemberState.LOST) {
                    suspects.add(gone.hub());
                }
                notifyAll();
            }
        }
    }

    private void joined(TcpLink next) {
        synchronized (this) {
            if (!searching()) {
                next.connection().close();
                return;
            }
            hubless = false;
            suspects.clear();
            link = Optional.of(next);
            notifyAll();
        }
        membership.attach(next);
        questionServer.answerAll();
    }

    /** What a member that asks must know of this one. */
    record State(Optional<HubServer> hub, boolean stands, boolean follows) {}

    /** The state of this member for one that asks. */
    synchronized State state(int asker) {
        return new State(
                hub,
                !hubless && (hub.isEmpty() || (settled && ends.isEmpty())),
                link.map(TcpLink::hub).equals(Optional.of(asker)));
    }

    /** Withdraws the question to a member that has come by itself, and ends the wait for it. */
    void came(int member) {
        Optional<Connection> question;
        synchronized (this) {
            question = Optional.ofNullable(questions.remove(member));
            notifyAll();
        }
        question.ifPresent(Connection::close);
    }

    /** Leaves a group that goes on without this member. */
    void expel(String why) {
        membership.expel(why);
        Optional<HubServer> served;
        Optional<TcpLink> toHub;
        List<Connection> open;
        synchronized (this) {
            served = hub;
            toHub = link;
            hub = Optional.empty();
            link = Optional.empty();
            hubless = false;
            suspects.clear();
            ends.clear();
            open = List.copyOf(questions.values());
            notifyAll();
        }
        served.ifPresent(HubServer::drop);
        toHub.ifPresent(present -> present.connection().close());
        open.forEach(Connection::close);
        reactor.execute(questionServer::answerAll);
    }

    /** A group that this hub asked holds it lost; false when this one yields. */
    private boolean compare(Connection asked, Standing theirs) {
        boolean yields = standing().yieldsTo(theirs);
        if (yields) {
            expel("the others, " + theirs + ", hold it lost");
        } else {
            asked.send(Wire.question(question(false, true)));
        }
        return !yields;
    }

    private Question question(boolean join, boolean heldLost) {
        List<Integer> lost = IntStream.range(0, size)
                .filter(r -> membership.root().state(r) == MemberState.LOST)
                .boxed()
                .toList();
        return new Question(join, heldLost, standing(), lost);
    }

    /** The group of this member, as far as it knows. */
    synchronized Standing standing() {
        if (membership.isOut()) {
            return Standing.NONE;
        }
        List<Integer> living = hubless
                ? List.of(rank)
                : hub.map(server -> server.hub().attached().stream()
                                .filter(r -> !ends.containsKey(r))
                                .toList())
                        .orElseGet(() -> IntStream.range(0, size)
                                .filter(r -> membership.root().state(r) == MemberState.ALIVE)
                                .boxed()
                                .toList());
        return living.isEmpty() ? Standing.NONE : new Standing(living.size(), living.get(0));
    }

    /** Frames of the hub. */
    private final class FromHub implements Connection.Handler {
        private final TcpLink link;

        FromHub(TcpLink link) {
            this.link = link;
        }

        @Override
        public void received(Frame frame) throws IOException {
            Wire.toMember(frame, membership);
            if (frame.type() == Frame.Type.NEWS) {
                if (membership.isOut()) {
                    expel("the others hold it lost");
                }
                questionServer.answerAll();
            }
        }

        @Override
        public void ended(String reason) {
            hubGone(link, reason);
        }
    }

    /** A question that this member asked. */
    private final class ToCandidate implements Connection.Handler {
        private final int member;
        private final boolean join;
        private Optional<Connection> connection = Optional.empty();
        private volatile boolean over;

        ToCandidate(int member, boolean join) {
            this.member = member;
            this.join = join;
        }

        void start(Connection open) {
            synchronized (Failover.this) {
                connection = Optional.of(open);
                questions.put(member, open);
            }
            open.handler(this);
            open.start();
            open.send(Wire.question(question(join, membership.root().state(member) == MemberState.LOST)));
        }

        @Override
        public void received(Frame frame) throws IOException {
            Connection from = connection.orElseThrow();
            switch (frame.type()) {
                case ADMITTED -> {
                    TcpLink link = new TcpLink(from, member);
                    FromHub next = new FromHub(link);
                    from.handler(next);
                    forget();
                    joined(link);
                }
                case OUT -> out(from, Wire.standing(frame, size));
                case NEWS -> Wire.toMember(frame, membership);
                default -> throw new IOException("received " + frame.type() + " as an answer");
            }
        }

        @Override
        public void ended(String reason) {
            over = true;
            forget();
        }

        private void out(Connection from, Standing theirs) {
            // A hub that leaves judges nobody: members that hold it left answer questions of before so.
            boolean leaving = membership.root().state(rank) == MemberState.LEFT;
            if (theirs.living() == 0 || (leaving && !join)) {
                over = true;
                from.close();
                return;
            }
            if (join) {
                expel("the others, " + theirs + ", hold it lost");
                return;
            }
            boolean known;
            String why;
            Optional<HubServer> server;
            synchronized (Failover.this) {
                server = hub;
                why = Optional.ofNullable(ends.get(member))
                        .map(End::reason)
                        .orElse("it follows another group, of " + theirs);
                known = settled;
                if (!settled) {
                    rivals.put(from, theirs);
                }
            }
            // Members of a group that yields are not told of others whom they may find in the larger one.
            if (known && !compare(from, theirs)) {
                return;
            }
            server.ifPresent(s -> s.hub().disconnected(member, why));
        }

        private void forget() {
            synchronized (Failover.this) {
                connection.ifPresent(open -> questions.remove(member, open));
                Failover.this.notifyAll();
            }
        }
    }
}
