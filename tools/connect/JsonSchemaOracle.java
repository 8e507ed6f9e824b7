import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.everit.json.schema.ArraySchema;
import org.everit.json.schema.CombinedSchema;
import org.everit.json.schema.EnumSchema;
import org.everit.json.schema.NumberSchema;
import org.everit.json.schema.ObjectSchema;
import org.everit.json.schema.ReferenceSchema;
import org.everit.json.schema.Schema;
import org.everit.json.schema.ValidationException;
import org.everit.json.schema.loader.SchemaLoader;
import org.json.JSONArray;
import org.json.JSONObject;

/** How the library below JsonSchemaConverter reads a schema: a line of JSON for each question, and which values are valid by it; or "!" and an error. */
public final class JsonSchemaOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8)));
        }
        out.flush();
    }

    private static String answer(String question) {
        try {
            JSONObject asked = new JSONObject(question);
            JSONObject json = new JSONObject(asked.getString("schema"));
            SchemaLoader.SchemaLoaderBuilder builder = SchemaLoader.builder();
            if (!asked.getBoolean("plain")) {
                builder = builder.useDefaults(true).draftV7Support();
            }
            JSONObject references = asked.getJSONObject("references");
            for (String name : references.keySet()) {
                builder.registerSchemaByURI(new URI(name), new JSONObject(references.getString(name)));
            }
            Schema schema = builder.schemaJson(json).build().load().build();
            if (!asked.isNull("values")) {
                return valid(schema, asked.getJSONArray("values")).toString();
            }
            return shown(schema, new HashSet<>()).toString();
        } catch (Exception | StackOverflowError error) {
            return "!" + error.getClass().getSimpleName();
        }
    }

    private static JSONArray valid(Schema schema, JSONArray values) {
        JSONArray found = new JSONArray();
        for (int i = 0; i < values.length(); i++) {
            try {
                schema.validate(new JSONArray("[" + values.getString(i) + "]").get(0));
                found.put(true);
            } catch (ValidationException error) {
                found.put(false);
            }
        }
        return found;
    }

    private static JSONObject shown(Schema schema, Set<Integer> above) {
        JSONObject made = new JSONObject();
        String name = schema.getClass().getSimpleName();
        made.put("kind", name.substring(0, name.length() - "Schema".length()));
        made.put("title", schema.getTitle());
        made.put("doc", schema.getDescription());
        if (schema.hasDefaultValue()) {
            made.put("default", schema.getDefaultValue());
        }
        Map<String, Object> rest = schema.getUnprocessedProperties();
        JSONObject connect = new JSONObject();
        for (String key : rest.keySet()) {
            if (key.startsWith("connect.")) {
                connect.put(key, rest.get(key));
            }
        }
        if (!connect.isEmpty()) {
            made.put("connect", connect);
        }
        Set<Integer> inside = new HashSet<>(above);
        if (schema instanceof NumberSchema number) {
            made.put("integer", number.requiresInteger());
        } else if (schema instanceof EnumSchema one) {
            made.put("values", new JSONArray(one.getPossibleValuesAsList()));
        } else if (schema instanceof ArraySchema array) {
            if (array.getAllItemSchema() != null) {
                made.put("items", shown(array.getAllItemSchema(), inside));
            }
        } else if (schema instanceof CombinedSchema combined) {
            made.put("criterion", combined.getCriterion().toString());
            JSONArray parts = new JSONArray();
            for (Schema part : combined.getSubschemas()) {
                parts.put(shown(part, inside));
            }
            made.put("parts", parts);
        } else if (schema instanceof ObjectSchema object) {
            JSONArray fields = new JSONArray();
            for (Map.Entry<String, Schema> field : object.getPropertySchemas().entrySet()) {
                fields.put(new JSONArray().put(field.getKey()).put(shown(field.getValue(), inside)));
            }
            made.put("fields", fields);
            JSONArray required = new JSONArray();
            object.getRequiredProperties().stream().sorted().forEach(required::put);
            made.put("required", required);
            if (object.getSchemaOfAdditionalProperties() != null) {
                made.put("rest", shown(object.getSchemaOfAdditionalProperties(), inside));
            }
        } else if (schema instanceof ReferenceSchema reference) {
            Schema referred = reference.getReferredSchema();
            int known = System.identityHashCode(referred);
            if (inside.add(known)) {
                made.put("of", shown(referred, inside));
            }
        }
        return made;
    }
}
