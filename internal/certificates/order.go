package certificates

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// orderLinks adds the order URL to the response that finalizes an order. Package acme needs the URL
// to wait for the certificate; RFC 8555 does not require the URL, and some authorities omit it.
type orderLinks struct {
	next http.RoundTripper

	mu     sync.Mutex
	orders map[string]string // order URLs by finalize URL
}

// maxOrder limits how much of a response is read.
const maxOrder = 1 << 20

// RoundTrip implements [http.RoundTripper].
func (l *orderLinks) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices {
		return response, err
	}
	location := response.Header.Get("Location")
	if location == "" {
		if order := l.take(request.URL.String()); order != "" {
			response.Header.Set("Location", order)
		}
		return response, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxOrder))
	if err != nil {
		response.Body.Close()
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
	var order struct {
		Finalize string `json:"finalize"`
	}
	if json.Unmarshal(body, &order) == nil && order.Finalize != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.orders[order.Finalize] = location
	}
	return response, nil
}

// take removes and returns the order URL for a finalize URL, or "".
func (l *orderLinks) take(finalize string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	order := l.orders[finalize]
	delete(l.orders, finalize)
	return order
}
