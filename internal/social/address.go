package social

import (
	"context"
	"net/netip"
)

type addressKey struct{}

// WithAddress returns a context for a request from the given address. The address is not valid if
// it is unknown.
func WithAddress(ctx context.Context, from netip.Addr) context.Context {
	return context.WithValue(ctx, addressKey{}, from.Unmap().WithZone(""))
}

// AddressOf returns the address that the request of ctx comes from. It is not valid for a context
// without one.
func AddressOf(ctx context.Context) netip.Addr {
	from, _ := ctx.Value(addressKey{}).(netip.Addr)
	return from
}
