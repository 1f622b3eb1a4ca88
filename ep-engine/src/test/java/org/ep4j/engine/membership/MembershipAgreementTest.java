package org.ep4j.engine.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.BitSet;
import java.util.List;
import java.util.stream.LongStream;
import org.ep4j.engine.membership.AgreementSimulation.Maker;
import org.ep4j.engine.membership.AgreementSimulation.Outcome;
import org.ep4j.engine.membership.AgreementSimulation.Violation;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The agreement on the next membership, in simulated schedules, and what the simulation says of it when a rule is missing. */
@Tag("verify")
final class MembershipAgreementTest {
    private static final int SCHEDULES = Tier.all() ? 1_000_000 : 10_000;

    /** A mutation is found in fewer schedules than a correct agreement has to pass. */
    private static final int FINDS = 10_000;

    @Test
    void agreesInEverySchedule() {
        Outcome[] outcomes = LongStream.range(0, SCHEDULES)
                .parallel()
                .mapToObj(seed -> AgreementSimulation.run(seed, MembershipAgreement::new))
                .toArray(Outcome[]::new);
        assertThat(outcomes).filteredOn(o -> o.epochs() > 0).hasSizeGreaterThan(SCHEDULES / 2);
        assertThat(outcomes).filteredOn(o -> o.epochs() > 2).hasSizeGreaterThan(SCHEDULES / 20);
        assertThat(outcomes).filteredOn(o -> o.proofs() > 1).hasSizeGreaterThan(SCHEDULES / 4);
        assertThat(outcomes).filteredOn(Outcome::alone).hasSizeGreaterThan(SCHEDULES / 100);
    }

    /** Agreements that each lack one rule. */
    enum Mutation {
        PROMISES_EVERY_BALLOT((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean mayPromise(long ballot) {
                return ballot > Vote.NO_BALLOT;
            }
        }),
        ACCEPTS_EVERY_BALLOT((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean mayAccept(long ballot) {
                return true;
            }
        }),
        IGNORES_WHAT_WAS_ACCEPTED((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            Vote newestVote(BitSet promisers) {
                return Vote.NONE;
            }
        }),
        SHARES_BALLOTS((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            long ballotAbove(long ballot) {
                return ballot + 1;
            }
        }),
        COUNTS_THE_DEAD_FOR_EVERY_VALUE((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean isQuorum(BitSet answers) {
                BitSet all = dead();
                all.or(answers);
                return 2 * all.cardinality() > membership().size();
            }
        }),
        COUNTS_THE_DEAD_AS_MEMBERS((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean isQuorum(BitSet answers) {
                return 2 * answers.cardinality() > membership().size();
            }
        }),
        TAKES_HALF_FOR_A_QUORUM((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean isQuorum(BitSet answers) {
                BitSet living = (BitSet) answers.clone();
                living.andNot(dead());
                return 2 * living.cardinality() >= membership().size() - dead().cardinality();
            }
        }),
        PROPOSES_THE_DEAD((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean isDead(int rank) {
                return false;
            }
        }),
        DOES_NOT_PASS_ON_DEATHS((self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            void count(AgreementMessage message) {}
        });

        @SuppressWarnings("ImmutableEnumChecker") // makers have no state
        private final Maker maker;

