// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a heap dump with the library of VisualVM, and prints what it finds in it as JSON.
import java.io.File;
import java.util.*;
import org.graalvm.visualvm.lib.jfluid.heap.*;

public class Hprof {
    static String quote(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    static String value(Object value) {
        if (value instanceof Instance)
            return "{\"id\":\"" + Long.toHexString(((Instance) value).getInstanceId()) + "\"}";
        return value == null ? "null" : quote(value.toString());
    }

    static String fields(Instance instance) {
        StringJoiner all = new StringJoiner(",", "{", "}");
        for (FieldValue field : instance.getFieldValues()) {
            Object value = field instanceof ObjectFieldValue ? ((ObjectFieldValue) field).getInstance() : field.getValue();
            all.add(quote(field.getField().getName()) + ":" + value(value));
        }
        return all.toString();
    }

    static String elements(Instance instance) {
        StringJoiner all = new StringJoiner(",", "[", "]");
        if (instance instanceof ObjectArrayInstance)
            for (Instance element : ((ObjectArrayInstance) instance).getValues())
                all.add(value(element));
        if (instance instanceof PrimitiveArrayInstance)
            for (String element : ((PrimitiveArrayInstance) instance).getValues())
                all.add(element);
        return all.toString();
    }

    public static void main(String[] arguments) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(arguments[0]));
        StringJoiner all = new StringJoiner(",", "{", "}");
        for (Instance instance : (Iterable<Instance>) () -> heap.getAllInstancesIterator()) {
            GCRoot root = null;
            for (Object one : heap.getGCRoots())
                if (((GCRoot) one).getInstance().equals(instance))
                    root = (GCRoot) one;
            all.add("\n\"" + Long.toHexString(instance.getInstanceId()) + "\":{\"class\":" + quote(instance.getJavaClass().getName())
                + ",\"size\":" + instance.getSize() + ",\"retained\":" + instance.getRetainedSize()
                + ",\"root\":" + (root == null ? "null" : quote(root.getKind())) + ",\"fields\":" + fields(instance)
                + ",\"elements\":" + elements(instance) + "}");
        }
        System.out.println(all);
    }
}
