package model

import (
	"fmt"
	"strings"

	"retwis/model/internal/schema"
)

// External is a reference, by type and id, to an object outside this database, such as a row in
// a relational database or an object of another service. A field of this type is stored as the
// text type:id, such as orders:17; the zero External refers to nothing, and is not stored. With
// the option index it is found by Eq("about", model.External{Type: "orders", ID: "17"}); with
// range, Prefix("about", "orders:") finds all references of a type.
//
// The package does not check whether the object exists, and deleting the object has no effect
// on the record: see docs/relational.md.
type External struct {
	Type string // any characters except a colon
	ID   string
}

// IsZero reports whether e refers to nothing.
func (e External) IsZero() bool { return e == External{} }

// String returns type:id.
func (e External) String() string { return e.Type + ":" + e.ID }

// MarshalText returns type:id, or an error if the type or the id is empty or the type contains
// a colon. The text of the zero External is empty.
func (e External) MarshalText() ([]byte, error) {
	switch {
	case e.IsZero():
		return nil, nil
	case e.Type == "" || e.ID == "" || strings.Contains(e.Type, ":"):
		return nil, fmt.Errorf("an External of type %q and id %q: both are required, and the type must not contain a colon", schema.Shorten(e.Type), schema.Shorten(e.ID))
	}
	return []byte(e.String()), nil
}

// UnmarshalText parses type:id.
func (e *External) UnmarshalText(text []byte) error {
	t, id, ok := strings.Cut(string(text), ":")
	if len(text) > 0 && (!ok || t == "" || id == "") {
		return fmt.Errorf("%q is not a type and an id, such as orders:17", schema.Shorten(string(text)))
	}
	*e = External{t, id}
	return nil
}
