// Package index finds things in Redis by something else than their key.
package index
