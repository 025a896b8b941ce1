package bulk

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

// TestURLs checks that Load accepts every kind of URL, including TLS with a client certificate.
func TestURLs(t *testing.T) {
	t.Parallel()
	tlsServer := redistest.TLS(t)
	server := redistest.TCP(t)
	sentinel := redistest.Sentinel(t, "main", server)
	for name, url := range map[string]string{
		"TLS":      tlsServer.URL(),
		"valkey":   fmt.Sprintf("valkey://127.0.0.1:%d/1", server.Port()),
		"unix":     server.URL() + "?db=2",
		"sentinel": fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main/3", sentinel.Port()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := loadURL(t.Context(), url, strings.NewReader("SET a 1\nSET b 2\n"), Options{})
			if err != nil || report.Replies != 2 || report.Errors != 0 {
				t.Errorf("load: %v, want 2 replies and no errors; report: %+v", err, report)
			}
		})
	}
}
