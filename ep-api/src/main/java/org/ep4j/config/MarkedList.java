package org.ep4j.config;

/**
 * A list with NCCL's marks before it: {@code ^} for all but these, then {@code =} for whole names.
 *
 * @param negated whether it begins with {@code ^}
 * @param exact whether {@code =} comes next
 * @param names the list without its marks
 */
record MarkedList(boolean negated, boolean exact, String names) {
    static MarkedList parse(String text) {
        String rest = text.strip();
        boolean negated = rest.startsWith("^");
        rest = negated ? rest.substring(1) : rest;
        boolean exact = rest.startsWith("=");
        return new MarkedList(negated, exact, exact ? rest.substring(1) : rest);
    }
}
