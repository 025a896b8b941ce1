package social

import (
	"context"
	"net/netip"
)

type addressKey struct{}

// WithAddress returns a context of a request from an address, which is not valid where it is not
// known.
func WithAddress(ctx context.Context, from netip.Addr) context.Context {
	return context.WithValue(ctx, addressKey{}, from.Unmap().WithZone(""))
}

// AddressOf returns where the request of a context comes from, not valid for another context.
func AddressOf(ctx context.Context) netip.Addr {
	from, _ := ctx.Value(addressKey{}).(netip.Addr)
	return from
}
