package certificates

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// orderLinks adds the address of an order to the answer that finalizes it. Package acme
// needs it there to wait for the certificate; RFC 8555 does not ask authorities for it, and
// some leave it out.
type orderLinks struct {
	next http.RoundTripper

	mu     sync.Mutex
	orders map[string]string // by the address that finalizes them
}

// maxOrder bounds what is read of an answer.
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

// take returns the order that an address finalizes, once.
func (l *orderLinks) take(finalize string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	order := l.orders[finalize]
	delete(l.orders, finalize)
	return order
}
