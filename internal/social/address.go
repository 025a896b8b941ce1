package social

import (
	"context"
	"net/netip"
)

type addressKey struct{}

// WithAddress returns a context for a request from the given address. from is invalid if the
// address is unknown.
func WithAddress(ctx context.Context, from netip.Addr) context.Context {
	return context.WithValue(ctx, addressKey{}, from.Unmap().WithZone(""))
}

// AddressOf returns the client address of the request of ctx. The address is invalid if ctx has
// none.
func AddressOf(ctx context.Context) netip.Addr {
	from, _ := ctx.Value(addressKey{}).(netip.Addr)
	return from
}
