package org.ep4j.tck.faults;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.CombineResult;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.ep4j.tck.ranks.GroupFactory;

/** Joins real groups and intercepts their calls: a fault changes arguments or results. */
abstract class FaultyGroup implements GroupFactory {
    private static final List<Class<?>> WRAPPED = List.of(
            EpGroup.class, EpBuffer.class, DispatchResult.class, CombineResult.class, LowLatencyDispatchResult.class);

    private EpGroup group;

    /** Makes the real call. */
    interface Proceed {
        Object with(Object... arguments) throws Throwable;
    }

    /** Intercepts a call of the API, {@code Type.method}, and returns the caller's result. */
    abstract Object call(String method, Object[] arguments, Proceed proceed) throws Throwable;

    @Override
    public final EpGroup join(Bootstrap bootstrap, EpConfig config) {
        group = EpGroup.join(bootstrap, config);
        return (EpGroup) wrapped(group);
    }

    final int rank() {
        return group.rank();
    }

    final byte[] read(Tensor tensor) {
        ByteBuffer bytes = ByteBuffer.allocateDirect((int) tensor.byteSize()).order(ByteOrder.nativeOrder());
        group.device().download(tensor.memory(), bytes);
        byte[] array = new byte[(int) tensor.byteSize()];
        bytes.clear().get(array);
        return array;
    }

    final void write(Tensor tensor, byte[] content) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(content.length).order(ByteOrder.nativeOrder());
        group.device().upload(bytes.put(content).flip(), tensor.memory());
    }

    /** Changes one bit of one byte. */
    final void flip(Tensor tensor, int at) {
        if (tensor.byteSize() > at) {
            byte[] content = read(tensor);
            content[at] ^= 1;
            write(tensor, content);
        }
    }

    /** Exchanges the first two rows. */
    final void swapRows(Tensor tensor) {
        int row = (int) (tensor.byteSize() / Math.max(1, tensor.dim(0)));
        if (tensor.dim(0) >= 2) {
            byte[] content = read(tensor);
            byte[] changed = content.clone();
            System.arraycopy(content, 0, changed, row, row);
            System.arraycopy(content, row, changed, 0, row);
            write(tensor, changed);
        }
    }

    private Object wrapped(Object target) {
        for (Class<?> type : WRAPPED) {
            if (type.isInstance(target) && !Proxy.isProxyClass(target.getClass())) {
                return Proxy.newProxyInstance(
                        FaultyGroup.class.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> intercept(type, target, method, arguments));
            }
        }
        return target;
    }

    private Object intercept(Class<?> type, Object target, Method method, Object[] arguments) throws Throwable {
        Object result = call(
                type.getSimpleName() + "." + method.getName(),
                arguments == null ? new Object[0] : arguments,
                changed -> real(target, method, changed));
        return result == null ? null : wrapped(result);
    }

    private static Object real(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            method.setAccessible(true);
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
