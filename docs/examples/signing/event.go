// One signed batch. Needs nothing but the standard library: go run event.go
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	body, err := json.Marshal(map[string]any{
		"events": []map[string]any{{
			"event_id":     rand.Text(),
			"event_name":   "level_up",
			"install_uuid": "example-go",
			"props":        map[string]any{"level": 3},
		}},
		"sent_at_ms": time.Now().UnixMilli(),
	})
	if err != nil {
		log.Fatal(err)
	}

	// Over the bytes that are sent: marshal once, sign them, send them.
	mac := hmac.New(sha256.New, []byte(os.Getenv("SIGNING_SECRET")))
	mac.Write(body)

	request, err := http.NewRequest(http.MethodPost, os.Getenv("TRIBUTARY_URL")+"/event", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Service-Sdk", "example-go-1.0.0")
	request.Header.Set("X-Service-Company-Key", os.Getenv("COMPANY_KEY"))
	request.Header.Set("X-Service-App-Key", os.Getenv("APP_KEY"))
	request.Header.Set("X-Service-Signature", hex.EncodeToString(mac.Sum(nil)))

	client := http.Client{Timeout: 30 * time.Second}
	answer, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	if answer.StatusCode != http.StatusOK {
		os.Exit(1)
	}
}
