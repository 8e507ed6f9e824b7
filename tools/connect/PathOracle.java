import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.jayway.jsonpath.Configuration;
import com.jayway.jsonpath.JsonPath;
import com.jayway.jsonpath.PathNotFoundException;
import com.jayway.jsonpath.spi.json.JacksonJsonProvider;
import com.jayway.jsonpath.spi.mapper.JacksonMappingProvider;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Answers questions from standard input, one JSON object a line: a path and a document. The answer is what the path
 * finds; that it leads nowhere (`missing`); or what was thrown.
 */
public final class PathOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Configuration HOW = Configuration.builder()
            .jsonProvider(new JacksonJsonProvider()).mappingProvider(new JacksonMappingProvider()).build();

    public static void main(String[] arguments) throws IOException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
        answers.flush();
    }

    private static ObjectNode answer(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            JsonPath path = JsonPath.compile(asked.get("path").asText());
            Object found = JsonPath.using(HOW).parse(asked.get("document").toString()).read(path);
            answer.put("definite", path.isDefinite());
            answer.set("found", JSON.valueToTree(found));
            return answer;
        } catch (PathNotFoundException missing) {
            return answer.put("missing", true);
        } catch (RuntimeException refused) {
            return answer.put("error", refused.toString());
        }
    }
}
