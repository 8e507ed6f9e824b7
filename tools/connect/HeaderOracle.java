import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.storage.StringConverter;

/**
 * Answers questions from standard input, one line each: a converter and the bytes of a header in base64, parted by a
 * tab. The answer is its value as text, in base64, after `=`, and after a tab the value with its types; `0` for a value
 * that is null; after `!` why it was refused, and after `?` why its value became no text.
 */
public final class HeaderOracle {
    public static void main(String[] arguments) throws IOException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Map<String, HeaderConverter> converters = Map.of(
                "simple", new SimpleHeaderConverter(),
                "string", new StringConverter(),
                "json", json("true"),
                "plain json", json("false"));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] question = line.split("\t", -1);
            String answer = answer(converters.get(question[0]), Base64.getDecoder().decode(question[1]));
            answers.println(answer.replace('\n', ' ').replace('\r', ' '));
        }
        answers.flush();
    }

    private static JsonConverter json(String schemas) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", schemas, "converter.type", "header"));
        return converter;
    }

    private static String answer(HeaderConverter converter, byte[] header) {
        SchemaAndValue read;
        try {
            read = converter.toConnectHeader("t", "h", header);
        } catch (RuntimeException refused) {
            return "!" + refused;
        }
        if (read == null || read.value() == null) {
            return "0";
        }
        try {
            String text = Values.convertToString(read.schema(), read.value());
            return "=" + base64(text) + "\t" + typed(read.schema()) + " " + typed(read.value());
        } catch (RuntimeException refused) {
            return "?" + refused;
        }
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String typed(Schema schema) {
        if (schema == null) {
            return "none";
        }
        String name = schema.name() == null ? "" : " " + schema.name().replaceAll(".*\\.", "");
        String scale = schema.parameters() == null ? "" : " " + schema.parameters().get("scale");
        String inner = switch (schema.type()) {
            case ARRAY -> "<" + typed(schema.valueSchema()) + ">";
            case MAP -> "<" + typed(schema.keySchema()) + "," + typed(schema.valueSchema()) + ">";
            default -> "";
        };
        return schema.type().getName() + (schema.isOptional() ? "?" : "") + name + scale + inner;
    }

    private static String typed(Object value) {
        if (value instanceof String text) {
            return "String:" + base64(text);
        }
        if (value instanceof byte[] bytes) {
            return "bytes:" + Base64.getEncoder().encodeToString(bytes);
        }
        if (value instanceof Date date) {
            return "Date:" + date.getTime();
        }
        if (value instanceof BigDecimal decimal) {
            return "BigDecimal:" + decimal.unscaledValue() + "/" + decimal.scale();
        }
        List<String> inner = new ArrayList<>();
        if (value instanceof List<?> list) {
            list.forEach(each -> inner.add(typed(each)));
            return "[" + String.join(",", inner) + "]";
        }
        if (value instanceof Map<?, ?> map) {
            map.forEach((key, each) -> inner.add(typed(key) + "=" + typed(each)));
            return "{" + String.join(",", inner) + "}";
        }
        return value == null ? "null" : value.getClass().getSimpleName() + ":" + value;
    }
}
