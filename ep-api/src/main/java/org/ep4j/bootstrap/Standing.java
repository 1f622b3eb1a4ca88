package org.ep4j.bootstrap;

/**
 * The size of a group, by which two groups that hold each other lost decide which of them yields: the one with fewer living
 * members; of equal ones that whose lowest rank is higher. All members compute the same.
 *
 * @param living members; 0 of one that is out itself
 * @param lowest rank of them
 */
record Standing(int living, int lowest) {
    static final Standing NONE = new Standing(0, 0);

    boolean yieldsTo(Standing other) {
        return other.living > living || (other.living == living && other.lowest < lowest);
    }

    @Override
    public String toString() {
        return living + (living == 1 ? " living member, rank " : " living members from rank ") + lowest;
    }
}
