package org.ep4j.bootstrap;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.spi.MemberState;

/**
 * Answers members of a standing group that look for a hub, or that were found lost. Lets a member in where this one is the hub, tells
 * one that the group holds lost so, and keeps a question until it can be answered. For the reactor's thread.
 */
final class QuestionServer implements Gate {
    private final Failover failover;
    private final Membership membership;
    private final Terms terms;
    private final byte[] key;
    private final int rank;
    private final int size;
    private final Set<Asker> askers = new HashSet<>();

    QuestionServer(Failover failover, Membership membership, Terms terms, byte[] key) {
        this.failover = failover;
        this.membership = membership;
        this.terms = terms;
        this.key = key;
        this.rank = membership.rank();
        this.size = membership.root().size();
    }

    /** A member that asked this one. */
    private final class Asker implements Connection.Handler {
        private final int member;
        private final Connection connection;
        private Optional<Question> question = Optional.empty();

        Asker(int member, Connection connection) {
            this.member = member;
            this.connection = connection;
        }

        @Override
        public void received(Frame frame) throws IOException {
            if (frame.type() != Frame.Type.QUESTION) {
                throw new IOException("received " + frame.type() + " from a member that is not admitted");
            }
            question = Optional.of(Wire.question(frame, size));
            answer(this);
        }

        @Override
        public void ended(String reason) {
            askers.remove(this);
        }
    }

    /** Answers what can be answered now. */
    void answerAll() {
        List.copyOf(askers).forEach(this::answer);
    }

    /** Sends the same frame to all that wait, and ends. */
    void answerAllWith(Frame last) {
        askers.forEach(asker -> {
            asker.connection.send(last);
            asker.connection.finish();
        });
    }

    private void answer(Asker asker) {
        if (asker.question.isEmpty()) {
            return;
        }
        Question question = asker.question.get();
        Failover.State here = failover.state(asker.member);
        MemberState state = membership.root().state(asker.member);
        if (!membership.isOut()
                && question.heldLost()
                && (here.follows() || (here.stands() && failover.standing().yieldsTo(question.asker())))) {
            failover.expel("rank " + asker.member + " and its group, " + question.asker() + ", hold it lost");
        }
        if (membership.isOut()) {
            reply(asker, Standing.NONE);
        } else if (state != MemberState.ALIVE && here.stands()) {
            reply(asker, failover.standing());
        } else if (question.join() && state == MemberState.ALIVE && here.hub().isPresent()) {
            admit(asker, question, here.hub().get());
        }
    }

    private void reply(Asker asker, Standing standing) {
        asker.question = Optional.empty();
        asker.connection.send(Wire.out(standing));
    }

    private void admit(Asker asker, Question question, HubServer server) {
        askers.remove(asker);
        question.lost().stream()
                .filter(lost -> lost != rank && lost != asker.member)
                .forEach(lost -> server.hub().disconnected(lost, "its loss was known to rank " + asker.member));
        asker.connection.send(Wire.admitted());
        asker.connection.handler(server.serve(asker.member, asker.connection));
        failover.came(asker.member);
    }

    @Override
    public boolean secret() {
        return true;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public byte[] key() {
        return key;
    }

    @Override
    public byte[] salt() {
        return new byte[Keys.SALT_BYTES];
    }

    @Override
    public Terms terms() {
        return terms;
    }

    @Override
    public void check(Hello hello, String who) throws RefusedException {
        if (hello.rank() == rank) {
            throw new RefusedException(
                    "this is rank " + rank + " itself; give every process a " + TcpSettings.RANK + " of its own");
        }
    }

    @Override
    public Connection.Handler enter(Hello hello, String who, Connection from) {
        Asker asker = new Asker(hello.rank(), from);
        askers.add(asker);
        return asker;
    }
}
