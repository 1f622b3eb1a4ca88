package org.ep4j.plan;

import java.util.Comparator;

/** Orders names as people count: {@code mlx5_2} before {@code mlx5_10}. */
final class NaturalOrder implements Comparator<String> {
    static final NaturalOrder INSTANCE = new NaturalOrder();

    private NaturalOrder() {}

    @Override
    public int compare(String a, String b) {
        int i = 0;
        int j = 0;
        while (i < a.length() && j < b.length()) {
            int endA = number(a, i);
            int endB = number(b, j);
            int order;
            if (endA > i && endB > j) {
                order = compareNumbers(a.substring(i, endA), b.substring(j, endB));
                i = endA;
                j = endB;
            } else {
                order = Character.compare(a.charAt(i++), b.charAt(j++));
            }
            if (order != 0) {
                return order;
            }
        }
        int rest = Integer.compare(a.length() - i, b.length() - j);
        // Names that differ only in leading zeros still need one order.
        return rest != 0 ? rest : a.compareTo(b);
    }

    private static int compareNumbers(String a, String b) {
        String shortA = a.replaceFirst("^0+", "");
        String shortB = b.replaceFirst("^0+", "");
        int length = Integer.compare(shortA.length(), shortB.length());
        return length != 0 ? length : shortA.compareTo(shortB);
    }

    private static int number(String text, int start) {
        int end = start;
        while (end < text.length() && text.charAt(end) >= '0' && text.charAt(end) <= '9') {
            end++;
        }
        return end;
    }
}
