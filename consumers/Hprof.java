// Opens a heap dump with the library of VisualVM and prints, as JSON, what VisualVM shows of it.
//
//   java -cp JAR Hprof.java FILE     JAR is org-graalvm-visualvm-lib-jfluid-heap.jar of VisualVM
import java.io.File;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.graalvm.visualvm.lib.jfluid.heap.*;

public class Hprof {
  static String text(String value) {
    return "\"" + value.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }

  static String list(List<String> values) {
    return "[" + String.join(",\n", values) + "]";
  }

  /** The id of what a field or element points to; 0 for null. */
  static long id(Instance instance) {
    return instance == null ? 0 : instance.getInstanceId();
  }

  static List<String> pointers(Instance instance) {
    List<String> pointers = new ArrayList<>();
    if (instance instanceof ObjectArrayInstance) {
      for (Object element : ((ObjectArrayInstance) instance).getValues()) {
        pointers.add(String.valueOf(id((Instance) element)));
      }
      return pointers;
    }
    for (FieldValue value : instance.getFieldValues()) {
      if (value instanceof ObjectFieldValue) {
        pointers.add(String.valueOf(id(((ObjectFieldValue) value).getInstance())));
      }
    }
    return pointers;
  }

  public static void main(String[] arguments) throws Exception {
    Heap heap = HeapFactory.createHeap(new File(arguments[0]));
    List<String> classes = new ArrayList<>();
    for (JavaClass type : heap.getAllClasses()) {
      List<String> statics = new ArrayList<>();
      for (FieldValue value : type.getStaticFieldValues()) {
        if (value instanceof ObjectFieldValue && !value.getField().getName().startsWith("<")) {
          long held = id(((ObjectFieldValue) value).getInstance());
          statics.add("[" + text(value.getField().getName()) + "," + held + "]");
        }
      }
      String counts = type.getInstancesCount() + ",\"bytes\":" + type.getAllInstancesSize();
      classes.add("{\"name\":" + text(type.getName()) + ",\"count\":" + counts
          + ",\"statics\":" + list(statics) + "}");
    }
    List<String> instances = new ArrayList<>();
    for (Iterator<?> all = heap.getAllInstancesIterator(); all.hasNext();) {
      Instance instance = (Instance) all.next();
      if (instance.getJavaClass() == null || instance.getJavaClass().getName().equals("java.lang.Class")) {
        continue;
      }
      instances.add("{\"id\":" + instance.getInstanceId() + ",\"class\":"
          + text(instance.getJavaClass().getName()) + ",\"size\":" + instance.getSize()
          + ",\"retained\":" + instance.getRetainedSize() + ",\"pointers\":" + list(pointers(instance)) + "}");
    }
    List<String> roots = new ArrayList<>();
    for (Object each : heap.getGCRoots()) {
      GCRoot root = (GCRoot) each;
      roots.add("[" + text(root.getKind()) + "," + id(root.getInstance()) + "]");
    }
    System.out.println("{\"classes\":" + list(classes) + ",\"instances\":" + list(instances)
        + ",\"roots\":" + list(roots) + "}");
  }
}
