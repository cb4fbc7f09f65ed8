// Follows changes with java.net.http, and prints the data of each event on a line. The parameters are environment variables: URL, TOKEN,
// BODY. The client is the default one, which offers HTTP/2 with each request.
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

public class Follow {
    static final HttpClient client = HttpClient.newHttpClient();
    static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    static String last;

    /** Reads one stream to its end. */
    static void follow() throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(System.getenv("URL") + "/topics/changes"))
            .header("authorization", "Apikey " + System.getenv("TOKEN"))
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .POST(HttpRequest.BodyPublishers.ofString(System.getenv("BODY")));
        if (last != null) request.header("last-event-id", last);
        var response = client.send(request.build(), HttpResponse.BodyHandlers.ofLines());
        if (response.statusCode() != 200) throw new IOException("status " + response.statusCode());
        Map<String, String> fields = new HashMap<>();
        response.body().forEach(line -> {
            if (!line.isEmpty()) {
                String[] parts = line.split(": ", 2);
                fields.put(parts[0], parts.length > 1 ? parts[1] : "");
                return;
            }
            if (fields.containsKey("data") && !fields.containsKey("event")) {
                out.println(fields.get("data"));
                last = fields.get("id");
            }
            fields.clear();
        });
    }

    public static void main(String[] args) throws InterruptedException {
        for (;;) {
            try {
                follow();
            } catch (IOException | UncheckedIOException error) {
                System.err.println(error);
            }
            Thread.sleep(200);
        }
    }
}