        Mutation(Maker maker) {
            this.maker = maker;
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyRuleIsNeeded(Mutation mutation) {
        assertThatThrownBy(() -> run(mutation.maker))
                .isInstanceOf(Violation.class)
                .hasMessageMatching("(?s)seed \\d+: (two memberships|rank \\d).*");
    }

    /**
     * Rank 0 has a promise of rank 1, and rank 2 has promises of 3 and 4 for a higher ballot when these die. Without the rule of
     * this test rank 0 would then decide with rank 1, and rank 2 something else.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aPromiseOfTheDeadHoldsForOthers(boolean isRefused) {
        Ranks ranks = new Ranks(5, (self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean isRefusedByDead() {
                return isRefused && super.isRefusedByDead();
            }
        });
        ranks.propose(0);
        ranks.sendAndReceive(0, 1);
        ranks.at(2).suspect(1, RankStatus.UNREACHABLE);
        ranks.propose(2);
        ranks.sendAndReceive(2, 3, 4);
        for (int dead : List.of(3, 4)) {
            ranks.at(0).proveDead(dead, ranks.at(dead).record());
            ranks.at(2).proveDead(dead, ranks.at(dead).record());
        }
        ranks.sendAndReceive(0, 1);
        Membership first = ranks.at(0).membership();
        ranks.sendAndReceive(2, 1);
        Membership second = ranks.at(2).membership();
        assertThat(second.epoch()).isOne();
        assertThat(first.epoch()).isEqualTo(isRefused ? 0 : 1);
        assertThat(first).isNotEqualTo(second);
    }

    /** Rank 0 decides with the votes of 1 and 2, and no other rank learns it before these die. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anOwnerStoresBeforeItSends(boolean isStored) {
        Ranks ranks = new Ranks(5, MembershipAgreement::new);
        ranks.at(0).suspect(3, RankStatus.UNREACHABLE);
        ranks.propose(0);
        ranks.sendAndReceive(0, 1, 2);
        AcceptorRecord[] promises = {
            ranks.at(0).record(), ranks.at(1).record(), ranks.at(2).record()
        };
        ranks.sendAndReceive(0, 1, 2);
        for (int dead : List.of(1, 2)) {
            AcceptorRecord last = isStored ? ranks.at(dead).record() : promises[dead];
            ranks.at(3).proveDead(dead, last);
            ranks.at(4).proveDead(dead, last);
        }
        ranks.propose(3);
        ranks.sendAndReceive(3, 4);
        ranks.sendAndReceive(3, 4);
        Membership first = ranks.at(0).membership();
        Membership second = ranks.at(3).membership();
        assertThat(first.epoch()).isOne();
        assertThat(second.epoch()).isOne();
        assertThat(second.equals(first)).isEqualTo(isStored);
    }

    /**
     * Rank 0 decides with the votes of 1 and 4, then it and 4 die where nobody can read their records. More than half of the ranks that live
     * are then too few: the only one of these that has accepted something must answer.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void deathsWithoutARecordNeedAllLivingRanks(boolean isVouched) {
        Ranks ranks = new Ranks(5, MembershipAgreement::new);
        ranks.at(0).suspect(3, RankStatus.UNREACHABLE);
        ranks.propose(0);
        ranks.sendAndReceive(0, 1, 4);
        ranks.sendAndReceive(0, 1, 4);
        Membership first = ranks.at(0).membership();
        assertThat(first.epoch()).isOne();
        AcceptorRecord none = new AcceptorRecord(Membership.first(5), Vote.NO_BALLOT, Vote.NONE);
        for (int dead : List.of(0, 4)) {
            if (isVouched) {
                // Rank 2 learns it from rank 3.
                ranks.at(3).vouchDead(dead);
            } else {
                ranks.at(3).proveDead(dead, none);
            }
        }
        ranks.sendAndReceive(3, 2);
        ranks.propose(3);
        ranks.sendAndReceive(3, 2);
        ranks.sendAndReceive(3, 2);
        assertThat(ranks.at(3).membership().epoch()).isEqualTo(isVouched ? 0 : 1);
        ranks.sendAndReceive(3, 1, 2);
        ranks.sendAndReceive(3, 1, 2);
        assertThat(ranks.at(3).membership().equals(first)).isEqualTo(isVouched);
    }

    /**
     * Rank 1 votes for what rank 0 proposes, then learns what 2, 3 and 4 have decided. When these are dead, this vote is one of all that live:
     * it is older than their deaths.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void votesFromBeforeADeathWithoutARecordDoNotDecide(boolean isGivenUp) {
        Ranks ranks = new Ranks(5, (self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            void onUnreadDeath() {
                if (isGivenUp) {
                    super.onUnreadDeath();
                }
            }
        });
        ranks.at(0).suspect(3, RankStatus.UNREACHABLE);
        ranks.propose(0);
        ranks.sendAndReceive(0, 1, 2);
        ranks.sendAndReceive(0, 1);
        ranks.decideWithoutZero();
        ranks.send(4, 1);
        Membership decided = ranks.at(1).membership();
        assertThat(decided.epoch()).isOne();
        for (int dead : List.of(2, 3, 4)) {
            ranks.at(0).vouchDead(dead);
        }
        assertThat(ranks.at(0).membership().epoch()).isEqualTo(isGivenUp ? 0 : 1);
        ranks.send(1, 0);
        assertThat(ranks.at(0).membership().equals(decided)).isEqualTo(isGivenUp);
    }

    /** Ranks 2, 3 and 4 have decided before they died. Rank 1 learns it when it has voted with rank 0 to go on without them. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void lateMessagesOfTheDeadAreIgnored(boolean isDeaf) {
        Ranks ranks = new Ranks(5, (self, first, delay) -> new MembershipAgreement(self, first, delay) {
            @Override
            boolean listensTo(int rank) {
                return !isDeaf || super.listensTo(rank);
            }
        });
        ranks.decideWithoutZero();
        AgreementMessage late = ranks.at(4).message();
        for (int dead : List.of(2, 3, 4)) {
            ranks.at(0).vouchDead(dead);
        }
        ranks.propose(0);
        ranks.sendAndReceive(0, 1);
        ranks.send(0, 1);
        AgreementMessage vote = ranks.at(1).message();
        ranks.at(1).receive(4, late);
        ranks.at(0).receive(1, vote);
        ranks.send(0, 1);
        assertThat(ranks.at(0).membership().epoch()).isOne();
        assertThat(ranks.at(0).membership().equals(ranks.at(1).membership())).isEqualTo(isDeaf);
    }

    /** Rank 1 is on the host of the dead and can read what they have decided, but only when it has voted to go on without them. */
    @Test
    void recordsThatAreReadTooLateDoNotCount() {
        Ranks ranks = new Ranks(5, MembershipAgreement::new);
        ranks.decideWithoutZero();
        assertThat(ranks.at(4).membership().epoch()).isOne();
        for (int dead : List.of(2, 3, 4)) {
            ranks.at(0).vouchDead(dead);
        }
        ranks.propose(0);
        ranks.sendAndReceive(0, 1);
        ranks.send(0, 1);
        AgreementMessage vote = ranks.at(1).message();
        ranks.at(1).proveDead(4, ranks.at(4).record());
        assertThat(ranks.at(1).membership().epoch()).isZero();
        ranks.at(0).receive(1, vote);
        ranks.send(0, 1);
        assertThat(ranks.at(0).membership().epoch()).isOne();
        assertThat(ranks.at(1).membership()).isEqualTo(ranks.at(0).membership());
        // Nor in a later epoch.
        assertThat(ranks.at(1).listensTo(4)).isFalse();
    }

    /** Rank 4 of five is taken for dead and rank 3, which has left, never answers: the other three are more than half of all. */
    @Test
    void aVouchedDeathTakesNoQuorumAway() {
        Ranks ranks = new Ranks(5, MembershipAgreement::new);
        ranks.at(0).vouchDead(4);
        ranks.at(0).suspect(3, RankStatus.LEFT);
        ranks.propose(0);
        ranks.sendAndReceive(0, 1, 2);
        ranks.sendAndReceive(0, 1, 2);
        assertThat(ranks.at(0).membership().statuses())
                .containsExactly(
                        RankStatus.MEMBER, RankStatus.MEMBER, RankStatus.MEMBER, RankStatus.LEFT, RankStatus.DEAD);
    }

    /** Rank 3 is proved dead and rank 2 is only suspected: deaths that are vouched for are another matter. */
    @Test
    void aProvedDeathNeedsNotAllLivingRanks() {
        Ranks ranks = new Ranks(4, MembershipAgreement::new);
        ranks.at(0).proveDead(3, ranks.at(3).record());
        ranks.at(0).suspect(2, RankStatus.SILENT);
        ranks.propose(0);
        ranks.sendAndReceive(0, 1);
        ranks.sendAndReceive(0, 1);
        assertThat(ranks.at(0).membership().statuses())
                .containsExactly(RankStatus.MEMBER, RankStatus.MEMBER, RankStatus.SILENT, RankStatus.DEAD);
    }

    /** A rank that suspects all others leaves, and they stay. */
    @Test
    void leavesOutTheRankWithTheMostPairs() {
        Ranks ranks = new Ranks(4, MembershipAgreement::new);
        for (int r : List.of(0, 2, 3)) {
            ranks.at(1).suspect(r, RankStatus.UNREACHABLE);
        }
        ranks.agree();
        assertThat(ranks.at(0).membership().statuses())
                .containsExactly(RankStatus.MEMBER, RankStatus.UNREACHABLE, RankStatus.MEMBER, RankStatus.MEMBER);
        assertThat(ranks.at(1).isExpelled()).isTrue();
    }

    /** Rank 2 notices the silence of two ranks before the others do: they are left out, and not it. */
    @Test
    void leavesOutTheSilentRanksAndNotTheFirstThatNoticesThem() {
        Ranks ranks = new Ranks(5, MembershipAgreement::new);
        ranks.at(2).suspect(0, RankStatus.SILENT);
        ranks.at(2).suspect(1, RankStatus.SILENT);
        ranks.propose(3);
        ranks.sendAndReceive(3, 2, 4);
        ranks.sendAndReceive(3, 2, 4);
        assertThat(ranks.at(3).membership().statuses())
                .containsExactly(
                        RankStatus.SILENT, RankStatus.SILENT, RankStatus.MEMBER, RankStatus.MEMBER, RankStatus.MEMBER);
    }

    /** Two of four ranks are not more than half of them, whatever the others accept. */
    @Test
    void proposesNoMembershipOfHalfTheRanks() {
        Ranks ranks = new Ranks(4, MembershipAgreement::new);
        for (int r : List.of(0, 1)) {
            ranks.at(r).suspect(2, RankStatus.SILENT);
            ranks.at(r).suspect(3, RankStatus.SILENT);
        }
        ranks.agree();
        assertThat(ranks.at(0).membership().epoch()).isZero();
        ranks.at(0).suspect(2, RankStatus.MEMBER);
        ranks.at(1).suspect(2, RankStatus.MEMBER);
        ranks.agree();
        assertThat(ranks.at(0).membership().statuses())
                .containsExactly(RankStatus.MEMBER, RankStatus.MEMBER, RankStatus.MEMBER, RankStatus.SILENT);
    }

    /** The agreements of several ranks, whose messages a test delivers one by one. */
    private static final class Ranks {
        private final MembershipAgreement[] agreement;
        private long now;

        Ranks(int count, Maker maker) {
            agreement = new MembershipAgreement[count];
            for (int r = 0; r < count; r++) {
                agreement[r] = maker.make(r, Membership.first(count), 1);
            }
        }

        MembershipAgreement at(int rank) {
            return agreement[rank];
        }

        /** Lets a rank propose, whose turn it may not be. */
        void propose(int rank) {
            agreement[rank].begin(agreement[rank].membership().epoch());
            agreement[rank].tick(now);
            now += 1000;
            agreement[rank].tick(now);
        }

        /** Sends a message of a rank to others, and theirs to it. */
        void sendAndReceive(int rank, int... others) {
            for (int other : others) {
                send(rank, other);
            }
            for (int other : others) {
                send(other, rank);
            }
        }

        private void send(int from, int to) {
            agreement[to].receive(from, agreement[from].message());
        }

        /** Ranks 2, 3 and 4 leave rank 0 out, and rank 1 does not know it. */
        void decideWithoutZero() {
            at(4).suspect(0, RankStatus.UNREACHABLE);
            propose(4);
            sendAndReceive(4, 2, 3);
            sendAndReceive(4, 2, 3);
        }

        /** Lets rank 0 propose, and delivers all messages. */
        void agree() {
            propose(0);
            for (int round = 0; round < 4; round++) {
                for (int from = 0; from < agreement.length; from++) {
                    for (int to = 0; to < agreement.length; to++) {
                        if (from != to) {
                            send(from, to);
                        }
                    }
                }
            }
        }
    }

    private static void run(Maker maker) {
        LongStream.range(0, FINDS).forEach(seed -> AgreementSimulation.run(seed, maker));
    }
}
