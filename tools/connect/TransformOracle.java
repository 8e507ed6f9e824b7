import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Answers questions from standard input, one JSON object a line: the class and the options of a transform, and a record
 * whose key and value are envelopes in base64. The answer is the record that Kafka's own class makes of it: a value with
 * a schema as an envelope, one without as its Java types; `dropped`; or what was thrown. Of a predicate: `holds`.
 */
public final class TransformOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws IOException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
        answers.flush();
    }

    @SuppressWarnings("unchecked")
    private static ObjectNode answer(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            Object named = Class.forName(asked.get("type").asText()).getDeclaredConstructor().newInstance();
            Map<String, String> options = new HashMap<>();
            asked.get("options").fields().forEachRemaining(each -> options.put(each.getKey(), each.getValue().asText()));
            if (named instanceof Predicate<?>) {
                Predicate<SinkRecord> predicate = (Predicate<SinkRecord>) named;
                predicate.configure(options);
                return answer.put("holds", predicate.test(record(asked.get("record"))));
            }
            Transformation<SinkRecord> transform = (Transformation<SinkRecord>) named;
            transform.configure(options);
            SinkRecord made = transform.apply(record(asked.get("record")));
            if (made == null) {
                return answer.put("dropped", true);
            }
            answer.put("topic", made.topic());
            answer.set("key", written(made.keySchema(), made.key()));
            answer.set("value", written(made.valueSchema(), made.value()));
            ArrayNode headers = answer.putArray("headers");
            for (Header each : made.headers()) {
                headers.addArray().add(each.key()).add(Values.convertToString(each.schema(), each.value()));
            }
            return answer;
        } catch (Exception refused) {
            return JSON.createObjectNode().put("error", refused.toString());
        }
    }

    private static SinkRecord record(JsonNode asked) {
        SchemaAndValue key = read(asked.get("key"));
        SchemaAndValue value = read(asked.get("value"));
        ConnectHeaders headers = new ConnectHeaders();
        asked.get("headers").forEach(each -> headers.addString(each.get(0).asText(), each.get(1).asText()));
        return new SinkRecord(asked.get("topic").asText(), asked.get("partition").asInt(), key.schema(), key.value(),
                value.schema(), value.value(), asked.get("offset").asLong(),
                asked.get("timestamp").isNull() ? null : asked.get("timestamp").asLong(), TimestampType.CREATE_TIME,
                headers);
    }

    private static SchemaAndValue read(JsonNode envelope) {
        if (envelope.isNull()) {
            return SchemaAndValue.NULL;
        }
        try (JsonConverter reader = new JsonConverter()) {
            reader.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
            return reader.toConnectData("t", Base64.getDecoder().decode(envelope.asText()));
        }
    }

    private static JsonNode written(Schema schema, Object value) {
        if (schema == null) {
            return typed(value);
        }
        try (JsonConverter writer = new JsonConverter()) {
            writer.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
            return JSON.createObjectNode().put("envelope",
                    Base64.getEncoder().encodeToString(writer.fromConnectData("t", schema, value)));
        }
    }

    private static JsonNode typed(Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        ObjectNode made = JSON.createObjectNode();
        if (value instanceof Map<?, ?> map) {
            ObjectNode inner = made.putObject("map");
            map.forEach((name, each) -> inner.set(String.valueOf(name), typed(each)));
        } else if (value instanceof List<?> list) {
            ArrayNode inner = made.putArray("list");
            list.forEach(each -> inner.add(typed(each)));
        } else if (value instanceof java.util.Date date) {
            made.put("Date", String.valueOf(date.getTime()));
        } else {
            made.put(value.getClass().getSimpleName(), String.valueOf(value));
        }
        return made;
    }
}
