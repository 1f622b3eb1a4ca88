package org.ep4j.examples.llm;

/**
 * A batch of tokens at the experts of a layer.
 *
 * @param tokens number of tokens
 * @param x {@code [tokens][hidden]} after RMSNorm
 * @param ids {@code [tokens][topK]}
 * @param shares {@code [tokens][topK]}, weights of the chosen experts
 */
@SuppressWarnings("ArrayRecordComponent") // not compared, and not copied: these are large
record Routed(int tokens, float[] x, int[] ids, float[] shares) {}
