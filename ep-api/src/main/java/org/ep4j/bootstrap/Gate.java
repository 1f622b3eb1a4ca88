package org.ep4j.bootstrap;

/** Decides who comes in through an {@link Acceptor}. Called in the reactor's thread. */
interface Gate {
    /** True when the key stands for a secret. */
    boolean secret();

    /** Number of ranks. */
    int size();

    /** Key that proofs are made with. */
    byte[] key();

    /** Salt that the key was stretched with; zeros where the other side has the key already. */
    byte[] salt();

    Terms terms();

    /** Refuses a member that proved itself but has no place. */
    void check(Hello hello, String who) throws RefusedException;

    /** Takes a member in and gives what serves its connection, which starts next. */
    Connection.Handler enter(Hello hello, String who, Connection connection);
}
