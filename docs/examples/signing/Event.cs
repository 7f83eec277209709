// One signed batch. Needs nothing but .NET 8; in Unity, UnityWebRequest sends the same bytes.
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

static string Env(string name) => Environment.GetEnvironmentVariable(name) ?? throw new Exception($"{name} is not set");

var body = JsonSerializer.SerializeToUtf8Bytes(new
{
    events = new[]
    {
        new
        {
            event_id = Guid.NewGuid().ToString(),
            event_name = "level_up",
            install_uuid = "example-cs",
            props = new { level = 3 },
        },
    },
    sent_at_ms = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds(),
});

// Over the bytes that are sent: serialize once, sign them, send them.
var mac = HMACSHA256.HashData(Encoding.UTF8.GetBytes(Env("SIGNING_SECRET")), body);

using var request = new HttpRequestMessage(HttpMethod.Post, Env("TRIBUTARY_URL") + "/event");
request.Content = new ByteArrayContent(body);
request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
request.Headers.Add("X-Service-Sdk", "example-cs-1.0.0");
request.Headers.Add("X-Service-Company-Key", Env("COMPANY_KEY"));
request.Headers.Add("X-Service-App-Key", Env("APP_KEY"));
request.Headers.Add("X-Service-Signature", Convert.ToHexString(mac).ToLowerInvariant());

using var client = new HttpClient();
using var answer = await client.SendAsync(request);
Console.WriteLine(await answer.Content.ReadAsStringAsync());
return answer.IsSuccessStatusCode ? 0 : 1;
