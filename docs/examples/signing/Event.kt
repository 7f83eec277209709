// One signed batch. Needs nothing but the JDK (11 or later); on Android, HttpURLConnection or OkHttp send the same bytes.
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.util.UUID
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec
import kotlin.system.exitProcess

fun main() {
    val env = System.getenv()
    val event = """{"event_id":"${UUID.randomUUID()}","event_name":"level_up","install_uuid":"example-kt","props":{"level":3}}"""
    val body = """{"events":[$event],"sent_at_ms":${System.currentTimeMillis()}}""".toByteArray()

    // Over the bytes that are sent: encode once, sign them, send them.
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(SecretKeySpec(env.getValue("SIGNING_SECRET").toByteArray(), "HmacSHA256"))
    val signature = mac.doFinal(body).joinToString("") { "%02x".format(it) }

    val request = HttpRequest.newBuilder(URI(env.getValue("TRIBUTARY_URL") + "/event"))
        .header("Content-Type", "application/json")
        .header("X-Service-Sdk", "example-kt-1.0.0")
        .header("X-Service-Company-Key", env.getValue("COMPANY_KEY"))
        .header("X-Service-App-Key", env.getValue("APP_KEY"))
        .header("X-Service-Signature", signature)
        .POST(HttpRequest.BodyPublishers.ofByteArray(body))
        .build()
    val answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString())
    println(answer.body())
    if (answer.statusCode() != 200) exitProcess(1)
}
