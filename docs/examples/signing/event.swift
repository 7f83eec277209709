// One signed batch. Needs nothing but Foundation and CryptoKit.
import CryptoKit
import Foundation

let env = ProcessInfo.processInfo.environment

let event: [String: Any] = [
    "event_id": UUID().uuidString,
    "event_name": "level_up",
    "install_uuid": "example-swift",
    "props": ["level": 3],
]
let batch: [String: Any] = ["events": [event], "sent_at_ms": Int(Date().timeIntervalSince1970 * 1000)]
let body = try JSONSerialization.data(withJSONObject: batch)

// Over the bytes that are sent: encode once, sign them, send them.
let key = SymmetricKey(data: Data(env["SIGNING_SECRET"]!.utf8))
let signature = HMAC<SHA256>.authenticationCode(for: body, using: key).map { String(format: "%02x", $0) }.joined()

var request = URLRequest(url: URL(string: env["TRIBUTARY_URL"]! + "/event")!)
request.httpMethod = "POST"
request.httpBody = body
request.setValue("application/json", forHTTPHeaderField: "Content-Type")
request.setValue("example-swift-1.0.0", forHTTPHeaderField: "X-Service-Sdk")
request.setValue(env["COMPANY_KEY"], forHTTPHeaderField: "X-Service-Company-Key")
request.setValue(env["APP_KEY"], forHTTPHeaderField: "X-Service-App-Key")
request.setValue(signature, forHTTPHeaderField: "X-Service-Signature")

let (data, answer) = try await URLSession.shared.data(for: request)
print(String(decoding: data, as: UTF8.self))
if (answer as! HTTPURLResponse).statusCode != 200 { exit(1) }
