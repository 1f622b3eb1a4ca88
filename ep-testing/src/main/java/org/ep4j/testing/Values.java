package org.ep4j.testing;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.LongFunction;

/** The values of a parameter. */
interface Values {
    /** The choice among the values. */
    enum Pick {
        LEAST,
        GREATEST,
        ANY
    }

    Object pick(Random random, Pick pick);

    /** Returns the number of values; {@link Long#MAX_VALUE} where they are too many to try all, or unknown. */
    default long count() {
        return Long.MAX_VALUE;
    }

    /** Returns a value by its index below {@link #count}. */
    default Object at(long index) {
        throw new UnsupportedOperationException("value " + index);
    }

    /** Whole numbers. */
    record Numbers(long min, long max, LongFunction<Object> boxed) implements Values {
        @Override
        public Object pick(Random random, Pick pick) {
            return boxed.apply(
                    switch (pick) {
                        case LEAST -> min;
                        case GREATEST -> max;
                        case ANY -> Draw.aLong(random, min, max);
                    });
        }

        @Override
        public long count() {
            // The number of all longs exceeds a long.
            return max - min < 0 ? Long.MAX_VALUE : Math.max(max - min, max - min + 1);
        }

        @Override
        public Object at(long index) {
            return boxed.apply(min + index);
        }
    }

    /** Booleans and enums. */
    record Listed(List<?> all) implements Values {
        @Override
        public Object pick(Random random, Pick pick) {
            return switch (pick) {
                case LEAST -> all.get(0);
                case GREATEST -> all.get(all.size() - 1);
                case ANY -> Draw.oneOf(random, all);
            };
        }

        @Override
        public long count() {
            return all.size();
        }

        @Override
        public Object at(long index) {
            return all.get((int) index);
        }
    }

    /** Lists: the least is the shortest with the least elements. */
    record Lists(Values elements, int min, int max) implements Values {
        @Override
        public Object pick(Random random, Pick pick) {
            return list(random, pick);
        }

        private List<Object> list(Random random, Pick pick) {
            List<Object> list = new ArrayList<>();
            for (int left = length(random, pick, min, max); left > 0; left--) {
                list.add(elements.pick(random, pick));
            }
            return list;
        }
    }

    /** Arrays, made of lists. */
    record Arrays(Class<?> component, Lists lists) implements Values {
        @Override
        public Object pick(Random random, Pick pick) {
            List<Object> list = lists.list(random, pick);
            Object array = Array.newInstance(component, list.size());
            for (int i = 0; i < list.size(); i++) {
                Array.set(array, i, list.get(i));
            }
            return array;
        }
    }

    /** Strings: the greatest is the longest, of any characters. */
    record Strings(int min, int max, boolean letters) implements Values {
        @Override
        public Object pick(Random random, Pick pick) {
            int length = length(random, pick, min, max);
            return letters ? Draw.letters(random, length, length) : Draw.aString(random, length, length);
        }
    }

    private static int length(Random random, Pick pick, int min, int max) {
        return switch (pick) {
            case LEAST -> min;
            case GREATEST -> max;
            case ANY -> Draw.size(random, min, max);
        };
    }
}
